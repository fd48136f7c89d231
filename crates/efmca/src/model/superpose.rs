//! Superposition: a column under all active causes, $\mathcal A_{dh}$ and $\bar W_d$.

use ndarray::Array2;

use super::{Model, Tables};

/// The causes that have a part of a column, each with its share $\mathcal A_{dh}(\vec s, \Theta)$ of it.
pub(crate) type Shares = Vec<(usize, f64)>;

/// Finds the shares of a state: the winner takes all, or the smooth maximum of appendix C.1 divides.
pub(crate) struct Superposer<'a> {
    tables: &'a Tables,
    /// $\rho$ and $\rho\log M_{dh}$: powers by logarithms, because $M^\rho$ overflows long before its share does.
    smooth: Option<(f64, Array2<f64>)>,
}

impl<'a> Superposer<'a> {
    pub(crate) fn new(model: &Model, tables: &'a Tables) -> Superposer<'a> {
        let logs = |rho: f64| {
            let mut logs = tables.strength.clone();
            for mut column in logs.columns_mut() {
                let smallest = column.iter().copied().fold(0.0, f64::min);
                column.mapv_inplace(|strength| rho * (strength - smallest).ln());
            }
            (rho, logs)
        };
        Superposer { tables, smooth: model.superposition().rho().map(logs) }
    }

    /// Puts the shares of column `d` into `shares`, given the active causes in ascending order.
    pub(crate) fn shares(&self, active: &[usize], d: usize, shares: &mut Shares) {
        shares.clear();
        let Some((_, logs)) = &self.smooth else {
            shares.push((self.tables.winners.winner(active.iter().copied(), d), 1.0));
            return;
        };
        let background = self.tables.winners.background();
        let everyone = || active.iter().copied().chain([background]);
        let max = everyone().map(|h| logs[[h, d]]).fold(f64::NEG_INFINITY, f64::max);
        // where everyone has a strength of zero, all are equal
        let power = |h: usize| if max == f64::NEG_INFINITY { 1.0 } else { (logs[[h, d]] - max).exp() };
        shares.extend(everyone().map(|h| (h, power(h))));
        let total: f64 = shares.iter().map(|(_, power)| power).sum();
        shares.iter_mut().for_each(|(_, share)| *share /= total);
    }

    /// $\bar W_d(\vec s, \Theta)$ for one column and its shares.
    pub(crate) fn w_bar(&self, model: &Model, d: usize, shares: &Shares, w: &mut [f64]) {
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

/// $\bar W(\vec s, \Theta)$ for all columns, given the active causes in ascending order.
pub(super) fn w_bar(model: &Model, tables: &Tables, active: &[usize]) -> Vec<f64> {
    let columns = model.columns();
    let (superposer, mut shares) = (Superposer::new(model, tables), Vec::new());
    let mut w = vec![0.0; columns.k()];
    for d in 0..columns.d() {
        superposer.shares(active, d, &mut shares);
        superposer.w_bar(model, d, &shares, &mut w[columns.span(d)]);
    }
    w
}
