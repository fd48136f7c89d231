//! Which patches make a group.

use multiversion::multiversion;

use super::GroupFilter;

/// Rows and columns of the coefficients that patches are compared by: what is finer is mostly noise.
const COMPARED: usize = 4;
/// Patches are indistinguishable below this mean squared difference of coefficients, in units of the variance of the noise. 0.02 to 0.1
/// are equal to 0.1 dB on photographs other than those of the table; 0 loses up to 1.3 dB (`docs/DENOISING.md`).
const INDISTINGUISHABLE: f32 = 0.05;

/// Finds the groups of a part of an image.
pub(super) struct Matching {
    reach: usize,
    size: usize,
    across: usize,
    down: usize,
    /// The compared coefficients of the patch at every position.
    features: Vec<f32>,
    /// Their number.
    d: usize,
    candidates: Vec<(f32, u32)>,
    group: Vec<usize>,
}

impl Matching {
    /// For patches whose pilots have these coefficients, `across` of them in a line.
    pub(super) fn new(filter: &GroupFilter, pilot: &[f32], across: usize) -> Matching {
        let (side, compared) = (filter.side, filter.side.min(COMPARED));
        let features: Vec<f32> = pilot
            .chunks_exact(side * side)
            .flat_map(|patch| patch.chunks_exact(side).take(compared).flat_map(|line| &line[..compared]))
            .copied()
            .collect();
        let d = compared * compared;
        let down = features.len() / d / across;
        let GroupFilter { reach, size, .. } = *filter;
        Matching { reach, size, across, down, features, d, candidates: Vec::new(), group: Vec::new() }
    }

    /// The group of the patch at this position, itself first; as many as there are, but a power of two.
    ///
    /// Patches that cannot be told apart are taken in a random order that depends on the position only: the nearest ones in the pilot
    /// have the same noise in it.
    pub(super) fn group(&mut self, y: usize, x: usize) -> &[usize] {
        let own = y * self.across + x;
        let near = |at: usize, size: usize| at.saturating_sub(self.reach)..(at + self.reach + 1).min(size);
        let (ys, xs) = (near(y, self.down), near(x, self.across));
        self.candidates.clear();
        for y in ys {
            let line = y * self.across;
            differences(&self.features, self.d, own, line + xs.start..line + xs.end, &mut self.candidates);
        }
        let limit = INDISTINGUISHABLE * self.d as f32;
        for (difference, at) in &mut self.candidates {
            if *at as usize == own {
                *difference = -1.0;
            } else if *difference < limit {
                *difference = limit * random(own as u32, *at);
            }
        }
        let mut size = self.size;
        while size > self.candidates.len() {
            size /= 2;
        }
        let order = |a: &(f32, u32), b: &(f32, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if size < self.candidates.len() {
            self.candidates.select_nth_unstable_by(size, order);
        }
        self.candidates[..size].sort_unstable_by(order);
        self.group.clear();
        self.group.extend(self.candidates[..size].iter().map(|(_, at)| *at as usize));
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

/// Adds the squared differences of patch `own` to others.
#[multiversion(targets("x86_64+avx2+fma", "x86_64+avx", "aarch64+neon"))]
fn differences(features: &[f32], d: usize, own: usize, others: std::ops::Range<usize>, found: &mut Vec<(f32, u32)>) {
    let own = &features[own * d..][..d];
    for (at, other) in others.clone().zip(features[others.start * d..].chunks_exact(d)) {
        let mut sums = [0.0f32; 8];
        let (lanes, other_lanes) = (own.chunks_exact(8), other.chunks_exact(8));
        let rest = lanes.remainder().iter().zip(other_lanes.remainder()).map(|(a, b)| (a - b) * (a - b)).sum::<f32>();
        for (a, b) in lanes.zip(other_lanes) {
            for k in 0..8 {
                sums[k] += (a[k] - b[k]) * (a[k] - b[k]);
            }
        }
        found.push((rest + sums.iter().sum::<f32>(), at as u32));
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
