//! What a model says about each cell of a row, given the other cells of that row.
//!
//! A cell that is present is judged without itself (`tasks/held_out/without.rs`), so that every cell of a table is predicted from
//! the others after one pass over its rows.

use std::ops::ControlFlow;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::column::{CellKind, Column};
use crate::error::Result;
use crate::family::Family;
use crate::model::{Model, Tables};
use crate::tasks::held_out::without_itself;

/// Draws by which the variance of a member of a family is found. Errors of a few per cent are made good by calibration.
const DRAWS: usize = 512;

/// The distribution of each cell given the others of its row, by its moments.
#[derive(Debug, Clone)]
pub(super) struct Beliefs {
    /// Means of numbers.
    pub(super) mean: Array2<f64>,
    /// Variances of numbers.
    pub(super) variance: Array2<f64>,
    /// For each column of codes their probabilities, a row for each row; no columns for numbers.
    pub(super) codes: Vec<Array2<f64>>,
    /// How likely each cause, and last the background, is to have set each cell, judged without the cell itself.
    pub(super) owners: Vec<Array2<f64>>,
}

/// The members of a model's families, as cells see them.
pub(super) struct Members {
    /// $(H+1) \times D$.
    mean: Array2<f64>,
    variance: Array2<f64>,
    /// For each column $(H+1) \times V$: the probabilities of its codes.
    codes: Vec<Array2<f64>>,
}

impl Members {
    pub(super) fn new(model: &Model, tables: &Tables, columns: &[Column]) -> Members {
        let (causes, mut mean) = (model.h() + 1, model.means_with_background());
        let mut variance = Array2::zeros(mean.dim());
        let mut codes = Vec::with_capacity(columns.len());
        for (d, family, span) in model.columns().iter() {
            let column = &columns[d];
            let mut shares = Array2::zeros((causes, column.codes.len()));
            for h in 0..causes {
                let eta: Vec<f64> = span.clone().map(|k| tables.eta[[h, k]]).collect();
                if column.kind() == CellKind::Number {
                    // heavy tails have no mean or variance; the column has
                    let known = mean[[h, d]];
                    mean[[h, d]] = if known.is_finite() { known.clamp(column.low, column.high) } else { column.mean };
                    let profile = &model.profile(h)[span.clone()];
                    let found = family.spread(profile).map_or_else(|| scatter(&**family, &eta, column), |sd| sd * sd);
                    variance[[h, d]] = if found.is_finite() { found } else { column.sd.powi(2) };
                    continue;
                }
                let logs: Vec<f64> = column.codes.iter().map(|code| family.log_density(*code, &eta)).collect();
                let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = logs.iter().map(|log| (log - top).exp()).sum();
                for (place, log) in logs.iter().enumerate() {
                    let share = (log - top).exp() / sum;
                    shares[[h, place]] = if share.is_finite() { share } else { column.shares[place] };
                }
            }
            codes.push(shares);
        }
        Members { mean, variance, codes }
    }

    /// The probabilities of the codes of column `d`, given who set it.
    fn shares(&self, owners: ArrayView1<'_, f64>, d: usize) -> ndarray::Array1<f64> {
        owners.dot(&self.codes[d])
    }
}

impl Beliefs {
    /// What `model` says about the cells of `rows`.
    pub(super) fn new(model: &Model, columns: &[Column], rows: ArrayView2<'_, f64>) -> Result<Beliefs> {
        let tables = Tables::new(model);
        let members = Members::new(model, &tables, columns);
        let (n, d) = rows.dim();
        let goes_on = &mut |_: usize| ControlFlow::Continue(());
        let owners = model.each_row(&rows, model.inference(), goes_on, |row, owned| {
            let mut owned = owned.to_owned();
            for (d, cell) in rows.row(row).iter().enumerate().filter(|(_, cell)| !cell.is_nan()) {
                without_itself(model, &tables, d, *cell, owned.column_mut(d));
            }
            owned
        })?;
        let mut found = Beliefs {
            mean: Array2::zeros((n, d)),
            variance: Array2::zeros((n, d)),
            codes: columns.iter().map(|column| Array2::zeros((n, column.codes.len()))).collect(),
            owners: Vec::new(),
        };
        for (row, owned) in owners.iter().enumerate() {
            for (d, column) in columns.iter().enumerate() {
                let owned = owned.column(d);
                if column.kind() == CellKind::Code {
                    found.codes[d].row_mut(row).assign(&members.shares(owned, d));
                    continue;
                }
                let mean = owned.dot(&members.mean.column(d));
                let apart = owned.iter().zip(members.mean.column(d)).map(|(r, of)| r * (of - mean).powi(2));
                found.mean[[row, d]] = mean;
                found.variance[[row, d]] = owned.dot(&members.variance.column(d)) + apart.sum::<f64>();
            }
        }
        found.owners = owners;
        Ok(found)
    }

    /// The mixture of the beliefs of several models, all alike.
    pub(super) fn average(members: &[Beliefs]) -> Option<Beliefs> {
        let mut all = members.first()?.clone();
        all.owners.clear();
        let share = 1.0 / members.len() as f64;
        all.mean.fill(0.0);
        all.variance.fill(0.0);
        all.codes.iter_mut().for_each(|codes| codes.fill(0.0));
        for one in members {
            all.mean.scaled_add(share, &one.mean);
            all.codes.iter_mut().zip(&one.codes).for_each(|(all, one)| all.scaled_add(share, one));
        }
        for one in members {
            let apart = (&one.mean - &all.mean).mapv(|difference| difference * difference);
            all.variance.scaled_add(share, &(&one.variance + &apart));
        }
        Some(all)
    }

    /// Room for the beliefs about `n` rows.
    pub(super) fn like(&self, n: usize) -> Beliefs {
        Beliefs {
            mean: Array2::zeros((n, self.mean.ncols())),
            variance: Array2::zeros((n, self.mean.ncols())),
            codes: self.codes.iter().map(|codes| Array2::zeros((n, codes.ncols()))).collect(),
            owners: Vec::new(),
        }
    }

    /// Takes the rows `places` from `other`, where they are the first ones.
    pub(super) fn put(&mut self, places: &[usize], other: &Beliefs) {
        for (from, to) in places.iter().enumerate() {
            self.mean.row_mut(*to).assign(&other.mean.row(from));
            self.variance.row_mut(*to).assign(&other.variance.row(from));
            for (mine, theirs) in self.codes.iter_mut().zip(&other.codes) {
                mine.index_axis_mut(Axis(0), *to).assign(&theirs.row(from));
            }
        }
    }
}

/// The variance of a member of a family within the range of the column, by draws: tails of some families have no variance, and
/// an integral over them takes long.
fn scatter(family: &dyn Family, eta: &[f64], column: &Column) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let drawn: Vec<f64> = (0..DRAWS).map(|_| family.sample(eta, &mut rng).clamp(column.low, column.high)).collect();
    let mean = drawn.iter().sum::<f64>() / DRAWS as f64;
    drawn.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (DRAWS - 1) as f64
}
