//! Errors of the library as exceptions of Python. Places are counted from 0 and written as in Python: `X[3, 2]`.

use std::path::Path;

use efmca::tasks::learn::PreparationError;
use efmca::{Error, Pixel};
use efmca_io::IoError;
use pyo3::PyErr;
use pyo3::exceptions::{
    PyFileNotFoundError, PyMemoryError, PyOSError, PyPermissionError, PyRuntimeError, PyValueError,
};

pyo3::create_exception!(efmca, Stopped, PyRuntimeError, "A callback ended the work before there was a result.");

/// Everything that work can fail with.
#[derive(Debug)]
pub(crate) enum Fault {
    Library(Error),
    Preparation(PreparationError),
    /// What was asked for makes no sense.
    Value(String),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Library(error)
    }
}

impl From<PreparationError> for Fault {
    fn from(error: PreparationError) -> Fault {
        match error {
            PreparationError::Other(error) => Fault::Library(error),
            other => Fault::Preparation(other),
        }
    }
}

impl Fault {
    /// The exception, with the names of columns if they are known.
    pub(crate) fn into_python(self, names: Option<&[String]>) -> PyErr {
        match self {
            Fault::Library(error @ Error::Stopped { .. }) => Stopped::new_err(error.to_string()),
            Fault::Library(error @ Error::TooMuchMemory { .. }) => PyMemoryError::new_err(error.to_string()),
            Fault::Library(error) => PyValueError::new_err(message(&error, names)),
            Fault::Preparation(error) => PyValueError::new_err(error.to_string()),
            Fault::Value(message) => PyValueError::new_err(message),
        }
    }
}

/// The exception for an error that is not about data.
pub(crate) fn value_error(error: Error) -> PyErr {
    Fault::Library(error).into_python(None)
}

/// The exception for an error with a file.
pub(crate) fn file_error(error: &IoError, path: &Path) -> PyErr {
    let kind = match error {
        IoError::Read { source, .. } | IoError::Write { source, .. } => Some(source.kind()),
        _ => None,
    };
    let message = error.to_string();
    match kind {
        Some(std::io::ErrorKind::NotFound) if !path.exists() => PyFileNotFoundError::new_err(message),
        Some(std::io::ErrorKind::PermissionDenied) => PyPermissionError::new_err(message),
        Some(_) => PyOSError::new_err(message),
        None => PyValueError::new_err(message),
    }
}

/// An error in the words of Python.
fn message(error: &Error, names: Option<&[String]>) -> String {
    let named = |column: usize| match names.and_then(|names| names.get(column)) {
        Some(name) => format!(" (column {name:?})"),
        None => String::new(),
    };
    let entry = |row: usize, column: usize| format!("X[{row}, {column}]{}", named(column));
    let whole = |column: usize| format!("X[:, {column}]{}", named(column));
    match error {
        Error::OutsideSupport { row, column, value, family, support } => format!(
            "{} is {value}, which is outside the support of `{family}` ({support}); choose a family that allows it, or \
             mark it as missing with NaN",
            entry(*row, *column)
        ),
        Error::NotFinite { row, column, value } => format!(
            "{} is {value}: every value must be finite, not infinity; NaN marks a missing one",
            entry(*row, *column)
        ),
        Error::TooExtreme { row, column, value, family } => format!(
            "{} is {value}, whose statistics under `{family}` are too large to be summed; rescale the column, or mark \
             the value as missing with NaN",
            entry(*row, *column)
        ),
        Error::EmptyColumn { column } => {
            format!("{}: every value is missing (NaN), so nothing can be learned; drop the column", whole(*column))
        }
        Error::Column { column, problem } => format!("{}: {problem}", whole(*column)),
        Error::TooFarFromZero { column, mean, family } => format!(
            "{}: the values scatter so little about {mean} that `{family}` cannot tell how much; subtract a constant \
             from the column, or drop it if all its values are equal",
            whole(*column)
        ),
        // a weight of zero is a fault only if all are
        Error::Weight { value: 0.0, .. } => "sample_weight: all weights are zero, so that no row counts".to_owned(),
        Error::Weight { row, value } => format!(
            "sample_weight[{row}] is {value}: weights must be finite and not negative, one of them positive, and their \
             sum between 1e-100 and 1e100"
        ),
        Error::ImpossibleRow { row } => format!(
            "X[{row}]: its probability is zero under every state of the model; raise pseudo_count, or look at the row"
        ),
        Error::ImpossiblePixel { place, value, family, support } => format!(
            "{} is {value}, which is outside the support of `{family}` ({support}); choose a family that allows it, or \
             mark it as missing with NaN or a mask",
            pixel(place)
        ),
        Error::ImpossibleMean { place, mean, family, problem } => {
            format!("{}: noise of `{family}` cannot have the mean {mean}; {problem}", pixel(place))
        }
        Error::Setting { name, value, requirement } => match *name {
            "causes" => format!("n_components = {value}: {requirement}"),
            "iterations" => format!("max_iter = {value}: {requirement}"),
            "tolerance" => format!("tol = {value}: {requirement}"),
            "starts" => format!("n_init = {value}: {requirement}"),
            "states" => format!("n_states = {value}: {requirement}"),
            "learn_from" => format!("learn_pages = {value}: {requirement}"),
            _ => error.to_string(),
        },
        Error::TooManyCauses { causes, limit } => format!(
            "inference=\"exact\" visits all 2**n_components states, and n_components = {causes} is too many (at most \
             {limit}); use fewer, or inference=\"truncated\""
        ),
        other => other.to_string(),
    }
}

fn pixel(place: &Pixel) -> String {
    let Pixel { page, row, column, channel } = place;
    format!("the pixel at page {page}, row {row}, column {column}, channel {channel} (counted from 0)")
}
