//! Writing a complete file or none at all, and finding out beforehand whether that will work.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::IoError;
use crate::error::{TOO_MANY_FILES, too_many_files};
use crate::temporary::Temporary;

/// Writes `bytes` to `path`, replacing a file of that name.
///
/// Missing parent folders are created. The bytes go to a temporary file in the same folder, which
/// is flushed to the disk and then renamed, so that a reader (or a crash) sees the old file or the
/// new one and never a part. A file that is replaced hands on its mode and, where the system allows it, its
/// owner; a link is replaced itself, by a file with the usual mode, and what it led to stays.
///
/// # Errors
///
/// [`IoError::CreateFolder`] if a parent folder cannot be made, [`IoError::Write`] if the file
/// cannot be written; the file that was at `path` is then unchanged.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), IoError> {
    let failed = |source: std::io::Error| IoError::Write { path: path.to_path_buf(), hint: hint_for(&source), source };
    if path.file_name().is_none() {
        return Err(failed(std::io::Error::new(ErrorKind::InvalidInput, "the path does not end in a file name")));
    }
    // The rename would fail as well, but only after all bytes are written, and with a message that
    // differs between systems.
    if path.is_dir() {
        return Err(failed(ErrorKind::IsADirectory.into()));
    }
    if is_special(path) {
        let mut there = OpenOptions::new().write(true).open(path).map_err(failed)?;
        return there.write_all(bytes).and_then(|()| there.flush()).map_err(failed);
    }
    create_folder_of(path)?;
    let mut file = Temporary::beside(path).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.commit().map_err(failed)
}

/// Whether a path leads to something that takes bytes and is no file: a device, a pipe, or what the program was started with. A file
/// of the same name must never take its place, which the rename of a complete file would do: `-o /dev/null` is typed by root, too.
fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
        || (path.starts_with("/dev") && path.symlink_metadata().is_ok_and(|found| found.is_symlink()))
}

/// Finds out whether a file of any kind can be written at `path`, before hours are spent on its content.
///
/// # Errors
///
/// [`IoError::Exists`] if there is a file already, unless `force`; [`IoError::Write`] or [`IoError::CreateFolder`] if the
/// file cannot be made.
pub fn check_place(path: &Path, force: bool) -> Result<(), IoError> {
    let failed = |source: std::io::Error| IoError::Write { path: path.to_path_buf(), hint: hint_for(&source), source };
    if path.is_dir() {
        return Err(failed(ErrorKind::IsADirectory.into()));
    }
    if is_special(path) {
        // nothing is replaced
        return Ok(());
    }
    // `symlink_metadata` sees a link that leads nowhere, too.
    match path.symlink_metadata() {
        Ok(_) if !force => return Err(IoError::Exists { path: path.to_path_buf() }),
        // that of a folder which is to be made, or all of them together
        Err(source) if source.kind() == ErrorKind::InvalidFilename => return Err(failed(source)),
        _ => {}
    }
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let no_folder =
        |source: std::io::Error| IoError::CreateFolder { path: parent.to_path_buf(), hint: hint_for(&source), source };
    // Missing folders will be made in the nearest one that exists.
    let nearest = parent.ancestors().find(|folder| folder.as_os_str().is_empty() || folder.symlink_metadata().is_ok());
    let nearest = nearest.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !nearest.is_dir() {
        return Err(no_folder(ErrorKind::NotADirectory.into()));
    }
    // Permissions do not tell everything (read-only disks, quotas): only making a file shows that files can be made.
    // The name is as long as those of files that will stand beside the result for a while: that of a name that is too long must not
    // be found out when there is a result.
    let mut probe = OsString::from(".");
    probe.push(path.file_name().unwrap_or_default());
    probe.push(format!(".check-{:0>6}", std::process::id()));
    let probe = nearest.join(probe);
    // A complete file is given its name by way of its folder, which must be open at the same time.
    let _open = if cfg!(unix) { Some(File::open(nearest).map_err(failed)?) } else { None };
    let made = OpenOptions::new().write(true).create_new(true).open(&probe);
    match made {
        Ok(made) => {
            let kept = is_kept_from_us(path, nearest, &made);
            std::fs::remove_file(&probe).map_err(failed)?;
            if kept { Err(failed(ErrorKind::PermissionDenied.into())) } else { Ok(()) }
        }
        Err(source) if source.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(source) if nearest == parent => Err(failed(source)),
        Err(source) => Err(no_folder(source)),
    }
}

/// Whether a file can be replaced by its owner only, who is somebody else, as in `/tmp`; `ours` is a file that was made just now.
#[cfg(unix)]
fn is_kept_from_us(path: &Path, folder: &Path, ours: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    const STICKY: u32 = 0o1000;
    let (Ok(found), Ok(folder), Ok(ours)) = (path.symlink_metadata(), folder.metadata(), ours.metadata()) else {
        return false;
    };
    folder.mode() & STICKY != 0 && ![0, found.uid(), folder.uid()].contains(&ours.uid())
}

#[cfg(not(unix))]
fn is_kept_from_us(_: &Path, _: &Path, _: &File) -> bool {
    false
}

/// Makes the folder that a file is to be in, if it does not exist.
pub(crate) fn create_folder_of(path: &Path) -> Result<(), IoError> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    std::fs::create_dir_all(folder).map_err(|source| IoError::CreateFolder {
        path: folder.to_path_buf(),
        hint: hint_for(&source),
        source,
    })
}

/// A remedy for an error of this kind.
pub(crate) fn hint_for(error: &std::io::Error) -> &'static str {
    match error.kind() {
        _ if too_many_files(error) => TOO_MANY_FILES,
        ErrorKind::FileTooLarge => "raise the limit on the size of files (ulimit -f), or choose another disk",
        ErrorKind::PermissionDenied => "check that you may write in that folder, or choose another one",
        ErrorKind::ReadOnlyFilesystem => "choose a folder on a disk that can be written",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space, or choose a folder on another disk",
        ErrorKind::IsADirectory => "that path is a folder: give the name of a file in it",
        ErrorKind::InvalidFilename => "choose a shorter name, or a folder with a shorter path",
        ErrorKind::InvalidInput => "give a path that ends in a valid file name",
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
    fn a_place_is_checked_without_leaving_anything() {
        let folder = tempfile::tempdir().unwrap();
        check_place(&folder.path().join("new/folders/file"), false).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let file = folder.path().join("file");
        write_atomically(&file, b"x").unwrap();
        assert!(matches!(check_place(&file, false), Err(IoError::Exists { ref path }) if *path == file));
        check_place(&file, true).unwrap();
        assert!(matches!(check_place(folder.path(), true), Err(IoError::Write { .. })));
        assert!(matches!(check_place(&file.join("below"), true), Err(IoError::CreateFolder { .. })));
    }

    #[test]
    fn a_name_without_room_for_others_beside_it_is_refused_beforehand() {
        let folder = tempfile::tempdir().unwrap();
        let place = |length: usize| folder.path().join("x".repeat(length));
        // file systems end names at 255 bytes
        for length in [256, 255, 250, 245] {
            let error = check_place(&place(length), false).unwrap_err();
            assert!(error.to_string().contains("shorter name"), "{error}");
        }
        for deep in [place(256).join("x"), folder.path().join("folder/".repeat(600)).join("x")] {
            let error = check_place(&deep, false).unwrap_err();
            assert!(error.to_string().contains("shorter name"), "{error}");
        }
        check_place(&place(236), false).unwrap();
        let _lock = crate::PlaceLock::take(&place(236)).unwrap();
        write_atomically(&place(236), b"x").unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn devices_stay_devices() {
        use std::os::unix::fs::FileTypeExt;
        for name in ["/dev/null", "/dev/full"] {
            let path = Path::new(name);
            if !path.exists() {
                continue;
            }
            check_place(path, false).unwrap();
            assert_eq!(write_atomically(path, b"x").is_ok(), name == "/dev/null");
            assert!(path.metadata().unwrap().file_type().is_char_device(), "{name}");
        }
    }

    #[test]
    fn a_path_without_a_file_name_is_an_error() {
        for path in ["", "..", "/"] {
            let error = write_atomically(Path::new(path), b"x").unwrap_err();
            assert!(error.to_string().contains("file name"), "{error}");
        }
    }
}
