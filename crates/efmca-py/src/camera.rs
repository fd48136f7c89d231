//! Cameras: gain, offset and read noise from images.

use efmca::family::Family;
use efmca::tasks::camera::{Calibration, Shots};
use numpy::PyReadonlyArray4;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::value_error;
use crate::work::Work;

/// Finds the camera that took images of scenes, of even surfaces, and without light.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python has names for them")]
pub(crate) fn calibrate<'py>(
    py: Python<'py>,
    scenes: Vec<PyReadonlyArray4<'py, f64>>,
    flats: Vec<PyReadonlyArray4<'py, f64>>,
    darks: Vec<PyReadonlyArray4<'py, f64>>,
    one_scene: bool,
    offset: Option<f64>,
    read_noise: Option<f64>,
    work: Work,
) -> PyResult<Bound<'py, PyDict>> {
    let mut calibration = Calibration::new();
    if let Some(offset) = offset {
        calibration = calibration.offset(offset);
    }
    if let Some(read_noise) = read_noise {
        calibration = calibration.read_noise(read_noise);
    }
    let [scenes, flats, darks] =
        [&scenes, &flats, &darks].map(|images| images.iter().map(|image| image.as_array()).collect::<Vec<_>>());
    let shots = Shots { scenes, one_scene, flats, darks };
    let found = work.run(py, |_| Ok(calibration.run(&shots)?))?;
    let result = PyDict::new(py);
    result.set_item("gain", found.camera.gain)?;
    result.set_item("offset", found.camera.offset)?;
    result.set_item("read_noise", found.camera.read_noise)?;
    result.set_item("errors", (found.errors.gain, found.errors.offset, found.errors.read_noise))?;
    result.set_item("family", found.camera.family().map_err(value_error)?.spec())?;
    let points: Vec<(f64, f64)> = found.points.iter().map(|point| (point.mean, point.variance)).collect();
    result.set_item("points", points)?;
    result.set_item("remarks", found.remarks)?;
    Ok(result)
}
