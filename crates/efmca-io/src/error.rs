//! The errors of this crate.

use std::io::ErrorKind;
use std::path::PathBuf;

/// What can go wrong when a file is read or written or a drawing is made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IoError {
    /// A folder that has to hold the file could not be made.
    #[error("cannot create the folder {}: {source}; {hint}", .path.display())]
    CreateFolder {
        /// The folder.
        path: PathBuf,
        /// What to do about it.
        hint: &'static str,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {}: {source}; {hint}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What to do about it.
        hint: &'static str,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A file could not be read.
    #[error("cannot read {}: {source}; {hint}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What to do about it.
        hint: &'static str,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A file does not hold a model, or only a part of one.
    #[error("there is no usable model in {}: {problem}; give a .safetensors file that efmca wrote", .path.display())]
    NotAModel {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A file is no checkpoint, or a damaged one.
    #[error("there is no usable checkpoint in {}: {problem}; give another one, or start a new run", .path.display())]
    NotACheckpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A file has no rows that can be read from it one by one.
    #[error("{}: {problem}; give an NPY file of rows and columns as numpy.save writes it", .path.display())]
    NotRows {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A model could not be turned into the bytes of a file.
    #[error("cannot put the model for {} into a file: {reason}; please report this as a defect of efmca-io", .path.display())]
    EncodeModel {
        /// The file that was to be written.
        path: PathBuf,
        /// What the encoder said.
        reason: String,
    },
    /// A file does not hold an image that can be read.
    #[error("cannot read an image from {}: {problem}; {hint}", .path.display())]
    NotAnImage {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        problem: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// A file does not hold a sound that can be read.
    #[error("cannot read a sound from {}: {problem}; {hint}", .path.display())]
    NotASound {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        problem: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// A file does not hold a table that can be read.
    #[error("cannot read a table from {}: {problem}; {hint}", .path.display())]
    NotATable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        problem: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// A table has no place in a file.
    #[error("cannot write this table to {}: {problem}; {hint}", .path.display())]
    TableCannotBeWritten {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        problem: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// A file that exists would be overwritten.
    #[error("{} exists already; choose another name, or allow it to be overwritten", .path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The name of a file does not say which format it should have.
    #[error("the name {} does not say which format to write; end it in {known}", .path.display())]
    UnknownExtension {
        /// The file.
        path: PathBuf,
        /// The endings that are known.
        known: &'static str,
    },
    /// A format has no place for these values.
    #[error("cannot write this image to {}: {problem}; {hint}", .path.display())]
    CannotHold {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        problem: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// A value has no place in the type of number that is to be written.
    #[error(
        "cannot write {} as {sample}: the value {value} at {place} {problem}; {hint}", .path.display()
    )]
    Unstorable {
        /// The file.
        path: PathBuf,
        /// The name of the type.
        sample: &'static str,
        /// The value.
        value: f64,
        /// Page, row, column and channel of the first such value, from 0.
        place: String,
        /// Why it has no place.
        problem: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// An image has another size than the one it belongs to.
    #[error(
        "{} has {} page(s) of {} rows x {} columns but {} page(s) of {} rows x {} columns are needed; \
         give a file of the same size", .path.display(), .found.0, .found.1, .found.2, .needed.0, .needed.1, .needed.2
    )]
    ImageSize {
        /// The file.
        path: PathBuf,
        /// Its pages, rows and columns.
        found: (usize, usize, usize),
        /// The pages, rows and columns that are needed.
        needed: (usize, usize, usize),
    },
    /// There is nothing to draw.
    #[error("there is no {what} to draw; give at least one")]
    Nothing {
        /// What is missing, in the singular.
        what: &'static str,
    },
    /// A field has no pixel.
    #[error("field {index} is {height} x {width} and has no pixel; give fields with both sides at least 1")]
    EmptyField {
        /// The position of the field, from 0.
        index: usize,
        /// Its height in pixels.
        height: usize,
        /// Its width in pixels.
        width: usize,
    },
    /// Fields of one mosaic differ in size.
    #[error(
        "field {index} is {height} x {width} but field 0 is {expected_height} x {expected_width}; \
         draw fields of different sizes in separate mosaics"
    )]
    FieldSize {
        /// The position of the field that differs, from 0.
        index: usize,
        /// Its height in pixels.
        height: usize,
        /// Its width in pixels.
        width: usize,
        /// The height of the first field.
        expected_height: usize,
        /// The width of the first field.
        expected_width: usize,
    },
    /// Fields of one drawing differ in size.
    #[error("{part} is {found} but {needed} is needed, as the first field has; give fields of one size")]
    PartSize {
        /// Which field.
        part: String,
        /// Its height, width and number of channels.
        found: String,
        /// Those of the first field.
        needed: String,
    },
    /// A setting of a drawing, or of what is made of a sound, has no meaning.
    #[error("{what} is {value}; {hint}")]
    Setting {
        /// The name of the setting.
        what: &'static str,
        /// Its value as text.
        value: String,
        /// What is allowed.
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
        /// What the encoder said.
        source: image::ImageError,
    },
    /// A figure could not be drawn.
    #[error("cannot draw the figure: {reason}; please report this as a defect of efmca-io")]
    Figure {
        /// What the drawing library said.
        reason: String,
    },
}

/// What a user can do about an error of this kind when a file is read.
pub(crate) fn hint_for_reading(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "check that the path is right",
        ErrorKind::PermissionDenied => "check that you may read it",
        ErrorKind::IsADirectory => "that path is a folder: give the name of a file in it",
        _ => "check that the path is right and that the file can be read",
    }
}
