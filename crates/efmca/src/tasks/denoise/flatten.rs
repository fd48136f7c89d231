//! Flat places of an estimate, made flat.

use ndarray::{ArrayView4, s};
use rayon::prelude::*;

use super::blend::{Blend, smallest_variance};
use super::blur::Blur;
use super::merge::Estimate;
use super::noise_curve::NoiseCurve;
use super::plane::Plane;
use crate::cancel;

/// How far a pixel sees others of its brightness, and the distance between those that it looks at, in pixels.
const REACH: usize = 18;
const APART: usize = 3;
/// Brightness is equal within this many standard deviations of the estimate.
const EQUAL: f64 = 1.5;
/// Standard deviation of the window in which the two are compared, in pixels.
const AROUND: f64 = 6.0;
/// How much the data must say before structure is kept: its squared size around a pixel, in units of the noise.
const KEPT: f64 = 1.0;
/// The share of the covariance of estimate and noise that counts against structure. All of it would be Stein's risk of leaving the
/// structure out; half of it keeps faint points and textures (0.1 to 0.3 dB on photographs that are not in the table), and flat
/// places are hardly less flat.
const AGAINST: f64 = 0.5;

impl Blend {
    /// The estimate with flat places flat. Noise that is left in an estimate is seen as blotches where the scene is flat. Each pixel is
    /// offered the average of those around it that are equally bright within its uncertainty; what is finer than that stays by as
    /// much as the noisy image confirms it, by Stein's estimate of the risk.
    pub(super) fn flattened(self, noisy: ArrayView4<'_, f64>, curve: &NoiseCurve) -> Estimate {
        let Blend { mut estimate, covariance } = self;
        let (pages, _, columns, channels) = noisy.dim();
        let blur = Blur::new(AROUND);
        let smallest = smallest_variance(&estimate, curve);
        for (page, channel) in (0..pages).flat_map(|page| (0..channels).map(move |channel| (page, channel))) {
            let at = s![page, .., .., channel];
            let (mean, covariance) = (Plane::of(estimate.mean.slice(at)), Plane::of(covariance.slice(at)));
            let average = mean.smoothed(&covariance);
            let noisy = noisy.slice(at);
            let (mut squares, mut gains) = (vec![0.0; mean.values.len()], vec![0.0; mean.values.len()]);
            for (pixel, y) in noisy.iter().enumerate() {
                let (m, b) = (mean.values[pixel], average.values[pixel]);
                let v = curve.at(b).max(smallest);
                let (square, gain) =
                    ((m - b).powi(2) / v, ((y - b) * (m - b) - AGAINST * covariance.values[pixel]) / v);
                if square.is_finite() && gain.is_finite() {
                    (squares[pixel], gains[pixel]) = (square, gain);
                }
            }
            blur.page(&mut squares, columns);
            blur.page(&mut gains, columns);
            let shares = squares.iter().zip(&gains).map(|(square, gain)| (gain / (square + KEPT)).clamp(0.0, 1.0));
            let values = shares.zip(mean.values.iter().zip(&average.values));
            mean.with(values.map(|(share, (m, b))| b + share * (m - b)).collect()).copy_to(estimate.mean.slice_mut(at));
        }
        estimate
    }
}

impl Plane {
    /// The average of pixels around each one that are equally bright within the noise that is left in them.
    pub(super) fn smoothed(&self, covariance: &Plane) -> Plane {
        let steps = (REACH / APART) as isize;
        let (rows, columns) = (self.rows as isize, self.columns as isize);
        let near: Vec<f64> =
            (0..=2 * steps * steps).map(|square| (-2.0 * square as f64 / (steps * steps) as f64).exp()).collect();
        let one = |pixel: usize| {
            if pixel.is_multiple_of(self.columns) {
                cancel::check();
            }
            let (y, x) = ((pixel / self.columns) as isize, (pixel % self.columns) as isize);
            let own = self.values[pixel];
            let width = (EQUAL * covariance.values[pixel].sqrt()).max(f64::MIN_POSITIVE);
            let (mut sum, mut weight) = (0.0, 0.0);
            for down in -steps..=steps {
                let row = y + down * APART as isize;
                if row < 0 || row >= rows {
                    continue;
                }
                for right in -steps..=steps {
                    let column = x + right * APART as isize;
                    if column < 0 || column >= columns {
                        continue;
                    }
                    let other = self.values[(row * columns + column) as usize];
                    let t = (other - own) / width;
                    // Tukey's biweight: what is further away than the width does not count
                    let alike = (1.0 - t * t).max(0.0);
                    let w = near[(down * down + right * right) as usize] * alike * alike;
                    (sum, weight) = (sum + w * other, weight + w);
                }
            }
            if weight > 0.0 { sum / weight } else { own }
        };
        self.with((0..self.values.len()).into_par_iter().map(one).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::family;
    use crate::tasks::corrupt::Corruption;
    use ndarray::Array4;

    #[test]
    fn blotches_go_and_edges_stay() {
        let poisson = family("poisson").unwrap();
        let clean = Array4::from_shape_fn((1, 60, 80, 1), |(_, _, x, _)| if x < 40 { 4.0 } else { 9.0 });
        let noisy = Corruption::new(&poisson).seed(1).run(clean.view()).unwrap().noisy;
        let curve = NoiseCurve::known(&*poisson, 0.0, 20.0).unwrap();
        // an estimate that follows the noise a little: a local average
        let mut mean = Plane::of(noisy.slice(s![0, .., .., 0])).blurred(2.0);
        for (value, clean) in mean.values.iter_mut().zip(&clean) {
            // the blur has no edge
            *value = clean + 0.7 * (*value - clean).clamp(-0.5, 0.5);
        }
        let mut estimate = Estimate { mean: clean.clone(), deviation: clean.mapv(|_| 0.3) };
        mean.copy_to(estimate.mean.slice_mut(s![0, .., .., 0]));
        let covariance = clean.mapv(|mean| 0.02 * mean);
        let error = |image: &Array4<f64>| (image - &clean).mapv(|e| e * e).mean().unwrap();
        let before = error(&estimate.mean);
        let flat = Blend { estimate, covariance }.flattened(noisy.view(), &curve);
        assert!(error(&flat.mean) < 0.5 * before, "{} instead of {before}", error(&flat.mean));
        let step = flat.mean[[0, 30, 45, 0]] - flat.mean[[0, 30, 34, 0]];
        assert!((step - 5.0).abs() < 0.6, "{step}");
    }

    #[test]
    fn missing_pixels_and_certain_estimates_are_left_alone() {
        let clean = Array4::from_shape_fn((2, 9, 7, 1), |(_, y, x, _)| (y + x) as f64);
        let estimate = Estimate { mean: clean.clone(), deviation: Array4::zeros(clean.dim()) };
        let curve = NoiseCurve::measured(clean.view(), clean.view());
        for noisy in [clean.clone(), clean.mapv(|_| f64::NAN)] {
            let blend = Blend { estimate: estimate.clone(), covariance: Array4::zeros(clean.dim()) };
            let mean = blend.flattened(noisy.view(), &curve).mean;
            assert!((&mean - &clean).iter().all(|difference| difference.abs() < 1e-12), "{mean}");
        }
    }
}
