//! The variance of the noise as a function of the mean.

use ndarray::ArrayView4;

use crate::family::{Family, Measure, Member, Members, expectation};

/// Points of a curve that is known from the family.
const POINTS: usize = 65;
/// Groups of pixels of equal brightness whose noise is measured together, and the fewest pixels in one.
const GROUPS: usize = 64;
const SMALLEST_GROUP: usize = 100;

/// The variance of the noise as a function of the mean: a line through points, constant beyond its ends.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NoiseCurve {
    /// Means in ascending order, each with a variance.
    points: Vec<(f64, f64)>,
}

impl NoiseCurve {
    /// The curve of a family whose noise is fixed by its mean, such as Poisson; `None` for others.
    pub(super) fn known(family: &dyn Family, low: f64, high: f64) -> Option<NoiseCurve> {
        let members = Members::new(family, None).ok()?;
        let variance = |mean: f64| match members.with_mean(mean).ok()? {
            Member::Constant(_) => Some(0.0),
            Member::Natural(eta) => Some(expectation(family, &eta, |y| (family.score(y) - mean).powi(2)))
                .filter(|variance| variance.is_finite()),
        };
        let support = family.support();
        // beyond some 10^12 counts the probabilities of single ones have no digits
        let has_digits = |mean: f64| match members.with_mean(mean) {
            Ok(Member::Natural(eta)) => (expectation(family, &eta, |_| 1.0) - 1.0).abs() < 0.01,
            _ => true,
        };
        if support.measure == Measure::Counting && !has_digits(high) {
            return None;
        }
        let inside = |mean: f64| mean.clamp(support.low.max(-f64::MAX), support.high.min(f64::MAX));
        let mean = |k: usize| inside(low + (high - low) * k as f64 / (POINTS - 1) as f64);
        // the ends of the support have no member in some families
        let points: Vec<(f64, f64)> = (0..POINTS).filter_map(|k| Some((mean(k), variance(mean(k))?))).collect();
        (points.len() > POINTS / 2).then_some(NoiseCurve { points })
    }

    /// The curve that residuals show: the mean squared residual of pixels of the same brightness.
    pub(super) fn measured(noisy: ArrayView4<'_, f64>, estimate: ArrayView4<'_, f64>) -> NoiseCurve {
        let mut pixels: Vec<(f64, f64)> = noisy
            .iter()
            .zip(estimate.iter())
            .map(|(y, m)| (*m, (y - m).powi(2)))
            .filter(|(m, square)| m.is_finite() && square.is_finite())
            .collect();
        pixels.sort_by(|a, b| a.0.total_cmp(&b.0));
        let size = pixels.len().div_ceil(GROUPS).max(SMALLEST_GROUP);
        let groups: Vec<[f64; 2]> = pixels
            .chunks(size)
            .map(|group| {
                let sums = group.iter().fold([0.0; 2], |sums, (m, square)| [sums[0] + m, sums[1] + square]);
                sums.map(|sum| sum / group.len() as f64)
            })
            .collect();
        let smooth = |at: usize| {
            let (mut sum, mut weight) = (0.0, 0.0);
            for (other, [_, square]) in groups.iter().enumerate() {
                let near = (-0.5 * (at.abs_diff(other) as f64 / 1.5).powi(2)).exp();
                (sum, weight) = (sum + near * square, weight + near);
            }
            sum / weight
        };
        NoiseCurve { points: groups.iter().enumerate().map(|(at, group)| (group[0], smooth(at))).collect() }
    }

    /// The variance of noise around `mean`; 1 if nothing is known.
    pub(super) fn at(&self, mean: f64) -> f64 {
        let after = self.points.partition_point(|point| point.0 < mean);
        match (after.checked_sub(1).map(|before| self.points[before]), self.points.get(after)) {
            (Some(low), Some(high)) => {
                let share = ((mean - low.0) / (high.0 - low.0)).clamp(0.0, 1.0);
                low.1 + share * (high.1 - low.1)
            }
            (Some(end), None) => end.1,
            (None, Some(end)) => end.1,
            (None, None) => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::family;
    use ndarray::Array4;

    #[test]
    fn families_whose_mean_fixes_the_noise_have_a_curve() {
        for (spec, variance) in [
            ("poisson", (|m| m) as fn(f64) -> f64),
            ("exponential", |m| m * m),
            ("gamma:k=4", |m| m * m / 4.0),
            ("gaussian:var=25", |_| 25.0),
            ("binomial:n=10", |m| m * (1.0 - m / 10.0)),
        ] {
            let curve = NoiseCurve::known(&*family(spec).unwrap(), 0.0, 8.0).unwrap();
            for mean in [1.0, 2.5, 7.9] {
                let (found, expected) = (curve.at(mean), variance(mean));
                assert!((found - expected).abs() < 0.01 * expected, "{spec}: {found} instead of {expected}");
            }
        }
        assert_eq!(NoiseCurve::known(&*family("gaussian").unwrap(), 0.0, 1.0), None);
    }

    #[test]
    fn residuals_show_the_curve() {
        let mean = Array4::from_shape_fn((1, 100, 100, 1), |(_, y, _, _)| 1.0 + y as f64);
        // two values with the variance of the mean
        let noisy = Array4::from_shape_fn(mean.dim(), |at| {
            mean[at] + (if at.2 % 2 == 0 { 1.0 } else { -1.0 }) * mean[at].sqrt()
        });
        let curve = NoiseCurve::measured(noisy.view(), mean.view());
        assert!((curve.at(50.0) - 50.0).abs() < 2.0, "{}", curve.at(50.0));
        let nothing = Array4::from_elem((1, 3, 3, 1), f64::NAN);
        assert_eq!(NoiseCurve::measured(nothing.view(), nothing.view()).at(3.0), 1.0);
    }
}
