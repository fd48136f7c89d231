//! Arrays of numpy as data of the library. Nothing is copied but the stored values of sparse matrices.

use efmca::{Data, SparseRows, Weighted};
use ndarray::{Array1, ArrayView2};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::errors::Fault;

/// A table in the precision that it has.
#[derive(FromPyObject)]
pub(crate) enum Table<'py> {
    Double(PyReadonlyArray2<'py, f64>),
    Single(PyReadonlyArray2<'py, f32>),
    Sparse(Stored<'py>),
}

/// The stored values of a sparse matrix: `SparseTable` of Python.
#[derive(FromPyObject)]
pub(crate) struct Stored<'py> {
    n_columns: usize,
    indptr: PyReadonlyArray1<'py, i64>,
    indices: PyReadonlyArray1<'py, u32>,
    values: PyReadonlyArray1<'py, f64>,
}

impl Table<'_> {
    /// The rows. They can be read by threads that do not have the interpreter's lock.
    pub(crate) fn rows(&self) -> Result<Rows<'_>, Fault> {
        Ok(match self {
            Table::Double(array) => Rows::Double(array.as_array()),
            Table::Single(array) => Rows::Single(array.as_array()),
            Table::Sparse(stored) => Rows::Sparse(stored.rows()?),
        })
    }
}

impl Stored<'_> {
    fn rows(&self) -> Result<SparseRows, Fault> {
        // a negative start is larger than all that there can be
        let starts = self.indptr.as_array().iter().map(|start| usize::try_from(*start).unwrap_or(usize::MAX)).collect();
        let (indices, values) = (self.indices.as_array().to_vec(), self.values.as_array().to_vec());
        Ok(SparseRows::new(self.n_columns, starts, indices, values)?)
    }
}

/// The rows of a table.
pub(crate) enum Rows<'a> {
    Double(ArrayView2<'a, f64>),
    Single(ArrayView2<'a, f32>),
    Sparse(SparseRows),
}

impl Rows<'_> {
    pub(crate) fn data(&self) -> &dyn Data {
        match self {
            Rows::Double(rows) => rows,
            Rows::Single(rows) => rows,
            Rows::Sparse(rows) => rows,
        }
    }

    /// Calls `work` with the rows, which count by their weights if there are any.
    pub(crate) fn weighted<T>(
        &self,
        weights: Option<Array1<f64>>,
        work: impl FnOnce(&dyn Data) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        match weights {
            Some(weights) => work(&Weighted::new(self.data(), weights)?),
            None => work(self.data()),
        }
    }
}

/// A copy of weights, which are few.
pub(crate) fn weights(weights: Option<PyReadonlyArray1<'_, f64>>) -> Option<Array1<f64>> {
    weights.map(|weights| weights.as_array().to_owned())
}
