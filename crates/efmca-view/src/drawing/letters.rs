//! Texts as pixels.

use ab_glyph::{Font, FontRef, Glyph, PxScale, point};

use super::raster::Raster;
use super::shapes::{Across, TextLook, printable};
use crate::ViewError;

/// DejaVu Sans with the letters that are needed; its licence is beside it.
const FONT: &[u8] = include_bytes!("../../font/DejaVuSans-subset.ttf");

/// The font of texts in pictures.
pub(super) struct Letters {
    font: FontRef<'static>,
}

impl Letters {
    /// Opens the font that is a part of this crate.
    ///
    /// # Errors
    ///
    /// [`ViewError::Font`] if it is not a font, which would be a defect of the crate.
    pub(super) fn new() -> Result<Self, ViewError> {
        Self::from_bytes(FONT)
    }

    fn from_bytes(bytes: &'static [u8]) -> Result<Self, ViewError> {
        let font = FontRef::try_from_slice(bytes).map_err(|error| ViewError::Font { reason: error.to_string() })?;
        Ok(Self { font })
    }

    /// Writes a text into a picture; its place and size are in pixels of the picture.
    pub(super) fn write(&self, raster: &mut Raster, text: &str, at: (f64, f64), look: TextLook) {
        let ems = self.font.units_per_em().unwrap_or(1000.0);
        // The library's sizes are from the lowest to the highest letter, ours are those of printers.
        let scale = PxScale::from(look.size as f32 * self.font.height_unscaled() / ems);
        let advance = |letter: char| {
            look.size * f64::from(self.font.h_advance_unscaled(self.font.glyph_id(letter))) / f64::from(ems)
        };
        let text = printable(text);
        let width: f64 = text.chars().map(advance).sum();
        let start = match look.across {
            Across::Left => 0.0,
            Across::Centre => -width / 2.0,
            Across::Right => -width,
        };
        // Letters stand on whole pixels, which makes them sharper.
        let (x, y) = if look.upwards {
            ((at.0 + look.to_baseline()).round(), at.1 - start)
        } else {
            (at.0 + start, (at.1 + look.to_baseline()).round())
        };
        let mut along = 0.0;
        for letter in text.chars() {
            let place = if look.upwards { y - along } else { x + along };
            let (whole, part) = (place.floor(), (place - place.floor()) as f32);
            // Upwards, a step along the text is a step to smaller heights.
            let part = if look.upwards { -part } else { part };
            let glyph: Glyph = self.font.glyph_id(letter).with_scale_and_position(scale, point(part, 0.0));
            if let Some(outline) = self.font.outline_glyph(glyph) {
                let bounds = outline.px_bounds();
                outline.draw(|column, row, coverage| {
                    let right = f64::from(bounds.min.x) + f64::from(column);
                    let down = f64::from(bounds.min.y) + f64::from(row);
                    let pixel = if look.upwards { (x + down, whole - right - 1.0) } else { (whole + right, y + down) };
                    raster.blend(pixel, look.colour, f64::from(coverage));
                });
            }
            along += advance(letter);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_font_is_told_as_a_damaged_font() {
        let error = Letters::from_bytes(&FONT[..100]).err().unwrap();
        assert!(matches!(error, ViewError::Font { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("the built-in font") && text.contains("efmca-view"), "{text}");
        assert!(!text.contains("figure"), "{text}");
        Letters::new().unwrap();
    }
}
