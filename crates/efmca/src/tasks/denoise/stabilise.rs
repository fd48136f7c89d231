//! Values whose noise has the same variance everywhere.

use super::noise_curve::NoiseCurve;
use super::plane::Plane;
use crate::family::{Family, Measure};

/// Points of the table of $f$.
const POINTS: usize = 1025;
/// What is added to the variance of counts: as in Anscombe's transform, it keeps single counts in the dark from standing out.
const OF_COUNTS: f64 = 0.375;
/// The smallest variance, as a share of the average one.
const SMALLEST_SHARE: f64 = 0.02;

/// The noise of the mean of several pixels, and a scale on which it is everywhere alike.
///
/// With $V(m)$, the variance of the noise around a mean $m$, the function $f(m) = \int^m V(u)^{-1/2}\,du$ has noise of variance 1.
/// Around a pilot $p$, noisy values are put on this scale by the tangent of $f$,
/// $$ t = f(p) + \frac{z - p}{\sqrt{V(p)}} , $$
/// which is linear in $z$: nothing has to be corrected on the way back, whatever the family is.
#[derive(Debug, Clone)]
pub(super) struct Stabiliser<'a> {
    curve: &'a NoiseCurve,
    /// The pixels that a value is the mean of.
    pixels: f64,
    /// Added to the variance.
    least: f64,
    /// The first mean of the table, the distance between them, and $f$.
    first: f64,
    step: f64,
    table: Vec<f64>,
}

impl<'a> Stabiliser<'a> {
    /// For means of `pixels` pixels with values around those of `pilot`.
    pub(super) fn new(curve: &'a NoiseCurve, family: &dyn Family, pixels: usize, pilot: &Plane) -> Stabiliser<'a> {
        let pixels = pixels as f64;
        let (low, high) = pilot
            .values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)));
        let average =
            pilot.values.iter().map(|value| curve.at(*value)).sum::<f64>() / pilot.values.len() as f64 / pixels;
        let of_counts = if family.support().measure == Measure::Counting { OF_COUNTS / (pixels * pixels) } else { 0.0 };
        let least = of_counts.max(SMALLEST_SHARE * average).max(f64::MIN_POSITIVE);
        let step = ((high - low) / (POINTS - 1) as f64).max(f64::MIN_POSITIVE);
        let mut stabiliser = Stabiliser { curve, pixels, least, first: low, step, table: Vec::new() };
        let slope = |k: usize| 1.0 / stabiliser.raised(low + step * k as f64).sqrt();
        let mut table = vec![0.0; POINTS];
        for k in 1..POINTS {
            table[k] = table[k - 1] + 0.5 * step * (slope(k - 1) + slope(k));
        }
        stabiliser.table = table;
        stabiliser
    }

    /// The variance of a value with this mean.
    pub(super) fn variance(&self, mean: f64) -> f64 {
        self.curve.at(mean) / self.pixels
    }

    /// The variance that the scale is made for.
    fn raised(&self, mean: f64) -> f64 {
        self.variance(mean) + self.least
    }

    /// $f$, continued by straight lines.
    fn f(&self, mean: f64) -> f64 {
        let place = ((mean - self.first) / self.step).clamp(0.0, (POINTS - 1) as f64);
        let before = (place as usize).min(POINTS - 2);
        self.table[before] + (place - before as f64) * (self.table[before + 1] - self.table[before])
    }

    /// Puts noisy values on the scale.
    pub(super) fn scaled(&self, noisy: &Plane, pilot: &Plane) -> Scaled {
        let mut scaled = Scaled { noisy: Vec::new(), pilot: Vec::new(), variance: Vec::new(), unit: Vec::new() };
        for (z, p) in noisy.values.iter().zip(&pilot.values) {
            let unit = self.raised(*p).sqrt();
            let f = self.f(*p);
            scaled.noisy.push((f + (z - p) / unit) as f32);
            scaled.pilot.push(f as f32);
            // the floor of the scale is not noise
            scaled.variance.push(((self.variance(*p) + 0.05 * self.least) / (unit * unit)) as f32);
            scaled.unit.push(unit);
        }
        scaled
    }
}

/// Values on a scale on which the noise is everywhere alike.
pub(super) struct Scaled {
    pub(super) noisy: Vec<f32>,
    pub(super) pilot: Vec<f32>,
    /// The variance of the noise, 1 but where there is hardly any.
    pub(super) variance: Vec<f32>,
    /// The standard deviation that is 1 on the scale.
    pub(super) unit: Vec<f64>,
}

impl Scaled {
    /// Values of the scale in units of the image.
    pub(super) fn back(&self, values: &[f32], pilot: &Plane) -> Plane {
        let back = values.iter().zip(&self.pilot).zip(pilot.values.iter().zip(&self.unit));
        pilot.with(back.map(|((value, f), (p, unit))| p + f64::from(value - f) * unit).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::family;

    #[test]
    fn noise_has_variance_one_on_the_scale_and_values_come_back() {
        let poisson = family("poisson").unwrap();
        let curve = NoiseCurve::known(&*poisson, 0.0, 100.0).unwrap();
        let pilot = Plane { rows: 1, columns: 100, values: (0..100).map(|k| k as f64 + 0.5).collect() };
        let noisy = pilot.map(|p| p + p.sqrt());
        let scaled = Stabiliser::new(&curve, &*poisson, 1, &pilot).scaled(&noisy, &pilot);
        for k in 20..100 {
            let deviation = scaled.noisy[k] - scaled.pilot[k];
            // but for what is added to the variance
            let expected = (pilot.values[k] / (pilot.values[k] + 1.0)).sqrt();
            assert!((deviation - expected as f32).abs() < 0.005, "{k}: {deviation}");
            // for counts it is the transform of Anscombe, with another floor: here a fiftieth of the average, which is 1
            let anscombe = |at: usize| 2.0 * (pilot.values[at] + 1.0).sqrt();
            let f = f64::from(scaled.pilot[k] - scaled.pilot[20]);
            assert!((f - anscombe(k) + anscombe(20)).abs() < 0.05, "{k}: {f}");
        }
        let back = scaled.back(&scaled.noisy, &pilot);
        assert!(back.values.iter().zip(&noisy.values).all(|(a, b)| (a - b).abs() < 1e-4));
    }
}
