//! A file that gets its name when it is complete, and goes if that never happens.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{ErrorKind, Result, Write};
use std::path::{Path, PathBuf};

/// The letters after the name of the file while it is written, and how many of them there are.
const LETTERS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_LETTERS: usize = 6;

/// A hidden file beside the place of a result.
pub(crate) struct Temporary {
    /// Open from the start: without it the new name would not be safe on the disk.
    #[cfg(unix)]
    folder: File,
    file: File,
    path: PathBuf,
    place: PathBuf,
    /// Whether it has the name of the result, so that nothing is left to remove.
    named: bool,
}

impl Temporary {
    /// Makes an empty file beside `place`, with the mode and the owner of the file that it will replace.
    pub(crate) fn beside(place: &Path) -> Result<Self> {
        #[cfg(unix)]
        let folder = {
            let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new(".")))?
        };
        let (file, path) = loop {
            let path = place.with_file_name(random_name(place));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => break (file, path),
                Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::Interrupted) => {}
                Err(error) => return Err(error),
            }
        };
        let temporary = Self {
            #[cfg(unix)]
            folder,
            file,
            path,
            place: place.to_path_buf(),
            named: false,
        };
        temporary.take_after(place)?;
        Ok(temporary)
    }

    /// Takes the mode and the owner of a file. A link has a mode that means nothing.
    #[cfg(unix)]
    fn take_after(&self, place: &Path) -> Result<()> {
        use std::os::unix::fs::{MetadataExt, fchown};
        let Ok(found) = place.symlink_metadata() else { return Ok(()) };
        if !found.is_file() {
            return Ok(());
        }
        self.file.set_permissions(found.permissions())?;
        match fchown(&self.file, Some(found.uid()), Some(found.gid())) {
            // only root can give files away
            Err(error) if error.kind() != ErrorKind::PermissionDenied => Err(error),
            _ => Ok(()),
        }
    }

    #[cfg(not(unix))]
    fn take_after(&self, _: &Path) -> Result<()> {
        Ok(())
    }

    /// Gives it the name of the result, when all of it is on the disk.
    pub(crate) fn commit(mut self) -> Result<()> {
        self.file.sync_all()?;
        std::fs::rename(&self.path, &self.place)?;
        self.named = true;
        #[cfg(unix)]
        self.folder.sync_all()?;
        Ok(())
    }
}

impl Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.named {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// A hidden name, such as `.means.png.a8Xk2p`.
fn random_name(place: &Path) -> OsString {
    let mut name = OsString::from(".");
    name.push(place.file_name().unwrap_or_default());
    name.push(".");
    // every state has keys of its own
    let mut random = RandomState::new().hash_one(std::process::id());
    for _ in 0..RANDOM_LETTERS {
        let letter = LETTERS[(random % LETTERS.len() as u64) as usize];
        name.push(char::from(letter).to_string());
        random /= LETTERS.len() as u64;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_named_is_not_left() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("result");
        let mut file = Temporary::beside(&place).unwrap();
        file.write_all(b"all of it").unwrap();
        // no file can take the place of a folder
        std::fs::create_dir(&place).unwrap();
        assert!(file.commit().is_err());
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, [place]);
    }

    #[test]
    fn names_differ() {
        let names: std::collections::BTreeSet<_> = (0..100).map(|_| random_name(Path::new("a/b.npy"))).collect();
        assert!(names.len() > 95, "{names:?}");
        assert!(names.iter().all(|name| name.to_string_lossy().starts_with(".b.npy.") && name.len() == 13));
    }

    #[cfg(unix)]
    #[test]
    fn files_hand_on_their_mode_and_links_do_not() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mode = |name: &str| path(name).symlink_metadata().unwrap().permissions().mode() & 0o7777;
        let write = |name: &str| crate::write_atomically(&path(name), b"x").unwrap();
        write("usual");
        write("own");
        std::fs::set_permissions(path("own"), std::fs::Permissions::from_mode(0o640)).unwrap();
        write("own");
        assert_eq!(mode("own"), 0o640);
        std::fs::write(path("target"), "kept").unwrap();
        symlink("nowhere", path("dangling")).unwrap();
        symlink("target", path("link")).unwrap();
        for name in ["dangling", "link"] {
            write(name);
            assert!(path(name).symlink_metadata().unwrap().is_file());
            assert_eq!(mode(name), mode("usual"), "{name}");
        }
        assert_eq!(std::fs::read(path("target")).unwrap(), b"kept");
    }
}
