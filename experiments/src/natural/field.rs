//! A field as the fits see it: its pixels on a scale of their own, and where its energy is.

use ndarray::ArrayView2;
use serde::Serialize;

/// Fewer rows or columns than this are not fitted: the forms have eight parameters.
pub(crate) const SMALLEST: usize = 5;

/// Why nothing is fitted to a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Unfit {
    /// All values are the same, up to rounding.
    Flat,
    /// A side is shorter than [`SMALLEST`].
    Small,
    /// A value is not finite.
    NotFinite,
}

/// A field that forms can be fitted to.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    values: Vec<f64>,
    /// All pixels as (x, y, value), row by row: a list, because the fits go through it thousands of times.
    pub(super) pixels: Vec<(f64, f64, f64)>,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// The largest magnitude of the field: all values are divided by it, so that squares neither vanish nor overflow.
    pub(super) scale: f64,
    pub(super) mean: f64,
    /// The sum of the squares.
    pub(super) about_zero: f64,
    /// The sum of the squared differences from the mean.
    pub(super) about_mean: f64,
}

impl Field {
    pub(crate) fn new(field: ArrayView2<f64>) -> Result<Self, Unfit> {
        let (rows, columns) = field.dim();
        if rows.min(columns) < SMALLEST {
            return Err(Unfit::Small);
        }
        if field.iter().any(|value| !value.is_finite()) {
            return Err(Unfit::NotFinite);
        }
        let scale = field.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        if scale == 0.0 {
            return Err(Unfit::Flat);
        }
        let values: Vec<f64> = field.iter().map(|value| value / scale).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let about_zero: f64 = values.iter().map(|value| value * value).sum();
        let about_mean: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        if about_mean <= 1e-20 * about_zero {
            return Err(Unfit::Flat);
        }
        let at = |pixel: usize| ((pixel % columns) as f64, (pixel / columns) as f64);
        let pixels = values.iter().enumerate().map(|(pixel, value)| (at(pixel).0, at(pixel).1, *value)).collect();
        Ok(Self { values, pixels, rows, columns, scale, mean, about_zero, about_mean })
    }

    /// The longer side.
    pub(super) fn side(&self) -> f64 {
        self.rows.max(self.columns) as f64
    }

    pub(super) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    /// ```math
    /// R^2 = 1 - \frac{\sum_d (w_d - g_d)^2}{\sum_d (w_d - \bar{w})^2}
    /// ```
    ///
    /// The sum of squares is that about the mean of the field although the forms have no offset. It is the usual one, and the
    /// stricter one: about zero, a wide Gaussian would explain nearly all of any field with a large mean. It can be negative.
    pub(super) fn r2(&self, sse: f64) -> f64 {
        1.0 - sse / self.about_mean
    }

    /// Places at which to look for a field: the two highest peaks of the blurred energy, and the centre of the energy.
    pub(super) fn centres(&self) -> [(f64, f64); 3] {
        let blurred = self.blurred_energy();
        let at = |pixel: usize| ((pixel % self.columns) as f64, (pixel / self.columns) as f64);
        let highest = |far: &dyn Fn(f64, f64) -> bool| {
            let pixels = (0..blurred.len()).filter(|pixel| far(at(*pixel).0, at(*pixel).1));
            pixels.max_by(|a, b| blurred[*a].total_cmp(&blurred[*b])).map(at)
        };
        let first = highest(&|_, _| true).unwrap_or_default();
        let apart = self.side() / 4.0;
        let second = highest(&|x, y| (x - first.0).hypot(y - first.1) >= apart).unwrap_or(first);
        let (mut x_sum, mut y_sum) = (0.0, 0.0);
        for (x, y, value) in &self.pixels {
            x_sum += x * value * value;
            y_sum += y * value * value;
        }
        [first, second, (x_sum / self.about_zero, y_sum / self.about_zero)]
    }

    /// The squares of the values under a Gaussian blur of a tenth of the side, at least of one pixel.
    fn blurred_energy(&self) -> Vec<f64> {
        let width = (self.side() / 10.0).max(1.0);
        let weights: Vec<f64> =
            (0..self.rows.max(self.columns)).map(|far| (-0.5 * (far as f64 / width).powi(2)).exp()).collect();
        let (rows, columns) = (self.rows, self.columns);
        let mut across = vec![0.0; rows * columns];
        for row in 0..rows {
            for column in 0..columns {
                let line = self.row(row).iter().enumerate();
                across[row * columns + column] = line.map(|(c, v)| weights[c.abs_diff(column)] * v * v).sum();
            }
        }
        let down = |row: usize, column: usize| (0..rows).map(move |r| (r * columns + column, r.abs_diff(row)));
        (0..rows * columns)
            .map(|pixel| down(pixel / columns, pixel % columns).map(|(at, far)| weights[far] * across[at]).sum())
            .collect()
    }
}

/// The share of the pixels of a picture of which `inside` holds at (x, y).
pub(super) fn share_of_pixels(rows: usize, columns: usize, inside: impl Fn(f64, f64) -> bool) -> f64 {
    let count = (0..rows * columns).filter(|at| inside((at % columns) as f64, (at / columns) as f64)).count();
    count as f64 / (rows * columns).max(1) as f64
}
