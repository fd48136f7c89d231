//! The settings of an overview, and all that it has.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::causes::causes;
use super::columns::columns;
use super::explained::explained;
use super::groups::{grouped, tests};
use super::order::similar_order;
use super::surprise::unlikely_rows;
use super::{CauseOverview, ColumnOverview, Explained, GroupOverview, GroupTest, Grouping, UnlikelyRow};
use crate::em::{Observer, unobserved};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::tasks::encode::Encoder;

/// Settings of an overview of a table and a model of it.
///
/// ```
/// use efmca::{bars, tasks::overview::Overview};
///
/// let model = bars::model("poisson", 3, &[20.0], &[1.0], 0.2)?;
/// let table = model.sample(400, 1).y;
/// let overview = Overview::new().run(&model, table.view())?;
/// // a bar has three pixels, and shows in them only
/// assert_eq!(overview.causes[0].effects.iter().filter(|effect| effect.far > 1.0).count(), 3);
/// // and explains something of each
/// let bar = overview.causes[0].effects[0].column;
/// assert!(overview.explained.by_cause[[0, bar]] > 0.05);
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    rows: usize,
    groups: Option<Grouping>,
    share: f64,
    seed: u64,
}

/// What there is to say about a table and a model of it.
#[derive(Debug, Clone)]
pub struct TableOverview {
    /// The columns of the table.
    pub columns: Vec<ColumnOverview>,
    /// The columns, those that behave alike side by side.
    pub order: Vec<usize>,
    /// The causes of the model, in its order.
    pub causes: Vec<CauseOverview>,
    /// How far each cause is from the background in each column, $H \times D$, in standard deviations of the column; zero
    /// where it does not show.
    pub effects: Array2<f64>,
    /// How likely each cause is to be on in each row, $N \times H$.
    pub active: Array2<f64>,
    /// How much the causes explain of held-out entries.
    pub explained: Explained,
    /// The rows that fit least, the least likely one first.
    pub unlikely: Vec<UnlikelyRow>,
    /// The log-likelihood of a row, on average.
    pub log_likelihood: f64,
    /// Groups of rows, if there are any.
    pub groups: Vec<GroupOverview>,
    /// For each cause whether it is as often on in all groups, if there are any.
    pub tests: Vec<GroupTest>,
}

impl Default for Overview {
    fn default() -> Overview {
        Overview::new()
    }
}

impl Overview {
    /// The usual settings.
    #[must_use]
    pub fn new() -> Overview {
        Overview { rows: 10, groups: None, share: 0.1, seed: 0 }
    }

    /// Rows that are named for each cause, and rows that fit least (default: 10).
    #[must_use]
    pub fn rows(mut self, rows: usize) -> Overview {
        self.rows = rows;
        self
    }

    /// Groups of rows, in which causes are compared (default: none).
    #[must_use]
    pub fn groups(mut self, groups: Grouping) -> Overview {
        self.groups = Some(groups);
        self
    }

    /// The share of the entries that is held out to say how much causes explain (default: 0.1).
    #[must_use]
    pub fn held_out(mut self, share: f64) -> Overview {
        self.share = share;
        self
    }

    /// The same seed gives the same overview, bit for bit (default: 0).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Overview {
        self.seed = seed;
        self
    }

    /// Checks the settings without any data.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] with the setting that cannot be used.
    pub fn check(&self) -> Result<()> {
        if !(self.share > 0.0 && self.share < 0.9) {
            return Err(Error::setting("held-out share", self.share, "it must lie between 0 and 0.9"));
        }
        self.groups.iter().try_for_each(Grouping::check)
    }

    /// Looks at `table` with the eyes of `model`, which was trained with it or with rows of the same kind.
    ///
    /// # Errors
    ///
    /// What [`check`](Overview::check) finds, [`Error::Shape`] if table, model and groups have different sizes, and values
    /// that the families cannot have.
    pub fn run(&self, model: &Model, table: ArrayView2<'_, f64>) -> Result<TableOverview> {
        self.run_observed(model, table, &mut unobserved)
    }

    /// The same, and asks `observer` from time to time.
    ///
    /// # Errors
    ///
    /// As [`run`](Overview::run), and [`Error::Stopped`] if the observer ended the work.
    pub fn run_observed(
        &self,
        model: &Model,
        table: ArrayView2<'_, f64>,
        observer: &mut Observer<'_>,
    ) -> Result<TableOverview> {
        self.check()?;
        if table.ncols() != model.d() {
            return Err(Error::shape("columns of the table", model.d(), table.ncols()));
        }
        if let Some(groups) = self.groups.as_ref().filter(|groups| groups.rows() != table.nrows()) {
            return Err(Error::shape("rows of the groups", table.nrows(), groups.rows()));
        }
        let encoding = Encoder::new(model).run_observed(&table, observer)?;
        let columns = columns(model, table);
        let (causes, effects) = causes(model, &columns, &encoding.active, self.rows);
        let explained = explained(model, table, (self.share, self.seed), observer)?;
        let unlikely = unlikely_rows(model, table, &encoding.log_likelihoods, self.rows)?;
        let groups = self.groups.as_ref().map(|groups| grouped(groups, &encoding.active)).unwrap_or_default();
        let tests = self.groups.as_ref().map(|groups| tests(groups, &encoding.active)).unwrap_or_default();
        Ok(TableOverview {
            order: similar_order(&effects),
            columns,
            causes,
            effects,
            log_likelihood: encoding.log_likelihoods.sum() / table.nrows().max(1) as f64,
            active: encoding.active,
            explained,
            unlikely,
            groups,
            tests,
        })
    }
}
