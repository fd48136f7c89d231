//! Files that are read as a whole, and what is no file: pipes and devices, which can be read once and may never end.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::SystemTime;

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
    let failed =
        |source: std::io::Error| IoError::Read { path: path.to_path_buf(), hint: hint_for_reading(&source), source };
    let file = File::open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    let read = || if found.is_file() { std::fs::read(path) } else { up_to(&file, most) };
    unchanged(&file, path, || read().map_err(failed))
}

/// What a file was like when it was opened.
#[derive(Debug)]
pub(crate) struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    pub(crate) fn of(found: &Metadata) -> Stamp {
        Stamp { size: found.len(), modified: found.modified().ok() }
    }

    /// What happened to the file since then, if anything did.
    pub(crate) fn check(&self, file: &File) -> Result<(), String> {
        let now = file.metadata().map_err(|error| error.to_string())?;
        if now.len() != self.size {
            return Err(format!("it had {} bytes, and now it has {}", self.size, now.len()));
        }
        if now.modified().ok() != self.modified {
            return Err("another program has written to it".to_owned());
        }
        Ok(())
    }
}

/// What `read` makes of a file, unless another program writes to it meanwhile: a part of it as it was, and a part as it is, is what
/// nobody wrote. Pipes and devices are read as they come.
pub(crate) fn unchanged<T>(file: &File, path: &Path, read: impl FnOnce() -> Result<T, IoError>) -> Result<T, IoError> {
    let before = file.metadata().ok().filter(Metadata::is_file).map(|found| Stamp::of(&found));
    let result = read();
    if let Some(Err(problem)) = before.map(|before| before.check(file)) {
        let source = std::io::Error::other(format!("it changed while it was read: {problem}"));
        let hint = "wait until nothing writes to it, and start again";
        return Err(IoError::Read { path: path.to_path_buf(), hint, source });
    }
    result
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
    fn a_file_that_changes_while_it_is_read_is_an_error() {
        use crate::image_file::{ReadOptions, WriteOptions, read, write};
        use crate::sound::read_wav;
        use crate::table_file::{TableOptions, read_table};
        use std::sync::atomic::{AtomicBool, Ordering};
        type Reader = fn(&Path) -> Result<(), IoError>;
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        std::fs::write(place("table.csv"), "a,b\n".to_owned() + &"1,2\n".repeat(50_000)).unwrap();
        let pixels = ndarray::Array4::from_elem((1, 300, 300, 1), 1.0);
        write(&place("image.npy"), pixels.view(), &WriteOptions::default()).unwrap();
        let spec = hound::WavSpec {
            channels: 1,
            sample_rate: 8000,
            bits_per_sample: 16,
            sample_format: hound::SampleFormat::Int,
        };
        let mut sound = hound::WavWriter::create(place("sound.wav"), spec).unwrap();
        (0..100_000_i32).for_each(|sample| sound.write_sample((sample % 100) as i16).unwrap());
        sound.finalize().unwrap();
        let readers: [(&str, Reader); 4] = [
            ("table.csv", |path| read_table(path, &TableOptions::default()).map(drop)),
            ("image.npy", |path| read(path, &ReadOptions::default()).map(drop)),
            ("sound.wav", |path| read_wav(path).map(drop)),
            ("image.npy", |path| whole(path).map(drop)),
        ];
        for (name, reader) in readers {
            let path = place(name);
            assert!(reader(&path).is_ok(), "{name}");
            let done = AtomicBool::new(false);
            let error = std::thread::scope(|scope| {
                scope.spawn(|| {
                    let file = File::options().write(true).open(&path).unwrap();
                    for second in 0.. {
                        if done.load(Ordering::Acquire) {
                            break;
                        }
                        file.set_modified(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(second)).unwrap();
                    }
                });
                // it is always being written to, and most readings meet that
                let error = (0..1000).find_map(|_| reader(&path).err());
                done.store(true, Ordering::Release);
                error
            });
            let said = error.expect("a change is noticed").to_string();
            assert!(said.contains(name) && said.contains("changed while it was read"), "{said}");
        }
        let (path, file) = (place("table.csv"), File::options().write(true).open(place("table.csv")).unwrap());
        let cut_while_read = || {
            file.set_len(3).unwrap();
            Ok(())
        };
        let cut = unchanged(&file, &path, cut_while_read).unwrap_err().to_string();
        assert!(cut.contains("and now it has 3"), "{cut}");
    }

    #[test]
    fn what_never_ends_is_refused() {
        assert_eq!(up_to(&b"four"[..], 4).unwrap(), b"four");
        let error = up_to(std::io::repeat(0), 3_000_000).unwrap_err();
        assert_eq!(error.to_string(), "it is a pipe or a device and gives more than 3 MB");
        assert_eq!(hint_for_reading(&error), "write what it gives to a file, and give that");
    }
}
