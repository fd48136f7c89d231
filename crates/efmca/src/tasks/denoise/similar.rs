//! Groups of similar patches beside models of causes.

use std::ops::ControlFlow;

use ndarray::{Array4, ArrayView4, s};

use super::Denoiser;
use super::blend::filled;
use super::merge::Estimate;
use super::noise_curve::NoiseCurve;
use super::passes::Steps;
use super::plane::Plane;
use super::refine::Refinement;
use super::suitable::signal_to_noise;
use super::thinning::Thinned;
use crate::em::Progress;
use crate::family::Family;

/// With more missing pixels than this share, only causes are used: groups of similar patches need pixels to see what is similar.
const MOST_MISSING: f64 = 0.3;

/// The planes of an image that are ready for groups of similar patches.
pub(super) struct SimilarPatches<'a> {
    pub(super) family: &'a dyn Family,
    pub(super) noisy: ArrayView4<'a, f64>,
    signal_to_noise: f64,
}

impl<'a> SimilarPatches<'a> {
    /// `None` if the image is too small or has too many missing pixels.
    pub(super) fn new(family: &'a dyn Family, noisy: ArrayView4<'a, f64>) -> Option<SimilarPatches<'a>> {
        let (_, rows, columns, _) = noisy.dim();
        let missing = noisy.iter().filter(|value| value.is_nan()).count();
        let suits = rows.min(columns) >= Refinement::SMALLEST && missing as f64 <= MOST_MISSING * noisy.len() as f64;
        suits.then(|| SimilarPatches { family, noisy, signal_to_noise: signal_to_noise(noisy) })
    }

    /// The same for a part of the data, which goes the same way from coarse to fine.
    pub(super) fn of_part<'b>(&self, part: &'b Thinned) -> SimilarPatches<'b> {
        SimilarPatches { family: &*part.family, noisy: part.seen.view(), signal_to_noise: self.signal_to_noise }
    }

    /// The noise around means such as those of an estimate.
    pub(super) fn curve(&self, estimate: &Estimate) -> NoiseCurve {
        let means = estimate.mean.iter();
        let (low, high) =
            means.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), mean| (low.min(*mean), high.max(*mean)));
        // noise of bright pixels that causes have missed
        let high = high + 0.5 * (high - low);
        NoiseCurve::known(self.family, low.min(0.0).max(self.family.support().low), high)
            .unwrap_or_else(|| NoiseCurve::measured(self.noisy, estimate.mean.view()))
    }
}

/// What groups of similar patches give: the estimates on the way, from coarse to fine, and the last one.
pub(super) struct ByGroups {
    pub(super) steps: Vec<Estimate>,
    pub(super) last: Estimate,
}

impl Denoiser {
    /// Steps that groups of similar patches take.
    pub(super) fn steps_of_groups(&self, similar: &SimilarPatches<'_>) -> usize {
        let (pages, rows, columns, channels) = similar.noisy.dim();
        pages * channels * self.quality.preset().effort.steps(similar.signal_to_noise, rows.min(columns))
    }

    /// The estimate of groups of similar patches, beside that of causes; `None` if the observer ends the work.
    pub(super) fn by_groups(
        &self,
        similar: &SimilarPatches<'_>,
        by_causes: &Estimate,
        curve: &NoiseCurve,
        steps: &mut Steps<'_, '_, '_>,
    ) -> Option<ByGroups> {
        let SimilarPatches { family, noisy, signal_to_noise } = *similar;
        let preset = self.quality.preset();
        // only a second pass can say what estimates on the way are worth
        let keeps_steps = preset.second.is_some();
        let refinement = Refinement { family, curve, signal_to_noise, effort: preset.effort, keeps_steps };
        let present = filled(noisy, &by_causes.mean);
        let nothing = || Estimate { mean: Array4::zeros(noisy.dim()), deviation: Array4::zeros(noisy.dim()) };
        let mut by_groups = ByGroups { steps: Vec::new(), last: nothing() };
        let stage = format!("similar patches{}", steps.behind);
        let (pages, _, _, channels) = noisy.dim();
        for (page, channel) in (0..pages).flat_map(|page| (0..channels).map(move |channel| (page, channel))) {
            let at = s![page, .., .., channel];
            let mut see = || {
                steps.done += 1;
                let (done, total) = (steps.done, steps.total);
                let seen = steps.watch.see(&Progress { stage: &stage, done, total, training: None });
                // after the last step there is nothing left to end
                if done < total { seen } else { ControlFlow::Continue(()) }
            };
            let refined = refinement.run(&Plane::of(present.slice(at)), &mut see)?;
            // all planes take the same steps
            by_groups.steps.resize_with(refined.steps.len(), nothing);
            for (to, refined) in
                by_groups.steps.iter_mut().zip(&refined.steps).chain([(&mut by_groups.last, &refined.last)])
            {
                refined.mean.copy_to(to.mean.slice_mut(at));
                refined.covariance.map(f64::sqrt).copy_to(to.deviation.slice_mut(at));
            }
        }
        Some(by_groups)
    }
}
