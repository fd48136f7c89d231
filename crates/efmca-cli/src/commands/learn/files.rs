//! The folder of a run of `efmca learn`.

use std::path::{Path, PathBuf};

use efmca::family::Family;
use efmca_view::Gallery;

use super::args::LearnArgs;
use crate::cluster::follows;
use crate::failure::Failure;
use crate::outputs::{self, Output, place};

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
    pictures: Vec<PathBuf>,
}

impl Files {
    pub(super) fn new(folder: &Path, family: &dyn Family) -> Self {
        let drawn = |name: String| ["png", "svg"].map(|ending| folder.join(format!("{name}.{ending}")));
        Self {
            folder: folder.to_path_buf(),
            model: folder.join("model.safetensors"),
            checkpoint: folder.join("checkpoint.safetensors"),
            report: folder.join("report.html"),
            pictures: Gallery::names(family).into_iter().flat_map(drawn).collect(),
        }
    }

    /// Finds out before the work starts whether its files can be written.
    pub(super) fn check(&self, args: &LearnArgs) -> Result<(), Failure> {
        if follows() {
            return Ok(());
        }
        outputs::take_folder(&self.folder)?;
        let inputs: Vec<&Path> = args.inputs.iter().map(PathBuf::as_path).collect();
        // A checkpoint is there while it is written. Whether it can be is no reason to stop: the model needs no checkpoint.
        let part = self.folder.join("checkpoint.safetensors.part");
        if inputs.iter().any(|input| place(input) == place(&part)) {
            let problem = "the input and the result cannot be the same file; choose another --out-dir";
            return Err(Failure::input(format!("{}: {problem}", part.display())));
        }
        outputs::check_all(self.all().map(|path| Some(Output::File(path))), &inputs, true)?;
        if !args.force {
            self.replaces_nothing(args)?;
        }
        self.sweep(&inputs);
        Ok(())
    }

    /// Everything that a run can write.
    fn all(&self) -> impl Iterator<Item = &Path> {
        [&self.model, &self.checkpoint, &self.report].into_iter().chain(&self.pictures).map(PathBuf::as_path)
    }

    /// An error if files are there, unless they are those of the run that is resumed: only its checkpoint tells which run that is.
    fn replaces_nothing(&self, args: &LearnArgs) -> Result<(), Failure> {
        let is_there = |path: &Path| path.symlink_metadata().is_ok();
        if args.resume && is_there(&self.checkpoint) {
            return Ok(());
        }
        let Some(path) = self.all().find(|path| is_there(path)) else { return Ok(()) };
        let problem = if args.resume {
            "is there, but no checkpoint to resume from, so that it may be of another run; replace it with --force, or choose \
             another --out-dir"
        } else if path == self.model || path == self.checkpoint {
            "is from an earlier run; resume that run with --resume, replace it with --force, or choose another --out-dir"
        } else {
            "exists already; replace it with --force, or choose another --out-dir"
        };
        Err(Failure::input(format!("{} {problem}", path.display())))
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
    fn sweep(&self, inputs: &[&Path]) {
        let names = std::fs::read_dir(&self.folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        let inputs: Vec<PathBuf> = inputs.iter().map(|path| place(path)).collect();
        for path in names.filter(|path| !inputs.contains(&place(path))) {
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
        let family = efmca::family::family("gaussian").unwrap();
        let input = folder.path().join(".photo.png.a8Xk2p");
        std::fs::write(&input, "x").unwrap();
        Files::new(folder.path(), &*family).sweep(&[&input]);
        assert!(input.exists());
        left.iter().for_each(|name| assert!(!folder.path().join(name).exists(), "{name}"));
        kept.iter().for_each(|name| assert!(folder.path().join(name).exists(), "{name}"));
        // in a folder that does not exist there is nothing to remove
        Files::new(&folder.path().join("none"), &*family).sweep(&[]);
    }
}
