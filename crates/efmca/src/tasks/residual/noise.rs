//! The variance that the noise has at each mean.

use crate::family::{Family, Member, Members, expectation};

/// Means at which the variance of a family is worked out: so many of equal steps, and as many that are equally frequent.
const NODES: usize = 48;
/// Groups of pixels of the same brightness, and the least number of pixels in one.
const GROUPS: usize = 32;
const SMALLEST_GROUP: usize = 50;

/// What is known of the noise at a mean.
pub(super) enum Noise<'a> {
    /// The mean fixes it.
    Known(Members<'a>),
    /// It has a spread of its own, which is measured.
    Spread(&'a dyn Family),
    /// More than a mean and a spread is needed to draw from the family.
    Open,
}

impl<'a> Noise<'a> {
    pub(super) fn new(family: &'a dyn Family) -> Noise<'a> {
        match Members::new(family, None) {
            Ok(members) => Noise::Known(members),
            Err(_) if Members::new(family, Some(1.0)).is_ok() => Noise::Spread(family),
            Err(_) => Noise::Open,
        }
    }

    /// The member of the family with this mean and variance, if there is one; a variance that the family fixes is not
    /// looked at.
    pub(super) fn member(&self, mean: f64, variance: f64) -> Option<Member> {
        match self {
            Noise::Known(members) => members.with_mean(mean).ok(),
            Noise::Spread(family) => Members::new(*family, Some(variance.sqrt())).ok()?.with_mean(mean).ok(),
            Noise::Open => None,
        }
    }

    /// The variance as a curve over the mean where the family fixes it; `means` are sorted.
    pub(super) fn known_curve(&self, family: &dyn Family, means: &[f64]) -> Option<Curve> {
        let Noise::Known(members) = self else { return None };
        let (first, last) = (*means.first()?, *means.last()?);
        let steps = (0..=NODES).map(|step| first + (last - first) * step as f64 / NODES as f64);
        let frequent = (0..=NODES).map(|step| means[(means.len() - 1) * step / NODES]);
        let mut nodes: Vec<f64> = steps.chain(frequent).collect();
        nodes.sort_by(f64::total_cmp);
        nodes.dedup();
        let variance = |mean: f64| match members.with_mean(mean).ok()? {
            Member::Constant(_) => Some(0.0),
            Member::Natural(eta) => Some(expectation(family, &eta, |y| (y - mean).powi(2))),
        };
        let points = nodes.iter().filter_map(|mean| Some((*mean, variance(*mean).filter(|v| v.is_finite())?)));
        Curve::new(points.collect())
    }
}

/// Variances by mean: points in the order of the means, straight lines between them, constant beyond the ends.
#[derive(Debug)]
pub(super) struct Curve(Vec<(f64, f64)>);

impl Curve {
    fn new(points: Vec<(f64, f64)>) -> Option<Curve> {
        (!points.is_empty()).then_some(Curve(points))
    }

    /// The mean squared residual of pixels of the same brightness, from means and residuals.
    pub(super) fn measured(mut pixels: Vec<(f64, f64)>) -> Option<Curve> {
        pixels.sort_by(|a, b| a.0.total_cmp(&b.0));
        let size = pixels.len().div_ceil(GROUPS).max(SMALLEST_GROUP);
        let groups: Vec<[f64; 3]> = pixels
            .chunks(size)
            .map(|group| {
                let sum = |value: fn(&(f64, f64)) -> f64| group.iter().map(value).sum::<f64>();
                [group.len() as f64, sum(|pixel| pixel.0), sum(|pixel| pixel.1 * pixel.1)]
            })
            .collect();
        // each group with its neighbours, which count half
        let smooth = |at: usize| {
            let near = groups.iter().enumerate().filter(|(other, _)| at.abs_diff(*other) <= 1);
            let weigh = |other: usize| if other == at { 1.0 } else { 0.5 };
            let sums = near.fold([0.0; 2], |sums, (other, group)| {
                [sums[0] + weigh(other) * group[0], sums[1] + weigh(other) * group[2]]
            });
            sums[1] / sums[0]
        };
        Curve::new(groups.iter().enumerate().map(|(at, group)| (group[1] / group[0], smooth(at))).collect())
    }

    pub(super) fn at(&self, mean: f64) -> f64 {
        let after = self.0.partition_point(|point| point.0 < mean);
        match (after.checked_sub(1).and_then(|before| self.0.get(before)), self.0.get(after)) {
            (Some(low), Some(high)) => low.1 + (mean - low.0) / (high.0 - low.0) * (high.1 - low.1),
            (Some(end), None) | (None, Some(end)) => end.1,
            (None, None) => f64::NAN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::family;

    #[test]
    fn variances_are_those_of_the_family() {
        for (spec, variance) in [
            ("poisson", (|m| m) as fn(f64) -> f64),
            ("exponential", |m| m * m),
            ("gamma:k=4", |m| m * m / 4.0),
            ("gaussian:var=7", |_| 7.0),
            ("binomial:n=10", |m| m * (1.0 - m / 10.0)),
        ] {
            let family = family(spec).unwrap();
            let means: Vec<f64> = (0..500).map(|i| 0.2 + 9.0 * (f64::from(i) / 500.0).powi(2)).collect();
            let curve = Noise::new(&*family).known_curve(&*family, &means).unwrap();
            for mean in [0.2, 0.5, 1.7, 4.0, 9.1] {
                let (found, expected) = (curve.at(mean), variance(mean));
                assert!((found - expected).abs() < 0.01 * expected, "{spec} at {mean}: {found} {expected}");
            }
        }
        assert!(matches!(Noise::new(&*family("gaussian").unwrap()), Noise::Spread(_)));
        assert!(matches!(Noise::new(&*family("categorical:k=3").unwrap()), Noise::Open));
    }

    #[test]
    fn a_spread_is_measured_by_brightness() {
        let pixels =
            (0..4000).map(|i| (f64::from(i), if i % 2 == 0 { 1.0 } else { -1.0 } * (1.0 + f64::from(i) / 1000.0)));
        let curve = Curve::measured(pixels.collect()).unwrap();
        for mean in [500.0, 2000.0, 3500.0] {
            assert!((curve.at(mean).sqrt() - 1.0 - mean / 1000.0).abs() < 0.05, "{mean}: {}", curve.at(mean));
        }
        assert!(Curve::measured(Vec::new()).is_none());
        assert_eq!(Curve::measured(vec![(1.0, 2.0)]).unwrap().at(9.0), 4.0);
    }
}
