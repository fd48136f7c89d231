//! Opening files and finding out what they hold.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::Path;

#[cfg(feature = "parquet")]
use bytes::Bytes;
use efmca::Data;
use flate2::bufread::MultiGzDecoder;

#[cfg(feature = "parquet")]
use super::parquet_file;
use super::trouble::Trouble;
use super::{KeptRows, Remark, Table, TableOptions, arrays, csr, csv_text, signature};
use crate::error::hint_for_reading;
use crate::image_file::fault::{Fault, TOO_LARGE};
use crate::image_file::format::{Format, Location};
use crate::whole::unchanged;
use crate::{FileRows, IoError};

/// How much of a file is looked at to find out what it is.
const HEAD: u64 = 256 << 10;

/// The beginning of files packed with gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// NPY files of more than the memory limit divided by this are not read as a whole, if they need not be.
const MAPPED: u64 = 4;

/// Whether a file is one array of NumPy.
fn is_npy(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(8).read_to_end(&mut start));
    read.is_ok() && Format::of_bytes(&start) == Some(Format::Npy)
}

/// Reads a table; the content of the file decides on its format, not its name.
///
/// - CSV: fields between commas, semicolons or tabs, in quotation marks where needed. Blank lines are
///   skipped. Numbers have decimal points and no separators of thousands. A column of words with up to
///   50 labels is coded from 0 in sorted order, `no`/`yes` and `false`/`true` (or their first letters,
///   in any case) as 0 and 1; columns with more labels, and those without any value, are left out. In a
///   column with less than four numbers to one word, numbers are labels, too, and stand for
///   themselves in their shortest form (`007` is `7`).
///   Columns of dates are left out. Numbers may have decimal commas, see [`TableOptions::decimal_comma`].
/// - Parquet: numbers, truth values and text; text is treated as in CSV files.
/// - NPY and NPZ: an array with rows and columns; one axis is a column, and axes beyond the second are
///   put together with it. `file.npz:name` is the array `name` of an NPZ file. A sparse matrix of SciPy (`save_npz`, CSR or
///   CSC) is an NPZ file, too.
///
/// Files packed with gzip are unpacked. Of a CSV file only the values are in memory, of the others the
/// bytes, too.
///
/// # Errors
///
/// [`IoError::Read`] if the file cannot be read, [`IoError::NotATable`] if it is no table, if its lines
/// differ in the number of fields, if there is a cell that cannot be read in a column of numbers, or if it
/// needs too much memory; [`IoError::Setting`] if the delimiter cannot be one.
pub fn read_table(path: &Path, options: &TableOptions) -> Result<Table, IoError> {
    check_delimiter(options)?;
    let location = Location::of(path);
    let failed = |source: std::io::Error| Trouble::Io(source).when_reading(&location.file, false);
    let file = File::open(&location.file).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        let source: std::io::Error = ErrorKind::IsADirectory.into();
        return Err(IoError::Read { path: location.file, hint: hint_for_reading(&source), source });
    }
    // Pipes and devices have no size.
    let size = Some(metadata.len()).filter(|_| metadata.is_file());
    #[cfg(feature = "parquet")]
    if metadata.is_file() && parquet_file::is_parquet(&file) {
        let same = file.try_clone().map_err(failed)?;
        return unchanged(&file, path, || {
            parquet_file::read(same, options).map_err(|fault| Trouble::Fault(fault).when_reading(path, false))
        });
    }
    if options.keep_rows && size.is_some_and(|size| size > options.memory_limit / MAPPED) && is_npy(&location.file) {
        let rows = FileRows::open(&location.file)?;
        let remark = Remark::Array(format!("its {} rows stay on the disk and are read as they are needed", rows.n()));
        return Ok(Table::of_rows(KeptRows::File(rows), vec![remark]));
    }
    unchanged(&file, path, || {
        let source = BufReader::with_capacity(1 << 16, &file);
        decode(source, size, location.array.as_deref(), options)
            .map_err(|(trouble, packed)| trouble.when_reading(path, packed))
    })
}

/// The same for a file that is in memory already. `path` is what messages call it, and may name an array as `file.npz:name`.
///
/// # Errors
///
/// [`IoError::NotATable`] and [`IoError::Setting`] as [`read_table`].
pub fn read_table_bytes(bytes: &[u8], path: &Path, options: &TableOptions) -> Result<Table, IoError> {
    check_delimiter(options)?;
    #[cfg(feature = "parquet")]
    if bytes.starts_with(parquet_file::MAGIC) {
        return parquet_file::read(Bytes::copy_from_slice(bytes), options)
            .map_err(|fault| Trouble::Fault(fault).when_reading(path, false));
    }
    decode(bytes, Some(bytes.len() as u64), Location::of(path).array.as_deref(), options)
        .map_err(|(trouble, packed)| trouble.when_reading(path, packed))
}

/// Refuses a delimiter that cannot be one.
fn check_delimiter(options: &TableOptions) -> Result<(), IoError> {
    if let Some(delimiter) = options.delimiter.filter(|byte| matches!(byte, b'"' | b'\r' | b'\n' | 0) || *byte > 127) {
        return Err(IoError::Setting {
            what: "the delimiter of the table",
            value: format!("`{}`", char::from(delimiter).escape_debug()),
            hint: "use a comma, a semicolon, a tab or another ASCII character that is no quotation mark or line end",
        });
    }
    Ok(())
}

/// The table in a file, or what is wrong and whether the file is packed.
pub(crate) fn decode(
    mut source: impl BufRead,
    size: Option<u64>,
    array: Option<&str>,
    options: &TableOptions,
) -> Result<Table, (Trouble, bool)> {
    let mut start = Vec::new();
    source.by_ref().take(GZIP.len() as u64).read_to_end(&mut start).map_err(|error| (error.into(), false))?;
    let packed = start == GZIP;
    let source = Cursor::new(start).chain(source);
    let table = if packed {
        decode_plain(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(source)), None, array, options)
    } else {
        decode_plain(source, size, array, options)
    };
    table.map_err(|trouble| (trouble, packed))
}

fn decode_plain(
    mut source: impl BufRead,
    size: Option<u64>,
    array: Option<&str>,
    options: &TableOptions,
) -> Result<Table, Trouble> {
    let mut head = Vec::new();
    source.by_ref().take(HEAD).read_to_end(&mut head)?;
    signature::refuse_others(&head)?;
    let format = Format::of_bytes(&head);
    if let Some(name) = array.filter(|_| format != Some(Format::Npz)) {
        return Err(Fault::new(
            format!("it is no NPZ file, and has no array `{}`", name.escape_debug()),
            "leave out the colon and the name after it",
        )
        .into());
    }
    let Some(format) = format else {
        let whole = (head.len() as u64) < HEAD;
        return csv_text::read(&head, source, whole, size, options);
    };
    let limit = options.memory_limit;
    source.take(limit.saturating_add(1).saturating_sub(head.len() as u64)).read_to_end(&mut head)?;
    if head.len() as u64 > limit {
        return Err(Fault::new(format!("it has more than the {limit} bytes allowed"), TOO_LARGE).into());
    }
    if format == Format::Npz && array.is_none() && csr::is_sparse(&head) {
        return Ok(csr::read(&head, options)?);
    }
    Ok(arrays::read(&head, format, array, options)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table_file::write_table;

    #[test]
    fn large_arrays_stay_on_the_disk_where_they_may() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.npy");
        let values = ndarray::Array2::from_shape_fn((100, 3), |(n, d)| (3 * n + d) as f64);
        let names = ["a", "b", "c"].map(str::to_owned);
        write_table(&path, &names, values.view(), false).unwrap();
        let options = TableOptions { keep_rows: true, memory_limit: 8000, ..TableOptions::default() };
        let table = read_table(&path, &options).unwrap();
        assert!(matches!(table.rows, Some(KeptRows::File(_))) && table.values.is_empty());
        let mut row = [0.0; 3];
        table.data().read_row(99, &mut row);
        assert_eq!((row, table.data().n()), ([297.0, 298.0, 299.0], 100));
        assert_eq!(read_table(&path, &TableOptions { keep_rows: false, ..options }).unwrap().values, values);
    }
}
