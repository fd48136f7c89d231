//! The settings of a ranking, and its loop.

use serde::{Deserialize, Serialize};

use super::candidates::{Candidate, Refusal, candidates};
use super::ranking::Ranking;
use super::trainer::Trainer;
use super::trials::Trials;
use super::values::{Kind, Values};
use super::verdict::verdict_on_all;
use super::with_causes::with_causes;
use crate::em::{Observer, unobserved};
use crate::error::{Error, Result};
use crate::family::{FamilySpec, SharedFamily, registry};
use crate::model::Resolution;
use crate::tasks::causes::Causes;
use crate::tasks::held_out::{Comparison, Source};

/// Ties that are compared with the same posteriors, at the most.
const MOST_MATCHED: usize = 3;

/// Settings for ranking families. Everything has a default.
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
/// let noise = NoiseType::new().causes(2).families(["exponential", "gamma", "gaussian"]);
/// assert_eq!(noise.run(Source::Table(y.view()))?.best().family.spec(), "exponential");
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoiseType {
    causes: Causes,
    families: Option<Vec<FamilySpec>>,
    comparison: Comparison,
    same_posteriors: bool,
    #[serde(default)]
    resolution: Option<Resolution>,
}

impl Default for NoiseType {
    fn default() -> NoiseType {
        NoiseType::new()
    }
}

impl NoiseType {
    /// The usual settings: all families that the values allow, with a number of causes that suits the size of the data.
    #[must_use]
    pub fn new() -> NoiseType {
        NoiseType {
            causes: Causes::Suitable,
            families: None,
            comparison: Comparison::new(3),
            same_posteriors: false,
            resolution: None,
        }
    }

    /// The number of causes (default: [`Causes::Suitable`]). With [`Causes::Auto`] families are ranked with a suitable number
    /// first; the number is chosen with the best of them, and families are ranked again if it is another one.
    #[must_use]
    pub fn causes(mut self, causes: impl Into<Causes>) -> NoiseType {
        self.causes = causes.into();
        self
    }

    /// How finely all values of a table were written down (default: found by [`Resolution::of`]).
    #[must_use]
    pub fn resolution(mut self, resolution: Resolution) -> NoiseType {
        self.resolution = Some(resolution);
        self
    }

    /// Ranks these families only; `weibull` or `gamma:k=?` leaves a fixed parameter to be found.
    #[must_use]
    pub fn families<F: Into<FamilySpec>>(mut self, families: impl IntoIterator<Item = F>) -> NoiseType {
        self.families = Some(families.into_iter().map(Into::into).collect());
        self
    }

    /// Trainings of each family that is not far behind (default: 3): one that begins with the posteriors of the leading family, and
    /// the others with starts of their own (for images those of the leading family alone, which all others are given). After that
    /// posteriors are shared again until no family overtakes.
    #[must_use]
    pub fn restarts(mut self, restarts: usize) -> NoiseType {
        self.comparison.restarts = restarts;
        self
    }

    /// EM iterations of each training, at the most (default: 60).
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> NoiseType {
        self.comparison.iterations = iterations;
        self
    }

    /// The share of the entries that is held out (default: 0.1).
    #[must_use]
    pub fn held_out(mut self, share: f64) -> NoiseType {
        self.comparison.share = share;
        self
    }

    /// The same seed gives the same ranking (default: 0).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> NoiseType {
        self.comparison.seed = seed;
        self
    }

    /// Whether ties are also compared with the same posteriors for all of them, see [`Ranked::matched`](super::Ranked::matched)
    /// (default: no). That takes about a fifth more time and has smaller errors; the order of the ranking stays.
    #[must_use]
    pub fn same_posteriors(mut self, wanted: bool) -> NoiseType {
        self.same_posteriors = wanted;
        self
    }

    /// Checks the settings without any data.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] with the setting that cannot be used, and [`Error::UnknownFamily`].
    pub fn check(&self) -> Result<()> {
        self.comparison.check()?;
        self.causes.check()?;
        self.families.iter().flatten().try_for_each(check_family)
    }

    /// Ranks the families that can have produced the data.
    ///
    /// # Errors
    ///
    /// The errors of [`check`](NoiseType::check); data without values or with equal ones; [`Error::Setting`] with all reasons if no
    /// family can have produced the data.
    pub fn run(&self, source: Source<'_>) -> Result<Ranking> {
        self.run_observed(source, &mut unobserved)
    }

    /// Ranks the families and asks `observer` between the iterations of each training. If it asks to stop, the families that were
    /// trained until then are ranked.
    ///
    /// # Errors
    ///
    /// As [`run`](NoiseType::run), and [`Error::Stopped`] if the observer ends the work before a family was trained.
    pub fn run_observed(&self, source: Source<'_>, observer: &mut Observer<'_>) -> Result<Ranking> {
        self.check()?;
        let values = Values::of(source.values()).ok_or(Error::EmptyData { rows: 0, columns: 0 })?;
        if values.constant() {
            return Err(Error::setting("data", values.summary.min, "all values are equal, so that there is no noise"));
        }
        let values = match &self.resolution {
            Some(given) => values.with_resolution(given.clone()),
            None => values,
        };
        let rank = |causes: usize, observer: &mut Observer<'_>| self.rank(causes, source, &values, observer);
        let best = |ranking: &Ranking| (vec![ranking.best().family.clone()], vec![values.resolution.clone()]);
        let (ranking, choice) = with_causes(self.causes, source, &self.comparison, observer, rank, best)?;
        Ok(Ranking { choice, ..ranking })
    }

    /// Ranks the families with a number of causes.
    pub(super) fn rank(
        &self,
        causes: usize,
        source: Source<'_>,
        values: &Values,
        observer: &mut Observer<'_>,
    ) -> Result<Ranking> {
        let table = matches!(source, Source::Table(_));
        // pixels that are whole numbers are scored as such, and nothing else is assumed of them
        let scored = match table || values.kind == Kind::Integer {
            true if table => values.resolution.clone(),
            true => Resolution::WHOLE,
            false => Resolution::Continuous,
        };
        let values = &values.clone().with_resolution(if table { scored.clone() } else { Resolution::Continuous });
        let (mut candidates, mut refused) = self.candidates(values)?;
        if candidates.is_empty() {
            return Err(no_family("none possible", &refused));
        }
        // the others begin with the posteriors of the first one, which therefore has a spread of its own and nothing to be
        // searched: like the Gaussian of the paper's warm start
        candidates.sort_by_key(|candidate| (candidate.searched(), candidate.fixes_its_spread()));
        let split = self.comparison.split(source)?;
        let learned = if table { vec![scored.clone(); split.seen.d()] } else { Vec::new() };
        let trainer = Trainer { causes, comparison: &self.comparison, split: &split, resolution: &scored, learned };
        let mut trials = Trials::new(&trainer, candidates.len(), observer);
        let mut flow = trials.first_look(candidates, &mut refused)?;
        if trials.found.is_empty() {
            return Err(if flow.is_break() {
                Error::Stopped { what: "a family was trained".into() }
            } else {
                no_family("none could be trained", &refused)
            });
        }
        if flow.is_continue() {
            flow = trials.try_again()?;
        }
        let mut ranking = Ranking::new(&trials.found, refused, values, &split, causes);
        if table {
            ranking.verdict = verdict_on_all(&split, &ranking.best().model, &scored, self.comparison.seed)?;
        }
        if self.same_posteriors && flow.is_continue() {
            let named =
                |one: &SharedFamily| trials.found.iter().position(|trial| trial.best.family.spec() == one.spec());
            let ties: Vec<usize> = ranking.ties().filter_map(named).take(MOST_MATCHED).collect();
            if ties.len() > 1
                && let Some(scores) = trials.matched(&ties)?
            {
                let families: Vec<SharedFamily> =
                    ties.iter().map(|tie| trials.found[*tie].best.family.clone()).collect();
                ranking.match_ties(&families, &scores);
            }
        }
        Ok(ranking)
    }

    /// The families to try, and those that cannot have produced the data.
    fn candidates(&self, values: &Values) -> Result<(Vec<Candidate>, Vec<Refusal>)> {
        let Some(specs) = &self.families else { return Ok(candidates(values)) };
        let (mut found, mut refused) = (Vec::new(), Vec::new());
        for spec in specs {
            let candidate = Candidate::of(spec, values)?;
            match candidate.possible(values) {
                Ok(()) => found.push(candidate),
                Err(reason) => refused.push(Refusal { family: spec.spec(), reason }),
            }
        }
        Ok((found, refused))
    }
}

/// Whether a family exists. Its fixed parameters can be searched later, when there are data.
pub(crate) fn check_family(spec: &FamilySpec) -> Result<()> {
    spec.resolve().map(|_| ()).or_else(|_| registry::entry(&spec.spec()).map(|_| ()))
}

/// The error for data that no family suits, with all reasons.
fn no_family(problem: &str, refused: &[Refusal]) -> Error {
    let reasons: Vec<String> =
        refused.iter().map(|refusal| format!("{}: {}", refusal.family, refusal.reason)).collect();
    Error::setting("families", problem, reasons.join("; "))
}
