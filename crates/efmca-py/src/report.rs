//! The report about a table and the causes of a model.

use efmca::tasks::overview::Grouping;
use efmca_cli::TablePage;
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::errors::Fault;
use crate::model::Model;
use crate::work::Work;

/// The groups of rows: what they are called together, their names, and the group of each row, if it is in one.
type By = (String, Vec<String>, Vec<Option<usize>>);

/// The page (HTML) and the numbers (JSON) of a report.
#[pyfunction]
pub(crate) fn report(
    py: Python<'_>,
    model: Py<Model>,
    x: PyReadonlyArray2<'_, f64>,
    title: &str,
    by: Option<By>,
    seed: u64,
    work: Work,
) -> PyResult<(String, String)> {
    let (rows, file) = (x.as_array(), &model.get().file);
    let by = by.map(|(name, groups, of_rows)| (name, Grouping::new(groups, of_rows)));
    work.run(py, |observer| {
        let page = TablePage::new(file, rows, by, seed, observer)?;
        Ok((page.html(title).map_err(Fault::Value)?, page.json()))
    })
}
