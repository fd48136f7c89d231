//! Places that one program at a time writes to.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::IoError;

/// The most digits of the number of a process.
const MOST_DIGITS: u64 = 10;

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
    /// [`IoError::InUse`] if another program has it, and [`IoError::NotALock`] if something that is no lock has the name of the lock: a
    /// link, or a file with other contents. It is left as it is.
    pub fn take(place: &Path) -> Result<PlaceLock, IoError> {
        PlaceLock::take_with(place, File::try_lock)
    }

    fn take_with(place: &Path, lock: impl Fn(&File) -> Result<(), TryLockError>) -> Result<PlaceLock, IoError> {
        let path = lock_file(place);
        if place.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            // a device or a pipe: what is written there goes to its reader
            return Ok(PlaceLock { held: None });
        }
        loop {
            // A new file is never that of a link, which would lead to a file of somebody else.
            let made = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
            let is_new = made.is_ok();
            let mut file = match made {
                Ok(file) => file,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => match open_existing(&path)? {
                    Some(file) => file,
                    // the one that had it took it away
                    None if path.symlink_metadata().is_err() => continue,
                    None => return Ok(PlaceLock { held: None }),
                },
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return Ok(PlaceLock { held: None }),
            };
            match uninterrupted(|| lock(&file)) {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let process = contents(&mut file).and_then(|number| number.parse().ok());
                    return Err(IoError::InUse { path: place.to_path_buf(), by: words(process) });
                }
                Err(TryLockError::Error(_)) => {
                    // a disk without locks: nobody would ever take it away
                    if is_new {
                        let _ = std::fs::remove_file(&path);
                    }
                    return Ok(PlaceLock { held: None });
                }
            }
            // The one that had it takes the file away; then this one is locked and nobody else sees it.
            if !is_at(&file, &path) {
                continue;
            }
            if contents(&mut file).is_none() {
                return Err(IoError::NotALock { path });
            }
            // only for the message of others
            let number = std::process::id().to_string();
            let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(number.as_bytes()));
            return Ok(PlaceLock { held: Some((file, path)) });
        }
    }
}

/// Opens a file that has the name of a lock; nothing if it went, or may not be opened.
fn open_existing(path: &Path) -> Result<Option<File>, IoError> {
    if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
        return Err(IoError::NotALock { path: path.to_path_buf() });
    }
    // One that belongs to another user can be looked at, and locked, without being written to.
    let opened = OpenOptions::new().read(true).write(true).open(path).or_else(|_| File::open(path));
    Ok(opened.ok())
}

/// What a lock says: the number of the program that has it, or nothing before that was written. `None` for what no lock says.
fn contents(file: &mut File) -> Option<String> {
    let mut text = String::new();
    file.take(MOST_DIGITS + 1).read_to_string(&mut text).ok()?;
    let is_lock = text.len() as u64 <= MOST_DIGITS && text.bytes().all(|letter| letter.is_ascii_digit());
    is_lock.then_some(text)
}

fn uninterrupted(mut lock: impl FnMut() -> Result<(), TryLockError>) -> Result<(), TryLockError> {
    loop {
        match lock() {
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
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
    let mut name = OsString::from(".");
    name.push(place.file_name().unwrap_or_default());
    name.push(".efmca-lock");
    place.with_file_name(name)
}

/// Whether a file that was opened still has its name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(opened), Ok(named)) = (file.metadata(), path.symlink_metadata()) else { return false };
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

    #[test]
    fn a_lock_never_touches_a_file_of_somebody_else() {
        let folder = tempfile::tempdir().unwrap();
        let (place, lock) = (folder.path().join("q.npy"), folder.path().join(".q.npy.efmca-lock"));
        let refused = || {
            let error = PlaceLock::take(&place).unwrap_err();
            assert!(matches!(&error, IoError::NotALock { path } if *path == lock), "{error}");
            assert!(error.to_string().contains(".q.npy.efmca-lock"), "{error}");
        };
        for text in ["precious\n", "12345678901", "12 34"] {
            std::fs::write(&lock, text).unwrap();
            refused();
            assert_eq!(std::fs::read_to_string(&lock).unwrap(), text);
            std::fs::remove_file(&lock).unwrap();
        }
        std::fs::create_dir(&lock).unwrap();
        refused();
        std::fs::remove_dir(&lock).unwrap();
        #[cfg(unix)]
        for (text, target) in [("precious\n", "p.txt"), ("", "empty"), ("", "nowhere")] {
            let target = folder.path().join(target);
            if !target.ends_with("nowhere") {
                std::fs::write(&target, text).unwrap();
            }
            std::os::unix::fs::symlink(&target, &lock).unwrap();
            refused();
            assert_eq!(std::fs::read_to_string(&target).unwrap_or_default(), text);
            assert_eq!(target.exists(), !target.ends_with("nowhere"));
            std::fs::remove_file(&lock).unwrap();
        }
        assert!(PlaceLock::take(&place).is_ok());
    }

    #[test]
    fn where_there_are_no_locks_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let (place, lock) = (folder.path().join("x"), folder.path().join(".x.efmca-lock"));
        let without = || PlaceLock::take_with(&place, |_| Err(TryLockError::Error(ErrorKind::Unsupported.into())));
        drop(without().unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        // that of another program stays
        std::fs::write(&lock, "17").unwrap();
        drop(without().unwrap());
        assert_eq!(std::fs::read_to_string(&lock).unwrap(), "17");
    }
}
