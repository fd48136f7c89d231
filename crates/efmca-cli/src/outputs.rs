//! The places of results, checked before the work: a mistyped path must not cost an hour.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use efmca_io::image_file::{check_writable, file_of};
use efmca_io::table_file::check_table_place;
use efmca_io::{PlaceLock, check_place};

use crate::cluster::follows;
use crate::failure::Failure;

/// A result that a command will write.
#[derive(Clone, Copy)]
pub(crate) enum Output<'a> {
    /// An image, whose name says its format.
    Image(&'a Path),
    /// A table, whose name says its format.
    Table(&'a Path),
    /// A file of any other kind.
    File(&'a Path),
}

impl<'a> Output<'a> {
    fn path(self) -> &'a Path {
        let (Self::Image(path) | Self::Table(path) | Self::File(path)) = self;
        path
    }
}

thread_local! {
    /// The places that the command at work has for itself.
    static TAKEN: RefCell<Vec<(PathBuf, PlaceLock)>> = const { RefCell::new(Vec::new()) };
    /// Folders that go at the end if nothing is in them, the innermost last: those that were made for a lock.
    static MADE: RefCell<Vec<PathBuf>> = const { RefCell::new(Vec::new()) };
}

/// Takes a file for the command at work until it ends.
fn take_file(place: &Path) -> Result<(), Failure> {
    if let Some(folder) = place.parent() {
        make(folder);
    }
    take(place)
}

/// Takes a folder, which is made if it does not exist.
pub(crate) fn take_folder(folder: &Path) -> Result<(), Failure> {
    if follows() {
        return Ok(());
    }
    make(folder);
    // what stands in its way is found out where files in it are checked
    if folder.is_dir() { take(folder) } else { Ok(()) }
}

fn take(place: &Path) -> Result<(), Failure> {
    // `efmca demo` takes the places of the commands that it runs
    if TAKEN.with_borrow(|taken| taken.iter().any(|(other, _)| other == place)) {
        return Ok(());
    }
    let lock = PlaceLock::take(place).map_err(Failure::input)?;
    TAKEN.with_borrow_mut(|taken| taken.push((place.to_path_buf(), lock)));
    Ok(())
}

/// Makes a folder that goes again at the end of the command if nothing was written to it.
fn make(folder: &Path) {
    let missing: Vec<PathBuf> = folder
        .ancestors()
        .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        .map(Path::to_path_buf)
        .collect();
    if std::fs::create_dir_all(folder).is_ok() {
        MADE.with_borrow_mut(|made| made.extend(missing.into_iter().rev()));
    }
}

/// Takes a folder away at the end of the command if nothing is in it.
pub(crate) fn leave_no_empty(folder: &Path) {
    if follows() {
        return;
    }
    MADE.with_borrow_mut(|made| made.push(folder.to_path_buf()));
}

/// Gives all places free at the end of a command.
pub(crate) fn give_free() {
    TAKEN.with_borrow_mut(Vec::clear);
    for folder in MADE.take().iter().rev() {
        // one with something in it stays
        let _ = std::fs::remove_dir(folder);
    }
}

/// Finds out whether all results can be written, see [`check_all`], and keeps other runs from writing to the same files.
pub(crate) fn check<'a>(
    outputs: impl IntoIterator<Item = Option<Output<'a>>>,
    inputs: &[&Path],
    force: bool,
) -> Result<(), Failure> {
    let outputs: Vec<Option<Output<'a>>> = outputs.into_iter().collect();
    check_all(outputs.iter().copied(), inputs, force)?;
    if !follows() {
        outputs.iter().flatten().try_for_each(|output| take_file(&place(output.path())))?;
    }
    // once more: the run that had a place until now may have written to it
    check_all(outputs, inputs, force)
}

/// Finds out whether all results can be written: whether their formats are known, whether files exist already (unless
/// `force`), and whether each has a place of its own that is none of the files to read.
pub(crate) fn check_all<'a>(
    outputs: impl IntoIterator<Item = Option<Output<'a>>>,
    inputs: &[&Path],
    force: bool,
) -> Result<(), Failure> {
    // rank 0 writes, and finds out whether it can
    if follows() {
        return Ok(());
    }
    let read: Vec<PathBuf> = inputs.iter().map(|path| place(path)).collect();
    let mut written: Vec<PathBuf> = Vec::new();
    for output in outputs.into_iter().flatten() {
        let (path, place) = (output.path(), place(output.path()));
        if read.contains(&place) {
            let problem = "the input and the result cannot be the same file; choose another name for the result";
            return Err(Failure::input(format!("{}: {problem}", path.display())));
        }
        if written.contains(&place) {
            return Err(Failure::input(format!("{}: two results cannot be the same file", path.display())));
        }
        let checked = match output {
            Output::Image(path) => check_writable(path, force),
            Output::Table(path) => check_table_place(path, force),
            Output::File(path) => check_place(path, force),
        };
        checked.map_err(Failure::input)?;
        written.push(place);
    }
    Ok(())
}

/// Finds out whether these files can be written to a folder, and gives their paths.
pub(crate) fn check_folder<const N: usize>(
    folder: &Path,
    names: [&str; N],
    force: bool,
) -> Result<[PathBuf; N], Failure> {
    let paths = names.map(|name| folder.join(name));
    check(paths.iter().map(|path| Some(Output::File(path))), &[], force)
        .map_err(|failure| Failure::input(format!("--out {}: {failure}", folder.display())))?;
    Ok(paths)
}

/// The file that a path leads to, however it is written.
pub(crate) fn place(path: &Path) -> PathBuf {
    let file = file_of(path);
    if let Ok(found) = file.canonicalize() {
        return found;
    }
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (parent.canonicalize(), file.file_name()) {
        (Ok(parent), Some(name)) => parent.join(name),
        _ => file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_recognised_under_any_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("in.npz"), "x").unwrap();
        let refused = |outputs: &[&str], expected: &str| {
            let outputs: Vec<PathBuf> = outputs.iter().map(|name| path(name)).collect();
            let outputs = outputs.iter().map(|path| Some(Output::File(path)));
            let message = check(outputs, &[&path("in.npz")], true).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        };
        refused(&["./in.npz"], "cannot be the same");
        refused(&["in.npz:array"], "cannot be the same");
        refused(&["a", "b", "./a"], "two results");
        refused(&["new.npz:a", "new.npz:b"], "two results");
        assert!(check([None, Some(Output::File(&path("new")))], &[&path("in.npz")], false).is_ok());
        assert!(check([Some(Output::Image(&path("new.jpg")))], &[], false).is_err());
        assert!(check([Some(Output::Table(&path("new.txt")))], &[], false).is_err());
    }
}
