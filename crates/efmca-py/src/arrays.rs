//! Arrays of numpy as data of the library. Nothing is copied.

use efmca::{Data, Weighted};
use ndarray::{Array1, ArrayView2};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::errors::Fault;

/// A table in the precision that it has.
#[derive(FromPyObject)]
pub(crate) enum Table<'py> {
    Double(PyReadonlyArray2<'py, f64>),
    Single(PyReadonlyArray2<'py, f32>),
}

impl Table<'_> {
    /// The rows. They can be read by threads that do not have the interpreter's lock.
    pub(crate) fn rows(&self) -> Rows<'_> {
        match self {
            Table::Double(array) => Rows::Double(array.as_array()),
            Table::Single(array) => Rows::Single(array.as_array()),
        }
    }
}

/// The rows of a table.
pub(crate) enum Rows<'a> {
    Double(ArrayView2<'a, f64>),
    Single(ArrayView2<'a, f32>),
}

impl Rows<'_> {
    pub(crate) fn data(&self) -> &dyn Data {
        match self {
            Rows::Double(rows) => rows,
            Rows::Single(rows) => rows,
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
