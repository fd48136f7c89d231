//! The noise of an image in a few seconds, so that it can be cleaned.
//!
//! [`NoiseType`] ranks all families with much work. Here are the few that matter for an image (`short_list.rs`), compared by the same
//! held-out pixels in a small part of it, in which there is little but noise (`tiles.rs`). How the variance depends on brightness
//! (`level.rs`) shortens the list, and tells the values of a camera from counts.

mod found;
mod level;
mod short_list;
mod tiles;

use ndarray::ArrayView4;
use serde::{Deserialize, Serialize};

use super::candidates::{Values, for_one_value};
use super::settings::NoiseType;
use crate::em::{Observer, unobserved};
use crate::error::{Error, Result};
use crate::family::{FamilySpec, family};
use crate::tasks::held_out::Source;
use crate::tasks::watch::Watch;
pub use found::{Basis, FoundNoise};
pub use level::CameraNoise;
use short_list::short_list;
use tiles::Tiles;

/// Rows and columns of a patch, and how far patches are apart.
const PATCH: usize = 8;
const STRIDE: usize = 2;
/// Causes of the models, at the most, and the patches that each must have.
const CAUSES: usize = 24;
const PATCHES_OF_A_CAUSE: usize = 20;
/// EM iterations of a training; the share of the pixels that is held out.
const ITERATIONS: usize = 12;
const HELD_OUT: f64 = 0.2;
/// Pixels that a comparison needs.
const FEWEST_PIXELS: usize = 400;
/// Values of the image that are looked at to find out of which kind they are.
const SAMPLE: usize = 1 << 16;

/// Settings for finding the noise of an image. Everything has a default.
///
/// ```
/// use efmca::tasks::{corrupt::Corruption, denoise::Denoiser, noise::ImageNoise};
/// use ndarray::Array4;
///
/// let clean = Array4::from_shape_fn((1, 64, 64, 1), |(_, y, x, _)| if (16..48).contains(&y) && x > 20 { 9.0 } else { 2.0 });
/// let noisy = Corruption::new("poisson").seed(1).run(clean.view())?.noisy;
/// let found = ImageNoise::new().run(noisy.view())?;
/// assert_eq!(found.family.spec(), "poisson");
/// let denoiser = Denoiser::new(found.family);
/// # denoiser.check()?;
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ImageNoise {
    seed: u64,
}

impl ImageNoise {
    /// The usual settings.
    #[must_use]
    pub fn new() -> ImageNoise {
        ImageNoise::default()
    }

    /// The same seed gives the same finding (default: 0).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> ImageNoise {
        self.seed = seed;
        self
    }

    /// Whether the settings can be used; any image may come.
    ///
    /// # Errors
    ///
    /// None for now.
    pub fn check(&self) -> Result<()> {
        self.noise_type(1).check()
    }

    /// Finds the noise of an image (pages, rows, columns, channels; NaN where a pixel is missing).
    ///
    /// # Errors
    ///
    /// [`Error::EmptyData`] for an image without pixels, [`Error::EmptyImage`] if all of them are missing, and
    /// [`Error::ImpossiblePixel`] for an infinite one.
    pub fn run(&self, pixels: ArrayView4<'_, f64>) -> Result<FoundNoise> {
        self.run_observed(pixels, &mut unobserved)
    }

    /// Finds the noise of an image and asks `observer` between the iterations of each training.
    ///
    /// # Errors
    ///
    /// As [`run`](ImageNoise::run), and [`Error::Stopped`] if the observer ends the work.
    pub fn run_observed(&self, pixels: ArrayView4<'_, f64>, observer: &mut Observer<'_>) -> Result<FoundNoise> {
        self.check()?;
        check_finite(pixels)?;
        let present = pixels.iter().filter(|value| !value.is_nan()).count();
        let values = Values::of(sample(pixels, present)).ok_or(Error::EmptyImage)?;
        if let Some(candidate) = for_one_value(&values) {
            let basis = Basis::Equal(values.summary.min);
            return Ok(FoundNoise { family: candidate.name().into(), basis, camera: None });
        }
        let tiles = Tiles::of(pixels, self.seed);
        let list = short_list(&values, &tiles.found);
        let kind = values.kind;
        let found =
            |family: FamilySpec, basis: Basis| FoundNoise { family, basis, camera: level::camera(&tiles.found) };
        let usual = FamilySpec::from(list[0]);
        if list.len() == 1 {
            return Ok(found(usual, Basis::Values(kind)));
        }
        let stack = tiles.stack(pixels);
        let enough = stack.iter().filter(|value| !value.is_nan()).count();
        if enough < FEWEST_PIXELS {
            return Ok(found(usual, Basis::TooFew { pixels: present, kind }));
        }
        let patch = (PATCH.min(stack.dim().1), PATCH.min(stack.dim().2));
        let source = Source::Images { pixels: stack.view(), patch, stride: STRIDE };
        let patches = stack.dim().0 * (stack.dim().1 - patch.0).div_ceil(STRIDE).max(1).pow(2);
        let causes = CAUSES.min(patches / PATCHES_OF_A_CAUSE).max(1);
        let mut watch = Watch::new(observer);
        let noise = self.noise_type(causes).families(list);
        let ranking = noise.rank(causes, source, &values, &mut |progress| watch.see(progress));
        if watch.stopped() {
            return Err(Error::Stopped { what: "the noise was found".into() });
        }
        match ranking {
            Ok(ranking) => Ok(found(ranking.best().family.clone().into(), Basis::HeldOut(Box::new(ranking)))),
            Err(error) => Ok(found(usual, Basis::Incomparable(error.to_string()))),
        }
    }

    fn noise_type(&self, causes: usize) -> NoiseType {
        NoiseType::new().causes(causes).restarts(1).iterations(ITERATIONS).held_out(HELD_OUT).seed(self.seed)
    }
}

/// There are pixels, and none is infinite.
fn check_finite(pixels: ArrayView4<'_, f64>) -> Result<()> {
    if pixels.is_empty() {
        return Err(Error::EmptyData { rows: pixels.dim().1, columns: pixels.dim().2 });
    }
    let Some((place, value)) = pixels.indexed_iter().find(|(_, value)| value.is_infinite()) else { return Ok(()) };
    // the family that has most values of all
    let gaussian = family("gaussian")?;
    Err(Error::ImpossiblePixel {
        place: place.into(),
        value: *value,
        family: gaussian.spec(),
        support: gaussian.support().to_string(),
    })
}

/// Values of the image, evenly spread, with those that decide on their kind: the smallest, the largest, and one with a fraction.
fn sample(pixels: ArrayView4<'_, f64>, present: usize) -> Vec<f64> {
    let step = present.div_ceil(SAMPLE).max(1);
    let all = || pixels.iter().copied().filter(|value| !value.is_nan());
    let deciding = [all().reduce(f64::min), all().reduce(f64::max), all().find(|value| value.fract() != 0.0)];
    all().step_by(step).chain(deciding.into_iter().flatten()).collect()
}
