//! Fields in the colours of a map.

use super::colours::{NOT_A_NUMBER, ValueRange};
use super::{Colours, Picture};
use crate::{Field, IoError};

impl Colours {
    /// The colours for values in this range that are means: zero is in the middle where there are negative ones.
    pub(crate) fn of_means(range: ValueRange) -> Self {
        if range.ends().0 < 0.0 { Self::Diverging } else { Self::Grey }
    }
}

impl Picture {
    /// A field with a pixel for every value, in the colours of `range`. Three channels are red, green and blue, each
    /// from dark to bright; with [`Colours::Diverging`] zero is the middle of all of them.
    pub(crate) fn painted(field: Field, colours: Colours, range: ValueRange) -> Result<Self, IoError> {
        let size = field.size();
        let mut picture = Self::filled(size.width, size.height, [0; 3])?;
        let pixels = picture.rgb.chunks_exact_mut(3);
        match field {
            Field::Plain(field) => {
                for (pixel, &value) in pixels.zip(field) {
                    pixel.copy_from_slice(&colours.colour(value, range));
                }
            }
            Field::Colour(field) => {
                let range = if colours == Colours::Diverging { range.around_zero() } else { range };
                for (pixel, values) in pixels.zip(field.rows()) {
                    if values.iter().any(|value| value.is_nan()) {
                        pixel.copy_from_slice(&NOT_A_NUMBER);
                        continue;
                    }
                    for (byte, &value) in pixel.iter_mut().zip(values) {
                        *byte = Colours::Grey.colour(value, range)[0];
                    }
                }
            }
        }
        Ok(picture)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{arr2, arr3};

    fn painted(field: Field, colours: Colours) -> Vec<u8> {
        let range = crate::field::range_of([field]);
        Picture::painted(field, colours, range).unwrap().rgb().to_vec()
    }

    #[test]
    fn zero_is_neutral_and_signs_are_symmetric() {
        let field = arr2(&[[0.0, 2.0, -2.0, f64::NAN]]);
        let bytes = painted(field.view().into(), Colours::Diverging);
        assert_eq!(bytes, [255, 255, 255, 178, 24, 43, 33, 82, 163, 148, 87, 200]);
        let colour = arr3(&[[[0.0, 2.0, -2.0], [1.0, -1.0, f64::NAN], [-1.0, 1.0, 0.0]]]);
        let bytes = painted(colour.view().into(), Colours::Diverging);
        assert_eq!(bytes, [128, 255, 0, 148, 87, 200, 64, 191, 128]);
    }

    #[test]
    fn means_without_negative_values_are_grey() {
        let range = |values: [f64; 2]| ValueRange::of_values(values.into_iter());
        assert_eq!(Colours::of_means(range([0.0, 3.0])), Colours::Grey);
        assert_eq!(Colours::of_means(range([-1.0, 3.0])), Colours::Diverging);
        assert_eq!(Colours::of_means(range([f64::NAN, f64::NEG_INFINITY])), Colours::Grey);
    }

    #[test]
    fn a_constant_field_has_one_colour() {
        let field = arr2(&[[3.0, 3.0]]);
        assert_eq!(painted(field.view().into(), Colours::Grey), [128; 6]);
        assert_eq!(painted(field.view().into(), Colours::Sequential), [120, 198, 121, 120, 198, 121]);
    }
}
