//! A part of a drawing that a figure is drawn on.

use crate::Rgb;
use crate::drawing::{Across, Drawing, Ink, Shape, TextLook, Upright};

/// A part of a drawing, in pixels from its upper left corner.
pub(super) struct Canvas<'a> {
    drawing: &'a mut Drawing,
    left: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// How an upright text is drawn.
pub(super) fn look(size: f64, colour: Rgb, across: Across, upright: Upright) -> TextLook {
    TextLook { size, colour, across, upright, upwards: false }
}

impl<'a> Canvas<'a> {
    /// A part of a drawing over its whole height.
    pub(super) fn part(drawing: &'a mut Drawing, left: f64, width: f64) -> Self {
        let height = f64::from(drawing.height());
        Self { drawing, left, width, height }
    }

    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.left + x, y)
    }

    /// A path through points.
    pub(super) fn path(&mut self, points: &[(f64, f64)], width: f64, ink: Ink) {
        let points = points.iter().map(|&point| self.place(point)).collect();
        self.drawing.add(Shape::Path { points, width, ink });
    }

    /// A filled rectangle.
    pub(super) fn rectangle(&mut self, upper_left: (f64, f64), lower_right: (f64, f64), ink: Ink) {
        let (from, to) = (self.place(upper_left), self.place(lower_right));
        self.drawing.add(Shape::Rectangle { from, to, ink });
    }

    /// A filled disc.
    pub(super) fn disc(&mut self, centre: (f64, f64), radius: f64, ink: Ink) {
        let centre = self.place(centre);
        self.drawing.add(Shape::Disc { centre, radius, ink });
    }

    /// A text on one line.
    pub(super) fn text(&mut self, text: &str, at: (f64, f64), look: TextLook) {
        let at = self.place(at);
        self.drawing.text(text, at, look);
    }
}
