//! Several estimates of one image, each where it is best.

use ndarray::{Array4, ArrayView4};

use super::blur::Blur;
use super::merge::Estimate;
use super::noise_curve::NoiseCurve;
use crate::cancel;
use crate::error::{Error, Result};

/// Standard deviation of the window, in pixels, in which estimates are compared with the noisy image.
const AROUND: f64 = 6.0;
/// The share of an estimate's own variance that is added to its risk: it has seen the noise that it is compared with, and follows it.
/// 1 would be a variance that is all due to the noise; the best value was 1.25 to 1.5 on six images at three peaks.
const FOLLOWS_NOISE: f64 = 1.4;
/// The variance of an estimate is not below this share of the noise.
const LEAST: f64 = 0.01;

impl Estimate {
    /// Puts several estimates of the same noisy image together: for each pixel mostly those that explain the pixels around
    /// it best. The standard deviation has that between them in it.
    ///
    /// With residuals $y - m$, variances $s^2$ of an estimate, and $v$, the variance of the noise, the risk around a pixel is
    /// $$ R = \sum_{\text{around}} \frac{\tfrac12 (y - m)^2 + c\, s^2}{v} $$
    /// (the second term stands for the covariance of $m$ and $y$ in Stein's unbiased estimate of the risk), and the estimate
    /// has a weight proportional to $e^{-R} / (s^2 + v/100)$. $v$ is measured: it is the mean of $(y - m)^2$ among pixels of
    /// equal brightness, so that nothing need be known of the family.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] if there is no estimate, [`Error::Shape`] if one has another size than the image.
    pub fn combine(noisy: ArrayView4<'_, f64>, estimates: &[Estimate]) -> Result<Estimate> {
        let Some(first) = estimates.first() else {
            return Err(Error::setting("estimates", "none", "give one at least"));
        };
        for shape in estimates.iter().flat_map(|estimate| [estimate.mean.shape(), estimate.deviation.shape()]) {
            if shape != noisy.shape() {
                let text = |shape: &[usize]| format!("{shape:?} (pages, rows, columns, channels)");
                return Err(Error::shape("estimate", text(noisy.shape()), text(shape)));
            }
        }
        if estimates.len() == 1 {
            return Ok(first.clone());
        }
        let mut average = first.mean.clone();
        estimates[1..].iter().for_each(|estimate| average += &estimate.mean);
        average /= estimates.len() as f64;
        let curve = NoiseCurve::measured(noisy, average.view());
        let variance = average.mapv(|mean| curve.at(mean));
        let risks: Vec<Array4<f64>> = estimates.iter().map(|estimate| risk(noisy, estimate, &variance)).collect();

        let mut mean = average;
        let mut deviation = first.deviation.clone();
        let mut weights = vec![0.0; estimates.len()];
        for (place, v) in variance.indexed_iter() {
            if place.2 == 0 {
                cancel::check();
            }
            let least = risks.iter().map(|risk| risk[place]).fold(f64::INFINITY, f64::min);
            for ((weight, risk), estimate) in weights.iter_mut().zip(&risks).zip(estimates) {
                let own = estimate.deviation[place].powi(2) + LEAST * v;
                *weight = (least - risk[place]).exp() / own.max(f64::MIN_POSITIVE);
            }
            let total: f64 = weights.iter().sum();
            // without noise there is nothing to choose by
            if !(total.is_finite() && total > 0.0) {
                weights.fill(1.0);
            }
            let total: f64 = weights.iter().sum();
            let sum = |of: &dyn Fn(&Estimate) -> f64| {
                weights.iter().zip(estimates).map(|(weight, estimate)| weight * of(estimate)).sum::<f64>() / total
            };
            let m = sum(&|estimate| estimate.mean[place]);
            let square = |estimate: &Estimate| estimate.deviation[place].powi(2) + (estimate.mean[place] - m).powi(2);
            mean[place] = m;
            deviation[place] = sum(&square).sqrt();
        }
        Ok(Estimate { mean, deviation })
    }
}

/// The risk of an estimate around each pixel, in which missing pixels count nothing.
fn risk(noisy: ArrayView4<'_, f64>, estimate: &Estimate, variance: &Array4<f64>) -> Array4<f64> {
    let blur = Blur::new(AROUND);
    // the window has the noise of this many pixels: (sum of weights)² / sum of squared weights
    let pixels = 4.0 * std::f64::consts::PI * AROUND * AROUND;
    let (pages, rows, columns, channels) = noisy.dim();
    let mut risk = Array4::zeros(noisy.dim());
    let (mut sums, mut present) = (vec![0.0; rows * columns], vec![0.0; rows * columns]);
    for (page, channel) in (0..pages).flat_map(|page| (0..channels).map(move |channel| (page, channel))) {
        for (at, (sum, present)) in sums.iter_mut().zip(&mut present).enumerate() {
            let place = (page, at / columns, at % columns, channel);
            let (residual, s) = (noisy[place] - estimate.mean[place], estimate.deviation[place]);
            let one = (0.5 * residual * residual + FOLLOWS_NOISE * s * s) / variance[place];
            (*sum, *present) = if one.is_finite() { (one, 1.0) } else { (0.0, 0.0) };
        }
        blur.page(&mut sums, columns);
        blur.page(&mut present, columns);
        for (at, (sum, present)) in sums.iter().zip(&present).enumerate() {
            let place = (page, at / columns, at % columns, channel);
            risk[place] = if *present > 1e-6 { pixels * sum / present } else { 0.0 };
        }
    }
    risk
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    fn error(estimate: &Array4<f64>, truth: &Array4<f64>) -> f64 {
        (estimate - truth).mapv(|e| e * e).mean().unwrap_or(f64::NAN).sqrt()
    }

    /// A flat image with noise of standard deviation 2, and an estimate that is wrong by 1 where `wrong` says so.
    fn noisy_and(wrong: impl Fn(usize) -> bool + Copy) -> (Array4<f64>, Array4<f64>, Estimate) {
        let truth = Array4::from_elem((1, 40, 80, 1), 10.0);
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        let noisy = truth.mapv(|value| value + 4.0 * 3f64.sqrt() * (random.random::<f64>() - 0.5));
        let mean = Array4::from_shape_fn(truth.dim(), |(_, _, x, _)| if wrong(x) { 11.0 } else { 10.0 });
        let deviation = Array4::from_elem(truth.dim(), 0.1);
        (truth, noisy, Estimate { mean, deviation })
    }

    #[test]
    fn each_estimate_is_taken_where_it_is_right() {
        let (truth, mut noisy, left) = noisy_and(|x| x < 40);
        let (_, _, right) = noisy_and(|x| x >= 40);
        let both = Estimate::combine(noisy.view(), &[left.clone(), right.clone()]).unwrap();
        assert!(error(&both.mean, &truth) < 0.15, "{}", error(&both.mean, &truth));
        // also where pixels are missing
        noisy.slice_mut(ndarray::s![.., ..;3, ..;2, ..]).fill(f64::NAN);
        let both = Estimate::combine(noisy.view(), &[left.clone(), right]).unwrap();
        assert!(error(&both.mean, &truth) < 0.2, "{}", error(&both.mean, &truth));
        // and the deviation has the difference between the estimates in it
        assert!(both.deviation.iter().all(|value| *value >= 0.1 && *value < 0.6));
        assert_eq!(Estimate::combine(noisy.view(), std::slice::from_ref(&left)).unwrap().mean, left.mean);
        assert!(matches!(Estimate::combine(noisy.view(), &[]), Err(Error::Setting { .. })));
        let small = Estimate { mean: Array4::zeros((1, 2, 2, 1)), deviation: Array4::zeros((1, 2, 2, 1)) };
        assert!(matches!(Estimate::combine(noisy.view(), &[left, small]), Err(Error::Shape { .. })));
    }

    #[test]
    fn an_estimate_that_follows_the_noise_is_not_preferred() {
        let (truth, noisy, good) = noisy_and(|_| false);
        let mean = (&good.mean + &noisy) / 2.0;
        let follower = Estimate { mean, deviation: Array4::from_elem(truth.dim(), 1.0) };
        let both = Estimate::combine(noisy.view(), &[follower, good]).unwrap();
        assert!(error(&both.mean, &truth) < 0.05, "{}", error(&both.mean, &truth));
    }

    #[test]
    fn images_without_noise_or_without_pixels_have_an_estimate() {
        let same = Estimate { mean: Array4::ones((1, 4, 4, 1)), deviation: Array4::zeros((1, 4, 4, 1)) };
        let ones = Array4::ones((1, 4, 4, 1));
        let none = Array4::from_elem((1, 4, 4, 1), f64::NAN);
        for noisy in [ones, none] {
            let both = Estimate::combine(noisy.view(), &[same.clone(), same.clone()]).unwrap();
            assert_eq!(both.mean, same.mean);
            assert!(both.deviation.iter().all(|value| *value == 0.0));
        }
    }
}
