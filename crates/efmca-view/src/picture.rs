//! Pictures of red, green and blue bytes, as PNG.

mod painting;
mod regions;

use crate::ViewError;
pub use painting::common_range;
pub use regions::most_changed;

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
    /// [`ViewError::Setting`] if a side is 0, [`ViewError::PictureTooLarge`] for more than 100 million
    /// pixels.
    pub fn filled(width: usize, height: usize, colour: [u8; 3]) -> Result<Self, ViewError> {
        if width == 0 || height == 0 {
            return Err(ViewError::Setting {
                what: "the size of the picture",
                value: format!("{width} x {height}"),
                hint: "both sides have to be at least 1",
            });
        }
        match width.checked_mul(height) {
            Some(pixels) if pixels <= PIXEL_LIMIT => Ok(Self { width, height, rgb: colour.repeat(pixels) }),
            _ => Err(ViewError::PictureTooLarge { width, height, limit: PIXEL_LIMIT }),
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
    /// [`ViewError::Png`] if the encoder refuses the picture.
    pub fn to_png(&self) -> Result<Vec<u8>, ViewError> {
        let too_large = |_| ViewError::PictureTooLarge { width: self.width, height: self.height, limit: PIXEL_LIMIT };
        let width = u32::try_from(self.width).map_err(too_large)?;
        let height = u32::try_from(self.height).map_err(too_large)?;
        let mut png = Vec::new();
        let mut encoder = png::Encoder::new(&mut png, width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        // Tiles and texts compress well even so, and a large gallery is written in seconds.
        encoder.set_compression(png::Compression::Fast);
        encoder.set_filter(png::Filter::Adaptive);
        let encoded = encoder.write_header().and_then(|mut writer| {
            writer.write_image_data(&self.rgb)?;
            writer.finish()
        });
        encoded.map_err(|source| ViewError::Png { source })?;
        Ok(png)
    }

    /// This picture with every pixel made a square of `factor` by `factor` pixels.
    ///
    /// # Errors
    ///
    /// [`ViewError::Setting`] if `factor` is 0, [`ViewError::PictureTooLarge`] if it is too large.
    pub fn scaled(&self, factor: usize) -> Result<Self, ViewError> {
        if factor == 0 {
            return Err(ViewError::Setting {
                what: "the zoom",
                value: "0".to_owned(),
                hint: "it has to be at least 1",
            });
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
    /// [`ViewError::Nothing`] without pictures, [`ViewError::PictureTooLarge`] if they are too large
    /// together.
    pub fn beside(pictures: &[Self], gap: usize) -> Result<Self, ViewError> {
        let width = total_with_gaps(pictures.iter().map(Self::width), gap);
        let height = pictures.iter().map(Self::height).max();
        let height = height.ok_or(ViewError::Nothing { what: "picture" })?;
        let mut all = Self::filled(width, height, [WHITE; 3])?;
        let mut left = 0;
        for picture in pictures {
            all.paste(picture, left, 0);
            left += picture.width + gap;
        }
        Ok(all)
    }

    /// Pictures in a column from top to bottom, `gap` white pixels apart, aligned at the left.
    ///
    /// # Errors
    ///
    /// As [`Picture::beside`].
    pub fn stack(pictures: &[Self], gap: usize) -> Result<Self, ViewError> {
        let height = total_with_gaps(pictures.iter().map(Self::height), gap);
        let width = pictures.iter().map(Self::width).max();
        let width = width.ok_or(ViewError::Nothing { what: "picture" })?;
        let mut all = Self::filled(width, height, [WHITE; 3])?;
        let mut top = 0;
        for picture in pictures {
            all.paste(picture, 0, top);
            top += picture.height + gap;
        }
        Ok(all)
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

#[cfg(test)]
pub(crate) use tests::decoded;

#[cfg(test)]
mod tests;
