//! Groups of similar patches beside models of causes.

use std::ops::ControlFlow;

use ndarray::{Array4, ArrayView4, s};

use super::Denoiser;
use super::blend::filled;
use super::merge::Estimate;
use super::noise_curve::NoiseCurve;
use super::plane::Plane;
use super::refine::Refinement;
use super::suitable::signal_to_noise;
use crate::em::Progress;
use crate::family::Family;
use crate::tasks::watch::Watch;

/// With more missing pixels than this share, only causes are used: groups of similar patches need pixels to see what is similar.
const MOST_MISSING: f64 = 0.3;

/// The planes of an image that are ready for groups of similar patches.
pub(super) struct SimilarPatches<'a> {
    family: &'a dyn Family,
    noisy: ArrayView4<'a, f64>,
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
}

impl Denoiser {
    /// Steps that groups of similar patches take.
    pub(super) fn steps_of_groups(&self, similar: &SimilarPatches<'_>) -> usize {
        let (pages, rows, columns, channels) = similar.noisy.dim();
        pages * channels * self.quality.preset().effort.steps(similar.signal_to_noise, rows.min(columns))
    }

    /// The estimate of causes and that of groups of similar patches, each where it has the lower risk. `progress` says what is done
    /// already, and of how much; `None` if the observer ends the work.
    pub(super) fn with_groups(
        &self,
        similar: &SimilarPatches<'_>,
        by_causes: &Estimate,
        progress: (usize, usize),
        watch: &mut Watch<'_, '_>,
    ) -> Option<Estimate> {
        let noisy = similar.noisy;
        let (low, high) = by_causes
            .mean
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), mean| (low.min(*mean), high.max(*mean)));
        // noise of bright pixels that causes have missed
        let high = high + 0.5 * (high - low);
        let curve = NoiseCurve::known(similar.family, low.min(0.0).max(similar.family.support().low), high)
            .unwrap_or_else(|| NoiseCurve::measured(noisy, by_causes.mean.view()));
        let SimilarPatches { family, signal_to_noise, .. } = *similar;
        let refinement = Refinement { family, curve: &curve, signal_to_noise, effort: self.quality.preset().effort };
        let present = filled(noisy, &by_causes.mean);
        let mut by_groups = Estimate { mean: Array4::zeros(noisy.dim()), deviation: Array4::zeros(noisy.dim()) };
        let (mut done, total) = progress;
        let (pages, _, _, channels) = noisy.dim();
        for (page, channel) in (0..pages).flat_map(|page| (0..channels).map(move |channel| (page, channel))) {
            let at = s![page, .., .., channel];
            let mut see = || {
                done += 1;
                let seen = watch.see(&Progress { stage: "similar patches", done, total, training: None });
                // after the last step there is nothing left to end
                if done < total { seen } else { ControlFlow::Continue(()) }
            };
            let refined = refinement.run(&Plane::of(present.slice(at)), &mut see)?;
            refined.mean.copy_to(by_groups.mean.slice_mut(at));
            refined.covariance.map(f64::sqrt).copy_to(by_groups.deviation.slice_mut(at));
        }
        let blend = by_causes.blended_with(&by_groups, noisy, &curve);
        Some(if self.quality.preset().flattens { blend.flattened(noisy, &curve) } else { blend.estimate })
    }
}
