//! Rows that count more than once, or less.

use std::sync::Arc;

use ndarray::Array1;

use super::{Data, Geometry};
use crate::error::{Error, Result};

/// Data with a weight for each row: a row of weight 2 counts as two equal rows.
///
/// ```
/// use efmca::{Em, model::Weighted};
/// use ndarray::{array, concatenate, Axis};
///
/// let y = array![[1.0, 7.0], [0.0, 9.0], [6.0, 2.0], [8.0, 1.0]];
/// let twice = concatenate![Axis(0), y, y];
/// let em = Em::new(2).family("poisson").iterations(5);
/// let weighted = em.run(&Weighted::new(&y, array![2.0, 2.0, 2.0, 2.0])?)?;
/// assert!((weighted.bound - em.run(&twice)?.bound).abs() < 1e-9);
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Clone)]
pub struct Weighted<'a> {
    data: &'a dyn Data,
    weights: Array1<f64>,
}

impl<'a> Weighted<'a> {
    /// Gives each row of `data` its weight.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] if there is not one weight for each row, and [`Error::Weight`] if a weight is negative or not finite,
    /// or if their sum is not between 1e-100 and 1e100: shares of such weights would be lost.
    pub fn new(data: &'a dyn Data, weights: Array1<f64>) -> Result<Weighted<'a>> {
        if weights.len() != data.n() {
            return Err(Error::shape("row weights", data.n(), weights.len()));
        }
        if let Some(row) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
            return Err(Error::Weight { row, value: weights[row] });
        }
        let sum = weights.sum();
        if !weights.is_empty() && !(1e-100..=1e100).contains(&sum) {
            return Err(Error::Weight { row: 0, value: weights[0] });
        }
        Ok(Weighted { data, weights })
    }
}

impl Data for Weighted<'_> {
    fn n(&self) -> usize {
        self.data.n()
    }

    fn d(&self) -> usize {
        self.data.d()
    }

    fn read_row(&self, n: usize, y: &mut [f64]) {
        self.data.read_row(n, y);
    }

    fn geometry(&self) -> Option<Geometry> {
        self.data.geometry()
    }

    fn weights(&self) -> Option<&Array1<f64>> {
        Some(&self.weights)
    }

    fn outside(&self) -> Option<Arc<dyn Data + Send>> {
        self.data.outside()
    }

    fn check_unchanged(&self) -> Result<()> {
        self.data.check_unchanged()
    }

    fn non_zeros(&self, n: usize) -> Option<(&[u32], &[f64])> {
        self.data.non_zeros(n)
    }
}
