//! An imputer that was trained, and the tables that it fills.

use ndarray::{Array2, ArrayView2, s};

use super::beliefs::Beliefs;
use super::column::{Column, largest};
use super::correction::Corrections;
use super::draws::draw;
use super::scores::{Calibration, predicted_sd};
use super::{CellKind, CellScores, Fill, Imputer};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::tasks::table::LearnedTable;

/// Rows that are filled at a time.
const BLOCK: usize = 4096;

/// Models and regressions that fill in missing cells.
#[derive(Debug, Clone)]
pub struct TrainedImputer {
    pub(super) settings: Imputer,
    pub(super) columns: Vec<Column>,
    /// A model of each fold, and last the one of all rows.
    pub(super) members: Vec<Model>,
    pub(super) corrections: Corrections,
    pub(super) calibration: Vec<Calibration>,
    pub(super) scores: CellScores,
    /// How the model of all rows came about, if it was learned here.
    pub learned: Option<LearnedTable>,
}

/// A table without missing cells.
#[derive(Debug, Clone)]
pub struct FilledTable {
    /// All cells: those that were present as they were, the others filled in.
    pub values: Array2<f64>,
    /// The cells that were filled in, row by row.
    pub cells: Vec<FilledCell>,
    /// Complete tables with drawn values, as many as were asked for.
    pub draws: Vec<Array2<f64>>,
    /// How good the values are, by cells that are present.
    pub scores: CellScores,
}

/// A cell that was filled in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FilledCell {
    /// Row, counted from zero.
    pub row: usize,
    /// Column, counted from zero.
    pub column: usize,
    /// What stands there now.
    pub value: f64,
    /// The standard deviation of a number; `None` for codes.
    pub sd: Option<f64>,
    /// An interval in which a number lies with the probability [`Imputer::level`]; `None` for codes.
    pub interval: Option<(f64, f64)>,
    /// The probability of a code; `None` for numbers.
    pub probability: Option<f64>,
}

impl TrainedImputer {
    /// How good the values are, by cells of the table that was learned from.
    #[must_use]
    pub fn scores(&self) -> &CellScores {
        &self.scores
    }

    /// The same imputer with another number of drawn tables.
    #[must_use]
    pub fn draws(mut self, draws: usize) -> TrainedImputer {
        self.settings = self.settings.draws(draws);
        self
    }

    /// The model of all rows.
    #[must_use]
    pub fn model(&self) -> &Model {
        // there is one at least, and the last one is that of all rows
        &self.members[self.members.len() - 1]
    }

    /// What the cells of each column are.
    #[must_use]
    pub fn kinds(&self) -> Vec<CellKind> {
        self.columns.iter().map(Column::kind).collect()
    }

    /// Fills in the missing cells of `table`. Rows are filled by themselves: the result does not depend on the others.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] if the table has other columns, and values that the families cannot have.
    pub fn fill(&self, table: ArrayView2<'_, f64>) -> Result<FilledTable> {
        if table.ncols() != self.columns.len() {
            return Err(Error::shape("columns of the table", self.columns.len(), table.ncols()));
        }
        let mut values = table.to_owned();
        let mut draws = vec![values.clone(); self.settings.draws];
        let mut cells = Vec::new();
        for start in (0..table.nrows()).step_by(BLOCK) {
            let end = (start + BLOCK).min(table.nrows());
            // complete rows need nothing
            let places: Vec<usize> = (start..end).filter(|n| table.row(*n).iter().any(|cell| cell.is_nan())).collect();
            if places.is_empty() {
                continue;
            }
            let rows = table.select(ndarray::Axis(0), &places);
            let said: Vec<Beliefs> =
                self.members.iter().map(|model| self.believed(model, &rows, &places)).collect::<Result<_>>()?;
            let Some(beliefs) = Beliefs::average(&said) else { continue };
            let corrected = self.corrections.apply(&self.columns, &rows, &beliefs);
            for (row, n) in places.iter().enumerate() {
                for d in (0..rows.ncols()).filter(|d| rows[[row, *d]].is_nan()) {
                    let cell = self.cell(&said, &beliefs, &corrected, (row, *n), d);
                    values[[*n, d]] = cell.value;
                    cells.push(cell);
                }
            }
            for (number, filled) in draws.iter_mut().enumerate() {
                let drawn = draw(self, &rows, &places, number)?;
                for (row, n) in places.iter().enumerate() {
                    filled.slice_mut(s![*n, ..]).assign(&drawn.row(row));
                }
            }
        }
        Ok(FilledTable { values, cells, draws, scores: self.scores.clone() })
    }

    /// What one model says of rows, whose numbers in the table go into errors.
    pub(super) fn believed(&self, model: &Model, rows: &Array2<f64>, places: &[usize]) -> Result<Beliefs> {
        Beliefs::new(model, &self.columns, rows.view()).map_err(|error| match error {
            Error::OutsideSupport { row, column, value, family, support } => {
                Error::OutsideSupport { row: places.get(row).copied().unwrap_or(row), column, value, family, support }
            }
            Error::NotFinite { row, column, value } => {
                Error::NotFinite { row: places.get(row).copied().unwrap_or(row), column, value }
            }
            Error::ImpossibleRow { row } => Error::ImpossibleRow { row: places.get(row).copied().unwrap_or(row) },
            other => other,
        })
    }

    /// The value of a cell and its uncertainty; `row` is its row among the incomplete ones and `n` in the table.
    fn cell(
        &self,
        said: &[Beliefs],
        beliefs: &Beliefs,
        corrected: &Beliefs,
        (row, n): (usize, usize),
        d: usize,
    ) -> FilledCell {
        let column = &self.columns[d];
        let empty = FilledCell { row: n, column: d, value: 0.0, sd: None, interval: None, probability: None };
        if column.kind() == CellKind::Code {
            let shares = corrected.codes[d].row(row).to_vec();
            let best = largest(&shares);
            return FilledCell { value: column.codes[best], probability: Some(shares[best]), ..empty };
        }
        let (mean, sd) = (corrected.mean[[row, d]], predicted_sd(column, beliefs.variance[[row, d]]));
        let at = |share: f64| (mean + sd * self.calibration[d].quantile(share)).clamp(column.low, column.high);
        let value = match self.settings.fill {
            Fill::Mean => mean,
            Fill::Median => at(0.5),
            Fill::Mode => {
                let shift = mean - beliefs.mean[[row, d]];
                (self.mode(said, row, d) + shift).clamp(column.low, column.high)
            }
        };
        let value = if self.settings.as_written { column.on_grid(value) } else { value };
        let tail = 0.5 * (1.0 - self.settings.level);
        let (low, high) = column.outward(at(tail).min(value), at(1.0 - tail).max(value));
        FilledCell { value, sd: Some(sd * self.calibration[d].factor), interval: Some((low, high)), ..empty }
    }

    /// The most probable number of a cell under all models, of the means of their causes.
    fn mode(&self, said: &[Beliefs], row: usize, d: usize) -> f64 {
        let mut best = (f64::NEG_INFINITY, self.columns[d].mean);
        let density = |y: f64| -> f64 {
            let of_model = |(model, said): (&Model, &Beliefs)| super::draws::density(model, said, row, d, y);
            self.members.iter().zip(said).map(of_model).sum()
        };
        for (model, said) in self.members.iter().zip(said) {
            for (h, r) in said.owners[row].column(d).iter().enumerate().filter(|(_, r)| **r > 0.01) {
                let at = super::draws::peak(model, h, d).clamp(self.columns[d].low, self.columns[d].high);
                let found = density(at);
                if *r > 0.0 && found > best.0 {
                    best = (found, at);
                }
            }
        }
        best.1
    }
}
