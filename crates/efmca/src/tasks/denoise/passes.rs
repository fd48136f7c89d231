//! The passes over an image: models of causes and groups of similar patches, of the image and of a part of its data.

use ndarray::{ArrayView4, Axis};

use super::blocks::block_sums;
use super::denoiser::{Denoiser, Member};
use super::judge::{Estimates, judged};
use super::merge::Estimate;
use super::noise_curve::NoiseCurve;
use super::plan::Planned;
use super::similar::{ByGroups, SimilarPatches};
use super::thinning::Thinned;
use crate::em::Progress;
use crate::error::Result;
use crate::family::SharedFamily;
use crate::tasks::watch::Watch;

/// Steps of all passes, as an observer sees them.
pub(super) struct Steps<'w, 'a, 'b> {
    pub(super) watch: &'w mut Watch<'a, 'b>,
    /// Steps that are done, and of how many.
    pub(super) done: usize,
    pub(super) total: usize,
    /// What is said behind the name of a stage.
    pub(super) behind: &'static str,
}

/// What causes give in a pass.
pub(super) struct ByCauses {
    pub(super) members: Vec<Member>,
    /// The estimate of each member, if there are several, and all of them in one, each where it is best.
    pub(super) estimates: Vec<Estimate>,
    pub(super) combined: Estimate,
}

impl ByCauses {
    /// All estimates, and those by groups of similar patches.
    fn with<'a>(&'a self, groups: &'a ByGroups) -> Estimates<'a> {
        Estimates {
            by_causes: self.estimates.iter().chain([&self.combined]).collect(),
            by_groups: groups.steps.iter().chain([&groups.last]).collect(),
        }
    }
}

/// The estimates of a pass.
pub(super) struct Found<'a> {
    pub(super) causes: &'a ByCauses,
    pub(super) groups: &'a ByGroups,
    pub(super) curve: &'a NoiseCurve,
}

impl Denoiser {
    /// Learns the models of a plan from some pages and cleans all pages with them. Fewer models come back if the observer ends the
    /// work.
    pub(super) fn by_causes(
        &self,
        plan: &[Planned],
        family: &SharedFamily,
        (noisy, learned_from): (ArrayView4<'_, f64>, ArrayView4<'_, f64>),
        steps: &mut Steps<'_, '_, '_>,
    ) -> Result<ByCauses> {
        let (mut members, mut estimates) = (Vec::new(), Vec::new());
        for (number, Planned { block, settings }) in plan.iter().enumerate() {
            let stage = format!("model {} of {}{}", number + 1, plan.len(), steps.behind);
            let (before, total) = (steps.done, steps.total);
            let mut see = |progress: &Progress<'_>| {
                let (done, training) = (before + progress.done, progress.training);
                steps.watch.see(&Progress { stage: &stage, done, total, training })
            };
            let (mut member, estimate) = match block {
                1 => {
                    let (member, states) = settings.train(family, learned_from, &mut see)?;
                    let estimate = settings.estimate(noisy, &member.model, states)?;
                    (member, estimate)
                }
                _ => {
                    let learned_from = block_sums(learned_from, *block);
                    let (member, states) =
                        settings.train(&settings.family.resolve()?, learned_from.view(), &mut see)?;
                    let estimate = settings.estimate(block_sums(noisy, *block).view(), &member.model, states)?;
                    (Member { block: *block, ..member }, estimate.of_pixels(*block, (noisy.dim().1, noisy.dim().2)))
                }
            };
            if self.member_estimates {
                member.estimate = Some(estimate.clone());
            }
            members.push(member);
            estimates.push(estimate);
            steps.done += settings.iterations;
            if steps.watch.stopped() {
                break;
            }
        }
        let combined = Estimate::combine(noisy, &estimates)?;
        if estimates.len() == 1 {
            estimates.clear();
        }
        Ok(ByCauses { members, estimates, combined })
    }

    /// The plan of a second pass over a part of the data; `None` if there is no such pass.
    pub(super) fn second_plan(&self, family: &SharedFamily, plan: &[Planned]) -> Option<Vec<Planned>> {
        let second = self.quality.preset().second?;
        let part = family.part(super::thinning::SHARE)?.family;
        let of_part = |planned: &Planned| {
            let pixels = planned.block * planned.block;
            let noise = if pixels == 1 { part.clone() } else { part.sum_of(pixels)? };
            let mut settings = planned.settings.clone();
            settings.family = noise.into();
            settings.iterations = settings.iterations.min(second.iterations);
            settings.states = settings.states.min(second.states);
            Some(Planned { block: planned.block, settings })
        };
        plan.iter().map(of_part).collect()
    }

    /// The second pass, over a part of the data, and what it makes of the first one. `None` if the observer ends the work, or if the
    /// image has no such part.
    pub(super) fn second_pass(
        &self,
        plan: &[Planned],
        similar: &SimilarPatches<'_>,
        first: &Found<'_>,
        pages: Option<&[usize]>,
        steps: &mut Steps<'_, '_, '_>,
    ) -> Result<Option<Estimate>> {
        let noisy = similar.noisy;
        let Some(thinned) = Thinned::of(similar.family, noisy, &first.causes.combined, first.curve, self.seed) else {
            return Ok(None);
        };
        steps.behind = ", part of the data";
        let selected = pages.map(|pages| thinned.seen.select(Axis(0), pages));
        let learned_from = selected.as_ref().map_or(thinned.seen.view(), |selected| selected.view());
        let causes = self.by_causes(plan, &thinned.family, (thinned.seen.view(), learned_from), steps)?;
        if steps.watch.stopped() {
            return Ok(None);
        }
        let similar = similar.of_part(&thinned);
        let curve = similar.curve(&causes.combined);
        let Some(groups) = self.by_groups(&similar, &causes.combined, &curve, steps) else { return Ok(None) };
        let (whole, part) = (first.causes.with(first.groups), causes.with(&groups));
        let noise = (first.curve, self.family.resolve()?.support());
        Ok(Some(judged(noisy, &whole, &thinned, &part, noise)))
    }
}
