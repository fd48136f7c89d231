//! Cleaning an image with a model of its patches.

use ndarray::{ArrayView4, s};

use super::denoiser::{Denoised, Member};
use super::learning::PatchStates;
use super::merge::{Canvas, Estimate, Posteriors};
use super::patch_denoiser::PatchDenoiser;
use crate::em::{Observer, unobserved};
use crate::error::{Error, Result};
use crate::model::{Data, Geometry, Model, Patches};
use crate::posterior::{Observed, Sets, Truncated};

/// Patches that are looked at together where a model is applied, to bound the memory that their states take.
const MOST_AT_ONCE: usize = 200_000;
/// Of pages with more patches than this, every second one in each direction is cleaned: House and Camera at peak 2 lose
/// 0.04 to 0.1 dB by it.
const MANY_PATCHES: usize = 300_000;

impl PatchDenoiser {
    /// Learns from `noisy` (pages, rows, columns, channels; NaN where a pixel is missing) and cleans it.
    ///
    /// # Errors
    ///
    /// All that [`PatchDenoiser::check`] finds, and faults of the image: [`Error::Shape`] if the patch is larger,
    /// [`Error::ImpossiblePixel`] for the first pixel that the family cannot produce, [`Error::EmptyImage`] if every pixel is
    /// missing.
    pub fn run(&self, noisy: ArrayView4<'_, f64>) -> Result<Denoised> {
        self.run_observed(noisy, &mut unobserved)
    }

    /// Learns and cleans, and calls `observer` after each iteration; it can end the learning, and the model so far cleans the
    /// image.
    ///
    /// # Errors
    ///
    /// As [`PatchDenoiser::run`].
    pub fn run_observed(&self, noisy: ArrayView4<'_, f64>, observer: &mut Observer<'_>) -> Result<Denoised> {
        let family = self.check_to_learn_from(noisy)?;
        let (member, states) = self.train(&family, noisy, observer)?;
        let estimate = self.estimate(noisy, &member.model, states)?;
        let interrupted = member.is_unfinished();
        Ok(Denoised { estimate, members: vec![member], interrupted })
    }

    /// Cleans an image with a model that was learned from another one. Overlapping patches lend each other states, so that a
    /// pixel depends on the image around it.
    ///
    /// # Errors
    ///
    /// As [`PatchDenoiser::run`], and [`Error::Shape`] if a patch has another size than the model.
    pub fn apply(&self, noisy: ArrayView4<'_, f64>, model: &Model) -> Result<Estimate> {
        self.check_with(noisy)?;
        let (rows, columns, channels) = (self.patch.0, self.patch.1, noisy.dim().3);
        if rows * columns * channels != model.d() {
            return Err(Error::shape(
                "patch",
                format!("{} pixels, which the model was learned from", model.d()),
                format!("{} ({rows} x {columns} in {channels} channels)", rows * columns * channels),
            ));
        }
        self.estimate(noisy, model, None)
    }

    /// Cleans `noisy`. Where learning left the states of exactly these pages, they are used; states of other pages are not.
    pub(super) fn estimate(
        &self,
        noisy: ArrayView4<'_, f64>,
        model: &Model,
        states: Option<PatchStates>,
    ) -> Result<Estimate> {
        match states.filter(|states| states.belong_to(noisy)) {
            Some(PatchStates { patches, sets }) => {
                let geometry = geometry_of(&patches)?;
                let mut canvas = Canvas::new(&geometry);
                self.add_to(&mut canvas, &patches, 0, model, Some(sets))?;
                Ok(canvas.estimate(&geometry))
            }
            None => self.estimate_in_strips(noisy, model),
        }
    }

    /// Cleans an image with a model that knows no states of its patches.
    fn estimate_in_strips(&self, noisy: ArrayView4<'_, f64>, model: &Model) -> Result<Estimate> {
        let (pages, rows, columns, channels) = noisy.dim();
        let all = Patches::of_stack(noisy, self.patch)?;
        let suits = if all.n() / pages > MANY_PATCHES && self.patch.0.min(self.patch.1) >= 8 { 2 } else { 1 };
        let stride = self.stride.unwrap_or(suits).min(self.patch.0).min(self.patch.1);
        let geometry = geometry_of(&all.stride(stride))?;
        let mut canvas = Canvas::new(&geometry);
        let lines = (MOST_AT_ONCE / geometry.across()).max(1);
        for page in 0..pages {
            for from in (0..geometry.down()).step_by(lines) {
                let last = (from + lines).min(geometry.down()) - 1;
                let (from, to) = (from * stride, (last * stride).min(rows - self.patch.0) + self.patch.0);
                // strips of one channel lie together, those of several do not: then the page is cleaned at once
                let (from, to) = if channels == 1 { (from, to) } else { (0, rows) };
                let strip =
                    Patches::of_stack(noisy.slice(s![page..=page, from..to, .., ..]), self.patch)?.stride(stride);
                self.add_to(&mut canvas, &strip, (page * channels * rows + from) * columns, model, None)?;
                if channels > 1 {
                    break;
                }
            }
        }
        Ok(canvas.estimate(&geometry))
    }

    /// A distance of patches at which every pixel is in nine of them or more, if that can be: this one, or the largest.
    pub(super) fn overlapping(&self, spacing: usize) -> usize {
        spacing.min(self.patch.0.min(self.patch.1) / 3).max(1)
    }

    /// Adds the posterior means of patches to an image, whose pixel `offset` is the first one of the patches.
    fn add_to(
        &self,
        canvas: &mut Canvas,
        patches: &Patches,
        offset: usize,
        model: &Model,
        sets: Option<Sets>,
    ) -> Result<()> {
        let geometry = geometry_of(patches)?;
        let truncation = self.truncation();
        let observed = Observed::new(model.columns(), patches, truncation.precision)?;
        let e_steps = if sets.is_some() { 1 } else { self.e_steps };
        let mut truncated = Truncated::new(&observed, &truncation, model.h(), self.seed);
        if let Some(sets) = sets {
            truncated = truncated.with_sets(sets);
        }
        for step in 1..=e_steps {
            truncated.e_step(model, 1.0, step == e_steps)?;
        }
        let posteriors = Posteriors::new(model, truncated.sets(), truncated.q());
        canvas.add(&geometry, offset, &self.weights(geometry.pages_and_channels().1), &posteriors);
        Ok(())
    }

    /// The weight of each pixel of a patch: the middle of a patch is known best.
    fn weights(&self, channels: usize) -> Vec<f64> {
        let along = |at: usize, size: usize| {
            let from_middle = (at as f64 + 0.5) / size as f64 - 0.5;
            (-0.5 * (from_middle / self.window).powi(2)).exp()
        };
        let (rows, columns) = self.patch;
        let one = (0..rows).flat_map(|y| (0..columns).map(move |x| along(y, rows) * along(x, columns)));
        let one: Vec<f64> = one.collect();
        one.repeat(channels)
    }
}

impl Member {
    /// Whether an observer ended the learning before its last iteration.
    pub(super) fn is_unfinished(&self) -> bool {
        self.stop == crate::em::StopReason::Interrupted && self.history.len() < self.settings.iterations
    }
}

/// Patches of an image always have a geometry; other data have none.
fn geometry_of(patches: &Patches) -> Result<Geometry> {
    patches.geometry().ok_or(Error::EmptyData { rows: 0, columns: 0 })
}

#[cfg(test)]
mod tests;
