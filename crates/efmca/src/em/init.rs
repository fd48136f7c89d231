//! Where training starts.

use ndarray::{Array1, Array2, ArrayView1};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::distinct::DistinctRows;
use crate::model::{Columns, Model, Statistics, Superposition};

/// How the dictionaries start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Init {
    /// The paper's start (appendix C.1): the mean of the data plus a little Gaussian noise, independent in every entry,
    /// with a standard deviation of `scale` times that of the column.
    ///
    /// For families with several parameters the mean is taken over $1/\text{scale}^2$ random rows instead, which has
    /// the same scatter and stays inside the domain.
    MeanNoise {
        /// Noise in units of the column's standard deviation.
        scale: f64,
    },
    /// Each cause from one random row of the data, mixed with the mean of the data.
    Rows {
        /// The share of the row, between 0 and 1.
        share: f64,
    },
    /// Each cause from a cluster of similar rows (k-means on standardised columns), as in the paper's runs on natural images
    /// (appendix C.2).
    Clusters {
        /// The first spread of families that have one of their own, in standard deviations of all data (the paper's: 1).
        spread: f64,
    },
    /// The parameters of a model that exists already: all of them, its priors and its background too, whatever else
    /// is set about the start.
    Model(Box<Model>),
    /// The posteriors of a model of the same data that may have other families: they make the first parameters, as those of
    /// a Gaussian model do in the paper's warm start. Several starts are the same then, and one is enough.
    Posteriors(Box<Model>),
}

/// The starting value of an entry of the dictionaries that belongs to a row: its statistics mixed with the average.
pub(super) fn mixed_row(
    columns: &Columns,
    average: &Array1<f64>,
    t: &[f64],
    present: &[bool],
    share: f64,
) -> Array1<f64> {
    let mut w = average.clone();
    for (_, family, span) in columns.iter().filter(|(d, _, _)| present[*d]) {
        for k in span.clone() {
            w[k] += share * (t[k] - average[k]);
        }
        project(&mut w, family, span);
    }
    w
}

/// The starting profile of a group of rows with these mean statistics.
pub(super) fn of_group(
    columns: &Columns,
    t_bar: ArrayView1<'_, f64>,
    average: &Array1<f64>,
    spread: f64,
) -> Array1<f64> {
    let mut profile = average.clone();
    for (_, family, span) in columns.iter() {
        let mut w: Vec<f64> = span.clone().map(|k| average[k]).collect();
        let t_bar: Vec<f64> = span.clone().map(|k| t_bar[k]).collect();
        family.move_to(&t_bar, spread, &mut w);
        family.project(&mut w);
        span.zip(w).for_each(|(k, w)| profile[k] = w);
    }
    profile
}

fn project(w: &mut Array1<f64>, family: &crate::family::SharedFamily, span: std::ops::Range<usize>) {
    if let Some(w) = w.as_slice_mut() {
        family.project(&mut w[span]);
    }
}

/// $H \times K$ starting dictionaries.
pub(super) fn dictionaries(
    init: &Init,
    h: usize,
    statistics: &Statistics,
    average: &Array1<f64>,
    rng: &mut ChaCha8Rng,
) -> Array2<f64> {
    let mut w = Array2::zeros((h, statistics.columns.k()));
    let rows = DistinctRows::of(statistics);
    let deviations = deviations(statistics, average);
    for mut row in w.outer_iter_mut() {
        let profile = match init {
            Init::MeanNoise { scale } => mean_noise(*scale, statistics, average, &deviations, &rows, rng),
            Init::Rows { share } => {
                let (t, present) = statistics.row(rows.draw(rng));
                mixed_row(&statistics.columns, average, &t, &present, *share)
            }
            Init::Model(_) | Init::Posteriors(_) | Init::Clusters { .. } => average.clone(),
        };
        row.assign(&profile);
    }
    w
}

fn mean_noise(
    scale: f64,
    statistics: &Statistics,
    average: &Array1<f64>,
    deviations: &[f64],
    rows: &DistinctRows,
    rng: &mut ChaCha8Rng,
) -> Array1<f64> {
    let mut w = average.clone();
    for (d, family, span) in statistics.columns.iter() {
        if span.len() == 1 {
            let z: f64 = StandardNormal.sample(rng);
            let noise = scale * z * deviations[span.start];
            w[span.start] = near_average(average[span.start], noise, family);
        } else {
            let count = (1.0 / (scale * scale)).ceil().clamp(1.0, rows.len() as f64) as usize;
            for _ in 0..count {
                let n = rows.draw(rng);
                if statistics.present.as_ref().is_none_or(|present| present[[n, d]] > 0.0) {
                    for k in span.clone() {
                        w[k] += (statistics.t[[n, k]] - average[k]) / count as f64;
                    }
                }
            }
        }
        project(&mut w, family, span);
    }
    w
}

/// The average plus noise, or as much of it as stays inside the domain. On its edge an entry would make rows impossible,
/// and where values are mostly small and sometimes large, noise of a tenth of a deviation can get there.
fn near_average(average: f64, noise: f64, family: &crate::family::SharedFamily) -> f64 {
    let inside = |w: &f64| {
        let mut projected = [*w];
        family.project(&mut projected);
        projected[0] == *w
    };
    let shares = (0..8).map(|halvings| average + noise * 0.5f64.powi(halvings));
    shares.into_iter().find(inside).unwrap_or(average)
}

/// The standard deviation of each statistic.
fn deviations(statistics: &Statistics, average: &Array1<f64>) -> Vec<f64> {
    let mut sums = vec![0.0; average.len()];
    let mut counts = vec![0.0; average.len()];
    for n in 0..statistics.n() {
        for (d, _, span) in statistics.columns.iter() {
            let weight = statistics.weights[n] * statistics.present.as_ref().map_or(1.0, |present| present[[n, d]]);
            for k in span {
                sums[k] += weight * (statistics.t[[n, k]] - average[k]).powi(2);
                counts[k] += weight;
            }
        }
    }
    sums.iter().zip(&counts).map(|(sum, count)| if *count > 0.0 { (sum / count).sqrt() } else { 0.0 }).collect()
}

/// A starting background: the average of the weakest tenth of the rows, in which few causes or none are active.
///
/// The weakest values of each column would do where values are near their means. With much noise they are weaker than
/// the background, and then a cause takes its place.
pub(super) fn weak_rows(statistics: &Statistics, average: &Array1<f64>, rule: Superposition) -> Array1<f64> {
    let rows = DistinctRows::of(statistics).places;
    let strengths = strengths(statistics, average, rule, &rows);
    let weak = weakest_tenth(statistics, &rows, &strengths);
    let mut w = average.clone();
    for (d, family, span) in statistics.columns.iter() {
        let present = |n: usize| statistics.present.as_ref().is_none_or(|present| present[[n, d]] > 0.0);
        let here = || weak.iter().filter(|(n, _)| present(*n));
        let count: f64 = here().map(|(_, weight)| weight).sum();
        for k in span.clone().filter(|_| count > 0.0) {
            let sum: f64 = here().map(|(n, weight)| weight * statistics.t[[*n, k]]).sum();
            // a tenth of the average keeps equal values off the edge of the domain
            w[k] = 0.9 * sum / count + 0.1 * average[k];
        }
        project(&mut w, family, span);
    }
    w
}

/// How strong each of `rows` is, on average over its columns in units of their scatter.
fn strengths(statistics: &Statistics, average: &Array1<f64>, rule: Superposition, rows: &[(usize, usize)]) -> Vec<f64> {
    let mut strength = vec![(0.0, 0.0); rows.len()];
    for (d, family, span) in statistics.columns.iter() {
        let present = |n: usize| statistics.present.as_ref().is_none_or(|present| present[[n, d]] > 0.0);
        // Mixed with the average, the statistics of a single value have a dominance that tells weak from strong.
        let dominance = |n: usize| {
            let mut entry: Vec<f64> = span.clone().map(|k| 0.5 * (statistics.t[[n, k]] + average[k])).collect();
            family.project(&mut entry);
            rule.strength(family.dominance(&entry))
        };
        let found: Vec<Option<f64>> = rows.iter().map(|(n, _)| present(*n).then(|| dominance(*n))).collect();
        let values = || rows.iter().zip(&found).filter_map(|((n, _), value)| Some((statistics.weights[*n], (*value)?)));
        let total: f64 = values().map(|(weight, _)| weight).sum();
        let mean = values().map(|(weight, value)| weight * value).sum::<f64>() / total;
        let spread = values().map(|(weight, value)| weight * (value - mean).abs()).sum::<f64>() / total;
        for ((sum, count), value) in strength.iter_mut().zip(&found) {
            if let Some(value) = value
                && spread > 0.0
            {
                *sum += (value - mean) / spread;
                *count += 1.0;
            }
        }
    }
    strength.iter().map(|(sum, count)| sum / f64::max(*count, 1.0)).collect()
}

/// The rows at the weak end that have a tenth of the weight, each with as much of its weight as is within it.
fn weakest_tenth(statistics: &Statistics, rows: &[(usize, usize)], strengths: &[f64]) -> Vec<(usize, f64)> {
    let mut order: Vec<(f64, usize, usize)> =
        strengths.iter().zip(rows).map(|(strength, (n, place))| (*strength, *place, *n)).collect();
    // equal rows stand together, as if they were one that weighs more
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let total: f64 = order.iter().map(|(_, _, n)| statistics.weights[*n]).sum();
    // where rows can be counted, a tenth of them is a whole number
    let counted = order.iter().all(|(_, _, n)| statistics.weights[*n].fract() == 0.0);
    let mut left = if counted { (total / WEAK).ceil() } else { total / WEAK };
    let mut weak = Vec::new();
    for (_, _, n) in order {
        if left <= 0.0 {
            break;
        }
        let weight = statistics.weights[n].min(left);
        weak.push((n, weight));
        left -= weight;
    }
    weak
}

/// One row of this many is weak.
const WEAK: f64 = 10.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::family;

    #[test]
    fn noise_stays_inside_the_domain() -> crate::Result<()> {
        let exponential = family("exponential")?;
        assert_eq!(near_average(2.0, -1.5, &exponential), 0.5);
        assert_eq!(near_average(2.0, -3.0, &exponential), 0.5);
        assert!((near_average(0.9, 0.3, &family("bernoulli")?) - 0.975).abs() < 1e-12);
        Ok(())
    }
}
