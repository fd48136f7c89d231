//! Tables as people have them: CSV (plain or packed with gzip), Parquet, NPY, NPZ, and sparse matrices of SciPy.
//!
//! [`read_table`] makes an array of numbers of a file: numbers stay as they are, cells without a value
//! become NaN, columns of words are coded as integers. What it had to decide stands in the
//! remarks; what it cannot decide is an error that says where. [`write_table`] makes a file.
//!
//! ```
//! use efmca_io::table_file::{Kind, TableOptions, read_table, write_table};
//! use ndarray::array;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("people.csv");
//! std::fs::write(&path, "age,smokes\n41,no\n,yes\n23,no\n")?;
//! let table = read_table(&path, &TableOptions::default())?;
//! assert_eq!(table.names, ["age", "smokes"]);
//! assert_eq!(table.values[[2, 0]], 23.0);
//! assert!(table.values[[1, 0]].is_nan());
//! assert_eq!(table.kinds[1], Kind::Labels(vec!["no".into(), "yes".into()]));
//!
//! let copy = folder.path().join("numbers.csv");
//! write_table(&copy, &table.names, table.values.view(), false)?;
//! assert_eq!(std::fs::read_to_string(&copy)?, "age,smokes\n41,0\n,1\n23,0\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arrays;
mod cell;
mod column;
mod csr;
mod csv_text;
mod guess;
mod messages;
mod names;
#[cfg(feature = "parquet")]
mod parquet_file;
#[cfg(feature = "parquet")]
mod parquet_pages;
mod reading;
mod records;
mod remark;
mod signature;
mod trouble;
mod writing;

pub use csr::write_sparse;
pub use messages::{did_you_mean, listed};
pub use reading::{read_table, read_table_bytes};
pub use remark::Remark;
pub use trouble::shown;
pub use writing::{check_table_place, csv_text_of, write_labelled_table, write_table};

use efmca::{Data, SparseRows};
use ndarray::Array2;

use crate::FileRows;

/// A table that was read.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Table {
    /// A name for each column: that of the file, or `column 1`, `column 2`, … where it has none.
    pub names: Vec<String>,
    /// The values by row and column; NaN where there is none. All others are finite.
    pub values: Array2<f64>,
    /// The kind of each column in the file.
    pub kinds: Vec<Kind>,
    /// The names of columns that were left out because they hold no value.
    pub empty: Vec<String>,
    /// Notes for the user: columns that were left out, labels that were coded.
    pub remarks: Vec<Remark>,
    /// Rows that are kept in another form, if [`TableOptions::keep_rows`] allowed it: `values` has no rows then.
    pub rows: Option<KeptRows>,
}

/// Rows that are not made a whole array.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum KeptRows {
    /// Those of a sparse matrix.
    Sparse(SparseRows),
    /// Those of a large NPY file, which stay on the disk.
    File(FileRows),
}

impl KeptRows {
    /// The rows as the library takes them.
    pub fn data(&self) -> &dyn Data {
        match self {
            KeptRows::Sparse(rows) => rows,
            KeptRows::File(rows) => rows,
        }
    }
}

impl Table {
    /// A table of kept rows, whose columns have no names.
    fn of_rows(rows: KeptRows, remarks: Vec<Remark>) -> Self {
        let width = rows.data().d();
        Self {
            names: (0..width).map(names::default_name).collect(),
            values: Array2::zeros((0, width)),
            kinds: vec![Kind::Number; width],
            empty: Vec::new(),
            remarks,
            rows: Some(rows),
        }
    }

    /// All rows, wherever they are.
    pub fn data(&self) -> &dyn Data {
        self.rows.as_ref().map_or(&self.values, KeptRows::data)
    }

    /// The labels of each column that has them, as model files keep them; empty if no column has any.
    pub fn labels(&self) -> Vec<Option<Vec<String>>> {
        let labels: Vec<Option<Vec<String>>> =
            self.kinds.iter().map(|kind| kind.labels().map(<[String]>::to_vec)).collect();
        if labels.iter().all(Option::is_none) { Vec::new() } else { labels }
    }
}

/// The kind of a column in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Numbers, as they are.
    Number,
    /// Words: the value is the position in this list, from 0. The list is sorted, but for answers like
    /// `no` and `yes`, where 1 is the positive one.
    Labels(Vec<String>),
}

impl Kind {
    /// The labels, if the values are words.
    pub fn labels(&self) -> Option<&[String]> {
        match self {
            Kind::Labels(labels) => Some(labels),
            Kind::Number => None,
        }
    }
}

/// How a table is read.
#[derive(Debug, Clone)]
pub struct TableOptions {
    /// The byte between the fields of a CSV file; by default a comma, a semicolon or a tab, whichever
    /// cuts the first lines into the same number of fields.
    pub delimiter: Option<u8>,
    /// Whether the first line of a CSV file holds names. By default it does if it has text in a column
    /// that holds numbers below, or if it is all text without repetition.
    pub header: Option<bool>,
    /// The texts that stand for a missing value in a CSV file, compared letter by letter without spaces
    /// around them. One that is a number stands for this number however it is written, also in arrays. An
    /// empty cell is always missing, and so is what reads as a number but is none (`nan`).
    pub missing: Vec<String>,
    /// The largest number of bytes for the values; 4 GiB by default.
    pub memory_limit: u64,
    /// Whether a sparse matrix stays one ([`Table::rows`]) instead of becoming a whole table, and the rows of an NPY file that
    /// would take more than a quarter of the memory limit stay on the disk; `false` by default.
    pub keep_rows: bool,
    /// Whether the numbers of a CSV file have decimal commas. By default they have if there are some in the first lines, no
    /// number there has a decimal point, and the delimiter is no comma.
    pub decimal_comma: Option<bool>,
}

impl Default for TableOptions {
    fn default() -> Self {
        const MISSING: [&str; 9] = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "?", "-"];
        Self {
            delimiter: None,
            header: None,
            missing: MISSING.iter().map(|marker| (*marker).to_owned()).collect(),
            memory_limit: 4 << 30,
            keep_rows: false,
            decimal_comma: None,
        }
    }
}
#[cfg(test)]
mod damage_tests;
#[cfg(test)]
mod file_tests;
#[cfg(all(test, feature = "parquet"))]
mod parquet_tests;
#[cfg(test)]
mod rule_tests;
