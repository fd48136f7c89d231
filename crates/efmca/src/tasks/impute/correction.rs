//! What the causes leave: a regression of the difference between cells and beliefs on the other cells of the row.
//!
//! Binary causes describe groups of rows. Two columns that follow each other closely within a group (the length and the
//! weight of the same animal) still do so after the causes are known, and a line through what is left says how. The line
//! starts from the beliefs, and its penalty is chosen by rows that it has not seen; where nothing is left it is not used.

use ndarray::{Array1, Array2};
use rayon::prelude::*;

use super::beliefs::Beliefs;
use super::column::{CellKind, Column};
use super::features::Features;
use super::regression::{Linear, regression};

/// Numbers that the features of all columns may have, so that large tables are worked on by a part of their rows.
const MOST_WORK: usize = 4_000_000_000;
/// Rows of a regression, at the least and at the most.
const ROWS: std::ops::Range<usize> = 2000..20_000;
/// Cells of a column below which nothing is learned about what is left.
const LEAST: usize = 30;

/// The regressions of all columns.
#[derive(Debug, Clone)]
pub(super) struct Corrections {
    features: Features,
    columns: Vec<Option<Linear>>,
}

/// The regression of a column, the rows that it was learned from, and what it says of them without having seen them.
type Learned = (Linear, Vec<usize>, Array2<f64>);

/// Every cell as it is predicted by models and regressions that have not seen it.
#[derive(Debug, Clone)]
pub(super) struct Unseen {
    pub(super) beliefs: Beliefs,
    /// The rows that are in the regressions; of others the beliefs are those of the models alone.
    pub(super) rows: Vec<usize>,
}

impl Corrections {
    /// None: the beliefs stay as they are.
    pub(super) fn none(columns: &[Column]) -> Corrections {
        Corrections { features: Features::of(columns), columns: vec![None; columns.len()] }
    }

    /// Learns what `beliefs` leave of `rows`; `folds` has the fold of each row.
    pub(super) fn learn(columns: &[Column], rows: &Array2<f64>, beliefs: &Beliefs, folds: &[usize]) -> (Self, Unseen) {
        let features = Features::of(columns);
        let widest = (0..columns.len()).map(|d| features.width(columns, d)).max().unwrap_or(1);
        let most = (MOST_WORK / (widest * widest * columns.len())).clamp(ROWS.start, ROWS.end);
        let step = rows.nrows().div_ceil(most).max(1);
        let used: Vec<usize> = (0..rows.nrows()).step_by(step).collect();
        let all = features.table(columns, rows, beliefs);
        let found: Vec<Option<Learned>> = (0..columns.len())
            .into_par_iter()
            .map(|d| {
                let present: Vec<usize> = used.iter().copied().filter(|n| !rows[[*n, d]].is_nan()).collect();
                if present.len() < LEAST || columns[d].sd == 0.0 {
                    return None;
                }
                let x: Vec<f64> =
                    present.iter().flat_map(|n| features.for_column(columns, &all[*n], beliefs, *n, d)).collect();
                let x = Array2::from_shape_vec((present.len(), x.len() / present.len()), x).ok()?;
                let t = left(&columns[d], rows, beliefs, &present, d);
                let folds: Vec<usize> = present.iter().map(|n| folds[*n]).collect();
                let found = regression(x.view(), t.view(), &folds, &features.choices(columns, d))?;
                Some((found.linear, present, found.unseen))
            })
            .collect();
        let mut unseen = beliefs.clone();
        let mut linear = Vec::with_capacity(columns.len());
        for (d, found) in found.into_iter().enumerate() {
            linear.push(found.map(|(linear, present, corrections)| {
                for (n, correction) in present.iter().zip(corrections.outer_iter()) {
                    correct(&columns[d], &mut unseen, *n, d, &correction.to_owned());
                }
                linear
            }));
        }
        (Corrections { features, columns: linear }, Unseen { beliefs: unseen, rows: used })
    }

    /// Corrects the beliefs about missing cells of `rows`, twice where a row has several: the first time with what is
    /// believed of the others, the second time with what was corrected.
    pub(super) fn apply(&self, columns: &[Column], rows: &Array2<f64>, beliefs: &Beliefs) -> Beliefs {
        let mut found = beliefs.clone();
        for (n, cells) in rows.outer_iter().enumerate() {
            let missing: Vec<usize> = (0..columns.len()).filter(|d| cells[*d].is_nan()).collect();
            if missing.is_empty() {
                continue;
            }
            let cells = cells.to_vec();
            for _ in 0..if missing.len() > 1 { 3 } else { 1 } {
                let all = self.features.row(columns, &cells, &found, n);
                for d in &missing {
                    let Some(linear) = &self.columns[*d] else { continue };
                    let own = self.features.for_column(columns, &all, beliefs, n, *d);
                    copy_cell(&mut found, beliefs, n, *d);
                    correct(&columns[*d], &mut found, n, *d, &linear.of(&own));
                }
            }
        }
        found
    }
}

/// What the beliefs about column `d` leave: of numbers a difference in standard deviations, of codes one for each.
fn left(column: &Column, rows: &Array2<f64>, beliefs: &Beliefs, present: &[usize], d: usize) -> Array2<f64> {
    Array2::from_shape_fn((present.len(), column.codes.len().max(1)), |(row, place)| {
        let n = present[row];
        match column.kind() {
            CellKind::Number => (rows[[n, d]] - beliefs.mean[[n, d]]) / column.scale(),
            CellKind::Code => f64::from(u8::from(column.place(rows[[n, d]]) == place)) - beliefs.codes[d][[n, place]],
        }
    })
}

fn copy_cell(to: &mut Beliefs, from: &Beliefs, n: usize, d: usize) {
    to.mean[[n, d]] = from.mean[[n, d]];
    to.codes[d].row_mut(n).assign(&from.codes[d].row(n));
}

/// Adds a correction to the belief about one cell. Numbers stay in the range of their column; probabilities stay positive
/// and sum to one.
fn correct(column: &Column, beliefs: &mut Beliefs, n: usize, d: usize, correction: &Array1<f64>) {
    match column.kind() {
        CellKind::Number => {
            let corrected = beliefs.mean[[n, d]] + correction[0] * column.scale();
            beliefs.mean[[n, d]] = corrected.clamp(column.low, column.high);
        }
        CellKind::Code => {
            let mut row = beliefs.codes[d].row_mut(n);
            for ((probability, correction), share) in row.iter_mut().zip(correction).zip(&column.shares) {
                *probability = (*probability + correction).max(0.01 * share);
            }
            let sum = row.sum();
            row /= sum;
        }
    }
}
