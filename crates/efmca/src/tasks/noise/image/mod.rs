//! The noise of an image in a few seconds, so that it can be cleaned.
//!
//! [`NoiseType`] ranks all families with much work. Here are the few that matter for an image (`short_list.rs`), compared by the same
//! held-out pixels in a small part of it, in which there is little but noise (`tiles.rs`), by the values (`sample.rs`). How the variance depends on brightness
//! (`level.rs`) shortens the list, and tells the values of a camera from counts.

mod found;
mod level;
mod sample;
mod short_list;
mod tiles;

use ndarray::ArrayView4;
use serde::{Deserialize, Serialize};

use super::candidates::for_one_value;
use super::ranking::Ranking;
use super::settings::NoiseType;
use crate::em::{Observer, unobserved};
use crate::error::{Error, Result};
use crate::family::{FamilySpec, family};
use crate::tasks::held_out::Source;
use crate::tasks::watch::Watch;
pub use found::{Basis, FoundNoise};
pub use level::CameraNoise;
use sample::Sample;
use short_list::short_list;
use tiles::Tiles;

/// Rows and columns of a patch, and how far patches are apart.
const PATCH: usize = 8;
const STRIDE: usize = 3;
/// Causes of the models, at the most, and the patches that each must have.
const CAUSES: usize = 24;
const PATCHES_OF_A_CAUSE: usize = 12;
/// EM iterations of a training; the share of the pixels that is held out.
const ITERATIONS: usize = 12;
const HELD_OUT: f64 = 0.2;
/// Pixels that a comparison needs.
const FEWEST_PIXELS: usize = 400;

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
        let sample = Sample::of(pixels).ok_or(Error::EmptyImage)?;
        let kind = sample.values.kind;
        let found = |family: FamilySpec, basis: Basis| FoundNoise { family, basis, camera: None, unit: sample.unit };
        if let Some(candidate) = for_one_value(&sample.values) {
            return Ok(found(candidate.name().into(), Basis::Equal(sample.values.summary.min)));
        }
        let tiles = Tiles::of(pixels, self.seed);
        let list = short_list(&sample, &tiles.found);
        let usual = FamilySpec::from(list[0]);
        if list.len() == 1 {
            let basis = match level::dispersion(&tiles.found, |mean| mean) {
                _ if list[0] != "poisson" => Basis::Values(kind),
                Some(over_mean) => Basis::Variance { over_mean },
                None => Basis::TooFew { pixels: sample.present, kind },
            };
            return Ok(found(usual, basis).with_camera(&tiles));
        }
        let stack = tiles.stack(pixels);
        if stack.iter().filter(|value| !value.is_nan()).count() < FEWEST_PIXELS {
            return Ok(found(usual, Basis::TooFew { pixels: sample.present, kind }));
        }
        let mut watch = Watch::new(observer);
        let ranking = self.rank(stack.view(), list, &sample, &mut |progress| watch.see(progress));
        if watch.stopped() {
            return Err(Error::Stopped { what: "the noise was found".into() });
        }
        Ok(match ranking {
            Ok(ranking) => found(ranking.best().family.clone().into(), Basis::HeldOut(Box::new(ranking))),
            // a comparison that fails is no reason not to clean the image
            Err(error) => found(usual, Basis::Incomparable(error.to_string())),
        }
        .with_camera(&tiles))
    }

    /// Compares the families of a list on tiles.
    fn rank(
        &self,
        tiles: ArrayView4<'_, f64>,
        list: Vec<&'static str>,
        sample: &Sample,
        observer: &mut Observer<'_>,
    ) -> Result<Ranking> {
        let (count, rows, columns, _) = tiles.dim();
        let patch = (PATCH.min(rows), PATCH.min(columns));
        let positions = |side: usize, patch: usize| (side - patch).div_ceil(STRIDE) + 1;
        let patches = count * positions(rows, patch.0) * positions(columns, patch.1);
        let causes = CAUSES.min(patches / PATCHES_OF_A_CAUSE).max(1);
        let source = Source::Images { pixels: tiles, patch, depth: 1, stride: STRIDE };
        // the values of the image and not of the tiles, which may be of another kind
        self.noise_type(causes).families(list).rank(causes, source, &sample.values, observer)
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
