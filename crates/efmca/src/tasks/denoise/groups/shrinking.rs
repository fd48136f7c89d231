//! The weights of the coefficients of a group.

use multiversion::multiversion;

use super::GroupFilter;

/// How coefficients are weighted. $z$ and $p$ are a coefficient of the noisy group and of the pilot, $v$ the variance of the noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) enum Weights {
    /// $z$ stays if it is this many standard deviations from zero, and becomes 0 otherwise: for a first estimate.
    Threshold(f32),
    /// $z$ stays if it is this many standard deviations from $p$, and becomes $p$ otherwise: what the pilot missed comes in.
    Missed(f32),
    /// $z$ is weighted by $p^2/(p^2 + v)$, the filter of Wiener with the pilot as the truth.
    Wiener,
}

/// A group on its way through the filter.
pub(super) struct Shrinking {
    weights: Weights,
    /// Coefficients of a patch.
    d: usize,
    noisy: Vec<f32>,
    pilot: Vec<f32>,
}

/// What the weights of a group were.
pub(super) struct Shrunk {
    /// Their average, the share of the noise that is left.
    pub(super) follows: f32,
    /// The sum of their squares: the noise of the result in all.
    pub(super) squares: f32,
}

impl Shrinking {
    pub(super) fn new(filter: &GroupFilter) -> Shrinking {
        let d = filter.side * filter.side;
        Shrinking { weights: filter.weights, d, noisy: Vec::new(), pilot: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.noisy.clear();
        self.pilot.clear();
    }

    /// Adds the coefficients of a patch.
    pub(super) fn push(&mut self, noisy: &[f32], pilot: &[f32]) {
        self.noisy.extend_from_slice(noisy);
        self.pilot.extend_from_slice(pilot);
    }

    /// Filters the group, whose noise has this variance.
    pub(super) fn run(&mut self, variance: f32) -> Shrunk {
        shrink(self, variance)
    }

    /// The coefficients of the patches.
    pub(super) fn patches(&self) -> impl Iterator<Item = &[f32]> {
        self.noisy.chunks_exact(self.d)
    }
}

#[multiversion(targets("x86_64+avx2+fma", "x86_64+avx", "aarch64+neon"))]
fn shrink(group: &mut Shrinking, variance: f32) -> Shrunk {
    let Shrinking { weights, d, noisy, pilot } = group;
    haar(noisy, *d);
    haar(pilot, *d);
    // eight sums, so that they can be made side by side
    let (mut sums, mut squares) = ([0.0f32; 8], [0.0f32; 8]);
    let mut add = |at: usize, weight: f32| {
        sums[at % 8] += weight;
        squares[at % 8] += weight * weight;
    };
    match *weights {
        Weights::Wiener => {
            for (at, (z, p)) in noisy.iter_mut().zip(pilot.iter()).enumerate() {
                let weight = p * p / (p * p + variance);
                *z *= weight;
                add(at, weight);
            }
        }
        Weights::Threshold(deviations) => {
            let least = deviations * deviations * variance;
            for (at, z) in noisy.iter_mut().enumerate() {
                // the mean of a group always stays
                let weight = if *z * *z > least || at == 0 { 1.0 } else { 0.0 };
                *z *= weight;
                add(at, weight);
            }
        }
        Weights::Missed(deviations) => {
            let least = deviations * deviations * variance;
            for (at, (z, p)) in noisy.iter_mut().zip(pilot.iter()).enumerate() {
                let weight = if (*z - p) * (*z - p) > least || at == 0 { 1.0 } else { 0.0 };
                *z = p + weight * (*z - p);
                add(at, weight);
            }
        }
    }
    back_from_haar(noisy, *d);
    Shrunk { follows: sums.iter().sum::<f32>() / noisy.len() as f32, squares: squares.iter().sum() }
}

const HALF: f32 = std::f32::consts::FRAC_1_SQRT_2;

/// Haar's transform across patches of `d` coefficients, of which there is a power of two. It is done in place: sums stand where the
/// first of two patches was, differences where the second one was.
#[inline(always)]
fn haar(values: &mut [f32], d: usize) {
    let mut distance = d;
    while distance < values.len() {
        rotate(values, d, distance);
        distance *= 2;
    }
}

/// The inverse of [`haar`].
#[inline(always)]
fn back_from_haar(values: &mut [f32], d: usize) {
    let mut distance = values.len() / 2;
    while distance >= d {
        rotate(values, d, distance);
        distance /= 2;
    }
}

/// Sums and differences of the patches that are so far apart; twice the same gives what was there before.
#[inline(always)]
fn rotate(values: &mut [f32], d: usize, distance: usize) {
    for pair in values.chunks_exact_mut(2 * distance) {
        let (one, other) = pair.split_at_mut(distance);
        for (one, other) in one[..d].iter_mut().zip(&mut other[..d]) {
            (*one, *other) = ((*one + *other) * HALF, (*one - *other) * HALF);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(weights: Weights, noisy: &[f32], pilot: &[f32]) -> Shrinking {
        let filter = GroupFilter { side: 2, size: 4, reach: 1, step: 1, weights };
        let mut group = Shrinking::new(&filter);
        noisy.chunks_exact(4).zip(pilot.chunks_exact(4)).for_each(|(noisy, pilot)| group.push(noisy, pilot));
        group
    }

    #[test]
    fn weights_of_one_leave_a_group_as_it_was() {
        let noisy: Vec<f32> = (0..16).map(|at| ((at * 5) % 7) as f32).collect();
        let mut group = group(Weights::Threshold(0.0), &noisy, &noisy);
        group.noisy[3] = 0.25;
        let shrunk = group.run(1.0);
        let back: Vec<f32> = group.patches().flatten().copied().collect();
        assert!((back[3] - 0.25).abs() < 1e-6);
        assert!(back.iter().zip(&noisy).enumerate().all(|(at, (a, b))| at == 3 || (a - b).abs() < 1e-5), "{back:?}");
        assert!(shrunk.follows <= 1.0 && shrunk.squares <= 16.0);
    }

    #[test]
    fn noise_that_the_pilot_does_not_have_goes() {
        let pilot = [8.0f32, 0.0, 0.0, 0.0].repeat(4);
        let noisy: Vec<f32> =
            pilot.iter().enumerate().map(|(at, p)| p + if at % 3 == 0 { 0.5 } else { -0.5 }).collect();
        let error = |weights| {
            let mut group = group(weights, &noisy, &pilot);
            group.run(0.25);
            group.patches().flatten().zip(&pilot).map(|(a, b)| (a - b) * (a - b)).sum::<f32>()
        };
        let before = 16.0 * 0.25;
        assert!(error(Weights::Wiener) < 0.1 * before);
        assert!(error(Weights::Threshold(3.0)) < 0.3 * before);
        assert!(error(Weights::Missed(3.0)) < 0.1 * before);
    }
}
