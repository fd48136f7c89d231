//! Pictures of whole images, with a range of values that several of them can share.

use ndarray::{ArrayView2, ArrayView3};

use super::colours::{NOT_A_NUMBER, ValueRange};
use super::{Colours, Picture};
use crate::IoError;

/// The smallest and the largest finite value of all fields together, for pictures that are to be compared; 0 and 0 if
/// there is none.
pub fn common_range(fields: &[ArrayView2<f64>]) -> (f64, f64) {
    ValueRange::of(fields).ends()
}

impl Picture {
    /// A field by row and column in grey: `lo` and below is black, `hi` and above white, NaN violet.
    ///
    /// Pictures that are drawn with the same range can be compared. With `lo = hi` all is middle grey.
    ///
    /// # Errors
    ///
    /// [`IoError::Setting`] if the range is not one, [`IoError::EmptyField`] without pixels,
    /// [`IoError::PictureTooLarge`] for more than 100 million of them.
    pub fn grey(field: ArrayView2<f64>, lo: f64, hi: f64) -> Result<Self, IoError> {
        let range = ValueRange::between(lo, hi)?;
        let mut picture = blank(field.nrows(), field.ncols())?;
        for (pixel, &value) in picture.rgb.chunks_exact_mut(3).zip(field) {
            pixel.copy_from_slice(&Colours::Grey.colour(value, range));
        }
        Ok(picture)
    }

    /// A field by row, column and channel in colour, the channels red, green and blue: in each of them `lo` and below is
    /// dark and `hi` and above bright. A pixel with a NaN is violet.
    ///
    /// # Errors
    ///
    /// As [`Picture::grey`], and [`IoError::Setting`] if there are not three channels.
    pub fn colour(field: ArrayView3<f64>, lo: f64, hi: f64) -> Result<Self, IoError> {
        let range = ValueRange::between(lo, hi)?;
        let (rows, columns, channels) = field.dim();
        if channels != 3 {
            return Err(IoError::Setting {
                what: "the number of channels of the picture",
                value: channels.to_string(),
                hint: "a picture in colour has 3; draw other channels one by one in grey",
            });
        }
        let mut picture = blank(rows, columns)?;
        for (pixel, values) in picture.rgb.chunks_exact_mut(3).zip(field.rows()) {
            if values.iter().any(|value| value.is_nan()) {
                pixel.copy_from_slice(&NOT_A_NUMBER);
                continue;
            }
            for (byte, &value) in pixel.iter_mut().zip(values) {
                *byte = Colours::Grey.colour(value, range)[0];
            }
        }
        Ok(picture)
    }
}

fn blank(rows: usize, columns: usize) -> Result<Picture, IoError> {
    if rows == 0 || columns == 0 {
        return Err(IoError::EmptyField { index: 0, height: rows, width: columns });
    }
    Picture::filled(columns, rows, [0; 3])
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array3, ShapeBuilder, arr2, arr3};

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
            assert!(matches!(Picture::grey(field.view(), lo, hi), Err(IoError::Setting { .. })));
        }
        let two = Array3::zeros((2, 2, 2));
        assert!(Picture::colour(two.view(), 0.0, 1.0).unwrap_err().to_string().contains("has 3"));
        assert!(matches!(Picture::colour(Array3::zeros((0, 2, 3)).view(), 0.0, 1.0), Err(IoError::EmptyField { .. })));
    }
}
