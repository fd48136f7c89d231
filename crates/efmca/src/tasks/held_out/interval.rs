//! The probability that a continuous family gives to an integer: that of the interval around it.

use crate::family::Family;

/// Nodes and weights of Gauss and Legendre with five and ten points, on [-1, 1]; the negative halves are mirrored.
const FIVE: [(f64, f64); 3] = [
    (0.0, 0.568_888_888_888_889),
    (0.538_469_310_105_683, 0.478_628_670_499_366),
    (0.906_179_845_938_664, 0.236_926_885_056_189),
];
const TEN: [(f64, f64); 5] = [
    (0.148_874_338_981_631_2, 0.295_524_224_714_753),
    (0.433_395_394_129_247_2, 0.269_266_719_309_996),
    (0.679_409_568_299_024_4, 0.219_086_362_515_982),
    (0.865_063_366_688_984_5, 0.149_451_349_150_581),
    (0.973_906_528_517_171_7, 0.066_671_344_308_688),
];
/// Most halvings of an interval.
const DEPTH: usize = 48;
/// Relative accuracy.
const ACCURACY: f64 = 1e-9;

/// $\log\int_{y-1/2}^{y+1/2}p(y';\vec\eta)dy'$, over the part of the interval that is in the support.
///
/// `centre` is where the mass is, so that a peak much narrower than the interval is not missed.
pub(super) fn log_probability(family: &dyn Family, eta: &[f64], centre: f64, y: f64) -> f64 {
    let support = family.support();
    let (low, high) = ((y - 0.5).max(support.low), (y + 0.5).min(support.high));
    if low >= high {
        return f64::NEG_INFINITY;
    }
    let log_density = |at: f64| family.log_density(at, eta);
    // densities of narrow peaks overflow unless they are measured against the highest value seen
    let inside = centre > low && centre < high;
    let probes = [low + 1e-9 * (high - low), y, high - 1e-9 * (high - low), if inside { centre } else { y }];
    let top =
        probes.iter().map(|at| log_density(*at)).filter(|value| value.is_finite()).fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return f64::NEG_INFINITY;
    }
    let density = |at: f64| {
        let value = log_density(at);
        if value.is_nan() { 0.0 } else { (value - top).exp() }
    };
    let probability = if inside {
        graded(&density, centre, low) + graded(&density, centre, high)
    } else {
        integral(&density, low, high, DEPTH)
    };
    probability.ln() + top
}

/// The integral from `centre` to `end`, in parts that double in size away from the centre: one of them has the size of the
/// peak, whatever that is.
fn graded(density: &impl Fn(f64) -> f64, centre: f64, end: f64) -> f64 {
    let mut sum = 0.0;
    let mut outer = end;
    for _ in 0..DEPTH {
        let inner = centre + 0.5 * (outer - centre);
        let part = integral(density, inner.min(outer), inner.max(outer), 4);
        sum += part;
        outer = inner;
        // what is left can be no more than the highest value times its length
        if (outer - centre).abs() <= ACCURACY * sum {
            break;
        }
    }
    sum + integral(density, outer.min(centre), outer.max(centre), 2)
}

fn integral(density: &impl Fn(f64) -> f64, low: f64, high: f64, depth: usize) -> f64 {
    let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
    let pair = |(node, weight): &(f64, f64)| {
        let at = half * node;
        let values = if *node == 0.0 { density(middle) } else { density(middle - at) + density(middle + at) };
        weight * values
    };
    let coarse = half * FIVE.iter().map(pair).sum::<f64>();
    let fine = half * TEN.iter().map(pair).sum::<f64>();
    if depth == 0 || (coarse - fine).abs() <= ACCURACY * fine.abs() {
        return fine;
    }
    // a steep end needs all the halvings, a smooth middle none
    integral(density, low, middle, depth.min(12) - 1) + integral(density, middle, high, depth.min(12) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{family, from_conventional};

    /// Values by `scipy.stats.norm(m, s).cdf(y + .5) - scipy.stats.norm(m, s).cdf(y - .5)` and the same for gamma and expon.
    #[test]
    fn probabilities_are_those_of_scipy() -> crate::Result<()> {
        let gaussian = family("gaussian")?;
        for (mean, sd, y, expected) in [
            (0.3, 1.0, 0.0, 0.367_404_310_855_706_3_f64.ln()),
            (0.3, 0.01, 0.0, 0.0),
            (0.3, 1e-6, 0.0, 0.0),
            (0.0, 1.0, 9.0, -39.197_507_141_414_3),
        ] {
            let eta = from_conventional(&*gaussian, &[mean, sd * sd])?;
            let found = log_probability(&*gaussian, &eta, mean, y);
            assert!((found - expected).abs() < 1e-9 * (1.0 + expected.abs()), "{mean} {sd} {y}: {found} {expected}");
        }
        let exponential = family("exponential")?;
        let eta = from_conventional(&*exponential, &[0.7])?;
        let expected = ((-0.7f64 * 2.5).exp() - (-0.7f64 * 3.5).exp()).ln();
        assert!((log_probability(&*exponential, &eta, 1.0 / 0.7, 3.0) - expected).abs() < 1e-9);
        Ok(())
    }

    #[test]
    fn the_probabilities_of_all_integers_sum_to_one() -> crate::Result<()> {
        for (spec, parameters, centre) in
            [("gaussian", vec![3.2, 0.4], 3.2), ("log-normal", vec![1.0, 0.3], 2.84), ("gamma", vec![4.0, 2.0], 2.0)]
        {
            let family = family(spec)?;
            let eta = from_conventional(&*family, &parameters)?;
            let sum: f64 = (0..60).map(|y| log_probability(&*family, &eta, centre, f64::from(y)).exp()).sum();
            assert!((sum - 1.0).abs() < 1e-7, "{spec} {sum}");
        }
        Ok(())
    }
}
