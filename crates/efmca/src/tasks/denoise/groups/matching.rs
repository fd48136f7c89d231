//! Which patches make a group.

use multiversion::multiversion;

use super::GroupFilter;

/// Rows and columns of the coefficients that patches are compared by: what is finer is mostly noise.
const COMPARED: usize = 4;
/// Patches are indistinguishable below this mean squared difference of coefficients, in units of the variance of the noise. 0.02 to 0.1
/// are equal to 0.1 dB on photographs other than those of the table; 0 loses up to 1.3 dB (`docs/DENOISING.md`).
const INDISTINGUISHABLE: f32 = 0.05;

/// Patches of a line that are compared at a time.
const TOGETHER: usize = 8;

/// Finds the groups of a part of an image.
pub(super) struct Matching {
    reach: usize,
    size: usize,
    across: usize,
    down: usize,
    /// The compared coefficients of the patches of each line: the first one of all of them, then the second one, and so on, with some
    /// zeros behind each.
    features: Vec<f32>,
    /// Their number.
    d: usize,
    /// The coefficients of the patch whose group is looked for, and the differences of a line to it.
    own: Vec<f32>,
    differences: Vec<f32>,
    candidates: Vec<Candidate>,
    group: Vec<usize>,
}

/// A patch that may belong to a group: how different it is, and where it is, in one number because that is sorted faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate(u64);

impl Candidate {
    /// The patch itself, before all others.
    fn own(at: usize) -> Candidate {
        Candidate(at as u64)
    }

    /// The difference is not negative, so that its bits have its order.
    fn new(difference: f32, at: usize) -> Candidate {
        Candidate((u64::from(difference.to_bits()) + 1) << 32 | at as u64)
    }

    fn at(self) -> usize {
        (self.0 & 0xffff_ffff) as usize
    }
}

impl Matching {
    /// For patches whose pilots have these coefficients, `across` of them in a line.
    pub(super) fn new(filter: &GroupFilter, pilot: &[f32], across: usize) -> Matching {
        let (side, compared) = (filter.side, filter.side.min(COMPARED));
        let (d, down) = (compared * compared, pilot.len() / (side * side) / across);
        let mut features = vec![0.0; d * (across + TOGETHER) * down];
        let lines = features.chunks_exact_mut(d * (across + TOGETHER));
        for (to, line) in lines.zip(pilot.chunks_exact(side * side * across)) {
            for (k, to) in to.chunks_exact_mut(across + TOGETHER).enumerate() {
                let place = k / compared * side + k % compared;
                to[..across]
                    .iter_mut()
                    .zip(line[place..].iter().step_by(side * side))
                    .for_each(|(to, from)| *to = *from);
            }
        }
        let GroupFilter { reach, size, .. } = *filter;
        let (own, differences) = (vec![0.0; d], vec![0.0; (2 * reach + 1).next_multiple_of(TOGETHER)]);
        Matching { reach, size, across, down, features, d, own, differences, candidates: Vec::new(), group: Vec::new() }
    }

    /// The group of the patch at this position, itself first; as many as there are, but a power of two.
    ///
    /// Patches that cannot be told apart are taken in a random order that depends on the position only: the nearest ones in the pilot
    /// have the same noise in it.
    pub(super) fn group(&mut self, y: usize, x: usize) -> &[usize] {
        let own = y * self.across + x;
        let near = |at: usize, size: usize| at.saturating_sub(self.reach)..(at + self.reach + 1).min(size);
        let (ys, xs) = (near(y, self.down), near(x, self.across));
        let stride = self.across + TOGETHER;
        let size_of_line = self.d * stride;
        let line = &self.features[y * size_of_line..][..size_of_line];
        self.own.iter_mut().zip(line[x..].iter().step_by(stride)).for_each(|(to, from)| *to = *from);
        let limit = INDISTINGUISHABLE * self.d as f32;
        self.candidates.clear();
        for y in ys {
            let line = &self.features[y * size_of_line..][..size_of_line];
            differences(&self.own, line, stride, xs.start, &mut self.differences);
            for (at, difference) in (y * self.across + xs.start..).zip(&self.differences[..xs.len()]) {
                let random = if *difference < limit { limit * random(own as u32, at as u32) } else { *difference };
                self.candidates.push(if at == own { Candidate::own(at) } else { Candidate::new(random, at) });
            }
        }
        let mut size = self.size;
        while size > self.candidates.len() {
            size /= 2;
        }
        if size < self.candidates.len() {
            self.candidates.select_nth_unstable(size);
        }
        self.candidates[..size].sort_unstable();
        self.group.clear();
        self.group.extend(self.candidates[..size].iter().map(|candidate| candidate.at()));
        &self.group
    }
}

/// A number from 0 to 1 that looks random and depends on two positions.
fn random(own: u32, other: u32) -> f32 {
    let mut hash = (other ^ own.wrapping_mul(0x9e37_79b1)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^= hash >> 16;
    (hash >> 8) as f32 / (1 << 24) as f32
}

/// The squared differences of a patch to those of a line from `start` on, [`TOGETHER`] at a time; `stride` values lie between the
/// coefficients of a patch.
#[multiversion(targets("x86_64+avx2+fma", "x86_64+avx", "aarch64+neon"))]
fn differences(own: &[f32], line: &[f32], stride: usize, start: usize, found: &mut [f32]) {
    for (found, first) in found.as_chunks_mut::<TOGETHER>().0.iter_mut().zip((start..).step_by(TOGETHER)) {
        let mut sums = [0.0f32; TOGETHER];
        for (own, others) in own.iter().zip(line.chunks_exact(stride)) {
            if let Some(others) = others.get(first..).and_then(|others| others.first_chunk::<TOGETHER>()) {
                for lane in 0..TOGETHER {
                    sums[lane] += (others[lane] - own) * (others[lane] - own);
                }
            }
        }
        *found = sums;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Weights;
    use super::*;

    fn matching(pilot: &[f32], across: usize, size: usize) -> Matching {
        let filter = GroupFilter { side: 1, size, reach: 3, step: 1, weights: Weights::Wiener };
        Matching::new(&filter, pilot, across)
    }

    #[test]
    fn similar_patches_come_first_and_the_patch_itself_before_them() {
        // stripes of patches of one pixel
        let pilot: Vec<f32> = (0..100).map(|at| ((at % 10) % 2) as f32 * 5.0).collect();
        let mut matching = matching(&pilot, 10, 8);
        for (y, x) in [(0, 0), (5, 5), (9, 2)] {
            let group = matching.group(y, x).to_vec();
            assert_eq!((group[0], group.len()), (y * 10 + x, 8));
            assert!(group.iter().all(|at| at % 2 == x % 2 && (at / 10).abs_diff(y) <= 3), "{group:?}");
        }
    }

    #[test]
    fn patches_that_cannot_be_told_apart_are_drawn() {
        // a flat pilot with a little noise: the group is spread over all of the window and does not follow the noise
        let pilot: Vec<f32> = (0..400).map(|at| ((at * 7919) % 101) as f32 / 1000.0).collect();
        let mut matching = matching(&pilot, 20, 8);
        let mut distance = 0.0;
        for at in 0..400 {
            let group = matching.group(at / 20, at % 20).to_vec();
            distance += group[1..].iter().map(|other| (pilot[at] - pilot[*other]).abs()).sum::<f32>() / 7.0 / 400.0;
        }
        // two of the 101 values differ by 0.034 on average; the seven nearest of 49 by 0.004
        assert!(distance > 0.025, "{distance}");
        // few patches make a small group
        let filter = GroupFilter { side: 1, size: 8, reach: 0, step: 1, weights: Weights::Wiener };
        assert_eq!(Matching::new(&filter, &pilot, 20).group(3, 4), [64]);
    }
}
