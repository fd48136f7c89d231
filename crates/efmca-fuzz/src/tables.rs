//! Tables: text with all options, Parquet, and sparse matrices.

use std::io::{Cursor, Write};
use std::path::Path;

use efmca_io::table_file::{TableOptions, csv_text_of, read_table_bytes};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::{Choices, said, same};

/// Memory for the values of a table.
const LIMIT: u64 = 1 << 18;

/// A table as text; the first byte chooses the options.
pub(crate) fn csv(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let chosen = choices.byte();
    let options = TableOptions {
        delimiter: [None, Some(b','), Some(b';'), Some(b'\t')][usize::from(chosen & 3)],
        header: [None, Some(true), Some(false), None][usize::from(chosen >> 2 & 3)],
        decimal_comma: [None, Some(true), Some(false), None][usize::from(chosen >> 4 & 3)],
        memory_limit: LIMIT,
        ..TableOptions::default()
    };
    let options = if chosen >> 6 & 1 == 1 {
        TableOptions { missing: vec!["-999".into(), "x".into()], ..options }
    } else {
        options
    };
    let text = choices.rest();
    // other formats have targets of their own
    if text.starts_with(b"PK") || text.starts_with(b"PAR1") || text.starts_with(&[0x1f, 0x8b]) {
        return;
    }
    let Some(table) = said(read_table_bytes(text, Path::new("table.csv"), &options)) else { return };
    assert_eq!(table.values.ncols(), table.names.len());
    assert_eq!(table.kinds.len(), table.names.len());
    assert!(table.values.iter().all(|value| value.is_nan() || value.is_finite()));
    let remarks: usize = table.remarks.iter().map(|remark| remark.to_string().len()).sum();
    assert!(remarks < 1 << 20, "remarks of {remarks} bytes");
    // the numbers alone, as they are in memory, survive being written
    if table.rows.is_some() || table.values.is_empty() {
        return;
    }
    let names: Vec<String> = (1..=table.names.len()).map(|column| format!("c{column}")).collect();
    let text = csv_text_of(&names, &[], table.values.view()).expect("there is memory for it");
    let whole = TableOptions { header: Some(true), delimiter: Some(b','), ..TableOptions::default() };
    let back = read_table_bytes(text.as_bytes(), Path::new("table.csv"), &whole);
    // a table without any number has columns that are left out
    if table.values.rows().into_iter().all(|row| row.iter().any(|value| !value.is_nan()))
        && table.values.columns().into_iter().all(|column| column.iter().any(|value| !value.is_nan()))
    {
        let back = back.unwrap_or_else(|error| panic!("what was written is not read: {error}\n{text}"));
        assert!(
            back.values.dim() == table.values.dim()
                && back.values.iter().zip(&table.values).all(|(now, then)| same(*now, *then) || now == then),
            "{:?} became {:?}",
            table.values,
            back.values
        );
    }
}

/// A Parquet file.
pub(crate) fn parquet(bytes: &[u8]) {
    if !bytes.starts_with(b"PAR1") {
        return;
    }
    let options = TableOptions { memory_limit: LIMIT, ..TableOptions::default() };
    if let Some(table) = said(read_table_bytes(bytes, Path::new("table.parquet"), &options)) {
        assert_eq!(table.values.ncols(), table.names.len());
        assert!(table.values.iter().all(|value| value.is_nan() || value.is_finite()));
    }
}

/// The arrays of a sparse matrix, in the order in which [`csr`] takes them.
const ARRAYS: [&str; 5] = ["format", "shape", "indptr", "indices", "data"];

/// The arrays of a sparse matrix as one input: each with its length in two bytes.
pub fn join_arrays(arrays: [&[u8]; 5]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for array in arrays {
        bytes.extend(u16::try_from(array.len()).expect("inputs are short").to_le_bytes());
        bytes.extend(array);
    }
    bytes
}

/// A sparse matrix from five NPY files, put into an archive here so that its checksums are right.
pub(crate) fn csr(bytes: &[u8]) {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let mut rest = bytes;
    for name in ARRAYS {
        let Some((length, after)) = rest.split_first_chunk::<2>() else { return };
        let (array, after) = after.split_at(usize::from(u16::from_le_bytes(*length)).min(after.len()));
        rest = after;
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        archive.start_file(format!("{name}.npy"), stored).expect("the names differ");
        archive.write_all(array).expect("memory can be written");
    }
    let file = archive.finish().expect("memory can be written").into_inner();
    for keep_rows in [true, false] {
        let options = TableOptions { memory_limit: LIMIT, keep_rows, ..TableOptions::default() };
        if let Some(table) = said(read_table_bytes(&file, Path::new("table.npz"), &options)) {
            let mut row = vec![0.0; table.data().d()];
            for n in 0..table.data().n() {
                table.data().read_row(n, &mut row);
                assert!(row.iter().all(|value| !value.is_infinite()));
            }
        }
    }
}
