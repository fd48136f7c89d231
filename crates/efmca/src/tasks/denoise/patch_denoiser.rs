//! One model of patches of one size: the settings of a member.

use ndarray::ArrayView4;
use serde::{Deserialize, Serialize};

use super::image::{check_fits, check_learnable, check_pixels};
use crate::error::{Error, Result};
use crate::family::{FamilySpec, SharedFamily};
use crate::model::Model;
use crate::posterior::Truncation;
use crate::posterior::truncated::{LARGEST_H, Precision};

/// The widest blur, whose window is kept in memory.
const LARGEST_BLUR: f64 = 1000.0;
/// The narrowest window. The corner of an image is in the corner of one patch only, whose weight underflows at 0.01.
const SMALLEST_WINDOW: f64 = 0.05;

/// Cleans an image with one model of its patches: one member of a [`Denoiser`](super::Denoiser), which chooses these settings by
/// the image and combines several members. By itself it is for models that were learned elsewhere ([`PatchDenoiser::apply`]) and
/// for experiments.
///
/// Each setting can be read as a field and set by the method of the same name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PatchDenoiser {
    /// The noise.
    pub family: FamilySpec,
    /// The size of a patch in rows and columns.
    pub patch: (usize, usize),
    /// The number of pages of a patch.
    pub depth: usize,
    /// $H$, the number of causes.
    pub causes: usize,
    /// $S$, the number of states that are kept for each patch.
    pub states: usize,
    /// EM iterations, at the most.
    pub iterations: usize,
    /// Updates of the parameters in each iteration.
    pub batches: usize,
    /// The same seed gives the same bits.
    pub seed: u64,
    /// The standard deviation of the blur that the first causes are taken from, in pixels.
    pub blur: f64,
    /// The standard deviation of the window with which overlapping patches are averaged, in patch sizes.
    pub window: f64,
    /// The distance of the patches that are learned from, and cleaned with what was learned, in rows and columns.
    pub spacing: usize,
    /// The number of patches to learn from, at the most.
    pub most_patches: usize,
    /// The distance of the patches that are cleaned; `None` for one that suits the image.
    pub stride: Option<usize>,
    /// E-steps for patches that were not learned from.
    pub e_steps: usize,
}

impl PatchDenoiser {
    /// Denoising for noise of a family, with settings for an image of some 256 x 256 pixels.
    pub fn new(family: impl Into<FamilySpec>) -> PatchDenoiser {
        PatchDenoiser {
            family: family.into(),
            patch: (20, 20),
            depth: 1,
            causes: 100,
            states: 12,
            iterations: 30,
            batches: 4,
            seed: 0,
            blur: 2.0,
            window: 0.25,
            spacing: 1,
            most_patches: 70_000,
            stride: None,
            e_steps: 4,
        }
    }

    /// Settings for a model that was learned from square patches of one page of images with this many channels.
    ///
    /// # Errors
    ///
    /// [`Error::NotAModel`] if its columns have different families, [`Error::Shape`] if no square patch has as many values.
    pub fn for_model(model: &Model, channels: usize) -> Result<PatchDenoiser> {
        let side = ((model.d() / channels.max(1)) as f64).sqrt().round() as usize;
        if side * side * channels != model.d() {
            return Err(Error::shape(
                "model",
                format!("square patches of an image with {channels} channels"),
                format!(
                    "{} values a patch; if its patches are not square, say their size, or use an image with as many \
                     channels as it was learned from",
                    model.d()
                ),
            ));
        }
        PatchDenoiser::for_model_of(model, (side, side))
    }

    /// Settings for a model that was learned from patches of this size, in rows and columns; if they have several pages, say so
    /// with [`PatchDenoiser::depth`].
    ///
    /// # Errors
    ///
    /// [`Error::NotAModel`] if its columns have different families.
    pub fn for_model_of(model: &Model, patch: (usize, usize)) -> Result<PatchDenoiser> {
        Ok(PatchDenoiser::new(only_family(model)?).patch(patch.0, patch.1).causes(model.h()))
    }

    /// The size of a patch in rows and columns (default: 20 x 20).
    #[must_use]
    pub fn patch(mut self, rows: usize, columns: usize) -> PatchDenoiser {
        self.patch = (rows, columns);
        self
    }

    /// The number of pages of a patch (default: 1, each page by itself). With more, neighbouring slices of a volume or frames of
    /// a movie help each other.
    #[must_use]
    pub fn depth(mut self, pages: usize) -> PatchDenoiser {
        self.depth = pages;
        self
    }

    /// $H$, the number of causes (default: 100).
    #[must_use]
    pub fn causes(mut self, causes: usize) -> PatchDenoiser {
        self.causes = causes;
        self
    }

    /// $S$, the number of states that are kept for each patch (default: 12).
    #[must_use]
    pub fn states(mut self, states: usize) -> PatchDenoiser {
        self.states = states;
        self
    }

    /// EM iterations, at the most (default: 30).
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> PatchDenoiser {
        self.iterations = iterations;
        self
    }

    /// Updates of the parameters in each iteration (default: 4).
    #[must_use]
    pub fn batches(mut self, batches: usize) -> PatchDenoiser {
        self.batches = batches;
        self
    }

    /// The seed: the same one gives the same bits (default: 0).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> PatchDenoiser {
        self.seed = seed;
        self
    }

    /// The standard deviation of the blur that the first causes are taken from, in pixels (default: 2); 0 starts from noise
    /// around the mean of the image instead.
    #[must_use]
    pub fn blur(mut self, blur: f64) -> PatchDenoiser {
        self.blur = blur;
        self
    }

    /// The standard deviation of the window with which overlapping patches are averaged, in patch sizes (default: 1/4);
    /// infinite for a plain average.
    #[must_use]
    pub fn window(mut self, window: f64) -> PatchDenoiser {
        self.window = window;
        self
    }

    /// Learns from every `spacing`-th patch in each direction, and cleans these, which still overlap (default: 1, all patches).
    #[must_use]
    pub fn spacing(mut self, spacing: usize) -> PatchDenoiser {
        self.spacing = spacing;
        self
    }

    /// Learns from this many patches at most, on a lattice; more of them are cleaned (default: 70,000).
    #[must_use]
    pub fn most_patches(mut self, patches: usize) -> PatchDenoiser {
        self.most_patches = patches;
        self
    }

    /// Where a model is applied: cleans only every `stride`-th patch in each direction, which still overlap (default: 1,
    /// and 2 for pages of more than 300,000 patches; where patches have several pages, 2 or 4 for large stacks). Along the pages it
    /// is half a patch at the most.
    #[must_use]
    pub fn stride(mut self, stride: usize) -> PatchDenoiser {
        self.stride = Some(stride);
        self
    }

    /// E-steps for patches that were not learned from (default: 4).
    #[must_use]
    pub fn e_steps(mut self, e_steps: usize) -> PatchDenoiser {
        self.e_steps = e_steps;
        self
    }

    /// Whether the settings can be used; any image may come.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownFamily`] or [`Error::FamilyParameter`] for a family that does not exist, [`Error::Setting`] for a number
    /// that makes no sense.
    pub fn check(&self) -> Result<()> {
        self.family.resolve()?;
        let (rows, columns) = self.patch;
        if rows == 0 || columns == 0 {
            return Err(Error::setting(
                "patch",
                format!("{rows} x {columns}"),
                "give 1 x 1 pixels or more, such as 16 x 16",
            ));
        }
        for (name, value, usual) in [
            ("depth", self.depth, "1 for each page by itself, or 3 to 5 for movies"),
            ("causes", self.causes, "100"),
            ("states", self.states, "12"),
            ("iterations", self.iterations, "30"),
            ("batches", self.batches, "4"),
            ("spacing", self.spacing, "1 for all patches"),
            ("most_patches", self.most_patches, "70,000"),
            ("stride", self.stride.unwrap_or(1), "1 for all patches"),
            ("e_steps", self.e_steps, "4"),
        ] {
            if value == 0 {
                return Err(Error::setting(name, 0, format!("give 1 or more ({usual} is usual), or leave it out")));
            }
        }
        if self.causes > LARGEST_H {
            return Err(Error::setting("causes", self.causes, format!("give {LARGEST_H} at most")));
        }
        if !(0.0..=LARGEST_BLUR).contains(&self.blur) {
            let requirement = format!("give a number of pixels from 0 (no blur) to {LARGEST_BLUR}; 2 is usual");
            return Err(Error::setting("blur", self.blur, requirement));
        }
        if self.window.is_nan() || self.window < SMALLEST_WINDOW {
            let requirement = format!(
                "give a share of the patch size from {SMALLEST_WINDOW} on; 0.25 is usual, and infinity is a plain average"
            );
            return Err(Error::setting("window", self.window, requirement));
        }
        Ok(())
    }

    /// The family, if all settings and the image can be used.
    pub(super) fn check_with(&self, noisy: ArrayView4<'_, f64>) -> Result<SharedFamily> {
        self.check()?;
        let family = self.family.resolve()?;
        check_pixels(&*family, noisy)?;
        check_fits(self.patch, self.depth, noisy)?;
        Ok(family)
    }

    /// The same for an image to learn from.
    pub(super) fn check_to_learn_from(&self, noisy: ArrayView4<'_, f64>) -> Result<SharedFamily> {
        let family = self.check_with(noisy)?;
        check_learnable(noisy)?;
        Ok(family)
    }

    pub(super) fn truncation(&self) -> Truncation {
        Truncation::new(self.states).precision(Precision::Single)
    }
}

/// The one family of a model of images.
fn only_family(model: &Model) -> Result<SharedFamily> {
    let mut families = model.columns().iter().map(|(_, family, _)| family);
    if let Some(first) = families.next()
        && families.all(|family| family.spec() == first.spec())
    {
        return Ok(first.clone());
    }
    let problem = "its columns have different families, so that it is not a model of images; use one that was learned from patches";
    Err(Error::NotAModel { problem: problem.into() })
}
