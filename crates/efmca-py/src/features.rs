//! Features of images or of other rows.

use efmca::Superposition;
use efmca::tasks::learn::{Drawing, FeatureLearner, Preparation, Transform};
use efmca_io::ModelFile;
use ndarray::{Array2, Array3};
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::Fault;
use crate::families::FamilyArg;
use crate::model::Model;
use crate::work::Work;

/// Images (rows, columns and channels), or rows that are there already.
#[derive(FromPyObject)]
pub(crate) enum Source<'py> {
    Images(Vec<PyReadonlyArray3<'py, f64>>),
    Rows(PyReadonlyArray2<'py, f64>),
}

/// How features are learned.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    family: FamilyArg,
    causes: usize,
    patch: (usize, usize),
    n_patches: usize,
    logarithms: bool,
    normalise: bool,
    /// The share of the variance that is whitened: none for what suits the family, and zero for no whitening.
    whiten: Option<f64>,
    superposition: Option<String>,
    max_iter: usize,
    states: usize,
    seed: u64,
}

/// A copy of the data, which is changed before it is learned from.
enum Copied {
    Images(Vec<Array3<f64>>),
    Rows(Array2<f64>),
}

/// Learns features.
#[pyfunction]
pub(crate) fn learn_features<'py>(
    py: Python<'py>,
    source: Source<'py>,
    settings: Settings,
    work: Work,
) -> PyResult<Bound<'py, PyDict>> {
    let (spec, own) = (settings.family.spec(py), settings.family.own(py));
    let copied = match source {
        Source::Images(images) => Copied::Images(images.iter().map(|image| image.as_array().to_owned()).collect()),
        Source::Rows(rows) => Copied::Rows(rows.as_array().to_owned()),
    };
    let channels = match &copied {
        Copied::Images(images) => images.first().map(|image| image.dim().2),
        Copied::Rows(_) => None,
    };
    let settings = &settings;
    let (fit, whitening) = work.run(py, move |observer| {
        let mut learner = FeatureLearner::new(spec.clone(), settings.causes);
        learner = learner.iterations(settings.max_iter).states(settings.states).seed(settings.seed);
        if let Some(name) = &settings.superposition {
            let rule = Superposition::try_from(name.clone()).map_err(Fault::Value)?;
            learner = learner.superposition(rule);
        }
        learner.check()?;
        let family = spec.resolve()?;
        let usual = Preparation::of(&*family);
        let preparation = Preparation {
            transform: if settings.logarithms { Transform::Log } else { Transform::None },
            normalise: settings.normalise,
            whiten: settings.whiten.map_or(usual.whiten, |share| (share > 0.0).then_some(share)),
        };
        preparation.check(&*family)?;
        let prepared = match copied {
            Copied::Images(images) => {
                let drawing = Drawing { patch: settings.patch, count: settings.n_patches, seed: settings.seed };
                drawing.check()?;
                preparation.patches(preparation.images(images, &*family)?, drawing)?
            }
            Copied::Rows(rows) => preparation.rows(rows)?,
        };
        Ok((learner.run_observed(&*prepared.data, observer)?, prepared.whitening))
    })?;
    let fields: Bound<'py, PyArray2<f64>> = match &whitening {
        Some(whitening) => {
            let means = fit.model.means();
            let mut fields = means.clone();
            for (mean, mut field) in means.outer_iter().zip(fields.outer_iter_mut()) {
                field.assign(&whitening.undo_field(mean));
            }
            fields.into_pyarray(py)
        }
        None => fit.model.means().into_pyarray(py),
    };
    let result = PyDict::new(py);
    result.set_item("bound", fit.bound)?;
    result.set_item("weight", fit.weight)?;
    result.set_item("bounds", fit.history.iter().map(|step| step.bound).collect::<Vec<f64>>())?;
    result.set_item("fields", fields)?;
    let patch = channels.map(|channels| [settings.patch.0, settings.patch.1, channels]);
    let file = ModelFile { patch, logarithms: settings.logarithms, whitening, ..ModelFile::from(fit.model) };
    result.set_item("model", Model::new(file, own.into_iter().collect()))?;
    Ok(result)
}
