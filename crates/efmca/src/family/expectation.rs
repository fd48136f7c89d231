//! Expectations by summation and quadrature, for families that have no formula for them and for testing those
//! that do.

use std::sync::OnceLock;

use super::{Family, Measure, Support};

/// Terms this far (in logarithm) below the largest one are left out.
const NEGLIGIBLE: f64 = 45.0;
/// Panels on each side of the mode, and nodes in each.
const PANELS: usize = 24;
const NODES: usize = 16;
/// Most halvings of a panel; two at the least, lest a kink be missed because two wrong values happen to agree.
const DEPTH: usize = 40;
/// Whole numbers are summed one by one up to this distance from the most probable one, and then in blocks of this share of the
/// distance, each by its middle. A Poisson distribution changes by a thousandth over a block one standard deviation away.
const SUMMED: (f64, f64) = (16_384.0, 1.0 / 1024.0);
/// The same for a distribution function, of which every pixel may ask for another one.
const CUMULATED: (f64, f64) = (64.0, 1.0 / 64.0);

/// $\mathbb E_{p(y;\vec\eta)}\lbrack g(y)\rbrack $ by summation or quadrature.
///
/// The mass must be where `f64` can reach it: a density with much of its mass below $10^{-308}$ is not integrated.
///
/// ```
/// use efmca::family::{expectation, family, from_conventional};
///
/// let gamma = family("gamma")?;
/// let eta = from_conventional(&*gamma, &[3.0, 2.0])?; // shape 3, rate 2
/// assert!((expectation(&*gamma, &eta, |y| y * y) - 3.0).abs() < 1e-12);
/// # Ok::<(), efmca::Error>(())
/// ```
pub fn expectation(family: &dyn Family, eta: &[f64], g: impl Fn(f64) -> f64) -> f64 {
    let log_density = |y: f64| family.log_density(y, eta);
    let support = family.support();
    match support.measure {
        Measure::Counting => sum(&support, log_density, g),
        Measure::Lebesgue => integral(&support, log_density, g),
        Measure::AtomAtZero => {
            let positive = Support { measure: Measure::Lebesgue, low_included: false, ..support };
            log_density(0.0).exp() * g(0.0) + integral(&positive, log_density, g)
        }
    }
}

/// Whole numbers that are summed one by one for a distribution function, at the most.
const FEW: f64 = 16_384.0;

/// The distribution function $P(Y \le y)$ at points in ascending order, by summation or quadrature.
pub(crate) fn cumulative(family: &dyn Family, eta: &[f64], points: &[f64]) -> Vec<f64> {
    let log_density = |y: f64| family.log_density(y, eta);
    let support = family.support();
    match support.measure {
        Measure::Lebesgue => Panels::new(&support, &log_density).cumulative(points),
        Measure::AtomAtZero => {
            let positive = Support { measure: Measure::Lebesgue, low_included: false, ..support };
            let atom = log_density(0.0).exp();
            let above = Panels::new(&positive, &log_density).cumulative(points);
            let with_atom = |(y, above): (&f64, f64)| if *y < 0.0 { 0.0 } else { atom + (1.0 - atom) * above };
            points.iter().zip(above).map(with_atom).collect()
        }
        Measure::Counting => {
            let mass = |(lowest, count): (f64, f64)| (lowest, count, count * log_density(middle(lowest, count)).exp());
            let blocks: Vec<(f64, f64, f64)> = match support.codes {
                Some(codes) => codes.iter().map(|code| mass((*code, 1.0))).collect(),
                None => {
                    let last = points.last().copied().unwrap_or(support.low).min(support.high);
                    let top = discrete_mode(&support, &log_density).min(last);
                    let (mut first, highest) = (top, log_density(top));
                    // far below the mode there is nothing to be summed
                    let mut step = 1.0;
                    while first > support.low && highest - log_density(first) < NEGLIGIBLE {
                        first = (first - step).max(support.low);
                        step *= 2.0;
                    }
                    if last - first <= FEW {
                        (0..=(last - first) as usize).map(|i| mass((first + i as f64, 1.0))).collect()
                    } else {
                        let matters = |(lowest, count): &(f64, f64)| {
                            *lowest <= last && highest - log_density(middle(*lowest, *count)) <= NEGLIGIBLE
                        };
                        let side =
                            |start, step| outward(&support, start, step, CUMULATED).take_while(matters).map(mass);
                        let mut below: Vec<_> = side(top, -1.0).collect();
                        below.reverse();
                        below.extend(side(top + 1.0, 1.0));
                        below
                    }
                }
            };
            let mut blocks = blocks.into_iter().peekable();
            let mut sum = 0.0;
            let up_to = |y: &f64| {
                while let Some((_, _, mass)) = blocks.next_if(|(lowest, count, _)| lowest + count - 1.0 <= *y) {
                    sum += mass;
                }
                let share = |(lowest, count, mass): &(f64, f64, f64)| {
                    mass * ((y - lowest).floor() + 1.0).clamp(0.0, *count) / count
                };
                (sum + blocks.peek().map_or(0.0, share)).min(1.0)
            };
            points.iter().map(up_to).collect()
        }
    }
}

/// $\int p(y) g(y) dy$ over panels that reach as far as either $p$ or $p |g|$ matters.
fn integral(support: &Support, log_density: impl Fn(f64) -> f64, g: impl Fn(f64) -> f64) -> f64 {
    let weighted = |y: f64| log_density(y) + g(y).abs().ln_1p();
    Panels::new(support, &weighted).integrate(|y| {
        let value = g(y);
        value / (1.0 + value.abs())
    })
}

/// $\sum_y p(y) g(y)$ from the mode outwards.
fn sum(support: &Support, log_density: impl Fn(f64) -> f64, g: impl Fn(f64) -> f64) -> f64 {
    if let Some(codes) = support.codes {
        return codes.iter().map(|y| log_density(*y).exp() * g(*y)).sum();
    }
    if support.high - support.low <= 4096.0 {
        // few enough to take them all, in whatever order they are probable
        let count = (support.high - support.low) as usize;
        return (0..=count).map(|i| support.low + i as f64).map(|y| log_density(y).exp() * g(y)).sum();
    }
    let mode = discrete_mode(support, &log_density);
    let highest = log_density(mode);
    let side = |step: f64, start: f64| {
        let mut total = 0.0;
        for (lowest, count) in outward(support, start, step, SUMMED) {
            let y = middle(lowest, count);
            let value = log_density(y);
            if highest - value > NEGLIGIBLE {
                break;
            }
            total += count * value.exp() * g(y);
        }
        total
    };
    side(-1.0, mode) + side(1.0, mode + 1.0)
}

/// The whole numbers of a support from `start` on, upwards or downwards (`step` is 1 or -1): the lowest one of each block, and how many
/// it has. Blocks have one number at first, and then an odd one, so that one of them is in the middle.
fn outward(
    support: &Support,
    start: f64,
    step: f64,
    (singles, share): (f64, f64),
) -> impl Iterator<Item = (f64, f64)> + use<> {
    let farthest = if step < 0.0 { start - support.low } else { support.high - start };
    let mut distance = 0.0;
    std::iter::from_fn(move || {
        if distance > farthest || distance.is_infinite() {
            return None;
        }
        let size = if distance < singles { 1.0 } else { (distance * share).floor().max(1.0) };
        let count = (size - 1.0 + size % 2.0).max(1.0).min(farthest - distance + 1.0);
        let nearest = start + step * distance;
        distance += count;
        Some((if step < 0.0 { nearest - (count - 1.0) } else { nearest }, count))
    })
}

/// The whole number in the middle of a block.
fn middle(lowest: f64, count: f64) -> f64 {
    lowest + ((count - 1.0) / 2.0).floor()
}

/// The most probable whole number, the first of equals: between ends that are found by doubling, by cutting off a third after the other.
/// Exact for unimodal families, as far as their log-densities have digits.
pub(super) fn discrete_mode(support: &Support, log_density: &impl Fn(f64) -> f64) -> f64 {
    let mut low = if support.low.is_finite() { support.low } else { 0.0 };
    let (mut high, mut step) = (low, 1.0);
    while high < support.high {
        let next = (high + step).min(support.high);
        if log_density(next) > log_density(high) {
            (low, high) = (high, next);
            step *= 2.0;
        } else {
            high = next;
            break;
        }
    }
    while high - low > 2.0 {
        let third = ((high - low) / 3.0).floor();
        if low + third == low {
            // numbers beyond 2^53 are further apart
            break;
        }
        if log_density(low + third) < log_density(high - third) { low += third } else { high -= third }
    }
    let mut mode = low;
    for y in [low + 1.0, low + 2.0] {
        if y <= high && log_density(y) > log_density(mode) {
            mode = y;
        }
    }
    mode
}

/// A continuous density cut into panels in a coordinate $x$ in which all its scales are visible.
pub(super) struct Panels<'a, D: Fn(f64) -> f64> {
    support: Support,
    log_density: &'a D,
    edges: Vec<f64>,
}

impl<'a, D: Fn(f64) -> f64> Panels<'a, D> {
    pub(super) fn new(support: &Support, log_density: &'a D) -> Panels<'a, D> {
        let mut panels = Panels { support: *support, log_density, edges: Vec::new() };
        let mode = panels.mode();
        let highest = panels.log_integrand(mode);
        let mut edges = panels.side(mode, -1.0, highest);
        edges.reverse();
        edges.pop();
        edges.extend(panels.side(mode, 1.0, highest));
        panels.edges = edges;
        panels
    }

    /// $y(x)$ and $\log|dy/dx|$.
    fn place(&self, x: f64) -> (f64, f64) {
        let Support { low, high, .. } = self.support;
        if low.is_finite() && high.is_finite() {
            let e = (-x.abs()).exp();
            let nearer = e / (1.0 + e) * (high - low);
            let y = if x < 0.0 { low + nearer } else { high - nearer };
            (y, (high - low).ln() - x.abs() - 2.0 * e.ln_1p())
        } else if low.is_finite() {
            (low + x.exp(), x)
        } else {
            (x.sinh(), x.cosh().ln())
        }
    }

    fn log_integrand(&self, x: f64) -> f64 {
        let (y, log_slope) = self.place(x);
        let value = (self.log_density)(y) + log_slope;
        if value.is_nan() { f64::NEG_INFINITY } else { value }
    }

    /// The highest point of the integrand: the best of a coarse scan, then uphill with shrinking steps.
    fn mode(&self) -> f64 {
        let reach = 700;
        let mut mode = 0.0;
        let mut best = f64::NEG_INFINITY;
        for x in (-reach..=reach).map(|i| f64::from(i) / 2.0) {
            let value = self.log_integrand(x);
            if value > best {
                (mode, best) = (x, value);
            }
        }
        let mut step = 0.5;
        while step > 1e-13 * f64::max(1.0, mode.abs()) {
            let candidate = [mode - step, mode + step]
                .into_iter()
                .map(|x| (x, self.log_integrand(x)))
                .max_by(|a, b| a.1.total_cmp(&b.1));
            match candidate {
                Some((x, value)) if value > best => (mode, best) = (x, value),
                _ => step *= 0.5,
            }
        }
        mode
    }

    /// Panel edges from the mode to where the integrand is negligible.
    fn side(&self, mode: f64, direction: f64, highest: f64) -> Vec<f64> {
        let drop = |distance: f64| highest - self.log_integrand(mode + direction * distance);
        let mut outer = 1e-12 * f64::max(1.0, mode.abs());
        while drop(outer) < NEGLIGIBLE && outer < 1e4 {
            outer *= 2.0;
        }
        let mut inner = outer / 2.0;
        for _ in 0..40 {
            let middle = 0.5 * (inner + outer);
            if drop(middle) < NEGLIGIBLE { inner = middle } else { outer = middle }
        }
        (0..=PANELS).map(|i| mode + direction * outer * i as f64 / PANELS as f64).collect()
    }

    fn panel(&self, from: f64, to: f64, g: &impl Fn(f64) -> f64) -> f64 {
        let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
        let at = |x: f64| {
            let value = self.log_integrand(x).exp();
            if value == 0.0 { 0.0 } else { value * g(self.place(x).0) }
        };
        half * gauss_legendre().iter().map(|(node, weight)| weight * at(middle + half * node)).sum::<f64>()
    }

    /// $\int p(y) g(y) dy$.
    pub(super) fn integrate(&self, g: impl Fn(f64) -> f64) -> f64 {
        let coarse: Vec<f64> = self.edges.windows(2).map(|edge| self.panel(edge[0], edge[1], &g)).collect();
        let tolerance = 1e-15 * coarse.iter().map(|part| part.abs()).sum::<f64>();
        let refine = |(edge, part): (&[f64], &f64)| self.refined(edge[0], edge[1], *part, &g, tolerance, DEPTH);
        self.edges.windows(2).zip(&coarse).map(refine).sum()
    }

    /// Halves a panel until its halves agree with it: a density with a kink needs that, a smooth one does not.
    fn refined(&self, from: f64, to: f64, whole: f64, g: &impl Fn(f64) -> f64, tolerance: f64, depth: usize) -> f64 {
        let middle = 0.5 * (from + to);
        let (left, right) = (self.panel(from, middle, g), self.panel(middle, to, g));
        if depth == 0 || (depth < DEPTH - 1 && (left + right - whole).abs() <= tolerance) {
            return left + right;
        }
        self.refined(from, middle, left, g, tolerance, depth - 1)
            + self.refined(middle, to, right, g, tolerance, depth - 1)
    }

    /// $x(y)$, the inverse of [`Panels::place`].
    fn coordinate(&self, y: f64) -> f64 {
        let Support { low, high, .. } = self.support;
        if y <= low {
            f64::NEG_INFINITY
        } else if y >= high {
            f64::INFINITY
        } else if low.is_finite() && high.is_finite() {
            ((y - low) / (high - y)).ln()
        } else if low.is_finite() {
            (y - low).ln()
        } else {
            y.asinh()
        }
    }

    /// The share of the mass below each of the points, which ascend.
    fn cumulative(&self, points: &[f64]) -> Vec<f64> {
        let mut edges = self.edges.windows(2).map(|edge| (edge[0], edge[1])).peekable();
        let (mut sum, mut from) = (0.0, self.edges.first().copied().unwrap_or(0.0));
        let mut below: Vec<f64> = Vec::with_capacity(points.len());
        let ends = points.iter().map(|y| self.coordinate(*y)).chain([f64::INFINITY]);
        for end in ends {
            while let Some((_, edge)) = edges.next_if(|(_, edge)| *edge <= end) {
                sum += self.panel(from, edge, &|_| 1.0);
                from = edge;
            }
            if edges.peek().is_some() && end > from {
                sum += self.panel(from, end, &|_| 1.0);
                from = end;
            }
            below.push(sum);
        }
        let total = below.pop().unwrap_or(1.0);
        below.into_iter().map(|below| (below / total).clamp(0.0, 1.0)).collect()
    }

    /// The value below which a share `u` of the mass lies.
    pub(super) fn quantile(&self, u: f64) -> f64 {
        let masses: Vec<f64> = self.edges.windows(2).map(|edge| self.panel(edge[0], edge[1], &|_| 1.0)).collect();
        let mut target = u * masses.iter().sum::<f64>();
        for (edge, mass) in self.edges.windows(2).zip(&masses) {
            if target <= *mass {
                let (mut low, mut high) = (edge[0], edge[1]);
                for _ in 0..50 {
                    let middle = 0.5 * (low + high);
                    if self.panel(edge[0], middle, &|_| 1.0) < target { low = middle } else { high = middle }
                }
                return self.place(0.5 * (low + high)).0;
            }
            target -= mass;
        }
        self.place(*self.edges.last().unwrap_or(&0.0)).0
    }
}

/// Nodes and weights of Gauss-Legendre quadrature on $\lbrack -1, 1\rbrack $.
fn gauss_legendre() -> &'static [(f64, f64)] {
    static RULE: OnceLock<Vec<(f64, f64)>> = OnceLock::new();
    RULE.get_or_init(|| (0..NODES).map(legendre_node).collect())
}

/// The $i$-th root of the Legendre polynomial by Newton's method, and its weight.
fn legendre_node(i: usize) -> (f64, f64) {
    let n = NODES as f64;
    let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (n + 0.5)).cos();
    let mut slope = 1.0;
    for _ in 0..20 {
        let (mut before, mut value) = (1.0, x);
        for k in 2..=NODES {
            let k = k as f64;
            (before, value) = (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k);
        }
        slope = n * (x * value - before) / (x * x - 1.0);
        x -= value / slope;
    }
    (x, 2.0 / ((1.0 - x * x) * slope * slope))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{family, from_conventional};

    /// Sums over blocks of whole numbers: moments of Poisson and geometric distributions, and the distribution function of the first by
    /// `scipy.stats.poisson(1e9).cdf`.
    #[test]
    fn wide_distributions_of_counts_are_summed_in_blocks() -> crate::Result<()> {
        for (spec, natural, mean, variance) in
            [("poisson", 1e9f64.ln(), 1e9, 1e9), ("geometric", (1.0f64 / (1.0 + 1e-9)).ln(), 1e9, 1e18)]
        {
            let family = family(spec)?;
            let of = |g: &dyn Fn(f64) -> f64| expectation(&*family, &[natural], g);
            assert!((of(&|_| 1.0) - 1.0).abs() < 1e-5, "{spec} {mean}: {}", of(&|_| 1.0));
            assert!((of(&|y| y) / mean - 1.0).abs() < 1e-5, "{spec} {mean}: {}", of(&|y| y));
            let found = of(&|y| (y - mean).powi(2));
            assert!((found / variance - 1.0).abs() < 1e-4, "{spec} {mean}: {found}");
        }
        let poisson = family("poisson")?;
        let points = [999_968_377.0, 1_000_000_000.0, 1_000_031_623.0, 4e9];
        let found = cumulative(&*poisson, &[1e9f64.ln()], &points);
        for (found, expected) in found.iter().zip([0.158_659, 0.500_008, 0.841_349, 1.0]) {
            assert!((found - expected).abs() < 1e-3, "{found} {expected}");
        }
        Ok(())
    }

    /// Values by `scipy.stats`: norm(1, 2), gamma(3, scale=0.5), beta(2, 5), poisson(7), laplace(0, 1) with `.cdf`.
    #[test]
    fn distribution_functions_are_those_of_scipy() -> crate::Result<()> {
        for (spec, parameters, points, expected) in [
            ("gaussian", vec![1.0, 4.0], [-1.0, 1.0, 4.0], [0.158_655_253_931_457, 0.5, 0.933_192_798_731_142]),
            (
                "gamma",
                vec![3.0, 2.0],
                [0.5, 1.0, 3.0],
                [0.080_301_397_071_394, 0.323_323_583_816_937, 0.938_031_195_583_341],
            ),
            ("beta", vec![2.0, 5.0], [0.1, 0.5, 0.9], [0.114_265, 0.890_625, 0.999_945]),
            (
                "poisson",
                vec![7.0],
                [2.0, 7.0, 12.0],
                [0.029_636_163_880_522, 0.598_713_835_684_307, 0.973_000_229_852_838],
            ),
            ("laplace:mu=0", vec![1.0], [-1.0, 0.0, 2.0], [0.183_939_720_585_721, 0.5, 0.932_332_358_381_694]),
        ] {
            let family = family(spec)?;
            let eta = from_conventional(&*family, &parameters)?;
            for (found, expected) in cumulative(&*family, &eta, &points).iter().zip(expected) {
                assert!((found - expected).abs() < 1e-6, "{spec}: {found} {expected}");
            }
        }
        let hurdle = family("hurdle-gamma")?;
        let eta = from_conventional(&*hurdle, &[0.25, 3.0, 2.0])?;
        let below = cumulative(&*hurdle, &eta, &[-0.1, 0.0, 1.0]);
        let at_zero = hurdle.log_density(0.0, &eta).exp();
        assert!(below[0] == 0.0 && (below[1] - at_zero).abs() < 1e-9, "{below:?}");
        assert!((below[2] - at_zero - (1.0 - at_zero) * 0.323_323_583_816_937).abs() < 1e-6, "{below:?}");
        Ok(())
    }
}
