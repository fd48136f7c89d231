//! A folder that keeps the trainings of long work.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use efmca::Checkpoint;
use efmca::em::{Keep, KeptTraining};
use serde_json::Value;

use crate::{IoError, read_checkpoint, write_checkpoint};

/// What happens in a folder of trainings that is worth telling.
#[derive(Debug)]
#[non_exhaustive]
pub enum KeptNews<'a> {
    /// A training was found and goes on after so many iterations.
    Found(usize),
    /// A file could not be read or written. The work goes on without it.
    Problem(&'a IoError),
}

/// A folder with a checkpoint of each training of a task, for [`efmca::em::keeping`]: the same task with the same folder goes on from
/// there, and ends with the same bits.
///
/// ```
/// use std::rc::Rc;
/// use std::time::Duration;
/// use efmca::em::keeping;
/// use efmca::{Em, bars};
/// use efmca_io::KeptFolder;
/// # let folder = tempfile::tempdir()?;
///
/// let y = bars::model("poisson", 3, &[20.0], &[1.0], 0.2)?.sample(100, 1).y;
/// let kept = Rc::new(KeptFolder::new(folder.path(), Duration::from_secs(60), |_| ()));
/// keeping(kept.clone(), || Em::new(6).family("poisson").run(&y))?;
/// assert_eq!(kept.files().len(), 1);
/// // when the result is safe
/// kept.clear();
/// assert!(kept.files().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct KeptFolder<F> {
    folder: PathBuf,
    every: Duration,
    last: Cell<Instant>,
    tell: F,
    /// Whether the folder is made here, so that it may be removed.
    is_ours: bool,
}

/// Letters of the name of a training.
const LETTERS: usize = 16;

impl<F: Fn(KeptNews<'_>)> KeptFolder<F> {
    /// A folder, which is made when there is something to keep. Trainings are written when they end, and those that go on after each
    /// `every`.
    pub fn new(folder: &Path, every: Duration, tell: F) -> KeptFolder<F> {
        let is_ours = !folder.exists();
        KeptFolder { folder: folder.to_path_buf(), every, last: Cell::new(Instant::now()), tell, is_ours }
    }

    /// The files of all trainings that are kept, finished or half-written.
    pub fn files(&self) -> Vec<PathBuf> {
        let entries =
            std::fs::read_dir(&self.folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        entries.filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_training)).collect()
    }

    /// Removes all trainings, and the folder if it was not there before and nothing else is in it: what they were for is done.
    pub fn clear(&self) {
        for path in self.files() {
            // one that stays does no harm
            let _ = std::fs::remove_file(path);
        }
        if self.is_ours {
            let _ = std::fs::remove_dir(&self.folder);
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.safetensors"))
    }
}

impl<F: Fn(KeptNews<'_>)> Keep for KeptFolder<F> {
    fn left(&self, name: &str) -> Option<Checkpoint> {
        let path = self.path(name);
        if !path.exists() {
            return None;
        }
        match read_checkpoint(&path) {
            Ok((left, _)) => {
                (self.tell)(KeptNews::Found(left.history.len()));
                Some(left)
            }
            Err(error) => {
                (self.tell)(KeptNews::Problem(&error));
                None
            }
        }
    }

    fn is_due(&self, ended: bool) -> bool {
        ended || self.last.get().elapsed() >= self.every
    }

    fn keep(&self, name: &str, training: &KeptTraining<'_>) {
        let written =
            write_checkpoint(&self.path(name), &training.state, training.settings, training.data, &Value::Null);
        if let Err(error) = written {
            (self.tell)(KeptNews::Problem(&error));
        }
        self.last.set(Instant::now());
    }
}

/// Whether a file has the name of a training.
fn is_training(name: &str) -> bool {
    let name = name.strip_suffix(".part").unwrap_or(name);
    let letters = name.strip_suffix(".safetensors");
    letters.is_some_and(|name| name.len() == LETTERS && name.bytes().all(|letter| letter.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use efmca::em::keeping;
    use efmca::{Em, bars};

    use super::*;

    #[test]
    fn damaged_trainings_are_told_and_trained_again() {
        let folder = tempfile::tempdir().unwrap();
        let (place, other) = (folder.path().join("kept"), folder.path().join("kept/notes.txt"));
        let y = bars::model("poisson", 3, &[20.0], &[1.0], 0.2).unwrap().sample(100, 1).y;
        let em = Em::new(6).family("poisson").iterations(5);
        let news = Rc::new(RefCell::new(Vec::new()));
        let told = Rc::clone(&news);
        let tell = move |news: KeptNews<'_>| {
            told.borrow_mut().push(match news {
                KeptNews::Found(iterations) => format!("found {iterations}"),
                KeptNews::Problem(error) => error.to_string(),
            });
        };
        let kept = Rc::new(KeptFolder::new(&place, Duration::ZERO, tell));
        let train = || keeping(kept.clone(), || em.run(&y)).unwrap().model;
        let first = train();
        let files = kept.files();
        assert!(files.len() == 1 && news.borrow().is_empty(), "{files:?} {news:?}");
        assert_eq!(train().w_flat(), first.w_flat());
        assert_eq!(news.take(), ["found 5"]);
        let bytes = std::fs::read(&files[0]).unwrap();
        std::fs::write(&files[0], &bytes[..bytes.len() / 2]).unwrap();
        assert_eq!(train().w_flat(), first.w_flat());
        assert!(news.borrow()[0].contains("cut short"), "{news:?}");
        // only what is ours goes
        std::fs::write(&other, "mine").unwrap();
        kept.clear();
        assert!(other.exists() && kept.files().is_empty());
        std::fs::remove_file(&other).unwrap();
        train();
        kept.clear();
        assert!(!place.exists());
        // a folder that was there before stays
        let kept = KeptFolder::new(folder.path(), Duration::ZERO, |_| ());
        kept.clear();
        assert!(folder.path().exists());
    }
}
