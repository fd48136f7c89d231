//! The parts of a drawing.

use crate::Picture;

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

/// A colour and an opacity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ink(pub(crate) Rgb, pub(crate) f64);

impl Ink {
    /// The opacity, from 0 to 1.
    pub(super) fn opacity(self) -> f64 {
        if self.1.is_nan() { 1.0 } else { self.1.clamp(0.0, 1.0) }
    }
}

/// Which point across a text is at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Across {
    /// Its beginning.
    Left,
    /// Its middle.
    Centre,
    /// Its end.
    Right,
}

/// Which height of a text is at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upright {
    /// The top of capital letters.
    Top,
    /// The middle of capital letters.
    Centre,
    /// The line that letters stand on.
    Baseline,
}

/// How a text is placed and drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TextLook {
    /// The size of the font in pixels.
    pub(crate) size: f64,
    pub(crate) colour: Rgb,
    pub(crate) across: Across,
    pub(crate) upright: Upright,
    /// Whether it is read from the bottom to the top.
    pub(crate) upwards: bool,
}

impl TextLook {
    /// How far the line that letters stand on is under the place of the text, in pixels.
    pub(super) fn to_baseline(self) -> f64 {
        match self.upright {
            Upright::Top => 0.76 * self.size,
            Upright::Centre => 0.36 * self.size,
            Upright::Baseline => 0.0,
        }
    }
}

/// A part of a drawing, in pixels from the upper left corner of the page.
#[derive(Debug, Clone)]
pub(crate) enum Shape {
    /// A filled rectangle.
    Rectangle { from: (f64, f64), to: (f64, f64), ink: Ink },
    /// A path through points.
    Path { points: Vec<(f64, f64)>, width: f64, ink: Ink },
    /// A filled disc.
    Disc { centre: (f64, f64), radius: f64, ink: Ink },
    /// A text on one line.
    Text { text: String, at: (f64, f64), look: TextLook },
    /// A picture, with its upper left corner at a whole pixel.
    Image { left: u32, top: u32, picture: Picture },
}

/// Strokes and radii are kept at most this many pixels wide.
const WIDEST: f64 = 40.0;

/// The width of a stroke, or the radius of a disc, as it is drawn: in steps of a quarter of a pixel from 0.25 to 40.
pub(super) fn drawn_width(pixels: f64) -> f64 {
    let pixels = if pixels.is_nan() { 1.0 } else { pixels.clamp(0.25, WIDEST) };
    (4.0 * pixels).round() / 4.0
}

/// A text without control characters: line ends among them would be lost or make a file invalid.
pub(super) fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// About how wide a text is in pixels. Which font the reader of an SVG file has is not known, so that this is for a
/// wide one, such as that of PNG files.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    let ems: f64 = text
        .chars()
        .map(|character| match character {
            'i' | 'j' | 'l' | 'f' | 't' | 'I' | ' ' | '.' | ',' | ':' | ';' | '!' | '|' | '\'' | '(' | ')' | '['
            | ']' | '-' => 0.37,
            'm' | 'w' | 'M' | 'W' | '@' | '%' => 1.0,
            'A'..='Z' | '+' | '=' | '\u{2212}' | '\u{d7}' => 0.8,
            '\u{2e80}'.. => 1.0,
            _ => 0.63,
        })
        .sum();
    ems * size
}
