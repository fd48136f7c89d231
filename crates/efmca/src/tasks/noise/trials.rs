//! Trainings of families on the same data, so that the better one wins and not the luckier one.
//!
//! A family that is trained by itself ends in an optimum of its own, and optima are further apart than families that are
//! nearly the same. So all of them are given the posteriors of the leading family ([`Init::Posteriors`]), which keep their
//! winners, and continue from there.
//!
//! That is a tournament: who is many standard errors behind after a first look has lost, and the others are trained fully. For the
//! patches of an image, of which there are thousands, it is a short one ([`PATCHES`]): what a family finds out about the
//! image, all others are given, so that it is enough that the leading one looks for better starts.

use std::ops::ControlFlow;

use super::candidates::{Candidate, Refusal};
use super::fixed_search::search;
use super::values::Kind;
use crate::em::{Fit, Observer, Progress, StopReason};
use crate::error::Result;
use crate::family::{Measure, SharedFamily};
use crate::model::Resolution;
use crate::tasks::held_out::{Comparison, Scores, Split};

/// The tuned numbers of the trials. Numbers of iterations are parts of all: every so many-th.
struct Tuning {
    /// Iterations of a first look without posteriors to begin with, and with them: enough to see which families are far behind.
    first_look: usize,
    look_with_posteriors: usize,
    /// Iterations of a training that begins with the posteriors of another family which was trained fully.
    following: usize,
    /// Iterations after a search for fixed parameters.
    after_search: usize,
    /// Rounds of search for fixed parameters and training with them, in a first look and later.
    search_rounds: [usize; 2],
    /// Entries that a search looks at, in a first look and later.
    search_entries: [usize; 2],
    /// A fixed parameter that moved by less than this, relatively, is found.
    found: f64,
    /// A family is far behind, and is not trained again, from this many nats an entry on...
    far_nats: f64,
    /// ...or this many standard errors, whichever is more.
    far_errors: f64,
    /// Families this many times further behind than that have a second first look, with the posteriors of the leading family. Those
    /// that are nearer are trained fully.
    last_chance: f64,
    /// Whether all families have starts of their own, or the leading one alone.
    all_start: bool,
    /// The posteriors of another family are not shared again unless it leads by this many standard errors.
    overtaken: f64,
    /// Rounds in which the posteriors of the leading family are given to the others after all restarts, until it stays in the lead.
    sharing_rounds: usize,
    /// A bound that rose by less than this many nats is the same.
    enough: f64,
}

/// For tables. Bounds decide ties, and trainings take little time.
const TABLES: Tuning = Tuning {
    first_look: 3,
    look_with_posteriors: 3,
    following: 1,
    after_search: 3,
    search_rounds: [2, 4],
    search_entries: [1 << 12, 1 << 20],
    found: 0.02,
    far_nats: 0.03,
    far_errors: 6.0,
    last_chance: 6.0,
    all_start: true,
    overtaken: f64::NEG_INFINITY,
    sharing_rounds: 3,
    enough: 1.0,
};

/// For patches, whose posteriors take long to find and are handed over with their sets of states.
const PATCHES: Tuning = Tuning {
    look_with_posteriors: 6,
    following: 2,
    after_search: 6,
    search_rounds: [1, 2],
    search_entries: [1 << 12, 1 << 17],
    last_chance: 1.0,
    all_start: false,
    overtaken: 2.0,
    ..TABLES
};

/// Iterations of a look, at the least.
const FEWEST: usize = 4;

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

/// A family that was tried.
pub(super) struct Trial {
    pub(super) candidate: Candidate,
    /// The training with the highest bound.
    pub(super) best: TrainedFamily,
    /// The score of a held-out entry in all trainings; in the full ones, if looks do not count.
    pub(super) held_out: Vec<f64>,
    /// The bound of a row in the same trainings.
    pub(super) bounds: Vec<f64>,
    /// Whether it was trained fully.
    pub(super) full: bool,
    /// The trial whose posteriors it had in its first look.
    looked_with: Option<usize>,
}

/// One training of a family.
pub(super) struct TrainedFamily {
    pub(super) family: SharedFamily,
    pub(super) fit: Fit,
    pub(super) scores: Scores,
    /// Whether it had a start of its own.
    own_start: bool,
}

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

/// All trials of a ranking.
pub(super) struct Trials<'a, 'd, 'o> {
    trainer: &'a Trainer<'a, 'd>,
    pub(super) found: Vec<Trial>,
    observer: &'a mut Observer<'o>,
    /// Trainings that are done, and that there will be as far as is known.
    done: usize,
    total: usize,
}

/// How a trial stands against the leading one.
#[derive(Debug, Clone, Copy)]
struct Contender {
    /// Its place among the trials.
    index: usize,
    /// By how much it is behind, in nats an entry.
    behind: f64,
    /// How much would be far behind.
    far: f64,
}

/// The leading trial when its posteriors were last given to the others.
#[derive(Debug, Clone, Copy)]
struct LastSharing {
    index: usize,
    /// Its score before it was trained again.
    held_out: f64,
    /// Its bound after that, which the others were given.
    bound: f64,
}

impl<'a, 'd, 'o> Trials<'a, 'd, 'o> {
    pub(super) fn new(trainer: &'a Trainer<'a, 'd>, candidates: usize, observer: &'a mut Observer<'o>) -> Self {
        Trials { trainer, found: Vec::new(), observer, done: 0, total: candidates }
    }

    /// A short training of each candidate, with the posteriors of the one that leads until then.
    pub(super) fn first_look(&mut self, candidates: Vec<Candidate>, refused: &mut Vec<Refusal>) -> ControlFlow<()> {
        for candidate in candidates {
            let first = leading(&self.found);
            let from = first.map(|index| self.found[index].best.fit.clone());
            match self.train(&candidate, Look::First, 0, from.as_ref()) {
                Ok(Some(trained)) => self.found.push(Trial::new(candidate.clone(), trained, first)),
                Ok(None) => return ControlFlow::Break(()),
                Err(error) => refused.push(Refusal { family: candidate.name(), reason: error.to_string() }),
            }
            self.one_more(&candidate.name())?;
        }
        ControlFlow::Continue(())
    }

    /// Gives those that are not far behind the posteriors of the leading family, starts of their own, and again the posteriors of
    /// the leading family until it stays in the lead: then no family is ahead because it had luck with its start.
    pub(super) fn try_again(&mut self) -> ControlFlow<()> {
        let (restarts, tuned) = (self.trainer.comparison.restarts, self.trainer.tuned());
        let mut shared: Option<LastSharing> = None;
        for round in 0..restarts + tuned.sharing_rounds {
            let sharing = round == 0 || round >= restarts;
            let Some(first) = leading(&self.found) else { return ControlFlow::Continue(()) };
            let best = &self.found[first].best;
            let held_out = best.scores.mean();
            if sharing && shared.is_some_and(|old| self.stays_ahead(old, first)) {
                break;
            }
            // who was near when posteriors were shared last may be further behind now, by what the leading one has risen since
            let risen = match shared {
                _ if !sharing => 0.0,
                None => f64::INFINITY,
                Some(old) => (held_out - old.held_out).max(0.0),
            };
            let mut contenders = self.contenders(first, risen);
            if !sharing && !tuned.all_start {
                contenders.truncate(1);
            }
            self.total = self.done + contenders.len() * (restarts.saturating_sub(round) + 1);
            for contender in contenders {
                let index = contender.index;
                // those that came before the leading one had other posteriors in their first look, and look again
                let looks_again = round == 0 && contender.behind >= tuned.last_chance * contender.far;
                let candidate = self.found[index].candidate.clone();
                // the leading one was trained fully when the others follow it
                let full = if sharing && (index != first || round > 0) { Look::Following } else { Look::Full };
                let looks = match looks_again {
                    true if tuned.all_start => vec![Look::First],
                    true if self.had_equal_posteriors(index, first) => Vec::new(),
                    true => vec![Look::First, full],
                    false => vec![full],
                };
                for look in looks {
                    if looks_again && look != Look::First && self.is_far(index, first) {
                        break;
                    }
                    let from = sharing.then(|| self.found[first].best.fit.clone());
                    match self.train(&candidate, look, round, from.as_ref()) {
                        Ok(Some(trained)) => self.found[index].add(trained, look, restarts > 1 && !tuned.all_start),
                        Ok(None) => return ControlFlow::Break(()),
                        // a start that fails says nothing about the ones that did not
                        Err(_) => {}
                    }
                }
                self.one_more(&candidate.name())?;
                if sharing && index == first {
                    shared = Some(LastSharing { index, held_out, bound: self.found[first].best.fit.bound });
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Whether nothing has happened since posteriors were shared that the others should be given: the trial that led then leads
    /// now, or the one that does had its posteriors and is no more than a tie.
    fn stays_ahead(&self, old: LastSharing, first: usize) -> bool {
        let (tuned, best) = (self.trainer.tuned(), &self.found[first].best);
        if old.index == first {
            return best.fit.bound <= old.bound + tuned.enough;
        }
        let lead = best.scores.lead(&self.found[old.index].best.scores);
        !best.own_start && lead.mean <= tuned.overtaken * lead.error
    }

    /// Whether the posteriors that a trial had in its first look are as good as those of the trial `first` now: they are its own, or
    /// those of a tie.
    fn had_equal_posteriors(&self, index: usize, first: usize) -> bool {
        let equal = |had: usize| {
            let lead = self.found[first].best.scores.lead(&self.found[had].best.scores);
            had == first || lead.mean <= self.trainer.tuned().overtaken * lead.error
        };
        self.found[index].looked_with.is_some_and(equal)
    }

    /// Whether a trial is far behind another.
    fn is_far(&self, index: usize, first: usize) -> bool {
        let contender = self.contender(index, first);
        contender.behind >= contender.far
    }

    /// How a trial stands against the trial `first`.
    fn contender(&self, index: usize, first: usize) -> Contender {
        let (tuned, scores) = (self.trainer.tuned(), &self.found[first].best.scores);
        let lead = scores.lead(&self.found[index].best.scores);
        Contender { index, behind: lead.mean, far: tuned.far_nats.max(tuned.far_errors * lead.error) }
    }

    /// The trials that are not far behind the trial `first`, which comes first among them: it is trained before the others follow it,
    /// or they would win by more iterations. `risen` is added to the distance that is far.
    fn contenders(&self, first: usize, risen: f64) -> Vec<Contender> {
        let near = |contender: &Contender| contender.behind < contender.far + risen;
        let all = (0..self.found.len()).map(|index| self.contender(index, first));
        let mut contenders: Vec<Contender> = all.filter(near).collect();
        contenders.sort_by_key(|contender| (contender.index != first, contender.index));
        contenders
    }

    /// Trains a candidate; nothing if the observer ends that.
    fn train(
        &mut self,
        candidate: &Candidate,
        look: Look,
        training: usize,
        from: Option<&Fit>,
    ) -> Result<Option<TrainedFamily>> {
        let (name, done, total) = (candidate.name(), self.done, self.total);
        let mut observer = |_: &Progress<'_>| (self.observer)(&Progress::of_stage(&name, done, total));
        self.trainer.train(candidate, look, training, from, &mut observer)
    }

    /// Reports that one more training is done.
    fn one_more(&mut self, stage: &str) -> ControlFlow<()> {
        self.done += 1;
        (self.observer)(&Progress::of_stage(stage, self.done, self.total))
    }

    /// The scores of the trials `ties` with the same posteriors for all of them; nothing if the observer ends that.
    pub(super) fn matched(&mut self, ties: &[usize]) -> Result<Option<Vec<Scores>>> {
        self.total = self.done + ties.len() * ties.len();
        let trials: Vec<&Trial> = ties.iter().map(|tie| &self.found[*tie]).collect();
        let (done, total, observer) = (&mut self.done, self.total, &mut self.observer);
        self.trainer.matched(&trials, &mut || {
            *done += 1;
            observer(&Progress::of_stage("ties with the same posteriors", *done, total))
        })
    }
}

impl Trainer<'_, '_> {
    /// The numbers for these data.
    fn tuned(&self) -> &'static Tuning {
        if self.split.overlap > 1.0 { &PATCHES } else { &TABLES }
    }

    /// Trains a candidate and searches its fixed parameters, beginning with the posteriors of a training if there is one; nothing if
    /// the observer, which is asked between iterations, ends that.
    fn train(
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
        let em =
            |family: &SharedFamily| self.comparison.em(self.causes, seen).family(family).resolutions(&self.learned);
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
        Ok(Some(TrainedFamily { family, fit, scores, own_start: from.is_none() }))
    }
}

impl Trial {
    fn new(candidate: Candidate, trained: TrainedFamily, looked_with: Option<usize>) -> Trial {
        let bounds = vec![trained.fit.bound / trained.fit.weight];
        Trial { candidate, held_out: vec![trained.scores.mean()], bounds, best: trained, full: false, looked_with }
    }

    /// Adds a training, which is the best if its bound is higher: held-out entries must not choose among starts.
    ///
    /// `full_ones_count`: what a look found says nothing about luck once there is a full training.
    fn add(&mut self, trained: TrainedFamily, look: Look, full_ones_count: bool) {
        if look != Look::First && !std::mem::replace(&mut self.full, true) && full_ones_count {
            self.held_out.clear();
            self.bounds.clear();
        }
        self.held_out.push(trained.scores.mean());
        self.bounds.push(trained.fit.bound / trained.fit.weight);
        if trained.fit.bound > self.best.fit.bound {
            self.best = trained;
        }
    }

    /// Whether its density was integrated in scores but not in training.
    pub(super) fn integrated(&self, kind: Kind) -> bool {
        let rounded = !self.best.fit.model.columns().resolutions().is_empty();
        kind == Kind::Integer && !rounded && self.best.family.support().measure != Measure::Counting
    }
}

/// The trial that predicts best.
pub(super) fn leading(trials: &[Trial]) -> Option<usize> {
    (0..trials.len()).max_by(|a, b| trials[*a].best.scores.mean().total_cmp(&trials[*b].best.scores.mean()))
}
