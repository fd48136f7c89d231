//! The formats, how they are recognised, and paths that name an array in a file.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::IoError;

/// The format of an image file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Portable Network Graphics.
    Png,
    /// Tagged Image File Format, BigTIFF included.
    Tiff,
    /// One array of NumPy.
    Npy,
    /// Several arrays of NumPy in one file.
    Npz,
    /// Flexible Image Transport System.
    Fits,
}

/// The endings that are known, for messages.
pub(crate) const KNOWN: &str = ".png, .tif, .tiff, .npy, .npz, .fits, .fit or .fts";

impl Format {
    /// The format that the first bytes of a file show.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let starts = |magic: &[u8]| bytes.starts_with(magic);
        if starts(b"\x89PNG\r\n\x1a\n") {
            Some(Self::Png)
        } else if starts(b"II*\0") || starts(b"MM\0*") || starts(b"II+\0") || starts(b"MM\0+") {
            Some(Self::Tiff)
        } else if starts(b"\x93NUMPY") {
            Some(Self::Npy)
        } else if starts(b"PK\x03\x04") || starts(b"PK\x05\x06") {
            Some(Self::Npz)
        } else if starts(b"SIMPLE  =") {
            Some(Self::Fits)
        } else {
            None
        }
    }

    /// The format that the name of a file asks for.
    pub fn of_extension(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "png" => Some(Self::Png),
            "tif" | "tiff" | "btf" => Some(Self::Tiff),
            "npy" => Some(Self::Npy),
            "npz" => Some(Self::Npz),
            "fits" | "fit" | "fts" => Some(Self::Fits),
            _ => None,
        }
    }

    /// The format that [`write`](super::write()) would write to this path, which may name an array in an NPZ file.
    ///
    /// # Errors
    ///
    /// [`IoError::UnknownExtension`] if the name does not say it.
    pub fn of_output(path: &Path) -> Result<Self, IoError> {
        Location::of(path).format_to_write()
    }

    /// Whether the format has numbers with a fraction.
    pub fn holds_floats(self) -> bool {
        self != Self::Png
    }
}

impl fmt::Display for Format {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Png => "PNG",
            Self::Tiff => "TIFF",
            Self::Npy => "NPY",
            Self::Npz => "NPZ",
            Self::Fits => "FITS",
        })
    }
}

/// A file, and the name of an array in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) file: PathBuf,
    pub(crate) array: Option<String>,
}

/// The file of a path that may name an array in it: `file.npz` for `file.npz:name`.
pub fn file_of(path: &Path) -> PathBuf {
    Location::of(path).file
}

impl Location {
    /// `file.npz:name` is the array `name` in `file.npz`, unless there is a file of that whole name.
    pub(crate) fn of(path: &Path) -> Self {
        let whole = Self { file: path.to_path_buf(), array: None };
        let Some((file, array)) = path.to_str().and_then(|text| text.rsplit_once(':')) else {
            return whole;
        };
        if array.is_empty() || Format::of_extension(Path::new(file)) != Some(Format::Npz) || path.exists() {
            return whole;
        }
        Self { file: PathBuf::from(file), array: Some(array.to_owned()) }
    }

    /// The format to write, and nothing that it has no place for.
    pub(crate) fn format_to_write(&self) -> Result<Format, IoError> {
        Format::of_extension(&self.file)
            .ok_or_else(|| IoError::UnknownExtension { path: self.file.clone(), known: KNOWN })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_named_after_a_colon() {
        let location = |text: &str| Location::of(Path::new(text));
        assert_eq!(location("a/b.npz:dark").array.as_deref(), Some("dark"));
        assert_eq!(location("a/b.npz:dark").file, Path::new("a/b.npz"));
        assert_eq!(file_of(Path::new("a/b.npz:dark")), Path::new("a/b.npz"));
        assert_eq!(location("b.npz").array, None);
        assert_eq!(location("b.tif:dark").array, None);
        assert_eq!(location("b.npz:").array, None);
    }

    #[test]
    fn endings_are_known_in_any_case() {
        assert_eq!(Format::of_extension(Path::new("M31.FIT")), Some(Format::Fits));
        assert_eq!(Format::of_extension(Path::new("x.jpeg")), None);
        assert_eq!(Format::of_output(Path::new("b.npz:dark")).unwrap(), Format::Npz);
        assert!(Format::of_output(Path::new("x")).unwrap_err().to_string().contains(".fits"));
    }
}
