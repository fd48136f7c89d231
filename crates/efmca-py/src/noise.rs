//! Noise types, and the number of causes.

use efmca::Causes;
use efmca::family::SharedFamily;
use efmca::model::Resolution;
use efmca::tasks::noise::{
    ColumnFamily, Difference, FoundNoise, ImageNoise, NoiseType, Ranking, Source, TableNoise, Verdict,
};
use efmca::tasks::select::{CauseChoice, CauseSearch};
use efmca_io::ModelFile;
use numpy::{PyReadonlyArray2, PyReadonlyArray4};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::Fault;
use crate::families::FamilyArg;
use crate::model::Model;
use crate::work::Work;

/// A table, or images that are cut into patches.
#[derive(FromPyObject)]
pub(crate) enum Values<'py> {
    Table(PyReadonlyArray2<'py, f64>),
    Images(PyReadonlyArray4<'py, f64>),
}

/// How families or numbers of causes are compared.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Comparison {
    /// Rows and columns of a patch, and patches at the most.
    patch: (usize, usize),
    most: Option<usize>,
    n_restarts: usize,
    max_iter: usize,
    held_out: f64,
    seed: u64,
    /// How finely the values of columns were written down, where that is given.
    steps: Vec<(usize, String)>,
}

impl Values<'_> {
    /// The values for the library; of a large table every so many-th row.
    fn source(&self, comparison: &Comparison) -> Source<'_> {
        match self {
            Values::Table(table) => Source::table(table.as_array(), comparison.most.unwrap_or(Source::MOST_ROWS)),
            Values::Images(pixels) => {
                Source::images(pixels.as_array(), comparison.patch, comparison.most.unwrap_or(Source::MOST_PATCHES))
            }
        }
    }
}

/// What was said about steps, as the library takes it.
pub(crate) fn resolutions(steps: &[(usize, String)]) -> Result<Vec<(usize, Resolution)>, Fault> {
    let read = |(d, text): &(usize, String)| Ok((*d, text.parse::<Resolution>()?));
    steps.iter().map(read).collect()
}

/// Ranks families for all values together.
#[pyfunction]
pub(crate) fn rank_families<'py>(
    py: Python<'py>,
    values: Values<'py>,
    families: Option<Vec<FamilyArg>>,
    causes: &str,
    comparison: Comparison,
    work: Work,
) -> PyResult<Bound<'py, PyDict>> {
    let specs = families.as_ref().map(|families| families.iter().map(|family| family.spec(py)).collect::<Vec<_>>());
    let source = values.source(&comparison);
    let ranking = work.run(py, |observer| {
        let noise = NoiseType::new().causes(causes.parse::<Causes>()?).restarts(comparison.n_restarts);
        let noise = noise.iterations(comparison.max_iter).held_out(comparison.held_out).seed(comparison.seed);
        let noise = match specs {
            Some(specs) => noise.families(specs),
            None => noise,
        };
        // one family for all columns has one step for all of them
        let noise = match resolutions(&comparison.steps)?.pop() {
            Some((_, resolution)) => noise.resolution(resolution),
            None => noise,
        };
        Ok(noise.run_observed(source, observer)?)
    })?;
    let own = families.iter().flatten().filter_map(|family| family.own(py)).collect();
    let model = Model::new(ModelFile::from(ranking.best().model.clone()), own);
    let result = ranked(py, &ranking)?;
    result.set_item("model", model)?;
    Ok(result)
}

/// A ranking.
fn ranked<'py>(py: Python<'py>, ranking: &Ranking) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("best", ranking.best().family.spec())?;
    result.set_item("sentence", ranking.sentence())?;
    result.set_item("values", ranking.values())?;
    result.set_item("n_components", ranking.causes)?;
    result.set_item("entries", ranking.entries)?;
    result.set_item("verdict", ranking.verdict.as_ref().map(|one| verdict(py, one)).transpose()?)?;
    let rows = ranking.ranked.iter().map(|one| {
        let row = compared(py, &one.family, one.held_out, one.behind, one.tied)?;
        row.set_item("bic", one.bic)?;
        row.set_item("parameters", one.parameters)?;
        Ok(row)
    });
    result.set_item("ranking", rows.collect::<PyResult<Vec<_>>>()?)?;
    let refused: Vec<(String, String)> =
        ranking.refused.iter().map(|one| (one.family.clone(), one.reason.clone())).collect();
    result.set_item("refused", refused)?;
    Ok(result)
}

/// A family that was compared with others.
fn compared<'py>(
    py: Python<'py>,
    family: &SharedFamily,
    held_out: f64,
    behind: Difference,
    tied: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("family", family.spec())?;
    row.set_item("held_out", held_out)?;
    row.set_item("behind", behind.mean)?;
    row.set_item("error", behind.error)?;
    row.set_item("tied", tied)?;
    Ok(row)
}

/// The families that were tried in a column, the best first.
pub(crate) fn trials<'py>(py: Python<'py>, column: &ColumnFamily) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let rows = column.trials.iter().map(|one| compared(py, &one.family, one.held_out, one.behind, one.tied));
    rows.collect()
}

/// Finds a family for each column; `fixed` are those that are given, `labels` columns of labels with their number.
#[pyfunction]
pub(crate) fn families_of_columns<'py>(
    py: Python<'py>,
    values: Values<'py>,
    fixed: Vec<(usize, FamilyArg)>,
    labels: Vec<(usize, usize)>,
    causes: &str,
    comparison: Comparison,
    work: Work,
) -> PyResult<Bound<'py, PyDict>> {
    let given: Vec<_> = fixed.iter().map(|(d, family)| (*d, family.spec(py))).collect();
    let source = values.source(&comparison);
    let found = work.run(py, |observer| {
        let Source::Table(table) = source else {
            return Err(Fault::Value("families of columns are for tables".into()));
        };
        let noise = TableNoise::new().causes(causes.parse::<Causes>()?).iterations(comparison.max_iter);
        let noise = noise.held_out(comparison.held_out).seed(comparison.seed);
        let noise = labels.iter().fold(noise, |noise, (d, count)| noise.labels(*d, *count));
        let steps = resolutions(&comparison.steps)?.into_iter();
        let noise = steps.fold(noise, |noise, (d, resolution)| noise.resolution(d, resolution));
        let noise = given.into_iter().fold(noise, |noise, (d, family)| noise.fix(d, family));
        Ok(noise.run_observed(table, observer)?)
    })?;
    let columns = found.columns.iter().map(|column| {
        let row = PyDict::new(py);
        row.set_item("family", column.family.spec())?;
        row.set_item("fixed", column.fixed)?;
        row.set_item("values", column.values())?;
        row.set_item("step", column.resolution.to_string())?;
        row.set_item("remark", column.remark())?;
        row.set_item("verdict", column.verdict.as_ref().map(|one| verdict(py, one)).transpose()?)?;
        row.set_item("alone", column.alone.as_ref().map(|one| verdict(py, one)).transpose()?)?;
        row.set_item("ranking", trials(py, column)?)?;
        Ok(row)
    });
    let result = PyDict::new(py);
    result.set_item("columns", columns.collect::<PyResult<Vec<_>>>()?)?;
    result.set_item("held_out", found.held_out)?;
    result.set_item("fits", found.verdict.as_ref().map(|verdict| verdict.fits()))?;
    result.set_item("ill_fitting", found.verdict.as_ref().map_or(Vec::new(), |verdict| verdict.ill_fitting.clone()))?;
    result.set_item("n_components", found.fit.model.h())?;
    let own = fixed.iter().filter_map(|(_, family)| family.own(py)).collect();
    result.set_item("model", Model::new(ModelFile::from(found.fit.model), own))?;
    Ok(result)
}

/// Whether a family fits a column.
pub(crate) fn verdict<'py>(py: Python<'py>, verdict: &Verdict) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("family", &verdict.family)?;
    result.set_item("fits", verdict.fits())?;
    result.set_item("p_value", verdict.p_value)?;
    result.set_item("sentence", verdict.sentence())?;
    result.set_item("entries", verdict.entries)?;
    result.set_item("histogram", &verdict.histogram)?;
    Ok(result)
}

/// Finds the noise of an image in a few seconds, to clean it.
#[pyfunction]
pub(crate) fn image_noise<'py>(
    py: Python<'py>,
    image: PyReadonlyArray4<'py, f64>,
    seed: u64,
    work: Work,
) -> PyResult<Bound<'py, PyDict>> {
    let pixels = image.as_array();
    let found = work.run(py, |observer| Ok(ImageNoise::new().seed(seed).run_observed(pixels, observer)?))?;
    found_noise(py, &found)
}

/// What was found out about the noise of an image.
pub(crate) fn found_noise<'py>(py: Python<'py>, found: &FoundNoise) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("family", found.family.spec())?;
    result.set_item("sentence", found.sentence())?;
    result.set_item("camera", found.camera.map(|camera| (camera.gain, camera.offset)))?;
    let rows = found.ranked().iter().map(|one| compared(py, &one.family, one.held_out, one.behind, one.tied));
    result.set_item("ranking", rows.collect::<PyResult<Vec<_>>>()?)?;
    Ok(result)
}

/// Chooses the number of causes by held-out entries; `families` are those of the columns, or one for all.
#[pyfunction]
pub(crate) fn select<'py>(
    py: Python<'py>,
    values: Values<'py>,
    families: Vec<FamilyArg>,
    causes: Vec<usize>,
    comparison: Comparison,
    work: Work,
) -> PyResult<Bound<'py, PyDict>> {
    let specs: Vec<_> = families.iter().map(|family| family.spec(py)).collect();
    let source = values.source(&comparison);
    let found = work.run(py, |observer| {
        let families = specs.iter().map(|spec| spec.resolve()).collect::<Result<Vec<SharedFamily>, _>>()?;
        let search = CauseSearch::with_families(&families).causes(causes).restarts(comparison.n_restarts);
        let mut search = search.iterations(comparison.max_iter).held_out(comparison.held_out).seed(comparison.seed);
        if let Source::Table(table) = source {
            search = search.resolutions(&Resolution::of_columns(table, &resolutions(&comparison.steps)?));
        }
        Ok(search.run_observed(source, observer)?)
    })?;
    choice(py, &found)
}

/// The numbers of causes that were tried.
pub(crate) fn choice<'py>(py: Python<'py>, choice: &CauseChoice) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("best", choice.best().h)?;
    result.set_item("best_by_bic", choice.best_by_bic())?;
    result.set_item("at_the_end", choice.is_at_the_end())?;
    result.set_item("entries", choice.entries)?;
    let rows = choice.trials.iter().map(|one| {
        let row = PyDict::new(py);
        row.set_item("n_components", one.h)?;
        row.set_item("held_out", one.held_out)?;
        row.set_item("behind", one.behind.mean)?;
        row.set_item("error", one.behind.error)?;
        row.set_item("bound", one.bound)?;
        row.set_item("bic", one.bic)?;
        row.set_item("parameters", one.parameters)?;
        Ok(row)
    });
    result.set_item("tried", rows.collect::<PyResult<Vec<_>>>()?)?;
    Ok(result)
}
