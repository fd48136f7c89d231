//! Learning a table.

use efmca::em::{Sign, StopReason, Structure};
use efmca::model::Views;
use efmca::tasks::table::{CauseOrigin, FamilyOrigin, LearnedTable, TableLearner};
use efmca::{Causes, Superposition};
use efmca_io::ModelFile;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Table, weights};
use crate::errors::Fault;
use crate::families::FamilyArg;
use crate::model::Model;
use crate::noise::{resolutions, trials};
use crate::work::Work;

/// The settings of a training.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    /// For each column its family, or none where it is to be found.
    families: Vec<Option<FamilyArg>>,
    /// Columns of labels without a family, and how many labels they have.
    labels: Vec<(usize, usize)>,
    /// How finely the values of columns were written down, where that is given.
    steps: Vec<(usize, String)>,
    causes: String,
    superposition: String,
    inference: String,
    states: Option<usize>,
    max_iter: usize,
    tol: f64,
    n_init: Option<usize>,
    pseudo_count: f64,
    seed: u64,
    start: Option<Py<Model>>,
    /// Cause, column, and 1, -1 or 0: what is known of the causes.
    signs: Vec<(usize, usize, i8)>,
    /// A model whose causes are held.
    hold: Option<Py<Model>>,
    /// Groups of columns that count alike.
    views: Vec<(String, Vec<usize>)>,
}

impl Settings {
    /// What is known of the causes, if anything is.
    fn structure(&self, py: Python<'_>) -> Option<Structure> {
        let sign = |sign: i8| match sign {
            0 => Sign::Zero,
            1.. => Sign::Plus,
            _ => Sign::Minus,
        };
        let known = self.signs.iter().fold(Structure::new(), |known, (h, d, cell)| known.sign(*h, *d, sign(*cell)));
        match &self.hold {
            Some(held) => Some(known.hold(held.bind(py).get().file.model.clone())),
            None => (!self.signs.is_empty()).then_some(known),
        }
    }

    fn learner(&self, py: Python<'_>) -> Result<TableLearner, Fault> {
        let superposition = Superposition::try_from(self.superposition.clone()).map_err(|problem| {
            Fault::Value(format!(
                "superposition = {:?}: {problem}; it is \"max\" or \"max-magnitude\"",
                self.superposition
            ))
        })?;
        let mut learner = TableLearner::new()
            .causes(self.causes.parse::<Causes>()?)
            .iterations(self.max_iter)
            .starts(self.n_init)
            .tolerance(self.tol)
            .superposition(superposition)
            .pseudo_count(self.pseudo_count)
            .seed(self.seed);
        learner = match self.inference.as_str() {
            "auto" => learner.states(self.states),
            "exact" => learner.states(self.states).exact(true),
            "truncated" => learner.states(self.states.unwrap_or(TableLearner::STATES)),
            other => {
                let message = format!("inference = {other:?}: it is \"auto\", \"exact\" or \"truncated\"");
                return Err(Fault::Value(message));
            }
        };
        for (d, family) in self.families.iter().enumerate() {
            if let Some(family) = family {
                learner = learner.column(d, family.spec(py));
            }
        }
        for (d, count) in &self.labels {
            learner = learner.labels(*d, *count);
        }
        for (d, resolution) in resolutions(&self.steps)? {
            learner = learner.resolution(d, resolution);
        }
        if let Some(start) = &self.start {
            learner = learner.start_from(start.bind(py).get().file.model.clone());
        }
        if let Some(structure) = self.structure(py) {
            learner = learner.structure(structure);
        }
        if !self.views.is_empty() {
            learner = learner.views(Views::new(self.views.iter().cloned())?);
        }
        learner.check()?;
        Ok(learner)
    }
}

/// Learns a model of a table; the second result says how.
#[pyfunction]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    x: Table<'py>,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    settings: Settings,
    work: Work,
) -> PyResult<(Model, Bound<'py, PyDict>)> {
    let learner = settings.learner(py).map_err(|fault| fault.into_python(None))?;
    let rows = x.rows().map_err(|fault| fault.into_python(None))?;
    let weights = weights(sample_weight);
    let learned = work.run(py, |observer| rows.weighted(weights, |data| Ok(learner.run_data(data, observer)?)))?;
    let about = about(py, &learned)?;
    let own = settings.families.iter().flatten().filter_map(|family| family.own(py));
    Ok((Model::new(ModelFile::from(learned.fit.model), own.collect()), about))
}

/// How the model came about.
fn about<'py>(py: Python<'py>, learned: &LearnedTable) -> PyResult<Bound<'py, PyDict>> {
    let fit = &learned.fit;
    let found = PyDict::new(py);
    found.set_item("bound", fit.bound)?;
    found.set_item("bounds", fit.history.iter().map(|step| step.bound).collect::<Vec<f64>>())?;
    found.set_item("n_iter", fit.history.len())?;
    found.set_item("converged", fit.stop == StopReason::Converged)?;
    found.set_item("stopped", learned.stopped)?;
    found.set_item("exact", fit.is_exact())?;
    found.set_item("weight", fit.weight)?;
    found.set_item("bic", fit.bic())?;
    found.set_item("steps", learned.resolutions.iter().map(ToString::to_string).collect::<Vec<String>>())?;
    found.set_item(
        "rankings",
        learned.origins.iter().map(|origin| ranking(py, origin)).collect::<PyResult<Vec<_>>>()?,
    )?;
    found.set_item("duplicates", learned.duplicates())?;
    let verdict = |origin: &FamilyOrigin| match origin {
        FamilyOrigin::Found(column) => column.verdict.as_ref().map(|one| crate::noise::verdict(py, one)).transpose(),
        FamilyOrigin::Given | FamilyOrigin::OneValue => Ok(None),
    };
    found.set_item("verdicts", learned.origins.iter().map(verdict).collect::<PyResult<Vec<_>>>()?)?;
    let choice = match &learned.causes {
        CauseOrigin::Chosen(choice) => Some(crate::noise::choice(py, choice)?),
        _ => None,
    };
    found.set_item("choice", choice)?;
    Ok(found)
}

/// The families that were tried in a column, if it was searched.
fn ranking<'py>(py: Python<'py>, origin: &FamilyOrigin) -> PyResult<Option<Vec<Bound<'py, PyDict>>>> {
    match origin {
        FamilyOrigin::Found(column) => trials(py, column).map(Some),
        FamilyOrigin::Given | FamilyOrigin::OneValue => Ok(None),
    }
}
