//! The highest point of a function of one variable.

/// Three points of which the one in the middle is not the lowest: a maximum lies between the others, or at an end of the range.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bracket {
    low: f64,
    middle: f64,
    high: f64,
    /// The value in the middle.
    height: f64,
}

/// Points of the first look over a range.
const GRID: usize = 9;
/// The first step away from a point that was found before.
const STEP: f64 = 0.05;
/// Distances below this are none: parameters are written with four digits.
const SMALLEST: f64 = 2e-4;
/// Evaluations after the bracket, at the most.
const MOST: usize = 20;
/// The shorter part of the golden section.
const GOLDEN: f64 = 0.381_966_011_250_105_2;

impl Bracket {
    /// Looks at the complete range, or goes uphill from a point.
    pub(super) fn find(f: &impl Fn(f64) -> f64, (low, high): (f64, f64), near: Option<f64>) -> Bracket {
        match near {
            _ if high <= low => Bracket { low, middle: low, high: low, height: f(low) },
            Some(near) => Bracket::uphill(f, (low, high), near.clamp(low, high)),
            None => {
                let at = |index: usize| low + (high - low) * index as f64 / (GRID - 1) as f64;
                let heights: Vec<f64> = (0..GRID).map(|index| f(at(index))).collect();
                let best = (0..GRID).max_by(|a, b| heights[*a].total_cmp(&heights[*b])).unwrap_or(0);
                let (low, high) = (at(best.saturating_sub(1)), at((best + 1).min(GRID - 1)));
                Bracket { low, middle: at(best), high, height: heights[best] }
            }
        }
    }

    fn uphill(f: &impl Fn(f64) -> f64, (lowest, highest): (f64, f64), near: f64) -> Bracket {
        let inside = |x: f64| x.clamp(lowest, highest);
        let mut here = (near, f(near));
        let (mut low, mut high) = (inside(near - STEP), inside(near + STEP));
        let (below, above) = (f(low), f(high));
        if below <= here.1 && above <= here.1 {
            return Bracket { low, middle: here.0, high, height: here.1 };
        }
        let sign = if above > below { 1.0 } else { -1.0 };
        let mut ahead = if sign > 0.0 { (high, above) } else { (low, below) };
        let mut behind = here.0;
        let mut step = STEP;
        while ahead.1 > here.1 && ahead.0 != here.0 {
            (behind, here) = (here.0, ahead);
            step *= 2.0;
            let x = inside(here.0 + sign * step);
            ahead = (x, if x == here.0 { here.1 } else { f(x) });
        }
        (low, high) = (behind.min(ahead.0), behind.max(ahead.0));
        Bracket { low, middle: here.0, high, height: here.1 }
    }
}

/// Brent's method (*Algorithms for Minimization without Derivatives*, 1973, chapter 5): parabolas through the three best points, and the golden section where they lead nowhere.
pub(super) fn peak(f: &impl Fn(f64) -> f64, bracket: Bracket) -> f64 {
    let Bracket { mut low, mut high, .. } = bracket;
    // the best, the second and the third
    let mut best = (bracket.middle, bracket.height);
    let (mut second, mut third) = (best, best);
    let (mut step, mut before) = (0.0f64, 0.0f64);
    for _ in 0..MOST {
        let middle = 0.5 * (low + high);
        if (best.0 - middle).abs() + 0.5 * (high - low) <= 2.0 * SMALLEST {
            break;
        }
        let parabola = if before.abs() > SMALLEST { top_of_parabola(best, second, third) } else { None };
        let fits = |next: &f64| (0.5 * before).abs() > (next - best.0).abs() && *next > low && *next < high;
        match parabola.filter(fits) {
            Some(next) => {
                (before, step) = (step, next - best.0);
                // next to an end nothing is left to be found but that the peak is not on the other side
                if next - low < 2.0 * SMALLEST || high - next < 2.0 * SMALLEST {
                    step = SMALLEST.copysign(middle - best.0);
                }
            }
            None => {
                before = if best.0 < middle { high - best.0 } else { low - best.0 };
                step = GOLDEN * before;
            }
        }
        let x = best.0 + if step.abs() >= SMALLEST { step } else { SMALLEST.copysign(step) };
        let next = (x, f(x));
        if next.1 >= best.1 {
            if x < best.0 {
                high = best.0
            } else {
                low = best.0
            }
            (third, second, best) = (second, best, next);
        } else {
            if x < best.0 {
                low = x
            } else {
                high = x
            }
            if next.1 >= second.1 || second.0 == best.0 {
                (third, second) = (second, next);
            } else if next.1 >= third.1 || third.0 == best.0 || third.0 == second.0 {
                third = next;
            }
        }
    }
    best.0
}

/// Where the parabola through three points is highest.
fn top_of_parabola(a: (f64, f64), b: (f64, f64), c: (f64, f64)) -> Option<f64> {
    let r = (a.0 - b.0) * (a.1 - c.1);
    let q = (a.0 - c.0) * (a.1 - b.1);
    let bottom = 2.0 * (q - r);
    let top = a.0 - ((a.0 - c.0) * q - (a.0 - b.0) * r) / bottom;
    top.is_finite().then_some(top)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn peaks_are_found_from_everywhere_and_at_ends() {
        for top in [-3.0, -0.7, 0.0, 1.234, 3.0] {
            for shape in [1.0, 0.05] {
                let count = Cell::new(0);
                let f = |x: f64| {
                    count.set(count.get() + 1);
                    // skewed, so that no parabola fits
                    let z = shape * (x - top);
                    z - z.exp()
                };
                for near in [None, Some(-3.0), Some(2.0), Some(top + 0.01)] {
                    count.set(0);
                    let bracket = Bracket::find(&f, (-3.0, 3.0), near);
                    let found = peak(&f, bracket);
                    assert!((found - top).abs() < 1e-3, "{top} {shape} {near:?}: {found}");
                    assert!(count.get() <= 20, "{top} {near:?}: {} evaluations", count.get());
                }
            }
        }
    }

    #[test]
    fn a_flat_function_and_one_without_values_end() {
        for value in [1.0, f64::NEG_INFINITY] {
            for near in [None, Some(0.3)] {
                let found = peak(&|_| value, Bracket::find(&|_| value, (0.0, 1.0), near));
                assert!((0.0..=1.0).contains(&found));
            }
        }
        let one = Bracket::find(&|x: f64| -x, (0.5, 0.5), None);
        assert_eq!(peak(&|x: f64| -x, one), 0.5);
    }
}
