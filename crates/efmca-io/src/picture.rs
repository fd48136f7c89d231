//! Pictures of fields (learned causes) as PNG.

mod colours;
mod fields;
mod painted;

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};
use ndarray::ArrayView2;

use crate::IoError;
pub(crate) use colours::ValueRange;
pub use colours::{Colours, Scale};
pub use fields::common_range;

/// The largest number of pixels in a picture: a mistyped zoom gives an error and does not use up
/// the memory.
const PIXEL_LIMIT: usize = 100_000_000;

const WHITE: u8 = 255;

/// A picture of red, green and blue bytes, row by row from the top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    width: usize,
    height: usize,
    rgb: Vec<u8>,
}

impl Picture {
    /// A picture in one colour.
    ///
    /// # Errors
    ///
    /// [`IoError::Setting`] if a side is 0, [`IoError::PictureTooLarge`] for more than 100 million
    /// pixels.
    pub fn filled(width: usize, height: usize, colour: [u8; 3]) -> Result<Self, IoError> {
        if width == 0 || height == 0 {
            return Err(IoError::Setting {
                what: "the size of the picture",
                value: format!("{width} x {height}"),
                hint: "both sides have to be at least 1",
            });
        }
        match width.checked_mul(height) {
            Some(pixels) if pixels <= PIXEL_LIMIT => Ok(Self { width, height, rgb: colour.repeat(pixels) }),
            _ => Err(IoError::PictureTooLarge { width, height, limit: PIXEL_LIMIT }),
        }
    }

    /// The width in pixels, at least 1.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The height in pixels, at least 1.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The bytes: three a pixel, row by row from the top.
    pub fn rgb(&self) -> &[u8] {
        &self.rgb
    }

    /// The bytes of a PNG file with this picture.
    ///
    /// # Errors
    ///
    /// [`IoError::Png`] if the encoder refuses the picture.
    pub fn to_png(&self) -> Result<Vec<u8>, IoError> {
        let too_large = |_| IoError::PictureTooLarge { width: self.width, height: self.height, limit: PIXEL_LIMIT };
        let width = u32::try_from(self.width).map_err(too_large)?;
        let height = u32::try_from(self.height).map_err(too_large)?;
        let mut png = Vec::new();
        PngEncoder::new(&mut png)
            .write_image(&self.rgb, width, height, ExtendedColorType::Rgb8)
            .map_err(|source| IoError::Png { source })?;
        Ok(png)
    }

    /// This picture with every pixel made a square of `factor` by `factor` pixels.
    ///
    /// # Errors
    ///
    /// [`IoError::Setting`] if `factor` is 0, [`IoError::PictureTooLarge`] if it is too large.
    pub fn scaled(&self, factor: usize) -> Result<Self, IoError> {
        if factor == 0 {
            return Err(IoError::Setting { what: "the zoom", value: "0".to_owned(), hint: "it has to be at least 1" });
        }
        let width = self.width.saturating_mul(factor);
        let height = self.height.saturating_mul(factor);
        let mut scaled = Self::filled(width, height, [WHITE; 3])?;
        for (y, row) in scaled.rgb.chunks_exact_mut(3 * width).enumerate() {
            let from = 3 * self.width * (y / factor);
            for (x, pixel) in row.chunks_exact_mut(3).enumerate() {
                let at = from + 3 * (x / factor);
                pixel.copy_from_slice(&self.rgb[at..at + 3]);
            }
        }
        Ok(scaled)
    }

    /// Pictures in a row from left to right, `gap` white pixels apart, aligned at the top.
    ///
    /// # Errors
    ///
    /// [`IoError::Nothing`] without pictures, [`IoError::PictureTooLarge`] if they are too large
    /// together.
    pub fn beside(pictures: &[Self], gap: usize) -> Result<Self, IoError> {
        let width = total_with_gaps(pictures.iter().map(Self::width), gap);
        let height = pictures.iter().map(Self::height).max();
        let height = height.ok_or(IoError::Nothing { what: "picture" })?;
        let mut whole = Self::filled(width, height, [WHITE; 3])?;
        let mut left = 0;
        for picture in pictures {
            whole.paste(picture, left, 0);
            left += picture.width + gap;
        }
        Ok(whole)
    }

    /// Pictures in a column from top to bottom, `gap` white pixels apart, aligned at the left.
    ///
    /// # Errors
    ///
    /// As [`Picture::beside`].
    pub fn stack(pictures: &[Self], gap: usize) -> Result<Self, IoError> {
        let height = total_with_gaps(pictures.iter().map(Self::height), gap);
        let width = pictures.iter().map(Self::width).max();
        let width = width.ok_or(IoError::Nothing { what: "picture" })?;
        let mut whole = Self::filled(width, height, [WHITE; 3])?;
        let mut top = 0;
        for picture in pictures {
            whole.paste(picture, 0, top);
            top += picture.height + gap;
        }
        Ok(whole)
    }

    /// The bytes of a pixel, if there is one.
    pub(crate) fn pixel_mut(&mut self, x: usize, y: usize) -> Option<&mut [u8]> {
        if x >= self.width {
            return None;
        }
        let at = 3 * (y.checked_mul(self.width)? + x);
        self.rgb.get_mut(at..at + 3)
    }

    /// Copies `picture` into this one, which has to be large enough.
    pub(crate) fn paste(&mut self, picture: &Self, left: usize, top: usize) {
        for (y, row) in picture.rgb.chunks_exact(3 * picture.width).enumerate() {
            let start = 3 * ((top + y) * self.width + left);
            self.rgb[start..start + row.len()].copy_from_slice(row);
        }
    }
}

/// The length of parts put one after another; it stays at the largest number rather than wrap, so
/// that the check of the picture's size catches it.
fn total_with_gaps(lengths: impl ExactSizeIterator<Item = usize>, gap: usize) -> usize {
    let gaps = gap.saturating_mul(lengths.len().saturating_sub(1));
    lengths.fold(gaps, usize::saturating_add)
}

/// Draws fields of one size as tiles of one picture, from left to right and top to bottom.
///
/// `columns` is the number of tiles in a row; 0 chooses it so that the picture is near a square.
/// Every value becomes a square of `zoom` by `zoom` pixels; lines of `zoom` pixels separate the
/// tiles and frame the picture. Values that are not numbers are violet; infinite values and values
/// outside the range have the colour of the nearer end.
///
/// # Errors
///
/// [`IoError::Nothing`] without fields, [`IoError::EmptyField`] and [`IoError::FieldSize`] for
/// fields that cannot be tiles, [`IoError::Setting`] for a zoom of 0 or a fixed scale that is not a
/// range, [`IoError::PictureTooLarge`] for more than 100 million pixels.
pub fn mosaic(
    fields: &[ArrayView2<f64>],
    columns: usize,
    colours: Colours,
    scale: Scale,
    zoom: usize,
) -> Result<Picture, IoError> {
    let (height, width) = size_of_all(fields)?;
    let columns = match columns {
        0 => columns_near_square(fields.len(), height, width),
        given => given.min(fields.len()),
    };
    let rows = fields.len().div_ceil(columns);
    let whole_width = (width + 1).saturating_mul(columns).saturating_add(1);
    let whole_height = (height + 1).saturating_mul(rows).saturating_add(1);
    let shared = match scale {
        Scale::Each => None,
        Scale::Shared => Some(ValueRange::of(fields)),
        Scale::Fixed { lo, hi } => Some(ValueRange::fixed(lo, hi)?),
    };
    let mut whole = Picture::filled(whole_width, whole_height, colours.separator())?;
    for (index, field) in fields.iter().enumerate() {
        let range = shared.unwrap_or_else(|| ValueRange::of(std::slice::from_ref(field)));
        let left = 1 + (index % columns) * (width + 1);
        let top = 1 + (index / columns) * (height + 1);
        for ((y, x), &value) in field.indexed_iter() {
            let at = 3 * ((top + y) * whole_width + left + x);
            whole.rgb[at..at + 3].copy_from_slice(&colours.colour(value, range));
        }
    }
    whole.scaled(zoom)
}

/// The (height, width) that all fields have.
fn size_of_all(fields: &[ArrayView2<f64>]) -> Result<(usize, usize), IoError> {
    let first = fields.first().ok_or(IoError::Nothing { what: "field" })?;
    let (expected_height, expected_width) = first.dim();
    for (index, field) in fields.iter().enumerate() {
        let (height, width) = field.dim();
        if height == 0 || width == 0 {
            return Err(IoError::EmptyField { index, height, width });
        }
        if (height, width) != (expected_height, expected_width) {
            return Err(IoError::FieldSize { index, height, width, expected_height, expected_width });
        }
    }
    Ok((expected_height, expected_width))
}

/// The number of columns for which `count` tiles come nearest to a square, wider rather than higher.
fn columns_near_square(count: usize, height: usize, width: usize) -> usize {
    let ideal = (count as f64 * height as f64 / width as f64).sqrt();
    (ideal.ceil() as usize).clamp(1, count.max(1))
}

#[cfg(test)]
mod tests;
