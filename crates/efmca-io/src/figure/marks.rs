//! What a figure shows: curves, points, reference lines and texts.

/// A colour as red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rgb(
    /// The red, green and blue parts.
    pub [u8; 3],
);

impl Rgb {
    /// Black.
    pub const BLACK: Self = Self([0, 0, 0]);
    /// A grey of middle strength.
    pub const GREY: Self = Self([110, 110, 110]);
    /// The red of thick reference lines, which is not in the palette.
    pub const RED: Self = Self([214, 20, 32]);

    /// The colour with this number in a palette that stays distinct for colour-blind readers; the
    /// palette repeats after its end.
    pub fn palette(number: usize) -> Self {
        // The colours of Okabe and Ito without black and yellow (too faint on white), then two more.
        const PALETTE: [[u8; 3]; 8] = [
            [0, 114, 178],
            [230, 159, 0],
            [0, 158, 115],
            [204, 121, 167],
            [86, 180, 233],
            [213, 94, 0],
            [120, 94, 170],
            [120, 90, 70],
        ];
        Self(PALETTE[number % PALETTE.len()])
    }
}

/// A curve through points, in the given order.
#[derive(Debug, Clone)]
pub struct Line {
    pub(super) points: Vec<(f64, f64)>,
    pub(super) colour: Option<Rgb>,
    pub(super) width: Option<f64>,
    pub(super) opacity: Option<f64>,
    pub(super) label: Option<String>,
}

impl Line {
    /// A curve with the next colour of the palette, and a width and opacity that suit the number of
    /// curves in the figure.
    pub fn new(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { points: points.into_iter().collect(), colour: None, width: None, opacity: None, label: None }
    }

    /// Sets the colour.
    #[must_use]
    pub fn colour(mut self, colour: Rgb) -> Self {
        self.colour = Some(colour);
        self
    }

    /// Sets the width in pixels, drawn in steps of a quarter from 0.25 to 40.
    #[must_use]
    pub fn width(mut self, pixels: f64) -> Self {
        self.width = Some(pixels);
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

/// Scattered points of one kind.
#[derive(Debug, Clone)]
pub struct Points {
    pub(super) points: Vec<(f64, f64)>,
    pub(super) colour: Option<Rgb>,
    pub(super) radius: f64,
    pub(super) opacity: f64,
    pub(super) label: Option<String>,
}

impl Points {
    /// Points as small discs in the next colour of the palette.
    pub fn new(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { points: points.into_iter().collect(), colour: None, radius: 3.0, opacity: 0.85, label: None }
    }

    /// Sets the colour.
    #[must_use]
    pub fn colour(mut self, colour: Rgb) -> Self {
        self.colour = Some(colour);
        self
    }

    /// Sets the radius in pixels, drawn in steps of a quarter from 0.25 to 40.
    #[must_use]
    pub fn radius(mut self, pixels: f64) -> Self {
        self.radius = pixels;
        self
    }

    /// Sets the opacity, from 0 (not visible) to 1.
    #[must_use]
    pub fn opacity(mut self, opacity: f64) -> Self {
        self.opacity = opacity;
        self
    }

    /// Sets the text in the legend.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.label = Some(text.into());
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
