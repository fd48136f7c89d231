//! An estimate from coarse to fine, by groups of similar patches.
//!
//! The image is averaged over blocks so large that what is in them stands above the noise; groups of similar patches give a first
//! estimate of the blocks, which is the pilot of smaller blocks, and so on down to single pixels. At each size, what the pilot
//! missed comes in, then the filter of Wiener runs with the result as its pilot. At the end patches of several sizes see the same
//! pilot, and their average is the next one.

use std::ops::ControlFlow;

use super::groups::{GroupFilter, Stack, Weights};
use super::noise_curve::NoiseCurve;
use super::plane::Plane;
use super::stabilise::Stabiliser;
use crate::family::Family;

/// Rows and columns of a patch on the way, and of small images of blocks.
const SIDE: usize = 8;
const SMALL_SIDE: usize = 6;
const SMALL_IMAGE: usize = 60;
/// The largest blocks.
const LARGEST_BLOCK: usize = 8;
/// Blocks are so large that the square of the image's range is this many times the variance of their noise.
const SIGNAL_IN_A_BLOCK: f64 = 36.0;
/// Standard deviations of noise: a coefficient of the first estimate is above the first one, and of what a pilot missed above the
/// second.
const FIRST: f32 = 2.7;
const MISSED: f32 = 3.0;
/// An estimate follows the noise more than its weights say, because its pilot has seen the same noise. Measured with the truth at
/// hand on photographs that are not in the table of results: 2.1 to 3.7 times as much.
const PILOT_HAS_SEEN: f64 = 3.0;

/// How much time refining takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Effort {
    /// How often the last steps are done.
    pub(super) rounds: usize,
    /// The steps of a round.
    pub(super) last: &'static [Last],
    /// Distance between the groups of the steps on the way, in pixels or blocks.
    pub(super) step: usize,
    /// How far away similar patches are looked for.
    pub(super) reach: usize,
}

/// One of the last steps, which are averaged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Last {
    /// Rows and columns of a block, and of a patch of blocks.
    pub(super) block: usize,
    pub(super) side: usize,
    /// The distance between groups, in blocks.
    pub(super) step: usize,
}

impl Effort {
    /// The number of steps that [`Refinement::run`] takes for a plane whose shorter side has this many pixels.
    pub(super) fn steps(&self, signal_to_noise: f64, pixels: usize) -> usize {
        2 * largest_block(signal_to_noise, pixels) + self.rounds * self.last.len()
    }
}

/// The size of the largest blocks, of which some patches must fit into the image.
fn largest_block(signal_to_noise: f64, pixels: usize) -> usize {
    let suits = (SIGNAL_IN_A_BLOCK / signal_to_noise).sqrt().round();
    let fits = (pixels / (3 * SMALL_SIDE)).max(1);
    (suits.clamp(1.0, LARGEST_BLOCK as f64) as usize).min(fits)
}

/// Refines planes of one image.
pub(super) struct Refinement<'a> {
    pub(super) family: &'a dyn Family,
    pub(super) curve: &'a NoiseCurve,
    /// The square of the range of the image over the variance of the noise.
    pub(super) signal_to_noise: f64,
    pub(super) effort: Effort,
    /// Whether estimates on the way are wanted.
    pub(super) keeps_steps: bool,
}

/// An estimate of a plane.
#[derive(Debug, Clone)]
pub(super) struct Refined {
    pub(super) mean: Plane,
    /// The covariance of the estimate and the noise of each pixel.
    pub(super) covariance: Plane,
}

/// The last estimate, and those on the way if they are wanted: of the largest blocks, of 4 x 4 and of 2 x 2 pixels.
#[derive(Debug, Clone)]
pub(super) struct Path {
    pub(super) steps: Vec<Refined>,
    pub(super) last: Refined,
}

impl Refinement<'_> {
    /// The smallest image that patches fit into.
    pub(super) const SMALLEST: usize = SIDE;

    /// An estimate of a plane without missing pixels, or none if `see`, which is called after each step, ends the work.
    pub(super) fn run(&self, noisy: &Plane, see: &mut dyn FnMut() -> ControlFlow<()>) -> Option<Path> {
        let mut steps = Vec::new();
        let pilot = self.pilot(noisy, &mut steps, see)?;
        let last = self.rounds(noisy, pilot, see)?;
        Some(Path { steps, last })
    }

    /// The covariance of an estimate that follows the noise by these shares.
    fn refined(&self, mean: Plane, follows: &Plane) -> Refined {
        let pixels = follows.values.iter().zip(&mean.values);
        let covariance = pixels.map(|(share, mean)| PILOT_HAS_SEEN * share * self.curve.at(*mean)).collect();
        Refined { covariance: mean.with(covariance), mean }
    }

    /// From the largest blocks down to pixels.
    fn pilot(
        &self,
        noisy: &Plane,
        steps: &mut Vec<Refined>,
        see: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Option<Plane> {
        let mut block = largest_block(self.signal_to_noise, noisy.rows.min(noisy.columns));
        let blocks = noisy.binned(block);
        let start = blocks.blurred(1.0);
        let small = if blocks.rows.min(blocks.columns) < SMALL_IMAGE { SMALL_SIDE } else { SIDE };
        let first = GroupFilter {
            side: small,
            size: 16,
            reach: self.effort.reach,
            step: 2,
            weights: Weights::Threshold(FIRST),
        };
        let (first_estimate, _) = self.filtered(&blocks, &start, block, first);
        see().continue_value()?;
        let wiener = GroupFilter { size: 32, weights: Weights::Wiener, ..first };
        let (estimate, follows) = self.filtered(&blocks, &first_estimate, block, wiener);
        see().continue_value()?;
        let mut pilot = estimate.interpolated(block, noisy.rows, noisy.columns);
        if self.keeps_steps {
            steps.push(self.refined(pilot.map(|value| self.possible(value)), &of_pixels(&follows, block, noisy)));
        }
        while block > 1 {
            block -= 1;
            let step = if block > 1 { 2 } else { self.effort.step };
            let missed =
                GroupFilter { side: SIDE, size: 16, reach: self.effort.reach, step, weights: Weights::Missed(MISSED) };
            pilot = self.step(noisy, &pilot, block, missed).0;
            see().continue_value()?;
            let wiener = GroupFilter { size: 32, weights: Weights::Wiener, ..missed };
            let (estimate, follows) = self.step(noisy, &pilot, block, wiener);
            // those between are hardly different, and the one of pixels is near to the last estimate
            if self.keeps_steps && [2, 4].contains(&block) {
                steps.push(self.refined(estimate.clone(), &follows));
            }
            pilot = estimate;
            see().continue_value()?;
        }
        Some(pilot)
    }

    /// The last steps, from a pilot.
    fn rounds(&self, noisy: &Plane, mut pilot: Plane, see: &mut dyn FnMut() -> ControlFlow<()>) -> Option<Refined> {
        let mut follows = pilot.map(|_| 0.0);
        for _ in 0..self.effort.rounds {
            let mut mean = pilot.map(|_| 0.0);
            follows = pilot.map(|_| 0.0);
            let mut count = 0.0;
            for last in self.effort.last {
                let Last { block, side, step } = *last;
                let filter = GroupFilter { side, size: 32, reach: self.effort.reach, step, weights: Weights::Wiener };
                let (estimate, share) = self.step(noisy, &pilot, block, filter);
                mean.values.iter_mut().zip(&estimate.values).for_each(|(sum, value)| *sum += value);
                follows.values.iter_mut().zip(&share.values).for_each(|(sum, value)| *sum += value);
                count += 1.0;
                see().continue_value()?;
            }
            pilot = mean.map(|sum| sum / count);
            follows = follows.map(|sum| sum / count);
        }
        Some(self.refined(pilot, &follows))
    }

    /// Filters blocks of an image with a pilot of its pixels; the result is of pixels again.
    fn step(&self, noisy: &Plane, pilot: &Plane, block: usize, filter: GroupFilter) -> (Plane, Plane) {
        let (blocks, pilot_blocks) = (noisy.binned(block), pilot.binned(block));
        if !filter.fits(blocks.rows, blocks.columns) {
            return (pilot.clone(), pilot.map(|_| 0.0));
        }
        let (mean, follows) = self.filtered(&blocks, &pilot_blocks, block, filter);
        let mean = mean.interpolated(block, noisy.rows, noisy.columns).map(|value| self.possible(value));
        (mean, of_pixels(&follows, block, noisy))
    }

    /// Filters means of blocks.
    fn filtered(&self, blocks: &Plane, pilot: &Plane, block: usize, filter: GroupFilter) -> (Plane, Plane) {
        if !filter.fits(blocks.rows, blocks.columns) {
            return (pilot.clone(), pilot.map(|_| 0.0));
        }
        let scaled = Stabiliser::new(self.curve, self.family, block * block, pilot).scaled(blocks, pilot);
        let stack = Stack {
            rows: blocks.rows,
            columns: blocks.columns,
            noisy: &scaled.noisy,
            pilot: &scaled.pilot,
            variance: &scaled.variance,
        };
        let filtered = filter.run(&stack);
        let mean = scaled.back(&filtered.values, pilot).map(|value| self.possible(value));
        let follows = filtered.follows.iter().map(|share| f64::from(*share)).collect();
        (mean, pilot.with(follows))
    }

    /// A mean that the family can have.
    fn possible(&self, mean: f64) -> f64 {
        let support = self.family.support();
        mean.clamp(support.low, support.high)
    }
}

/// Shares of the noise of blocks, as shares of that of each pixel of an image.
fn of_pixels(follows: &Plane, block: usize, image: &Plane) -> Plane {
    // a pixel is one of several in its block
    let share = 1.0 / (block * block) as f64;
    follows.interpolated(block, image.rows, image.columns).map(|value| (value * share).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::family;
    use crate::tasks::corrupt::Corruption;
    use ndarray::{Array4, s};

    const EFFORT: Effort = Effort { rounds: 1, last: &[Last { block: 1, side: 8, step: 3 }], step: 3, reach: 8 };

    fn refined(spec: &str, clean: &Array4<f64>, signal_to_noise: f64) -> (f64, f64) {
        let noise = family(spec).unwrap();
        let noisy = Corruption::new(&noise).seed(3).run(clean.view()).unwrap().noisy;
        let curve = NoiseCurve::known(&*noise, 0.0, 12.0).unwrap();
        let refinement =
            Refinement { family: &*noise, curve: &curve, signal_to_noise, effort: EFFORT, keeps_steps: true };
        let plane = |image: &Array4<f64>| Plane::of(image.slice(s![0, .., .., 0]));
        let mut steps = 0;
        let mut count = || {
            steps += 1;
            ControlFlow::Continue(())
        };
        let found = refinement.run(&plane(&noisy), &mut count).unwrap();
        assert_eq!(steps, EFFORT.steps(signal_to_noise, clean.dim().1.min(clean.dim().2)));
        assert!(refinement.run(&plane(&noisy), &mut || ControlFlow::Break(())).is_none());
        for Refined { mean, covariance } in found.steps.iter().chain([&found.last]) {
            assert!(mean.values.iter().all(|value| (noise.support().low..=noise.support().high).contains(value)));
            assert!(covariance.values.iter().all(|value| *value >= 0.0 && value.is_finite()));
        }
        let largest = largest_block(signal_to_noise, clean.dim().1.min(clean.dim().2));
        let smaller = [2, 4].iter().filter(|block| **block < largest).count();
        assert_eq!(found.steps.len(), 1 + smaller);
        let without = Refinement { keeps_steps: false, ..refinement };
        let without = without.run(&plane(&noisy), &mut || ControlFlow::Continue(())).unwrap();
        assert!(without.steps.is_empty() && without.last.mean.values == found.last.mean.values);
        let error = |one: &Plane| {
            let squares = one.values.iter().zip(clean.iter()).map(|(a, b)| (a - b).powi(2));
            squares.sum::<f64>() / clean.len() as f64
        };
        (error(&plane(&noisy)), error(&found.last.mean))
    }

    #[test]
    fn steps_come_out_of_the_noise_of_several_families() {
        let clean = Array4::from_shape_fn(
            (1, 60, 70, 1),
            |(_, y, x, _)| if (15..45).contains(&y) && x > 30 { 8.0 } else { 2.0 },
        );
        for spec in ["poisson", "exponential", "gamma:k=4", "gaussian:var=9"] {
            for signal_to_noise in [1.0, 36.0] {
                let (before, after) = refined(spec, &clean, signal_to_noise);
                assert!(after < 0.12 * before, "{spec}: {after} instead of {before}");
            }
        }
    }

    #[test]
    fn small_and_dark_images_have_an_estimate() {
        for (rows, columns, value) in [(8, 8, 3.0), (8, 100, 0.0), (9, 31, 1e-3)] {
            let clean = Array4::from_elem((1, rows, columns, 1), value);
            let (_, after) = refined("poisson", &clean, 0.02);
            assert!(after.is_finite());
        }
    }
}
