//! The few families that are worth a comparison for an image.

use super::level::{camera, dispersion, grows_with_the_mean, grows_with_the_square};
use super::sample::Sample;
use super::tiles::Tile;
use crate::tasks::noise::Kind;

/// The tuned numbers of the list.
struct Tuning {
    /// Counts up to this are few enough that a Gaussian need not be asked.
    few_counts: f64,
    /// The variance over that of Poisson counts from which on wider families are tried, and below which narrower ones are.
    wider: f64,
    narrower: f64,
    /// The number of trials that binomial counts have at the most: with more they are hardly told from Poisson counts.
    most_trials: f64,
    /// The variance over that of the geometric and of the exponential family from which on these are tried.
    as_wide: f64,
    /// The share of the largest value from which on values were clipped there, and at zero, too.
    clipped: f64,
}

const TUNED: Tuning =
    Tuning { few_counts: 16.0, wider: 1.25, narrower: 0.8, most_trials: 255.0, as_wide: 0.5, clipped: 0.01 };

/// The families to compare, the first of them the one to take if nothing can be compared. Laplace noise is not among them: its
/// centre is the same in all pixels, so that there would be nothing to see in a clean image.
pub(super) fn short_list(sample: &Sample, tiles: &[Tile]) -> Vec<&'static str> {
    let (min, max) = (sample.values.summary.min, sample.values.summary.max);
    match sample.values.kind {
        Kind::YesNo => vec!["bernoulli"],
        Kind::Integer if min >= 0.0 => counts(max, tiles),
        // the zeros of values that were clipped or counted are no zeros of their own
        Kind::ZeroOrPositive if sample.unit.is_some() || sample.at_top >= TUNED.clipped => vec!["gaussian"],
        Kind::ZeroOrPositive => vec!["hurdle-gamma", "hurdle-exponential", "hurdle-log-normal"],
        Kind::Real if min > 0.0 => positive(max, tiles),
        Kind::Integer | Kind::Real => vec!["gaussian"],
    }
}

fn counts(max: f64, tiles: &[Tile]) -> Vec<&'static str> {
    let of_poisson = dispersion(tiles, |mean| mean).unwrap_or(1.0);
    let of_geometric = dispersion(tiles, |mean| mean + mean * mean).unwrap_or(0.0);
    let as_poisson = (TUNED.narrower..=TUNED.wider).contains(&of_poisson) && grows_with_the_mean(tiles);
    // the values of a camera are no counts, and only a Gaussian has any variance at any mean
    if !as_poisson && max > TUNED.few_counts && camera(tiles).is_some() {
        return vec!["gaussian"];
    }
    let mut list = vec!["poisson"];
    if of_geometric > TUNED.as_wide {
        list.push("geometric");
    }
    if of_poisson > TUNED.wider {
        list.push("negative-binomial:r=?");
    }
    if of_poisson < TUNED.narrower && max <= TUNED.most_trials {
        list.push("binomial:n=?");
    }
    // for the same reason it is no alternative to counts whose variance is the mean everywhere
    if max > TUNED.few_counts && !as_poisson {
        list.push("gaussian");
    }
    list
}

fn positive(max: f64, tiles: &[Tile]) -> Vec<&'static str> {
    let mut list = vec!["gaussian", "log-normal"];
    // log-normal and Gaussian have any variance at any mean, these have not
    let of_exponential = dispersion(tiles, |mean| mean * mean).unwrap_or(1.0);
    if grows_with_the_square(tiles) {
        list.push("gamma:k=?");
    }
    if of_exponential > TUNED.as_wide {
        list.push("exponential");
    }
    if max < 1.0 {
        list.push("beta");
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array4;

    /// The list for an image of 64 x 64 pixels, whose noise is `scatter` times a pattern that no neighbours share.
    fn list(value: impl Fn(f64, usize) -> f64) -> Vec<&'static str> {
        let noise =
            |y: usize, x: usize| ((crate::hash::of_place(3, (64 * y + x) as u64) >> 11) as f64) / (1u64 << 53) as f64;
        let pixels = Array4::from_shape_fn((1, 64, 64, 1), |(_, y, x, _)| value(noise(y, x), y));
        let sample = Sample::of(pixels.view()).unwrap_or_else(|| unreachable!("there are values"));
        short_list(&sample, &super::super::Tiles::of(pixels.view(), 0).found)
    }

    #[test]
    fn values_and_variance_make_the_list() {
        assert_eq!(list(|noise, _| noise.round()), ["bernoulli"]);
        // uniform counts: 0 to 3 have the variance 1.25 at the mean 1.5, 0 to 40 have 140 at 20, 90 to 110 have 37 at 100
        assert_eq!(list(|noise, _| (4.0 * noise).floor()), ["poisson"]);
        assert_eq!(list(|noise, _| (41.0 * noise).floor()), ["poisson", "negative-binomial:r=?", "gaussian"]);
        assert_eq!(list(|noise, _| 90.0 + (21.0 * noise).floor()), ["poisson", "binomial:n=?", "gaussian"]);
        assert_eq!(list(|noise, _| 3.0 - (9.0 * noise).floor()), ["gaussian"]);
        assert_eq!(list(|noise, _| noise - 0.3), ["gaussian"]);
        assert_eq!(list(|noise, _| 3.0 + noise), ["gaussian", "log-normal", "gamma:k=?"]);
        assert_eq!(list(|noise, _| 0.1 + noise), ["gaussian", "log-normal", "gamma:k=?"]);
        assert_eq!(
            list(|noise, _| -(noise + 1e-9).ln() + 1e-3),
            ["gaussian", "log-normal", "gamma:k=?", "exponential"]
        );
        assert_eq!(list(|noise, _| 0.4 + 0.2 * noise), ["gaussian", "log-normal", "gamma:k=?", "beta"]);
    }

    #[test]
    fn speckle_has_a_variance_that_grows_with_the_square_of_the_mean() {
        let brightness = |y: usize| 10.0 + 10.0 * (y / 16) as f64;
        assert_eq!(list(|noise, y| brightness(y) + noise), ["gaussian", "log-normal"]);
        assert_eq!(list(|noise, y| brightness(y) * (1.0 + noise)), ["gaussian", "log-normal", "gamma:k=?"]);
    }

    #[test]
    fn counts_have_a_variance_that_grows_with_the_mean() {
        // about as wide as Poisson counts in all brightnesses, and in the middle only
        let brightness = |y: usize| 20.0 + 60.0 * (y / 16) as f64;
        let wide = |noise: f64, variance: f64| (noise - 0.5) * (12.0 * variance).sqrt();
        assert_eq!(list(|noise, y| (brightness(y) + wide(noise, brightness(y))).round()), ["poisson"]);
        assert_eq!(list(|noise, y| (brightness(y) + wide(noise, 110.0)).round()), ["poisson", "gaussian"]);
    }

    #[test]
    fn zeros_are_their_own_unless_values_were_clipped_or_counted() {
        let hurdles = ["hurdle-gamma", "hurdle-exponential", "hurdle-log-normal"];
        assert_eq!(list(|noise, _| (noise - 0.2).max(0.0)), hurdles);
        assert_eq!(list(|noise, _| (noise - 0.2).clamp(0.0, 0.7)), ["gaussian"]);
        assert_eq!(list(|noise, _| (9.0 * noise).floor() / 255.0), ["gaussian"]);
    }
}
