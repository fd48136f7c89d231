//! The settings for filling in missing cells.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::training::{of_model, train};
use super::{CellKind, FilledTable, TrainedImputer};
use crate::em::{Observer, unobserved};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::tasks::table::TableLearner;

/// What a missing number becomes. A missing code becomes the most probable one, unless it is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fill {
    /// Its mean, which has the smallest mean square error.
    #[default]
    Mean,
    /// Its median, which has the smallest mean absolute error.
    Median,
    /// Its most probable value, of those that the column has.
    Mode,
}

/// Settings for filling in missing cells, as `efmca impute` does. Everything has a default.
///
/// A model of the table is learned ([`TableLearner`]), and further ones on parts of its rows, so that every cell that is
/// present is predicted once from the other cells of its row by a model that has not seen the row. What these predictions
/// leave is regressed on the other cells where that helps, and they say how good the values are that are filled in.
///
/// ```
/// use efmca::tasks::{impute::Imputer, table::TableLearner};
/// use efmca::bars;
///
/// let truth = bars::model("poisson", 3, &[20.0], &[1.0], 0.2)?;
/// let complete = truth.sample(300, 1).y;
/// let mut table = complete.clone();
/// table.iter_mut().step_by(7).for_each(|cell| *cell = f64::NAN);
///
/// let learner = TableLearner::new().family("poisson").causes(6);
/// let filled = Imputer::new().learner(learner).run(table.view())?;
/// let missing = filled.cells.iter().map(|cell| (cell.value - complete[[cell.row, cell.column]]).powi(2));
/// assert!((missing.sum::<f64>() / filled.cells.len() as f64).sqrt() < 5.0);
/// // it says so beforehand, from cells that are present
/// assert!(filled.scores.error.unwrap() < filled.scores.error_of_means.unwrap());
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Imputer {
    pub(super) learner: TableLearner,
    pub(super) kinds: Vec<(usize, CellKind)>,
    pub(super) fill: Fill,
    pub(super) draws: usize,
    pub(super) level: f64,
    pub(super) folds: usize,
    pub(super) regression: bool,
    pub(super) as_written: bool,
    pub(super) seed: u64,
}

impl Default for Imputer {
    fn default() -> Imputer {
        Imputer::new()
    }
}

impl Imputer {
    /// The usual settings: families and causes as [`TableLearner`] finds them, means and most probable codes.
    #[must_use]
    pub fn new() -> Imputer {
        Imputer {
            learner: TableLearner::new(),
            kinds: Vec::new(),
            fill: Fill::Mean,
            draws: 0,
            level: 0.9,
            folds: 5,
            regression: true,
            as_written: false,
            seed: 0,
        }
    }

    /// How the table is learned: its families, the number of causes.
    #[must_use]
    pub fn learner(mut self, learner: TableLearner) -> Imputer {
        self.learner = learner;
        self
    }

    /// What the cells of column `d` are, counted from zero (default: codes where there are up to ten different values, each
    /// five times on average, or names; numbers otherwise).
    #[must_use]
    pub fn kind(mut self, d: usize, kind: CellKind) -> Imputer {
        self.kinds.push((d, kind));
        self
    }

    /// What missing numbers become (default: their mean).
    #[must_use]
    pub fn fill(mut self, fill: Fill) -> Imputer {
        self.fill = fill;
        self
    }

    /// Complete tables with drawn values, for multiple imputation (default: none).
    #[must_use]
    pub fn draws(mut self, draws: usize) -> Imputer {
        self.draws = draws;
        self
    }

    /// The probability of the intervals that are given with numbers (default: 0.9).
    #[must_use]
    pub fn level(mut self, level: f64) -> Imputer {
        self.level = level;
        self
    }

    /// Parts of the rows; each is predicted by a model of the others (default: 5).
    #[must_use]
    pub fn folds(mut self, folds: usize) -> Imputer {
        self.folds = folds;
        self
    }

    /// Whether what the causes leave is regressed on the other cells of the row (default: yes, where it helps).
    #[must_use]
    pub fn regression(mut self, regression: bool) -> Imputer {
        self.regression = regression;
        self
    }

    /// Whether numbers get as many decimals as their column has: whole numbers for counts (default: no, as they come out).
    /// Draws always have them.
    #[must_use]
    pub fn as_written(mut self, as_written: bool) -> Imputer {
        self.as_written = as_written;
        self
    }

    /// The same seed gives the same values, bit for bit (default: 0). The learner has a seed of its own.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Imputer {
        self.seed = seed;
        self
    }

    /// Checks the settings without any data.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] with the setting that cannot be used, and what [`TableLearner::check`] finds.
    pub fn check(&self) -> Result<()> {
        if self.folds < 2 {
            return Err(Error::setting("folds", self.folds, "give 2 or more"));
        }
        if !(self.level > 0.0 && self.level < 1.0) {
            return Err(Error::setting("level", self.level, "give a probability between 0 and 1"));
        }
        self.learner.check()
    }

    /// Learns `table`, NaN where a value is missing, and fills in its missing cells.
    ///
    /// # Errors
    ///
    /// As [`train`](Imputer::train).
    pub fn run(&self, table: ArrayView2<'_, f64>) -> Result<FilledTable> {
        self.run_observed(table, &mut unobserved)
    }

    /// The same, and asks `observer` between iterations.
    ///
    /// # Errors
    ///
    /// As [`train`](Imputer::train), and [`Error::Stopped`] if the observer ends the work before all models are there.
    pub fn run_observed(&self, table: ArrayView2<'_, f64>, observer: &mut Observer<'_>) -> Result<FilledTable> {
        self.train(table, observer)?.fill(table)
    }

    /// Learns `table` to fill in cells of other tables with the same columns.
    ///
    /// # Errors
    ///
    /// The errors of [`check`](Imputer::check) and of [`TableLearner::run`], [`Error::Column`] for kinds of columns that do
    /// not exist, and [`Error::Stopped`] if the observer ends the work before all models are there.
    pub fn train(&self, table: ArrayView2<'_, f64>, observer: &mut Observer<'_>) -> Result<TrainedImputer> {
        self.check_with(table)?;
        train(self, table, observer)
    }

    /// Fills in what `model` says about the cells of `table`; nothing is learned. How good that is, is judged on the cells of
    /// the table that are present, each without itself; the model may have been trained with them.
    ///
    /// # Errors
    ///
    /// As [`train`](Imputer::train), [`Error::Shape`] if the model has other columns, and [`Error::Setting`] for models with
    /// a smooth maximum.
    pub fn of_model(&self, model: &Model, table: ArrayView2<'_, f64>) -> Result<TrainedImputer> {
        self.check_with(table)?;
        if table.ncols() != model.d() {
            return Err(Error::shape("columns of the table", model.d(), table.ncols()));
        }
        if table.nrows() == 0 {
            return Err(Error::EmptyData { rows: 0, columns: table.ncols() });
        }
        of_model(self, model, table)
    }

    /// What was said about the cells of column `d`, the last time.
    pub(super) fn kind_of(&self, d: usize) -> Option<CellKind> {
        self.kinds.iter().rev().find(|(column, _)| *column == d).map(|(_, kind)| *kind)
    }

    /// Checks the settings against a table.
    fn check_with(&self, table: ArrayView2<'_, f64>) -> Result<()> {
        self.check()?;
        match self.kinds.iter().find(|(column, _)| *column >= table.ncols()) {
            None => Ok(()),
            Some((column, _)) => {
                let problem = format!("the table has {} columns only", table.ncols());
                Err(Error::Column { column: *column, problem })
            }
        }
    }
}
