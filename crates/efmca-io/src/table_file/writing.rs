//! Writing tables, and finding out beforehand whether that will work.

use std::io::Write;
use std::path::Path;

use ndarray::ArrayView2;

use super::arrays::notes_of;
use crate::image_file::fault::Fault;
use crate::image_file::format::{Format, Location};
use crate::image_file::npy::Header;
use crate::image_file::npz;
use crate::image_file::sample_type::{ByteOrder, SampleType, encode};
use crate::{IoError, check_place, write_atomically};

/// The formats of tables that are written.
#[derive(Clone, Copy)]
enum Target {
    /// With this delimiter.
    Csv(u8),
    Npy,
    Npz,
}

impl Target {
    fn of(path: &Path) -> Result<Self, IoError> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        match (extension.as_deref(), Format::of_extension(path)) {
            (Some("csv"), _) => Ok(Self::Csv(b',')),
            (Some("tsv"), _) => Ok(Self::Csv(b'\t')),
            (_, Some(Format::Npy)) => Ok(Self::Npy),
            (_, Some(Format::Npz)) => Ok(Self::Npz),
            _ => Err(IoError::UnknownExtension { path: path.to_path_buf(), known: ".csv, .tsv, .npy or .npz" }),
        }
    }
}

/// Writes values by row and column: CSV (`.csv`, `.tsv`), NPY or NPZ by the ending of the name.
///
/// In CSV files the names stand on the first line, numbers have as many digits as are needed to read
/// the same number again, and NaN is an empty cell; infinite values are `inf`, which
/// [`read_table`](super::read_table) refuses. NPY and NPZ hold double precision; NPZ has a place for the
/// names, NPY has none. `file.npz:name` gives the array a name. The file is there as a whole or not at all.
///
/// # Errors
///
/// As [`check_table_place`], and [`IoError::TableCannotBeWritten`] if there is no value or if the number
/// of names differs from that of columns.
pub fn write_table(path: &Path, names: &[String], values: ArrayView2<f64>, force: bool) -> Result<(), IoError> {
    write_labelled_table(path, names, &[], values, force)
}

/// The same with words: in a column that has labels, CSV files get `labels[column][value]` for the values 0, 1, ….
///
/// Columns after the end of `labels` have none. NPY and NPZ files have no place for words and get the numbers, and so do
/// CSV files where there is no label for a value.
///
/// # Errors
///
/// As [`write_table`].
pub fn write_labelled_table(
    path: &Path,
    names: &[String],
    labels: &[Option<Vec<String>>],
    values: ArrayView2<f64>,
    force: bool,
) -> Result<(), IoError> {
    check_table_place(path, force)?;
    let location = Location::of(path);
    let refused = |fault: Fault| refused(path, fault);
    let (rows, columns) = values.dim();
    if rows == 0 || columns == 0 {
        let problem = format!("it has {rows} rows and {columns} columns");
        return Err(refused(Fault::new(problem, "give at least one of each")));
    }
    if names.len() != columns {
        let problem = format!("it has {columns} columns, and there are {} names", names.len());
        return Err(refused(Fault::new(problem, "give a name for each column")));
    }
    let bytes = match Target::of(&location.file)? {
        Target::Csv(delimiter) => csv_bytes(names, labels, values, delimiter)
            .map_err(|error| Fault::new(format!("CSV cannot be made ({error})"), "use NPY")),
        Target::Npy => npy_bytes(values),
        Target::Npz => {
            npy_bytes(values).and_then(|bytes| npz::pack(location.array.as_deref(), &bytes, &notes_of(names)))
        }
    };
    write_atomically(&location.file, &bytes.map_err(refused)?)
}

fn refused(path: &Path, fault: Fault) -> IoError {
    IoError::TableCannotBeWritten { path: path.to_path_buf(), problem: fault.problem, hint: fault.hint }
}

/// Finds out whether [`write_table`] could write there, before hours are spent on the values.
///
/// # Errors
///
/// [`IoError::UnknownExtension`] if the name does not say the format, [`IoError::TableCannotBeWritten`] if it has a name for the
/// array that no array can have, [`IoError::Exists`] unless `force`,
/// and [`IoError::Write`] or [`IoError::CreateFolder`] if there cannot be such a file.
pub fn check_table_place(path: &Path, force: bool) -> Result<(), IoError> {
    let location = Location::of(path);
    if let Target::Npz = Target::of(&location.file)? {
        npz::checked_name(location.array.as_deref()).map_err(|fault| refused(path, fault))?;
    }
    check_place(&location.file, force)
}

/// The text of the CSV file that [`write_labelled_table`] would write, for standard output.
///
/// # Errors
///
/// If the text cannot be made, which only happens if there is no memory for it.
pub fn csv_text_of(
    names: &[String],
    labels: &[Option<Vec<String>>],
    values: ArrayView2<f64>,
) -> std::io::Result<String> {
    let bytes = csv_bytes(names, labels, values, b',').map_err(std::io::Error::other)?;
    String::from_utf8(bytes).map_err(std::io::Error::other)
}

fn csv_bytes(
    names: &[String],
    labels: &[Option<Vec<String>>],
    values: ArrayView2<f64>,
    delimiter: u8,
) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
    writer.write_record(names)?;
    let mut text = Vec::new();
    for row in values.rows() {
        for (column, value) in row.iter().enumerate() {
            if let Some(label) = labels.get(column).and_then(|labels| label_of(labels.as_deref()?, *value)) {
                writer.write_field(label)?;
                continue;
            }
            text.clear();
            write_number(&mut text, *value)?;
            writer.write_field(&text)?;
        }
        writer.write_record(None::<&[u8]>)?;
    }
    writer.into_inner().map_err(|error| error.into_error().into())
}

/// The word for a value, if there is one.
fn label_of(labels: &[String], value: f64) -> Option<&String> {
    let whole = value.fract() == 0.0 && value >= 0.0 && value < labels.len() as f64;
    labels.get(value as usize).filter(|_| whole)
}

/// The shortest text that is read as the same number; nothing for NaN.
fn write_number(text: &mut Vec<u8>, value: f64) -> std::io::Result<()> {
    let size = value.abs();
    if value.is_nan() {
        Ok(())
    } else if value == 0.0 || (1e-5..1e16).contains(&size) || value.is_infinite() {
        write!(text, "{value}")
    } else {
        // Without a power of ten, these would have many zeros.
        write!(text, "{value:e}")
    }
}

fn npy_bytes(values: ArrayView2<f64>) -> Result<Vec<u8>, Fault> {
    let mut bytes = Header::to_bytes("<f8", values.shape());
    encode(SampleType::F64, ByteOrder::Little, values.iter().copied(), &mut bytes)?;
    Ok(bytes)
}
