//! The settings for learning a table.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::LearnedTable;
use super::learning::{learn, learn_by_part, learn_given};
use crate::em::{Observer, Structure, unobserved};
use crate::error::{Error, Result};
use crate::family::FamilySpec;
use crate::model::{Data, LARGEST_EXACT_H, Model, Resolution, Superposition, Views, is_sparse};
use crate::tasks::causes::Causes;
use crate::tasks::held_out::rows_of;
use crate::tasks::noise::{check_family, for_labels};

/// Settings for learning a table, as `efmca fit` does. Everything has a default.
///
/// Families that are not given are found ([`TableNoise`](crate::tasks::noise::TableNoise)), the number of causes is chosen
/// ([`CauseSearch`](crate::tasks::select::CauseSearch)), and a model is trained with both.
///
/// ```
/// use efmca::{bars, tasks::table::TableLearner};
///
/// let truth = bars::model("poisson", 3, &[20.0], &[1.0], 0.2)?;
/// let table = truth.sample(500, 1).y;
/// let learned = TableLearner::new().family("poisson").causes(6).seed(1).run(table.view())?;
/// assert!(bars::recovered(&truth, &learned.fit.model));
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableLearner {
    /// The family of columns without one of their own.
    pub(super) family: Option<FamilySpec>,
    pub(super) columns: Vec<(usize, FamilySpec)>,
    pub(super) causes: Causes,
    pub(super) iterations: usize,
    pub(super) starts: Option<usize>,
    pub(super) states: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) shards: Option<usize>,
    pub(super) seed: u64,
    #[serde(default)]
    pub(super) exact: bool,
    #[serde(default = "tolerance")]
    pub(super) tolerance: f64,
    #[serde(default = "superposition")]
    pub(super) superposition: Superposition,
    #[serde(default = "pseudo_count")]
    pub(super) pseudo_count: f64,
    #[serde(default)]
    pub(super) start: Option<Box<Model>>,
    #[serde(default)]
    pub(super) resolutions: Vec<(usize, Resolution)>,
    pub(super) structure: Option<Structure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) views: Option<Views>,
}

/// Rows of average data in each entry of the dictionaries: no value of a later table is impossible then, and no cause
/// shrinks to a single value.
const PSEUDO_COUNT: f64 = 1.0;
/// The relative change of the bound below which training ends.
const TOLERANCE: f64 = 1e-9;

// settings that older files do not have
fn tolerance() -> f64 {
    TOLERANCE
}

fn superposition() -> Superposition {
    Superposition::Max
}

fn pseudo_count() -> f64 {
    PSEUDO_COUNT
}

impl Default for TableLearner {
    fn default() -> TableLearner {
        TableLearner::new()
    }
}

impl TableLearner {
    /// States of a row where posteriors are truncated and nothing is said about them.
    pub const STATES: usize = 60;

    /// The usual settings: families that are found, and as many causes as predict held-out entries best.
    #[must_use]
    pub fn new() -> TableLearner {
        TableLearner {
            family: None,
            columns: Vec::new(),
            causes: Causes::Auto,
            iterations: 100,
            starts: None,
            states: None,
            shards: None,
            seed: 0,
            exact: false,
            tolerance: TOLERANCE,
            superposition: Superposition::Max,
            pseudo_count: PSEUDO_COUNT,
            start: None,
            resolutions: Vec::new(),
            structure: None,
            views: None,
        }
    }

    /// The family of all columns without one of their own (default: found for each column). A fixed parameter that is missing, or
    /// given as `?`, is searched.
    #[must_use]
    pub fn family(mut self, family: impl Into<FamilySpec>) -> TableLearner {
        self.family = Some(family.into());
        self
    }

    /// The family of column `d`, counted from zero.
    #[must_use]
    pub fn column(mut self, d: usize, family: impl Into<FamilySpec>) -> TableLearner {
        self.columns.push((d, family.into()));
        self
    }

    /// Column `d`, counted from zero, holds the codes 0, 1, … of `count` labels that have no order: yes or no for two of them, and
    /// one of many for more.
    #[must_use]
    pub fn labels(self, d: usize, count: usize) -> TableLearner {
        self.column(d, for_labels(count))
    }

    /// How finely the values of column `d`, counted from zero, were written down (default: found by [`Resolution::of`]).
    #[must_use]
    pub fn resolution(mut self, d: usize, resolution: Resolution) -> TableLearner {
        self.resolutions.push((d, resolution));
        self
    }

    /// The number of causes (default: [`Causes::Auto`]).
    #[must_use]
    pub fn causes(mut self, causes: impl Into<Causes>) -> TableLearner {
        self.causes = causes.into();
        self
    }

    /// EM iterations, at the most (default: 100).
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> TableLearner {
        self.iterations = iterations;
        self
    }

    /// Starts that are given a short run, of which the best continues (default: `None`, a number that suits the table). In small
    /// tables that is 10. In large ones, and where there are many causes, starts are of several kinds, have twice the causes and
    /// some of the rows, and up to 4 are enough.
    #[must_use]
    pub fn starts(mut self, starts: impl Into<Option<usize>>) -> TableLearner {
        self.starts = starts.into();
        self
    }

    /// States that are kept for each row (default: all, or 60 where there are too many causes or rows for that).
    #[must_use]
    pub fn states(mut self, states: impl Into<Option<usize>>) -> TableLearner {
        self.states = states.into();
        self
    }

    /// The number of shards into which rows are cut where posteriors are truncated, which so many ranks can share (default: by the
    /// number of rows); see [`Em::shards`](crate::Em::shards).
    #[must_use]
    pub fn shards(mut self, shards: impl Into<Option<usize>>) -> TableLearner {
        self.shards = shards.into();
        self
    }

    /// Whether posteriors are exact whatever the size of the table (default: no, truncated where they would take long).
    #[must_use]
    pub fn exact(mut self, exact: bool) -> TableLearner {
        self.exact = exact;
        self
    }

    /// Training ends when three iterations in a row change the log-likelihood by less than this, relatively (default: 10⁻⁹).
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> TableLearner {
        self.tolerance = tolerance;
        self
    }

    /// How active causes combine (default: the maximum).
    #[must_use]
    pub fn superposition(mut self, superposition: Superposition) -> TableLearner {
        self.superposition = superposition;
        self
    }

    /// Rows of average data in each entry of the dictionaries (default: 1). Columns whose family has a density have a 32nd of
    /// that: an average row is as wide as the whole column, and causes can be much narrower.
    #[must_use]
    pub fn pseudo_count(mut self, rows: f64) -> TableLearner {
        self.pseudo_count = rows;
        self
    }

    /// The last training continues from this model, whose families and causes must be those of the table; there are no
    /// other starts then. Its views stay, with their weights, unless others are given.
    #[must_use]
    pub fn start_from(mut self, model: Model) -> TableLearner {
        self.start = Some(Box::new(model));
        self
    }

    /// What is known of the causes before training: columns that they must or must not touch, and causes of another model that
    /// stay as they are (default: nothing). The families of columns are those of that model, unless they are given. There are
    /// as many causes as something is known of, at the least.
    #[must_use]
    pub fn structure(mut self, structure: Structure) -> TableLearner {
        self.structure = Some(structure);
        self
    }

    /// Groups of columns that count alike (default: every column counts once). The weights are found once families are known, so
    /// that those of `views` do not matter: the strongest cause of each view is worth as many nats as that of any other, or
    /// half a nat if it is worth less in one, and no column counts more than once. Columns in no view are one by themselves. The
    /// bound of the training is that of the weighted likelihood; log-likelihoods of rows are not weighted.
    ///
    /// ```
    /// use efmca::model::{Columns, Views};
    /// use efmca::{Background, Model, family::family, tasks::table::TableLearner};
    /// use ndarray::{Array2, array};
    ///
    /// // one cause of 30 columns, and one of the last two
    /// let w = Array2::from_shape_fn((2, 32), |(h, d)| if (d < 30) == (h == 0) { 12.0 } else { 2.0 });
    /// let columns = Columns::same(family("poisson")?, 32)?;
    /// let truth = Model::from_parts(columns, array![0.4, 0.4], w, Background::fixed(&[2.0]))?;
    /// let table = truth.sample(400, 1).y;
    /// let views = Views::new([("last", vec![30, 31])])?;
    /// let learned = TableLearner::new().family("poisson").causes(2).views(views).run(table.view())?;
    /// let weights: Vec<f64> = learned.fit.model.columns().views().unwrap().iter().map(|view| view.weight).collect();
    /// assert!(weights[0] == 1.0 && weights[1] < 0.2);
    /// # Ok::<(), efmca::Error>(())
    /// ```
    #[must_use]
    pub fn views(mut self, views: impl Into<Option<Views>>) -> TableLearner {
        self.views = views.into();
        self
    }

    /// The same seed gives the same model, bit for bit (default: 0).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> TableLearner {
        self.seed = seed;
        self
    }

    /// The seed, for tasks that need further ones.
    pub(crate) fn seed_of(&self) -> u64 {
        self.seed
    }

    /// Checks the settings without any data.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] with the setting that cannot be used, and [`Error::UnknownFamily`].
    pub fn check(&self) -> Result<()> {
        for (name, value) in [
            ("iterations", self.iterations),
            ("starts", self.starts.unwrap_or(1)),
            ("states", self.states.unwrap_or(1)),
            ("shards", self.shards.unwrap_or(1)),
        ] {
            if value == 0 {
                return Err(Error::setting(name, 0, "give 1 or more"));
            }
        }
        if self.exact && self.states.is_some() {
            return Err(Error::setting("exact", "true", "exact posteriors have all states; leave out their number"));
        }
        if let (true, Causes::Given(causes)) = (self.exact, self.causes)
            && causes > LARGEST_EXACT_H
        {
            return Err(Error::TooManyCauses { causes, limit: LARGEST_EXACT_H });
        }
        for (name, value) in [("tolerance", self.tolerance), ("pseudo_count", self.pseudo_count)] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(Error::setting(name, value, "give 0 or a positive number"));
            }
        }
        self.causes.check()?;
        self.structure.iter().try_for_each(|structure| structure.check_signs(self.superposition))?;
        self.views.iter().try_for_each(Views::check)?;
        self.family.iter().chain(self.columns.iter().map(|(_, family)| family)).try_for_each(check_family)
    }

    /// Learns `table`, NaN where a value is missing.
    ///
    /// # Errors
    ///
    /// The errors of [`check`](TableLearner::check); columns that do not exist or have no value; values that a given family cannot
    /// have. All of these come before the first training.
    pub fn run(&self, table: ArrayView2<'_, f64>) -> Result<LearnedTable> {
        self.run_observed(table, &mut unobserved)
    }

    /// Learns `table` and asks `observer` between iterations. If it asks to stop, the result so far is returned.
    ///
    /// # Errors
    ///
    /// As [`run`](TableLearner::run), and [`Error::Stopped`] if the observer ends the work before there is a model.
    pub fn run_observed(&self, table: ArrayView2<'_, f64>, observer: &mut Observer<'_>) -> Result<LearnedTable> {
        self.check()?;
        learn(self, table, &table, observer)
    }

    /// Learns rows of any kind, such as [`Weighted`](crate::Weighted) ones. Where all families and the number of causes are
    /// given, the rows are not copied; otherwise they are, for the searches, in which all rows count alike. Of
    /// [`SparseRows`](crate::SparseRows), and of rows that are not in memory, a part is looked at in the searches.
    ///
    /// A table of more than 2²⁴ values is first learned from a part of its rows, with all iterations (and all starts, if
    /// posteriors are exact), and then from all of them, for a fifth of the iterations or five.
    ///
    /// # Errors
    ///
    /// As [`run_observed`](TableLearner::run_observed).
    pub fn run_data(&self, data: &dyn Data, observer: &mut Observer<'_>) -> Result<LearnedTable> {
        self.check()?;
        match learn_given(self, data, observer) {
            Some(learned) => learned,
            None if is_sparse(data) || data.outside().is_some() => learn_by_part(self, data, observer),
            None => learn(self, rows_of(data).view(), data, observer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_yes_or_no_or_one_of_many() {
        for (count, expected) in [(1, "bernoulli"), (2, "bernoulli"), (3, "categorical:k=3,order=nominal")] {
            let learner = TableLearner::new().labels(4, count);
            assert_eq!(learner, TableLearner::new().column(4, expected));
            assert!(learner.check().is_ok());
        }
    }
}
