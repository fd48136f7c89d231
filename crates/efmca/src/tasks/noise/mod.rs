//! What noise is this? Families ranked by how well they foretell entries that training did not see (paper, Sec. 7.2.2).
//!
//! The paper compares the bounds of models with the same number of parameters. That is not enough for all families: here a
//! part of the entries is hidden from training, and families are compared by the probability that the trained model
//! gives to each hidden entry, $\log\sum_{\vec s}q(\vec s)p(y_d | \vec s)$, where $q$ is the posterior of the entries of the same
//! row that are seen (for pixels the average over the patches that they are in). It needs no count of parameters, is the same for exact and for truncated posteriors, and for whole
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
mod trials;

pub use candidates::{Candidate, Kind, Refusal, Values, candidates};
pub use held_out::Source;
pub(crate) use held_out::{Scores, Split};
pub use ranking::{Ranked, Ranking};
pub use table::{ColumnFamily, ColumnTypes, Mixed, Tried};

use crate::em::{Observer, Progress, unobserved};
use crate::error::{Error, Result};
use crate::family::SharedFamily;
use trials::{Trial, first};

/// Ties that are compared with the same posteriors, at the most.
const MOST_MATCHED: usize = 3;

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
/// let ranking = NoiseType::new(2).families(["exponential", "gamma", "gaussian"]).run(Source::Table(y.view()))?;
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

    /// Trainings of each family that is not far behind (default: 3): one that begins with the posteriors of the one in front, and
    /// the others with starts of their own. After that posteriors are shared again until nobody overtakes.
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
    pub fn run(&self, source: Source<'_>) -> Result<Ranking> {
        self.run_observed(source, &mut unobserved)
    }

    /// Ranks the families and asks `observer` between the iterations of each training; if it asks to stop, what is there is
    /// ranked, and before there is anything it is [`Error::Stopped`].
    pub fn run_observed(&self, source: Source<'_>, observer: &mut Observer<'_>) -> Result<Ranking> {
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
            let name = candidate.name();
            let mut watch = || observer(&Progress::of_stage(&name, told.0, told.1));
            match self.quick().train(&candidate, &split, whole, 0, front.as_ref(), &mut watch) {
                Ok(Some(trained)) => trials.push(Trial::new(candidate, trained)),
                Ok(None) => stopped = true,
                Err(error) => refused.push(Refusal { family: candidate.name(), reason: error.to_string() }),
            }
            told.0 += 1;
            if stopped || observer(&Progress::of_stage(&name, told.0, told.1)).is_break() {
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
                observer(&Progress::of_stage("ties with the same posteriors", told.0, told.1)).is_continue()
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
}
