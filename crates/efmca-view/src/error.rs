//! The error of this crate: all of it is about pictures, but for files that could not be written.

use efmca_io::IoError;

/// Why a picture could not be drawn or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// There is nothing to draw.
    #[error("there is no {what} to draw; give at least one")]
    Nothing {
        /// The missing thing, in the singular.
        what: &'static str,
    },
    /// A field has no pixel.
    #[error("{field} is {height} x {width} and has no pixel; give fields with both sides at least 1")]
    EmptyField {
        /// Which field.
        field: String,
        /// Its height in pixels.
        height: usize,
        /// Its width in pixels.
        width: usize,
    },
    /// Fields of one picture differ in size.
    #[error("{field} is {found} but {needed} is needed, the size of the first field; give fields of one size")]
    FieldSize {
        /// Which field.
        field: String,
        /// Its height, width and number of channels.
        found: String,
        /// Those of the first field.
        needed: String,
    },
    /// A setting of a picture has no meaning.
    #[error("{what} is {value}; {hint}")]
    Setting {
        /// The name of the setting.
        what: &'static str,
        /// Its value as text.
        value: String,
        /// The values that are allowed.
        hint: &'static str,
    },
    /// A picture would have too many pixels.
    #[error(
        "the picture would be {width} x {height} pixels, more than the {limit} allowed in all; \
         use a smaller zoom or fewer fields"
    )]
    PictureTooLarge {
        /// The width in pixels.
        width: usize,
        /// The height in pixels.
        height: usize,
        /// The largest number of pixels.
        limit: usize,
    },
    /// A picture could not be turned into the bytes of a PNG file.
    #[error("cannot encode the picture as PNG: {source}; try a smaller picture")]
    Png {
        /// The error of the encoder.
        source: png::EncodingError,
    },
    /// The built-in font, in which the texts of PNG files are drawn, could not be opened.
    #[error(
        "cannot open the built-in font for the texts of the picture: {reason}; use SVG, which needs no font, and \
         please report this as a defect of efmca-view"
    )]
    Font {
        /// The message of the font reader.
        reason: String,
    },
    /// A file could not be written.
    #[error(transparent)]
    File(#[from] IoError),
}
