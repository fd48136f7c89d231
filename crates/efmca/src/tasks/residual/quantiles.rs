//! Where values lie in the distribution that the family has at their means.

use ndarray::{Array4, ArrayView4};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::noise::Noise;
use crate::family::{Family, Member};
use crate::tasks::uniformity::Uniformity;

/// Values that each pixel is compared with.
const DRAWS: usize = 63;
/// Pixels that are looked at, evenly spread over those that may be.
const MOST_PIXELS: usize = 20_000;

/// Randomised quantile residuals (Dunn and Smyth, 1996): the probability that the family gives to values below that of a
/// pixel, with a random part for values that can be equal. They are uniform on $\lbrack 0, 1\rbrack$ for noise of the
/// family.
///
/// They come from ranks: a pixel and 63 values that are drawn from the family with the mean of the pixel are put in
/// order, equal ones at random. All 64 places are equally likely if the pixel was drawn from the family as well, so that
/// (place + a uniform number) / 64 is uniform exactly, for any family that can be drawn from. Pixels are those around
/// which the scene is flat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// The number of pixels that were looked at.
    pub pixels: usize,
    /// The share of them in each twentieth of $\lbrack 0, 1\rbrack$, from low to high values; 0.05 each if all is well.
    pub histogram: Vec<f64>,
    /// The largest difference between their distribution function and that of the uniform one (Kolmogorov and Smirnov).
    pub distance: f64,
}

impl Quantiles {
    pub(super) fn new(
        family: &dyn Family,
        noise: &Noise<'_>,
        noisy: ArrayView4<'_, f64>,
        estimate: ArrayView4<'_, f64>,
        variance: &Array4<f64>,
        mask: &Array4<f64>,
        seed: u64,
    ) -> Option<Quantiles> {
        let chosen: Vec<(usize, (f64, f64, f64))> = (noisy.iter().zip(estimate).zip(variance).zip(mask).enumerate())
            .filter(|(_, (_, mask))| **mask > 0.0)
            .map(|(place, (((y, m), v), _))| (place, (*y, *m, *v)))
            .collect();
        let mut places = Vec::new();
        let count = chosen.len().min(MOST_PIXELS);
        for index in 0..count {
            let (place, (y, mean, variance)) = chosen[index * chosen.len() / count];
            let Some(member) = noise.member(mean, variance) else { continue };
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream(place as u64);
            let (mut below, mut equal) = (0, 0);
            for _ in 0..DRAWS {
                let drawn = match &member {
                    Member::Constant(value) => *value,
                    Member::Natural(eta) => family.sample(eta, &mut random),
                };
                below += usize::from(drawn < y);
                equal += usize::from(drawn == y);
            }
            let rank = below + random.random_range(0..=equal);
            places.push((rank as f64 + random.random::<f64>()) / (DRAWS + 1) as f64);
        }
        Self::of(&places)
    }

    fn of(places: &[f64]) -> Option<Quantiles> {
        let Uniformity { histogram, distance } = Uniformity::of(places)?;
        Some(Quantiles { pixels: places.len(), histogram, distance })
    }
}
