//! Rows of an NPY file that stay on the disk: only those that are being looked at are in memory.
//!
//! Rows are read and not mapped: where a mapped file is cut by another program, the reader is ended by a signal, and nothing that
//! it had learned is left. A read that fails is an error like any other.

use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use efmca::Error;
use efmca::model::Data;

use crate::IoError;
use crate::error::hint_for_reading;
use crate::image_file::npy::Header;
use crate::image_file::sample_type::{ByteOrder, decode};
use crate::image_file::{Format, SampleType};
use crate::whole::Stamp;

/// More than the header of an NPY file ever takes.
const HEAD: u64 = 1 << 17;

thread_local! {
    /// Room for the bytes and the values of a row.
    static ROOM: RefCell<(Vec<u8>, Vec<f64>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

/// An NPY file of two axes (rows and columns), read row by row. A file that is changed or cut while it is used is found out:
/// see [`Data::check_unchanged`].
///
/// ```
/// use efmca::model::Data;
/// use efmca_io::FileRows;
/// # use efmca_io::image_file::{WriteOptions, write};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("rows.npy");
/// # let values = ndarray::Array4::from_shape_fn((1, 3, 2, 1), |(_, n, d, _)| (10 * n + d) as f64);
/// # write(&path, values.view(), &WriteOptions::default())?;
/// let rows = FileRows::open(&path)?;
/// assert_eq!((rows.n(), rows.d()), (3, 2));
/// let mut row = [0.0; 2];
/// rows.read_row(1, &mut row);
/// assert_eq!(row, [10.0, 11.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct FileRows {
    source: Arc<Source>,
    /// Where the numbers start.
    start: u64,
    sample: SampleType,
    order: ByteOrder,
    n: usize,
    d: usize,
}

impl FileRows {
    /// Opens an NPY file of two axes in C order; with more axes, those after the first are the columns.
    ///
    /// # Errors
    ///
    /// [`IoError::Read`] if it cannot be read, [`IoError::NotRows`] if it has no rows of numbers.
    pub fn open(path: &Path) -> Result<FileRows, IoError> {
        let read = |source: std::io::Error| IoError::Read {
            path: path.to_path_buf(),
            hint: hint_for_reading(&source),
            source,
        };
        let mut file = File::open(path).map_err(read)?;
        // A folder or a device is no file of numbers.
        let kind = file.metadata().map_err(read)?;
        let refused = |problem: String| IoError::NotRows { path: PathBuf::from(path), problem };
        if !kind.is_file() || kind.len() == 0 {
            return Err(refused("it is empty, or no file".into()));
        }
        let mut bytes = Vec::new();
        file.by_ref().take(HEAD).read_to_end(&mut bytes).map_err(read)?;
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
        if needed as u64 > kind.len() {
            return Err(refused(format!("it should have {needed} bytes, and has {}", kind.len())));
        }
        if n == 0 || d == 0 {
            return Err(refused(format!("its shape {shape:?} has no values")));
        }
        let source = Source { stamp: Stamp::of(&kind), path: path.to_path_buf(), file, fault: OnceLock::new() };
        Ok(FileRows { source: Arc::new(source), start: start as u64, sample, order, n, d })
    }
}

/// The file, and what is wrong with it.
#[derive(Debug)]
struct Source {
    file: File,
    path: PathBuf,
    /// Its size and when it was last changed, as it was opened. They are only compared with each other: what the clock says does
    /// not matter.
    stamp: Stamp,
    /// The first read that failed. Rows cannot fail one by one; who reads them asks afterwards.
    fault: OnceLock<String>,
}

impl Source {
    fn read(&self, at: u64, bytes: &mut [u8]) -> std::io::Result<()> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_exact_at(&self.file, bytes, at);
        #[cfg(windows)]
        {
            let mut done = 0;
            while done < bytes.len() {
                match std::os::windows::fs::FileExt::seek_read(&self.file, &mut bytes[done..], at + done as u64)? {
                    0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                    count => done += count,
                }
            }
            Ok(())
        }
    }

    fn check(&self) -> Result<(), String> {
        if let Some(fault) = self.fault.get() {
            return Err(fault.clone());
        }
        self.stamp.check(&self.file)
    }
}

impl Data for FileRows {
    fn n(&self) -> usize {
        self.n
    }

    fn d(&self) -> usize {
        self.d
    }

    fn read_row(&self, n: usize, y: &mut [f64]) {
        let size = self.d * self.sample.bytes();
        ROOM.with_borrow_mut(|(bytes, values)| {
            bytes.resize(size, 0);
            values.clear();
            match self.source.read(self.start + n as u64 * size as u64, bytes) {
                Ok(()) => {
                    decode(self.sample, self.order, bytes, values);
                    y.copy_from_slice(values);
                }
                Err(error) => {
                    let _ = self.source.fault.set(format!("row {} cannot be read ({error})", n + 1));
                    y.fill(f64::NAN);
                }
            }
        });
    }

    fn check_unchanged(&self) -> efmca::Result<()> {
        let path = &self.source.path;
        self.source.check().map_err(|problem| Error::Changed { what: path.display().to_string(), problem })
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
    use std::time::SystemTime;

    #[test]
    fn all_types_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let values = Array4::from_shape_fn((1, 4, 3, 1), |(_, n, d, _)| (n * 3 + d) as f64);
        for name in ["u8", "u16", "i32", "f32", "f64"] {
            let path = folder.path().join(format!("{name}.npy"));
            let options = WriteOptions { dtype: Some(name.parse().unwrap()), ..WriteOptions::default() };
            write(&path, values.view(), &options).unwrap();
            let rows = FileRows::open(&path).unwrap();
            let mut row = [0.0; 3];
            rows.read_row(3, &mut row);
            assert_eq!(row, [9.0, 10.0, 11.0], "{name}");
            assert_eq!(rows.outside().unwrap().n(), 4);
        }
    }

    #[test]
    fn a_file_that_is_changed_or_cut_is_found_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.npy");
        let values = Array4::from_shape_fn((1, 40, 3, 1), |(_, n, d, _)| (n * 3 + d) as f64);
        write(&path, values.view(), &WriteOptions::default()).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let in_place = |bytes: &[u8]| {
            use std::io::Write;
            let mut file = std::fs::OpenOptions::new().write(true).truncate(true).open(&path).unwrap();
            file.write_all(bytes).unwrap();
        };
        let mut row = [0.0; 3];

        let rows = FileRows::open(&path).unwrap();
        rows.read_row(39, &mut row);
        assert!(rows.check_unchanged().is_ok() && row == [117.0, 118.0, 119.0]);
        in_place(&bytes[..bytes.len() - 100]);
        rows.read_row(39, &mut row);
        assert!(row.iter().all(|value| value.is_nan()));
        let error = rows.outside().unwrap().check_unchanged().unwrap_err().to_string();
        assert!(error.contains("rows.npy") && error.contains("row 40 cannot be read"), "{error}");
        // whoever reads it next is told, too, whatever was written since
        in_place(&bytes);
        assert!(rows.check_unchanged().is_err());

        let rows = FileRows::open(&path).unwrap();
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().set_len(bytes.len() as u64 + 8).unwrap();
        let error = rows.check_unchanged().unwrap_err().to_string();
        assert!(error.contains(&format!("had {} bytes, and now it has {}", bytes.len(), bytes.len() + 8)), "{error}");

        in_place(&bytes);
        let rows = FileRows::open(&path).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        // a clock that was set back is a change as well
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(rows.check_unchanged().unwrap_err().to_string().contains("another program has written to it"));

        // a file that takes its place leaves the one that is read as it is
        let rows = FileRows::open(&path).unwrap();
        crate::write_atomically(&path, b"something else").unwrap();
        rows.read_row(1, &mut row);
        assert!(rows.check_unchanged().is_ok() && row == [3.0, 4.0, 5.0]);
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
            FileRows::open(&path).unwrap_err().to_string()
        };
        assert!(refused(&bytes[..bytes.len() - 1]).contains("should have"));
        assert!(refused(&[]).contains("empty"));
        assert!(refused(b"\x89PNG and so on and on").contains("NPY"));
        let at = bytes.windows(5).position(|five| five == b"False").unwrap();
        let mut fortran = bytes.clone();
        fortran[at..at + 5].copy_from_slice(b"True ");
        assert!(refused(&fortran).contains("column by column"));
        assert!(FileRows::open(folder.path()).is_err());
        assert!(FileRows::open(&folder.path().join("none.npy")).unwrap_err().to_string().contains("none.npy"));
    }
}
