//! The folder of a run of `efmca learn`.

use std::path::{Path, PathBuf};

use super::args::LearnArgs;
use crate::cluster::follows;
use crate::failure::Failure;
use crate::outputs::{self, Output};

/// The number of letters after the name of a file while it is written.
const RANDOM_LETTERS: usize = 6;
/// The endings of files that appear under their name only when they are complete.
const WRITTEN: [&str; 4] = [".safetensors", ".html", ".png", ".svg"];
/// The beginning of names of files that only test whether a folder can be written.
const PROBE: &str = ".efmca-write-check-";

/// The paths of everything that a run writes.
pub(super) struct Files {
    folder: PathBuf,
    pub(super) model: PathBuf,
    pub(super) checkpoint: PathBuf,
    pub(super) report: PathBuf,
}

impl Files {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            model: folder.join("model.safetensors"),
            checkpoint: folder.join("checkpoint.safetensors"),
            report: folder.join("report.html"),
        }
    }

    /// Finds out before the work starts whether its files can be written.
    pub(super) fn check(&self, args: &LearnArgs) -> Result<(), Failure> {
        if follows() {
            return Ok(());
        }
        outputs::take_folder(&self.folder)?;
        let earlier = [&self.model, &self.checkpoint].into_iter().find(|path| path.exists());
        if let Some(path) = earlier.filter(|_| !args.resume && !args.force) {
            return Err(Failure::input(format!(
                "{} is from an earlier run; resume that run with --resume, replace it with --force, or choose another \
                 --out-dir",
                path.display()
            )));
        }
        self.sweep();
        let inputs: Vec<&Path> = args.inputs.iter().map(PathBuf::as_path).collect();
        let paths = [&self.model, &self.checkpoint, &self.report];
        outputs::check_all(paths.map(|path| Some(Output::File(path))), &inputs, true)
    }

    /// Removes what is replaced, when it is certain that the work can start.
    pub(super) fn clear(&self, args: &LearnArgs) -> Result<(), Failure> {
        if follows() {
            return Ok(());
        }
        // a checkpoint of the run that is replaced would be resumed after the next interruption
        if args.force && !args.resume && self.checkpoint.exists() {
            std::fs::remove_file(&self.checkpoint)
                .map_err(|error| Failure::input(format!("cannot replace {}: {error}", self.checkpoint.display())))?;
        }
        Ok(())
    }

    /// Removes half-written files of runs that were killed: each time it would be one more file.
    fn sweep(&self) {
        let names = std::fs::read_dir(&self.folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        for path in names {
            if path.file_name().and_then(|name| name.to_str()).is_some_and(half_written) {
                // it does no harm if it stays
                let _ = std::fs::remove_file(&path);
            }
        }
    }
}

/// Whether this is the name of a file that was never finished, such as `.means.png.a8Xk2p`.
fn half_written(name: &str) -> bool {
    if let Some(number) = name.strip_prefix(PROBE) {
        return !number.is_empty() && number.bytes().all(|letter| letter.is_ascii_digit());
    }
    let Some((hidden, letters)) = name.rsplit_once('.') else { return false };
    // six lower-case letters may be a word that somebody chose, such as `backup`; few random ones are all lower-case
    let random = letters.len() == RANDOM_LETTERS
        && letters.bytes().all(|letter| letter.is_ascii_alphanumeric())
        && !letters.bytes().all(|letter| letter.is_ascii_lowercase());
    random && hidden.starts_with('.') && WRITTEN.iter().any(|end| hidden.len() > end.len() && hidden.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_were_never_finished_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let left = [".means.png.a8Xk2p", ".model.safetensors.ABCDEF", ".report.html.123456", ".efmca-write-check-17"];
        let kept = [
            "means.png",
            "means.png.a8Xk2p",
            ".means.png",
            ".means.png.a8Xk2",
            ".means.png.backup",
            ".png.a8Xk2-",
            ".notes.txt.a8Xk2p",
            ".efmca-write-check-",
            ".efmca-write-check-x",
            "checkpoint.safetensors",
        ];
        for name in left.iter().chain(&kept) {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        Files::new(folder.path()).sweep();
        left.iter().for_each(|name| assert!(!folder.path().join(name).exists(), "{name}"));
        kept.iter().for_each(|name| assert!(folder.path().join(name).exists(), "{name}"));
        // in a folder that does not exist there is nothing to remove
        Files::new(&folder.path().join("none")).sweep();
    }
}
