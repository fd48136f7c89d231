//! The error of this crate: all of it is about files.

use std::io::ErrorKind;
use std::path::PathBuf;

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IoError {
    /// A folder that has to hold the file could not be made.
    #[error("cannot create the folder {}: {source}; {hint}", .path.display())]
    CreateFolder {
        /// The folder.
        path: PathBuf,
        /// A remedy, ready to be printed.
        hint: &'static str,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {}: {source}; {hint}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// A remedy, ready to be printed.
        hint: &'static str,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A file could not be read.
    #[error("cannot read {}: {source}; {hint}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// A remedy, ready to be printed.
        hint: &'static str,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A file does not hold a model, or only a part of one.
    #[error("there is no usable model in {}: {problem}; give a .safetensors file that efmca wrote", .path.display())]
    NotAModel {
        /// The file.
        path: PathBuf,
        /// The fault.
        problem: String,
    },
    /// A file is no checkpoint, or a damaged one.
    #[error("there is no usable checkpoint in {}: {problem}; give another one, or start a new run", .path.display())]
    NotACheckpoint {
        /// The file.
        path: PathBuf,
        /// The fault.
        problem: String,
    },
    /// A file does not hold the numbers of a camera.
    #[error("there is no usable camera in {}: {problem}; {}", .path.display(), crate::camera_file::hint())]
    NotACamera {
        /// The file.
        path: PathBuf,
        /// The fault, with its key.
        problem: String,
    },
    /// A file does not say what is known of causes.
    #[error("{}: {problem}", .path.display())]
    Signs {
        /// The file.
        path: PathBuf,
        /// The fault with its line and column, and what to do.
        problem: String,
    },
    /// A file does not say which columns belong together.
    #[error("{}: {problem}", .path.display())]
    Views {
        /// The file.
        path: PathBuf,
        /// The fault with its line and column, and what to do.
        problem: String,
    },
    /// A file has no rows that can be read from it one by one.
    #[error("{}: {problem}; give an NPY file of rows and columns as numpy.save writes it", .path.display())]
    NotRows {
        /// The file.
        path: PathBuf,
        /// The fault.
        problem: String,
    },
    /// A model could not be turned into the bytes of a file.
    #[error("cannot put the model for {} into a file: {reason}; please report this as a defect of efmca-io", .path.display())]
    EncodeModel {
        /// The file that was to be written.
        path: PathBuf,
        /// The error of the encoder.
        reason: String,
    },
    /// A file does not hold an image that can be read.
    #[error("cannot read an image from {}: {problem}; {hint}", .path.display())]
    NotAnImage {
        /// The file.
        path: PathBuf,
        /// The fault and its place.
        problem: String,
        /// A remedy, ready to be printed.
        hint: &'static str,
    },
    /// A file does not hold a sound that can be read.
    #[error("cannot read a sound from {}: {problem}; {hint}", .path.display())]
    NotASound {
        /// The file.
        path: PathBuf,
        /// The fault and its place.
        problem: String,
        /// A remedy, ready to be printed.
        hint: &'static str,
    },
    /// A file does not hold a table that can be read.
    #[error("cannot read a table from {}: {problem}; {hint}", .path.display())]
    NotATable {
        /// The file.
        path: PathBuf,
        /// The fault and its place.
        problem: String,
        /// A remedy, ready to be printed.
        hint: &'static str,
    },
    /// A table has no place in a file.
    #[error("cannot write this table to {}: {problem}; {hint}", .path.display())]
    TableCannotBeWritten {
        /// The file.
        path: PathBuf,
        /// The setting that does not fit.
        problem: String,
        /// A remedy, ready to be printed.
        hint: &'static str,
    },
    /// A file that exists would be overwritten.
    #[error("{} exists already; choose another name, or allow it to be overwritten", .path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Another program is writing to the same place.
    #[error(
        "{}: another run writes there now{by}; wait until it has ended, or choose another place", .path.display()
    )]
    InUse {
        /// The file or folder.
        path: PathBuf,
        /// The other program, if it is known, ready to be printed.
        by: String,
    },
    /// Something else has the name of the file that locks a place.
    #[error(
        "{}: a lock would have this name, but this is no lock of efmca; move it away, or choose another place for the result",
        .path.display()
    )]
    NotALock {
        /// The file, link or folder of that name.
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
        /// The setting that does not fit.
        problem: String,
        /// A remedy, ready to be printed.
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
        /// Page, row, column and channel of the first such value, counted from 1.
        place: String,
        /// Why it has no place.
        problem: String,
        /// A remedy, ready to be printed.
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
    /// A setting for reading, writing or converting has no meaning, such as the rate of a sound or the axes of an image.
    #[error("{what} is {value}; {hint}")]
    Setting {
        /// The name of the setting.
        what: &'static str,
        /// Its value as text.
        value: String,
        /// The values that are allowed.
        hint: &'static str,
    },
}

impl IoError {
    /// Whether a place could not be written, so that another one may do.
    #[must_use]
    pub fn is_about_the_place(&self) -> bool {
        matches!(self, IoError::Write { .. } | IoError::CreateFolder { .. } | IoError::Exists { .. })
    }
}

/// The remedy where a program has too many files open.
pub(crate) const TOO_MANY_FILES: &str = "close other programs, or raise the limit on open files (ulimit -n)";

/// Whether no further file can be opened; there is no kind for it.
pub(crate) fn too_many_files(error: &std::io::Error) -> bool {
    cfg!(unix) && matches!(error.raw_os_error(), Some(23 | 24))
}

/// A remedy for an error of this kind when a file is read.
pub(crate) fn hint_for_reading(error: &std::io::Error) -> &'static str {
    match error.kind() {
        _ if too_many_files(error) => TOO_MANY_FILES,
        ErrorKind::NotFound => "check that the path is right",
        ErrorKind::PermissionDenied => "check that you may read it",
        ErrorKind::IsADirectory => "that path is a folder: give the name of a file in it",
        ErrorKind::FileTooLarge => "write what it gives to a file, and give that",
        _ => "check that the path is right and that the file can be read",
    }
}
