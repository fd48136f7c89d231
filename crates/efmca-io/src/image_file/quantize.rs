//! Values as the numbers of a file: scaling, rounding, and what they cost.

use std::path::Path;

use ndarray::{Array4, ArrayView4};

use super::sample_type::SampleType;
use crate::IoError;

/// The change of values before they are stored: `stored = value * factor + offset`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValueScale {
    /// The factor, not 0.
    pub factor: f64,
    /// The offset, added after the factor.
    pub offset: f64,
}

impl ValueScale {
    /// The scale that takes the smallest value to the smallest number of the type and the largest
    /// to the largest.
    ///
    /// `None` for types with a fraction, which need no scale, and if no value is finite.
    pub fn filling(values: ArrayView4<f64>, sample: SampleType) -> Option<Self> {
        if sample.is_float() {
            return None;
        }
        let finite = values.iter().copied().filter(|value| value.is_finite());
        let (least, most) =
            finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)));
        let (low, high) = sample.range();
        let spread = most - least;
        if least > most || !spread.is_finite() {
            return None;
        }
        let factor = (high - low) / spread;
        // All values are the same, or so close that their differences cannot be scaled up.
        if !factor.is_finite() || factor == 0.0 {
            return Some(Self { factor: 1.0, offset: low - least });
        }
        Some(Self { factor, offset: low - least * factor })
    }

    fn is_usable(self) -> bool {
        self.factor.is_finite() && self.factor != 0.0 && self.offset.is_finite()
    }
}

/// The cost of storing values in a type.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RoundingCost {
    /// The root of the mean square difference between what is stored and the values, in units of
    /// the values; values that cannot be stored are left out.
    pub rms: f64,
    /// How many values are changed by rounding.
    pub rounded: usize,
    /// How many are beyond the range of the type.
    pub out_of_range: usize,
    /// How many are not a number, for a type that has no such number.
    pub not_a_number: usize,
}

/// The changes that [`write`](super::write) would make if it stored the values in this type.
pub fn rounding_cost(values: ArrayView4<f64>, sample: SampleType, scale: Option<ValueScale>) -> RoundingCost {
    let mut tally = Tally::default();
    for value in values {
        tally.add(*value, stored(*value, sample, scale), scale);
    }
    tally.cost()
}

/// Values as they will stand in the file, and what that changed.
pub(crate) struct Quantized {
    pub(crate) stored: Array4<f64>,
    pub(crate) cost: RoundingCost,
}

/// The numbers to store.
///
/// With a scale, values beyond the range become its ends and are counted; without one they are an
/// error. What is not a number is an error for every type without such a number.
pub(crate) fn quantize(
    path: &Path,
    values: ArrayView4<f64>,
    sample: SampleType,
    scale: Option<ValueScale>,
) -> Result<Quantized, IoError> {
    if let Some(scale) = scale.filter(|scale| !scale.is_usable()) {
        return Err(IoError::Setting {
            what: "the scale of the values",
            value: format!("{} and {}", scale.factor, scale.offset),
            hint: "the factor has to be finite and not 0, the offset finite",
        });
    }
    let mut tally = Tally::default();
    let mut numbers = Vec::with_capacity(values.len());
    for ((page, row, column, channel), value) in values.indexed_iter() {
        let kept = stored(*value, sample, scale);
        let problem = match kept {
            Stored::NotANumber => Some(("has no place in a type of integers".to_owned(), "write f32 or f64")),
            Stored::Beyond(_) if scale.is_none() => {
                let (low, high) = sample.range();
                Some((
                    format!("is outside {low} to {high}"),
                    if sample.is_float() {
                        "write f64, or scale the values"
                    } else {
                        "write a type with a larger range, such as f32, or scale the values"
                    },
                ))
            }
            _ => None,
        };
        if let Some((problem, hint)) = problem {
            return Err(IoError::Unstorable {
                path: path.to_path_buf(),
                sample: sample.name(),
                value: *value,
                place: efmca::Pixel { page, row, column, channel }.to_string(),
                problem,
                hint,
            });
        }
        tally.add(*value, kept, scale);
        numbers.push(kept.number());
    }
    // There are as many numbers as values, so that the shape always fits.
    let stored = Array4::from_shape_vec(values.dim(), numbers).unwrap_or_else(|_| values.to_owned());
    Ok(Quantized { stored, cost: tally.cost() })
}

/// A value after it was stored.
#[derive(Clone, Copy)]
enum Stored {
    Within(f64),
    /// The end of the range that is nearest.
    Beyond(f64),
    NotANumber,
}

impl Stored {
    fn number(self) -> f64 {
        match self {
            Self::Within(number) | Self::Beyond(number) => number,
            Self::NotANumber => 0.0,
        }
    }
}

fn stored(value: f64, sample: SampleType, scale: Option<ValueScale>) -> Stored {
    let value = scale.map_or(value, |scale| value * scale.factor + scale.offset);
    let (low, high) = sample.range();
    if sample == SampleType::F64 || (sample.is_float() && !value.is_finite()) {
        return Stored::Within(value);
    }
    if value.is_nan() {
        return Stored::NotANumber;
    }
    let rounded = if sample.is_float() { f64::from(value as f32) } else { value.round_ties_even() };
    if rounded < low {
        Stored::Beyond(low)
    } else if rounded > high {
        Stored::Beyond(high)
    } else {
        Stored::Within(rounded)
    }
}

/// Counts of what rounding did.
#[derive(Default)]
struct Tally {
    cost: RoundingCost,
    squares: f64,
    count: usize,
}

impl Tally {
    fn add(&mut self, value: f64, kept: Stored, scale: Option<ValueScale>) {
        match kept {
            Stored::Beyond(_) => self.cost.out_of_range += 1,
            Stored::NotANumber => self.cost.not_a_number += 1,
            Stored::Within(number) if value.is_finite() => {
                let exact = scale.map_or(value, |scale| value * scale.factor + scale.offset);
                let difference = number - exact;
                self.cost.rounded += usize::from(difference != 0.0);
                let difference = scale.map_or(difference, |scale| difference / scale.factor);
                self.squares += difference * difference;
                self.count += 1;
            }
            Stored::Within(_) => {}
        }
    }

    fn cost(self) -> RoundingCost {
        let rms = if self.count == 0 { 0.0 } else { (self.squares / self.count as f64).sqrt() };
        RoundingCost { rms, ..self.cost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[f64]) -> Array4<f64> {
        Array4::from_shape_vec((1, 1, values.len(), 1), values.to_vec()).unwrap()
    }

    #[test]
    fn halves_are_rounded_to_even() {
        let values = row(&[0.5, 1.5, 2.5, 3.0, 254.5]);
        let quantized = quantize(Path::new("x.png"), values.view(), SampleType::U8, None).unwrap();
        assert_eq!(quantized.stored, row(&[0.0, 2.0, 2.0, 3.0, 254.0]));
        assert_eq!(quantized.cost.rounded, 4);
        assert!((quantized.cost.rms - 0.2_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn beyond_the_range_is_an_error_that_names_the_pixel_unless_scaled() {
        let values = row(&[1.0, 300.0, -1.0]);
        let error = quantize(Path::new("x.png"), values.view(), SampleType::U8, None).err().unwrap().to_string();
        assert!(error.contains("300") && error.contains("column 2") && error.contains("0 to 255"), "{error}");
        let scale = ValueScale { factor: 1.0, offset: 0.0 };
        let quantized = quantize(Path::new("x.png"), values.view(), SampleType::U8, Some(scale)).unwrap();
        assert_eq!(quantized.stored, row(&[1.0, 255.0, 0.0]));
        assert_eq!(quantized.cost.out_of_range, 2);
        let large = row(&[1e300]);
        let error = quantize(Path::new("x.tif"), large.view(), SampleType::F32, None).err().unwrap().to_string();
        assert!(error.contains("write f64") && !error.contains("such as f32"), "{error}");
        let infinite = row(&[f64::INFINITY, f64::NAN]);
        assert!(quantize(Path::new("x.tif"), infinite.view(), SampleType::F32, None).is_ok());
    }

    #[test]
    fn what_is_not_a_number_is_an_error_for_integers() {
        let values = row(&[1.0, f64::NAN]);
        let scale = ValueScale { factor: 2.0, offset: 0.0 };
        for scale in [None, Some(scale)] {
            let error = quantize(Path::new("x.png"), values.view(), SampleType::U8, scale).err().unwrap();
            assert!(error.to_string().contains("column 2"), "{error}");
        }
        assert_eq!(rounding_cost(values.view(), SampleType::U8, None).not_a_number, 1);
    }

    #[test]
    fn a_scale_fills_the_range_and_its_cost_is_small() {
        let values = row(&[-2.0, 0.1, 0.7, 6.0, f64::NAN]);
        let scale = ValueScale::filling(values.view(), SampleType::U16).unwrap();
        assert!((-2.0 * scale.factor + scale.offset).abs() < 1e-9);
        assert!((6.0 * scale.factor + scale.offset - 65535.0).abs() < 1e-9);
        let cost = rounding_cost(values.view(), SampleType::U16, Some(scale));
        assert!(cost.rms > 0.0 && cost.rms < 8.0 / 65535.0);
        assert_eq!(cost.out_of_range, 0);
        let constant = ValueScale::filling(row(&[5.0, 5.0]).view(), SampleType::U8).unwrap();
        assert_eq!(constant, ValueScale { factor: 1.0, offset: -5.0 });
        assert_eq!(ValueScale::filling(values.view(), SampleType::F32), None);
        assert_eq!(ValueScale::filling(row(&[f64::NAN]).view(), SampleType::U8), None);
    }

    #[test]
    fn a_scale_without_meaning_is_refused() {
        for factor in [0.0, f64::NAN, f64::INFINITY] {
            let scale = Some(ValueScale { factor, offset: 0.0 });
            assert!(quantize(Path::new("x"), row(&[1.0]).view(), SampleType::U8, scale).is_err());
        }
    }
}
