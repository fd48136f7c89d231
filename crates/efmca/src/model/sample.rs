//! Drawing data from a model.

use std::ops::Range;

use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::superpose::w_bar;
use super::{Model, Tables};

/// Data drawn from a model, with the states that made it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// $N \times D$ observations.
    pub y: Array2<f64>,
    /// $N \times H$, one where the cause was active.
    pub s: Array2<f64>,
}

impl Model {
    /// Draws `n` rows from Eqns. 8-10. A row depends on the seed and its own number only.
    pub fn sample(&self, n: usize, seed: u64) -> Sample {
        self.sample_rows(0..n, seed)
    }

    /// The rows with these numbers of all that the seed gives: what [`Model::sample`] draws can be drawn piece by piece.
    pub fn sample_rows(&self, rows: Range<usize>, seed: u64) -> Sample {
        let mut y = Array2::zeros((rows.len(), self.d()));
        let mut s = Array2::zeros((rows.len(), self.h()));
        let tables = Tables::new(self);
        let mut eta = vec![0.0; self.columns.l_max()];
        for (row, number) in rows.enumerate() {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(number as u64);
            for (h, pi) in self.pi.iter().enumerate() {
                s[[row, h]] = f64::from(u8::from(rng.random::<f64>() < *pi));
            }
            let active: Vec<usize> = (0..self.h()).filter(|h| s[[row, *h]] > 0.0).collect();
            let w = w_bar(self, &tables, &active);
            for (d, family, span) in self.columns.iter() {
                let eta = &mut eta[..span.len()];
                family.phi(&w[span], eta);
                y[[row, d]] = family.sample(eta, &mut rng);
            }
        }
        Sample { y, s }
    }

    /// Rows as those that the model was learned from were written down: each value rounded to the step of its column.
    pub fn rounded(&self, mut rows: Array2<f64>) -> Array2<f64> {
        for (d, resolution) in self.columns.resolutions().iter().enumerate().take(rows.ncols()) {
            rows.column_mut(d).mapv_inplace(|value| resolution.rounded(value));
        }
        rows
    }
}
