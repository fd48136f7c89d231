//! Drawing with fractions of a pixel through the drawing library, which knows whole pixels only.

use plotters::coord::Shift;
use plotters::prelude::{Circle, DrawingArea, IntoDrawingArea, PathElement, Rectangle, SVGBackend, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontTransform, IntoFont, RGBAColor, ShapeStyle, TextStyle};

use super::marks::Rgb;
use crate::IoError;

/// Units of the drawing a pixel: curves drawn on whole pixels would show steps.
const UNITS: u32 = 4;

/// The drawing library divides sizes of fonts by this before it writes them.
const FONT_FACTOR: f64 = 1.24;

/// Strokes and radii are kept at most this many pixels wide.
const WIDEST: f64 = 40.0;

/// How a text is placed and drawn.
#[derive(Clone, Copy)]
pub(super) struct TextLook {
    pub(super) size: f64,
    pub(super) colour: Rgb,
    pub(super) horizontal: HPos,
    pub(super) vertical: VPos,
    pub(super) upwards: bool,
}

/// A colour and an opacity.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ink(pub(super) Rgb, pub(super) f64);

impl Ink {
    fn rgba(self) -> RGBAColor {
        let Rgb([red, green, blue]) = self.0;
        let opacity = if self.1.is_nan() { 1.0 } else { self.1 };
        RGBAColor(red, green, blue, opacity.clamp(0.0, 1.0))
    }
}

/// A part of a drawing, in pixels from its upper left corner.
pub(super) struct Canvas<'a, 'text> {
    area: &'a DrawingArea<SVGBackend<'text>, Shift>,
    left: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// The text of an SVG file with what `draw` draws.
pub(super) fn svg(
    width: u32,
    height: u32,
    draw: impl FnOnce(&Canvas) -> Result<(), IoError>,
) -> Result<String, IoError> {
    let mut text = String::new();
    let (wide, high) = (width * UNITS, height * UNITS);
    {
        let area = SVGBackend::with_string(&mut text, (wide, high)).into_drawing_area();
        let canvas = Canvas { area: &area, left: 0.0, width: f64::from(width), height: f64::from(height) };
        canvas.rectangle((0.0, 0.0), (canvas.width, canvas.height), Ink(Rgb([255; 3]), 1.0))?;
        draw(&canvas)?;
        area.present().map_err(failed)?;
    }
    // The view box stays in units; only the size on the page is in pixels. Round joins keep the
    // sharp turns of noisy curves from growing spikes.
    let drawn_size = format!("width=\"{wide}\" height=\"{high}\"");
    let page_size = format!("width=\"{width}\" height=\"{height}\" stroke-linejoin=\"round\"");
    Ok(text.replacen(&drawn_size, &page_size, 1))
}

fn failed(error: impl std::fmt::Display) -> IoError {
    IoError::Figure { reason: error.to_string() }
}

fn stroke(pixels: f64) -> u32 {
    let pixels = if pixels.is_nan() { 1.0 } else { pixels };
    ((pixels.clamp(0.0, WIDEST) * f64::from(UNITS)).round() as u32).max(1)
}

impl<'text> Canvas<'_, 'text> {
    /// A part of this canvas over its whole height.
    pub(super) fn part(&self, left: f64, width: f64) -> Canvas<'_, 'text> {
        Canvas { area: self.area, left: self.left + left, width, height: self.height }
    }

    fn units(&self, (x, y): (f64, f64)) -> (i32, i32) {
        let unit = f64::from(UNITS);
        (((self.left + x) * unit).round() as i32, (y * unit).round() as i32)
    }

    /// A path through points.
    pub(super) fn path(&self, points: &[(f64, f64)], width: f64, ink: Ink) -> Result<(), IoError> {
        let mut points: Vec<_> = points.iter().map(|&point| self.units(point)).collect();
        // Long curves have many points in the same place; they only make the file larger.
        points.dedup();
        let style = ShapeStyle { color: ink.rgba(), filled: false, stroke_width: stroke(width) };
        self.area.draw(&PathElement::new(points, style)).map_err(failed)
    }

    /// A filled rectangle.
    pub(super) fn rectangle(&self, upper_left: (f64, f64), lower_right: (f64, f64), ink: Ink) -> Result<(), IoError> {
        let corners = [self.units(upper_left), self.units(lower_right)];
        let shape = Rectangle::new(corners, ink.rgba().filled());
        self.area.draw(&shape).map_err(failed)
    }

    /// A filled disc.
    pub(super) fn disc(&self, centre: (f64, f64), radius: f64, ink: Ink) -> Result<(), IoError> {
        let shape = Circle::new(self.units(centre), stroke(radius), ink.rgba().filled());
        self.area.draw(&shape).map_err(failed)
    }

    /// A text on one line.
    pub(super) fn text(&self, text: &str, at: (f64, f64), look: TextLook) -> Result<(), IoError> {
        // Control characters (line ends among them) would make the file invalid or be lost.
        let text: String = text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
        if text.trim().is_empty() {
            return Ok(());
        }
        let size = look.size * FONT_FACTOR * f64::from(UNITS);
        let mut font = ("sans-serif", size).into_font();
        if look.upwards {
            font = font.transform(FontTransform::Rotate270);
        }
        let colour = Ink(look.colour, 1.0).rgba();
        let style = TextStyle::from(font).color(&colour).pos(Pos::new(look.horizontal, look.vertical));
        let shape = Text::new(text, self.units(at), style);
        self.area.draw(&shape).map_err(failed)
    }
}
