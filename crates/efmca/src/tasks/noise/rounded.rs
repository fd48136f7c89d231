//! A column of rounded values: EM with the intervals that they stand for.
//!
//! The statistics of a rounded value are those of its interval, averaged with the density of the cause that owns it: the exact EM
//! step for rounded data. A cause whose values are all in one interval says nothing about its width, though, and would shrink
//! without end: it is as wide as the interval ([`mean_statistics`]), and causes between the two are between.

use super::fixed_search::EntrySums;
use crate::cancel;
use crate::family::Family;
use crate::family::cell::{log_probability, mean_statistics, member_statistics};
use crate::tasks::held_out::{Entries, normalised};

/// Variances of a cause in squared widths of an interval: from the first on a cause knows its width, from the second on it does
/// not matter where in its interval a value is, and from the third on the density is the same all over it.
const KNOWN: f64 = 0.25;
const WIDE: f64 = 25.0;
const VERY_WIDE: f64 = 1e4;
/// Responsibilities are at least this, so that they have a logarithm.
const SMALLEST: f64 = 1e-300;

/// The different values of a column, what they stand for, and their statistics.
pub(super) struct Cells {
    y: Vec<f64>,
    cells: Vec<(f64, f64)>,
    /// The place of each entry among the different values.
    places: Vec<usize>,
    /// Averages of $\vec T$ over the intervals, and of $\log h$ with the logarithm of their length.
    mean: Vec<Vec<f64>>,
    log_h: Vec<f64>,
}

impl Cells {
    pub(super) fn new(entries: &Entries, family: &dyn Family) -> Cells {
        let mut y = entries.y.clone();
        y.sort_by(f64::total_cmp);
        y.dedup();
        let places = entries.y.iter().map(|value| y.partition_point(|other| other < value)).collect();
        let cells: Vec<(f64, f64)> =
            y.iter().map(|value| entries.resolution.cell(*value).unwrap_or((*value, *value))).collect();
        let mut mean = vec![vec![0.0; family.l()]; y.len()];
        let log_h = y.iter().zip(&cells).zip(&mut mean);
        let log_h = log_h.map(|((y, cell), t)| mean_statistics(family, *y, *cell, t)).collect();
        Cells { y, cells, places, mean, log_h }
    }

    /// For each cause the variance of its values, in squared widths of their intervals.
    fn widths(&self, entries: &Entries) -> Vec<f64> {
        let sums = |h: usize| {
            let (mut weight, mut sum, mut squares, mut width) = (SMALLEST, 0.0, 0.0, 0.0);
            let origin = self.y[self.y.len() / 2];
            for (place, r) in self.places.iter().zip(entries.responsibilities.column(h)) {
                let (y, (low, high)) = (self.y[*place] - origin, self.cells[*place]);
                weight += r;
                sum += r * y;
                squares += r * y * y;
                width += r * (high - low).powi(2);
            }
            let variance = (squares / weight - (sum / weight).powi(2)).max(0.0);
            variance / (width / weight).max(f64::MIN_POSITIVE)
        };
        (0..entries.responsibilities.ncols()).map(sums).collect()
    }

    /// The responsibilities for entries with the weights of `prior` under `etas`, which go into `seen`, and the sums of the M-step.
    pub(super) fn e_step(
        &self,
        family: &dyn Family,
        etas: &[Vec<f64>],
        prior: &Entries,
        seen: &mut Entries,
    ) -> Option<EntrySums> {
        cancel::check();
        let widths = self.widths(seen);
        let centres: Vec<f64> = etas.iter().map(|eta| centre(family, eta)).collect();
        let bound = |h: usize, v: usize, a: f64| {
            let inner: f64 = etas[h].iter().zip(&self.mean[v]).map(|(eta, t)| eta * t).sum();
            inner - a + self.log_h[v]
        };
        let logs: Vec<Vec<f64>> = (0..etas.len())
            .map(|h| {
                let a = family.a(&etas[h]);
                let of_value = |v: usize| match widths[h] < WIDE {
                    true => log_probability(family, &etas[h], centres[h], self.cells[v]),
                    false => bound(h, v, a),
                };
                (0..self.y.len()).map(of_value).collect()
            })
            .collect();
        let mut owned = vec![vec![0.0; etas.len()]; self.y.len()];
        self.posteriors(&logs, prior, |entry, place, terms| {
            let mut row = seen.responsibilities.row_mut(entry);
            let log = normalised(terms, &mut row);
            owned[place].iter_mut().zip(&row).for_each(|(owned, r)| *owned += r);
            log
        });
        let mut sums = EntrySums::empty(etas.len(), family.l());
        let mut t = vec![0.0; family.l()];
        for (h, eta) in etas.iter().enumerate() {
            let share = if widths[h] < WIDE { (widths[h] / KNOWN).min(1.0) } else { 0.0 };
            for (v, owned) in owned.iter().enumerate() {
                let known = share > 0.0 && member_statistics(family, eta, self.cells[v], &mut t);
                let mean = &self.mean[v];
                if known {
                    t.iter_mut().zip(mean).for_each(|(t, mean)| *t = mean + share * (*t - mean));
                } else {
                    t.copy_from_slice(mean);
                }
                sums.add_to(h, owned[h], &t);
            }
        }
        Some(sums)
    }

    /// The logarithm of the probability of all entries.
    pub(super) fn log_likelihood(&self, family: &dyn Family, etas: &[Vec<f64>], prior: &Entries) -> f64 {
        let widths = self.widths(prior);
        let logs: Vec<Vec<f64>> = etas
            .iter()
            .zip(widths)
            .map(|(eta, width)| {
                let centre = centre(family, eta);
                let of_value = |(y, cell): (&f64, &(f64, f64))| match width < VERY_WIDE {
                    true => log_probability(family, eta, centre, *cell),
                    false => family.log_density(*y, eta) + (cell.1 - cell.0).ln(),
                };
                self.y.iter().zip(&self.cells).map(of_value).collect()
            })
            .collect();
        self.posteriors(&logs, prior, |_, _, terms| crate::special::log_sum_exp(terms))
    }

    /// Calls `see` with each entry, its place among the different values and the terms of its mixture; the sum of what it returns.
    fn posteriors(&self, logs: &[Vec<f64>], prior: &Entries, mut see: impl FnMut(usize, usize, &[f64]) -> f64) -> f64 {
        let mut terms = vec![0.0; logs.len()];
        let mut sum = 0.0;
        for (entry, (place, weights)) in self.places.iter().zip(prior.responsibilities.outer_iter()).enumerate() {
            for ((term, logs), weight) in terms.iter_mut().zip(logs).zip(weights) {
                *term = weight.max(SMALLEST).ln() + logs[*place].max(LOWEST);
            }
            sum += see(entry, *place, &terms);
        }
        sum
    }
}

/// The lowest logarithm of a probability; one that no cause can have would end all comparisons.
const LOWEST: f64 = -1e4;

/// Where the mass of a member is.
fn centre(family: &dyn Family, eta: &[f64]) -> f64 {
    let mut w = vec![0.0; eta.len()];
    family.grad_a(eta, &mut w);
    family.f(&w)
}
