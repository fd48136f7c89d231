//! Trainings of several candidates that need nothing of each other.

use std::ops::ControlFlow;

use super::candidates::Candidate;
use super::trainer::{Look, Sent, TrainedFamily};
use super::trials::Trials;
use crate::em::{Fit, Observer, Progress};
use crate::error::Result;
use crate::ranks::{self, Decoder, Encode};
use crate::tasks::apart::Apart;

/// What is tried with a candidate, one training after the other.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    pub(super) candidate: Candidate,
    pub(super) looks: Vec<Look>,
    /// Its trial, if there is one.
    pub(super) known: Option<usize>,
    /// Whether it is trained no further if it is far behind after its first look.
    pub(super) last_chance: bool,
}

/// The trainings of an attempt; the reason where one failed.
pub(super) type Looked = Vec<(Look, std::result::Result<TrainedFamily, String>)>;

/// What came out of attempts, in their order: nothing for those that were not made because somebody asked to stop.
pub(super) struct Attempts {
    pub(super) found: Vec<Option<Looked>>,
    pub(super) flow: ControlFlow<()>,
}

impl Attempt {
    pub(super) fn new(candidate: &Candidate, looks: Vec<Look>) -> Attempt {
        Attempt { candidate: candidate.clone(), looks, known: None, last_chance: false }
    }
}

impl Trials<'_, '_, '_> {
    /// How many trainings are worth doing at a time, whatever comes out of them: as many as there are ranks, if each of them does one.
    pub(super) fn side_by_side(&self) -> usize {
        let ranks = ranks::current();
        let owners = ranks.plan(&vec![self.trainer.job(); ranks.count()]);
        if owners.iter().all(Option::is_some) { ranks.count() } else { 1 }
    }

    /// Makes attempts with the posteriors of `from`, the training of the trial `first`, if they are given any. `counted` if they are
    /// reported as done.
    ///
    /// # Errors
    ///
    /// [`Error::Rank`](crate::Error::Rank) if another rank cannot be heard; what is wrong with a training is its own result.
    pub(super) fn attempt(
        &mut self,
        attempts: &[Attempt],
        round: usize,
        (first, from): (Option<usize>, Option<&Fit>),
        counted: bool,
    ) -> Result<Attempts> {
        let (trainer, trials, observer) = (self.trainer, &self.found, &mut *self.observer);
        let owners = ranks::current().plan(&vec![trainer.job(); attempts.len()]);
        let make = |place: usize, observer: &mut Observer<'_>| -> Option<Looked> {
            let attempt = &attempts[place];
            let (mut looked, mut best) = (Looked::new(), None);
            for look in &attempt.looks {
                // of its own trainings so far the one with the highest bound
                let known = attempt.known.map(|index| &trials[index].best);
                let own: Option<&TrainedFamily> = best.and_then(|at: usize| looked[at].1.as_ref().ok()).or(known);
                if let (Some(first), Some(own)) = (first, own)
                    && attempt.last_chance
                    && *look != Look::First
                {
                    let (behind, far) = trainer.behind(&trials[first].best, own);
                    if behind >= far {
                        break;
                    }
                }
                let trained = match trainer.train(&attempt.candidate, *look, round, from, observer) {
                    Ok(trained) => Ok(trained?),
                    Err(error) => Err(error.to_string()),
                };
                let higher = |new: &TrainedFamily| own.is_none_or(|own| new.fit.bound > own.fit.bound);
                let is_best = trained.as_ref().is_ok_and(higher);
                looked.push((*look, trained));
                if is_best {
                    best = Some(looked.len() - 1);
                }
            }
            Some(looked)
        };
        let name = |place: usize| attempts[place].candidate.name();
        let apart = Apart { owners: &owners, done: self.done, total: self.total, observer: &mut *observer, counted };
        let (alone, mut flow) = apart.run(name, |place, observer| {
            Ok(make(place, observer).map(|looked| looked.into_iter().map(sent).collect::<Vec<_>>()))
        })?;
        let mut found: Vec<Option<Looked>> = Vec::with_capacity(attempts.len());
        for (attempt, looked) in attempts.iter().zip(alone) {
            let received = |(look, trained): (Look, std::result::Result<Sent, String>)| {
                let trained = match trained {
                    Ok(sent) => Ok(trainer.received(&attempt.candidate, sent)?),
                    Err(reason) => Err(reason),
                };
                Ok((look, trained))
            };
            found.push(looked.map(|looked| looked.into_iter().map(received).collect::<Result<_>>()).transpose()?);
        }
        let mut done = self.done + if counted { found.iter().flatten().count() } else { 0 };
        for place in (0..attempts.len()).filter(|place| owners[*place].is_none()) {
            if flow.is_break() {
                break;
            }
            let (name, total) = (name(place), self.total);
            let mut tell = |done: usize| observer(&Progress::of_stage(&name, done, total));
            found[place] = make(place, &mut |_| tell(done));
            if found[place].is_none() {
                flow = ControlFlow::Break(());
            } else if counted {
                done += 1;
                flow = tell(done);
            }
        }
        self.done = done;
        Ok(Attempts { found, flow })
    }
}

fn sent(
    (look, trained): (Look, std::result::Result<TrainedFamily, String>),
) -> (Look, std::result::Result<Sent, String>) {
    (look, trained.map(|trained| trained.sent()))
}

impl Encode for Look {
    fn encode(&self, out: &mut Vec<u8>) {
        (*self as u64).encode(out);
    }

    fn decode(from: &mut Decoder<'_>) -> Option<Look> {
        let number = u64::decode(from)?;
        [Look::First, Look::Full, Look::Following].into_iter().find(|look| *look as u64 == number)
    }
}
