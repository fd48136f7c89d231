//! The models that are learned from an image: their sizes, numbers of causes and seeds.

use ndarray::ArrayView4;

use super::blocks::block_sums;
use super::causes::causes_by_held_out_pixels;
use super::quality::{OF_PIXELS, RelativeSize};
use super::suitable::SuitableSettings;
use super::{Denoiser, PatchDenoiser};
use crate::em::Observer;
use crate::error::Result;
use crate::family::SharedFamily;
use crate::tasks::Causes;

/// Patches for each cause, at the least, where the number of causes is not given.
const PATCHES_OF_A_CAUSE: f64 = 50.0;
/// Parameters for each pixel of a model with few causes, where a photograph has two photons in its brightest pixel; the more noise, the
/// fewer. Patches overlap, so that their number does not say how much can be learned from them (`docs/DENOISING.md`).
const PARAMETERS_OF_A_PIXEL: f64 = 2.5;
/// Such a model has this many causes at the least, and no more than this share of the usual number.
const FEWEST: f64 = 8.0;
const FEW: f64 = 0.6;

/// Blocks of pixels must leave an image of this many rows and columns.
const SMALLEST_OF_BLOCKS: usize = 24;

/// A model that will be learned.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Planned {
    /// Rows and columns of the blocks of pixels whose sums it sees.
    pub(super) block: usize,
    pub(super) settings: PatchDenoiser,
}

impl Denoiser {
    /// The members for an image that is checked. The observer sees the search for the number of causes, if there is one.
    pub(super) fn plan(
        &self,
        family: &SharedFamily,
        pixels: ArrayView4<'_, f64>,
        observer: &mut Observer<'_>,
    ) -> Result<Vec<Planned>> {
        let preset = self.quality.preset();
        let (_, rows, columns, _) = pixels.dim();
        let possible = |size: &&RelativeSize| {
            let fits = rows.min(columns) / size.block >= SMALLEST_OF_BLOCKS;
            // what was given is meant for pixels
            size.block == 1
                || self.patch.is_none() && self.depth == 1 && fits && family.sum_of(size.block * size.block).is_some()
        };
        let mut models: Vec<&RelativeSize> = preset.models.iter().filter(possible).collect();
        if models.is_empty() || self.keep_model && models.iter().all(|size| size.block > 1) {
            models.push(&OF_PIXELS);
        }
        // models of one size differ by their start only, and their average gains little
        if self.patch.is_some() || self.depth > 1 {
            models.truncate(1);
        }
        let mut sought = None;
        let mut plan = Vec::new();
        for (size, number) in models.into_iter().zip(0..) {
            let sums;
            let (noise, seen) = match family.sum_of(size.block * size.block) {
                Some(noise) if size.block > 1 => {
                    sums = block_sums(pixels, size.block);
                    (noise, sums.view())
                }
                _ => (family.clone(), pixels),
            };
            let (pages, rows, columns, _) = seen.dim();
            let suitable = SuitableSettings::of(seen);
            // in larger ones every patch has most of the image, and some of its pixels are in one patch only
            let largest = (rows.min(columns) / 2).max(1);
            let side = ((suitable.patch * size.patch).round() as usize).clamp(1, largest);
            let (patch_rows, patch_columns) = self.patch.unwrap_or((side, side));
            let spacing = if size.block == 1 { preset.spacing } else { 1 };
            let positions = |size: usize, patch: usize| (size - patch).div_ceil(spacing) + 1;
            let patches = (pages + 1 - self.depth) * positions(rows, patch_rows) * positions(columns, patch_columns);
            let mut suits = (suitable.causes * size.causes).min(patches as f64 / PATCHES_OF_A_CAUSE);
            if size.few {
                // what is known about a pixel does not depend on the blocks that it is seen in
                let relative = suitable.relative / (size.block * size.block) as f64;
                let of_patches = (pages * rows * columns) as f64 / (patch_rows * patch_columns * self.depth) as f64;
                let few = (PARAMETERS_OF_A_PIXEL * relative * of_patches).max(FEWEST);
                // with a given number it would be one of the others
                if few > FEW * suits || self.causes != Causes::Suitable {
                    continue;
                }
                suits = few;
            }
            let causes = match (self.causes, sought) {
                (Causes::Suitable, _) => suits.round().max(1.0) as usize,
                (Causes::Given(causes), _) | (Causes::Auto, Some(causes)) => causes,
                (Causes::Auto, None) => {
                    let patch = ((patch_rows, patch_columns), self.depth);
                    let causes = causes_by_held_out_pixels(&noise, seen, patch, self.seed, &mut *observer)?;
                    *sought.insert(causes)
                }
            };
            let member = PatchDenoiser::new(&noise)
                .patch(side, side)
                .causes(causes)
                .blur(suitable.blur)
                .iterations(preset.iterations)
                .states(preset.states)
                .spacing(spacing)
                .seed(member_seed(number, self.seed));
            plan.push(Planned { block: size.block, settings: self.with_own_settings(member) });
        }
        Ok(plan)
    }

    /// The settings of a member, with those changed that were given.
    pub(super) fn with_own_settings(&self, mut member: PatchDenoiser) -> PatchDenoiser {
        member.patch = self.patch.unwrap_or(member.patch);
        member.depth = self.depth;
        member.states = self.states.unwrap_or(member.states);
        member.iterations = self.iterations.unwrap_or(member.iterations);
        member.batches = self.batches.unwrap_or(member.batches);
        member.blur = self.blur.unwrap_or(member.blur);
        member.window = self.window.unwrap_or(member.window);
        member
    }
}

/// Members differ by their number, and runs by the seed of the user.
fn member_seed(number: u64, seed: u64) -> u64 {
    number.wrapping_add(seed.wrapping_mul(0x9e37_79b9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::em::unobserved;
    use crate::family::family;
    use crate::tasks::denoise::Quality;
    use ndarray::Array4;

    fn plan_for(spec: &str, side: usize, denoiser: &Denoiser) -> Vec<Planned> {
        let noisy =
            Array4::from_shape_fn((1, side, side, 1), |(_, y, x, _)| ((y / 9 + x / 7) % 3 + (y * x) % 2) as f64);
        denoiser.plan(&family(spec).unwrap(), noisy.view(), &mut unobserved).unwrap()
    }

    fn plan(denoiser: &Denoiser) -> Vec<PatchDenoiser> {
        plan_for("poisson", 80, denoiser).into_iter().map(|planned| planned.settings).collect()
    }

    #[test]
    fn blocks_are_seen_where_they_can_be() {
        let blocks = |spec, side, denoiser: &Denoiser| -> Vec<usize> {
            plan_for(spec, side, denoiser).iter().map(|planned| planned.block).collect()
        };
        let balanced = Denoiser::new("poisson");
        assert_eq!(blocks("poisson", 80, &balanced), [1, 2, 3]);
        assert_eq!(blocks("poisson", 50, &balanced), [1, 2]);
        // sums of Laplace variables have no family here
        assert_eq!(blocks("laplace", 80, &balanced), [1]);
        let fast = balanced.quality(Quality::Fast);
        assert_eq!(blocks("poisson", 80, &fast), [3]);
        assert_eq!(blocks("poisson", 80, &fast.clone().keep_model(true)), [3, 1]);
        assert_eq!(blocks("poisson", 40, &fast), [1]);
        assert_eq!(blocks("poisson", 80, &fast.patch(5, 5)), [1]);
        assert_eq!(plan_for("exponential", 80, &Denoiser::new("exponential"))[1].settings.family.spec(), "gamma:k=4");
    }

    #[test]
    fn qualities_have_members_of_their_own_sizes_and_seeds() {
        for (quality, members) in [(Quality::Fast, 1), (Quality::Balanced, 3), (Quality::Best, 7)] {
            let plan = plan(&Denoiser::new("poisson").quality(quality));
            assert_eq!(plan.len(), members);
            assert_eq!(
                plan.iter().map(|member| member.seed).collect::<Vec<_>>(),
                (0..members as u64).collect::<Vec<_>>()
            );
            assert!(plan.iter().all(|member| member.check() == Ok(())));
        }
        let other = plan(&Denoiser::new("poisson").seed(2));
        assert_eq!(other.iter().map(|member| member.seed).collect::<Vec<_>>(), [0, 1, 2].map(|k| k + 2 * 0x9e37_79b9));
    }

    #[test]
    fn what_is_given_holds_for_all_members() {
        let denoiser = Denoiser::new("poisson").causes(9).states(5).iterations(3).batches(2).blur(1.5).window(0.5);
        for member in plan(&denoiser) {
            assert_eq!((member.causes, member.states, member.iterations, member.batches), (9, 5, 3, 2));
            assert_eq!((member.blur, member.window), (1.5, 0.5));
        }
        // models with patches of one size would differ by their start only
        let one = plan(&denoiser.patch(6, 9));
        assert_eq!(one.iter().map(|member| member.patch).collect::<Vec<_>>(), [(6, 9)]);
    }
}
