//! The program `efmca`.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the program with its name and what was typed after it, and returns its exit code.
///
/// Ctrl-C is the program's own here: it ends after the running step, with the result so far.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| efmca_cli::main_with(arguments))
}
