//! Values as pixels: the one place where fields become pictures.

use ndarray::{ArrayView2, ArrayView3};

use super::Picture;
use crate::colours::{NOT_A_NUMBER, ValueRange};
use crate::field::{numbered, range_of, size_of_all};
use crate::{Colours, Field, ViewError};

/// The smallest and the largest finite value of all fields together, for pictures that are to be compared; 0 and 0 if
/// there is none.
pub fn common_range(fields: &[ArrayView2<f64>]) -> (f64, f64) {
    range_of(fields.iter().map(|field| Field::Plain(field.view()))).ends()
}

impl Picture {
    /// A field by row and column in grey: `lo` and below is black, `hi` and above white, NaN violet.
    ///
    /// Pictures that are drawn with the same range can be compared. With `lo = hi` all is middle grey.
    ///
    /// # Errors
    ///
    /// [`ViewError::Setting`] if the range is not one, [`ViewError::EmptyField`] without pixels,
    /// [`ViewError::PictureTooLarge`] for more than 100 million of them.
    pub fn grey(field: ArrayView2<f64>, lo: f64, hi: f64) -> Result<Self, ViewError> {
        Self::painted(Field::Plain(field), Colours::Grey, ValueRange::between(lo, hi)?)
    }

    /// A field by row, column and channel in colour, the channels red, green and blue: in each of them `lo` and below is
    /// dark and `hi` and above bright. A pixel with a NaN is violet.
    ///
    /// # Errors
    ///
    /// As [`Picture::grey`], and [`ViewError::Setting`] if there are not three channels.
    pub fn colour(field: ArrayView3<f64>, lo: f64, hi: f64) -> Result<Self, ViewError> {
        Self::painted(Field::Colour(field), Colours::Grey, ValueRange::between(lo, hi)?)
    }

    /// A field with a pixel for every value, in the colours of `range`. Three channels are red, green and blue, each
    /// from dark to bright; with [`Colours::Diverging`] zero is the middle of all of them.
    ///
    /// # Errors
    ///
    /// [`ViewError::EmptyField`], [`ViewError::Setting`] for channels that are not three, and
    /// [`ViewError::PictureTooLarge`].
    pub(crate) fn painted(field: Field, colours: Colours, range: ValueRange) -> Result<Self, ViewError> {
        let size = size_of_all([field], numbered)?;
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
    use ndarray::{Array3, ShapeBuilder, arr2, arr3};

    fn painted(field: Field, colours: Colours) -> Vec<u8> {
        let range = crate::field::range_of([field]);
        Picture::painted(field, colours, range).unwrap().rgb().to_vec()
    }

    #[test]
    fn the_range_is_shared() {
        let (noisy, clean) = (arr2(&[[-5.0, f64::NAN, 20.0]]), arr2(&[[0.0, 5.0, 10.0]]));
        assert_eq!(common_range(&[noisy.view(), clean.view()]), (-5.0, 20.0));
        let drawn = |field: &ndarray::Array2<f64>| Picture::grey(field.view(), 0.0, 10.0).unwrap().rgb().to_vec();
        assert_eq!(drawn(&clean), [0, 0, 0, 128, 128, 128, 255, 255, 255]);
        assert_eq!(drawn(&noisy), [0, 0, 0, 148, 87, 200, 255, 255, 255]);
    }

    #[test]
    fn three_channels_are_red_green_and_blue() {
        let field = arr3(&[[[0.0, 1.0, 2.0]], [[2.0, f64::NAN, 0.0]]]);
        let picture = Picture::colour(field.view(), 0.0, 2.0).unwrap();
        assert_eq!((picture.width(), picture.height()), (1, 2));
        assert_eq!(picture.rgb(), [0, 128, 255, 148, 87, 200]);
        // the memory order of the array does not matter
        let mut turned = Array3::zeros(field.raw_dim().f());
        turned.assign(&field);
        assert_eq!(Picture::colour(turned.view(), 0.0, 2.0).unwrap().rgb(), picture.rgb());
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let field = arr2(&[[1.0]]);
        assert_eq!(Picture::grey(field.view(), 1.0, 1.0).unwrap().rgb(), [128; 3]);
        for (lo, hi) in [(1.0, 0.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
            assert!(matches!(Picture::grey(field.view(), lo, hi), Err(ViewError::Setting { .. })));
        }
        let two = Array3::zeros((2, 2, 2));
        assert!(Picture::colour(two.view(), 0.0, 1.0).unwrap_err().to_string().contains("has 3"));
        assert!(matches!(
            Picture::colour(Array3::zeros((0, 2, 3)).view(), 0.0, 1.0),
            Err(ViewError::EmptyField { .. })
        ));
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
    fn a_constant_field_has_one_colour() {
        let field = arr2(&[[3.0, 3.0]]);
        assert_eq!(painted(field.view().into(), Colours::Grey), [128; 6]);
        assert_eq!(painted(field.view().into(), Colours::Sequential), [120, 198, 121, 120, 198, 121]);
    }
}
