//! Drawings of shapes, texts and pictures, as SVG and as PNG.
//!
//! A drawing is a list of shapes first, so that both kinds of files show the same.

mod colour_bar;
mod letters;
mod raster;
mod shapes;
mod svg;

pub(crate) use colour_bar::ColourBar;
pub use shapes::Rgb;
pub(crate) use shapes::{Across, Ink, Shape, TextLook, Upright, text_width};

use crate::{Picture, ViewError};

/// A drawing that can be a file of SVG or of PNG.
///
/// [`Figure::draw`](crate::Figure::draw), [`Dictionary::draw`](crate::Dictionary::draw) and
/// [`encodings`](crate::encodings) make them.
#[derive(Debug, Clone)]
pub struct Drawing {
    width: u32,
    height: u32,
    shapes: Vec<Shape>,
}

impl Drawing {
    /// A white page.
    pub(crate) fn new(width: u32, height: u32) -> Self {
        let page = Shape::Rectangle {
            from: (0.0, 0.0),
            to: (f64::from(width), f64::from(height)),
            ink: Ink(crate::Rgb([255; 3]), 1.0),
        };
        Self { width, height, shapes: vec![page] }
    }

    /// Draws a shape over all others.
    pub(crate) fn add(&mut self, shape: Shape) {
        self.shapes.push(shape);
    }

    /// Writes a text on one line.
    pub(crate) fn text(&mut self, text: impl Into<String>, at: (f64, f64), look: TextLook) {
        self.add(Shape::Text { text: text.into(), at, look });
    }

    /// Draws the outline of a rectangle.
    pub(crate) fn outline(&mut self, from: (f64, f64), to: (f64, f64), width: f64, colour: crate::Rgb) {
        // Half a step beyond the first corner closes the last one as well.
        let points = vec![from, (to.0, from.1), to, (from.0, to.1), from, (from.0 + 0.5, from.1)];
        self.add(Shape::Path { points, width, ink: Ink(colour, 1.0) });
    }

    /// The width in pixels.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The height in pixels.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The text of an SVG file, with the pictures in it: it needs no other file. Texts are in the reader's sans-serif
    /// font.
    ///
    /// # Errors
    ///
    /// [`ViewError::Png`] if a picture in it cannot be encoded.
    pub fn to_svg(&self) -> Result<String, ViewError> {
        svg::svg(self)
    }

    /// The drawing as a picture with `zoom` by `zoom` pixels for every pixel of the drawing. A figure of curves is
    /// sharp in print with a zoom of 3 or 4; drawings of fields have many pixels already.
    ///
    /// Texts are in a font that is a part of this crate and has Latin and Greek letters; others are shown as boxes.
    ///
    /// # Errors
    ///
    /// [`ViewError::Setting`] if `zoom` is 0, [`ViewError::PictureTooLarge`] for more than 100 million pixels,
    /// [`ViewError::Font`] if the built-in font cannot be opened.
    pub fn to_picture(&self, zoom: usize) -> Result<Picture, ViewError> {
        raster::picture(self, zoom)
    }

    /// The bytes of a PNG file; see [`Drawing::to_picture`].
    ///
    /// # Errors
    ///
    /// As [`Drawing::to_picture`] and [`Picture::to_png`].
    pub fn to_png(&self, zoom: usize) -> Result<Vec<u8>, ViewError> {
        self.to_picture(zoom)?.to_png()
    }
}

#[cfg(test)]
mod tests;
