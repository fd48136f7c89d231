//! The kind of a file: an image, a table or a sound.

use std::io::{Cursor, Read};
use std::path::Path;

use crate::image_file::{Format, array_shape, array_shape_of, file_of};

/// Arrays with both sides of this size at least are images, if they are not much longer than wide.
const IMAGE_SIDE: usize = 128;
/// Pages with both sides up to this are small pictures: each is a row of a table.
const SMALL_PAGE: usize = 32;

/// The kind of data in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Pixels that belong together by where they are.
    Image,
    /// A row for each data point, in an array.
    Array,
    /// A row for each data point, in a text file, whose columns differ in kind more often than those of arrays.
    Text,
    /// A sound.
    Sound,
}

impl FileKind {
    /// The kind of the file at `path`, by its first bytes. For an array it is a guess by its shape, which is then the second value.
    /// A file that cannot be read is [`FileKind::Text`]: the reader says what is wrong with it. So is a pipe, of which nothing is
    /// taken; [`FileKind::of_bytes`] is for what came through it.
    pub fn of(path: &Path) -> (FileKind, Option<Vec<usize>>) {
        let mut bytes = Vec::new();
        let file = file_of(path);
        if file.is_file()
            && let Ok(file) = std::fs::File::open(file)
        {
            let _ = file.take(16).read_to_end(&mut bytes);
        }
        kind_of(&bytes, path, || array_shape(path))
    }

    /// The kind of a file whose bytes are in memory, see [`FileKind::of`].
    pub fn of_bytes(bytes: &[u8], path: &Path) -> (FileKind, Option<Vec<usize>>) {
        kind_of(bytes, path, || array_shape_of(Cursor::new(bytes), path))
    }
}

fn kind_of(bytes: &[u8], path: &Path, shape: impl Fn() -> Option<Vec<usize>>) -> (FileKind, Option<Vec<usize>>) {
    if [b"RIFF", b"RIFX", b"RF64"].iter().any(|start| bytes.starts_with(*start)) {
        return (FileKind::Sound, None);
    }
    let name = path.to_string_lossy();
    match Format::of_bytes(bytes) {
        // arrays that cannot be images are tables
        Some(Format::Npy | Format::Npz) => {
            shape().map_or((FileKind::Array, None), |shape| (of_shape(&shape), Some(shape)))
        }
        Some(_) => (FileKind::Image, None),
        // packed FITS images have two endings
        None if name.ends_with(".gz") && !name.contains(".csv") && !name.contains(".tsv") => (FileKind::Image, None),
        None => (FileKind::Text, None),
    }
}

/// The kind that an array of this shape most likely is.
fn of_shape(shape: &[usize]) -> FileKind {
    let large =
        |rows: usize, columns: usize| rows.min(columns) >= IMAGE_SIDE && rows.max(columns) <= 2 * rows.min(columns);
    match shape {
        [rows, columns] if large(*rows, *columns) => FileKind::Image,
        [rows, columns, 3 | 4] if rows.min(columns) >= &SMALL_PAGE => FileKind::Image,
        [_, rows, columns] if rows.max(columns) > &SMALL_PAGE => FileKind::Image,
        [_, _, _, _] => FileKind::Image,
        _ => FileKind::Array,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_say_what_arrays_are() {
        assert_eq!(of_shape(&[256, 256]), FileKind::Image);
        assert_eq!(of_shape(&[217, 100]), FileKind::Array);
        assert_eq!(of_shape(&[2000, 16]), FileKind::Array);
        assert_eq!(of_shape(&[63, 247, 3]), FileKind::Image);
        assert_eq!(of_shape(&[1404, 20, 16]), FileKind::Array);
        assert_eq!(of_shape(&[40, 256, 256]), FileKind::Image);
        assert_eq!(of_shape(&[500]), FileKind::Array);
    }

    #[test]
    fn first_bytes_say_what_files_are() {
        let folder = tempfile::tempdir().unwrap();
        let kind = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            FileKind::of(&path).0
        };
        assert_eq!(kind("sound.dat", b"RIFF....WAVE"), FileKind::Sound);
        assert_eq!(kind("picture.csv", b"\x89PNG\r\n\x1a\n"), FileKind::Image);
        assert_eq!(kind("table.png", b"a,b\n1,2\n"), FileKind::Text);
        assert_eq!(kind("sky.fits.gz", b"\x1f\x8b"), FileKind::Image);
        assert_eq!(kind("table.csv.gz", b"\x1f\x8b"), FileKind::Text);
        assert_eq!(FileKind::of(&folder.path().join("none")).0, FileKind::Text);
    }
}
