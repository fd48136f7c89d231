//! Tables in Parquet files.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::{ColumnDescriptor, Type};

use super::cell::{Cell, Markers, Oddity, classify};
use super::column::Column;
use super::csv_text::{Cells, finish};
use super::names::distinct;
use super::parquet_pages::CheckedPages;
use super::trouble::shown;
use super::{Remark, Table, TableOptions};
use crate::image_file::fault::{Fault, count_within};

/// The beginning and the end of Parquet files.
pub(crate) const MAGIC: &[u8; 4] = b"PAR1";
/// Records that are read at a time.
const BATCH: usize = 8192;
/// The index of a pandas table is a column with such a name.
const INDEX: &str = "__index_level_";

/// Whether a file begins as Parquet files do. The place in the file stays at its beginning.
pub(crate) fn is_parquet(mut file: &File) -> bool {
    let mut start = [0; MAGIC.len()];
    let found = file.read_exact(&mut start).is_ok() && start == *MAGIC;
    file.seek(SeekFrom::Start(0)).is_ok() && found
}

/// The table in a Parquet file.
pub(crate) fn read(file: impl ChunkReader + 'static, options: &TableOptions) -> Result<Table, Fault> {
    // bytes that contradict each other may be more than the reader is prepared for
    let found = catch_unwind(AssertUnwindSafe(|| decode(file, options)));
    found.unwrap_or_else(|_| Err(Fault::damaged("it is a Parquet file that contradicts itself")))
}

fn decode(file: impl ChunkReader + 'static, options: &TableOptions) -> Result<Table, Fault> {
    let reader = SerializedFileReader::new(file).map_err(broken)?;
    let metadata = reader.metadata().file_metadata();
    let fields = metadata.schema_descr().root_schema().get_fields();
    let mut remarks = Vec::new();
    let mut kept = Vec::new();
    for (place, field) in fields.iter().enumerate() {
        if field.name().starts_with(INDEX) {
            let name = shown(field.name());
            remarks.push(Remark::Array(format!("column {name} is the index of a pandas table and was left out")));
            continue;
        }
        refuse_nested(field)?;
        kept.push(place);
    }
    if kept.is_empty() {
        return Err(Fault::new("it is a Parquet file without columns", "give a table with at least one column"));
    }
    let descriptors: Vec<_> = kept.iter().map(|place| metadata.schema_descr().column(*place)).collect();
    let kinds = descriptors.iter().map(|column| Kind::of(column)).collect::<Result<Vec<Kind>, Fault>>()?;
    let rows = usize::try_from(metadata.num_rows()).unwrap_or(0);
    if rows == 0 {
        return Err(Fault::new("it is a Parquet file without rows", "give a table with at least one row"));
    }
    let width = kept.len();
    let mut values = vec![f64::NAN; count_within(&[rows, width], options.memory_limit)?];
    let names = distinct(descriptors.iter().map(|column| column.name().to_owned()).collect(), &mut remarks);
    let markers = Markers::new(&options.missing);
    let mut columns: Vec<Column> = std::iter::repeat_with(Column::default).take(width).collect();
    let mut first = 0;
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(broken)?;
        let count = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        if count > rows - first {
            return Err(Fault::damaged(format!("its parts have more than the {rows} rows that it says")));
        }
        for (d, (place, kind)) in kept.iter().zip(&kinds).enumerate() {
            let values = &mut values[first * width..(first + count) * width];
            let mut to = Target { column: &mut columns[d], values, d, width, first, row: 0, markers: &markers };
            kind.read(&*group, *place, &mut to).map_err(|fault| fault.at(format!("column {}", shown(&names[d]))))?;
        }
        first += count;
    }
    if first < rows {
        return Err(Fault::damaged(format!("its parts have {first} of the {rows} rows that it says")));
    }
    let found = finish(Cells { names, columns, values, rows, remarks });
    // rows are counted here, and there are no lines
    found.map_err(|fault| Fault { problem: fault.problem.replacen("line ", "row ", 1), ..fault })
}

fn broken(error: ParquetError) -> Fault {
    Fault::damaged(format!("it is a Parquet file that cannot be read ({error})"))
}

/// An error if a column holds more than one value a row.
fn refuse_nested(field: &Type) -> Result<(), Fault> {
    if field.is_primitive() && field.get_basic_info().repetition() != Repetition::REPEATED {
        return Ok(());
    }
    Err(Fault::new(
        format!("column {} is nested: it holds lists or records, and not one value in a row", shown(field.name())),
        "make columns of what is in it, or leave it out, as in table.drop(columns=[...])",
    ))
}

/// How the values of a column are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Truth,
    Signed,
    Unsigned,
    Real,
    Half,
    /// With so many digits after the point.
    Decimal(i32),
    Text,
}

impl Kind {
    fn of(column: &ColumnDescriptor) -> Result<Kind, Fault> {
        let refuse = |what: &str, hint: &'static str| {
            Err(Fault::new(format!("column {} holds {what}", shown(column.name())), hint))
        };
        const DATES: &str = "turn them into numbers, such as days since the first of them, or leave the column out";
        let logical = column.logical_type_ref();
        match (logical, column.converted_type()) {
            (Some(LogicalType::Date | LogicalType::Timestamp(_)), _)
            | (_, ConvertedType::DATE | ConvertedType::TIMESTAMP_MILLIS | ConvertedType::TIMESTAMP_MICROS) => {
                return refuse("dates", DATES);
            }
            (Some(LogicalType::Time(_)), _) | (_, ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS) => {
                return refuse("times of a day", DATES);
            }
            (_, ConvertedType::INTERVAL) => return refuse("spans of time", DATES),
            _ => {}
        }
        let unsigned = matches!(logical, Some(LogicalType::Integer(kind)) if !kind.is_signed)
            || matches!(
                column.converted_type(),
                ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
            );
        let decimal =
            matches!(logical, Some(LogicalType::Decimal(_))) || column.converted_type() == ConvertedType::DECIMAL;
        let text = matches!(logical, Some(LogicalType::String | LogicalType::Enum | LogicalType::Json))
            || matches!(column.converted_type(), ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON);
        Ok(match column.physical_type() {
            Physical::BOOLEAN => Kind::Truth,
            Physical::INT96 => return refuse("dates", DATES),
            _ if decimal => Kind::Decimal(column.type_scale()),
            Physical::INT32 | Physical::INT64 if unsigned => Kind::Unsigned,
            Physical::INT32 | Physical::INT64 => Kind::Signed,
            Physical::FLOAT | Physical::DOUBLE => Kind::Real,
            Physical::FIXED_LEN_BYTE_ARRAY if matches!(logical, Some(LogicalType::Float16)) => Kind::Half,
            Physical::BYTE_ARRAY if text || logical.is_none() => Kind::Text,
            Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY => {
                return refuse("bytes that are neither numbers nor text", "leave it out, or turn it into text");
            }
        })
    }

    /// Reads column `place` of a part of the file.
    fn read(self, group: &dyn RowGroupReader, place: usize, to: &mut Target<'_>) -> Result<(), Fault> {
        if let packing @ (Compression::ZSTD(_) | Compression::BROTLI(_) | Compression::LZO) =
            group.metadata().column(place).compression()
        {
            let name = packing.to_string();
            let name = name.split('(').next().unwrap_or_default();
            return Err(Fault::new(
                format!("it is packed with {name}, and Snappy, gzip and LZ4 are read"),
                "write it again with compression='snappy', in pandas as in polars",
            ));
        }
        let number = |value: f64| Cell::Number(value);
        let column = group.metadata().schema_descr().column(place);
        let pages = CheckedPages::new(group.get_column_page_reader(place).map_err(broken)?, &column);
        match get_column_reader(column, Box::new(pages)) {
            ColumnReader::BoolColumnReader(reader) => each(reader, to, |value, _| {
                Cell::Odd(Oddity::Text, Cow::Borrowed(if *value { "true" } else { "false" }))
            }),
            ColumnReader::Int32ColumnReader(reader) => each(reader, to, |value, _| {
                number(match self {
                    Kind::Unsigned => f64::from(*value as u32),
                    Kind::Decimal(scale) => scaled(f64::from(*value), scale),
                    _ => f64::from(*value),
                })
            }),
            ColumnReader::Int64ColumnReader(reader) => each(reader, to, |value, _| {
                number(match self {
                    Kind::Unsigned => *value as u64 as f64,
                    Kind::Decimal(scale) => scaled(*value as f64, scale),
                    _ => *value as f64,
                })
            }),
            ColumnReader::FloatColumnReader(reader) => each(reader, to, |value, _| number(f64::from(*value))),
            ColumnReader::DoubleColumnReader(reader) => each(reader, to, |value, _| number(*value)),
            ColumnReader::ByteArrayColumnReader(reader) => match self {
                Kind::Decimal(scale) => each(reader, to, |value, _| number(scaled(big_endian(value.data()), scale))),
                _ => each(reader, to, |value, markers| classify(value.data(), markers)),
            },
            ColumnReader::FixedLenByteArrayColumnReader(reader) => match self {
                Kind::Decimal(scale) => each(reader, to, |value, _| number(scaled(big_endian(value.data()), scale))),
                _ => each(reader, to, |value, _| number(half(value.data()))),
            },
            ColumnReader::Int96ColumnReader(_) => Err(Fault::damaged("its type contradicts its description")),
        }
    }
}

/// Where the values of a column go.
struct Target<'a> {
    column: &'a mut Column,
    /// The rows of this part of the file.
    values: &'a mut [f64],
    d: usize,
    width: usize,
    /// The first of these rows, and the present one among them.
    first: usize,
    row: usize,
    markers: &'a Markers,
}

impl Target<'_> {
    fn push(&mut self, cell: Cell<'_>) {
        let cell = match cell {
            Cell::Number(value) if value.is_nan() || self.markers.mark(value) => Cell::Missing,
            Cell::Number(value) if value.is_infinite() => Cell::Odd(Oddity::Infinite, value.to_string().into()),
            other => other,
        };
        let value = self.column.push(cell, (self.first + self.row + 1) as u64);
        if let Some(to) = self.values.get_mut(self.row * self.width + self.d) {
            *to = value;
        }
        self.row += 1;
    }
}

/// Hands all values of a column to `to`, as what `cell` makes of them.
fn each<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    to: &mut Target<'_>,
    cell: impl for<'a> Fn(&'a T::T, &Markers) -> Cell<'a>,
) -> Result<(), Fault> {
    let (mut levels, mut values): (Vec<i16>, Vec<T::T>) = (Vec::new(), Vec::new());
    let rows = to.values.len() / to.width;
    while to.row < rows {
        levels.clear();
        values.clear();
        let wanted = BATCH.min(rows - to.row);
        let (records, _, _) = reader.read_records(wanted, Some(&mut levels), None, &mut values).map_err(broken)?;
        if records == 0 {
            return Err(Fault::damaged(format!("it ends after {} of {rows} values", to.row)));
        }
        let mut present = values.iter();
        // a column without gaps has no levels
        for record in 0..records {
            let there = levels.get(record).is_none_or(|level| *level > 0);
            match if there { present.next() } else { None } {
                Some(value) => to.push(cell(value, to.markers)),
                None => to.push(Cell::Missing),
            }
        }
    }
    Ok(())
}

/// A whole number with a point before its last `scale` digits.
fn scaled(value: f64, scale: i32) -> f64 {
    value / 10_f64.powi(scale)
}

/// A whole number, its highest byte first.
fn big_endian(bytes: &[u8]) -> f64 {
    let start: i128 = if bytes.first().is_some_and(|first| *first > 127) { -1 } else { 0 };
    bytes.iter().fold(start, |number, byte| (number << 8) | i128::from(*byte)) as f64
}

/// A number of 16 bits.
fn half(bytes: &[u8]) -> f64 {
    let bits = bytes.iter().rev().fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte));
    let (sign, exponent, fraction) = (bits >> 15 & 1, bits >> 10 & 31, f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2_f64.powi(exponent as i32 - 25),
    };
    if sign == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_numbers_are_decoded() {
        assert_eq!((big_endian(&[1, 0]), big_endian(&[0xff, 0xfe]), big_endian(&[])), (256.0, -2.0, 0.0));
        assert_eq!(scaled(-1234.0, 2), -12.34);
        assert_eq!((half(&[0x00, 0x3c]), half(&[0x00, 0xc0]), half(&[0x01, 0x00])), (1.0, -2.0, 2_f64.powi(-24)));
        assert!(half(&[0x00, 0x7c]).is_infinite() && half(&[0x00, 0x7e]).is_nan());
    }
}
