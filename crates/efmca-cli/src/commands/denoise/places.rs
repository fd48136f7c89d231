//! The images to clean and the places of their results: one of each, or many and a folder.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use efmca_io::image_file::{Format, file_of};

use crate::failure::Failure;

/// Images and results.
#[derive(Debug, clap::Args)]
pub(crate) struct PlaceArgs {
    /// The noisy image: PNG, TIFF, NPY, NPZ (file.npz:name) or FITS; grey, colour, or a stack of pages. With --out-dir
    /// there may be several, and folders, whose images are taken in the order of their names.
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    /// The clean image; its ending gives the format.
    #[arg(long, short, value_name = "OUTPUT")]
    output: Option<PathBuf>,
    /// Folder for the clean images, which have the names of the noisy ones; it is made if it does not exist.
    #[arg(long, value_name = "DIR")]
    out_dir: Option<PathBuf>,
    /// Learns from the first file only, and cleans the others with the first model of it, as `efmca apply` does: faster,
    /// for files that look alike. Without it every file has models of its own.
    #[arg(long, requires = "out_dir")]
    one_model: bool,
    /// The same, learned from this file, which need not be one of INPUT.
    #[arg(long, value_name = "FILE", requires = "out_dir")]
    learn_from: Option<PathBuf>,
    /// Keeps results that are in DIR already, and cleans the other files.
    #[arg(long, requires = "out_dir", conflicts_with = "force")]
    resume: bool,
}

/// What was typed.
pub(super) enum Places<'a> {
    One { input: &'a Path, output: &'a Path },
    Many(Batch),
}

/// Many images to clean.
pub(super) struct Batch {
    /// The folder of the results.
    pub(super) folder: PathBuf,
    /// One image at least; every result has a name of its own.
    pub(super) items: Vec<Item>,
    /// The number of files in folders that are hidden or have another ending.
    pub(super) skipped: usize,
    /// Whether results that exist are kept.
    pub(super) resume: bool,
    /// The file that one model for all is learned from.
    pub(super) source: Option<PathBuf>,
}

/// One of many images.
pub(super) struct Item {
    pub(super) input: PathBuf,
    pub(super) output: PathBuf,
}

impl PlaceArgs {
    pub(super) fn learn_from(&self) -> Option<&Path> {
        self.learn_from.as_deref()
    }

    /// Whether one file was named for the result.
    pub(super) fn is_one(&self) -> bool {
        self.output.is_some()
    }

    /// Finds the images, and refuses what makes no sense.
    pub(super) fn resolve(&self) -> Result<Places<'_>, Failure> {
        let refuse = |problem: String| Err(Failure::input(problem));
        match (&self.output, &self.out_dir, self.inputs.as_slice()) {
            (Some(_), Some(_), _) => {
                refuse("--output is for one image and --out-dir for many; give one of the two".to_owned())
            }
            (None, None, _) => refuse(
                "give a place for the result: --output FILE for one image, or --out-dir DIR for several or for a folder"
                    .to_owned(),
            ),
            (Some(_), None, [folder]) if folder.is_dir() => refuse(format!(
                "{} is a folder; to clean all images in it, give --out-dir DIR instead of --output",
                folder.display()
            )),
            (Some(output), None, [input]) => Ok(Places::One { input, output }),
            (Some(_), None, inputs) => refuse(format!(
                "there are {} inputs, and --output is for one; give --out-dir DIR instead",
                inputs.len()
            )),
            (None, Some(folder), inputs) => Ok(Places::Many(self.batch(folder, inputs)?)),
        }
    }

    fn batch(&self, folder: &Path, inputs: &[PathBuf]) -> Result<Batch, Failure> {
        let (mut found, mut skipped) = (Vec::new(), 0);
        for path in inputs.iter().chain(&self.learn_from) {
            // what a mistyped name means is not found out by waiting
            if !file_of(path).exists() {
                return Err(Failure::input(format!("{}: there is no such file; check its name", path.display())));
            }
        }
        for input in inputs {
            if input.is_dir() {
                let (images, others) = images_in(input)?;
                found.extend(images);
                skipped += others;
            } else {
                found.push(input.clone());
            }
        }
        let mut items: Vec<Item> = Vec::new();
        let mut taken = HashMap::new();
        for input in found {
            let output = folder.join(result_name(&input)?);
            if let Some(at) = taken.insert(output.clone(), items.len()) {
                let first: &Item = &items[at];
                return Err(Failure::input(format!(
                    "{} and {} would both be written to {}; clean them into two folders, or rename one of them",
                    first.input.display(),
                    input.display(),
                    output.display()
                )));
            }
            items.push(Item { input, output });
        }
        let first = items.first().filter(|_| self.one_model).map(|item| item.input.clone());
        let source = self.learn_from.clone().or(first);
        Ok(Batch { folder: folder.to_path_buf(), items, skipped, resume: self.resume, source })
    }
}

/// The images in a folder by name, and the number of other files.
fn images_in(folder: &Path) -> Result<(Vec<PathBuf>, usize), Failure> {
    let failed =
        |error| Failure::input(format!("{}: the folder cannot be read: {error}; check that you may", folder.display()));
    let (mut images, mut others) = (Vec::new(), 0);
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.is_dir() {
            continue;
        } else if hidden || !has_known_ending(&path) {
            others += 1;
        } else {
            images.push(path);
        }
    }
    if images.is_empty() {
        return Err(Failure::input(format!(
            "{}: there is no image in this folder (other files: {others}; folders in it are not searched); images end in \
             .png, .tif, .npy, .npz or .fits",
            folder.display()
        )));
    }
    images.sort();
    Ok((images, others))
}

fn has_known_ending(path: &Path) -> bool {
    Format::of_extension(path).is_some() || unpacked(path).is_some()
}

/// `image.fits` for `image.fits.gz`: packed files are read, and results are not packed.
fn unpacked(name: &Path) -> Option<PathBuf> {
    let packed = name.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz"));
    let inner = PathBuf::from(name.file_stem().filter(|_| packed)?);
    Format::of_extension(&inner).is_some().then_some(inner)
}

/// The name of the result: that of the image, with an ending that can be written.
pub(super) fn result_name(input: &Path) -> Result<PathBuf, Failure> {
    let file = file_of(input);
    let Some(name) = file.file_name() else {
        return Err(Failure::input(format!("{}: give the name of a file or folder", input.display())));
    };
    let name = PathBuf::from(name);
    if Format::of_extension(&name).is_some() {
        return Ok(name);
    }
    Ok(unpacked(&name).unwrap_or_else(|| {
        let mut longer = name.into_os_string();
        longer.push(".tif");
        longer.into()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_names_that_can_be_written() {
        let name = |input: &str| result_name(Path::new(input)).unwrap().display().to_string();
        assert_eq!(name("day/one.PNG"), "one.PNG");
        assert_eq!(name("one.npz:dark"), "one.npz");
        assert_eq!(name("day/M31.fits.gz"), "M31.fits");
        // numbers that instruments give to files are kept
        assert_eq!((name("scan.001"), name("notes.gz")), ("scan.001.tif".to_owned(), "notes.gz.tif".to_owned()));
        assert!(result_name(Path::new("..")).is_err());
    }

    #[test]
    fn a_folder_is_listed_by_name_without_what_is_no_image() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.tif", "a.npy", "c.fits.gz", "notes.txt", ".hidden.tif", "README"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        std::fs::create_dir(folder.path().join("d.tif")).unwrap();
        let (images, others) = images_in(folder.path()).unwrap();
        let names: Vec<String> = images.iter().map(|path| crate::show::file_name(path)).collect();
        assert_eq!((names.join(" "), others), ("a.npy b.tif c.fits.gz".to_owned(), 3));
    }
}
