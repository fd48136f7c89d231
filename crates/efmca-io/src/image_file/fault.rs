//! Faults of a file, before its path is added, and reading bytes without running over the
//! end.

use std::path::Path;

use crate::IoError;

/// The hint for files that end too early or contradict themselves.
pub(crate) const DAMAGED: &str = "the file is damaged or was cut short: copy it again, or make it anew";

/// The hint for kinds of files that we do not read.
pub(crate) const CONVERT: &str = "convert it to an uncompressed TIFF, PNG, NPY or FITS file";

/// The hint for files whose numbers need too much memory.
pub(crate) const TOO_LARGE: &str = "cut it into smaller parts, or raise the limit on memory";

/// Why the bytes of a file are not an image, or an image cannot be made bytes.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) problem: String,
    pub(crate) hint: &'static str,
}

impl Fault {
    pub(crate) fn new(problem: impl Into<String>, hint: &'static str) -> Self {
        Self { problem: problem.into(), hint }
    }

    /// The file contradicts itself or ends too early.
    pub(crate) fn damaged(problem: impl Into<String>) -> Self {
        Self::new(problem, DAMAGED)
    }

    /// The same fault, with the place where it was found.
    pub(crate) fn at(self, place: impl std::fmt::Display) -> Self {
        Self { problem: format!("{place}: {}", self.problem), hint: self.hint }
    }

    pub(crate) fn when_reading(self, path: &Path) -> IoError {
        IoError::NotAnImage { path: path.to_path_buf(), problem: self.problem, hint: self.hint }
    }

    pub(crate) fn when_writing(self, path: &Path) -> IoError {
        IoError::CannotHold { path: path.to_path_buf(), problem: self.problem, hint: self.hint }
    }
}

/// `length` bytes from `offset`, if the file has them.
pub(crate) fn part(bytes: &[u8], offset: u64, length: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    bytes.get(start..end)
}

/// The number of values of an array of this shape, if their doubles stay within `limit` bytes.
pub(crate) fn count_within(shape: &[usize], limit: u64) -> Result<usize, Fault> {
    let count = shape.iter().try_fold(1_usize, |count, extent| count.checked_mul(*extent));
    match count {
        Some(0) => Err(Fault::damaged(format!("it is of shape {shape:?} and has no value"))),
        Some(count) if (count as u64).saturating_mul(size_of::<f64>() as u64) <= limit => Ok(count),
        _ => Err(Fault::new(
            format!("it is of shape {shape:?}, and its values need more than the {limit} bytes allowed"),
            TOO_LARGE,
        )),
    }
}

/// Refuses a promise of `promised` bytes that `stored` compressed bytes cannot keep.
///
/// No method of compression that we read gains more than a factor of 2731 (LZW: 4096 bytes from 12
/// bits), so that a larger promise is a lie, and is not worth its memory.
pub(crate) fn plausible(promised: u64, stored: u64) -> Result<(), Fault> {
    const LARGEST_GAIN: u64 = 2731;
    const HEADERS: u64 = 64;
    if promised > stored.saturating_add(HEADERS).saturating_mul(LARGEST_GAIN) {
        return Err(Fault::damaged(format!(
            "its header promises {promised} bytes, but there are only {stored} to unpack"
        )));
    }
    Ok(())
}
