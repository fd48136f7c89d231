//! The weights of several estimates, by how well they predict data that they have not seen.

use super::blur::Blur;
use super::plane::Plane;

/// How much the data must say before the weights of the plane leave an even share, and before those of a region leave the ones of the
/// plane: the squared difference of two estimates, in units of the noise of the data that were left out. 2 to 16, and 8 to 32, are equal
/// to 0.03 dB on photographs that are not in the table of results.
const EVEN: f64 = 4.0;
const ALIKE: f64 = 32.0;
/// Rows and columns of a cell of pixels that have the same weights before these are interpolated, and the standard deviation of the
/// window in which data are added up, in pixels.
const CELL: usize = 8;
const AROUND: f64 = 24.0;
/// The search for weights ends when none moves by more than this in a sweep, and after this many sweeps.
const ACCURACY: f64 = 1e-6;
const SWEEPS: usize = 500;

/// Data that were left out, with several estimates of their means by the rest of the data.
///
/// The weights $w$, which are not negative and sum to one, minimise
/// $$ \sum_d \frac{(y_d - \sum_k w_k m_{kd})^2}{v_d} + \lambda \sum_k (w_k - u_k)^2 $$
/// The estimates have not seen $y$, so that one that has learned noise has no advantage here, whatever it is made of. Sums are over the
/// plane first, with $u_k = 1/K$, and then around each place, with the weights of the plane as those to expect.
pub(super) struct LeftOut<'a> {
    /// The values, NaN where a pixel is missing.
    pub(super) values: &'a Plane,
    /// The variance of their noise.
    pub(super) variance: &'a [f64],
    pub(super) estimates: &'a [&'a Plane],
}

impl LeftOut<'_> {
    /// The weights of each estimate at all pixels.
    pub(super) fn weights(&self) -> Vec<Plane> {
        let Plane { rows, columns, .. } = *self.values;
        let k = self.estimates.len();
        let (down, across) = (rows.div_ceil(CELL), columns.div_ceil(CELL));
        let mut sums = self.sums(down, across);
        let plane: Vec<f64> = sums.iter().map(|cells| cells.iter().sum()).collect();
        let everywhere = on_the_simplex(&plane, k, EVEN, &vec![1.0 / k as f64; k]);
        let window = Blur::new(AROUND / CELL as f64);
        sums.iter_mut().for_each(|cells| window.page(cells, across));
        let mut weights = vec![vec![0.0; down * across]; k];
        for cell in 0..down * across {
            let here: Vec<f64> = sums.iter().map(|cells| cells[cell]).collect();
            for (weights, weight) in weights.iter_mut().zip(on_the_simplex(&here, k, ALIKE, &everywhere)) {
                weights[cell] = weight;
            }
        }
        let pixels = |values: Vec<f64>| Plane { rows: down, columns: across, values }.interpolated(CELL, rows, columns);
        let mut weights: Vec<Plane> = weights.into_iter().map(pixels).collect();
        // cubic interpolation overshoots
        for pixel in 0..rows * columns {
            let sum: f64 = weights.iter().map(|plane| plane.values[pixel].max(0.0)).sum();
            weights.iter_mut().for_each(|plane| plane.values[pixel] = plane.values[pixel].max(0.0) / sum);
        }
        weights
    }

    /// Sums over the pixels of each cell: products of two estimates, row by row, and then of each one with the data.
    fn sums(&self, down: usize, across: usize) -> Vec<Vec<f64>> {
        let k = self.estimates.len();
        let mut sums = vec![vec![0.0; down * across]; k * k + k];
        let mut differences = vec![0.0; k];
        for (pixel, (value, variance)) in self.values.values.iter().zip(self.variance).enumerate() {
            // differences to the first estimate, because weights sum to one
            let first = self.estimates[0].values[pixel];
            for (difference, estimate) in differences.iter_mut().zip(self.estimates) {
                *difference = estimate.values[pixel] - first;
            }
            let residual = value - first;
            if !(residual.is_finite() && *variance > 0.0 && differences.iter().all(|value| value.is_finite())) {
                continue;
            }
            let columns = self.values.columns;
            let cell = pixel / columns / CELL * across + pixel % columns / CELL;
            for (i, a) in differences.iter().enumerate() {
                for (j, b) in differences.iter().enumerate() {
                    sums[i * k + j][cell] += a * b / variance;
                }
                sums[k * k + i][cell] += a * residual / variance;
            }
        }
        sums
    }
}

/// The weights that minimise $w^T A w - 2 b^T w + \lambda |w - u|^2$, not negative and with sum one: two at a time move by what is best
/// for both. `sums` are $A$, $k$ by $k$, and then $b$.
fn on_the_simplex(sums: &[f64], k: usize, lambda: f64, expected: &[f64]) -> Vec<f64> {
    let (a, b) = sums.split_at(k * k);
    let mut weights = expected.to_vec();
    // half of the gradient, kept up to date
    let mut slopes: Vec<f64> = (0..k)
        .map(|i| a[i * k..][..k].iter().zip(&weights).map(|(a, weight)| a * weight).sum::<f64>() - b[i])
        .collect();
    for _ in 0..SWEEPS {
        let mut largest = 0.0f64;
        for i in 0..k {
            for j in 0..i {
                let curvature = a[i * k + i] + a[j * k + j] - 2.0 * a[i * k + j] + 2.0 * lambda;
                let step = ((slopes[j] - slopes[i]) / curvature).clamp(-weights[i], weights[j]);
                if step == 0.0 {
                    continue;
                }
                weights[i] += step;
                weights[j] -= step;
                let (of_i, of_j) = (&a[i * k..][..k], &a[j * k..][..k]);
                slopes.iter_mut().zip(of_i.iter().zip(of_j)).for_each(|(slope, (i, j))| *slope += step * (i - j));
                slopes[i] += lambda * step;
                slopes[j] -= lambda * step;
                largest = largest.max(step.abs());
            }
        }
        if largest < ACCURACY {
            break;
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    fn plane(values: Vec<f64>) -> Plane {
        Plane { rows: values.len() / 200, columns: 200, values }
    }

    #[test]
    fn weights_are_those_of_the_least_error() {
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        let mut noise = |size: f64| -> Vec<f64> {
            (0..40_000).map(|_| size * 12f64.sqrt() * (random.random::<f64>() - 0.5)).collect()
        };
        let truth = noise(3.0);
        let add = |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a + b).collect() };
        // errors of variance 1 and 4 that are independent: weights 0.8 and 0.2; the third is the second with more noise
        let (good, poor) = (add(&truth, &noise(1.0)), add(&truth, &noise(2.0)));
        let poorer = add(&poor, &noise(3.0));
        // and on the left the first one is wrong
        let good: Vec<f64> =
            good.iter().enumerate().map(|(at, value)| if at % 200 < 60 { value + 9.0 } else { *value }).collect();
        let mut values = add(&truth, &noise(2.0));
        values[7] = f64::NAN;
        let variance = vec![4.0; values.len()];
        let [values, good, poor, poorer] = [values, good, poor, poorer].map(plane);
        let weights = LeftOut { values: &values, variance: &variance, estimates: &[&good, &poor, &poorer] }.weights();
        let (left, right) = (100 * 200 + 8, 100 * 200 + 190);
        for at in [left, right] {
            assert!((weights.iter().map(|weights| weights.values[at]).sum::<f64>() - 1.0).abs() < 1e-9);
        }
        let at = |place: usize| weights.iter().map(|weights| weights.values[place]).collect::<Vec<f64>>();
        assert!((at(right)[0] - 0.8).abs() < 0.05 && at(right)[2] < 0.05, "{:?}", at(right));
        assert!(at(left)[0] < 0.05 && at(left)[1] > 0.8, "{:?}", at(left));
    }

    #[test]
    fn equal_estimates_and_missing_data_give_even_weights() {
        let (one, other) = (plane(vec![1.0; 600]), plane((0..600).map(|at| 1.0 + f64::from(at % 7)).collect()));
        let of = |value: f64, variance: f64, estimates: &[&Plane]| {
            LeftOut { values: &one.map(|_| value), variance: &[variance; 600], estimates }.weights()
        };
        for weights in [
            of(2.0, 1.0, &[&one, &one, &one, &one]),
            of(f64::NAN, 1.0, &[&one, &other, &one, &other]),
            of(2.0, 0.0, &[&one, &other, &one, &other]),
        ] {
            let even = |weight: &f64| (weight - 0.25).abs() < 1e-9;
            assert!(weights.iter().all(|weights| weights.values.iter().all(even)));
        }
    }
}
