//! Rows that fit least, and which column is to blame.

use std::ops::ControlFlow;

use ndarray::{Array1, Array2, ArrayView2, Axis};

use crate::error::Result;
use crate::model::{Model, Resolution, Tables};
use crate::tasks::held_out::{Predictor, without_itself};

/// Cells of a row that are named.
const CELLS: usize = 3;
/// Rows that say how surprising a cell of each column is on average, at the most.
const AVERAGE: usize = 2000;

/// A row that the model finds unlikely.
#[derive(Debug, Clone, PartialEq)]
pub struct UnlikelyRow {
    /// The row, counted from zero.
    pub row: usize,
    /// Its log-likelihood, in nats.
    pub log_likelihood: f64,
    /// Its most surprising cells, the most surprising first.
    pub cells: Vec<Surprise>,
}

/// A cell that the rest of its row does not suggest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Surprise {
    /// The column.
    pub column: usize,
    /// The value that stands there.
    pub value: f64,
    /// Its mean given the rest of the row.
    pub expected: f64,
    /// By how much it is less likely than the cells of the column are on average, in nats.
    pub nats: f64,
}

pub(super) fn unlikely_rows(
    model: &Model,
    table: ArrayView2<'_, f64>,
    log_likelihoods: &Array1<f64>,
    count: usize,
) -> Result<Vec<UnlikelyRow>> {
    let mut order: Vec<usize> = (0..table.nrows()).collect();
    order.sort_by(|a, b| log_likelihoods[*a].total_cmp(&log_likelihoods[*b]).then(a.cmp(b)));
    order.truncate(count);
    let sample: Vec<usize> = (0..table.nrows()).step_by(table.nrows().div_ceil(AVERAGE).max(1)).collect();
    let (scores, _) = cells(model, table.select(Axis(0), &sample))?;
    let average = |d: usize| {
        let present: Vec<f64> = scores.column(d).iter().copied().filter(|score| !score.is_nan()).collect();
        present.iter().sum::<f64>() / present.len().max(1) as f64
    };
    let averages: Vec<f64> = (0..model.d()).map(average).collect();
    let rows = table.select(Axis(0), &order);
    let (scores, means) = cells(model, rows.clone())?;
    let describe = |(place, row): (usize, &usize)| {
        let mut cells: Vec<Surprise> = (0..model.d())
            .filter(|d| !rows[[place, *d]].is_nan())
            .map(|d| Surprise {
                column: d,
                value: rows[[place, d]],
                expected: means[[place, d]],
                nats: averages[d] - scores[[place, d]],
            })
            .collect();
        cells.sort_by(|a, b| b.nats.total_cmp(&a.nats).then(a.column.cmp(&b.column)));
        cells.truncate(CELLS);
        UnlikelyRow { row: *row, log_likelihood: log_likelihoods[*row], cells }
    };
    Ok(order.iter().enumerate().map(describe).collect())
}

/// The log-probability of each cell given the others of its row, and its mean given them.
fn cells(model: &Model, rows: Array2<f64>) -> Result<(Array2<f64>, Array2<f64>)> {
    let (tables, means) = (Tables::new(model), model.means_with_background());
    let owners = model.each_row(&rows, model.inference(), &mut |_| ControlFlow::Continue(()), |n, owned| {
        let mut owned = owned.to_owned();
        for (d, cell) in rows.row(n).iter().enumerate().filter(|(_, cell)| !cell.is_nan()) {
            without_itself(model, &tables, d, *cell, owned.column_mut(d));
        }
        owned
    })?;
    let mut scores = Array2::from_elem(rows.dim(), f64::NAN);
    let mut expected = Array2::zeros(rows.dim());
    for (d, resolution) in Resolution::of_columns(rows.view(), &[]).iter().enumerate() {
        let mut predictor = Predictor::of_model(model, &tables, d, resolution);
        for (n, owned) in owners.iter().enumerate() {
            expected[[n, d]] = Model::mean_of(&means, owned.view(), d);
            if !rows[[n, d]].is_nan() {
                scores[[n, d]] = predictor.score(owned.column(d), rows[[n, d]]);
            }
        }
    }
    Ok((scores, expected))
}
