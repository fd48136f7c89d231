//! How many causes? As many as predict held-out entries best, and no more than that.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::apart::Apart;
use super::causes::{DENSITY_SHARE, worth_trying};
use super::held_out::{Comparison, PSEUDO_COUNT, Scores, Split, ties};
pub use super::held_out::{Difference, Source};
use crate::em::{Em, Fit, Observer, Parcel, Progress, StopReason, unobserved};
use crate::error::{Error, Result};
use crate::family::{FamilySpec, Measure, SharedFamily};
use crate::model::{Model, Resolution, Views};
use crate::ranks;

/// Settings of a search for $H$.
///
/// ```
/// use efmca::{bars, tasks::select::{CauseSearch, Source}};
///
/// let truth = bars::model("poisson", 3, &[20.0], &[1.0], 0.2)?;
/// let y = truth.sample(500, 1).y;
/// let choice = CauseSearch::new("poisson").causes([2, 6, 10]).run(Source::Table(y.view()))?;
/// assert_eq!(choice.best().h, 6);
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CauseSearch {
    families: Vec<FamilySpec>,
    causes: Vec<usize>,
    comparison: Comparison,
    #[serde(default)]
    resolutions: Option<Vec<Resolution>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    views: Option<Views>,
}

/// A number of causes that was tried.
#[derive(Debug, Clone)]
pub struct CauseTrial {
    /// $H$.
    pub h: usize,
    /// The logarithm of the probability or density of a held-out entry, on average.
    pub held_out: f64,
    /// How far it is behind the number that predicts best.
    pub behind: Difference,
    /// The bound for a row of the entries that training saw.
    pub bound: f64,
    /// The Bayesian information criterion for a row, as a log-likelihood: larger is better.
    pub bic: f64,
    /// Learned parameters.
    pub parameters: usize,
    /// The model, which has not seen the held-out entries.
    pub model: Model,
}

/// The number of causes that was chosen, and all that were tried.
#[derive(Debug, Clone)]
pub struct CauseChoice {
    /// All numbers that were tried, in ascending order.
    pub trials: Vec<CauseTrial>,
    /// The place of the chosen one among them.
    pub chosen: usize,
    /// Held-out entries.
    pub entries: usize,
}

impl CauseChoice {
    /// The smallest number of causes that the data cannot tell from the one that predicts best.
    #[must_use]
    pub fn best(&self) -> &CauseTrial {
        &self.trials[self.chosen]
    }

    /// The number of causes that predicts best, which may be larger than the chosen one.
    #[must_use]
    pub fn best_by_held_out(&self) -> usize {
        let best = self.trials.iter().max_by(|a, b| a.held_out.total_cmp(&b.held_out));
        best.map_or(0, |trial| trial.h)
    }

    /// The number of causes with the best Bayesian information criterion.
    #[must_use]
    pub fn best_by_bic(&self) -> usize {
        let best = self.trials.iter().max_by(|a, b| a.bic.total_cmp(&b.bic));
        best.map_or(0, |trial| trial.h)
    }

    /// Whether the largest of several numbers was chosen, so that more could be better still.
    #[must_use]
    pub fn is_at_the_end(&self) -> bool {
        self.trials.len() > 1 && self.chosen + 1 == self.trials.len()
    }
}

impl CauseSearch {
    /// For data with this family in all columns.
    #[must_use]
    pub fn new(family: impl Into<FamilySpec>) -> CauseSearch {
        CauseSearch::with_families([family])
    }

    /// For data with a family for each column.
    #[must_use]
    pub fn with_families<F: Into<FamilySpec>>(families: impl IntoIterator<Item = F>) -> CauseSearch {
        let families = families.into_iter().map(Into::into).collect();
        CauseSearch { families, causes: Vec::new(), comparison: Comparison::new(1), resolutions: None, views: None }
    }

    /// A search with the settings of another comparison, and one training of each number.
    pub(crate) fn like(comparison: &Comparison, families: &[SharedFamily]) -> CauseSearch {
        let comparison = Comparison { restarts: 1, ..comparison.clone() };
        CauseSearch { comparison, ..CauseSearch::with_families(families) }
    }

    /// The numbers to try (default: powers of two that suit the size of the data).
    #[must_use]
    pub fn causes(mut self, causes: impl IntoIterator<Item = usize>) -> CauseSearch {
        self.causes = causes.into_iter().collect();
        self
    }

    /// How finely the values of each column were written down, or one for all columns (default: found, for tables).
    #[must_use]
    pub fn resolutions(mut self, resolutions: &[Resolution]) -> CauseSearch {
        self.resolutions = Some(resolutions.to_vec());
        self
    }

    /// Groups of columns with weights, for tables (default: every column counts once). Scores of held-out entries count as much
    /// as their columns do.
    #[must_use]
    pub fn views(mut self, views: impl Into<Option<Views>>) -> CauseSearch {
        self.views = views.into();
        self
    }

    /// Trainings of each number, from different starts (default: 1).
    #[must_use]
    pub fn restarts(mut self, restarts: usize) -> CauseSearch {
        self.comparison.restarts = restarts;
        self
    }

    /// EM iterations of each training, at the most (default: 60).
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> CauseSearch {
        self.comparison.iterations = iterations;
        self
    }

    /// The share of the entries that is held out (default: 0.1).
    #[must_use]
    pub fn held_out(mut self, share: f64) -> CauseSearch {
        self.comparison.share = share;
        self
    }

    /// The same seed gives the same choice (default: 0).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> CauseSearch {
        self.comparison.seed = seed;
        self
    }

    /// Checks the settings without any data.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] with the setting that cannot be used, and the errors of families that do not exist.
    pub fn check(&self) -> Result<()> {
        self.comparison.check()?;
        if self.causes.contains(&0) {
            return Err(Error::setting("causes", 0, "a model needs one cause at least"));
        }
        self.views.iter().try_for_each(Views::check)?;
        self.families.iter().try_for_each(|family| family.resolve().map(|_| ()))
    }

    /// Tries all numbers.
    ///
    /// # Errors
    ///
    /// The errors of [`check`](CauseSearch::check), and what is wrong with the data: its size, values that a family cannot have,
    /// columns without any value.
    pub fn run(&self, source: Source<'_>) -> Result<CauseChoice> {
        self.run_observed(source, &mut unobserved)
    }

    /// Tries all numbers and asks `observer` between iterations. If it asks to stop, the best of those that were tried is chosen.
    ///
    /// # Errors
    ///
    /// As [`run`](CauseSearch::run), and [`Error::Stopped`] if the observer ends the work before a number was tried.
    pub fn run_observed(&self, source: Source<'_>, observer: &mut Observer<'_>) -> Result<CauseChoice> {
        self.check()?;
        let families: Vec<SharedFamily> = self.families.iter().map(FamilySpec::resolve).collect::<Result<_>>()?;
        let split = self.comparison.split(source)?;
        let causes = self.numbers(&split);
        let resolutions = self.resolutions_of(source, &families)?;
        let resolution = |d: usize| resolutions.get(d).or(resolutions.first()).unwrap_or(&Resolution::Continuous);
        // the patches of images are learned from as they are
        let learned = if matches!(source, Source::Table(_)) { &resolutions[..] } else { &[] };
        let em = |h: usize, training: usize| self.training(h, training, &families, learned, &split);
        let ranks = ranks::current();
        let jobs: Vec<_> = causes.iter().map(|h| em(*h, 0).job(&*split.seen)).collect();
        let owners = ranks.plan(&jobs);
        let attempt = |h: usize, observer: &mut Observer<'_>| -> Result<Option<(Fit, Scores)>> {
            let Some(fit) = self.best_training(|training| em(h, training), &split, observer)? else { return Ok(None) };
            let scores = split.scores(&fit, resolution)?;
            Ok(Some((fit, scores)))
        };
        let name = |place: usize| format!("{} causes", causes[place]);
        let apart = Apart { owners: &owners, done: 0, total: causes.len(), observer, counted: true };
        let (alone, mut flow) = apart.run(name, |place, observer| {
            let tried = attempt(causes[place], observer)?;
            Ok(tried.map(|(fit, scores)| (fit.parcel().without_sets(), scores)))
        })?;
        let opened = |(place, tried): (usize, Option<(Parcel, Scores)>)| {
            let columns = em(causes[place], 0).columns(split.seen.d());
            tried.map(|(parcel, scores)| Ok((parcel.open(columns?)?, scores))).transpose()
        };
        let mut found: Vec<Option<(Fit, Scores)>> = alone.into_iter().enumerate().map(opened).collect::<Result<_>>()?;
        let mut done = found.iter().flatten().count();
        for place in (0..causes.len()).filter(|place| owners[*place].is_none()) {
            if flow.is_break() {
                break;
            }
            let stage = name(place);
            let mut stage_observer = |done: usize| observer(&Progress::of_stage(&stage, done, causes.len()));
            let Some(tried) = attempt(causes[place], &mut |_| stage_observer(done))? else { break };
            found[place] = Some(tried);
            done += 1;
            let asked = stage_observer(done).is_break();
            flow = if ranks.any(asked)? { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        }
        let found = found.into_iter().flatten().collect();
        choose(found, &split)
    }

    /// The resolution of each column of a table, or that of an image: whole numbers, or nothing.
    fn resolutions_of(&self, source: Source<'_>, families: &[SharedFamily]) -> Result<Vec<Resolution>> {
        let density = |family: &SharedFamily| family.support().measure != Measure::Counting;
        match (source, &self.resolutions) {
            _ if !families.iter().any(density) => Ok(Vec::new()),
            (Source::Table(table), Some(given)) => match given.len() {
                0 => Ok(Vec::new()),
                1 => Ok(vec![given[0].clone(); table.ncols()]),
                count if count == table.ncols() => Ok(given.clone()),
                count => Err(Error::shape("resolutions", format!("1 or {}", table.ncols()), count)),
            },
            (Source::Table(table), None) => Ok(Resolution::of_columns(table, &[])),
            (Source::Images { .. }, _) => {
                let whole = source.values().iter().all(|value| value.fract() == 0.0);
                Ok(if whole { vec![Resolution::WHOLE] } else { Vec::new() })
            }
        }
    }

    /// The numbers to try, in ascending order.
    fn numbers(&self, split: &Split<'_>) -> Vec<usize> {
        let mut causes =
            if self.causes.is_empty() { worth_trying(split.seen.n(), split.seen.d()) } else { self.causes.clone() };
        causes.sort_unstable();
        causes.dedup();
        causes
    }

    /// The settings of one of the trainings with `h` causes.
    fn training(
        &self,
        h: usize,
        training: usize,
        families: &[SharedFamily],
        resolutions: &[Resolution],
        split: &Split<'_>,
    ) -> Em {
        let em = self.comparison.em(h, &*split.seen).families(families).seed(self.comparison.seed_of(training));
        let em = em.resolutions(resolutions).views(self.views.clone());
        em.density_pseudo_count(PSEUDO_COUNT * DENSITY_SHARE)
    }

    /// Of the trainings with a number of causes the one with the highest bound; `None` if the observer ended one, because a training
    /// that was cut short says nothing about its number of causes.
    fn best_training(
        &self,
        em: impl Fn(usize) -> Em,
        split: &Split<'_>,
        observer: &mut Observer<'_>,
    ) -> Result<Option<Fit>> {
        let mut best: Option<Fit> = None;
        for training in 0..self.comparison.restarts {
            let fit = em(training).run_observed(&*split.seen, observer)?;
            if fit.stop == StopReason::Interrupted {
                return Ok(None);
            }
            if best.as_ref().is_none_or(|best| fit.bound > best.bound) {
                best = Some(fit);
            }
        }
        Ok(best)
    }
}

/// The smallest number of causes that ties with the one that predicts best.
fn choose(found: Vec<(Fit, Scores)>, split: &Split<'_>) -> Result<CauseChoice> {
    let first = found.iter().map(|(_, scores)| scores).max_by(|a, b| a.mean().total_cmp(&b.mean())).cloned();
    let Some(first) = first else { return Err(Error::Stopped { what: "a number of causes was tried".into() }) };
    let describe = |(fit, scores): (Fit, Scores)| {
        let (rows, parameters) = (fit.weight / split.overlap, fit.model.parameter_count());
        let bound = fit.bound / fit.weight;
        CauseTrial {
            h: fit.model.h(),
            held_out: scores.mean(),
            behind: first.lead(&scores),
            bound,
            bic: bound - 0.5 * parameters as f64 * rows.max(1.0).ln() / rows,
            parameters,
            model: fit.model,
        }
    };
    let trials: Vec<CauseTrial> = found.into_iter().map(describe).collect();
    let ties = |trial: &CauseTrial| ties::CAUSES.ties(trial.behind, first.entries, 0.0);
    let chosen = trials.iter().position(ties).unwrap_or(0);
    Ok(CauseChoice { trials, chosen, entries: first.entries })
}
