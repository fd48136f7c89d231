//! A value as the sum of two independent ones.

use std::fmt;

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::SharedFamily;

/// The noise around a value, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// The mean of the value.
    pub mean: f64,
    /// Its variance.
    pub variance: f64,
}

/// Draws a part of a value.
type Draw = dyn Fn(f64, Noise, &mut dyn Rng) -> f64 + Send + Sync;

/// A part of a value, and the rest, as independent values of one family: see [`Family::part`](super::Family::part).
pub struct Part {
    /// The family of the part. Its mean is that of the value times the share.
    pub family: SharedFamily,
    draw: Box<Draw>,
}

impl Part {
    pub(super) fn new(
        family: SharedFamily,
        draw: impl Fn(f64, Noise, &mut dyn Rng) -> f64 + Send + Sync + 'static,
    ) -> Part {
        Part { family, draw: Box::new(draw) }
    }

    /// Draws the part of a value; the rest is the difference. The noise around the value is needed by families that learn it.
    pub fn draw(&self, y: f64, noise: Noise, rng: &mut dyn Rng) -> f64 {
        (self.draw)(y, noise, rng)
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Part").field("family", &self.family.spec()).finish_non_exhaustive()
    }
}

/// How many of `count` things are taken, if each is with this probability.
pub(super) fn taken(count: f64, probability: f64, rng: &mut dyn Rng) -> f64 {
    match rand_distr::Binomial::new(count as u64, probability) {
        Ok(binomial) => binomial.sample(rng) as f64,
        Err(_) => (count * probability).round(),
    }
}

/// A share that scatters around `share` as that of a Gamma variable of shape `share * k` in a sum of shape `k` does.
pub(super) fn share_of_gamma(share: f64, k: f64, rng: &mut dyn Rng) -> f64 {
    match rand_distr::Beta::new(share * k, (1.0 - share) * k) {
        Ok(beta) => beta.sample(rng),
        Err(_) => share,
    }
}

/// The part of a Gaussian value of this variance.
pub(super) fn part_of_gaussian(y: f64, share: f64, variance: f64, rng: &mut dyn Rng) -> f64 {
    let normal: f64 = StandardNormal.sample(rng);
    share * y + (share * (1.0 - share) * variance.max(0.0)).sqrt() * normal
}
