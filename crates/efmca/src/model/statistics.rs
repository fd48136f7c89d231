//! Data as the method sees it: sufficient statistics.

use ndarray::{Array1, Array2};

use super::Columns;
use crate::error::{Error, Result};
use crate::family::check;

/// Larger statistics overflow when they are squared or summed.
const LARGEST_STATISTIC: f64 = 1e140;

/// The sufficient statistics of a data set, checked once.
#[derive(Debug, Clone)]
pub struct Statistics {
    pub(crate) columns: Columns,
    /// $N \times K$: $T_l(y_d^{(n)})$, zero where $y$ is missing.
    pub(crate) t: Array2<f64>,
    /// $N \times D$: one where $y$ is there, zero where it is missing; `None` if nothing is missing.
    pub(crate) present: Option<Array2<f64>>,
    /// $\sum_d \log h(y_d^{(n)})$ over the values that are there.
    pub(crate) log_h: Array1<f64>,
    /// A weight for each row; one unless given.
    pub(crate) weights: Array1<f64>,
    /// The largest magnitude of each of the $K$ statistics.
    pub(crate) largest: Vec<f64>,
}

impl Statistics {
    /// Checks `y` ($N \times D$, NaN where missing) against the families and takes its statistics.
    ///
    /// A row with weight $k$ counts as $k$ equal rows.
    pub fn new(columns: &Columns, y: &Array2<f64>, weights: Option<&Array1<f64>>) -> Result<Statistics> {
        let (rows, d) = y.dim();
        if rows == 0 || d == 0 {
            return Err(Error::EmptyData { rows, columns: d });
        }
        if d != columns.d() {
            return Err(Error::shape("columns of the data", columns.d(), d));
        }
        let mut t = Array2::zeros((rows, columns.k()));
        let mut log_h = Array1::zeros(rows);
        let mut missing = false;
        for (n, row) in y.outer_iter().enumerate() {
            for (column, family, span) in columns.iter() {
                let value = row[column];
                if value.is_nan() {
                    missing = true;
                    continue;
                }
                if value.is_infinite() {
                    return Err(Error::NotFinite { row: n, column, value });
                }
                check(&**family, value, n, column)?;
                let mut t_row = t.row_mut(n);
                if let Some(t_row) = t_row.as_slice_mut() {
                    family.t(value, &mut t_row[span.clone()]);
                    if t_row[span].iter().any(|t| t.is_nan() || t.abs() > LARGEST_STATISTIC) {
                        return Err(Error::TooExtreme { row: n, column, value, family: family.spec() });
                    }
                }
                log_h[n] += family.log_h(value);
            }
        }
        let present = missing.then(|| y.mapv(|value| if value.is_nan() { 0.0 } else { 1.0 }));
        let largest = t.columns().into_iter().map(|t| t.iter().fold(0.0, |max, t| f64::max(max, t.abs()))).collect();
        let weights = checked_weights(rows, weights)?;
        Ok(Statistics { columns: columns.clone(), t, present, log_h, weights, largest })
    }

    /// An error if there is a column of which nothing can be learned.
    pub(crate) fn check_learnable(&self) -> Result<()> {
        let sums = self.t.t().dot(&self.weights);
        for (column, family, span) in self.columns.iter() {
            let count = self.count(column);
            if count <= 0.0 {
                return Err(Error::EmptyColumn { column });
            }
            let w: Vec<f64> = span.map(|k| sums[k] / count).collect();
            if family.loses_digits(&w) {
                return Err(Error::TooFarFromZero { column, mean: w[0], family: family.spec() });
            }
        }
        Ok(())
    }

    /// The weight of the rows in which column `d` is there.
    fn count(&self, d: usize) -> f64 {
        self.present.as_ref().map_or(self.total_weight(), |present| present.column(d).dot(&self.weights))
    }

    /// $N$, the number of rows.
    pub fn n(&self) -> usize {
        self.t.nrows()
    }

    /// $\sum_n$ of the weights, which stands where $N$ stands in the paper.
    pub fn total_weight(&self) -> f64 {
        self.weights.sum()
    }

    /// The rows that count.
    pub(crate) fn weighty_rows(&self) -> Vec<usize> {
        (0..self.n()).filter(|n| self.weights[*n] > 0.0).collect()
    }

    /// The weight of an average row, for what is measured in rows.
    pub(crate) fn mean_weight(&self) -> f64 {
        self.total_weight() / self.n() as f64
    }

    /// The weighted mean of $T$ over the values that are there, for each of the $K$ statistics: the M-step of a model
    /// with a single cause. It lies inside every family's mean domain or is moved there.
    pub fn column_means(&self) -> Array1<f64> {
        let mut means = self.t.t().dot(&self.weights);
        for (d, family, span) in self.columns.iter() {
            let count = self.count(d);
            let mut w: Vec<f64> = span.clone().map(|k| if count > 0.0 { means[k] / count } else { 0.0 }).collect();
            family.project(&mut w);
            means.slice_mut(ndarray::s![span]).assign(&Array1::from(w));
        }
        means
    }
}

fn checked_weights(rows: usize, weights: Option<&Array1<f64>>) -> Result<Array1<f64>> {
    let Some(weights) = weights else { return Ok(Array1::ones(rows)) };
    if weights.len() != rows {
        return Err(Error::shape("row weights", rows, weights.len()));
    }
    if let Some(row) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
        return Err(Error::Weight { row, value: weights[row] });
    }
    if weights.sum() <= 0.0 || weights.sum() > 1e100 {
        return Err(Error::Weight { row: 0, value: weights[0] });
    }
    Ok(weights.clone())
}
