//! Places that one program at a time writes to.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use crate::IoError;

/// A place that belongs to this program until the value is dropped, or the program ends in whatever way: the system gives it
/// free then, so that nothing has to be cleaned up after a kill.
///
/// ```
/// use efmca_io::PlaceLock;
/// # let folder = tempfile::tempdir()?;
/// let place = folder.path().join("model.safetensors");
/// let mine = PlaceLock::take(&place)?;
/// assert!(PlaceLock::take(&place).unwrap_err().to_string().contains("another run writes"));
/// drop(mine);
/// assert!(PlaceLock::take(&place).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PlaceLock {
    /// The file that is locked, unless the file system knows no locks.
    held: Option<(File, PathBuf)>,
}

impl PlaceLock {
    /// Locks the place of a file, or of a folder that exists. A hidden file beside it (or in the folder) holds the lock.
    ///
    /// Where the folder does not exist yet, cannot be written, or is on a disk without locks, there is none: what is wrong with
    /// the folder is found out by [`check_place`](crate::check_place).
    ///
    /// # Errors
    ///
    /// [`IoError::InUse`] if another program has it.
    pub fn take(place: &Path) -> Result<PlaceLock, IoError> {
        let path = lock_file(place);
        if place.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            // a device or a pipe: what is written there goes to its reader
            return Ok(PlaceLock { held: None });
        }
        loop {
            // Never truncated: the number in it is that of the program that has the lock.
            let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
            // One that belongs to another user can be looked at, and locked, without being written to.
            let opened = opened.or_else(|_| File::open(&path));
            let Ok(mut file) = opened else { return Ok(PlaceLock { held: None }) };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let mut number = String::new();
                    let _ = file.read_to_string(&mut number);
                    let process = number.trim().parse::<u32>().ok();
                    return Err(IoError::InUse { path: place.to_path_buf(), by: words(process) });
                }
                Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Interrupted => continue,
                Err(TryLockError::Error(_)) => return Ok(PlaceLock { held: None }),
            }
            // The one that had it takes the file away; then this one is locked and nobody else sees it.
            if !is_at(&file, &path) {
                continue;
            }
            // only for the message of others
            let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
            return Ok(PlaceLock { held: Some((file, path)) });
        }
    }
}

impl Drop for PlaceLock {
    fn drop(&mut self) {
        if let Some((_, path)) = &self.held {
            // while it is still locked, so that it cannot be that of another program
            let _ = std::fs::remove_file(path);
        }
    }
}

fn words(process: Option<u32>) -> String {
    process.map_or(String::new(), |process| format!(" (process {process})"))
}

fn lock_file(place: &Path) -> PathBuf {
    if place.is_dir() {
        return place.join(".efmca-lock");
    }
    let name = place.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
    place.with_file_name(format!(".{name}.efmca-lock"))
}

/// Whether a file that was opened still has its name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(opened), Ok(named)) = (file.metadata(), std::fs::metadata(path)) else { return false };
    (opened.dev(), opened.ino()) == (named.dev(), named.ino())
}

/// Elsewhere a file that is open keeps its name.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_has_a_place_and_nothing_is_left_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("clean.tif");
        let first = PlaceLock::take(&place).unwrap();
        let refused = PlaceLock::take(&place).unwrap_err();
        assert!(matches!(refused, IoError::InUse { .. }));
        let process = format!("(process {})", std::process::id());
        assert!(refused.to_string().contains(&process), "{refused}");
        // other files of the folder are free, and so is the folder
        let others = [PlaceLock::take(&folder.path().join("other.tif")), PlaceLock::take(folder.path())];
        assert!(others.iter().all(Result::is_ok));
        drop((first, others));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(PlaceLock::take(&place).is_ok());
    }

    #[test]
    fn a_lock_that_a_killed_program_left_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("clean.tif");
        std::fs::write(folder.path().join(".clean.tif.efmca-lock"), "123456").unwrap();
        drop(PlaceLock::take(&place).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        // a folder that is not there is no reason to stop here
        assert!(PlaceLock::take(&folder.path().join("none/clean.tif")).is_ok());
    }

    #[test]
    fn many_threads_never_have_it_at_the_same_time() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let folder = tempfile::tempdir().unwrap();
        let (place, inside, taken) = (folder.path().join("x"), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..300 {
                        if let Ok(_lock) = PlaceLock::take(&place) {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                            taken.fetch_add(1, Ordering::SeqCst);
                            std::thread::yield_now();
                            inside.fetch_sub(1, Ordering::SeqCst);
                        }
                    }
                });
            }
        });
        assert!(taken.load(Ordering::SeqCst) > 0);
    }
}
