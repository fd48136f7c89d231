//! Faults on the way through a file.

use std::path::Path;

use crate::IoError;
use crate::error::hint_for_reading;
use crate::image_file::fault::{CONVERT, Fault};

/// The file could not be read further, or what was read is no table.
#[derive(Debug)]
pub(crate) enum Trouble {
    Io(std::io::Error),
    Fault(Fault),
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl Trouble {
    /// The error for the user. `path` is what the user wrote, `packed` whether it was being unpacked.
    pub(crate) fn when_reading(self, path: &Path, packed: bool) -> IoError {
        let fault = match self {
            Self::Fault(fault) => fault,
            Self::Io(error) if packed => {
                Fault::damaged(format!("it is packed with gzip and cannot be unpacked ({error})"))
            }
            Self::Io(source) => {
                return IoError::Read { path: path.to_path_buf(), hint: hint_for_reading(&source), source };
            }
        };
        // The readers of NPY and NPZ are those of images, and so is their advice.
        let hint = if fault.hint == CONVERT { "save it with numpy.savez, or as CSV or NPY" } else { fault.hint };
        IoError::NotATable { path: path.to_path_buf(), problem: fault.problem, hint }
    }
}

/// Text of a file as it can stand in a message: short, in quotes, on one line.
pub fn shown(text: &str) -> String {
    const LONGEST: usize = 40;
    let short: String = text.chars().take(LONGEST).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("`{}{more}`", short.escape_debug())
}
