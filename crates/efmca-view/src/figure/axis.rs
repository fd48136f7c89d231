//! Ranges of axes, their ticks and the labels of the ticks.

/// Numbers further from zero are treated as infinite: differences of them would be.
const LARGEST: f64 = 1e300;

/// A place on an axis with its label.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) label: String,
}

/// Whether a value has a place on an axis.
pub(super) fn is_drawable(value: f64) -> bool {
    value.abs() <= LARGEST
}

/// The range of the values that can be drawn, widened at both ends by `padding` times its width;
/// 0 to 1 if there are none. Never without width.
pub(super) fn range_of(values: impl Iterator<Item = f64>, padding: f64) -> (f64, f64) {
    let (lo, hi) = values
        .filter(|&value| is_drawable(value))
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), value| (lo.min(value), hi.max(value)));
    if lo > hi {
        return (0.0, 1.0);
    }
    let size = lo.abs().max(hi.abs());
    let width = hi - lo;
    // A range that differs in the last digits only has no useful ticks.
    if width <= 1e-12 * size || width <= f64::MIN_POSITIVE {
        let half = if size > f64::MIN_POSITIVE { 0.05 * size } else { 1.0 };
        return (lo - half, hi + half);
    }
    (lo - padding * width, hi + padding * width)
}

/// At most about `most` ticks between `lo` and `hi`, at multiples of 1, 2 or 5 times a power of
/// ten; only at integers if `integer`.
pub(super) fn ticks(lo: f64, hi: f64, most: usize, integer: bool) -> Vec<Tick> {
    let mut step = round_step((hi - lo) / most.max(1) as f64);
    if integer {
        step = step.max(1.0);
    }
    // A little slack keeps ticks at the very ends in spite of rounding.
    let first = (lo / step - 1e-9).ceil();
    let last = (hi / step + 1e-9).floor();
    let count = (last - first).clamp(-1.0, 1000.0) as i64 + 1;
    let size = lo.abs().max(hi.abs());
    (0..count)
        .map(|index| {
            let value = (first + index as f64) * step;
            Tick { value, label: tick_label(value, step, size) }
        })
        .collect()
}

/// The smallest of 1, 2, 5 times a power of ten that is not below `step`.
fn round_step(step: f64) -> f64 {
    let power = 10.0_f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= step * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// A short label: `size` (the largest number on the axis) decides the unit, `step` the decimals.
fn tick_label(value: f64, step: f64, size: f64) -> String {
    if value.abs() < 1e-6 * step {
        return "0".to_owned();
    }
    // With more than three decimals a unit saves nothing over the next smaller one.
    let units = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    let unit = (units.into_iter())
        .find(|(unit, _)| (1e4..1e13).contains(&size) && size >= *unit && decimals(step / unit) <= 3);
    if let Some((unit, suffix)) = unit {
        return format!("{:.*}{suffix}", decimals(step / unit), value / unit);
    }
    if (1e-3..1e12).contains(&size) {
        return format!("{value:.*}", decimals(step));
    }
    // As many digits as tell this tick from its neighbours.
    let digits = (power_of_ten(value) - power_of_ten(step)).clamp(0.0, 15.0) as usize;
    let text = format!("{value:.digits$e}");
    match text.split_once('e') {
        Some((mantissa, power)) if mantissa.contains('.') => {
            let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
            format!("{mantissa}e{power}")
        }
        _ => text,
    }
}

/// The power of ten in a number, not led astray by rounding just below one.
fn power_of_ten(value: f64) -> f64 {
    (value.abs() * (1.0 + 1e-9)).log10().floor()
}

/// The decimals that a step of this size needs.
fn decimals(step: f64) -> usize {
    (-power_of_ten(step)).clamp(0.0, 12.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(lo: f64, hi: f64, most: usize) -> Vec<String> {
        ticks(lo, hi, most, false).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_and_include_the_ends() {
        assert_eq!(labels(0.0, 1.0, 5), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"].map(zero));
        assert_eq!(labels(-1.0, 1.0, 4), ["-1.0", "-0.5", "0", "0.5", "1.0"]);
        assert_eq!(labels(0.0, 100.0, 5), ["0", "20", "40", "60", "80", "100"]);
    }

    fn zero(label: &str) -> String {
        if label == "0.0" { "0".to_owned() } else { label.to_owned() }
    }

    #[test]
    fn large_numbers_are_short() {
        assert_eq!(labels(-60400.0, -60000.0, 4), ["-60.4k", "-60.3k", "-60.2k", "-60.1k", "-60.0k"]);
        assert_eq!(labels(0.0, 2e6, 2), ["0", "1M", "2M"]);
        assert_eq!(labels(0.0, 3e7, 3), ["0", "10M", "20M", "30M"]);
        assert_eq!(labels(0.0, 3e20, 3), ["0", "1e20", "2e20", "3e20"]);
        assert_eq!(labels(-60000.2, -60000.0, 2), ["-60000.2", "-60000.1", "-60000.0"]);
    }

    #[test]
    fn small_numbers_are_short() {
        assert_eq!(labels(0.0, 2e-5, 4), ["0", "5e-6", "1e-5", "1.5e-5", "2e-5"]);
        assert_eq!(labels(0.0, 0.02, 2), ["0", "0.01", "0.02"]);
    }

    #[test]
    fn integer_ticks_are_integers() {
        let values: Vec<_> = ticks(0.0, 3.0, 10, true).into_iter().map(|tick| tick.value).collect();
        assert_eq!(values, [0.0, 1.0, 2.0, 3.0]);
    }

    #[test]
    fn ranges_skip_what_cannot_be_drawn_and_have_width() {
        let values = [f64::NAN, 1.0, f64::INFINITY, 3.0, f64::MAX];
        assert_eq!(range_of(values.into_iter(), 0.5), (0.0, 4.0));
        assert_eq!(range_of([].into_iter(), 0.1), (0.0, 1.0));
        assert_eq!(range_of([0.0, 0.0].into_iter(), 0.1), (-1.0, 1.0));
        let (lo, hi) = range_of([1e16, 1e16].into_iter(), 0.1);
        assert!(lo < 1e16 && 1e16 < hi);
    }

    #[test]
    fn ticks_are_few_for_any_range() {
        for (lo, hi) in [(-1e300, 1e300), (1e-300, 2e-300), (1e15, 1e15 + 3.0), (0.0, 1e-308)] {
            let ticks = ticks(lo, hi, 6, false);
            assert!(ticks.len() <= 8, "{lo} {hi}: {ticks:?}");
        }
    }
}
