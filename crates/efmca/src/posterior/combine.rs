//! Which cause an observable belongs to in a given state.

use crate::model::{Model, Superposition, Tables};

/// $h(d, \vec s, \Theta)$: the strongest of the `active` causes (in ascending order) and the background, row $H$.
///
/// Ties go to the first cause, and to any cause before the background.
pub(super) fn winner(tables: &Tables, active: impl IntoIterator<Item = usize>, d: usize) -> usize {
    let background = tables.strength.nrows() - 1;
    active.into_iter().fold(background, |best, h| if beats(tables, h, best, d) { h } else { best })
}

/// Whether cause `h` takes column `d` from `best`, which comes before it.
pub(super) fn beats(tables: &Tables, h: usize, best: usize, d: usize) -> bool {
    let (new, old) = (tables.strength[[h, d]], tables.strength[[best, d]]);
    new > old || (new == old && best == tables.strength.nrows() - 1)
}

/// $\mathcal A_{dh}(\vec s, \Theta)$ for the active causes and the background (last): one for the winner, or the
/// shares of the smooth maximum.
pub(super) fn shares(model: &Model, tables: &Tables, active: &[usize], d: usize) -> Vec<(usize, f64)> {
    let Superposition::Smooth { rho } = model.superposition() else {
        return vec![(winner(tables, active.iter().copied(), d), 1.0)];
    };
    let causes: Vec<usize> = active.iter().copied().chain(std::iter::once(model.h())).collect();
    // powers by logarithms: M^rho overflows long before its share does
    let logs: Vec<f64> = causes.iter().map(|h| rho * tables.strength[[*h, d]].ln()).collect();
    let max = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if max == f64::NEG_INFINITY {
        let share = 1.0 / causes.len() as f64;
        return causes.into_iter().map(|h| (h, share)).collect();
    }
    let total: f64 = logs.iter().map(|log| (log - max).exp()).sum();
    causes.iter().zip(&logs).map(|(h, log)| (*h, (log - max).exp() / total)).collect()
}

/// $\bar W_d(\vec s, \Theta)$ for one column.
pub(super) fn combine_column(model: &Model, tables: &Tables, active: &[usize], d: usize, w: &mut [f64]) {
    let span = model.columns().span(d);
    let shares = shares(model, tables, active, d);
    w.fill(0.0);
    for (h, share) in &shares {
        for (w, entry) in w.iter_mut().zip(&model.profile(*h)[span.clone()]) {
            *w += share * entry;
        }
    }
    if let Superposition::Smooth { rho } = model.superposition() {
        let family = model.columns().family(d);
        let entry = |h: usize| model.profile(h)[span.start];
        // M = W > 0 with L = 1: the paper's power norm, max * (sum (W/max)^rho)^(1/rho)
        if span.len() == 1 && shares.iter().all(|(h, _)| entry(*h) > 0.0 && family.f(&[entry(*h)]) == entry(*h)) {
            let max = shares.iter().map(|(h, _)| entry(*h)).fold(0.0, f64::max);
            let sum: f64 = shares.iter().map(|(h, _)| (rho * (entry(*h) / max).ln()).exp()).sum();
            w[0] = max * sum.powf(1.0 / rho);
        }
        family.project(w);
    }
}

/// $\bar W(\vec s, \Theta)$ for all columns, given the active causes in ascending order.
pub(crate) fn combine(model: &Model, tables: &Tables, active: &[usize]) -> Vec<f64> {
    let columns = model.columns();
    let mut w = vec![0.0; columns.k()];
    for d in 0..columns.d() {
        combine_column(model, tables, active, d, &mut w[columns.span(d)]);
    }
    w
}
