//! Metadata: everything in a file besides its numbers.

use ndarray::Array3;

use super::axes::Axes;
use super::format::Format;
use super::sample_type::SampleType;

/// The meaning of the channels of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Colour {
    /// One channel.
    Grey,
    /// Red, green and blue.
    Rgb,
    /// Any other channels: spectral bands, stains.
    Channels,
}

impl Colour {
    /// The usual meaning of this many channels.
    pub(crate) fn of_channels(channels: usize) -> Self {
        match channels {
            1 => Self::Grey,
            3 => Self::Rgb,
            _ => Self::Channels,
        }
    }
}

/// The length that a resolution refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResolutionUnit {
    /// Only the aspect ratio is known, or the unit is named elsewhere (ImageJ does so).
    Unknown,
    /// Pixels for each inch.
    Inch,
    /// Pixels for each centimetre.
    Centimetre,
    /// Pixels for each metre.
    Metre,
}

/// How many pixels a length has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resolution {
    /// Pixels along a row.
    pub x: f64,
    /// Pixels along a column.
    pub y: f64,
    /// The length.
    pub unit: ResolutionUnit,
}

impl Resolution {
    /// The factor that makes pixels for each metre, if the unit is known.
    pub(crate) fn to_metre(self) -> Option<f64> {
        match self.unit {
            ResolutionUnit::Unknown => None,
            ResolutionUnit::Inch => Some(1.0 / 0.0254),
            ResolutionUnit::Centimetre => Some(100.0),
            ResolutionUnit::Metre => Some(1.0),
        }
    }
}

/// Chunks of a PNG file that say how its numbers are shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PngColour {
    pub(crate) gamma: Option<png::ScaledFloat>,
    pub(crate) chromaticities: Option<png::SourceChromaticities>,
    pub(crate) srgb: Option<png::SrgbRenderingIntent>,
}

/// Everything in a file besides its numbers, so that a result can be written that looks like it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Metadata {
    /// The format of the file.
    pub format: Format,
    /// The type of its numbers. Where FITS scales them (BSCALE, BZERO) it is the type that can hold
    /// the scaled numbers.
    pub sample: SampleType,
    /// The channels, alpha left out.
    pub colour: Colour,
    /// Alpha by page, row and column, as it is in the file.
    pub alpha: Option<Array3<f64>>,
    /// The axes of the array in the file.
    pub axes: Axes,
    /// The extents of those axes.
    pub shape: Vec<usize>,
    /// The name of the array in an NPZ file.
    pub array: Option<String>,
    /// Keys and values that efmca wrote.
    pub notes: Vec<(String, String)>,
    /// Other text: the text chunks of PNG, and of TIFF `Description` and `Software`.
    pub text: Vec<(String, String)>,
    /// How many pixels a length has.
    pub resolution: Option<Resolution>,
    /// The header of a FITS file without the cards that describe the array, 80 characters each.
    pub cards: Vec<String>,
    /// The ICC profile of PNG and TIFF.
    pub icc_profile: Option<Vec<u8>>,
    pub(crate) white_is_zero: bool,
    pub(crate) png: PngColour,
}

impl Metadata {
    /// Metadata of a grey image, to be filled in.
    pub(crate) fn new(format: Format, sample: SampleType) -> Self {
        Self {
            format,
            sample,
            colour: Colour::Grey,
            alpha: None,
            axes: Axes::with_pages(0, "yx"),
            shape: Vec::new(),
            array: None,
            notes: Vec::new(),
            text: Vec::new(),
            resolution: None,
            cards: Vec::new(),
            icc_profile: None,
            white_is_zero: false,
            png: PngColour::default(),
        }
    }

    /// The value of a note.
    pub fn note(&self, key: &str) -> Option<&str> {
        let key = key.strip_prefix(super::notes::PREFIX).unwrap_or(key);
        self.notes.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// The text under a keyword.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.text.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}
