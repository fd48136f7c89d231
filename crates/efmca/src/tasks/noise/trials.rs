//! Trainings of families on the same data, so that the better one wins and not the luckier one.
//!
//! A family that is trained by itself ends in an optimum of its own, and optima are further apart than families that are
//! nearly the same. So all of them are given the posteriors of the one in front ([`Init::Posteriors`]), which keep their
//! owners, and go on from there.

use std::ops::ControlFlow;

use super::candidates::{Candidate, Kind};
use super::held_out::{Scores, Split};
use super::{NoiseType, known};
use crate::em::{Em, Fit, Init, Observer, Progress, StopReason};
use crate::error::Result;
use crate::family::{Measure, SharedFamily};
use crate::model::{Data, Model};
use crate::posterior::truncated::Precision;
use crate::posterior::{LARGEST_EXACT_H, Truncation};

/// Rounds of search for unknown known parameters, and entries that are looked at: in the first look and later.
const ROUNDS: [usize; 2] = [2, 4];
const MOST_ENTRIES: [usize; 2] = [1 << 12, 1 << 20];
/// A parameter that moved by less than this, relatively, is found.
const FOUND: f64 = 0.02;
/// Rows of average data in each entry of the dictionaries, so that a cause with one value of its own has no zero variance.
const PSEUDO_COUNT: f64 = 1.0;
/// Families that are further behind than this, in nats an entry and in standard errors, are not trained again.
const FAR: (f64, f64) = (0.03, 6.0);
/// Rounds in which the posteriors of the one in front are given to the others, until nobody overtakes it.
const SHARED_ROUNDS: usize = 3;
/// A bound that rose by less than this many nats is the same.
const ENOUGH: f64 = 1.0;
/// How much further behind a family may be to be trained fully with the posteriors of the one in front.
const LAST_CHANCE: f64 = 6.0;
/// Starts whose short runs a training begins with, where posteriors are exact.
const SHORT_STARTS: usize = 6;
/// Entries times states from which on half of these starts have to do, and from which on states are truncated.
const FEW_STARTS_FROM: usize = 1 << 23;
const TRUNCATED_FROM: usize = 1 << 27;
/// The part of the iterations that families have before those that are far behind are left out.
const FIRST_LOOK: usize = 3;
/// States of a row where there are too many causes for all.
const STATES: usize = 16;

/// A family that was tried.
pub(crate) struct Trial {
    pub(crate) candidate: Candidate,
    pub(crate) best: Trained,
    /// Scores an entry of all trainings.
    pub(crate) held_out: Vec<f64>,
    /// Bounds a row of all trainings.
    pub(crate) bounds: Vec<f64>,
}

/// One training of a family.
pub(crate) struct Trained {
    pub(crate) family: SharedFamily,
    pub(crate) fit: Fit,
    pub(crate) scores: Scores,
}

impl NoiseType {
    /// Gives those that are not far behind the posteriors of the one in front, other starts, and again the posteriors of the one
    /// in front until nobody overtakes it: then what is between them is not which of them had luck with its start.
    pub(super) fn try_again(
        &self,
        trials: &mut [Trial],
        split: &Split,
        whole: bool,
        told: &mut (usize, usize),
        observer: &mut Observer<'_>,
    ) -> Result<ControlFlow<()>> {
        // who was in front when its posteriors were given to the others, and with which bound
        let mut shared: Option<(usize, f64)> = None;
        // and with which score
        let mut level = f64::NEG_INFINITY;
        for round in 0..self.restarts + SHARED_ROUNDS {
            let sharing = round == 0 || round >= self.restarts;
            let Some(first) = first(trials) else { return Ok(ControlFlow::Continue(())) };
            let bound = trials[first].best.fit.bound;
            if sharing && shared.is_some_and(|(index, before)| index == first && bound <= before + ENOUGH) {
                break;
            }
            // whoever was near when posteriors were shared last may be further behind now by what the one in front has risen since
            let reached = trials[first].best.scores.mean();
            let risen = if sharing { (reached - level).max(0.0) } else { 0.0 };
            level = if sharing { reached } else { level };
            // how far behind it is, and how far is far
            let behind = |trial: &Trial| {
                let (lead, error) = trials[first].best.scores.lead(&trial.best.scores);
                (lead, FAR.0.max(FAR.1 * error))
            };
            // those that came before the one in front had other posteriors in their first look, and look again
            let looks_again = |(lead, far): (f64, f64)| round == 0 && lead >= LAST_CHANCE * far;
            let looks_again: Vec<bool> = trials.iter().map(|trial| looks_again(behind(trial))).collect();
            let contends = |(lead, far): (f64, f64)| lead < far + risen;
            let contends = |index: &usize| contends(behind(&trials[*index]));
            let mut contenders: Vec<usize> = (0..trials.len()).filter(contends).collect();
            // the one in front goes on before the others follow it, or they would win by more iterations
            contenders.sort_by_key(|index| (*index != first, *index));
            told.1 = told.0 + contenders.len() * (self.restarts.saturating_sub(round) + 1);
            for index in contenders {
                let model = sharing.then(|| trials[first].best.fit.model.clone());
                let settings = if looks_again[index] { self.quick() } else { self.clone() };
                let candidate = &trials[index].candidate;
                let name = candidate.name();
                let mut watch = || observer(&Progress::of_stage(&name, told.0, told.1));
                match settings.train(candidate, split, whole, round as u64, model.as_ref(), &mut watch) {
                    Ok(Some(trained)) => trials[index].add(trained),
                    Ok(None) => return Ok(ControlFlow::Break(())),
                    // a start that fails says nothing about the ones that did not
                    Err(_) => {}
                }
                told.0 += 1;
                if observer(&Progress::of_stage(&name, told.0, told.1)).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                if sharing && index == first {
                    shared = Some((first, trials[first].best.fit.bound));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The settings of a first look.
    pub(super) fn quick(&self) -> NoiseType {
        NoiseType { iterations: self.iterations.div_ceil(FIRST_LOOK), first_look: true, ..self.clone() }
    }

    /// Trains a candidate, and finds what is unknown of it; nothing if `watch`, which is asked between iterations, ends that.
    pub(super) fn train(
        &self,
        candidate: &Candidate,
        split: &Split,
        whole: bool,
        start: u64,
        from: Option<&Model>,
        watch: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Option<Trained>> {
        let [rounds, most] = [ROUNDS, MOST_ENTRIES].map(|choice| choice[usize::from(!self.first_look)]);
        // a rough value from the whole range, whatever was found before: what is wrong there would stay wrong
        let mut known = match from {
            _ if candidate.searched() == 0 => Vec::new(),
            Some(model) => known::search(candidate, &split.owned(model, MOST_ENTRIES[0])?, None)?,
            None => known::search(candidate, &split.by_one(MOST_ENTRIES[0]), None)?,
        };
        let mut family = candidate.family(&known)?;
        let mut em = self.em(&*split.seen).family(family.clone()).seed(self.seed.wrapping_add(start << 32));
        em = match from {
            Some(model) => em.init(Init::Posteriors(Box::new(model.clone()))),
            None => em,
        };
        let mut fit = em.run_observed(&*split.seen, &mut |_| watch())?;
        for _ in 0..if known.is_empty() { 0 } else { rounds } {
            if fit.stop == StopReason::Interrupted {
                return Ok(None);
            }
            let next = known::search(candidate, &split.owned(&fit.model, most)?, Some(&known))?;
            let moved = known.iter().zip(&next).map(|(old, new)| (new / old - 1.0).abs()).fold(0.0, f64::max);
            known = next;
            family = candidate.family(&known)?;
            let again = self.em(&*split.seen).family(family.clone()).iterations(self.iterations / 3 + 1);
            let again = again.init(Init::Posteriors(Box::new(fit.model.clone())));
            fit = again.run_observed(&*split.seen, &mut |_| watch())?;
            if moved < FOUND {
                break;
            }
        }
        if fit.stop == StopReason::Interrupted {
            return Ok(None);
        }
        let scores = split.scores(&fit, whole)?;
        Ok(Some(Trained { family, fit, scores }))
    }

    /// The training of all families.
    pub(crate) fn em(&self, data: &dyn Data) -> Em {
        let em = Em::new(self.h).iterations(self.iterations).pseudo_count(PSEUDO_COUNT).tolerance(1e-6);
        let work = data.n().saturating_mul(data.d()).saturating_mul(1 << self.h.min(20));
        let em = em.starts(if work > FEW_STARTS_FROM { SHORT_STARTS / 2 } else { SHORT_STARTS }).short_iterations(10);
        // all states of all rows would take longer than a few good ones
        let many = self.h > LARGEST_EXACT_H || work > TRUNCATED_FROM;
        if many { em.truncated(Truncation::new(STATES).precision(Precision::Single)).starts(1) } else { em }
    }
}

impl Trial {
    pub(crate) fn new(candidate: Candidate, trained: Trained) -> Trial {
        let bounds = vec![trained.fit.bound / trained.fit.weight];
        Trial { candidate, held_out: vec![trained.scores.mean()], bounds, best: trained }
    }

    /// Another training, which is kept if its bound is higher: hidden entries must not choose among starts.
    fn add(&mut self, trained: Trained) {
        self.held_out.push(trained.scores.mean());
        self.bounds.push(trained.fit.bound / trained.fit.weight);
        if trained.fit.bound > self.best.fit.bound {
            self.best = trained;
        }
    }

    /// Whether its density was integrated around whole numbers.
    pub(crate) fn integrated(&self, kind: Kind) -> bool {
        kind == Kind::Whole && self.best.family.support().measure != Measure::Counting
    }
}

/// The trial that foretells best.
pub(super) fn first(trials: &[Trial]) -> Option<usize> {
    (0..trials.len()).max_by(|a, b| trials[*a].best.scores.mean().total_cmp(&trials[*b].best.scores.mean()))
}
