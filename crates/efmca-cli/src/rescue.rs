//! Results whose place cannot be written any more when they are there: a disk is full, a folder was removed, a network drive is
//! gone. They go elsewhere, and the error says where.

use std::path::{Path, PathBuf};

use efmca_io::IoError;
use efmca_view::ViewError;

use crate::failure::Failure;

/// Files that were not written as they should.
#[derive(Debug, Default)]
pub(crate) struct Rescue {
    problems: Vec<String>,
    /// Those that were.
    placed: Vec<PathBuf>,
}

/// An error of writing a result.
pub(crate) trait OfWriting: std::fmt::Display {
    /// Whether another place may do.
    fn is_about_the_place(&self) -> bool;
}

impl OfWriting for IoError {
    fn is_about_the_place(&self) -> bool {
        self.is_about_the_place()
    }
}

impl OfWriting for ViewError {
    fn is_about_the_place(&self) -> bool {
        matches!(self, ViewError::File(error) if error.is_about_the_place())
    }
}

impl Rescue {
    /// Writes a result to its place, or to another one if that fails. Nothing if there is none.
    pub(crate) fn write<T, E: OfWriting>(&mut self, path: &Path, write: impl Fn(&Path) -> Result<T, E>) -> Option<T> {
        let error = match write(path) {
            Ok(written) => {
                self.placed.push(path.to_path_buf());
                return Some(written);
            }
            Err(error) => error,
        };
        if !error.is_about_the_place() {
            self.problems.push(error.to_string());
            return None;
        }
        let places = other_places(path);
        for place in &places {
            if let Ok(written) = write(place) {
                self.problems.push(format!("{error}\nthe result is in {} instead", place.display()));
                return Some(written);
            }
        }
        let tried: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        self.problems.push(format!("{error}\nit could not be written to {} either", tried.join(" or ")));
        None
    }

    /// The results that are where they should be.
    pub(crate) fn placed(&self) -> &[PathBuf] {
        &self.placed
    }

    /// An error if a result is not where it should be.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        if self.problems.is_empty() { Ok(()) } else { Err(Failure::work(self.problems.join("\n"))) }
    }
}

/// Bytes of the name of a result that stay where it is rescued.
const MOST_LETTERS: usize = 150;

/// The folder at hand and the one for temporary files, with a name that nothing has there.
fn other_places(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().map_or("result".into(), |name| name.to_string_lossy().into_owned());
    // its end, which says the format, so that there is room for more letters
    let start = (name.len().saturating_sub(MOST_LETTERS)..name.len()).find(|at| name.is_char_boundary(*at));
    let name = &name[start.unwrap_or(0)..];
    let folders = [std::env::current_dir().ok(), Some(std::env::temp_dir())];
    let free = |folder: PathBuf| {
        let numbered = (1..1000).map(|number| folder.join(format!("rescued-{number}-{name}")));
        std::iter::once(folder.join(format!("rescued-{name}")))
            .chain(numbered)
            .find(|place| place.symlink_metadata().is_err())
    };
    folders.into_iter().flatten().filter_map(free).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use efmca_io::write_atomically;

    #[test]
    fn a_result_goes_elsewhere_and_the_error_says_where() {
        let folder = tempfile::tempdir().unwrap();
        let blocked = folder.path().join("file");
        std::fs::write(&blocked, "x").unwrap();
        let name = format!("result-{}.bin", std::process::id());
        let mut rescue = Rescue::default();
        assert!(rescue.write(&blocked.join(&name), |path| write_atomically(path, b"all of it")).is_some());
        let message = rescue.finish().unwrap_err().to_string();
        let place = message.split("the result is in ").nth(1).unwrap().strip_suffix(" instead").unwrap();
        assert_eq!(std::fs::read(place).unwrap(), b"all of it");
        std::fs::remove_file(place).unwrap();
        assert!(Rescue::default().finish().is_ok());
    }

    #[test]
    fn long_names_are_cut_at_their_front() {
        for name in ["x".repeat(230) + ".tif", "ä".repeat(115) + ".tif", "short.tif".to_owned()] {
            let places = other_places(Path::new(&name));
            assert_eq!(places.len(), 2);
            for place in places {
                let rescued = place.file_name().unwrap().to_str().unwrap().to_owned();
                assert!(
                    rescued.starts_with("rescued-") && rescued.ends_with(".tif") && rescued.len() < 170,
                    "{rescued}"
                );
            }
        }
    }

    #[test]
    fn where_nothing_can_be_written_all_places_are_named() {
        let failed = |path: &Path| -> Result<(), IoError> { Err(IoError::Exists { path: path.to_path_buf() }) };
        let mut rescue = Rescue::default();
        assert!(rescue.write(Path::new("m.safetensors"), failed).is_none());
        let message = rescue.finish().unwrap_err().to_string();
        assert!(message.contains("rescued-m.safetensors or ") && message.ends_with(" either"), "{message}");
    }
}
