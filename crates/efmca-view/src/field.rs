//! A field of values with one or three channels, such as a cause or a patch of an image.

use ndarray::{ArrayView2, ArrayView3};

use crate::ViewError;
use crate::colours::ValueRange;

/// The values of one cause or one patch: by row and column, or by row, column and channel (red, green and blue).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Field<'a> {
    /// One value a pixel.
    Plain(ArrayView2<'a, f64>),
    /// Three values a pixel.
    Colour(ArrayView3<'a, f64>),
}

impl<'a> From<ArrayView2<'a, f64>> for Field<'a> {
    fn from(field: ArrayView2<'a, f64>) -> Self {
        Self::Plain(field)
    }
}

impl<'a> From<ArrayView3<'a, f64>> for Field<'a> {
    fn from(field: ArrayView3<'a, f64>) -> Self {
        Self::Colour(field)
    }
}

/// Height, width and channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FieldSize {
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) channels: usize,
}

impl std::fmt::Display for FieldSize {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(formatter, "{} x {}", self.height, self.width)?;
        if self.channels == 1 { Ok(()) } else { write!(formatter, " x {} channels", self.channels) }
    }
}

impl<'a> Field<'a> {
    pub(crate) fn size(self) -> FieldSize {
        match self {
            Self::Plain(field) => FieldSize { height: field.nrows(), width: field.ncols(), channels: 1 },
            Self::Colour(field) => {
                let (height, width, channels) = field.dim();
                FieldSize { height, width, channels }
            }
        }
    }

    /// All values, in no order that matters.
    pub(crate) fn values(self) -> Box<dyn Iterator<Item = f64> + 'a> {
        match self {
            Self::Plain(field) => Box::new(field.into_iter().copied()),
            Self::Colour(field) => Box::new(field.into_iter().copied()),
        }
    }
}

/// The range of the finite values of all fields together; 0 to 0 if there are none.
pub(crate) fn range_of<'a>(fields: impl IntoIterator<Item = Field<'a>>) -> ValueRange {
    ValueRange::of(fields.into_iter().flat_map(Field::values))
}

/// The size that all fields have; `name` is that of a field by its position, for the error if one differs.
pub(crate) fn size_of_all<'a>(
    fields: impl IntoIterator<Item = Field<'a>>,
    name: impl Fn(usize) -> String,
) -> Result<FieldSize, ViewError> {
    let mut needed = None;
    for (index, field) in fields.into_iter().enumerate() {
        let size = field.size();
        if size.height == 0 || size.width == 0 {
            return Err(ViewError::EmptyField { field: name(index), height: size.height, width: size.width });
        }
        if let Field::Colour(_) = field
            && size.channels != 3
        {
            return Err(ViewError::Setting {
                what: "the number of channels of a field",
                value: size.channels.to_string(),
                hint: "a field in colour has 3; draw other channels one by one",
            });
        }
        let needed = *needed.get_or_insert(size);
        if size != needed {
            return Err(ViewError::FieldSize {
                field: name(index),
                found: size.to_string(),
                needed: needed.to_string(),
            });
        }
    }
    needed.ok_or(ViewError::Nothing { what: "field" })
}

/// The name of a field that has none of its own: its number, counted from 1.
pub(crate) fn numbered(index: usize) -> String {
    format!("field {}", index + 1)
}

/// A number in a few digits, for labels.
pub(crate) fn short_number(value: f64) -> String {
    let size = value.abs();
    let text = if size == 0.0 {
        "0".to_owned()
    } else if (1e-3..1e5).contains(&size) {
        let decimals = (2.0 - size.log10().floor()).clamp(0.0, 5.0) as usize;
        let text = format!("{value:.decimals$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    } else {
        format!("{value:.1e}")
    };
    text.replace('-', "\u{2212}")
}

/// The labels of the low end, the middle and the high end of a bar with the colours of `range`.
pub(crate) fn range_labels(range: ValueRange) -> [String; 3] {
    let (lo, hi) = range.ends();
    // A range without width has one colour, that of the middle.
    if lo == hi {
        return [String::new(), short_number(lo), String::new()];
    }
    // What is left of a difference by rounding is nothing beside the other end.
    let nothing = 1e-9 * lo.abs().max(hi.abs());
    [lo, lo / 2.0 + hi / 2.0, hi].map(|value| short_number(if value.abs() < nothing { 0.0 } else { value }))
}

/// An activation probability in two digits; a dash if it is not a number.
pub(crate) fn short_probability(pi: f64) -> String {
    match pi {
        pi if !pi.is_finite() => "\u{2013}".to_owned(),
        pi if pi == 0.0 || pi == 1.0 => format!("{pi}"),
        pi if pi >= 0.0995 => format!("{pi:.2}"),
        pi if pi >= 0.009_95 => format!("{pi:.3}"),
        pi if pi >= 0.000_995 => format!("{pi:.4}"),
        pi if pi >= 0.000_099_5 => format!("{pi:.5}"),
        pi => format!("{pi:.0e}").replace('-', "\u{2212}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, Array3};

    #[test]
    fn sizes_have_to_be_the_same() {
        let (plain, other) = (Array2::zeros((2, 3)), Array2::zeros((3, 2)));
        let (colour, four) = (Array3::zeros((2, 3, 3)), Array3::zeros((2, 3, 4)));
        let check = |fields: &[Field]| size_of_all(fields.iter().copied(), numbered);
        let (plain, other) = (Field::from(plain.view()), Field::from(other.view()));
        let (colour, four) = (Field::from(colour.view()), Field::from(four.view()));
        assert_eq!(check(&[plain, plain]).unwrap(), FieldSize { height: 2, width: 3, channels: 1 });
        let message = check(&[plain, other]).unwrap_err().to_string();
        assert!(message.contains("field 2 is 3 x 2 but 2 x 3 is needed"), "{message}");
        let message = check(&[plain, colour]).unwrap_err().to_string();
        assert!(message.contains("field 2 is 2 x 3 x 3 channels"), "{message}");
        assert!(check(&[four]).unwrap_err().to_string().contains("has 3"));
        assert!(check(&[]).unwrap_err().to_string().contains("no field"));
        let empty = Array2::zeros((0, 3));
        assert!(
            check(&[Field::from(empty.view())]).unwrap_err().to_string().contains("field 1 is 0 x 3 and has no pixel")
        );
    }

    #[test]
    fn labels_of_a_range() {
        let labels = |lo, hi| range_labels(ValueRange::between(lo, hi).unwrap());
        assert_eq!(labels(1e-30, 3.0), ["0", "1.5", "3"]);
        assert_eq!(labels(2.0, 2.0), ["", "2", ""]);
        assert_eq!(labels(f64::MIN, f64::MAX)[1], "0");
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (-1.5, "\u{2212}1.5"),
            (123.456, "123"),
            (0.012_345, "0.0123"),
            (2e-7, "2.0e\u{2212}7"),
            (1e6, "1.0e6"),
        ] {
            assert_eq!(short_number(value), text);
        }
        for (pi, text) in [
            (1.0, "1"),
            (0.25, "0.25"),
            (0.1, "0.10"),
            (0.021_4, "0.021"),
            (0.001_23, "0.0012"),
            (0.000_81, "0.00081"),
            (2e-5, "2e\u{2212}5"),
            (0.0, "0"),
            (f64::NAN, "\u{2013}"),
        ] {
            assert_eq!(short_probability(pi), text);
        }
    }
}
