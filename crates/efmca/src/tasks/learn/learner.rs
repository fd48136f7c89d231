//! The settings of feature learning, and the training that they describe.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::em::{Checkpoint, Em, Fit, Held, Hold, Init, Observer, unobserved};
use crate::error::{Error, Result};
use crate::family::{FamilySpec, SharedFamily};
use crate::model::{Background, Data, Superposition};
use crate::posterior::truncated::{Evolution, LARGEST_H, OneFlips, Propose, Selection, Variation};
use crate::posterior::{Precision, Truncation};

/// The share of the iterations that the first of two phases has.
const FIRST_PHASE: f64 = 0.5;
/// The share of the row in a start from single rows; the rest is the average.
const ROW_SHARE: f64 = 0.5;

/// Learns features: a dictionary of patches of images, or of any other rows (Sec. 7.2.1 and appendix C.2 of the paper).
///
/// The defaults are the paper's (60 states, a start from clusters, two phases for the Gaussian, and the maximum
/// magnitude for values of both signs) with two exceptions that `docs/LEARNING.md` explains: $\pi_h$ starts small and
/// not in [0.1, 0.5], and a few rows of average data are added.
///
/// ```
/// use efmca::{bars, tasks::learn::FeatureLearner};
///
/// let truth = bars::model("poisson", 3, &[20.0], &[1.0], 0.2)?;
/// let y = truth.sample(500, 1).y;
/// let fit = FeatureLearner::new("poisson", 6).iterations(40).states(20).run(&y)?;
/// assert!(bars::recovered(&truth, &fit.model));
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeatureLearner {
    family: FamilySpec,
    causes: usize,
    superposition: Option<Superposition>,
    iterations: usize,
    two_phases: bool,
    states: usize,
    pi_init: Option<(f64, f64)>,
    pseudo_rows: f64,
    batches: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shards: Option<usize>,
    start: Start,
    spread: f64,
    seed: u64,
}

/// The rows from which the dictionaries start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// Clusters of similar rows ([`Init::Clusters`]).
    #[default]
    Clusters,
    /// Single rows, each mixed with the average of all rows half and half ([`Init::Rows`]).
    Rows,
}

impl FeatureLearner {
    /// EM iterations where nothing else is set.
    pub const ITERATIONS: usize = 100;
    /// States of each row where nothing else is set.
    pub const STATES: usize = 60;
    /// Updates of the parameters in each iteration where nothing else is set.
    pub const BATCHES: usize = 4;
    /// The share of all rows that is added as average data where nothing else is set.
    pub const PSEUDO_ROWS: f64 = 5e-4;
    /// The first spread of causes where nothing else is set.
    pub const SPREAD: f64 = 1.0;

    /// Learning of `causes` causes ($H$) with noise of a family: a name such as `"gaussian"`, or a family.
    #[must_use]
    pub fn new(family: impl Into<FamilySpec>, causes: usize) -> FeatureLearner {
        FeatureLearner {
            family: family.into(),
            causes,
            superposition: None,
            iterations: FeatureLearner::ITERATIONS,
            two_phases: true,
            states: FeatureLearner::STATES,
            pi_init: None,
            pseudo_rows: FeatureLearner::PSEUDO_ROWS,
            batches: FeatureLearner::BATCHES,
            shards: None,
            start: Start::default(),
            spread: FeatureLearner::SPREAD,
            seed: 0,
        }
    }

    /// How active causes combine (default: by the maximum, and by the maximum magnitude where values can be negative).
    #[must_use]
    pub fn superposition(mut self, superposition: Superposition) -> FeatureLearner {
        self.superposition = Some(superposition);
        self
    }

    /// The number of EM iterations (default: [`FeatureLearner::ITERATIONS`]).
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> FeatureLearner {
        self.iterations = iterations;
        self
    }

    /// Whether families with a spread of their own are learned in two phases (default: yes): the other dictionaries and
    /// $\vec\pi$ in the first half of the iterations, the spread alone in the rest. Learned together from the start,
    /// the bound can oscillate. Other families have one phase in any case.
    #[must_use]
    pub fn two_phases(mut self, two_phases: bool) -> FeatureLearner {
        self.two_phases = two_phases;
        self
    }

    /// $S$, the number of states of each row (default: [`FeatureLearner::STATES`]).
    #[must_use]
    pub fn states(mut self, states: usize) -> FeatureLearner {
        self.states = states;
        self
    }

    /// The priors $\pi_h$ start uniformly drawn from this range (default: equal and small). The paper draws from 0.1 to
    /// 0.5.
    #[must_use]
    pub fn pi_init(mut self, low: f64, high: f64) -> FeatureLearner {
        self.pi_init = Some((low, high));
        self
    }

    /// The share of all rows that is added to every entry of the dictionaries as average data (default:
    /// [`FeatureLearner::PSEUDO_ROWS`]). Without it a cause that few rows use learns their noise by heart, and stays
    /// with them.
    #[must_use]
    pub fn pseudo_rows(mut self, share: f64) -> FeatureLearner {
        self.pseudo_rows = share;
        self
    }

    /// Updates of the parameters in each iteration (default: [`FeatureLearner::BATCHES`]); see [`Em::batches`].
    #[must_use]
    pub fn batches(mut self, batches: usize) -> FeatureLearner {
        self.batches = batches;
        self
    }

    /// The number of shards into which rows are cut, which so many ranks can share (default: by the number of rows); see
    /// [`Em::shards`].
    #[must_use]
    pub fn shards(mut self, shards: impl Into<Option<usize>>) -> FeatureLearner {
        self.shards = shards.into();
        self
    }

    /// The rows from which the dictionaries start (default: clusters).
    #[must_use]
    pub fn start(mut self, start: Start) -> FeatureLearner {
        self.start = start;
        self
    }

    /// The first spread of causes in standard deviations of all data (default: [`FeatureLearner::SPREAD`]). It matters
    /// for families with a spread of their own that start from clusters.
    #[must_use]
    pub fn spread(mut self, spread: f64) -> FeatureLearner {
        self.spread = spread;
        self
    }

    /// The same seed gives the same features, bit for bit, for any number of threads (default: 0).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> FeatureLearner {
        self.seed = seed;
        self
    }

    /// The family.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownFamily`] or [`Error::FamilyParameter`] if it was given by a name that names none.
    pub fn family(&self) -> Result<SharedFamily> {
        self.family.resolve()
    }

    /// The rule by which active causes combine: the one that was set, or the one that suits the family.
    ///
    /// # Errors
    ///
    /// As [`FeatureLearner::family`].
    pub fn rule(&self) -> Result<Superposition> {
        let by_sign = if self.family()?.support().low < 0.0 { Superposition::MaxMagnitude } else { Superposition::Max };
        Ok(self.superposition.unwrap_or(by_sign))
    }

    /// The first iteration of the second phase, counted from 0, if there are two phases.
    ///
    /// # Errors
    ///
    /// As [`FeatureLearner::family`].
    pub fn second_phase(&self) -> Result<Option<usize>> {
        let first = (FIRST_PHASE * self.iterations as f64).ceil() as usize;
        Ok((self.two_phases && has_spread(&self.family()?)).then_some(first))
    }

    /// Checks the settings before any data is touched.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] with the name of the first setting that makes no sense, or an error about the family.
    pub fn check(&self) -> Result<()> {
        self.family()?;
        if !(1..=LARGEST_H).contains(&self.causes) {
            return Err(Error::setting("causes", self.causes, format!("it must be a number from 1 to {LARGEST_H}")));
        }
        let numbers = [
            ("iterations", self.iterations),
            ("states", self.states),
            ("batches", self.batches),
            ("shards", self.shards.unwrap_or(1)),
        ];
        for (name, value) in numbers {
            if value == 0 {
                return Err(Error::setting(name, value, "it must be 1 or more"));
            }
        }
        if !(self.spread > 0.0 && self.spread.is_finite()) {
            let requirement = "it must be a positive number; 1 is the standard deviation of the data";
            return Err(Error::setting("spread", self.spread, requirement));
        }
        if !(self.pseudo_rows >= 0.0 && self.pseudo_rows.is_finite()) {
            let requirement = "it must be a small share of the rows, such as 0.0005, or 0 for none";
            return Err(Error::setting("pseudo_rows", self.pseudo_rows, requirement));
        }
        if let Some((low, high)) = self.pi_init
            && !(0.0 < low && low <= high && high < 1.0)
        {
            let requirement = "it must be a range of probabilities between 0 and 1, such as 0.1,0.5";
            return Err(Error::setting("pi_init", format!("{low},{high}"), requirement));
        }
        if let Some(rule @ (Superposition::Smooth { .. } | Superposition::SmoothMagnitude { .. })) = self.superposition
        {
            let requirement = "features are learned with truncated posteriors, which have no smooth maximum";
            return Err(Error::setting("superposition", rule.name(), requirement));
        }
        Ok(())
    }

    /// EM with these settings for `rows` rows: all that [`FeatureLearner::run`] does is to run it on the data. It is
    /// the way to settings that are not here, such as a start from a model ([`Em::init`]), and to [`Em::described`] for
    /// checkpoints.
    ///
    /// # Errors
    ///
    /// As [`FeatureLearner::check`].
    pub fn em(&self, rows: usize) -> Result<Em> {
        self.em_of_weight(rows as f64)
    }

    /// Learns from `data`, $N \times D$ with NaN where a value is missing.
    ///
    /// # Errors
    ///
    /// As [`FeatureLearner::check`], and as [`Em::run`] where something is wrong with the data.
    pub fn run(&self, data: &dyn Data) -> Result<Fit> {
        self.run_observed(data, &mut unobserved)
    }

    /// Learns from `data` and calls `observer` after each iteration, which can end the learning.
    ///
    /// # Errors
    ///
    /// As [`FeatureLearner::run`].
    pub fn run_observed(&self, data: &dyn Data, observer: &mut Observer<'_>) -> Result<Fit> {
        self.em_of_weight(weight(data))?.run_observed(data, observer)
    }

    /// Resumes a run from a checkpoint; the result is the one that the run would have had, bit for bit. See
    /// [`Em::resume`].
    ///
    /// # Errors
    ///
    /// [`Error::Resume`] if the run had other settings or other data, and as [`FeatureLearner::run`].
    pub fn resume(&self, data: &dyn Data, checkpoint: Checkpoint, observer: &mut Observer<'_>) -> Result<Fit> {
        self.em_of_weight(weight(data))?.resume(data, checkpoint, observer)
    }

    fn em_of_weight(&self, rows: f64) -> Result<Em> {
        self.check()?;
        let proposals: Vec<Arc<dyn Propose>> = vec![
            Arc::new(OneFlips { parents: 1 }),
            Arc::new(Evolution {
                parents: 5,
                children: 4,
                selection: Selection::Fitness,
                variation: Variation::RandomFlip,
            }),
        ];
        let init = match self.start {
            Start::Clusters => Init::Clusters { spread: self.spread },
            Start::Rows => Init::Rows { share: ROW_SHARE },
        };
        let mut em = Em::new(self.causes)
            .family(self.family.clone())
            .superposition(self.rule()?)
            .background(Background::Learned)
            .iterations(self.iterations)
            .tolerance(0.0)
            .init(init)
            .seed(self.seed)
            .pseudo_count(self.pseudo_rows * rows)
            .batches(self.batches)
            .shards(self.shards)
            .truncated(Truncation::new(self.states).precision(Precision::Single).proposals(proposals));
        if let Some((low, high)) = self.pi_init {
            em = em.pi_init(low, high);
        }
        if let Some(second) = self.second_phase()? {
            em = em
                .hold(Hold { what: Held::W(1), from: 0, until: second })
                .hold(Hold { what: Held::W(0), from: second, until: usize::MAX })
                .hold(Hold { what: Held::Pi, from: second, until: usize::MAX });
        }
        Ok(em)
    }
}

/// The number of rows, each counted as often as its weight says.
fn weight(data: &dyn Data) -> f64 {
    data.weights().map_or(data.n() as f64, |weights| weights.sum())
}

/// Whether the second dictionary is a spread, which can be held.
fn has_spread(family: &SharedFamily) -> bool {
    let mut w = vec![0.0; family.l()];
    family.project(&mut w);
    family.spread(&w).is_some()
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use ndarray::{Array1, Array2};

    use super::*;
    use crate::bars;
    use crate::em::{Fingerprint, StopReason};
    use crate::family::family;
    use crate::model::Weighted;

    fn learner() -> FeatureLearner {
        FeatureLearner::new("poisson", 6).iterations(6).states(8).seed(3)
    }

    fn pictures() -> Array2<f64> {
        bars::model(family("poisson").unwrap(), 3, &[20.0], &[1.0], 0.2).unwrap().sample(200, 1).y
    }

    fn assert_same(a: &Fit, b: &Fit) {
        assert_eq!(a.model.w_flat(), b.model.w_flat());
        assert_eq!((a.model.pi(), a.bound.to_bits()), (b.model.pi(), b.bound.to_bits()));
        assert_eq!((&a.history, &a.sets), (&b.history, &b.sets));
    }

    #[test]
    fn settings_that_make_no_sense_are_named() {
        learner().check().unwrap();
        let refused = [
            ("causes", FeatureLearner::new("poisson", 0)),
            ("causes", FeatureLearner::new("poisson", LARGEST_H + 1)),
            ("iterations", learner().iterations(0)),
            ("states", learner().states(0)),
            ("batches", learner().batches(0)),
            ("spread", learner().spread(0.0)),
            ("spread", learner().spread(f64::NAN)),
            ("spread", learner().spread(-1.0).start(Start::Rows)),
            ("pseudo_rows", learner().pseudo_rows(-1e-4)),
            ("pseudo_rows", learner().pseudo_rows(f64::INFINITY)),
            ("pi_init", learner().pi_init(0.0, 0.5)),
            ("pi_init", learner().pi_init(0.5, 0.1)),
            ("pi_init", learner().pi_init(0.5, 1.0)),
            ("pi_init", learner().pi_init(f64::NAN, f64::NAN)),
            ("superposition", learner().superposition(Superposition::Smooth { rho: 3.0 })),
        ];
        for (expected, learner) in refused {
            for found in [learner.check().unwrap_err(), learner.run(&pictures()).unwrap_err()] {
                assert!(matches!(found, Error::Setting { name, .. } if name == expected), "{expected}: {found}");
            }
        }
        assert!(matches!(FeatureLearner::new("poison", 3).check(), Err(Error::UnknownFamily { .. })));
        assert!(matches!(FeatureLearner::new("gamma:k=-1", 3).check(), Err(Error::FamilyParameter { .. })));
        // nothing more is found when EM checks the settings that were made of these
        learner().pseudo_rows(0.0).pi_init(0.1, 0.1).run(&pictures()).unwrap();
    }

    #[test]
    fn settings_follow_the_family_unless_they_are_given() {
        let gaussian = FeatureLearner::new("gaussian", 3).iterations(7);
        assert_eq!(gaussian.rule(), Ok(Superposition::MaxMagnitude));
        assert_eq!(gaussian.second_phase(), Ok(Some(4)));
        assert_eq!(gaussian.clone().two_phases(false).second_phase(), Ok(None));
        assert_eq!(gaussian.clone().superposition(Superposition::Max).rule(), Ok(Superposition::Max));
        assert_eq!((learner().rule(), learner().second_phase()), (Ok(Superposition::Max), Ok(None)));
        assert_eq!(FeatureLearner::new("poisson", 3), FeatureLearner::new(family("poisson").unwrap(), 3));
        assert_ne!(learner(), learner().seed(4));
        assert_ne!(learner(), learner().start(Start::Rows));
    }

    #[test]
    fn a_resumed_run_ends_as_one_that_was_left_alone() {
        let (y, learner) = (pictures(), learner());
        let complete = learner.run(&y).unwrap();
        assert_same(&complete, &learner.em(y.nrows()).unwrap().run(&y).unwrap());
        let settings = learner.em(y.nrows()).unwrap().settings();
        let mut left = None;
        let stopped = learner.run_observed(&y, &mut |progress| {
            let state = progress.training.unwrap().state;
            left = Some(state.to_checkpoint(settings.clone(), Fingerprint::of(&y)));
            if progress.done == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(stopped.unwrap().stop, StopReason::Interrupted);
        let left = left.unwrap();
        assert_same(&complete, &learner.resume(&y, left.clone(), &mut unobserved).unwrap());
        let other = learner.clone().states(9).resume(&y, left.clone(), &mut unobserved);
        assert!(matches!(other, Err(Error::Resume { .. })));
        let mut changed = y;
        changed[[0, 0]] += 1.0;
        assert!(matches!(learner.resume(&changed, left, &mut unobserved), Err(Error::Resume { .. })));
    }

    #[test]
    fn average_data_is_a_share_of_what_rows_weigh() {
        let y = pictures();
        let weighted = Weighted::new(&y, Array1::from_elem(y.nrows(), 3.0)).unwrap();
        let expected = learner().em(3 * y.nrows()).unwrap().run(&weighted).unwrap();
        assert_same(&expected, &learner().run(&weighted).unwrap());
    }
}
