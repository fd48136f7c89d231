//! Trainings of families on the same data, so that the better one wins and not the luckier one.
//!
//! A family that is trained by itself ends in an optimum of its own, and optima are further apart than families that are
//! nearly the same. So all of them are given the posteriors of the leading family ([`Init::Posteriors`](crate::em::Init::Posteriors)), which keep their
//! winners, and continue from there.
//!
//! That is a tournament: who is many standard errors behind after a first look has lost, and the others are trained fully. For the
//! patches of an image, of which there are thousands, it is a short one ([`PATCHES`](super::tuning::PATCHES)): what a family finds out about the
//! image, all others are given, so that it is enough that the leading one looks for better starts.
//!
//! Trainings that need nothing of each other can be done side by side by ranks (`attempts`): those of a round, after the leading one.
//! In the first look each candidate is given the posteriors of the one that leads until then, so that as many of the next as there are
//! ranks are tried as if the leading one stayed the same. Where it does not, those that came after the new one are tried again.

use std::ops::ControlFlow;

use super::attempts::{Attempt, Attempts};
use super::candidates::{Candidate, Refusal};
use super::trainer::{Look, TrainedFamily, Trainer};
use super::tuning::Tuning;
use super::values::Kind;
use crate::em::{Observer, Progress};
use crate::error::Result;
use crate::family::Measure;
use crate::ranks;
use crate::tasks::apart::Apart;
use crate::tasks::held_out::Scores;

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

/// All trials of a ranking.
pub(super) struct Trials<'a, 'd, 'o> {
    pub(super) trainer: &'a Trainer<'a, 'd>,
    pub(super) found: Vec<Trial>,
    pub(super) observer: &'a mut Observer<'o>,
    /// Trainings that are done, and that there will be as far as is known.
    pub(super) done: usize,
    pub(super) total: usize,
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
    ///
    /// # Errors
    ///
    /// [`Error::Rank`](crate::Error::Rank) if another rank cannot be heard.
    pub(super) fn first_look(
        &mut self,
        candidates: Vec<Candidate>,
        refused: &mut Vec<Refusal>,
    ) -> Result<ControlFlow<()>> {
        let mut next = 0;
        while next < candidates.len() {
            let first = leading(&self.found);
            // the first one leads in any case
            let most = if first.is_none() { 1 } else { self.side_by_side() };
            let several = &candidates[next..candidates.len().min(next + most)];
            let attempt = |candidate: &Candidate| Attempt::new(candidate, vec![Look::First]);
            let attempts: Vec<Attempt> = several.iter().map(attempt).collect();
            let from = first.map(|index| self.found[index].best.fit.clone());
            let Attempts { found, flow } = self.attempt(&attempts, 0, (None, from.as_ref()), false)?;
            for (candidate, looked) in several.iter().zip(found) {
                match looked.and_then(|looked| looked.into_iter().next()) {
                    Some((_, Ok(trained))) => self.found.push(Trial::new(candidate.clone(), trained, first)),
                    Some((_, Err(reason))) => refused.push(Refusal { family: candidate.name(), reason }),
                    None => return Ok(ControlFlow::Break(())),
                }
                next += 1;
                if self.one_more(&candidate.name()).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                // the others are to have the posteriors of this one
                if leading(&self.found) != first {
                    break;
                }
            }
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Gives those that are not far behind the posteriors of the leading family, starts of their own, and again the posteriors of
    /// the leading family until it stays in the lead: then no family is ahead because it had luck with its start.
    ///
    /// # Errors
    ///
    /// [`Error::Rank`](crate::Error::Rank) if another rank cannot be heard.
    pub(super) fn try_again(&mut self) -> Result<ControlFlow<()>> {
        let (restarts, tuned) = (self.trainer.comparison.restarts, self.trainer.tuned());
        let mut shared: Option<LastSharing> = None;
        for round in 0..restarts + tuned.sharing_rounds {
            let sharing = round == 0 || round >= restarts;
            let Some(first) = leading(&self.found) else { break };
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
            for several in self.groups(contenders, first, sharing, round) {
                let attempts: Vec<Attempt> =
                    several.iter().map(|one| self.again(*one, (first, sharing), round)).collect();
                let from = sharing.then(|| self.found[first].best.fit.clone());
                let Attempts { found, flow } = self.attempt(&attempts, round, (Some(first), from.as_ref()), true)?;
                for (contender, looked) in several.iter().zip(found) {
                    for (look, trained) in looked.into_iter().flatten() {
                        // a start that fails says nothing about the ones that did not
                        if let Ok(trained) = trained {
                            self.found[contender.index].add(trained, look, restarts > 1 && !tuned.all_start);
                        }
                    }
                    if sharing && contender.index == first {
                        shared = Some(LastSharing { index: first, held_out, bound: self.found[first].best.fit.bound });
                    }
                }
                if flow.is_break() {
                    return Ok(flow);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The contenders of a round in groups, of which each needs the ones before: the leading one first, whose posteriors the others
    /// are given; then those that need nothing of each other; and then one by one those that look again unless another contender
    /// is as good as the leading one.
    fn groups(&self, contenders: Vec<Contender>, first: usize, sharing: bool, round: usize) -> Vec<Vec<Contender>> {
        if !sharing {
            return vec![contenders];
        }
        let tuned = self.trainer.tuned();
        let others: Vec<usize> = contenders.iter().map(|one| one.index).filter(|index| *index != first).collect();
        let waits = |one: &Contender| {
            let had = self.found[one.index].looked_with;
            one.looks_again(tuned, round) && !tuned.all_start && had.is_some_and(|had| others.contains(&had))
        };
        let (leader, rest): (Vec<Contender>, Vec<Contender>) =
            contenders.into_iter().partition(|one| one.index == first);
        let (later, now): (Vec<Contender>, Vec<Contender>) = rest.into_iter().partition(waits);
        let groups = [leader, now].into_iter().chain(later.into_iter().map(|one| vec![one]));
        groups.filter(|group| !group.is_empty()).collect()
    }

    /// What a contender does in a round.
    fn again(&self, contender: Contender, (first, sharing): (usize, bool), round: usize) -> Attempt {
        let (tuned, index) = (self.trainer.tuned(), contender.index);
        // those that came before the leading one had other posteriors in their first look, and look again
        let looks_again = contender.looks_again(tuned, round);
        // the leading one was trained fully when the others follow it
        let full = if sharing && (index != first || round > 0) { Look::Following } else { Look::Full };
        let looks = match looks_again {
            true if tuned.all_start => vec![Look::First],
            true if self.had_equal_posteriors(index, first) => Vec::new(),
            true => vec![Look::First, full],
            false => vec![full],
        };
        Attempt { known: Some(index), last_chance: looks_again, ..Attempt::new(&self.found[index].candidate, looks) }
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

    /// How a trial stands against the trial `first`.
    fn contender(&self, index: usize, first: usize) -> Contender {
        let (behind, far) = self.trainer.behind(&self.found[first].best, &self.found[index].best);
        Contender { index, behind, far }
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

    /// Reports that one more training is done.
    pub(super) fn one_more(&mut self, stage: &str) -> ControlFlow<()> {
        self.done += 1;
        (self.observer)(&Progress::of_stage(stage, self.done, self.total))
    }

    /// The scores of the trials `ties` with the same posteriors for all of them; nothing if the observer ends that.
    pub(super) fn matched(&mut self, ties: &[usize]) -> Result<Option<Vec<Scores>>> {
        const STAGE: &str = "ties with the same posteriors";
        let trials: Vec<&Trial> = ties.iter().map(|tie| &self.found[*tie]).collect();
        let (trainer, done, total) = (self.trainer, self.done, self.done + ties.len());
        let owners = ranks::current().plan(&vec![trainer.job(); ties.len()]);
        let apart = Apart { owners: &owners, done, total, observer: &mut *self.observer, counted: true };
        let (mut found, flow) = apart
            .run(|_| STAGE.to_owned(), |tie, observer| trainer.matched(&trials, &trials[tie].best.fit, observer))?;
        let mut done = done + found.iter().flatten().count();
        for tie in (0..ties.len()).filter(|tie| owners[*tie].is_none()) {
            let mut tell = |done: usize| (self.observer)(&Progress::of_stage(STAGE, done, total));
            if flow.is_break() {
                break;
            }
            let scores = trainer.matched(&trials, &trials[tie].best.fit, &mut |_| tell(done))?;
            let ended = scores.is_none();
            found[tie] = scores;
            done += 1;
            if ended || tell(done).is_break() {
                break;
            }
        }
        (self.done, self.total) = (done, total);
        // averaged over whose posteriors they are, always in the same order
        let Some(found) = found.into_iter().collect::<Option<Vec<Vec<Scores>>>>() else { return Ok(None) };
        let plus = |sum: Vec<Scores>, next: Vec<Scores>| sum.into_iter().zip(&next).map(|(a, b)| a.plus(b)).collect();
        Ok(found.into_iter().reduce(plus))
    }
}

impl Contender {
    /// Whether it is so far behind that it looks once more before it is trained fully, or is not.
    fn looks_again(&self, tuned: &Tuning, round: usize) -> bool {
        round == 0 && self.behind >= tuned.last_chance * self.far
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
