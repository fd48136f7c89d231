//! The settings of a training.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Fit, Hold, Init, Schedule, Structure};
use crate::family::FamilySpec;
use crate::model::{Background, Resolution, Superposition, Views};
use crate::posterior::{LARGEST_EXACT_H, Sets, Truncation};
use crate::ranks::Shards;

/// $S$ where nothing was said: the paper's.
const DEFAULT_STATES: usize = 60;

/// Settings of EM, exact or variational. Everything has a default but the number of causes and the family.
///
/// ```
/// use efmca::{Background, Em, Model};
/// use efmca::family::family;
/// use ndarray::array;
///
/// // Two causes over four counters: draw from the model, then find it again from the counts alone.
/// let truth = Model::new(
///     family("poisson")?,
///     array![0.3, 0.3],
///     vec![array![[9.0, 9.0, 1.0, 1.0], [1.0, 1.0, 9.0, 9.0]]],
///     Background::fixed(&[1.0]),
/// )?;
/// let counts = truth.sample(500, 1).y;
/// let fit = Em::new(2).family("poisson").seed(1).starts(5).run(&counts)?;
/// assert!((fit.model.pi().sum() - 0.6).abs() < 0.1);
/// assert!(fit.bound > truth.log_likelihood(&counts)? - 5.0);
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
// the names are part of checkpoints: a field can be renamed, its name here cannot
#[serde(default = "Em::defaults")]
pub struct Em {
    #[serde(rename = "causes")]
    pub(super) h: usize,
    #[serde(rename = "spare causes")]
    pub(super) spare: usize,
    #[serde(rename = "family")]
    pub(super) families: Vec<FamilySpec>,
    pub(super) background: Background,
    pub(super) superposition: Superposition,
    pub(super) iterations: usize,
    pub(super) tolerance: f64,
    pub(super) seed: u64,
    #[serde(rename = "start")]
    pub(super) init: Init,
    #[serde(rename = "first pi")]
    pub(super) pi_init: Option<(f64, f64)>,
    pub(super) starts: usize,
    #[serde(rename = "short iterations")]
    pub(super) short_iterations: usize,
    #[serde(rename = "warm start")]
    pub(super) warm_start: usize,
    pub(super) temperature: Schedule,
    pub(super) rho: Option<Schedule>,
    #[serde(rename = "M-step iterations")]
    pub(super) repeats: usize,
    pub(super) guard: Option<bool>,
    #[serde(rename = "pseudo-count")]
    pub(super) pseudo_count: f64,
    // checkpoints without it stay as they are
    #[serde(rename = "pseudo-count of densities", skip_serializing_if = "Option::is_none")]
    pub(super) density_pseudo_count: Option<f64>,
    #[serde(rename = "smallest pi")]
    pub(super) smallest_pi: f64,
    pub(super) revive: bool,
    /// Whether a fit has $q$ of the states in its sets: the last E-step, which the bound needs, is then enough to clean an image.
    #[serde(skip)]
    pub(super) keep_posteriors: bool,
    pub(super) holds: Vec<Hold>,
    #[serde(rename = "posterior")]
    pub(super) truncation: Option<Truncation>,
    pub(super) batches: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) resolutions: Vec<Resolution>,
    // checkpoints without it stay as they are
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) structure: Option<Structure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) views: Option<Views>,
    // checkpoints without it stay as they are
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shards: Option<usize>,
    // checkpoints without it stay as they are
    #[serde(rename = "further iterations", skip_serializing_if = "is_zero")]
    pub(super) further: usize,
    /// The sets of the model that posteriors are taken from, so that they need not be found again. They follow from that model,
    /// and are no part of checkpoints.
    #[serde(skip)]
    pub(super) given_sets: Option<Arc<Sets>>,
}

/// Whether a run has its own iterations only.
fn is_zero(further: &usize) -> bool {
    *further == 0
}

impl Em {
    /// Training with `causes` causes ($H$ of the paper).
    pub fn new(causes: usize) -> Em {
        Em {
            h: causes,
            spare: 0,
            families: Vec::new(),
            background: Background::Learned,
            superposition: Superposition::Max,
            iterations: 100,
            tolerance: 1e-9,
            seed: 0,
            init: Init::MeanNoise { scale: 0.1 },
            pi_init: None,
            starts: 1,
            short_iterations: 15,
            warm_start: 0,
            temperature: Schedule::Constant(1.0),
            rho: None,
            repeats: 1,
            guard: None,
            pseudo_count: 0.0,
            density_pseudo_count: None,
            smallest_pi: 1e-5,
            revive: true,
            keep_posteriors: false,
            holds: Vec::new(),
            truncation: None,
            batches: 1,
            resolutions: Vec::new(),
            structure: None,
            views: None,
            shards: None,
            further: 0,
            given_sets: None,
        }
    }

    /// The family of all columns: a name such as `"poisson"` or `"gamma:k=4"` (see [`mod@crate::family::registry`]), or a family.
    #[must_use]
    pub fn family(mut self, family: impl Into<FamilySpec>) -> Em {
        self.families = vec![family.into()];
        self
    }

    /// A family for each column.
    pub fn families<F: Into<FamilySpec>>(mut self, families: impl IntoIterator<Item = F>) -> Em {
        self.families = families.into_iter().map(Into::into).collect();
        self
    }

    /// How finely the values of each column were written down (default: they are what they are). Rounded values stand for
    /// intervals, so that no variance can run onto values that repeat, and the log-likelihood is that of the intervals, or a
    /// bound of it.
    #[must_use]
    pub fn resolutions(mut self, resolutions: &[Resolution]) -> Em {
        self.resolutions = resolutions.to_vec();
        self
    }

    /// Groups of columns, each with a weight (default: every column counts once). The bound is then that of the weighted
    /// likelihood; see [`Views`].
    #[must_use]
    pub fn views(mut self, views: impl Into<Option<Views>>) -> Em {
        self.views = views.into();
        self
    }

    /// The profile that shows where no cause is active (default: learned).
    #[must_use]
    pub fn background(mut self, background: Background) -> Em {
        self.background = background;
        self
    }

    /// How active causes combine (default: the maximum).
    #[must_use]
    pub fn superposition(mut self, superposition: Superposition) -> Em {
        self.superposition = superposition;
        self
    }

    /// The number of EM iterations, at the most (default: 100).
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> Em {
        self.iterations = iterations;
        self
    }

    /// Goes on for so many iterations after those of [`Em::iterations`] (default: 0).
    ///
    /// Some of what a run does depends on how many iterations it has: causes are revived in the first two thirds, spare ones go
    /// towards the end, and phases are shares of it. A run that is prolonged keeps to what it was started with, so that it ends
    /// in the same bits whether it was left on the way or not: a [`Checkpoint`](crate::Checkpoint) can be resumed with another
    /// number here, and with no other setting.
    #[must_use]
    pub fn further(mut self, iterations: usize) -> Em {
        self.further = iterations;
        self
    }

    /// All iterations of a run.
    pub(super) fn all_iterations(&self) -> usize {
        self.iterations.saturating_add(self.further)
    }

    /// Training ends when three iterations in a row change the log-likelihood by less than this, relatively
    /// (default: 10⁻⁹); 0 runs all iterations.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Em {
        self.tolerance = tolerance;
        self
    }

    /// The same seed gives the same model, bit for bit, for any number of threads (default: 0).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Em {
        self.seed = seed;
        self
    }

    /// How the dictionaries start (default: the paper's, with noise of a tenth of a standard deviation).
    #[must_use]
    pub fn init(mut self, init: Init) -> Em {
        self.init = init;
        self
    }

    /// Starts with the posteriors of a training of the same data ([`Init::Posteriors`]), whose sets of states go on as well: a model
    /// alone would have to find them again.
    #[must_use]
    pub(crate) fn with_posteriors_of(mut self, fit: &Fit) -> Em {
        self.given_sets = fit.sets.clone().map(Arc::new);
        self.init(Init::Posteriors(Box::new(fit.model.clone())))
    }

    /// The priors $\pi_h$ start uniformly drawn from this range (default: all at $2/H$, or 0.3 if that is less).
    #[must_use]
    pub fn pi_init(mut self, low: f64, high: f64) -> Em {
        self.pi_init = Some((low, high));
        self
    }

    /// The number of starts (default: 1). With more than one, each is given a short run and the best goes on. Twenty starts
    /// of ten iterations found every bar in 100 of 100 runs of the bars test.
    #[must_use]
    pub fn starts(mut self, starts: usize) -> Em {
        self.starts = starts;
        self
    }

    /// The iterations of the short run that chooses between starts (default: 15).
    #[must_use]
    pub fn short_iterations(mut self, iterations: usize) -> Em {
        self.short_iterations = iterations;
        self
    }

    /// The paper's warm start (appendix C.1): this many iterations with Gaussian noise first, whose posteriors then
    /// make the first parameters of the target family (default: none).
    #[must_use]
    pub fn warm_start(mut self, iterations: usize) -> Em {
        self.warm_start = iterations;
        self
    }

    /// Tempered posteriors $q \propto p(\vec s, \vec y)^{1/T}$ with this temperature $T$ (default: 1).
    #[must_use]
    pub fn temperature(mut self, schedule: Schedule) -> Em {
        self.temperature = schedule;
        self
    }

    /// The smooth maximum with this exponent until the schedule settles, and the true one from there on; a constant
    /// exponent is used in all iterations (default: none). The model that comes out has the true maximum.
    #[must_use]
    pub fn rho(mut self, schedule: Schedule) -> Em {
        self.rho = Some(schedule);
        self
    }

    /// How often the fixed-point equation of the M-step is iterated (default: once, as in the paper).
    #[must_use]
    pub fn m_step_iterations(mut self, repeats: usize) -> Em {
        self.repeats = repeats;
        self
    }

    /// Makes every EM step non-decreasing by damping the columns whose part of the bound would fall (default: on
    /// for exact posteriors, off for truncated ones, where it costs another pass over the data).
    ///
    /// Without it the step is the paper's. It usually rises too, but near the end it can dip, and it can end in a cycle
    /// of two models instead of at a maximum; [`crate::Fit::dips`] counts.
    #[must_use]
    pub fn guard(mut self, guard: bool) -> Em {
        self.guard = Some(guard);
        self
    }

    /// Adds this many rows of average data to every entry of the dictionaries, which keeps all families off the edge
    /// of their domains (default: 0, the maximum likelihood).
    #[must_use]
    pub fn pseudo_count(mut self, pseudo_count: f64) -> Em {
        self.pseudo_count = pseudo_count;
        self
    }

    /// The same for columns whose family has a density (default: [`pseudo_count`](Em::pseudo_count)).
    ///
    /// An average row has the spread of the whole column. A cause that owns a narrow part of it, of 50 rows say, with a tenth of
    /// that spread, has twice the variance with half a row of it, where the probabilities of a few codes need about one row.
    #[must_use]
    pub fn density_pseudo_count(mut self, pseudo_count: impl Into<Option<f64>>) -> Em {
        self.density_pseudo_count = pseudo_count.into();
        self
    }

    /// How close to 0 and 1 the priors may come (default: 10⁻⁵).
    #[must_use]
    pub fn smallest_pi(mut self, smallest: f64) -> Em {
        self.smallest_pi = smallest;
        self
    }

    /// Whether a cause that owns no data is started again from a badly explained row (default: yes, in the first two
    /// thirds of the iterations, and not while the first dictionary is held). The likelihood may fall when that happens.
    #[must_use]
    pub fn revive(mut self, revive: bool) -> Em {
        self.revive = revive;
        self
    }

    /// Keeps $q$ of the last E-step in [`Fit`](super::Fit).
    #[must_use]
    pub(crate) fn keep_posteriors(mut self) -> Em {
        self.keep_posteriors = true;
        self
    }

    /// Starts with this many causes more than asked for and takes away those that the bound misses least, so that none
    /// is wanting because two of them share one (default: 0).
    ///
    /// After two fifths of the iterations half of the spare causes go, and half of the rest after every second one from
    /// there on. What the bound loses without a cause is taken from the states of $\mathcal K^{(n)}$ without it, after
    /// every other cause was tried in its place; with exact posteriors it is computed. As many spare causes as causes
    /// find all of 20 to 60 bars from one start in 46 of 48 runs (`experiments/results/large-bars.md`). A model that exists already
    /// ([`Init::Model`]) must have the spare causes too: that is how it is made smaller.
    ///
    /// ```
    /// use efmca::{Em, bars};
    ///
    /// let truth = bars::model("poisson", 3, &[20.0], &[1.0], 0.2)?;
    /// let y = truth.sample(300, 1).y;
    /// let em = Em::new(6).family("poisson").spare_causes(3).iterations(40);
    /// let model = em.run(&y)?.model;
    /// assert_eq!(model.h(), 6);
    /// assert!(bars::recovered(&truth, &model));
    /// # Ok::<(), efmca::Error>(())
    /// ```
    #[must_use]
    pub fn spare_causes(mut self, causes: usize) -> Em {
        self.spare = causes;
        self
    }

    /// The settings that are taken where a file says nothing about them.
    fn defaults() -> Em {
        Em::new(1)
    }

    /// The number of causes that training starts with.
    pub(super) fn first_h(&self) -> usize {
        self.h + self.spare
    }

    /// Truncated posteriors: for each row a set of states, improved by proposals (default: exact posteriors over all $2^H$
    /// states up to 16 causes, and sets of 60 states above).
    #[must_use]
    pub fn truncated(mut self, truncation: Truncation) -> Em {
        self.truncation = Some(truncation);
        self
    }

    /// Updates the parameters this often in each iteration of truncated posteriors, each time after a part of the rows had
    /// its E-step (default: 1). The moments of the other parts stay as they were: incremental EM (Neal and Hinton, 1998),
    /// which needs fewer passes over the data. The iterated and the guarded M-step are not used with it.
    #[must_use]
    pub fn batches(mut self, batches: usize) -> Em {
        self.batches = batches;
        self
    }

    /// The number of shards into which rows are cut for truncated posteriors (default: one for every 8,192 rows of a batch, 16 at the
    /// most). So many ranks can share the work, see [`ranks`](crate::ranks). The result depends on it, and never on who does the
    /// work: rows have neighbours, and best states in common, only within a shard.
    #[must_use]
    pub fn shards(mut self, shards: impl Into<Option<usize>>) -> Em {
        self.shards = shards.into();
        self
    }

    /// How `n` rows are cut.
    pub(super) fn shards_of(&self, n: usize) -> Shards {
        self.shards.map_or_else(|| Shards::usual(n, self.batches), |count| Shards::new(n, count))
    }

    /// The settings of truncated posteriors, or `None` if posteriors are exact.
    pub(super) fn posterior_settings(&self) -> Option<Truncation> {
        let needed = (self.first_h() > LARGEST_EXACT_H).then(|| Truncation::new(DEFAULT_STATES));
        self.truncation.clone().or(needed)
    }

    /// Whether the M-step is guarded.
    pub(super) fn guarded(&self) -> bool {
        self.guard.unwrap_or(self.posterior_settings().is_none())
    }

    /// Holds a parameter over a span of iterations.
    #[must_use]
    pub fn hold(mut self, hold: Hold) -> Em {
        self.holds.push(hold);
        self
    }

    /// What is known of the causes: columns that they must or must not touch, and causes of another model (default: nothing).
    #[must_use]
    pub fn structure(mut self, structure: Structure) -> Em {
        self.structure = Some(structure);
        self
    }

    /// The starting value of every prior, unless a range is given.
    pub(super) fn default_pi(&self) -> f64 {
        (2.0 / self.first_h() as f64).min(0.3)
    }
}
