//! The values of an image, as far as they say which families are possible.

use ndarray::ArrayView4;

use crate::tasks::noise::Values;

/// Values that are looked at.
const MOST: usize = 1 << 16;
/// Different values of an image that are multiples of a unit, at the most.
const MOST_MULTIPLES: usize = 1 << 12;
/// How far multiples may be from whole ones.
const ROUNDING: f64 = 0.01;

/// Values of an image.
pub(super) struct Sample {
    pub(super) values: Values,
    /// The number of pixels that are present.
    pub(super) present: usize,
    /// The number that all values are multiples of, if they are not whole numbers themselves.
    pub(super) unit: Option<f64>,
    /// The share of the largest value, which is large where values were clipped.
    pub(super) at_top: f64,
}

impl Sample {
    /// Values that are evenly spread, with those that decide on their kind: the smallest, the largest, and one with a fraction.
    /// Nothing if all pixels are missing.
    pub(super) fn of(pixels: ArrayView4<'_, f64>) -> Option<Sample> {
        let all = || pixels.iter().copied().filter(|value| !value.is_nan());
        let present = all().count();
        let step = present.div_ceil(MOST).max(1);
        let deciding = [all().reduce(f64::min), all().reduce(f64::max), all().find(|value| value.fract() != 0.0)];
        let sample: Vec<f64> = all().step_by(step).chain(deciding.into_iter().flatten()).collect();
        let values = Values::of(sample.iter().copied())?;
        let top = sample.iter().filter(|value| **value == values.summary.max).count();
        Some(Sample { unit: unit(&sample), at_top: top as f64 / sample.len() as f64, values, present })
    }
}

/// The number that values of zero and more are multiples of, if there is one other than 1.
fn unit(sample: &[f64]) -> Option<f64> {
    let mut different = sample.to_vec();
    different.sort_by(f64::total_cmp);
    different.dedup();
    let steps = different.windows(2).map(|pair| pair[1] - pair[0]);
    let unit = steps.fold(f64::INFINITY, f64::min);
    let whole = |value: &f64| (value / unit - (value / unit).round()).abs() < ROUNDING;
    let few = (3..=MOST_MULTIPLES).contains(&different.len());
    // whole numbers have the unit 1, or 2, which says nothing about their noise
    let found = few && different[0] >= 0.0 && unit.fract() != 0.0 && different.iter().all(whole);
    found.then_some(unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::noise::Kind;
    use ndarray::Array4;

    fn sample(value: impl Fn(usize) -> f64) -> Option<Sample> {
        Sample::of(Array4::from_shape_fn((1, 20, 20, 1), |(_, y, x, _)| value(20 * y + x)).view())
    }

    #[test]
    fn multiples_of_a_unit_are_seen() {
        let eighths = sample(|index| f64::from((index % 97) as f32 / 255.0)).map(|sample| sample.unit);
        assert!(eighths.flatten().is_some_and(|unit| (unit * 255.0 - 1.0).abs() < 1e-4), "{eighths:?}");
        assert_eq!(sample(|index| (index % 97) as f64).and_then(|sample| sample.unit), None);
        assert_eq!(sample(|index| (index as f64).sqrt()).and_then(|sample| sample.unit), None);
        assert_eq!(sample(|index| (index % 97) as f64 / 4.0 - 3.0).and_then(|sample| sample.unit), None);
    }

    #[test]
    fn one_fraction_among_many_whole_numbers_decides() {
        let pixels =
            Array4::from_shape_fn((1, 400, 400, 1), |(_, y, x, _)| if (y, x) == (7, 9) { 0.5 } else { (y % 5) as f64 });
        let found = Sample::of(pixels.view());
        assert_eq!(found.map(|sample| (sample.values.kind, sample.present)), Some((Kind::ZeroOrPositive, 160_000)));
        assert!(sample(|_| f64::NAN).is_none());
    }
}
