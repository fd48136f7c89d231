//! Data as the method sees it: sufficient statistics.

use ndarray::{Array1, Array2};

use super::{Columns, Data, RowReader};
use crate::error::{Error, Result};

/// The sufficient statistics of a data set, checked once.
#[derive(Debug, Clone)]
pub struct Statistics {
    pub(crate) columns: Columns,
    /// $N \times K$: $T_l(y_d^{(n)})$, zero where $y$ is missing.
    pub(crate) t: Array2<f64>,
    /// $N \times D$: one where $y$ is present, zero where it is missing; `None` if nothing is missing.
    pub(crate) present: Option<Array2<f64>>,
    /// $\sum_d \log h(y_d^{(n)})$ over the values that are present.
    pub(crate) log_h: Array1<f64>,
    /// A weight for each row; one unless given.
    pub(crate) weights: Array1<f64>,
    /// The largest magnitude of each of the $K$ statistics.
    pub(crate) largest: Vec<f64>,
}

impl Statistics {
    /// Larger statistics overflow when they are squared or summed.
    pub(crate) const LARGEST: f64 = 1e140;

    /// Checks `y` ($N \times D$, NaN where missing) against the families and takes its statistics.
    ///
    /// A row with weight $k$ counts as $k$ equal rows.
    pub fn new(columns: &Columns, y: &dyn Data) -> Result<Statistics> {
        Statistics::of_rows(columns, y, &(0..y.n()).collect::<Vec<usize>>())
    }

    /// The same for some of the rows.
    pub(crate) fn of_rows(columns: &Columns, y: &dyn Data, chosen: &[usize]) -> Result<Statistics> {
        let rows = chosen.len();
        let reader = RowReader::new(columns, y)?;
        let mut t = Array2::zeros((rows, columns.k()));
        let mut log_h = Array1::zeros(rows);
        let mut here = vec![true; columns.d()];
        // made where the first value is missing: it takes as much room as the data
        let mut present: Option<Array2<f64>> = None;
        for (n, row) in chosen.iter().enumerate() {
            if let Some(t_row) = t.row_mut(n).as_slice_mut() {
                log_h[n] = reader.read(*row, t_row, &mut here)?;
            }
            for (d, _) in here.iter().enumerate().filter(|(_, here)| !**here) {
                present.get_or_insert_with(|| Array2::ones((rows, columns.d())))[[n, d]] = 0.0;
            }
        }
        let largest = t.columns().into_iter().map(|t| t.iter().fold(0.0, |max, t| f64::max(max, t.abs()))).collect();
        let weights =
            y.weights().map_or_else(|| Array1::ones(rows), |weights| chosen.iter().map(|n| weights[*n]).collect());
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

    /// The weight of the rows in which column `d` is present.
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

    /// $\vec T$ of a row, and which columns are present.
    pub(crate) fn row(&self, n: usize) -> (Vec<f64>, Vec<bool>) {
        let present = |d: usize| self.present.as_ref().is_none_or(|present| present[[n, d]] > 0.0);
        (self.t.row(n).to_vec(), (0..self.columns.d()).map(present).collect())
    }

    /// The rows that count.
    pub(crate) fn weighty_rows(&self) -> Vec<usize> {
        (0..self.n()).filter(|n| self.weights[*n] > 0.0).collect()
    }

    /// The weight of an average row, for what is measured in rows.
    pub(crate) fn mean_weight(&self) -> f64 {
        self.total_weight() / self.n() as f64
    }

    /// The weighted mean of $T$ over the values that are present, for each of the $K$ statistics: the M-step of a model
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
