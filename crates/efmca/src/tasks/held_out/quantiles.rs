//! Where held-out entries lie in the distributions that a model predicts for them.

use ndarray::{ArrayView1, ArrayView2};
use rayon::prelude::*;

use super::split::HeldOut;
use super::{Posteriors, Responsibilities, Split, rows_of};
use crate::error::Result;
use crate::family::{Family, Measure, cumulative};
use crate::hash;
use crate::model::{Model, Resolution, Tables};

/// Randomised quantile residuals (Dunn and Smyth, 1996) of values of one column under mixtures $\sum_h r_h p(y;\vec\eta_h)$: the
/// probability of what is below a value, with a random part of the probability of the value itself or of the interval that it stands
/// for. They are uniform on $\lbrack 0, 1\rbrack$ if the values came from the mixtures.
pub(crate) fn quantiles(
    family: &dyn Family,
    etas: &[Vec<f64>],
    resolution: &Resolution,
    y: &[f64],
    weights: ArrayView2<'_, f64>,
    seed: u64,
) -> Vec<f64> {
    let counting = family.support().measure == Measure::Counting;
    let atom = family.support().measure == Measure::AtomAtZero;
    // the ends of what a value stands for; a probability of the value itself is between the distribution function before and at it
    let ends: Vec<(f64, f64)> = y
        .iter()
        .map(|y| match resolution.cell(*y) {
            _ if counting || (atom && *y == 0.0 && resolution.is_continuous()) => (y.next_down(), *y),
            Some((low, high)) => (if atom && low <= 0.0 { (-1.0f64).min(low) } else { low }, high),
            None => (*y, *y),
        })
        .collect();
    let mut points: Vec<f64> = ends.iter().flat_map(|(low, high)| [*low, *high]).collect();
    points.sort_by(f64::total_cmp);
    points.dedup();
    let place = |point: f64| points.partition_point(|other| *other < point);
    let places: Vec<(usize, usize)> = ends.iter().map(|(low, high)| (place(*low), place(*high))).collect();
    let below: Vec<Vec<f64>> = etas.iter().map(|eta| cumulative(family, eta, &points)).collect();
    let mixed = |weights: ArrayView1<'_, f64>, place: usize| {
        let total: f64 = weights.sum();
        weights.iter().zip(&below).map(|(r, below)| r * below[place]).sum::<f64>() / total
    };
    (places.iter().zip(weights.outer_iter()).enumerate())
        .map(|(index, ((low, high), weights))| {
            let (low, high) = (mixed(weights, *low), mixed(weights, *high));
            let share = (hash::of_place(seed ^ 0x51_7cc1, index as u64) >> 11) as f64 / (1u64 << 53) as f64;
            (low + share * (high - low)).clamp(0.0, 1.0)
        })
        .collect()
}

impl Split<'_> {
    /// The randomised quantile residuals of the held-out entries of each column of a table under `model`, which did not see them.
    pub(crate) fn quantiles<'r>(
        &self,
        model: &Model,
        resolution: impl Fn(usize) -> &'r Resolution + Sync,
        seed: u64,
    ) -> Result<Vec<Vec<f64>>> {
        let HeldOut::Cells(table) = &self.held_out else { return Ok(Vec::new()) };
        let (responsibilities, tables) = (Responsibilities::new(model, &*self.seen)?, Tables::new(model));
        let posteriors = Posteriors { responsibilities: &responsibilities, tables: &tables };
        let seen = rows_of(&*self.seen);
        let column = |d: usize| {
            let held_out = |n: &usize| seen[[*n, d]].is_nan() && !table[[*n, d]].is_nan();
            let rows: Vec<usize> = (0..table.nrows()).filter(held_out).collect();
            let weights = posteriors.responsibilities.of_column(posteriors.tables, d).select(ndarray::Axis(0), &rows);
            let (family, span) = (model.columns().family(d), model.columns().span(d));
            let eta = |h: usize| span.clone().map(|k| tables.eta[[h, k]]).collect();
            let etas: Vec<Vec<f64>> = (0..tables.eta.nrows()).map(eta).collect();
            let y: Vec<f64> = rows.iter().map(|n| table[[*n, d]]).collect();
            quantiles(&**family, &etas, resolution(d), &y, weights.view(), seed.wrapping_add(d as u64))
        };
        Ok((0..model.d()).into_par_iter().map(column).collect())
    }

    /// The entries of column `d` that training sees, for each held-out one.
    pub(crate) fn seen_for_each_held_out(&self, d: usize) -> f64 {
        let HeldOut::Cells(table) = &self.held_out else { return 1.0 };
        let present = table.column(d).iter().filter(|value| !value.is_nan()).count();
        let seen = rows_of(&*self.seen).column(d).iter().filter(|value| !value.is_nan()).count();
        seen as f64 / (present - seen).max(1) as f64
    }
}
