//! What a training run is asked to do.

use super::training::Training;
use super::{Hold, Init, Schedule};
use crate::error::{Error, Result};
use crate::family::FamilySpec;
use crate::model::{Background, Columns, Data, Superposition};
use crate::posterior::truncated::LARGEST_H;
use crate::posterior::{LARGEST_EXACT_H, Truncation};

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
/// let fit = Em::new(2).family(family("poisson")?).seed(1).starts(5).run(&counts)?;
/// assert!((fit.model.pi().sum() - 0.6).abs() < 0.1);
/// assert!(fit.bound > truth.log_likelihood(&counts)? - 5.0);
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Em {
    pub(super) h: usize,
    pub(super) spare: usize,
    pub(super) families: Vec<FamilySpec>,
    pub(super) background: Background,
    pub(super) superposition: Superposition,
    pub(super) iterations: usize,
    pub(super) tolerance: f64,
    pub(super) seed: u64,
    pub(super) init: Init,
    pub(super) pi_init: Option<(f64, f64)>,
    pub(super) starts: usize,
    pub(super) short_iterations: usize,
    pub(super) warm_start: usize,
    pub(super) temperature: Schedule,
    pub(super) rho: Option<Schedule>,
    pub(super) repeats: usize,
    pub(super) guard: Option<bool>,
    pub(super) pseudo_count: f64,
    pub(super) smallest_pi: f64,
    pub(super) revive: bool,
    pub(super) holds: Vec<Hold>,
    pub(super) truncation: Option<Truncation>,
    pub(super) batches: usize,
}

impl Em {
    /// Training with `h` causes ($H$ of the paper).
    pub fn new(h: usize) -> Em {
        Em {
            h,
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
            smallest_pi: 1e-5,
            revive: true,
            holds: Vec::new(),
            truncation: None,
            batches: 1,
        }
    }

    /// The family of all columns: a name such as `"poisson"` or `"gamma:k=4"` (see [`mod@crate::family::registry`]), or a family.
    pub fn family(mut self, family: impl Into<FamilySpec>) -> Em {
        self.families = vec![family.into()];
        self
    }

    /// A family for each column.
    pub fn families<F: Into<FamilySpec>>(mut self, families: impl IntoIterator<Item = F>) -> Em {
        self.families = families.into_iter().map(Into::into).collect();
        self
    }

    /// What is there when no cause is (default: learned).
    pub fn background(mut self, background: Background) -> Em {
        self.background = background;
        self
    }

    /// How active causes combine (default: the maximum).
    pub fn superposition(mut self, superposition: Superposition) -> Em {
        self.superposition = superposition;
        self
    }

    /// The number of EM iterations, at the most (default: 100).
    pub fn iterations(mut self, iterations: usize) -> Em {
        self.iterations = iterations;
        self
    }

    /// Training ends when three iterations in a row change the log-likelihood by less than this, relatively
    /// (default: 10⁻⁹); 0 runs all iterations.
    pub fn tolerance(mut self, tolerance: f64) -> Em {
        self.tolerance = tolerance;
        self
    }

    /// The same seed gives the same model, bit for bit, for any number of threads (default: 0).
    pub fn seed(mut self, seed: u64) -> Em {
        self.seed = seed;
        self
    }

    /// How the dictionaries start (default: the paper's, with noise of a tenth of a standard deviation).
    pub fn init(mut self, init: Init) -> Em {
        self.init = init;
        self
    }

    /// The priors $\pi_h$ start uniformly drawn from this range (default: all at $2/H$, or 0.3 if that is less).
    pub fn pi_init(mut self, low: f64, high: f64) -> Em {
        self.pi_init = Some((low, high));
        self
    }

    /// The number of starts (default: 1). With more than one, each is given a short run and the best goes on. Twenty starts
    /// of ten iterations found every bar in 100 of 100 runs of the bars test.
    pub fn starts(mut self, starts: usize) -> Em {
        self.starts = starts;
        self
    }

    /// The iterations of the short run that chooses between starts (default: 15).
    pub fn short_iterations(mut self, iterations: usize) -> Em {
        self.short_iterations = iterations;
        self
    }

    /// The paper's warm start (appendix C.1): this many iterations with Gaussian noise first, whose posteriors then
    /// make the first parameters of the target family (default: none).
    pub fn warm_start(mut self, iterations: usize) -> Em {
        self.warm_start = iterations;
        self
    }

    /// Tempered posteriors $q \propto p(\vec s, \vec y)^{1/T}$ with this temperature $T$ (default: 1).
    pub fn temperature(mut self, schedule: Schedule) -> Em {
        self.temperature = schedule;
        self
    }

    /// The smooth maximum with this exponent until the schedule settles, and the true one from there on; a constant
    /// exponent is used in all iterations (default: none). The model that comes out has the true maximum.
    pub fn rho(mut self, schedule: Schedule) -> Em {
        self.rho = Some(schedule);
        self
    }

    /// How often the fixed-point equation of the M-step is iterated (default: once, as in the paper).
    pub fn m_step_iterations(mut self, repeats: usize) -> Em {
        self.repeats = repeats;
        self
    }

    /// Makes every EM step non-decreasing by damping the columns whose part of the bound would fall (default: on
    /// for exact posteriors, off for truncated ones, where it costs another pass over the data).
    ///
    /// Without it the step is the paper's. It usually rises too, but near the end it can dip, and it can end in a cycle
    /// of two models instead of at a maximum; [`crate::Fit::dips`] counts.
    pub fn guard(mut self, guard: bool) -> Em {
        self.guard = Some(guard);
        self
    }

    /// Adds this many rows of average data to every entry of the dictionaries, which keeps all families off the edge
    /// of their domains (default: 0, the maximum likelihood).
    pub fn pseudo_count(mut self, pseudo_count: f64) -> Em {
        self.pseudo_count = pseudo_count;
        self
    }

    /// How close to 0 and 1 the priors may come (default: 10⁻⁵).
    pub fn smallest_pi(mut self, smallest: f64) -> Em {
        self.smallest_pi = smallest;
        self
    }

    /// Whether a cause that owns no data is started again from a badly explained row (default: yes, in the first two
    /// thirds of the iterations, and not while the first dictionary is held). The likelihood may fall when that happens.
    pub fn revive(mut self, revive: bool) -> Em {
        self.revive = revive;
        self
    }

    /// Starts with this many causes more than asked for and takes away those that the bound misses least, so that none
    /// is wanting because two of them share one (default: 0).
    ///
    /// After two fifths of the iterations half of the spare causes go, and half of the rest after every second one from
    /// there on. What the bound loses without a cause is taken from the states of $\mathcal K^{(n)}$ without it, after
    /// every other cause was tried in its place; with exact posteriors it is computed. As many spare causes as causes
    /// find all of 20 to 60 bars from one start (`experiments/results/large-bars.md`). A model that is there already
    /// ([`Init::Model`]) must have the spare causes too: that is how it is made smaller.
    ///
    /// ```
    /// use efmca::{Em, bars, family::family};
    ///
    /// let truth = bars::model(family("poisson")?, 3, &[20.0], &[1.0], 0.2)?;
    /// let y = truth.sample(300, 1).y;
    /// let em = Em::new(6).family("poisson").spare_causes(3).iterations(40);
    /// let model = em.run(&y)?.model;
    /// assert_eq!(model.h(), 6);
    /// assert!(bars::recovered(&truth, &model));
    /// # Ok::<(), efmca::Error>(())
    /// ```
    pub fn spare_causes(mut self, causes: usize) -> Em {
        self.spare = causes;
        self
    }

    /// The number of causes that training starts with.
    pub(super) fn first_h(&self) -> usize {
        self.h + self.spare
    }

    /// Truncated posteriors: for each row a set of states, improved by proposals (default: exact posteriors over all $2^H$
    /// states up to 16 causes, and sets of 60 states above).
    pub fn truncated(mut self, truncation: Truncation) -> Em {
        self.truncation = Some(truncation);
        self
    }

    /// Updates the parameters this often in each iteration of truncated posteriors, each time after a part of the rows had
    /// its E-step (default: 1). The moments of the other parts stay as they were: incremental EM (Neal and Hinton, 1998),
    /// which needs fewer passes over the data. The iterated and the guarded M-step are not used with it.
    pub fn batches(mut self, batches: usize) -> Em {
        self.batches = batches;
        self
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
    pub fn hold(mut self, hold: Hold) -> Em {
        self.holds.push(hold);
        self
    }

    /// Checks the settings against the data and takes its statistics.
    pub(super) fn prepare(&self, y: &dyn Data) -> Result<Training> {
        if self.h == 0 {
            return Err(Error::setting("causes", 0, "a model needs one cause at least"));
        }
        if self.h.saturating_add(self.spare) > LARGEST_H {
            return Err(Error::setting(
                "causes",
                self.h.saturating_add(self.spare),
                format!("there can be {LARGEST_H} at most"),
            ));
        }
        if y.n() == 0 || y.d() == 0 {
            return Err(Error::EmptyData { rows: y.n(), columns: y.d() });
        }
        let positive = |name, value: usize| match value {
            0 => Err(Error::setting(name, 0, "it must be 1 or more")),
            _ => Ok(()),
        };
        positive("starts", self.starts)?;
        positive("batches", self.batches)?;
        positive("m_step_iterations", self.repeats)?;
        let not_negative = |name, value: f64| match value.is_finite() && value >= 0.0 {
            true => Ok(()),
            false => Err(Error::setting(name, value, "it must be finite and not negative")),
        };
        not_negative("tolerance", self.tolerance)?;
        not_negative("pseudo_count", self.pseudo_count)?;
        if !(self.smallest_pi > 0.0 && self.smallest_pi < 0.5) {
            return Err(Error::setting("smallest_pi", self.smallest_pi, "it must lie between 0 and 0.5"));
        }
        if let Some((low, high)) = self.pi_init
            && !(0.0 < low && low <= high && high < 1.0)
        {
            return Err(Error::setting("pi_init", format!("{low}..{high}"), "it must be a range between 0 and 1"));
        }
        self.temperature.check("temperature")?;
        if let Some(rho) = self.rho {
            rho.check("rho")?;
        }
        match self.init {
            Init::MeanNoise { scale } if !(scale > 0.0 && scale.is_finite()) => {
                return Err(Error::setting(
                    "init scale",
                    scale,
                    "without noise all causes stay equal; make it positive",
                ));
            }
            Init::Clusters { spread } if !(spread > 0.0 && spread.is_finite()) => {
                return Err(Error::setting("init spread", spread, "it must be positive; 1 is that of all data"));
            }
            Init::Rows { share } if !(share > 0.0 && share <= 1.0) => {
                return Err(Error::setting("init share", share, "it must be above 0 and at most 1"));
            }
            _ => {}
        }
        if let Some(truncation) = self.posterior_settings() {
            truncation.check()?;
            if self.rho.is_some() || self.superposition.rho().is_some() {
                return Err(Error::setting(
                    "rho",
                    "set",
                    "truncated posteriors know the true maximum only; leave out the smooth one, or use exact posteriors (16 causes at most)",
                ));
            }
        }
        let columns = self.columns(y.d())?;
        if let Init::Model(model) = &self.init {
            let same = model.columns.iter().map(|(_, f, _)| f.spec()).eq(columns.iter().map(|(_, f, _)| f.spec()));
            if model.h() != self.first_h() || !same {
                return Err(Error::shape(
                    "initial model",
                    format!("{} causes and the families of the data", self.first_h()),
                    format!("{} causes over {} columns", model.h(), model.d()),
                ));
            }
        }
        if let Init::Posteriors(model) = &self.init
            && (model.h() != self.first_h() || model.d() != columns.d())
        {
            return Err(Error::shape(
                "model to take posteriors from",
                format!("{} causes over {} columns", self.first_h(), columns.d()),
                format!("{} causes over {} columns", model.h(), model.d()),
            ));
        }
        let training = Training::new(self, &columns, y)?;
        training.check_learnable()?;
        Ok(training)
    }

    fn columns(&self, d: usize) -> Result<Columns> {
        match self.families.len() {
            0 => Err(Error::setting("family", "none", "say which: .family(\"poisson\")")),
            1 => Columns::same(self.families[0].resolve()?, d),
            count if count == d => Columns::new(self.families.iter().map(FamilySpec::resolve).collect::<Result<_>>()?),
            count => Err(Error::shape("families", format!("1 or {d} (one for each column)"), count)),
        }
    }

    /// The starting value of every prior, unless a range is given.
    pub(super) fn default_pi(&self) -> f64 {
        (2.0 / self.first_h() as f64).min(0.3)
    }
}
