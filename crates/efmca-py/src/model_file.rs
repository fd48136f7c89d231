//! Models as files and as bytes: the same that the program reads and writes.

use std::path::PathBuf;

use efmca_io::{decode_model, encode_model, read_model_file_with, write_model_file};
use pyo3::exceptions::{PyFileExistsError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::file_error;
use crate::families::find;
use crate::model::{Model, shared};
use crate::own_family::OwnFamily;

/// Reads a model file; `own` are families of the user's own that it may have.
#[pyfunction]
pub(crate) fn load_model(py: Python<'_>, path: PathBuf, own: Vec<Py<OwnFamily>>) -> PyResult<Model> {
    let families = shared(py, &own);
    let file = read_model_file_with(&path, find(&families)).map_err(|error| file_error(&error, &path))?;
    Ok(Model::new(file, own))
}

/// Writes a model file.
#[pyfunction]
pub(crate) fn save_model(model: &Model, path: PathBuf, overwrite: bool) -> PyResult<()> {
    if !overwrite && path.exists() {
        let message = format!("{} exists already; overwrite=True replaces it", path.display());
        return Err(PyFileExistsError::new_err(message));
    }
    write_model_file(&path, &model.file).map_err(|error| file_error(&error, &path))
}

/// The bytes of a model file.
#[pyfunction]
pub(crate) fn model_to_bytes<'py>(py: Python<'py>, model: &Model) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(py, &encode_model(&model.file).map_err(PyValueError::new_err)?))
}

/// The model in the bytes of a model file.
#[pyfunction]
pub(crate) fn model_from_bytes(py: Python<'_>, bytes: &[u8], own: Vec<Py<OwnFamily>>) -> PyResult<Model> {
    let families = shared(py, &own);
    let file = decode_model(bytes, find(&families));
    let file = file.map_err(|problem| PyValueError::new_err(format!("there is no usable model: {problem}")))?;
    Ok(Model::new(file, own))
}
