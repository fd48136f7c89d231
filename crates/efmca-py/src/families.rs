//! Families by name or of the user's own.

use efmca::family::registry::{entries, entry};
use efmca::family::{SharedFamily, family};
use efmca::{Error, FamilySpec};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::value_error;
use crate::own_family::OwnFamily;

/// A family as Python gives it.
#[derive(FromPyObject)]
pub(crate) enum FamilyArg {
    Name(String),
    Own(Py<OwnFamily>),
}

impl FamilyArg {
    pub(crate) fn spec(&self, py: Python<'_>) -> FamilySpec {
        match self {
            FamilyArg::Name(name) => name.as_str().into(),
            FamilyArg::Own(own) => own.bind(py).get().shared().into(),
        }
    }

    /// The family of the user's own, if it is one.
    pub(crate) fn own(&self, py: Python<'_>) -> Option<Py<OwnFamily>> {
        match self {
            FamilyArg::Name(_) => None,
            FamilyArg::Own(own) => Some(own.clone_ref(py)),
        }
    }
}

/// Finds families by name among those of the user's own first.
pub(crate) fn find(own: &[SharedFamily]) -> impl Fn(&str) -> Result<SharedFamily, Error> + use<'_> {
    |spec| own.iter().find(|family| family.spec() == spec).map_or_else(|| family(spec), |family| Ok(family.clone()))
}

/// The names and uses of all families.
#[pyfunction]
pub(crate) fn families() -> Vec<(String, String)> {
    entries().iter().map(|entry| (entry.name.to_owned(), entry.summary.to_owned())).collect()
}

/// What is known of a family: its name, use, values, parameters and fixed parameters.
#[pyfunction]
pub(crate) fn family_info<'py>(py: Python<'py>, spec: &str) -> PyResult<Bound<'py, PyDict>> {
    let line = entry(spec).map_err(value_error)?;
    let info = PyDict::new(py);
    info.set_item("name", line.name)?;
    info.set_item("summary", line.summary)?;
    let fixed: Vec<(&str, &str, bool)> =
        line.fixed.iter().map(|fixed| (fixed.key, fixed.meaning, fixed.required)).collect();
    info.set_item("fixed", fixed)?;
    // without its required parameters a family has a name only
    if let Ok(family) = family(spec) {
        info.set_item("spec", family.spec())?;
        info.set_item("support", family.support().to_string())?;
        let names: Vec<String> = family.parameters().into_iter().map(|parameter| parameter.name).collect();
        info.set_item("parameters", names)?;
    }
    Ok(info)
}
