//! Rows to draw from, where a row of weight two and two equal rows are the same.

use std::collections::HashMap;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::hash;
use crate::model::Statistics;

/// The different rows of a data set in the order in which they first appear, each with the weight of all rows that are equal to it.
///
/// A draw from them does not depend on whether a row is repeated or weighs more, and so neither does the start of a training.
#[derive(Debug)]
pub(super) struct DistinctRows {
    /// The number of each in the data.
    pub(super) rows: Vec<usize>,
    pub(super) weights: Vec<f64>,
    /// For each row that was looked at and counts: its number in the data, and the place of the first one that is equal to it.
    pub(super) places: Vec<(usize, usize)>,
    /// Sums of the weights up to each of them.
    cumulative: Vec<f64>,
    /// Whether all weights are whole numbers, so that rows can be counted.
    counted: bool,
}

impl DistinctRows {
    /// The rows of positive weight in `rows`; `key` tells a row from others.
    pub(super) fn new(
        rows: impl Iterator<Item = usize>,
        weight: impl Fn(usize) -> f64,
        mut key: impl FnMut(usize) -> (u64, u64),
    ) -> DistinctRows {
        let (mut found, mut weights): (Vec<usize>, Vec<f64>) = (Vec::new(), Vec::new());
        let (mut known, mut places): (HashMap<(u64, u64), usize>, _) = (HashMap::new(), Vec::new());
        for n in rows.filter(|n| weight(*n) > 0.0) {
            let place = *known.entry(key(n)).or_insert_with(|| {
                found.push(n);
                weights.push(0.0);
                found.len() - 1
            });
            weights[place] += weight(n);
            places.push((n, place));
        }
        let mut total = 0.0;
        let cumulative = weights.iter().map(|weight| {
            total += weight;
            total
        });
        let cumulative: Vec<f64> = cumulative.collect();
        let counted = weights.iter().all(|weight| weight.fract() == 0.0) && total < 2f64.powi(53);
        DistinctRows { rows: found, weights, places, cumulative, counted }
    }

    /// The rows of `statistics`.
    pub(super) fn of(statistics: &Statistics) -> DistinctRows {
        DistinctRows::new(
            0..statistics.n(),
            |n| statistics.weights[n],
            |n| {
                let present = statistics.present.iter().flat_map(|present| present.row(n));
                hash::wide(statistics.t.row(n).into_iter().chain(present).copied())
            },
        )
    }

    /// The number of different rows.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// A row of the data, each with a probability in proportion to its weight.
    pub(super) fn draw(&self, rng: &mut ChaCha8Rng) -> usize {
        let total = self.cumulative.last().copied().unwrap_or(0.0);
        let at = if self.counted { rng.random_range(0..total as usize) as f64 } else { rng.random::<f64>() * total };
        self.rows[self.cumulative.partition_point(|sum| *sum <= at).min(self.rows.len() - 1)]
    }
}
