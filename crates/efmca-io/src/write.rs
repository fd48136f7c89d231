//! Writing a file as a whole or not at all.

use std::io::{ErrorKind, Write};
use std::path::Path;

use atomic_write_file::AtomicWriteFile;

use crate::IoError;

/// Writes `bytes` to `path`, replacing a file that is there.
///
/// Missing parent folders are created. The bytes go to a temporary file in the same folder, which
/// is flushed to the disk and then renamed, so that a reader (or a crash) sees the old file or the
/// new one and never a part.
///
/// # Errors
///
/// [`IoError::CreateFolder`] if a parent folder cannot be made, [`IoError::Write`] if the file
/// cannot be written; the file that was at `path` is then unchanged.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), IoError> {
    let failed =
        |source: std::io::Error| IoError::Write { path: path.to_path_buf(), hint: hint_for(source.kind()), source };
    if path.file_name().is_none() {
        return Err(failed(std::io::Error::new(ErrorKind::InvalidInput, "the path does not end in a file name")));
    }
    // The rename would fail as well, but only after all bytes are written, and with a message that
    // differs between systems.
    if path.is_dir() {
        return Err(failed(ErrorKind::IsADirectory.into()));
    }
    create_folder_of(path)?;
    let mut file = AtomicWriteFile::open(path).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.flush().map_err(failed)?;
    // `commit` syncs the file to the disk before it renames it.
    file.commit().map_err(failed)
}

/// Makes the folder that a file is to be in, if it is not there.
pub(crate) fn create_folder_of(path: &Path) -> Result<(), IoError> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    std::fs::create_dir_all(folder).map_err(|source| IoError::CreateFolder {
        path: folder.to_path_buf(),
        hint: hint_for(source.kind()),
        source,
    })
}

/// What a user can do about an error of this kind.
pub(crate) fn hint_for(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::PermissionDenied => "check that you may write in that folder, or choose another one",
        ErrorKind::ReadOnlyFilesystem => "choose a folder on a disk that can be written",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space, or choose a folder on another disk",
        ErrorKind::IsADirectory => "that path is a folder: give the name of a file in it",
        ErrorKind::InvalidInput | ErrorKind::InvalidFilename => "give a path that ends in a valid file name",
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
            "a part of the path is a file and not a folder: choose another path"
        }
        _ => "check that the path is right and that its folder can be written",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn creates_folders_and_replaces_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/file.bin");
        write_atomically(&path, b"first and long").unwrap();
        write_atomically(&path, b"second").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"second");
    }

    #[test]
    fn leaves_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        write_atomically(&folder.path().join("file"), b"x").unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_as_target_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let error = write_atomically(folder.path(), b"x").unwrap_err();
        let text = error.to_string();
        assert!(text.contains(&folder.path().display().to_string()), "{text}");
        assert!(text.contains("is a folder"), "{text}");
    }

    #[test]
    fn a_file_as_parent_is_an_error_that_names_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        write_atomically(&file, b"x").unwrap();
        let error = write_atomically(&file.join("below"), b"x").unwrap_err();
        assert!(matches!(error, IoError::CreateFolder { ref path, .. } if *path == file));
        assert!(error.to_string().contains("not a folder"), "{error}");
        assert_eq!(std::fs::read(&file).unwrap(), b"x");
    }

    #[test]
    fn a_path_without_a_file_name_is_an_error() {
        for path in ["", "..", "/"] {
            let error = write_atomically(Path::new(path), b"x").unwrap_err();
            assert!(error.to_string().contains("file name"), "{error}");
        }
    }
}
