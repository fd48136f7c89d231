//! Which cause an observable belongs to in a given state.

use ndarray::Array2;

use crate::model::{Model, Tables};

/// Whether cause `h` takes column `d` from `best`, which comes before it.
///
/// Ties go to the first cause, and to any cause before the background, row $H$.
pub(super) fn beats(tables: &Tables, h: usize, best: usize, d: usize) -> bool {
    let (new, old) = (tables.strength[[h, d]], tables.strength[[best, d]]);
    new > old || (new == old && best == tables.strength.nrows() - 1)
}

/// The causes that own a column, each with its part $\mathcal A_{dh}(\vec s, \Theta)$ of it.
pub(super) type Shares = Vec<(usize, f64)>;

/// Finds out who owns what: the winner takes all, or the smooth maximum shares.
pub(super) struct Owners<'a> {
    tables: &'a Tables,
    /// $\rho$ and $\rho\log M_{dh}$: powers by logarithms, because $M^\rho$ overflows long before its share does.
    smooth: Option<(f64, Array2<f64>)>,
}

impl<'a> Owners<'a> {
    pub(super) fn new(model: &Model, tables: &'a Tables) -> Owners<'a> {
        let logs = |rho: f64| {
            let mut logs = tables.strength.clone();
            for mut column in logs.columns_mut() {
                let smallest = column.iter().copied().fold(0.0, f64::min);
                column.mapv_inplace(|strength| rho * (strength - smallest).ln());
            }
            (rho, logs)
        };
        Owners { tables, smooth: model.superposition().rho().map(logs) }
    }

    /// Puts the owners of column `d` into `shares`, given the active causes in ascending order.
    pub(super) fn find(&self, active: &[usize], d: usize, shares: &mut Shares) {
        let background = self.tables.strength.nrows() - 1;
        shares.clear();
        let Some((_, logs)) = &self.smooth else {
            let winner = |best, h: &usize| if beats(self.tables, *h, best, d) { *h } else { best };
            shares.push((active.iter().fold(background, winner), 1.0));
            return;
        };
        let everyone = || active.iter().copied().chain([background]);
        let max = everyone().map(|h| logs[[h, d]]).fold(f64::NEG_INFINITY, f64::max);
        // where everyone has a strength of zero, all are equal
        let power = |h: usize| if max == f64::NEG_INFINITY { 1.0 } else { (logs[[h, d]] - max).exp() };
        shares.extend(everyone().map(|h| (h, power(h))));
        let total: f64 = shares.iter().map(|(_, power)| power).sum();
        shares.iter_mut().for_each(|(_, share)| *share /= total);
    }

    /// $\bar W_d(\vec s, \Theta)$ for one column and its owners.
    pub(super) fn combine(&self, model: &Model, d: usize, shares: &Shares, w: &mut [f64]) {
        let span = model.columns().span(d);
        w.fill(0.0);
        for (h, share) in shares {
            for (w, entry) in w.iter_mut().zip(&model.profile(*h)[span.clone()]) {
                *w += share * entry;
            }
        }
        let Some((rho, _)) = self.smooth else { return };
        let family = model.columns().family(d);
        let entry = |h: usize| model.profile(h)[span.start];
        // M = W > 0 with L = 1: the paper's power norm. The largest share is 1/sum (W/max)^rho.
        if span.len() == 1 && shares.iter().all(|(h, _)| entry(*h) > 0.0 && family.f(&[entry(*h)]) == entry(*h)) {
            let max = shares.iter().map(|(h, _)| entry(*h)).fold(0.0, f64::max);
            let largest = shares.iter().map(|(_, share)| *share).fold(0.0, f64::max);
            w[0] = max * largest.powf(-1.0 / rho);
        }
        family.project(w);
    }
}

/// The causes in the order in which they take column `d`, down to the background, which always does.
pub(crate) fn order_of_owners(tables: &Tables, d: usize) -> Vec<usize> {
    let background = tables.strength.nrows() - 1;
    let mut order: Vec<usize> = (0..background).filter(|h| beats(tables, *h, background, d)).collect();
    // the sort is stable, so that of equals the first cause wins
    order.sort_by(|a, b| tables.strength[[*b, d]].total_cmp(&tables.strength[[*a, d]]));
    order.push(background);
    order
}

/// $\bar W(\vec s, \Theta)$ for all columns, given the active causes in ascending order.
pub(crate) fn combine(model: &Model, tables: &Tables, active: &[usize]) -> Vec<f64> {
    let columns = model.columns();
    let (owners, mut shares) = (Owners::new(model, tables), Vec::new());
    let mut w = vec![0.0; columns.k()];
    for d in 0..columns.d() {
        owners.find(active, d, &mut shares);
        owners.combine(model, d, &shares, &mut w[columns.span(d)]);
    }
    w
}
