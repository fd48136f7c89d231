//! Safeguarded root finding for $\vec\Phi$ where it has no closed form.

/// Solves `value(x) = 0` for a decreasing function on `(low, high)`, given `value(low) >= 0 >= value(high)`.
///
/// `evaluate` returns the value and the derivative. Invariant: the root stays in `[low, high]`, and the bracket
/// shrinks in every step; a Newton step is taken only if it falls inside, a bisection otherwise. The loop ends when
/// a step no longer changes `x`.
pub(crate) fn decreasing_root(
    mut low: f64,
    mut high: f64,
    start: f64,
    mut evaluate: impl FnMut(f64) -> (f64, f64),
) -> f64 {
    let mut x = if start > low && start < high { start } else { 0.5 * (low + high) };
    for _ in 0..200 {
        let (value, slope) = evaluate(x);
        if value > 0.0 {
            low = x;
        } else if value < 0.0 {
            high = x;
        } else {
            return x;
        }
        let newton = x - value / slope;
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - x).abs() <= f64::EPSILON * x.abs() || next == low || next == high {
            return next;
        }
        x = next;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newton_outside_the_bracket_falls_back_to_bisection() {
        // atan has a Newton iteration that diverges from far away
        let root = decreasing_root(-1e3, 1e5, 9e4, |x| (-(x - 1.0).atan(), -1.0 / (1.0 + (x - 1.0).powi(2))));
        assert!((root - 1.0).abs() < 1e-12);
    }
}
