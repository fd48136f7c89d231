//! Files that are read as a whole, and what is no file: pipes and devices, which can be read once and may never end.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use crate::error::hint_for_reading;
use crate::{IoError, available_memory};

/// The most that is taken from a pipe or a device.
const MOST: u64 = 4 << 30;

/// All bytes of a file, or of a pipe or a device that ends while there is memory for it.
///
/// # Errors
///
/// [`IoError::Read`].
pub(crate) fn whole(path: &Path) -> Result<Vec<u8>, IoError> {
    let most = available_memory().map_or(MOST, |bytes| MOST.min(bytes / 2));
    let read = |path: &Path| {
        let file = File::open(path)?;
        if file.metadata()?.is_file() { std::fs::read(path) } else { up_to(file, most) }
    };
    read(path).map_err(|source| IoError::Read { path: path.to_path_buf(), hint: hint_for_reading(&source), source })
}

/// What a pipe or a device gives; nothing for files and folders, which can be read more than once.
///
/// ```
/// assert!(efmca_io::streamed("Cargo.toml".as_ref())?.is_none());
/// # #[cfg(unix)]
/// assert_eq!(efmca_io::streamed("/dev/null".as_ref())?, Some(Vec::new()));
/// # Ok::<(), efmca_io::IoError>(())
/// ```
///
/// # Errors
///
/// [`IoError::Read`] if it cannot be read, or does not end.
pub fn streamed(path: &Path) -> Result<Option<Vec<u8>>, IoError> {
    match path.metadata() {
        Ok(found) if !found.is_file() && !found.is_dir() => whole(path).map(Some),
        _ => Ok(None),
    }
}

fn up_to(source: impl Read, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let problem = format!("it is a pipe or a device and gives more than {} MB", most / 1_000_000);
        return Err(std::io::Error::new(ErrorKind::FileTooLarge, problem));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_refused() {
        assert_eq!(up_to(&b"four"[..], 4).unwrap(), b"four");
        let error = up_to(std::io::repeat(0), 3_000_000).unwrap_err();
        assert_eq!(error.to_string(), "it is a pipe or a device and gives more than 3 MB");
        assert_eq!(hint_for_reading(&error), "write what it gives to a file, and give that");
    }
}
