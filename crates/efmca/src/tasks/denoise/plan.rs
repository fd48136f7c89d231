//! The models that are learned from an image: their sizes, numbers of causes and seeds.

use ndarray::ArrayView4;

use super::causes::causes_by_held_out_pixels;
use super::quality::RelativeSize;
use super::suitable::SuitableSettings;
use super::{Denoiser, PatchDenoiser};
use crate::em::Observer;
use crate::error::Result;
use crate::family::SharedFamily;
use crate::tasks::Causes;

/// Patches for each cause, at the least, where the number of causes is not given.
const PATCHES_OF_A_CAUSE: f64 = 50.0;

impl Denoiser {
    /// The members for an image that is checked. The observer sees the search for the number of causes, if there is one.
    pub(super) fn plan(
        &self,
        family: &SharedFamily,
        pixels: ArrayView4<'_, f64>,
        observer: &mut Observer<'_>,
    ) -> Result<Vec<PatchDenoiser>> {
        let (pages, rows, columns, _) = pixels.dim();
        let suitable = SuitableSettings::of(pixels);
        let preset = self.quality.preset();
        // models of one size differ by their start only, and their average gains little
        let models = if self.patch.is_some() || self.depth > 1 { &preset.models[..1] } else { preset.models };
        let side = |size: &RelativeSize| ((suitable.patch * size.patch).round() as usize).clamp(1, rows.min(columns));
        let for_all = match self.causes {
            Causes::Suitable => None,
            Causes::Given(causes) => Some(causes),
            Causes::Auto => {
                let patch = self.patch.unwrap_or((side(&models[0]), side(&models[0])));
                Some(causes_by_held_out_pixels(family, pixels, (patch, self.depth), self.seed, observer)?)
            }
        };
        let member = |(size, number): (&RelativeSize, u64)| {
            let side = side(size);
            let patches = (pages + 1 - self.depth) * (rows + 1 - side) * (columns + 1 - side);
            let suits = (suitable.causes * size.causes).min(patches as f64 / PATCHES_OF_A_CAUSE).round();
            let member = PatchDenoiser::new(family)
                .patch(side, side)
                .causes(for_all.unwrap_or(suits.max(1.0) as usize))
                .blur(suitable.blur)
                .iterations(preset.iterations)
                .seed(member_seed(number, self.seed));
            self.with_own_settings(member)
        };
        Ok(models.iter().zip(0..).map(member).collect())
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

    fn plan(denoiser: &Denoiser) -> Vec<PatchDenoiser> {
        let noisy = Array4::from_shape_fn((1, 60, 50, 1), |(_, y, x, _)| ((y / 9 + x / 7) % 3 + (y * x) % 2) as f64);
        denoiser.plan(&family("poisson").unwrap(), noisy.view(), &mut unobserved).unwrap()
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
