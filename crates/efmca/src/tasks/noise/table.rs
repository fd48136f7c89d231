//! A family for each column of a table.
//!
//! With the other columns given, a column is a mixture whose weights differ from row to row: row $n$ belongs to cause $h$ with
//! the probability $c_{nh}$ that all other columns give to $h$ winning this one. So a family can be tried in a column without
//! training the complete model again: a few EM steps on that mixture, scored on the held-out entries. Sweeps over the columns
//! are repeated until no family changes, and the complete model is trained between them.

use std::ops::ControlFlow;

use ndarray::ArrayView2;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::candidates::Refusal;
use super::column::{ColumnMixture, Rows};
use super::settings::check_family;
use super::slot::{Slot, same_name, sweep};
use super::values::{Kind, described};
use super::verdict::{TableVerdict, Verdict, verdicts};
use super::with_causes::with_causes;
use crate::em::{Fit, Init, Observer, Progress, unobserved};
use crate::error::{Error, Result};
use crate::family::{FamilySpec, Measure, SharedFamily};
use crate::model::{Data, Model, Resolution, Tables};
use crate::tasks::causes::Causes;
use crate::tasks::held_out::{Comparison, Difference, Responsibilities, Source, rows_of};
use crate::tasks::select::CauseChoice;
use crate::tasks::watch::Watch;

/// Sweeps over all columns, at the most.
const SWEEPS: usize = 3;

/// Settings for finding the families of a table. Everything has a default.
///
/// ```
/// use efmca::tasks::noise::TableNoise;
/// use ndarray::Array2;
///
/// // a yes or no beside a count, both high or low in the same rows
/// let high = |n: usize| n % 3 == 0;
/// let table = Array2::from_shape_fn((200, 2), |(n, d)| match (d, high(n)) {
///     (0, high) => f64::from(u8::from(high)),
///     (_, true) => (8 + n % 7) as f64,
///     (_, false) => (n % 4) as f64,
/// });
/// let found = TableNoise::new().causes(1).fix(1, "poisson").run(table.view())?;
/// let specs: Vec<String> = found.columns.iter().map(|column| column.family.spec()).collect();
/// assert_eq!(specs, ["bernoulli", "poisson"]);
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableNoise {
    causes: Causes,
    fixed: Vec<(usize, FamilySpec)>,
    comparison: Comparison,
    #[serde(default)]
    resolutions: Vec<(usize, Resolution)>,
}

/// A family that was tried in a column.
#[derive(Debug, Clone)]
pub struct ColumnTrial {
    /// The family, with fixed parameters as they were found.
    pub family: SharedFamily,
    /// The logarithm of the probability or density that it gives to a held-out entry of the column, on average.
    pub held_out: f64,
    /// How far it is behind the family that predicts best.
    pub behind: Difference,
    /// Whether the data cannot tell it from that one.
    pub tied: bool,
}

/// The family of a column.
#[derive(Debug, Clone)]
pub struct ColumnFamily {
    /// The family.
    pub family: SharedFamily,
    /// Whether it was given.
    pub fixed: bool,
    /// The kind of its values.
    pub kind: Kind,
    /// How finely its values were written down, found or given.
    pub resolution: Resolution,
    /// The number of different values, if they are so few that they may be codes (3 to 10).
    pub few_codes: Option<usize>,
    /// All families that were tried, the best first; empty if it was given.
    pub trials: Vec<ColumnTrial>,
    /// Families that cannot have produced the column.
    pub refused: Vec<Refusal>,
    /// Whether the family fits, given all other columns: what the complete model predicts for held-out entries; the same as `alone`
    /// if there are no others. `None` if there are too few entries.
    pub verdict: Option<Verdict>,
    /// Whether any family fits the column by itself, without causes: the best one does, or none.
    pub alone: Option<Verdict>,
}

impl ColumnFamily {
    /// The values in words: their kind and their resolution.
    #[must_use]
    pub fn values(&self) -> String {
        described(self.kind, &self.resolution)
    }

    /// A word of warning, if there is one to say.
    #[must_use]
    pub fn remark(&self) -> Option<String> {
        let codes = self.few_codes?;
        let density = self.family.support().measure != Measure::Counting;
        density.then(|| {
            format!(
                "there are {codes} different values only, which look like codes; {} is a density that was integrated around \
                 them. Take `ordinal` (ordered codes) or `categorical` if that is what they are.",
                self.family.spec()
            )
        })
    }
}

/// The families of a table and the model with them.
#[derive(Debug, Clone)]
pub struct TableFamilies {
    /// One for each column.
    pub columns: Vec<ColumnFamily>,
    /// The model, trained on all entries.
    pub fit: Fit,
    /// The logarithm of the probability or density of a held-out entry, on average over all columns.
    pub held_out: f64,
    /// Sweeps that were needed.
    pub sweeps: usize,
    /// How the number of causes was chosen, if it was ([`Causes::Auto`]).
    pub choice: Option<CauseChoice>,
    /// Whether the model fits the table: the columns' verdicts together. `None` if no column has one.
    pub verdict: Option<TableVerdict>,
}

impl TableFamilies {
    /// The family of each column.
    #[must_use]
    pub fn families(&self) -> Vec<SharedFamily> {
        self.columns.iter().map(|column| column.family.clone()).collect()
    }

    /// The resolution of each column.
    #[must_use]
    pub fn resolutions(&self) -> Vec<Resolution> {
        self.columns.iter().map(|column| column.resolution.clone()).collect()
    }
}

impl Default for TableNoise {
    fn default() -> TableNoise {
        TableNoise::new()
    }
}

/// The family of a column that holds the codes of `count` labels without an order.
pub(crate) fn for_labels(count: usize) -> FamilySpec {
    if count <= 2 { "bernoulli".into() } else { format!("categorical:k={count},order=nominal").into() }
}

impl TableNoise {
    /// The usual settings: a family for each column, with a number of causes that suits the size of the table.
    #[must_use]
    pub fn new() -> TableNoise {
        TableNoise {
            causes: Causes::Suitable,
            fixed: Vec::new(),
            comparison: Comparison::new(1),
            resolutions: Vec::new(),
        }
    }

    /// The number of causes (default: [`Causes::Suitable`]). With [`Causes::Auto`] families are found with a suitable number first;
    /// the number is chosen with these families, and they are found again if it is another one.
    #[must_use]
    pub fn causes(mut self, causes: impl Into<Causes>) -> TableNoise {
        self.causes = causes.into();
        self
    }

    /// The family of column `d`, counted from zero; a fixed parameter that is missing, or given as `?`, is searched.
    #[must_use]
    pub fn fix(mut self, d: usize, family: impl Into<FamilySpec>) -> TableNoise {
        self.fixed.push((d, family.into()));
        self
    }

    /// Column `d`, counted from zero, holds the codes 0, 1, … of `count` labels that have no order: yes or no for two of them, and
    /// one of many for more.
    #[must_use]
    pub fn labels(self, d: usize, count: usize) -> TableNoise {
        self.fix(d, for_labels(count))
    }

    /// How finely the values of column `d`, counted from zero, were written down (default: found by [`Resolution::of`]).
    #[must_use]
    pub fn resolution(mut self, d: usize, resolution: Resolution) -> TableNoise {
        self.resolutions.push((d, resolution));
        self
    }

    /// EM iterations of each training, at the most (default: 60).
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> TableNoise {
        self.comparison.iterations = iterations;
        self
    }

    /// The share of the entries that is held out (default: 0.1).
    #[must_use]
    pub fn held_out(mut self, share: f64) -> TableNoise {
        self.comparison.share = share;
        self
    }

    /// The same seed gives the same families (default: 0).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> TableNoise {
        self.comparison.seed = seed;
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
        self.fixed.iter().try_for_each(|(_, family)| check_family(family))
    }

    /// Finds the families of `table`, NaN where a value is missing, and trains the model with them.
    ///
    /// # Errors
    ///
    /// The errors of [`check`](TableNoise::check); columns that do not exist or have no value; values that a fixed family cannot have.
    pub fn run(&self, table: ArrayView2<'_, f64>) -> Result<TableFamilies> {
        self.run_observed(table, &mut unobserved)
    }

    /// Finds the families of `table`, and trains the model with them. If `observer` asks to stop, columns keep the families that
    /// they have then, and the model is trained no further.
    ///
    /// # Errors
    ///
    /// As [`run`](TableNoise::run), and [`Error::Stopped`] if the observer ends the work before every column has a family.
    pub fn run_observed(&self, table: ArrayView2<'_, f64>, observer: &mut Observer<'_>) -> Result<TableFamilies> {
        self.check()?;
        if table.is_empty() {
            return Err(Error::EmptyData { rows: table.nrows(), columns: table.ncols() });
        }
        check_columns(&self.fixed, table.ncols())?;
        check_columns(&self.resolutions, table.ncols())?;
        let source = Source::Table(table);
        let find = |causes: usize, observer: &mut Observer<'_>| self.find(causes, table, observer);
        let known = |found: &TableFamilies| (found.families(), found.resolutions());
        let (found, choice) = with_causes(self.causes, source, &self.comparison, observer, find, known)?;
        Ok(TableFamilies { choice, ..found })
    }

    /// Finds the families with a number of causes.
    fn find(&self, causes: usize, table: ArrayView2<'_, f64>, observer: &mut Observer<'_>) -> Result<TableFamilies> {
        let split = self.comparison.split(Source::Table(table))?;
        let seen = rows_of(&*split.seen);
        let rows = Rows { seen: &seen, full: table };
        let mut slots: Vec<Slot> = (0..table.ncols())
            .map(|d| Slot::new(rows, d, last(&self.fixed, d), last(&self.resolutions, d)))
            .collect::<Result<_>>()?;
        let total = (SWEEPS + 1) * (slots.len() + 1) + 1;
        let mut steps = Steps { watch: Watch::new(observer), done: 0, total };
        // by itself, before there is a model
        let by_itself = |d: usize, slot: &Slot| ColumnMixture::by_itself(rows, d, &slot.resolution);
        if sweep(&mut slots, &mut |stage, columns| steps.tell(stage, columns), by_itself)? < slots.len() {
            return Err(Error::Stopped { what: "every column had a family".into() });
        }
        let alone: Vec<Option<Verdict>> = slots
            .par_iter()
            .enumerate()
            .map(|(d, slot)| {
                ColumnMixture::by_itself(rows, d, &slot.resolution).verdict(&slot.family, self.comparison.seed)
            })
            .collect();
        let mut model = self.train(causes, &slots, &*split.seen, None, &mut steps)?.model;
        steps.tell_of_training("families of single columns");
        let mut sweeps = 0;
        // without other columns nothing tells whose cause a row is: the column by itself has been looked at
        while sweeps < SWEEPS && slots.len() > 1 && !steps.watch.stopped() {
            sweeps += 1;
            let (responsibilities, tables) = (Responsibilities::new(&model, &*split.seen)?, Tables::new(&model));
            let before: Vec<String> = slots.iter().map(|slot| slot.family.spec()).collect();
            sweep(&mut slots, &mut |stage, columns| steps.tell(stage, columns), |d, slot| {
                let of_column = responsibilities.of_column(&tables, d);
                ColumnMixture::given_others(rows, d, &slot.resolution, of_column, &model, &tables)
            })?;
            // the last training has the families that were found until then
            if steps.watch.stopped() {
                break;
            }
            let changed = slots.iter().zip(&before).filter(|(slot, before)| !same_name(&slot.family, before)).count();
            model = self.train(causes, &slots, &*split.seen, Some(&model), &mut steps)?.model;
            steps.tell_of_training(&format!("sweep {sweeps}: {changed} columns changed"));
            if changed == 0 {
                break;
            }
        }
        // a column of rounded values has probabilities, one of numbers with fractions densities
        let held_out = split.scores_of_columns(&model, |d| &slots[d].resolution)?.mean();
        let verdicts = match slots.len() {
            1 => alone.clone(),
            _ => verdicts(&split, &model, |d| &slots[d].resolution, self.comparison.seed)?,
        };
        let fit = self.train(causes, &slots, &table, Some(&model), &mut steps)?;
        let verdict = TableVerdict::of(&verdicts);
        let columns = slots.into_iter().zip(verdicts).zip(alone);
        let columns =
            columns.map(|((slot, verdict), alone)| ColumnFamily { verdict, alone, ..slot.finish() }).collect();
        Ok(TableFamilies { columns, fit, held_out, sweeps, choice: None, verdict })
    }

    /// Trains with the families of `slots`, from the posteriors of a model if there is one; one iteration and no more if the
    /// observer asked to stop.
    fn train(
        &self,
        causes: usize,
        slots: &[Slot],
        data: &dyn Data,
        from: Option<&Model>,
        steps: &mut Steps<'_, '_>,
    ) -> Result<Fit> {
        let families = slots.iter().map(|slot| &slot.family);
        let resolutions: Vec<Resolution> = slots.iter().map(|slot| slot.resolution.clone()).collect();
        let mut em = self.comparison.em(causes, data).families(families).seed(self.comparison.seed);
        em = em.resolutions(&resolutions);
        if let Some(model) = from {
            em = em.init(Init::Posteriors(Box::new(model.clone())));
        }
        em.run_by_one_or_all(data, &mut |progress| {
            let stage = progress.training.map_or("training: starts".into(), |training| {
                format!("training: iteration {} of {}", training.iteration, training.iterations)
            });
            steps.tell(&stage, 0)
        })
    }
}

/// What was given for column `d`; the last if there is more than one.
pub(crate) fn last<T>(given: &[(usize, T)], d: usize) -> Option<&T> {
    given.iter().rev().find(|(column, _)| *column == d).map(|(_, value)| value)
}

/// Whether the columns for which something was given exist.
pub(crate) fn check_columns<T>(given: &[(usize, T)], columns: usize) -> Result<()> {
    match given.iter().find(|(d, _)| *d >= columns) {
        Some((d, _)) => Err(Error::Column { column: *d, problem: format!("the table has {columns} columns only") }),
        None => Ok(()),
    }
}

/// Columns and trainings that are done.
struct Steps<'a, 'b> {
    watch: Watch<'a, 'b>,
    done: usize,
    total: usize,
}

impl Steps<'_, '_> {
    /// `steps` more are done.
    fn tell(&mut self, stage: &str, steps: usize) -> ControlFlow<()> {
        self.done += steps;
        self.watch.see(&Progress::of_stage(stage, self.done, self.total))
    }

    /// A training is done; whether to continue is asked from `watch`.
    fn tell_of_training(&mut self, stage: &str) {
        let _ = self.tell(stage, 1);
    }
}
