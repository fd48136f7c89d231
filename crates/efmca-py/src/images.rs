//! Denoising, test images, and how near an image is to another. Images are pages, rows, columns and channels.

use efmca::tasks::corrupt::Corruption;
use efmca::tasks::denoise::{Denoised, Denoiser, Quality};
use efmca::tasks::noise::{FoundNoise, ImageNoise};
use efmca::tasks::quality;
use efmca::tasks::residual::ResidualCheck;
use efmca::{Causes, Error};
use efmca_io::ModelFile;
use numpy::{IntoPyArray, PyReadonlyArray2, PyReadonlyArray4, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{Fault, value_error};
use crate::families::FamilyArg;
use crate::model::Model;
use crate::noise::found_noise;
use crate::work::Work;

/// The settings of denoising.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    /// The family of the noise; none if it is to be found.
    family: Option<FamilyArg>,
    quality: String,
    /// Rows, columns and pages of a patch.
    patch: Option<(usize, usize, usize)>,
    causes: Option<String>,
    causes_only: bool,
    states: Option<usize>,
    iterations: Option<usize>,
    learn_pages: Option<Vec<usize>>,
    keep_model: bool,
    seed: u64,
}

impl Settings {
    /// The settings of the library; the family is another one until it is found.
    fn denoiser(&self, py: Python<'_>) -> Result<Denoiser, Fault> {
        let family = self.family.as_ref().map_or_else(|| "gaussian".into(), |family| family.spec(py));
        self.denoiser_for(family)
    }

    fn denoiser_for(&self, family: efmca::FamilySpec) -> Result<Denoiser, Fault> {
        let mut denoiser = Denoiser::new(family)
            .quality(self.quality.parse::<Quality>()?)
            .causes(self.causes.as_deref().map_or(Ok(Causes::default()), str::parse)?)
            .similar_patches(!self.causes_only)
            .keep_model(self.keep_model)
            .seed(self.seed);
        if let Some((rows, columns, pages)) = self.patch {
            denoiser = denoiser.patch(rows, columns).depth(pages);
        }
        if let Some(states) = self.states {
            denoiser = denoiser.states(states);
        }
        if let Some(iterations) = self.iterations {
            denoiser = denoiser.iterations(iterations);
        }
        if let Some(pages) = &self.learn_pages {
            denoiser = denoiser.learn_from(pages.iter().copied());
        }
        denoiser.check()?;
        Ok(denoiser)
    }
}

/// Cleans an image, and fills in its missing pixels.
#[pyfunction]
pub(crate) fn denoise<'py>(
    py: Python<'py>,
    image: PyReadonlyArray4<'py, f64>,
    settings: Settings,
    work: Work,
) -> PyResult<Bound<'py, PyDict>> {
    let given = settings.denoiser(py).map_err(|fault| fault.into_python(None))?;
    let (pixels, own) = (image.as_array(), settings.family.as_ref().and_then(|family| family.own(py)));
    let (is_given, family) = match &settings.family {
        Some(family) => (true, family.spec(py)),
        None => (false, "gaussian".into()),
    };
    let (found, denoised, family) = work.run(py, |observer| {
        if is_given {
            return Ok((None, given.run_observed(pixels, observer).map_err(of_patches)?, family));
        }
        let found = ImageNoise::new().seed(settings.seed).run_observed(pixels, observer)?;
        let denoiser = settings.denoiser_for(found.family.clone())?;
        let family = found.family.clone();
        Ok((Some(found), denoiser.run_observed(pixels, observer).map_err(of_patches)?, family))
    })?;
    result(py, found, denoised, &family.spec(), own)
}

/// Errors about columns are about places in patches here.
fn of_patches(error: Error) -> Fault {
    match error {
        Error::EmptyColumn { .. } => Fault::Value(
            "so many pixels are missing that one place of the patches has none; give a smaller patch_size".into(),
        ),
        other => other.into(),
    }
}

fn result<'py>(
    py: Python<'py>,
    found: Option<FoundNoise>,
    denoised: Denoised,
    family: &str,
    own: Option<Py<crate::own_family::OwnFamily>>,
) -> PyResult<Bound<'py, PyDict>> {
    let channels = denoised.estimate.mean.dim().3;
    let model = denoised.kept().map(|member| {
        let (rows, columns) = member.settings.patch;
        let file = ModelFile {
            patch: Some([rows, columns, channels]),
            pages: member.settings.depth,
            ..ModelFile::from(member.model.clone())
        };
        Model::new(file, own.into_iter().collect())
    });
    let members: Vec<_> = denoised
        .members
        .iter()
        .map(|member| {
            let bounds: Vec<f64> = member.history.iter().map(|step| step.bound).collect();
            (member.model.h(), member.settings.patch, member.block, bounds)
        })
        .collect();
    let result = PyDict::new(py);
    result.set_item("family", family)?;
    result.set_item("noise", found.map(|found| found_noise(py, &found)).transpose()?)?;
    result.set_item("mean", denoised.estimate.mean.into_pyarray(py))?;
    result.set_item("deviation", denoised.estimate.deviation.into_pyarray(py))?;
    result.set_item("members", members)?;
    result.set_item("stopped", denoised.interrupted)?;
    result.set_item("model", model)?;
    Ok(result)
}

/// Whether what was taken away looks like the noise that was assumed: findings with advice, and the residual over the
/// standard deviation of the noise.
#[pyfunction]
pub(crate) fn residual<'py>(
    py: Python<'py>,
    noisy: PyReadonlyArray4<'py, f64>,
    estimate: PyReadonlyArray4<'py, f64>,
    family: FamilyArg,
    work: Work,
) -> PyResult<Bound<'py, PyDict>> {
    let (noisy, estimate, family) = (noisy.as_array(), estimate.as_array(), family.spec(py));
    let found = work.run(py, |_| Ok(ResidualCheck::new(family).run(noisy, estimate)?))?;
    let result = PyDict::new(py);
    result.set_item("judged", found.is_judged())?;
    let findings: Vec<(String, String)> =
        found.findings.iter().map(|finding| (finding.text.clone(), finding.advice.clone())).collect();
    result.set_item("findings", findings)?;
    result.set_item("standardised", found.standardised.into_pyarray(py))?;
    Ok(result)
}

/// A noisy image from a clean one.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python has names for them")]
pub(crate) fn corrupt<'py>(
    py: Python<'py>,
    clean: PyReadonlyArray4<'py, f64>,
    family: FamilyArg,
    peak: Option<f64>,
    sd: Option<f64>,
    floor: Option<f64>,
    offset: Option<f64>,
    seed: u64,
    work: Work,
) -> PyResult<Bound<'py, PyDict>> {
    let mut corruption = Corruption::new(family.spec(py)).seed(seed);
    for (value, set) in [
        (peak, Corruption::peak as fn(Corruption, f64) -> Corruption),
        (sd, Corruption::sd),
        (floor, Corruption::floor),
        (offset, Corruption::offset),
    ] {
        if let Some(value) = value {
            corruption = set(corruption, value);
        }
    }
    let clean = clean.as_array();
    let drawn = work.run(py, |_| Ok(corruption.run(clean)?))?;
    let result = PyDict::new(py);
    result.set_item("noisy", drawn.noisy.into_pyarray(py))?;
    result.set_item("means", drawn.means.into_pyarray(py))?;
    result.set_item("scale", drawn.scale)?;
    result.set_item("raised", drawn.raised)?;
    Ok(result)
}

/// The peak signal-to-noise ratio.
#[pyfunction]
pub(crate) fn psnr(
    estimate: PyReadonlyArrayDyn<'_, f64>,
    clean: PyReadonlyArrayDyn<'_, f64>,
    peak: f64,
) -> PyResult<f64> {
    quality::psnr(estimate.as_array(), clean.as_array(), peak).map_err(value_error)
}

/// The structural similarity.
#[pyfunction]
pub(crate) fn ssim(estimate: PyReadonlyArray2<'_, f64>, clean: PyReadonlyArray2<'_, f64>, peak: f64) -> PyResult<f64> {
    quality::ssim(estimate.as_array(), clean.as_array(), peak).map_err(value_error)
}
