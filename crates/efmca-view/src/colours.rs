//! How values become colours.

use crate::ViewError;

/// The colour of a value that is not a number: a hue that neither map of colours contains.
pub(crate) const NOT_A_NUMBER: [u8; 3] = [148, 87, 200];

const BLUE: [f64; 3] = [33.0, 82.0, 163.0];
const WHITE: [f64; 3] = [255.0, 255.0, 255.0];
const RED: [f64; 3] = [178.0, 24.0, 43.0];

/// The colours from low to high in equal steps (ColorBrewer's YlGn, by Cynthia Brewer), which get darker evenly.
const YELLOW_TO_GREEN: [[f64; 3]; 9] = [
    [255.0, 255.0, 229.0],
    [247.0, 252.0, 185.0],
    [217.0, 240.0, 163.0],
    [173.0, 221.0, 142.0],
    [120.0, 198.0, 121.0],
    [65.0, 171.0, 93.0],
    [35.0, 132.0, 67.0],
    [0.0, 104.0, 55.0],
    [0.0, 69.0, 41.0],
];

/// The colours that stand for values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Colours {
    /// The lowest value is black, the highest white.
    Grey,
    /// Zero is white, negative values are blue and positive ones red; both ends are equally far
    /// from zero.
    Diverging,
    /// The lowest value is a pale yellow, the highest a dark green: for standard deviations, which then cannot be taken
    /// for means.
    Sequential,
}

/// Which values get the colours at the ends.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Scale {
    /// The lowest and the highest value of all fields together.
    Shared,
    /// The lowest and the highest value of each field on its own.
    Each,
    /// The given values.
    Fixed {
        /// The lowest value.
        lo: f64,
        /// The highest value.
        hi: f64,
    },
}

/// A range of finite values with `lo <= hi`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ValueRange {
    lo: f64,
    hi: f64,
}

impl ValueRange {
    /// The range of the values that are finite; 0 to 0 if there are none.
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let range = finite.fold(None, |range: Option<Self>, value| {
            let range = range.unwrap_or(Self { lo: value, hi: value });
            Some(Self { lo: range.lo.min(value), hi: range.hi.max(value) })
        });
        range.unwrap_or(Self { lo: 0.0, hi: 0.0 })
    }

    /// A range that a user gave.
    pub(crate) fn fixed(lo: f64, hi: f64) -> Result<Self, ViewError> {
        if lo.is_finite() && hi.is_finite() && lo < hi {
            Ok(Self { lo, hi })
        } else {
            Err(ViewError::Setting {
                what: "the fixed scale",
                value: format!("{lo} to {hi}"),
                hint: "give two finite numbers, the lower one first",
            })
        }
    }

    /// As [`Self::fixed`], but the ends may be the same: an image can have a single grey.
    pub(crate) fn between(lo: f64, hi: f64) -> Result<Self, ViewError> {
        if lo == hi && lo.is_finite() { Ok(Self { lo, hi }) } else { Self::fixed(lo, hi) }
    }

    /// The range that has this one in it and zero in its middle.
    pub(crate) fn around_zero(self) -> Self {
        let end = self.lo.abs().max(self.hi.abs());
        Self { lo: -end, hi: end }
    }

    /// The lower and the higher end.
    pub(crate) fn ends(self) -> (f64, f64) {
        (self.lo, self.hi)
    }

    /// Where `value` lies: 0 at the low end, 1 at the high end, one half if the range is a point.
    pub(crate) fn place(self, value: f64) -> f64 {
        // Halves keep the difference finite for ranges as wide as all numbers.
        let width = self.hi / 2.0 - self.lo / 2.0;
        if width > 0.0 { ((value / 2.0 - self.lo / 2.0) / width).clamp(0.0, 1.0) } else { 0.5 }
    }
}

impl Colours {
    /// The colours for means in this range: zero is white where some of them are negative.
    pub(crate) fn of_means(range: ValueRange) -> Self {
        if range.lo < 0.0 { Self::Diverging } else { Self::Grey }
    }

    /// The colour of `value`.
    pub(crate) fn colour(self, value: f64, range: ValueRange) -> [u8; 3] {
        if value.is_nan() {
            return NOT_A_NUMBER;
        }
        match self {
            Self::Grey => [(255.0 * range.place(value)).round() as u8; 3],
            Self::Diverging => {
                let end = range.lo.abs().max(range.hi.abs());
                let place = if end > 0.0 { (value / end).clamp(-1.0, 1.0) } else { 0.0 };
                let towards = if place < 0.0 { BLUE } else { RED };
                mix(WHITE, towards, place.abs())
            }
            Self::Sequential => {
                let place = range.place(value) * (YELLOW_TO_GREEN.len() - 1) as f64;
                let below = (place as usize).min(YELLOW_TO_GREEN.len() - 2);
                mix(YELLOW_TO_GREEN[below], YELLOW_TO_GREEN[below + 1], place - below as f64)
            }
        }
    }
}

/// A colour `part` of the way between two.
fn mix(from: [f64; 3], to: [f64; 3], part: f64) -> [u8; 3] {
    std::array::from_fn(|channel| (from[channel] + part * (to[channel] - from[channel])).round() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grey_runs_from_black_to_white() {
        let range = ValueRange::fixed(-1.0, 3.0).unwrap();
        assert_eq!(Colours::Grey.colour(-1.0, range), [0; 3]);
        assert_eq!(Colours::Grey.colour(1.0, range), [128; 3]);
        assert_eq!(Colours::Grey.colour(f64::INFINITY, range), [255; 3]);
        assert_eq!(Colours::Grey.colour(f64::NAN, range), NOT_A_NUMBER);
    }

    #[test]
    fn diverging_is_white_at_zero_and_symmetric() {
        let range = ValueRange::fixed(-1.0, 4.0).unwrap();
        assert_eq!(Colours::Diverging.colour(0.0, range), [255; 3]);
        assert_eq!(Colours::Diverging.colour(4.0, range), [178, 24, 43]);
        assert_eq!(Colours::Diverging.colour(-4.0, range), [33, 82, 163]);
        assert_ne!(Colours::Diverging.colour(-1.0, range), [33, 82, 163]);
    }

    #[test]
    fn sequential_gets_darker() {
        let range = ValueRange::fixed(0.0, 2.0).unwrap();
        let dark =
            |value: f64| Colours::Sequential.colour(value, range).iter().map(|&byte| u32::from(byte)).sum::<u32>();
        let shades: Vec<u32> = (0..=40).map(|step| dark(f64::from(step) / 20.0)).collect();
        assert!(shades.windows(2).all(|pair| pair[1] < pair[0]), "{shades:?}");
        assert_eq!(Colours::Sequential.colour(-1.0, range), [255, 255, 229]);
        assert_eq!(Colours::Sequential.colour(1.0, range), [120, 198, 121]);
        assert_eq!(Colours::Sequential.colour(f64::INFINITY, range), [0, 69, 41]);
        assert_eq!(Colours::Sequential.colour(f64::NAN, range), NOT_A_NUMBER);
    }

    #[test]
    fn means_without_negative_values_are_grey() {
        let range = |values: [f64; 2]| ValueRange::of(values.into_iter());
        assert_eq!(Colours::of_means(range([0.0, 3.0])), Colours::Grey);
        assert_eq!(Colours::of_means(range([-1.0, 3.0])), Colours::Diverging);
        assert_eq!(Colours::of_means(range([f64::NAN, f64::NEG_INFINITY])), Colours::Grey);
    }

    #[test]
    fn a_range_without_width_has_defined_colours() {
        let range = ValueRange::of([2.0, f64::NAN, 2.0, f64::INFINITY].into_iter());
        assert_eq!(range, ValueRange { lo: 2.0, hi: 2.0 });
        assert_eq!(Colours::Grey.colour(2.0, range), [128; 3]);
        let zero = ValueRange::of([].into_iter());
        assert_eq!(Colours::Diverging.colour(0.0, zero), [255; 3]);
    }

    #[test]
    fn the_widest_range_does_not_overflow() {
        let range = ValueRange::fixed(f64::MIN, f64::MAX).unwrap();
        assert_eq!(Colours::Grey.colour(0.0, range), [128; 3]);
    }

    #[test]
    fn a_fixed_range_has_to_be_one() {
        for (lo, hi) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
            assert!(ValueRange::fixed(lo, hi).is_err());
        }
    }
}
