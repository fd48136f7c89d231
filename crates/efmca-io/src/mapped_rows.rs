//! Rows of an NPY file that stay on the disk: only those that are being looked at are in memory.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use efmca::model::Data;
use memmap2::Mmap;

use crate::IoError;
use crate::error::hint_for_reading;
use crate::image_file::npy::Header;
use crate::image_file::sample_type::{ByteOrder, decode};
use crate::image_file::{Format, SampleType};

/// An NPY file of two axes (rows and columns), mapped into memory. The file must not be changed while it is used.
///
/// ```
/// use efmca::model::Data;
/// use efmca_io::MappedRows;
/// # use efmca_io::image_file::{WriteOptions, write};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("rows.npy");
/// # let values = ndarray::Array4::from_shape_fn((1, 3, 2, 1), |(_, n, d, _)| (10 * n + d) as f64);
/// # write(&path, values.view(), &WriteOptions::default())?;
/// let rows = MappedRows::open(&path)?;
/// assert_eq!((rows.n(), rows.d()), (3, 2));
/// let mut row = [0.0; 2];
/// rows.read_row(1, &mut row);
/// assert_eq!(row, [10.0, 11.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct MappedRows {
    bytes: Arc<Mmap>,
    /// Where the numbers start.
    start: usize,
    sample: SampleType,
    order: ByteOrder,
    n: usize,
    d: usize,
}

impl MappedRows {
    /// Opens an NPY file of two axes in C order; with more axes, those after the first are the columns.
    ///
    /// # Errors
    ///
    /// [`IoError::Read`] if it cannot be read, [`IoError::NotRows`] if it has no rows of numbers.
    pub fn open(path: &Path) -> Result<MappedRows, IoError> {
        let read = |source: std::io::Error| IoError::Read {
            path: path.to_path_buf(),
            hint: hint_for_reading(source.kind()),
            source,
        };
        let file = File::open(path).map_err(read)?;
        // An empty file cannot be mapped, and a folder or a device is no file of numbers.
        let kind = file.metadata().map_err(read)?;
        let refused = |problem: String| IoError::NotRows { path: PathBuf::from(path), problem };
        if !kind.is_file() || kind.len() == 0 {
            return Err(refused("it is empty, or no file".into()));
        }
        let bytes = map(&file).map_err(read)?;
        if Format::of_bytes(&bytes) != Some(Format::Npy) {
            return Err(refused("it is no NPY file".into()));
        }
        let header = Header::of(&bytes).map_err(|fault| refused(fault.problem))?;
        let (sample, order) = header.sample().map_err(|fault| refused(fault.problem))?;
        let (shape, start) = (header.shape, header.start);
        if header.fortran && shape.len() > 1 {
            return Err(refused(
                "its numbers stand column by column; use numpy.ascontiguousarray before saving".into(),
            ));
        }
        let (Some(n), Some(d)) = (shape.first().copied(), shape.get(1..).filter(|shape| !shape.is_empty())) else {
            return Err(refused(format!("its shape {shape:?} has no rows and columns")));
        };
        let d = d.iter().try_fold(1usize, |size, side| size.checked_mul(*side));
        let needed = d.and_then(|d| n.checked_mul(d)?.checked_mul(sample.bytes())?.checked_add(start));
        let (Some(d), Some(needed)) = (d, needed) else {
            return Err(refused(format!("its shape {shape:?} is too large")));
        };
        if needed > bytes.len() {
            return Err(refused(format!("it should have {needed} bytes, and has {}", bytes.len())));
        }
        if n == 0 || d == 0 {
            return Err(refused(format!("its shape {shape:?} has no values")));
        }
        Ok(MappedRows { bytes: Arc::new(bytes), start, sample, order, n, d })
    }
}

/// The one place where a file is mapped.
#[allow(unsafe_code)]
fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: the map is read only. Were the file changed by another program meanwhile, values would change, and were it cut
    // short, the program would be ended by a signal; no other memory is touched. The documentation asks to leave it alone.
    unsafe { Mmap::map(file) }
}

impl Data for MappedRows {
    fn n(&self) -> usize {
        self.n
    }

    fn d(&self) -> usize {
        self.d
    }

    fn read_row(&self, n: usize, y: &mut [f64]) {
        let size = self.d * self.sample.bytes();
        let row = &self.bytes[self.start + n * size..][..size];
        let mut values = Vec::with_capacity(self.d);
        decode(self.sample, self.order, row, &mut values);
        y.copy_from_slice(&values);
    }

    fn outside(&self) -> Option<Arc<dyn Data + Send>> {
        Some(Arc::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image_file::{WriteOptions, write};
    use ndarray::Array4;

    #[test]
    fn all_types_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let values = Array4::from_shape_fn((1, 4, 3, 1), |(_, n, d, _)| (n * 3 + d) as f64);
        for name in ["u8", "u16", "i32", "f32", "f64"] {
            let path = folder.path().join(format!("{name}.npy"));
            let options = WriteOptions { dtype: Some(name.parse().unwrap()), ..WriteOptions::default() };
            write(&path, values.view(), &options).unwrap();
            let rows = MappedRows::open(&path).unwrap();
            let mut row = [0.0; 3];
            rows.read_row(3, &mut row);
            assert_eq!(row, [9.0, 10.0, 11.0], "{name}");
            assert_eq!(rows.outside().unwrap().n(), 4);
        }
    }

    #[test]
    fn what_has_no_rows_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.npy");
        let values = Array4::from_elem((1, 4, 3, 1), 2.0);
        write(&path, values.view(), &WriteOptions::default()).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let refused = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            MappedRows::open(&path).unwrap_err().to_string()
        };
        assert!(refused(&bytes[..bytes.len() - 1]).contains("should have"));
        assert!(refused(&[]).contains("empty"));
        assert!(refused(b"\x89PNG and so on and on").contains("NPY"));
        let at = bytes.windows(5).position(|five| five == b"False").unwrap();
        let mut fortran = bytes.clone();
        fortran[at..at + 5].copy_from_slice(b"True ");
        assert!(refused(&fortran).contains("column by column"));
        assert!(MappedRows::open(folder.path()).is_err());
        assert!(MappedRows::open(&folder.path().join("none.npy")).unwrap_err().to_string().contains("none.npy"));
    }
}
