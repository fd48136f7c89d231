//! Learning a model from the patches of a noisy image.

use ndarray::ArrayView4;

use super::denoiser::Member;
use super::patch_denoiser::PatchDenoiser;
use super::start::{dark, from_blurred};
use crate::em::{Em, Fit, Init, Observer, unobserved};
use crate::error::Result;
use crate::family::SharedFamily;
use crate::model::{Background, Data, Patches};
use crate::posterior::Sets;

/// The states that learning left and their posteriors, together with the patches that they belong to: they say nothing about any other
/// patches.
pub(super) struct PatchStates {
    pub(super) patches: Patches,
    pub(super) sets: Sets,
    pub(super) q: Vec<f64>,
}

impl PatchStates {
    /// Whether they are the states of exactly these pages, in this order.
    pub(super) fn belong_to(&self, pages: ArrayView4<'_, f64>) -> bool {
        let (count, rows, columns, channels) = pages.dim();
        let geometry = self.patches.geometry();
        let same_size = geometry.is_some_and(|geometry| {
            geometry.image() == (rows, columns) && geometry.pages_and_channels() == (count, channels)
        });
        let pixels = pages.permuted_axes([0, 3, 1, 2]);
        same_size && self.patches.pixels().iter().zip(&pixels).all(|(own, pixel)| own.to_bits() == pixel.to_bits())
    }
}

impl PatchDenoiser {
    /// Learns a model from the patches of `noisy` (pages, rows, columns, channels; NaN where a pixel is missing), without cleaning
    /// it: for other images, see [`PatchDenoiser::apply`].
    ///
    /// # Errors
    ///
    /// As [`PatchDenoiser::run`].
    pub fn learn(&self, noisy: ArrayView4<'_, f64>) -> Result<Member> {
        self.learn_observed(noisy, &mut unobserved)
    }

    /// Learns, and calls `observer` after each iteration; it can end the learning.
    ///
    /// # Errors
    ///
    /// As [`PatchDenoiser::run`].
    pub fn learn_observed(&self, noisy: ArrayView4<'_, f64>, observer: &mut Observer<'_>) -> Result<Member> {
        let family = self.check_to_learn_from(noisy)?;
        Ok(self.train(&family, noisy, observer)?.0)
    }

    /// Learns from an image that is checked. States come with the model if the patches that it was learned from overlap enough to
    /// clean the image.
    pub(super) fn train(
        &self,
        family: &SharedFamily,
        noisy: ArrayView4<'_, f64>,
        observer: &mut Observer<'_>,
    ) -> Result<(Member, Option<PatchStates>)> {
        let (_, rows, columns, _) = noisy.dim();
        let mut stride = self.overlapping(self.spacing);
        let mut patches = Patches::of_volume(noisy, self.patch, self.depth)?.stride(stride);
        // a stack of many pages has more than that on the widest lattice, too
        while patches.n() > self.most_patches && stride < rows.max(columns) {
            stride += 1;
            patches = patches.stride(stride);
        }
        let background = dark(family, &patches, self.blur).unwrap_or(Background::Learned);
        let init = match &background {
            Background::Fixed(_) if self.blur > 0.0 => {
                let start = from_blurred(family, &patches, self.causes, &background, self.blur, self.seed)?;
                Init::Model(Box::new(start))
            }
            _ => Init::MeanNoise { scale: 0.1 },
        };
        let em = Em::new(self.causes)
            .family(family)
            .background(background)
            .init(init)
            .iterations(self.iterations)
            .batches(self.batches)
            .revive(false)
            .seed(self.seed)
            .pseudo_count(if family.l() > 1 { 1.0 } else { 0.01 })
            .truncated(self.truncation())
            .keep_posteriors();
        let Fit { model, history, bound, sets, q, stop, .. } = em.run_observed(&patches, observer)?;
        let member = Member {
            settings: self.clone(),
            model,
            history,
            bound,
            patches: patches.n(),
            block: 1,
            stop,
            estimate: None,
        };
        // patches further apart see too little of the image to clean all of it
        let cleans = stride == self.overlapping(stride);
        let states = sets.zip(q).filter(|_| cleans).map(|(sets, q)| PatchStates { patches, sets, q });
        Ok((member, states))
    }
}
