//! A table and an image of counts, for tests of what can happen to a command while it works.

use std::fmt::Write;

use efmca_io::image_file;
use ndarray::Array4;
use tempfile::TempDir;

/// What the program wrote.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder with `table.csv` of so many rows, and with an image of that name and size.
pub(crate) fn folder_with(rows: usize, image: &str, side: usize) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut table = "a,b,c\n".to_owned();
    (0..rows).for_each(|row| writeln!(table, "{},{},{}", row % 7, row * 3 % 11, row * 5 % 4).unwrap());
    std::fs::write(folder.path().join("table.csv"), table).unwrap();
    let pixels = Array4::from_shape_fn((1, side, side, 1), |(_, y, x, _)| ((x * 7 + y * 3) % 9 + 1) as f64);
    image_file::write(&folder.path().join(image), pixels.view(), &image_file::WriteOptions::default()).unwrap();
    folder
}
