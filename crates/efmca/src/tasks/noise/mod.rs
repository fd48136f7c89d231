//! What noise is this? Families ranked by how well they foretell entries that training did not see (paper, Sec. 7.2.2).
//!
//! The paper compares the bounds of models with the same number of parameters. That is not enough for all families: here a
//! part of the entries is hidden from training, and families are compared by the probability that the trained model
//! gives to each hidden entry, $\log\sum_{\vec s}q(\vec s)p(y_d | \vec s)$, where $q$ is the posterior of the entries of the same
//! row that are seen. It needs no count of parameters, is the same for exact and for truncated posteriors, and for whole
//! numbers a density can be integrated over $\lbrack y-\frac12, y+\frac12\rbrack $, which makes it a probability too. Families that
//! it cannot tell apart are ordered by the Bayesian information criterion.

mod candidates;
mod column;
mod held_out;
mod interval;
mod known;
mod matched;
mod peak;
mod pixels;
mod ranking;
mod table;

pub use candidates::{Candidate, Kind, Refusal, Values, candidates};
pub use held_out::Source;
pub(crate) use held_out::{Scores, Split};
pub use ranking::{Ranked, Ranking};
pub use table::{ColumnFamily, ColumnTypes, Mixed, Tried};

use std::ops::ControlFlow;

use crate::em::{Em, Fit, Init, StopReason};
use crate::error::{Error, Result};
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
/// Ties that are compared with the same posteriors, at the most.
const MOST_MATCHED: usize = 3;
/// States of a row where there are too many causes for all.
const STATES: usize = 16;

/// Settings for ranking families. Everything has a default but the number of causes.
///
/// ```
/// use efmca::{Background, Model, family::family, tasks::noise::{NoiseType, Source}};
/// use ndarray::array;
///
/// let truth = Model::new(
///     family("exponential")?,
///     array![0.3, 0.3],
///     vec![array![[9.0, 9.0, 1.0, 1.0], [1.0, 1.0, 9.0, 9.0]]],
///     Background::fixed(&[1.0]),
/// )?;
/// let y = truth.sample(800, 1).y;
/// let ranking = NoiseType::new(2).families(["exponential", "gamma", "gaussian"]).rank(Source::Table(y.view()))?;
/// assert_eq!(ranking.best().family.spec(), "exponential");
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct NoiseType {
    pub(crate) h: usize,
    families: Option<Vec<String>>,
    pub(crate) restarts: usize,
    pub(crate) iterations: usize,
    pub(crate) hidden: f64,
    pub(crate) seed: u64,
    same_posteriors: bool,
    /// Whether this is the first look at a family, for which a rough value of unknown parameters is enough.
    first_look: bool,
}

/// What an observer is told.
#[derive(Debug, Clone)]
pub struct Step {
    /// What was done last.
    pub done: String,
    /// Trainings and columns that are done, and how many there are as far as is known.
    pub trainings: (usize, usize),
}

/// Sees steps, and can end the work.
pub type Observer<'a> = dyn FnMut(&Step) -> ControlFlow<()> + 'a;

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
    /// Models with `h` causes.
    pub fn new(h: usize) -> NoiseType {
        NoiseType {
            h,
            families: None,
            restarts: 3,
            iterations: 60,
            hidden: 0.1,
            seed: 0,
            same_posteriors: false,
            first_look: false,
        }
    }

    /// The same settings for models with `h` causes.
    pub(crate) fn with_causes(self, h: usize) -> NoiseType {
        NoiseType { h, ..self }
    }

    /// Ranks these families only, as `family` reads them; `weibull` or `gamma:k=?` leaves a known parameter to be found.
    pub fn families<S: Into<String>>(mut self, specs: impl IntoIterator<Item = S>) -> NoiseType {
        self.families = Some(specs.into_iter().map(Into::into).collect());
        self
    }

    /// Trainings of each family that is not far behind, each from other starts (default: 3).
    pub fn restarts(mut self, restarts: usize) -> NoiseType {
        self.restarts = restarts;
        self
    }

    /// EM iterations of each training, at the most (default: 60).
    pub fn iterations(mut self, iterations: usize) -> NoiseType {
        self.iterations = iterations;
        self
    }

    /// The share of the entries that is hidden (default: 0.1).
    pub fn hidden(mut self, share: f64) -> NoiseType {
        self.hidden = share;
        self
    }

    /// The same seed gives the same ranking (default: 0).
    pub fn seed(mut self, seed: u64) -> NoiseType {
        self.seed = seed;
        self
    }

    /// Whether ties are also compared with the same posteriors for all of them, see [`Ranked::matched`] (default: no). That takes
    /// about a fifth more time and has smaller errors; the order of the ranking stays.
    pub fn same_posteriors(mut self, wanted: bool) -> NoiseType {
        self.same_posteriors = wanted;
        self
    }

    /// Ranks the families that can have produced the data.
    pub fn rank(&self, source: Source<'_>) -> Result<Ranking> {
        self.rank_observed(source, &mut |_| ControlFlow::Continue(()))
    }

    /// Ranks the families and asks `observer` between the iterations of each training; if it asks to stop, what is there is
    /// ranked, and before there is anything it is [`Error::Stopped`].
    pub fn rank_observed(&self, source: Source<'_>, observer: &mut Observer<'_>) -> Result<Ranking> {
        self.check()?;
        let values = Values::of(source.values()).ok_or(Error::EmptyData { rows: 0, columns: 0 })?;
        if values.constant() {
            return Err(Error::setting("data", values.summary.min, "all values are equal, so that there is no noise"));
        }
        let (mut candidates, mut refused) = self.candidates(&values)?;
        if candidates.is_empty() {
            let reasons: Vec<String> =
                refused.iter().map(|refusal| format!("{}: {}", refusal.family, refusal.reason)).collect();
            return Err(Error::setting("families", "none possible", reasons.join("; ")));
        }
        // the others begin with what the first one found, which therefore has a spread of its own and nothing unknown: like the
        // Gaussian of the paper's warm start
        candidates.sort_by_key(|candidate| (candidate.searched(), candidate.fixes_its_spread()));
        let split = source.split(self.hidden, self.seed)?;
        let whole = values.kind == Kind::Whole;
        let mut trials: Vec<Trial> = Vec::new();
        let mut told = (0, candidates.len());
        let mut stopped = false;
        for candidate in candidates {
            let front = first(&trials).map(|index| trials[index].best.fit.model.clone());
            let mut step = Step { done: candidate.name(), trainings: told };
            let mut watch = || observer(&step);
            match self.quick().train(&candidate, &split, whole, 0, front.as_ref(), &mut watch) {
                Ok(Some(trained)) => trials.push(Trial::new(candidate, trained)),
                Ok(None) => stopped = true,
                Err(error) => refused.push(Refusal { family: candidate.name(), reason: error.to_string() }),
            }
            told.0 += 1;
            step.trainings = told;
            if stopped || observer(&step).is_break() {
                stopped = true;
                break;
            }
        }
        if trials.is_empty() && stopped {
            return Err(Error::Stopped { what: "a family was trained".into() });
        }
        if trials.is_empty() {
            let reasons: Vec<String> =
                refused.iter().map(|refusal| format!("{}: {}", refusal.family, refusal.reason)).collect();
            return Err(Error::setting("families", "none could be trained", reasons.join("; ")));
        }
        if !stopped {
            stopped = self.try_again(&mut trials, &split, whole, &mut told, observer)?.is_break();
        }
        let mut ranking = Ranking::new(&trials, refused, values.kind, &split, self.h);
        let ties: Vec<&Trial> = ranking.ties(&trials).into_iter().take(MOST_MATCHED).collect();
        if self.same_posteriors && !stopped && ties.len() > 1 {
            let all = told.0 + ties.len() * ties.len();
            let mut go_on = || {
                told = (told.0 + 1, all);
                observer(&Step { done: "ties with the same posteriors".into(), trainings: told }).is_continue()
            };
            if let Some(scores) = self.matched(&ties, &split, whole, &mut go_on)? {
                let families: Vec<SharedFamily> = ties.iter().map(|trial| trial.best.family.clone()).collect();
                ranking.match_ties(&families, &scores);
            }
        }
        Ok(ranking)
    }

    pub(crate) fn check(&self) -> Result<()> {
        if !(self.hidden > 0.0 && self.hidden < 0.9) {
            return Err(Error::setting("hidden share", self.hidden, "it must lie between 0 and 0.9"));
        }
        if self.restarts == 0 {
            return Err(Error::setting("restarts", 0, "it must be 1 or more"));
        }
        Ok(())
    }

    /// What is to be tried.
    fn candidates(&self, values: &Values) -> Result<(Vec<Candidate>, Vec<Refusal>)> {
        let Some(specs) = &self.families else { return Ok(candidates(values)) };
        let (mut found, mut refused) = (Vec::new(), Vec::new());
        for spec in specs {
            let candidate = Candidate::parse(spec, values)?;
            match candidate.possible(values) {
                Ok(()) => found.push(candidate),
                Err(reason) => refused.push(Refusal { family: spec.clone(), reason }),
            }
        }
        Ok((found, refused))
    }

    /// Gives those that are not far behind the posteriors of the one in front, other starts, and again the posteriors of the one
    /// in front until nobody overtakes it: then what is between them is not which of them had luck with its start.
    fn try_again(
        &self,
        trials: &mut [Trial],
        split: &Split,
        whole: bool,
        told: &mut (usize, usize),
        observer: &mut Observer<'_>,
    ) -> Result<ControlFlow<()>> {
        // who was in front when its posteriors were given to the others, and with which bound
        let mut shared: Option<(usize, f64)> = None;
        for round in 0..self.restarts + SHARED_ROUNDS {
            let sharing = round == 0 || round >= self.restarts;
            let Some(first) = first(trials) else { return Ok(ControlFlow::Continue(())) };
            let bound = trials[first].best.fit.log_likelihood;
            if sharing && shared.is_some_and(|(index, before)| index == first && bound <= before + ENOUGH) {
                break;
            }
            let near = |trial: &Trial, factor: f64| {
                let (lead, error) = trials[first].best.scores.lead(&trial.best.scores);
                lead < factor * FAR.0.max(FAR.1 * error)
            };
            // those that came before the one in front had other posteriors in their first look, and look again
            let looks_again: Vec<bool> = trials.iter().map(|trial| round == 0 && !near(trial, LAST_CHANCE)).collect();
            let contends = |index: &usize| round == 0 || near(&trials[*index], 1.0);
            let mut contenders: Vec<usize> = (0..trials.len()).filter(contends).collect();
            // the one in front goes on before the others follow it, or they would win by more iterations
            contenders.sort_by_key(|index| (*index != first, *index));
            told.1 = told.0 + contenders.len() * (self.restarts.saturating_sub(round) + 1);
            for index in contenders {
                let model = sharing.then(|| trials[first].best.fit.model.clone());
                let settings = if looks_again[index] { self.quick() } else { self.clone() };
                let candidate = &trials[index].candidate;
                let mut step = Step { done: candidate.name(), trainings: *told };
                let mut watch = || observer(&step);
                match settings.train(candidate, split, whole, round as u64, model.as_ref(), &mut watch) {
                    Ok(Some(trained)) => trials[index].add(trained),
                    Ok(None) => return Ok(ControlFlow::Break(())),
                    // a start that fails says nothing about the ones that did not
                    Err(_) => {}
                }
                told.0 += 1;
                step.trainings = *told;
                if observer(&step).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                if sharing && index == first {
                    shared = Some((first, trials[first].best.fit.log_likelihood));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The settings of a first look.
    fn quick(&self) -> NoiseType {
        NoiseType { iterations: self.iterations.div_ceil(FIRST_LOOK), first_look: true, ..self.clone() }
    }

    /// Trains a candidate, and finds what is unknown of it; nothing if `watch`, which is asked between iterations, ends that.
    fn train(
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
        let mut fit = em.fit_watched(&*split.seen, None, &mut |_| watch())?;
        for _ in 0..if known.is_empty() { 0 } else { rounds } {
            if fit.stop == StopReason::Asked {
                return Ok(None);
            }
            let next = known::search(candidate, &split.owned(&fit.model, most)?, Some(&known))?;
            let moved = known.iter().zip(&next).map(|(old, new)| (new / old - 1.0).abs()).fold(0.0, f64::max);
            known = next;
            family = candidate.family(&known)?;
            let again = self.em(&*split.seen).family(family.clone()).iterations(self.iterations / 3 + 1);
            let again = again.init(Init::Posteriors(Box::new(fit.model.clone())));
            fit = again.fit_watched(&*split.seen, None, &mut |_| watch())?;
            if moved < FOUND {
                break;
            }
        }
        if fit.stop == StopReason::Asked {
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
        let bounds = vec![trained.fit.log_likelihood / trained.fit.weight];
        Trial { candidate, held_out: vec![trained.scores.mean()], bounds, best: trained }
    }

    /// Another training, which is kept if its bound is higher: hidden entries must not choose among starts.
    fn add(&mut self, trained: Trained) {
        self.held_out.push(trained.scores.mean());
        self.bounds.push(trained.fit.log_likelihood / trained.fit.weight);
        if trained.fit.log_likelihood > self.best.fit.log_likelihood {
            self.best = trained;
        }
    }

    /// Whether its density was integrated around whole numbers.
    pub(crate) fn integrated(&self, kind: Kind) -> bool {
        kind == Kind::Whole && self.best.family.support().measure != Measure::Counting
    }
}

/// The trial that foretells best.
fn first(trials: &[Trial]) -> Option<usize> {
    (0..trials.len()).max_by(|a, b| trials[*a].best.scores.mean().total_cmp(&trials[*b].best.scores.mean()))
}
