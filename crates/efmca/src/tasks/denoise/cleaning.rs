//! Cleaning an image with a model of its patches.

use ndarray::{ArrayView4, s};

use super::denoiser::{Denoised, Member};
use super::learning::PatchStates;
use super::merge::{Canvas, Estimate, Posteriors};
use super::patch_denoiser::PatchDenoiser;
use super::strips::{Strip, strips};
use crate::em::{Observer, unobserved};
use crate::error::{Error, Result};
use crate::model::{Data, Geometry, Model, Patches};
use crate::posterior::{Observed, Truncated};

/// Of pages with more patches than this, every second one in each direction is cleaned: House and Camera at peak 2 lose
/// 0.04 to 0.1 dB by it.
const MANY_PATCHES: usize = 300_000;
/// Where patches go over several pages, positions are so far apart that their patches have no more values than this in all: a cube
/// of 256 x 256 x 256 takes minutes then.
const MANY_VALUES: usize = 250_000_000;

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
        let pixels = rows * columns * self.depth * channels;
        if pixels != model.d() {
            let pages = if self.depth == 1 { String::new() } else { format!(" x {} pages", self.depth) };
            return Err(Error::shape(
                "patch",
                format!("{} pixels, which the model was learned from", model.d()),
                format!("{pixels} ({rows} x {columns}{pages} in {channels} channels)"),
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
            Some(PatchStates { patches, sets, q }) => {
                let mut canvas = Canvas::new(geometry_of(&patches)?);
                self.merge(&mut canvas, &patches, (0, 0), &Posteriors::new(model, &sets, &q))?;
                Ok(canvas.estimate())
            }
            None => self.estimate_in_strips(noisy, model),
        }
    }

    /// Cleans an image with a model that knows no states of its patches.
    fn estimate_in_strips(&self, noisy: ArrayView4<'_, f64>, model: &Model) -> Result<Estimate> {
        let all = Geometry::of_volume(noisy.dim(), self.patch, self.depth)?;
        let stride = self.stride.unwrap_or_else(|| suitable_stride(&all)).min(self.patch.0).min(self.patch.1);
        let geometry = all.with_stride(stride);
        self.estimate_of_strips(noisy, model, geometry, strips(&geometry))
    }

    /// A distance of patches at which every pixel is in nine of them or more, if that can be: this one, or the largest.
    pub(super) fn overlapping(&self, spacing: usize) -> usize {
        spacing.min(self.patch.0.min(self.patch.1) / 3).max(1)
    }

    /// The same, strip by strip.
    fn estimate_of_strips(
        &self,
        noisy: ArrayView4<'_, f64>,
        model: &Model,
        geometry: Geometry,
        strips: Vec<Strip>,
    ) -> Result<Estimate> {
        let mut canvas = Canvas::new(geometry);
        for Strip { pages, rows } in strips {
            let first = (pages.start, rows.start);
            let pixels = noisy.slice(s![pages, rows, .., ..]);
            let patches = Patches::of_volume(pixels, self.patch, self.depth)?.stride(geometry.strides().0);
            self.add_to(&mut canvas, &patches, first, model)?;
        }
        Ok(canvas.estimate())
    }

    /// Finds states of patches, and adds their posterior means to an image, in which the first patch has its first pixel at this page
    /// and row.
    fn add_to(&self, canvas: &mut Canvas, patches: &Patches, first: (usize, usize), model: &Model) -> Result<()> {
        let truncation = self.truncation();
        let observed = Observed::new(model.columns(), patches, truncation.precision)?;
        let mut truncated = Truncated::new(&observed, &truncation, model.h(), self.seed);
        for step in 1..=self.e_steps {
            truncated.e_step(model, 1.0, step == self.e_steps)?;
        }
        self.merge(canvas, patches, first, &Posteriors::new(model, truncated.sets(), truncated.q()))
    }

    /// Adds the posterior means of patches to an image.
    fn merge(
        &self,
        canvas: &mut Canvas,
        patches: &Patches,
        first: (usize, usize),
        posteriors: &Posteriors<'_>,
    ) -> Result<()> {
        let geometry = geometry_of(patches)?;
        canvas.add(&geometry, first, &self.weights(geometry.pages_and_channels().1), posteriors);
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
        let page = one.repeat(channels);
        (0..self.depth).flat_map(|at| page.iter().map(move |weight| along(at, self.depth) * weight)).collect()
    }
}

impl Member {
    /// Whether an observer ended the learning before its last iteration.
    pub(super) fn is_unfinished(&self) -> bool {
        self.stop == crate::em::StopReason::Interrupted && self.history.len() < self.settings.iterations
    }
}

/// The distance of patches that suits a stack; patches of so many pixels overlap four times in each direction.
fn suitable_stride(all: &Geometry) -> usize {
    let ((pages, _), side) = (all.pages_and_channels(), all.patch().0.min(all.patch().1));
    if all.depth() == 1 {
        return if all.n() / pages > MANY_PATCHES && side >= 8 { 2 } else { 1 };
    }
    let few = |stride: &usize| all.with_stride(*stride).n() * all.d() <= MANY_VALUES;
    let mut allowed = [1, 2, 4].into_iter().filter(|stride| *stride == 1 || side >= 4 * stride);
    allowed.clone().find(few).or_else(|| allowed.next_back()).unwrap_or(1)
}

/// Patches of an image always have a geometry; other data have none.
fn geometry_of(patches: &Patches) -> Result<Geometry> {
    patches.geometry().ok_or(Error::EmptyData { rows: 0, columns: 0 })
}

#[cfg(test)]
mod tests;
