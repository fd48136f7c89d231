//! Two estimates of an image, each where it has the lower risk.

use ndarray::{Array4, ArrayView4, s};

use super::blur::Blur;
use super::merge::Estimate;
use super::noise_curve::NoiseCurve;

/// Standard deviation of the window in which estimates are compared, in pixels.
const AROUND: f64 = 6.0;
/// How much the data must say before the weights leave one half: the squared difference of the estimates around a pixel, in units of
/// the noise.
const EVEN: f64 = 32.0;

/// Two estimates in one.
pub(super) struct Blend {
    pub(super) estimate: Estimate,
    /// Its covariance with the noise of each pixel.
    pub(super) covariance: Array4<f64>,
}

impl Estimate {
    /// Puts this estimate and another one together. Around a pixel, the share $\alpha$ of this one minimises Stein's estimate of the
    /// risk of $\alpha a + (1 - \alpha) b$,
    /// $$ \sum_{\text{around}} \frac{(y - b - \alpha (a - b))^2 + 2 \alpha (c_a - c_b)}{v} + \lambda (\alpha - \tfrac12)^2 , $$
    /// where $v$ is the variance of the noise, and $c$ the covariance of an estimate with it; here the square of its deviation.
    pub(super) fn blended_with(&self, other: &Estimate, noisy: ArrayView4<'_, f64>, curve: &NoiseCurve) -> Blend {
        let (pages, rows, columns, channels) = noisy.dim();
        let blur = Blur::new(AROUND);
        let (mut blended, mut covariance) = (self.clone(), Array4::zeros(noisy.dim()));
        let smallest = smallest_variance(self, curve);
        let (mut squares, mut gains) = (vec![0.0; rows * columns], vec![0.0; rows * columns]);
        for (page, channel) in (0..pages).flat_map(|page| (0..channels).map(move |channel| (page, channel))) {
            let at = s![page, .., .., channel];
            let (a, b, y) = (self.mean.slice(at), other.mean.slice(at), noisy.slice(at));
            let (own, others) = (self.deviation.slice(at), other.deviation.slice(at));
            for (pixel, (square, gain)) in squares.iter_mut().zip(&mut gains).enumerate() {
                let place = [pixel / columns, pixel % columns];
                let difference = a[place] - b[place];
                let v = curve.at(0.5 * (a[place] + b[place])).max(smallest);
                let covariance = own[place].powi(2) - others[place].powi(2);
                *square = difference * difference / v;
                *gain = ((y[place] - b[place]) * difference - covariance) / v;
                // where a pixel is missing there is nothing to compare with
                if !(square.is_finite() && gain.is_finite()) {
                    (*square, *gain) = (0.0, 0.0);
                }
            }
            blur.page(&mut squares, columns);
            blur.page(&mut gains, columns);
            for (pixel, (square, gain)) in squares.iter().zip(&gains).enumerate() {
                let place = [pixel / columns, pixel % columns];
                let share = ((gain + 0.5 * EVEN) / (square + EVEN)).clamp(0.0, 1.0);
                let mean = share * a[place] + (1.0 - share) * b[place];
                let spread = |m: f64, deviation: f64| deviation * deviation + (m - mean).powi(2);
                let variance = share * spread(a[place], own[place]) + (1.0 - share) * spread(b[place], others[place]);
                let shared = share * own[place].powi(2) + (1.0 - share) * others[place].powi(2);
                let place = (page, place[0], place[1], channel);
                (blended.mean[place], blended.deviation[place]) = (mean, variance.sqrt());
                covariance[place] = shared;
            }
        }
        Blend { estimate: blended, covariance }
    }
}

/// The smallest variance of noise to divide by: a fiftieth of the average one.
pub(super) fn smallest_variance(estimate: &Estimate, curve: &NoiseCurve) -> f64 {
    let sum: f64 = estimate.mean.iter().map(|mean| curve.at(*mean)).filter(|variance| variance.is_finite()).sum();
    (0.02 * sum / estimate.mean.len() as f64).max(f64::MIN_POSITIVE)
}

/// An image with `fill` where pixels are missing.
pub(super) fn filled(noisy: ArrayView4<'_, f64>, fill: &Array4<f64>) -> Array4<f64> {
    let mut filled = noisy.to_owned();
    filled.zip_mut_with(fill, |value, fill| *value = if value.is_nan() { *fill } else { *value });
    filled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::family;
    use crate::tasks::corrupt::Corruption;

    fn flat(mean: impl Fn(usize) -> f64) -> Estimate {
        let mean = Array4::from_shape_fn((1, 60, 120, 1), |(_, _, x, _)| mean(x));
        Estimate { deviation: mean.mapv(|_| 0.01), mean }
    }

    #[test]
    fn each_estimate_is_taken_where_it_is_right() {
        let poisson = family("poisson").unwrap();
        let clean = Array4::from_elem((1, 60, 120, 1), 4.0);
        let noisy = Corruption::new(&poisson).seed(1).run(clean.view()).unwrap().noisy;
        let curve = NoiseCurve::known(&*poisson, 0.0, 10.0).unwrap();
        let left = flat(|x| if x < 60 { 4.0 } else { 6.0 });
        let right = flat(|x| if x >= 60 { 4.0 } else { 2.5 });
        let both = left.blended_with(&right, noisy.view(), &curve).estimate;
        let error = |x: usize| (both.mean[[0, 30, x, 0]] - 4.0).abs();
        assert!(error(20) < 0.3 && error(100) < 0.3, "{} {}", error(20), error(100));
        // the deviation has the difference between the two in it, and missing pixels change nothing
        assert!(both.deviation.iter().all(|deviation| *deviation >= 0.01));
        let none = noisy.mapv(|_| f64::NAN);
        let even = left.blended_with(&right, none.view(), &curve).estimate;
        assert!((even.mean[[0, 3, 3, 0]] - 3.25).abs() < 1e-12);
        assert_eq!(filled(none.view(), &left.mean), left.mean);
    }
}
