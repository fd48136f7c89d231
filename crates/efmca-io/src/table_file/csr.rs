//! Sparse matrices as `scipy.sparse.save_npz` writes them.

use std::path::Path;

use super::cell::numbers_of;
use super::{KeptRows, Remark, Table, TableOptions};
use crate::image_file::fault::{Fault, TOO_LARGE, count_within};
use crate::image_file::sample_type::{ByteOrder, SampleType, encode};
use crate::image_file::{npy, npz};
use crate::{IoError, write_atomically};
use efmca::{Data, SparseRows};

/// What the name and the kind of a column take, in units of 8 bytes.
const WORDS_OF_A_COLUMN: usize = 8;

const CONVERT: &str = "save it with scipy.sparse.save_npz(path, matrix.tocsr())";

/// Whether the arrays of an NPZ file are those of a sparse matrix.
pub(crate) fn is_sparse(bytes: &[u8]) -> bool {
    let names = npz::array_names(bytes);
    ["format", "shape", "data"].iter().all(|name| names.iter().any(|known| known == name))
}

/// The table in a sparse matrix: as such if the options say so, else whole.
pub(crate) fn read(bytes: &[u8], options: &TableOptions) -> Result<Table, Fault> {
    let missing = numbers_of(&options.missing);
    if missing.contains(&0.0) {
        return Err(Fault::new(
            "it is a sparse matrix, whose zeros are not stored, and 0 is among the markers of missing values",
            "save it as a whole array, or leave out that marker",
        ));
    }
    let matrix = Matrix::of(bytes, options.memory_limit)?;
    let mut remarks = vec![Remark::Array(format!(
        "it is a sparse matrix of {} x {} with {} stored values; all others are zeros",
        matrix.rows,
        matrix.columns,
        matrix.values.len()
    ))];
    let rows = matrix.into_rows(&missing)?;
    if rows.merged() > 0 {
        let merged = rows.merged();
        remarks
            .push(Remark::Array(format!("{merged} stored values had the place of another one, and were added to it")));
    }
    if options.keep_rows {
        return Ok(Table::of_rows(KeptRows::Sparse(rows), remarks));
    }
    count_within(&[rows.n(), rows.d()], options.memory_limit)?;
    let values = rows.to_array();
    Ok(Table { values, rows: None, ..Table::of_rows(KeptRows::Sparse(rows), remarks) })
}

/// Writes sparse rows as `scipy.sparse.save_npz` does, in the form CSR.
///
/// # Errors
///
/// [`IoError::Exists`] if there is such a file and `force` is not set, [`IoError::Write`] if it cannot be written.
pub fn write_sparse(path: &Path, rows: &SparseRows, force: bool) -> Result<(), IoError> {
    let array = |descr: &str, sample: SampleType, values: &mut dyn Iterator<Item = f64>| -> Result<Vec<u8>, Fault> {
        let values: Vec<f64> = values.collect();
        let mut bytes = npy::Header::to_bytes(descr, &[values.len()]);
        encode(sample, ByteOrder::Little, values.into_iter(), &mut bytes)?;
        Ok(bytes)
    };
    let mut format = npy::Header::to_bytes("|S3", &[]);
    format.extend(b"csr");
    let entries = || (0..rows.n()).map(|n| rows.non_zeros(n).unwrap_or_default());
    let mut end = 0.0;
    let ends = entries().map(|(columns, _)| {
        end += columns.len() as f64;
        end
    });
    let packed = || -> Result<Vec<u8>, Fault> {
        npz::pack_all(&[
            (
                "indices",
                array(
                    "<i4",
                    SampleType::I32,
                    &mut entries().flat_map(|(columns, _)| columns).map(|at| f64::from(*at)),
                )?,
            ),
            ("indptr", array("<i8", SampleType::I64, &mut std::iter::once(0.0).chain(ends))?),
            ("format", format),
            ("shape", array("<i8", SampleType::I64, &mut [rows.n() as f64, rows.d() as f64].into_iter())?),
            ("data", array("<f8", SampleType::F64, &mut rows.values().iter().copied())?),
        ])
    };
    let bytes = packed().map_err(|fault| IoError::TableCannotBeWritten {
        path: path.to_path_buf(),
        problem: fault.problem,
        hint: fault.hint,
    })?;
    if !force && path.exists() {
        return Err(IoError::Exists { path: path.to_path_buf() });
    }
    write_atomically(path, &bytes)
}

/// The arrays of a matrix in one of the forms that are known.
struct Matrix {
    rows: usize,
    columns: usize,
    /// Whether `starts` are those of columns.
    by_column: bool,
    starts: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
}

impl Matrix {
    fn of(bytes: &[u8], limit: u64) -> Result<Matrix, Fault> {
        let format = npz::entry_of(bytes, "format", limit)?;
        // an array of one short text
        let format = npy::Header::of(&format).map(|header| format[header.start..].to_vec()).unwrap_or_default();
        let format: String =
            format.iter().filter(|byte| byte.is_ascii_lowercase()).map(|byte| char::from(*byte)).collect();
        let by_column = match format.as_str() {
            "csr" => false,
            "csc" => true,
            other => {
                let problem =
                    format!("it is a sparse matrix in the form `{}`, and csr and csc are read", other.escape_debug());
                return Err(Fault::new(problem, CONVERT));
            }
        };
        let whole = |name: &'static str| -> Result<Vec<usize>, Fault> {
            let mut found = Vec::new();
            for value in numbers(bytes, name, limit)? {
                if value < 0.0 || value.fract() != 0.0 {
                    return Err(Fault::damaged(format!("array `{name}`: {value} is no place in a matrix")));
                }
                found.push(value as usize);
            }
            Ok(found)
        };
        let shape = whole("shape")?;
        let [rows, columns] = shape.as_slice() else {
            return Err(Fault::new(format!("its shape is {shape:?}"), "give a matrix with rows and columns"));
        };
        if *rows == 0 || *columns == 0 {
            return Err(Fault::new(
                format!("it is a sparse matrix of {rows} x {columns}"),
                "give one with rows and columns",
            ));
        }
        // the places of columns have 32 bits, and a name for each column and a start for each row take memory, whether or not
        // anything is stored there
        if *columns > u32::MAX as usize {
            return Err(Fault::new(format!("it has {columns} columns, more than {} can be read", u32::MAX), TOO_LARGE));
        }
        count_within(&[*columns, WORDS_OF_A_COLUMN], limit)?;
        count_within(&[*rows], limit)?;
        let (lines, across) = if by_column { (*columns, *rows) } else { (*rows, *columns) };
        let (starts, places, values) = (whole("indptr")?, whole("indices")?, numbers(bytes, "data", limit)?);
        if starts.len().checked_sub(1) != Some(lines) || places.len() != values.len() {
            return Err(Fault::damaged(format!(
                "`indptr` has {} numbers, `indices` {} and `data` {}, which is no matrix of {rows} x {columns}",
                starts.len(),
                places.len(),
                values.len()
            )));
        }
        let what = if by_column { ("column", "row") } else { ("row", "column") };
        if let Some(at) = places.iter().position(|place| *place >= across) {
            let line = starts.partition_point(|start| *start <= at);
            return Err(Fault::damaged(format!(
                "{} {line} (from 1) has a value in {} {}, and there are {across}",
                what.0,
                what.1,
                places[at] + 1
            )));
        }
        let fits = |pair: &[usize]| pair[0] <= pair[1] && pair[1] <= values.len();
        if let Some(line) = starts.windows(2).position(|pair| !fits(pair)) {
            let problem = format!("{} {} (from 1) ends before it begins, or after the last value", what.0, line + 1);
            return Err(Fault::damaged(problem));
        }
        let indices = places.into_iter().map(|place| place as u32).collect();
        Ok(Matrix { rows: *rows, columns: *columns, by_column, starts, indices, values })
    }

    /// The rows, NaN where a value is one of `missing`.
    fn into_rows(mut self, missing: &[f64]) -> Result<SparseRows, Fault> {
        if !missing.is_empty() {
            self.values.iter_mut().filter(|value| missing.contains(value)).for_each(|value| *value = f64::NAN);
        }
        if self.by_column {
            self = self.transposed();
        }
        let Matrix { columns, starts, indices, values, .. } = self;
        if let Some(at) = values.iter().position(|value| value.is_infinite()) {
            let (row, column) = (starts.partition_point(|start| *start <= at), indices[at] + 1);
            return Err(Fault::new(
                format!("row {row}, column {column} (from 1): the value is {}", values[at]),
                "give finite numbers, and NaN for missing values",
            ));
        }
        SparseRows::new(columns, starts, indices, values).map_err(|error| Fault::damaged(error.to_string()))
    }

    /// The same matrix with the starts of rows.
    fn transposed(self) -> Matrix {
        let mut starts = vec![0; self.rows + 1];
        self.indices.iter().for_each(|row| starts[*row as usize + 1] += 1);
        for row in 0..self.rows {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let (mut indices, mut values) = (vec![0; self.values.len()], vec![0.0; self.values.len()]);
        for column in 0..self.columns {
            for at in self.starts[column]..self.starts[column + 1] {
                let to = &mut next[self.indices[at] as usize];
                (indices[*to], values[*to]) = (column as u32, self.values[at]);
                *to += 1;
            }
        }
        Matrix { by_column: false, starts, indices, values, ..self }
    }
}

/// The numbers of an array.
fn numbers(bytes: &[u8], name: &str, limit: u64) -> Result<Vec<f64>, Fault> {
    let place = |fault: Fault| fault.at(format!("array `{name}`"));
    let entry = npz::entry_of(bytes, name, limit)?;
    // a matrix of zeros has arrays without numbers
    if npy::Header::of(&entry).map_err(place)?.shape == [0] {
        return Ok(Vec::new());
    }
    Ok(npy::read(&entry, limit).map_err(place)?.array.into_raw_vec_and_offset().0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image_file::npz::pack_all;

    fn array(descr: &str, sample: SampleType, values: &[f64]) -> Vec<u8> {
        let mut bytes = npy::Header::to_bytes(descr, &[values.len()]);
        encode(sample, ByteOrder::Little, values.iter().copied(), &mut bytes).unwrap();
        bytes
    }

    /// A file as SciPy writes it.
    fn file(format: &str, shape: &[f64], starts: &[f64], indices: &[f64], data: &[f64]) -> Vec<u8> {
        let mut text = npy::Header::to_bytes("|S3", &[]);
        text.extend(format.as_bytes());
        let whole = |values: &[f64]| array("<i4", SampleType::I32, values);
        pack_all(&[
            ("indices", whole(indices)),
            ("indptr", whole(starts)),
            ("format", text),
            ("shape", array("<i8", SampleType::I64, shape)),
            ("data", array("<f8", SampleType::F64, data)),
        ])
        .unwrap()
    }

    fn options(keep_rows: bool) -> TableOptions {
        TableOptions { keep_rows, ..TableOptions::default() }
    }

    #[test]
    fn rows_and_columns_are_the_same_table() {
        let wanted = ndarray::array![[0.0, 2.0, 0.0], [3.0, 0.0, 5.0]];
        let csr = file("csr", &[2.0, 3.0], &[0.0, 1.0, 3.0], &[1.0, 2.0, 0.0], &[2.0, 5.0, 3.0]);
        let csc = file("csc", &[2.0, 3.0], &[0.0, 1.0, 2.0, 3.0], &[1.0, 0.0, 1.0], &[3.0, 2.0, 5.0]);
        for bytes in [csr, csc] {
            assert!(is_sparse(&bytes));
            assert_eq!(read(&bytes, &options(false)).unwrap().values, wanted);
            let table = read(&bytes, &options(true)).unwrap();
            assert!(matches!(table.rows, Some(KeptRows::Sparse(rows)) if rows.to_array() == wanted));
            assert_eq!((table.values.dim(), table.names[2].as_str()), ((0, 3), "column 3"));
        }
    }

    #[test]
    fn repeated_places_are_added_and_told() {
        let bytes = file("csr", &[1.0, 2.0], &[0.0, 3.0], &[1.0, 0.0, 1.0], &[2.0, 1.0, 4.0]);
        let table = read(&bytes, &options(false)).unwrap();
        assert_eq!(table.values, ndarray::array![[1.0, 6.0]]);
        assert!(table.remarks[1].to_string().contains("1 stored values had the place"), "{:?}", table.remarks);
    }

    #[test]
    fn what_is_no_matrix_is_told_with_its_place() {
        let message = |bytes: &[u8]| read(bytes, &options(true)).unwrap_err().problem;
        let good = (&[2.0, 3.0], &[0.0, 1.0, 2.0], &[1.0, 2.0], &[2.0, 5.0]);
        assert!(message(&file("coo", good.0, good.1, good.2, good.3)).contains("`coo`"));
        assert!(message(&file("csr", good.0, &[0.0, 2.0, 1.0], good.2, good.3)).contains("row 2 (from 1) ends before"));
        assert!(
            message(&file("csr", good.0, good.1, &[1.0, 7.0], good.3))
                .contains("row 2 (from 1) has a value in column 8")
        );
        assert!(message(&file("csr", good.0, &[0.0, 2.0], good.2, good.3)).contains("`indptr` has 2 numbers"));
        assert!(message(&file("csr", good.0, good.1, &[-1.0, 2.0], good.3)).contains("array `indices`: -1"));
        assert!(message(&file("csr", good.0, good.1, good.2, &[2.0, f64::INFINITY])).contains("row 2, column 3"));
        // extents that no file of this length needs
        for form in ["csr", "csc"] {
            for shape in [[2e15, 3.0], [2.0, 3e15], [2.0, 4e9], [1e18, 1e18]] {
                let problem = message(&file(form, &shape, good.1, good.2, good.3));
                assert!(problem.contains("is of shape") || problem.contains("columns"), "{problem}");
            }
        }
        let zero = TableOptions { missing: vec!["0".to_owned()], ..options(true) };
        assert!(read(&file("csr", good.0, good.1, good.2, good.3), &zero).unwrap_err().problem.contains("missing"));
        let nothing = file("csr", &[2.0, 3.0], &[0.0; 3], &[], &[]);
        assert_eq!(read(&nothing, &options(false)).unwrap().values, ndarray::Array2::<f64>::zeros((2, 3)));
    }
}
