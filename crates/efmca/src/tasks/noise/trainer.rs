//! One training of a family, as it is and on its way to other ranks.

use super::candidates::Candidate;
use super::fixed_search::search;
use super::tuning::{FEWEST, PATCHES, TABLES, Tuning};
use crate::em::{Em, Fit, Observer, Parcel, StopReason};
use crate::error::Result;
use crate::family::SharedFamily;
use crate::model::Resolution;
use crate::ranks::Job;
use crate::tasks::held_out::{Comparison, Scores, Split};

/// How thorough a training is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// A few iterations, with rough values of searched parameters.
    First,
    /// All iterations.
    Full,
    /// As many as it takes after another training of the same kind, whose posteriors it is given.
    Following,
}

/// One training of a family.
pub(super) struct TrainedFamily {
    pub(super) family: SharedFamily,
    pub(super) fit: Fit,
    pub(super) scores: Scores,
    /// Whether it had a start of its own.
    pub(super) own_start: bool,
    /// The values of the fixed parameters that were searched.
    fixed: Vec<f64>,
}

/// A training on its way: the values of fixed parameters that were searched, what was trained and how it scores, and whether it had a
/// start of its own.
pub(super) type Sent = (Vec<f64>, (Parcel, Scores), bool);

/// Trains candidates on one split.
pub(super) struct Trainer<'a, 'd> {
    pub(super) causes: usize,
    pub(super) comparison: &'a Comparison,
    pub(super) split: &'a Split<'d>,
    /// How finely values were written down.
    pub(super) resolution: &'a Resolution,
    /// The same for each column, if training is to know it: patches of images are learned from as they are.
    pub(super) learned: Vec<Resolution>,
}

impl TrainedFamily {
    /// The training on its way to other ranks.
    pub(super) fn sent(&self) -> Sent {
        (self.fixed.clone(), (self.fit.parcel(), self.scores.clone()), self.own_start)
    }
}

impl Trainer<'_, '_> {
    /// The numbers for these data.
    pub(super) fn tuned(&self) -> &'static Tuning {
        if self.split.overlap > 1.0 { &PATCHES } else { &TABLES }
    }

    /// The settings of all trainings of a family.
    pub(super) fn em(&self, family: &SharedFamily) -> Em {
        self.comparison.em(self.causes, &*self.split.seen).family(family).resolutions(&self.learned)
    }

    /// What a training takes, whatever its family.
    pub(super) fn job(&self) -> Job {
        self.comparison.em(self.causes, &*self.split.seen).job(&*self.split.seen)
    }

    /// By how much a training is behind another, in nats an entry, and how much would be far behind.
    pub(super) fn behind(&self, first: &TrainedFamily, other: &TrainedFamily) -> (f64, f64) {
        let (tuned, lead) = (self.tuned(), first.scores.lead(&other.scores));
        (lead.mean, tuned.far_nats.max(tuned.far_errors * lead.error))
    }

    /// A training of a candidate that another rank did.
    pub(super) fn received(&self, candidate: &Candidate, (fixed, training, own_start): Sent) -> Result<TrainedFamily> {
        let (family, (parcel, scores)) = (candidate.family(&fixed)?, training);
        let fit = parcel.open(self.em(&family).columns(self.split.seen.d())?)?;
        Ok(TrainedFamily { family, fit, scores, own_start, fixed })
    }

    /// Trains a candidate and searches its fixed parameters, beginning with the posteriors of a training if there is one; nothing if
    /// the observer, which is asked between iterations, ends that.
    pub(super) fn train(
        &self,
        candidate: &Candidate,
        look: Look,
        training: usize,
        from: Option<&Fit>,
        observer: &mut Observer<'_>,
    ) -> Result<Option<TrainedFamily>> {
        let (tuned, all) = (self.tuned(), self.comparison.iterations);
        let (part, at) = match (look, from) {
            (Look::First, None) => (tuned.first_look, 0),
            (Look::First, Some(_)) => (tuned.look_with_posteriors, 0),
            (Look::Full, _) => (1, 1),
            (Look::Following, _) => (tuned.following, 1),
        };
        let iterations = all.div_ceil(part).max(FEWEST.min(all));
        let (rounds, entries) = (tuned.search_rounds[at], tuned.search_entries[at]);
        // a rough value from the complete range, whatever was found before: a wrong value would stay wrong
        let rough = tuned.search_entries[0];
        let searched = self.learned.first().cloned().unwrap_or_default();
        let mut fixed = match from {
            _ if candidate.searched() == 0 => Vec::new(),
            Some(fit) => search(candidate, &self.split.entries(&fit.model, rough, &searched)?, None),
            None => search(candidate, &self.split.entries_of_one(rough, &searched), None),
        };
        let seen = &*self.split.seen;
        let em = |family: &SharedFamily| self.em(family);
        let mut family = candidate.family(&fixed)?;
        let mut first = em(&family).iterations(iterations).seed(self.comparison.seed_of(training));
        if let Some(fit) = from {
            first = first.with_posteriors_of(fit);
        }
        let mut fit = first.run_observed(seen, observer)?;
        for _ in 0..if fixed.is_empty() { 0 } else { rounds } {
            if fit.stop == StopReason::Interrupted {
                return Ok(None);
            }
            let next = search(candidate, &self.split.entries(&fit.model, entries, &searched)?, Some(&fixed));
            let moved = fixed.iter().zip(&next).map(|(old, new)| (new / old - 1.0).abs()).fold(0.0, f64::max);
            fixed = next;
            family = candidate.family(&fixed)?;
            let again = em(&family).iterations(iterations / tuned.after_search + 1);
            fit = again.with_posteriors_of(&fit).run_observed(seen, observer)?;
            if moved < tuned.found {
                break;
            }
        }
        if fit.stop == StopReason::Interrupted {
            return Ok(None);
        }
        let scores = self.split.scores(&fit, |_| self.resolution)?;
        Ok(Some(TrainedFamily { family, fit, scores, own_start: from.is_none(), fixed }))
    }
}
