//! Parquet files, written here by the crate that reads them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;

use super::*;

/// A column for a file: its values, and where it has some.
enum Values {
    Real(Vec<Option<f64>>),
    Short(Vec<i32>),
    Long(Vec<i64>),
    Truth(Vec<Option<bool>>),
    Text(Vec<Option<&'static str>>),
}

fn levels<T>(values: &[Option<T>]) -> Vec<i16> {
    values.iter().map(|value| i16::from(value.is_some())).collect()
}

fn put(writer: &mut SerializedColumnWriter<'_>, values: &Values) {
    let text = |text: &str| ByteArray::from(text);
    match values {
        Values::Real(values) => {
            let present: Vec<f64> = values.iter().copied().flatten().collect();
            writer.typed::<DoubleType>().write_batch(&present, Some(&levels(values)), None).unwrap();
        }
        Values::Short(values) => drop(writer.typed::<Int32Type>().write_batch(values, None, None).unwrap()),
        Values::Long(values) => drop(writer.typed::<Int64Type>().write_batch(values, None, None).unwrap()),
        Values::Truth(values) => {
            let present: Vec<bool> = values.iter().copied().flatten().collect();
            writer.typed::<BoolType>().write_batch(&present, Some(&levels(values)), None).unwrap();
        }
        Values::Text(values) => {
            let present: Vec<ByteArray> = values.iter().flatten().map(|value| text(value)).collect();
            writer.typed::<ByteArrayType>().write_batch(&present, Some(&levels(values)), None).unwrap();
        }
    }
}

/// A file with these columns in each of `groups` parts.
fn file(folder: &Path, schema: &str, columns: &[Values], groups: usize, packing: Compression) -> PathBuf {
    let path = folder.join("table.parquet");
    let end = if schema.ends_with('}') { "" } else { ";" };
    let schema = Arc::new(parse_message_type(&format!("message table {{ {schema}{end} }}")).unwrap());
    let properties = WriterProperties::builder().set_compression(packing).build();
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    for _ in 0..groups {
        let mut group = writer.next_row_group().unwrap();
        let mut values = columns.iter();
        while let Some(mut column) = group.next_column().unwrap() {
            put(&mut column, values.next().unwrap());
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
    path
}

fn message(path: &Path) -> String {
    read_table(path, &TableOptions::default()).unwrap_err().to_string()
}

#[test]
fn numbers_words_and_gaps_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let schema = "optional double height; required int32 age; required int64 seen (INTEGER(64,false)); \
                  optional boolean smokes; optional binary town (STRING); required int32 price (DECIMAL(5,2)); \
                  required int32 __index_level_0__";
    let columns = [
        Values::Real(vec![Some(1.5), None, Some(-999.0)]),
        Values::Short(vec![41, 23, -3]),
        Values::Long(vec![1, 2, -1]),
        Values::Truth(vec![Some(true), None, Some(false)]),
        Values::Text(vec![Some("Ulm"), Some("Bonn"), None]),
        Values::Short(vec![1234, 5, -50]),
        Values::Short(vec![0, 1, 2]),
    ];
    let gzip = Compression::GZIP(parquet::basic::GzipLevel::default());
    for packing in [Compression::UNCOMPRESSED, Compression::SNAPPY, gzip, Compression::LZ4_RAW] {
        let path = file(folder.path(), schema, &columns, 2, packing);
        let mut options = TableOptions::default();
        options.missing.push("-999".to_owned());
        let table = read_table(&path, &options).unwrap();
        assert_eq!(table.names, ["height", "age", "seen", "smokes", "town", "price"]);
        let row = |n: usize| table.values.row(n).to_vec();
        assert_eq!(row(0), [1.5, 41.0, 1.0, 1.0, 1.0, 12.34]);
        assert_eq!((row(4)[1..3].to_vec(), row(4)[4..].to_vec()), (vec![23.0, 2.0], vec![0.0, 0.05]));
        assert!(row(1)[0].is_nan() && row(4)[3].is_nan() && row(5)[0].is_nan() && row(5)[4].is_nan());
        assert_eq!(row(5)[2], u64::MAX as f64);
        assert_eq!(table.kinds[3], Kind::Labels(vec!["false".into(), "true".into()]));
        assert_eq!(table.kinds[4], Kind::Labels(vec!["Bonn".into(), "Ulm".into()]));
        assert!(table.remarks[0].to_string().contains("`__index_level_0__` is the index"), "{:?}", table.remarks);
    }
}

#[test]
fn what_is_no_table_of_numbers_is_told_with_its_column() {
    let folder = tempfile::tempdir().unwrap();
    let plain = |schema: &str, values: Values| message(&file(folder.path(), schema, &[values], 1, Compression::SNAPPY));
    let days = plain("required int32 day (DATE)", Values::Short(vec![19_000]));
    assert!(days.contains("column `day` holds dates; turn them into numbers"), "{days}");
    let stamps = plain("required int64 at (TIMESTAMP(NANOS,true))", Values::Long(vec![1]));
    assert!(stamps.contains("column `at` holds dates"), "{stamps}");
    let nested = plain("required group tags { required int32 first; }", Values::Short(vec![1]));
    assert!(nested.contains("column `tags` is nested") && nested.contains("leave it out"), "{nested}");
    let infinite = plain("optional double x", Values::Real(vec![Some(1.0), Some(f64::INFINITY), Some(2.0)]));
    assert!(infinite.contains("row 2, column `x`: `inf` is infinite"), "{infinite}");
    let none = plain("optional double x", Values::Real(Vec::new()));
    assert!(none.contains("without rows"), "{none}");
}

#[test]
fn damaged_files_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let columns = [Values::Real((0..200).map(|value| Some(f64::from(value) * 0.7)).collect())];
    let path = file(folder.path(), "optional double x", &columns, 1, Compression::SNAPPY);
    let bytes = std::fs::read(&path).unwrap();
    for length in [4, 11, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..length]).unwrap();
        assert!(message(&path).contains("Parquet"), "{length} bytes");
    }
    for at in (4..bytes.len()).step_by(7) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x5a;
        std::fs::write(&path, &changed).unwrap();
        // any table or error will do, but nothing that ends the program
        let _ = read_table(&path, &TableOptions::default());
    }
}
