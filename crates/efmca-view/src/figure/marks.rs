//! The content of a figure: curves, points, reference lines and texts.

use crate::Rgb;

/// Marks at places of a figure, all in one style: a curve ([`Line`]) or scattered points ([`Points`]).
#[derive(Debug, Clone)]
pub struct Marks<Shape> {
    pub(super) points: Vec<(f64, f64)>,
    pub(super) shape: Shape,
    pub(super) colour: Option<Rgb>,
    pub(super) opacity: Option<f64>,
    pub(super) label: Option<String>,
}

/// A curve through points, in the given order.
pub type Line = Marks<Stroke>;

/// Scattered points of one kind.
pub type Points = Marks<Disc>;

/// The stroke of a curve.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stroke {
    pub(super) width: Option<f64>,
}

/// The disc of a point.
#[derive(Debug, Clone, Copy)]
pub struct Disc {
    pub(super) radius: f64,
}

impl<Shape> Marks<Shape> {
    fn with_shape(points: impl IntoIterator<Item = (f64, f64)>, shape: Shape) -> Self {
        Self { points: points.into_iter().collect(), shape, colour: None, opacity: None, label: None }
    }

    /// Sets the colour, instead of the next one of the palette.
    #[must_use]
    pub fn colour(mut self, colour: Rgb) -> Self {
        self.colour = Some(colour);
        self
    }

    /// Sets the opacity, from 0 (not visible) to 1.
    #[must_use]
    pub fn opacity(mut self, opacity: f64) -> Self {
        self.opacity = Some(opacity);
        self
    }

    /// Sets the text in the legend; curves with the same text have one entry.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.label = Some(text.into());
        self
    }
}

impl Line {
    /// A curve with the next colour of the palette, and a width and opacity that suit the number of
    /// curves in the figure.
    pub fn new(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self::with_shape(points, Stroke::default())
    }

    /// Sets the width in pixels, drawn in steps of a quarter from 0.25 to 40.
    #[must_use]
    pub fn width(mut self, pixels: f64) -> Self {
        self.shape.width = Some(pixels);
        self
    }
}

impl Points {
    /// Points as small discs in the next colour of the palette, slightly transparent.
    pub fn new(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self::with_shape(points, Disc { radius: 3.0 })
    }

    /// Sets the radius in pixels, drawn in steps of a quarter from 0.25 to 40.
    #[must_use]
    pub fn radius(mut self, pixels: f64) -> Self {
        self.shape.radius = pixels;
        self
    }
}

/// A horizontal line over the whole figure, its label in the right margin.
#[derive(Debug, Clone)]
pub struct Reference {
    pub(super) y: f64,
    pub(super) colour: Rgb,
    pub(super) dashed: bool,
    pub(super) label: Option<String>,
}

impl Reference {
    /// A thin dashed grey line.
    pub fn dashed(y: f64) -> Self {
        Self { y, colour: Rgb::GREY, dashed: true, label: None }
    }

    /// A thick red line.
    pub fn thick_red(y: f64) -> Self {
        Self { y, colour: Rgb::RED, dashed: false, label: None }
    }

    /// Sets the colour of the line and its label.
    #[must_use]
    pub fn colour(mut self, colour: Rgb) -> Self {
        self.colour = colour;
        self
    }

    /// Sets the text beside the line.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.label = Some(text.into());
        self
    }

    /// The width in pixels.
    pub(super) fn width(&self) -> f64 {
        if self.dashed { 1.5 } else { 3.0 }
    }
}

/// A text that belongs to a place of the horizontal axis.
#[derive(Debug, Clone)]
pub struct Annotation {
    pub(super) x: f64,
    pub(super) y: Option<f64>,
    pub(super) text: String,
}

impl Annotation {
    /// A text over the frame, above `x`.
    pub fn above(x: f64, text: impl Into<String>) -> Self {
        Self { x, y: None, text: text.into() }
    }

    /// A text in the frame, just over the point (`x`, `y`).
    pub fn at(x: f64, y: f64, text: impl Into<String>) -> Self {
        Self { x, y: Some(y), text: text.into() }
    }
}
