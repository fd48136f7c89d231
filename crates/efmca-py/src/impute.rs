//! Filling in the missing cells of tables.

use efmca::tasks::impute::{CellKind, CellScores, Fill, FilledTable, Imputer, TrainedImputer};
use efmca::tasks::table::TableLearner;
use efmca::{Causes, Error};
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::Fault;
use crate::families::FamilyArg;
use crate::model::Model;
use crate::work::Work;

/// The settings of an imputer.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ImputerSettings {
    /// For each column its family, or none where it is to be found.
    families: Vec<Option<FamilyArg>>,
    /// Columns of labels without a family, and how many labels they have.
    labels: Vec<(usize, usize)>,
    causes: String,
    value: String,
    level: f64,
    as_written: bool,
    regression: bool,
    folds: usize,
    seed: u64,
}

impl ImputerSettings {
    fn imputer(&self, py: Python<'_>) -> Result<Imputer, Fault> {
        let mut learner = TableLearner::new().causes(self.causes.parse::<Causes>()?).seed(self.seed);
        for (d, family) in self.families.iter().enumerate() {
            if let Some(family) = family {
                learner = learner.column(d, family.spec(py));
            }
        }
        for (d, count) in &self.labels {
            learner = learner.labels(*d, *count);
        }
        let fill = fill_of(&self.value)?;
        let imputer = Imputer::new().learner(learner).fill(fill).level(self.level).folds(self.folds);
        let imputer = imputer.as_written(self.as_written).regression(self.regression).seed(self.seed);
        let imputer = self.labels.iter().fold(imputer, |imputer, (d, _)| imputer.kind(*d, CellKind::Code));
        imputer.check()?;
        Ok(imputer)
    }
}

/// What missing numbers become, by its name.
fn fill_of(name: &str) -> Result<Fill, Fault> {
    match name {
        "mean" => Ok(Fill::Mean),
        "median" => Ok(Fill::Median),
        "mode" => Ok(Fill::Mode),
        other => Err(Fault::Value(format!("value = {other:?}: it is \"mean\", \"median\" or \"mode\""))),
    }
}

/// An imputer that was trained.
#[pyclass(frozen, module = "efmca._core")]
pub(crate) struct TableImputer {
    trained: TrainedImputer,
}

/// A filled table: its values, the cells that were filled in (row, column, value, sd, low, high, probability), and drawn tables.
type Filled<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>, Vec<Bound<'py, PyArray2<f64>>>);

#[pymethods]
impl TableImputer {
    /// Fills in the missing cells of rows, and draws them so many times.
    fn fill<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f64>,
        draws: usize,
        work: Work,
    ) -> PyResult<Filled<'py>> {
        let rows = x.as_array();
        let filled = work.run(py, |_| {
            let (found, expected) = (rows.ncols(), self.trained.model().d());
            if found != expected {
                return Err(Fault::Value(format!("X has {found} columns, and the imputer has {expected}")));
            }
            Ok(self.trained.clone().draws(draws).fill(rows)?)
        })?;
        let cells = cells(&filled).into_pyarray(py);
        let draws = filled.draws.into_iter().map(|draw| draw.into_pyarray(py)).collect();
        Ok((filled.values.into_pyarray(py), cells, draws))
    }

    /// How good the values are.
    fn scores<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let CellScores { error, error_of_means, accuracy, accuracy_of_modes, .. } = self.trained.scores();
        let found = PyDict::new(py);
        found.set_item("error", error)?;
        found.set_item("error_of_means", error_of_means)?;
        found.set_item("accuracy", accuracy)?;
        found.set_item("accuracy_of_modes", accuracy_of_modes)?;
        found.set_item("log_likelihood", self.trained.scores().log_likelihood)?;
        found.set_item("log_likelihood_alone", self.trained.scores().log_likelihood_alone)?;
        let mut columns = Vec::new();
        for score in &self.trained.scores().columns {
            let column = PyDict::new(py);
            column.set_item("kind", if score.kind == CellKind::Number { "number" } else { "code" })?;
            column.set_item("cells", score.cells)?;
            column.set_item("error", score.error)?;
            column.set_item("error_of_means", score.error_of_means)?;
            column.set_item("log_likelihood", score.log_likelihood)?;
            column.set_item("log_likelihood_alone", score.log_likelihood_alone)?;
            columns.push(column);
        }
        found.set_item("columns", columns)?;
        Ok(found)
    }

    /// The families of the columns.
    #[getter]
    fn families(&self) -> Vec<String> {
        self.trained.model().columns().specs()
    }

    #[getter]
    fn n_components(&self) -> usize {
        self.trained.model().h()
    }
}

/// The cells that were filled in, a row each; NaN where something does not apply.
fn cells(filled: &FilledTable) -> Array2<f64> {
    let none = f64::NAN;
    Array2::from_shape_fn((filled.cells.len(), 7), |(place, what)| {
        let cell = &filled.cells[place];
        match what {
            0 => cell.row as f64,
            1 => cell.column as f64,
            2 => cell.value,
            3 => cell.sd.unwrap_or(none),
            4 => cell.interval.map_or(none, |interval| interval.0),
            5 => cell.interval.map_or(none, |interval| interval.1),
            _ => cell.probability.unwrap_or(none),
        }
    })
}

/// Learns a table to fill in missing cells.
#[pyfunction]
pub(crate) fn train_imputer(
    py: Python<'_>,
    x: PyReadonlyArray2<'_, f64>,
    settings: ImputerSettings,
    work: Work,
) -> PyResult<TableImputer> {
    let imputer = settings.imputer(py).map_err(|fault| fault.into_python(None))?;
    let rows = x.as_array();
    let trained = work.run(py, |observer| {
        if rows.is_empty() {
            return Err(Error::EmptyData { rows: rows.nrows(), columns: rows.ncols() }.into());
        }
        Ok(imputer.train(rows, observer)?)
    })?;
    Ok(TableImputer { trained })
}

/// An imputer that fills in what a model says; `labels` are columns whose values are names. How good it is, is judged on the
/// cells of `x` that are present.
#[pyfunction]
pub(crate) fn model_imputer(
    py: Python<'_>,
    model: Py<Model>,
    x: PyReadonlyArray2<'_, f64>,
    labels: Vec<usize>,
    value: &str,
    as_written: bool,
    work: Work,
) -> PyResult<TableImputer> {
    let fill = fill_of(value).map_err(|fault| fault.into_python(None))?;
    let imputer = Imputer::new().fill(fill).as_written(as_written);
    let imputer = labels.into_iter().fold(imputer, |imputer, d| imputer.kind(d, CellKind::Code));
    let (rows, model) = (x.as_array(), &model.get().file.model);
    let trained = work.run(py, |_| Ok(imputer.of_model(model, rows)?))?;
    Ok(TableImputer { trained })
}
