//! A model, applied to rows.

use efmca::family::SharedFamily;
use efmca::model::Inference;
use efmca::tasks::encode::Encoder;
use efmca::{Data, Error, Observer};
use efmca_io::ModelFile;
use ndarray::{Array1, Array2, s};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arrays::Table;
use crate::errors::{Fault, value_error};
use crate::model_file::model_to_bytes;
use crate::own_family::OwnFamily;
use crate::work::Work;

/// Rows that are drawn before Ctrl-C is looked for.
const DRAWN: usize = 1024;

/// A matrix that Python gets.
type Matrix<'py> = Bound<'py, PyArray2<f64>>;

/// A trained model, with what is known of its columns.
#[pyclass(frozen, module = "efmca._core")]
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) file: ModelFile,
    /// Families of the user's own in it.
    pub(crate) own: Vec<Py<OwnFamily>>,
}

impl Model {
    pub(crate) fn new(file: ModelFile, own: Vec<Py<OwnFamily>>) -> Model {
        Model { file, own }
    }

    fn inner(&self) -> &efmca::Model {
        &self.file.model
    }

    /// The model, applied in the way that is asked for.
    fn encoder(&self, inference: &str, states: Option<usize>) -> Result<Encoder<'_>, Fault> {
        let encoder = Encoder::new(self.inner());
        Ok(match (inference, states) {
            ("exact", None) => encoder.inference(Inference::Exact),
            ("exact", Some(_)) => {
                return Err(Fault::Value("exact inference has all states: leave out n_states".into()));
            }
            ("truncated" | "auto", Some(states)) => encoder.inference(Inference::truncated(states)),
            ("truncated", None) => match self.inner().inference() {
                Inference::Exact => encoder.inference(Inference::truncated(efmca::tasks::table::TableLearner::STATES)),
                own => encoder.inference(own),
            },
            ("auto", None) => encoder,
            (other, _) => {
                let message = format!("inference = {other:?}: it is \"auto\", \"exact\" or \"truncated\"");
                return Err(Fault::Value(message));
            }
        })
    }

    /// What `apply` makes of the rows of a table.
    fn applied<T: Send>(
        &self,
        py: Python<'_>,
        x: &Table<'_>,
        (inference, states): (&str, Option<usize>),
        work: &Work,
        apply: impl FnOnce(&Encoder<'_>, &dyn Data, &mut Observer<'_>) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let rows = x.rows().map_err(|fault| fault.into_python(None))?;
        work.run(py, |observer| {
            let (found, expected) = (rows.data().d(), self.inner().d());
            if found != expected {
                return Err(Fault::Value(format!("X has {found} columns, and the model has {expected}")));
            }
            Ok(apply(&self.encoder(inference, states)?, rows.data(), observer)?)
        })
    }
}

#[pymethods]
impl Model {
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let restore = py.import("efmca._core")?.getattr("model_from_bytes")?;
        let model = slf.get();
        let arguments = (model_to_bytes(py, model)?, model.own_families(py));
        Ok((restore, arguments.into_pyobject(py)?))
    }

    #[getter]
    fn n_components(&self) -> usize {
        self.inner().h()
    }

    #[getter]
    fn n_features(&self) -> usize {
        self.inner().d()
    }

    /// The specification of the family of each column.
    #[getter]
    fn families(&self) -> Vec<String> {
        self.inner().columns().specs()
    }

    /// How finely the values of each column were written down.
    #[getter]
    fn steps(&self) -> Vec<String> {
        let columns = self.inner().columns();
        (0..columns.d()).map(|d| columns.resolution(d).to_string()).collect()
    }

    /// Groups of columns that count alike: names, columns and weights; none if there are no views.
    #[getter]
    fn views(&self) -> Option<Vec<(String, Vec<usize>, f64)>> {
        let views = self.inner().columns().views()?;
        Some(views.iter().map(|view| (view.name.clone(), view.columns.clone(), view.weight)).collect())
    }

    #[getter]
    fn superposition(&self) -> String {
        self.inner().superposition().into()
    }

    #[getter]
    fn background_learned(&self) -> bool {
        self.inner().background_learned()
    }

    /// How the model is applied: "exact", or "truncated" with so many states.
    #[getter]
    fn inference(&self) -> (&'static str, Option<usize>) {
        match self.inner().inference() {
            Inference::Truncated { states, .. } => ("truncated", Some(states)),
            _ => ("exact", None),
        }
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        self.file.names.clone()
    }

    /// For each column the words that its values 0, 1, … stand for, if they do.
    #[getter]
    fn labels(&self) -> Vec<Option<Vec<String>>> {
        self.file.labels.clone()
    }

    /// Rows, columns and channels of a patch, and its pages, if the columns are pixels.
    #[getter]
    fn patch(&self) -> Option<(usize, usize, usize, usize)> {
        self.file.patch.map(|[rows, columns, channels]| (rows, columns, channels, self.file.pages))
    }

    /// Families of the user's own in the model.
    #[getter]
    fn own_families(&self, py: Python<'_>) -> Vec<Py<OwnFamily>> {
        self.own.iter().map(|own| own.clone_ref(py)).collect()
    }

    #[getter]
    fn pi<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.inner().pi().clone().into_pyarray(py)
    }

    /// The mean that each cause gives each column.
    fn means<'py>(&self, py: Python<'py>) -> Matrix<'py> {
        self.inner().means().into_pyarray(py)
    }

    /// The parameters as people know them, by name: a row for each cause and, last, the background; NaN where a family has
    /// no such parameter.
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (model, columns) = (self.inner(), self.inner().columns());
        let (h, d) = (model.h(), model.d());
        let found = PyDict::new(py);
        let mut tables: Vec<(String, Array2<f64>)> = Vec::new();
        for (column, family, span) in columns.iter() {
            let names: Vec<String> = family.parameters().into_iter().map(|parameter| parameter.name).collect();
            for cause in 0..=h {
                let w = match cause {
                    cause if cause < h => model.w_flat().slice(s![cause, span.clone()]).to_vec(),
                    _ => model.background().slice(s![span.clone()]).to_vec(),
                };
                let mut eta = vec![0.0; w.len()];
                family.phi(&w, &mut eta);
                for (name, value) in names.iter().zip(family.conventional(&eta)) {
                    let place = tables.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
                        tables.push((name.clone(), Array2::from_elem((h + 1, d), f64::NAN)));
                        tables.len() - 1
                    });
                    tables[place].1[[cause, column]] = value;
                }
            }
        }
        for (name, table) in tables {
            found.set_item(name, table.into_pyarray(py))?;
        }
        Ok(found)
    }

    /// How likely each cause is to be active in each row, and the log-likelihood of each row.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        x: Table<'py>,
        inference: &str,
        states: Option<usize>,
        work: Work,
    ) -> PyResult<(Matrix<'py>, Bound<'py, PyArray1<f64>>)> {
        let how = (inference, states);
        let found = self.applied(py, &x, how, &work, |encoder, rows, observer| encoder.run_observed(rows, observer))?;
        Ok((found.active.into_pyarray(py), found.log_likelihoods.into_pyarray(py)))
    }

    /// The best state of each row.
    fn states<'py>(
        &self,
        py: Python<'py>,
        x: Table<'py>,
        inference: &str,
        states: Option<usize>,
        work: Work,
    ) -> PyResult<Matrix<'py>> {
        let how = (inference, states);
        let found = self.applied(py, &x, how, &work, |encoder, rows, observer| encoder.states(rows, observer))?;
        Ok(found.into_pyarray(py))
    }

    /// The mean of each entry given its row.
    fn posterior_means<'py>(
        &self,
        py: Python<'py>,
        x: Table<'py>,
        inference: &str,
        states: Option<usize>,
        work: Work,
    ) -> PyResult<Matrix<'py>> {
        let how = (inference, states);
        let found = self.applied(py, &x, how, &work, |encoder, rows, observer| encoder.means(rows, observer))?;
        Ok(found.into_pyarray(py))
    }

    /// The means of all columns, given how likely each cause is to be active.
    fn means_of<'py>(&self, py: Python<'py>, active: PyReadonlyArray2<'py, f64>, work: Work) -> PyResult<Matrix<'py>> {
        let active = active.as_array();
        let found = work.run(py, |_| Ok(self.inner().means_of(active)?))?;
        Ok(found.into_pyarray(py))
    }

    /// Rows drawn from the model, and the states that made them.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        rows: usize,
        seed: u64,
        rounded: bool,
        work: Work,
    ) -> PyResult<(Matrix<'py>, Matrix<'py>)> {
        let (h, d) = (self.inner().h(), self.inner().d());
        if rows.checked_mul(h.max(d)).is_none_or(|size| size > isize::MAX as usize / 8) {
            return Err(PyValueError::new_err(format!("n_samples = {rows}: these are too many")));
        }
        let (y, s) = work.run(py, |_| {
            let (mut y, mut s) = (Array2::zeros((rows, d)), Array2::zeros((rows, h)));
            for start in (0..rows).step_by(DRAWN) {
                efmca::cancel::check();
                let drawn = start..(start + DRAWN).min(rows);
                let sample = self.inner().sample_rows(drawn.clone(), seed);
                y.slice_mut(s![drawn.clone(), ..]).assign(&sample.y);
                s.slice_mut(s![drawn, ..]).assign(&sample.s);
            }
            Ok((if rounded { self.inner().rounded(y) } else { y }, s))
        })?;
        Ok((y.into_pyarray(py), s.into_pyarray(py)))
    }

    /// All parameters as named arrays, as they are in model files.
    fn tensors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for tensor in self.inner().to_tensors() {
            let values = Array1::from(tensor.values).into_dyn();
            let values =
                values.into_shape_with_order(tensor.shape).map_err(|error| PyValueError::new_err(error.to_string()))?;
            found.set_item(tensor.name, values.into_pyarray(py))?;
        }
        Ok(found)
    }

    /// The same model with other names and labels of its columns.
    fn with_columns(&self, py: Python<'_>, names: Vec<String>, labels: Vec<Option<Vec<String>>>) -> PyResult<Model> {
        let file = ModelFile { names, labels, ..self.file.clone() };
        // names that do not fit are found here and not when the model is written
        efmca_io::encode_model(&file).map_err(PyValueError::new_err)?;
        Ok(Model::new(file, self.own.iter().map(|own| own.clone_ref(py)).collect()))
    }

    /// A model with one cause less or more is another one: the same with its most active causes only.
    fn most_active(&self, py: Python<'_>, causes: usize) -> PyResult<Model> {
        let model = self.inner().most_active(causes).map_err(value_error)?;
        let file = ModelFile { model, ..self.file.clone() };
        Ok(Model::new(file, self.own.iter().map(|own| own.clone_ref(py)).collect()))
    }
}

/// The families of the user's own that models are read with.
pub(crate) fn shared(py: Python<'_>, own: &[Py<OwnFamily>]) -> Vec<SharedFamily> {
    own.iter().map(|own| own.bind(py).get().shared()).collect()
}
