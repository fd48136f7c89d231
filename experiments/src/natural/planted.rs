//! Fields with known answers, for the tests.

use std::f64::consts::TAU;

use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::gabor::Gabor;

/// A picture of a function of (x, y).
pub(super) fn picture(rows: usize, columns: usize, at: impl Fn(f64, f64) -> f64) -> Array2<f64> {
    Array2::from_shape_fn((rows, columns), |(row, column)| at(column as f64, row as f64))
}

/// A Gabor function from (x, y, theta, frequency, width, length, amplitude, phase).
pub(super) fn gabor([x, y, theta, frequency, width, length, amplitude, phase]: [f64; 8]) -> Gabor {
    Gabor { x, y, theta, frequency, width, length, amplitude, phase, r2: 1.0, at_bound: false }
}

/// Pictures of noise.
pub(super) struct Noise(ChaCha8Rng);

impl Noise {
    pub(super) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    fn normal(&mut self) -> f64 {
        let (a, b): (f64, f64) = (self.0.random(), self.0.random());
        (-2.0 * (1.0 - a).ln()).sqrt() * (TAU * b).cos()
    }

    /// Independent values with variance one.
    pub(super) fn white(&mut self, rows: usize, columns: usize) -> Array2<f64> {
        Array2::from_shape_fn((rows, columns), |_| self.normal())
    }

    /// White noise under a Gaussian blur of this width, cut from a picture large enough that its edges do not show.
    pub(super) fn low_pass(&mut self, rows: usize, columns: usize, width: f64) -> Array2<f64> {
        let reach = (4.0 * width).ceil() as usize;
        let white = self.white(rows + 2 * reach, columns + 2 * reach);
        Array2::from_shape_fn((rows, columns), |(row, column)| {
            let window = white.slice(ndarray::s![row..=row + 2 * reach, column..=column + 2 * reach]);
            let weight = |at: usize| (-0.5 * ((at as f64 - reach as f64) / width).powi(2)).exp();
            window.indexed_iter().map(|((a, b), value)| weight(a) * weight(b) * value).sum()
        })
    }
}
