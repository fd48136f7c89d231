//! Groups of similar patches, filtered together.
//!
//! Where an image has a pilot (an estimate that is good enough to tell what is similar), patches that look alike in the pilot are
//! stacked, the stack is transformed (cosines within the patches, Haar wavelets across them), and each coefficient of the noisy
//! patches is weighted by how far the pilot's coefficient stands above the noise. What a model of causes misses because it occurs
//! in few places only is found this way.
//!
//! Which patches are taken decides everything. Those *most* similar in the pilot are those with the same noise in it, and a stack of
//! equal noise averages nothing. So patches that the pilot cannot tell apart are drawn at random ([`matching`]): on photographs with
//! half a photon to two in the brightest pixel that is worth 0.2 to 1.3 dB (`docs/DENOISING.md`).
//!
//! | step | file |
//! | --- | --- |
//! | 1. Cosine transform of all patches | `cosines.rs` |
//! | 2. The group of a patch | `matching.rs` |
//! | 3. Haar transform across the group, weights, and back | `shrinking.rs` |
//! | 4. Averages where patches overlap | this one |

mod cosines;
mod matching;
mod shrinking;

use multiversion::multiversion;
use rayon::prelude::*;

use crate::cancel;

pub(super) use cosines::Cosines;
use matching::Matching;
use shrinking::Shrinking;
pub(super) use shrinking::Weights;

/// Lines of groups that are worked on together; the number does not depend on the threads, so that sums have one order.
const LINES: usize = 12;

/// How groups are made and filtered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GroupFilter {
    /// Rows and columns of a patch.
    pub(super) side: usize,
    /// Patches in a group, at the most; a power of two.
    pub(super) size: usize,
    /// How far away the patches of a group are, at the most.
    pub(super) reach: usize,
    /// The distance between the patches that groups are made for.
    pub(super) step: usize,
    /// How coefficients are weighted.
    pub(super) weights: Weights,
}

/// Values with noise of a known variance, and a pilot of them.
pub(super) struct Stack<'a> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) noisy: &'a [f32],
    pub(super) pilot: &'a [f32],
    pub(super) variance: &'a [f32],
}

/// What filtering gave.
pub(super) struct Filtered {
    pub(super) values: Vec<f32>,
    /// The share of the noise of a pixel that is left in it if the pilot had none: the average weight of coefficients.
    pub(super) follows: Vec<f32>,
}

/// Sums of some rows of pixels: weights, weighted values, weighted shares of the noise, one plane after the other.
struct Band {
    first_row: usize,
    sums: Vec<f32>,
}

impl GroupFilter {
    /// Whether patches fit into an image of this size.
    pub(super) fn fits(&self, rows: usize, columns: usize) -> bool {
        rows >= self.side && columns >= self.side
    }

    /// Filters an image that patches fit into.
    pub(super) fn run(&self, stack: &Stack<'_>) -> Filtered {
        let lattice = |size: usize| {
            let last = size - self.side;
            let mut places: Vec<usize> = (0..last).step_by(self.step).collect();
            places.push(last);
            places
        };
        let (down, across) = (lattice(stack.rows), lattice(stack.columns));
        let bands: Vec<Band> = down.par_chunks(LINES).map(|lines| self.band(stack, lines, &across)).collect();
        let pixels = stack.rows * stack.columns;
        let mut total = vec![0.0f64; 3 * pixels];
        for Band { first_row, sums } in bands {
            for (total, sums) in total.chunks_exact_mut(pixels).zip(sums.chunks_exact((sums.len() / 3).max(1))) {
                let total = &mut total[first_row * stack.columns..];
                total.iter_mut().zip(sums).for_each(|(to, sum)| *to += f64::from(*sum));
            }
        }
        let (weights, others) = total.split_at(pixels);
        let mut averages = others
            .chunks_exact(pixels)
            .map(|sums| sums.iter().zip(weights).map(|(sum, weight)| (sum / weight) as f32).collect());
        Filtered { values: averages.next().unwrap_or_default(), follows: averages.next().unwrap_or_default() }
    }

    /// Filters the groups of some lines.
    fn band(&self, stack: &Stack<'_>, lines: &[usize], across: &[usize]) -> Band {
        let (Some(first), Some(last)) = (lines.first(), lines.last()) else {
            return Band { first_row: 0, sums: Vec::new() };
        };
        let (side, d, columns) = (self.side, self.side * self.side, stack.columns);
        let first_row = first.saturating_sub(self.reach);
        let end = (last + self.reach + side).min(stack.rows);
        let pixels = first_row * columns..end * columns;
        let cosines = Cosines::new(side);
        let noisy = cosines.of_all_patches(&stack.noisy[pixels.clone()], columns);
        let pilot = cosines.of_all_patches(&stack.pilot[pixels.clone()], columns);
        let variance = patch_means(&stack.variance[pixels], columns, side);
        let mut matching = Matching::new(self, &pilot, columns + 1 - side);
        let mut shrinking = Shrinking::new(self);
        let window = window(side);
        let mut sums = vec![0.0f32; 3 * (end - first_row) * columns];
        let mut patch = vec![0.0; d];
        for y in lines {
            cancel::check();
            for x in across {
                let group = matching.group(y - first_row, *x);
                shrinking.clear();
                let mut noise = 0.0;
                for at in group {
                    shrinking.push(&noisy[at * d..][..d], &pilot[at * d..][..d]);
                    noise += variance[*at];
                }
                let noise = (noise / group.len() as f32).max(f32::MIN_POSITIVE);
                let shrunk = shrinking.run(noise);
                let weight = 1.0 / (noise * shrunk.squares.max(1.0));
                for (at, coefficients) in group.iter().zip(shrinking.patches()) {
                    cosines.back(coefficients, &mut patch);
                    let corner = at / (columns + 1 - side) * columns + at % (columns + 1 - side);
                    add_patch((&patch, &window), (weight, shrunk.follows), &mut sums, (corner, columns));
                }
            }
        }
        Band { first_row, sums }
    }
}

/// Adds a patch with a weight at a corner to the three planes of sums, whose lines have so many columns.
#[multiversion(targets("x86_64+avx2+fma", "x86_64+avx", "aarch64+neon"))]
fn add_patch(
    (patch, window): (&[f32], &[f32]),
    (weight, follows): (f32, f32),
    sums: &mut [f32],
    (corner, columns): (usize, usize),
) {
    let (side, plane) = (patch.len().isqrt(), sums.len() / 3);
    let (weights, others) = sums.split_at_mut(plane);
    let (values, shares) = others.split_at_mut(plane);
    for (line, (patch, window)) in patch.chunks_exact(side).zip(window.chunks_exact(side)).enumerate() {
        let from = corner + line * columns;
        let sums = weights[from..].iter_mut().zip(&mut values[from..]).zip(&mut shares[from..]);
        for (((weights, values), shares), (value, window)) in sums.zip(patch.iter().zip(window)) {
            let weight = weight * window;
            *weights += weight;
            *values += weight * value;
            *shares += weight * follows;
        }
    }
}

/// The weight of each pixel of a patch: its edges have the artefacts of the transform.
fn window(side: usize) -> Vec<f32> {
    let along = |at: usize| {
        let from_middle = (at as f64 + 0.5) / side as f64 - 0.5;
        (-0.5 * (from_middle / 0.35).powi(2)).exp()
    };
    (0..side * side).map(|at| (along(at / side) * along(at % side)) as f32).collect()
}

/// The mean over each patch.
fn patch_means(values: &[f32], columns: usize, side: usize) -> Vec<f32> {
    let (rows, across) = (values.len() / columns, columns + 1 - side);
    let lines: Vec<f32> = values
        .chunks_exact(columns)
        .flat_map(|line| line.windows(side).map(|window| window.iter().sum::<f32>()))
        .collect();
    let mean = |at: usize| (0..side).map(|line| lines[at + line * across]).sum::<f32>() / (side * side) as f32;
    (0..(rows + 1 - side) * across).map(mean).collect()
}

#[cfg(test)]
mod tests;
