//! Values that stand for intervals because they were rounded: probabilities and statistics of a family with a density.

use super::{Family, Measure, Support};
use crate::special::log_sum_exp;

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

/// Log-densities that differ by less than this over an interval are smooth there: five points are enough.
const FLAT: f64 = 0.5;

/// $\log\int_{low}^{high}p(y;\vec\eta)dy$, over the part of the interval that is in the support: the probability of a value that
/// stands for an interval.
///
/// `centre` is where the mass is, so that a peak much narrower than the interval is not missed. A family of whole numbers or codes
/// has no intervals; a probability at zero counts if zero is inside.
pub(crate) fn log_probability(family: &dyn Family, eta: &[f64], centre: f64, (low, high): (f64, f64)) -> f64 {
    let support = family.support();
    let atom = support.measure == Measure::AtomAtZero && low <= 0.0 && high > 0.0;
    let (low, high) = (low.max(support.low), high.min(support.high));
    if low >= high {
        return f64::NEG_INFINITY;
    }
    let log_density = |at: f64| family.log_density(at, eta);
    let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
    let inside = centre > low && centre < high;
    let at_middle = log_density(middle);
    if !atom && at_middle.is_finite() && (!inside || (log_density(centre) - at_middle).abs() < FLAT) {
        let sides = [FIVE[1], FIVE[2]].map(|(node, weight)| {
            [middle - half * node, middle + half * node].map(|at| (log_density(at) - at_middle, weight))
        });
        if sides.iter().flatten().all(|(log, _)| log.abs() < FLAT) {
            let sum: f64 = FIVE[0].1 + sides.iter().flatten().map(|(log, weight)| weight * log.exp()).sum::<f64>();
            return at_middle + (half * sum).ln();
        }
    }
    // densities of narrow peaks overflow unless they are measured against the highest value seen
    let probes = [low + 1e-9 * (high - low), middle, high - 1e-9 * (high - low), if inside { centre } else { middle }];
    let top =
        probes.iter().map(|at| log_density(*at)).filter(|value| value.is_finite()).fold(f64::NEG_INFINITY, f64::max);
    let at_zero = if atom { log_density(0.0) } else { f64::NEG_INFINITY };
    if top == f64::NEG_INFINITY {
        return at_zero;
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
    let log = probability.ln() + top;
    if atom { log_sum_exp(&[log, at_zero]) } else { log }
}

/// The statistics of a value that stands for an interval: $\vec T$ averaged over it, and the average of $\log h$ with the logarithm of
/// the interval's length, which is returned.
///
/// With them $\vec\eta^T\bar{\vec T} - A(\vec\eta) + \overline{\log h} + \log|I|$ is the best lower bound of the logarithm of the
/// interval's probability that needs no $\vec\eta$ (Jensen's inequality: the value that was rounded is anywhere in its interval, with
/// the same probability). Averages of $\vec T$ over an interval are inside of the mean domain, so that no member is narrower than
/// the interval, however often a value repeats.
pub(crate) fn mean_statistics(family: &dyn Family, y: f64, (low, high): (f64, f64), t: &mut [f64]) -> f64 {
    let support = family.support();
    let (low, high) = (low.max(support.low), high.min(support.high));
    let atom = support.measure == Measure::AtomAtZero && low <= 0.0;
    if support.measure == Measure::Counting || atom || low >= high {
        let y = if atom { 0.0 } else { y };
        family.t(y, t);
        return family.log_h(y);
    }
    let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
    let mut one = vec![0.0; t.len()];
    let mut log_h = 0.0;
    t.fill(0.0);
    for (node, weight) in FIVE {
        for at in [middle - half * node, middle + half * node].iter().take(if node == 0.0 { 1 } else { 2 }) {
            family.t(*at, &mut one);
            t.iter_mut().zip(&one).for_each(|(t, one)| *t += 0.5 * weight * one);
            log_h += 0.5 * weight * family.log_h(*at);
        }
    }
    log_h + (high - low).ln()
}

/// $\vec T$ averaged over an interval with the density of a member, which is where the value that was rounded is if it came from
/// that member. `false` if the member has no mass there.
pub(crate) fn member_statistics(family: &dyn Family, eta: &[f64], (low, high): (f64, f64), t: &mut [f64]) -> bool {
    let support = family.support();
    let (low, high) = (low.max(support.low), high.min(support.high));
    if low >= high || support.measure == Measure::Counting || (support.measure == Measure::AtomAtZero && low <= 0.0) {
        return false;
    }
    let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
    let nodes =
        || TEN.iter().flat_map(|(node, weight)| [(middle - half * node, weight), (middle + half * node, weight)]);
    let top = nodes().map(|(at, _)| family.log_density(at, eta)).fold(f64::NEG_INFINITY, f64::max);
    if !top.is_finite() {
        return false;
    }
    let (mut one, mut mass) = (vec![0.0; t.len()], 0.0);
    t.fill(0.0);
    for (at, weight) in nodes() {
        let share = weight * (family.log_density(at, eta) - top).exp();
        family.t(at, &mut one);
        t.iter_mut().zip(&one).for_each(|(t, one)| *t += share * one);
        mass += share;
    }
    t.iter_mut().for_each(|t| *t /= mass);
    t.iter().all(|t| t.is_finite())
}

/// Whether a family can produce something in the interval that `y` stands for.
pub(crate) fn reaches(support: &Support, y: f64, cell: Option<(f64, f64)>) -> bool {
    match cell {
        Some((low, high)) if support.measure != Measure::Counting && y.is_finite() => {
            support.contains(y) || (low.max(support.low) < high.min(support.high))
        }
        _ => support.contains(y),
    }
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
            let found = log_probability(&*gaussian, &eta, mean, (y - 0.5, y + 0.5));
            assert!((found - expected).abs() < 1e-9 * (1.0 + expected.abs()), "{mean} {sd} {y}: {found} {expected}");
        }
        let exponential = family("exponential")?;
        let eta = from_conventional(&*exponential, &[0.7])?;
        let expected = ((-0.7f64 * 2.5).exp() - (-0.7f64 * 3.5).exp()).ln();
        assert!((log_probability(&*exponential, &eta, 1.0 / 0.7, (2.5, 3.5)) - expected).abs() < 1e-9);
        Ok(())
    }

    #[test]
    fn the_probabilities_of_all_integers_sum_to_one() -> crate::Result<()> {
        for (spec, parameters, centre) in
            [("gaussian", vec![3.2, 0.4], 3.2), ("log-normal", vec![1.0, 0.3], 2.84), ("gamma", vec![4.0, 2.0], 2.0)]
        {
            let family = family(spec)?;
            let eta = from_conventional(&*family, &parameters)?;
            let cell = |y: i32| (f64::from(y) - 0.5, f64::from(y) + 0.5);
            let sum: f64 = (0..60).map(|y| log_probability(&*family, &eta, centre, cell(y)).exp()).sum();
            assert!((sum - 1.0).abs() < 1e-7, "{spec} {sum}");
        }
        Ok(())
    }

    #[test]
    fn averages_over_an_interval_are_inside_of_the_domain_and_as_wide_as_it() -> crate::Result<()> {
        let gaussian = family("gaussian")?;
        let mut t = [0.0; 2];
        let log = mean_statistics(&*gaussian, 7.0, (6.5, 7.5), &mut t);
        assert!((t[0] - 7.0).abs() < 1e-12 && (t[1] - t[0] * t[0] - 1.0 / 12.0).abs() < 1e-12, "{t:?}");
        assert!((log - gaussian.log_h(7.0)).abs() < 1e-12);
        for (spec, cell) in
            [("gamma", (0.0, 0.5)), ("gamma", (-0.5, 0.5)), ("beta", (0.95, 1.05)), ("log-normal", (2.5, 3.5))]
        {
            let family = family(spec)?;
            mean_statistics(&*family, f64::max(cell.0, 0.0), cell, &mut t);
            assert!(family.inside(&t), "{spec} {t:?}");
        }
        Ok(())
    }

    #[test]
    fn a_wide_member_is_anywhere_in_the_interval_and_a_steep_one_at_an_end() -> crate::Result<()> {
        let gaussian = family("gaussian")?;
        let (mut wide, mut steep) = ([0.0; 2], [0.0; 2]);
        assert!(member_statistics(&*gaussian, &from_conventional(&*gaussian, &[0.0, 1e6])?, (0.0, 1.0), &mut wide));
        assert!((wide[0] - 0.5).abs() < 1e-5 && (wide[1] - 1.0 / 3.0).abs() < 1e-5, "{wide:?}");
        assert!(member_statistics(&*gaussian, &from_conventional(&*gaussian, &[-3.0, 1.0])?, (0.0, 1.0), &mut steep));
        // scipy.stats.truncnorm.mean(3, 4, loc=-3)
        assert!((steep[0] - 0.261_4).abs() < 1e-3, "{steep:?}");
        Ok(())
    }
}
