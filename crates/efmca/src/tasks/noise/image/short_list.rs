//! The few families that are worth a comparison for an image.

use super::level::dispersion;
use super::tiles::Tile;
use crate::tasks::noise::candidates::{Kind, Values};

/// Counts up to this are few enough that a Gaussian need not be asked.
const FEW_COUNTS: f64 = 16.0;
/// The variance over that of Poisson counts from which on wider families are tried, and below which narrower ones are.
const WIDER: f64 = 1.25;
const NARROWER: f64 = 0.8;
/// The number of trials that binomial counts have at the most: with more they are hardly told from Poisson counts.
const MOST_TRIALS: f64 = 255.0;
/// The variance over that of geometric counts from which on these are tried.
const GEOMETRIC: f64 = 0.5;

/// The families to compare, the first of them the one to take if nothing can be compared. Laplace noise is not among them: its centre is
/// the same in all pixels, so that there would be nothing to see in a clean image.
pub(super) fn short_list(values: &Values, tiles: &[Tile]) -> Vec<&'static str> {
    let (min, max) = (values.summary.min, values.summary.max);
    match values.kind {
        Kind::YesNo => vec!["bernoulli"],
        Kind::Integer if min >= 0.0 => counts(max, tiles),
        Kind::ZeroOrPositive => vec!["hurdle-gamma", "hurdle-exponential", "hurdle-log-normal"],
        Kind::Real if min > 0.0 => {
            let mut list = vec!["gaussian", "exponential", "gamma:k=?", "log-normal"];
            if max < 1.0 {
                list.push("beta");
            }
            list
        }
        Kind::Integer | Kind::Real => vec!["gaussian"],
    }
}

fn counts(max: f64, tiles: &[Tile]) -> Vec<&'static str> {
    let of_poisson = dispersion(tiles, |mean| mean).unwrap_or(1.0);
    let of_geometric = dispersion(tiles, |mean| mean + mean * mean).unwrap_or(0.0);
    let mut list = vec!["poisson"];
    if of_geometric > GEOMETRIC {
        list.push("geometric");
    }
    if of_poisson > WIDER {
        list.push("negative-binomial:r=?");
    }
    if of_poisson < NARROWER && max <= MOST_TRIALS {
        list.push("binomial:n=?");
    }
    if max > FEW_COUNTS {
        list.push("gaussian");
    }
    list
}
