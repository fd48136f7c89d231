//! All $2^H$ states of a model: which cause owns which column in each.

use std::ops::Range;

use super::{Moments, StateSums};
use crate::model::{Columns, Model, Shares, Superposer, Tables};

/// $\mathcal A_{dh}(\vec s, \Theta)$ (Eqn. 29) for each of the $2^H$ states; state $i$ has cause $h$ active where bit $h$
/// of $i$ is set.
#[derive(Debug, Clone)]
pub struct States {
    count: usize,
    assignment: Assignment,
}

#[derive(Debug, Clone)]
enum Assignment {
    /// $2^H \times D$: the winner; $H$ is the background.
    Winner(Vec<u8>),
    /// The smooth maximum: for each state and column the causes with their shares, one column after the other, where
    /// those of the next column start, and what they predict together.
    Shared { shares: Shares, start: Vec<usize>, eta: Vec<f64>, a: Vec<f64> },
}

impl States {
    /// Every state of `model`.
    pub(crate) fn new(model: &Model, tables: &Tables) -> States {
        let assignment = match model.superposition().rho() {
            Some(_) => shared(model, tables),
            None => winners(model, tables),
        };
        States { count: 1 << model.h(), assignment }
    }

    /// $2^H$.
    pub fn count(&self) -> usize {
        self.count
    }

    /// $A(\tilde\eta_d(\vec s, \Theta))$; `d` is the number of columns.
    pub(super) fn a(&self, tables: &Tables, state: usize, column: usize, d: usize) -> f64 {
        match &self.assignment {
            Assignment::Winner(winner) => tables.a[[usize::from(winner[state * d + column]), column]],
            Assignment::Shared { a, .. } => a[state * d + column],
        }
    }

    /// $\tilde\eta_d(\vec s, \Theta)$ (Eqn. 43) for all columns.
    pub(super) fn eta(&self, tables: &Tables, state: usize, columns: &Columns) -> Vec<f64> {
        match &self.assignment {
            Assignment::Winner(winner) => {
                let owner = |d: usize| usize::from(winner[state * columns.d() + d]);
                columns.iter().flat_map(|(d, _, span)| span.map(move |k| tables.eta[[owner(d), k]])).collect()
            }
            Assignment::Shared { eta, .. } => eta[state * columns.k()..][..columns.k()].to_vec(),
        }
    }

    /// Calls `see` for every column that `state` and `other` predict differently, with the differences of the natural
    /// parameters and of $A$.
    pub(super) fn each_change(
        &self,
        tables: &Tables,
        columns: &Columns,
        state: usize,
        other: usize,
        mut see: impl FnMut(usize, Range<usize>, &[f64], f64),
    ) {
        let d = columns.d();
        let mut by = vec![0.0; columns.l_max()];
        for (column, _, span) in columns.iter() {
            let by = &mut by[..span.len()];
            match &self.assignment {
                Assignment::Winner(winner) => {
                    let [new, old] = [state, other].map(|state| usize::from(winner[state * d + column]));
                    if new == old {
                        continue;
                    }
                    for (by, k) in by.iter_mut().zip(span.clone()) {
                        *by = tables.eta[[new, k]] - tables.eta[[old, k]];
                    }
                }
                Assignment::Shared { eta, .. } => {
                    for (by, k) in by.iter_mut().zip(span.clone()) {
                        *by = eta[state * columns.k() + k] - eta[other * columns.k() + k];
                    }
                }
            }
            let a = self.a(tables, state, column, d) - self.a(tables, other, column, d);
            see(column, span, by, a);
        }
    }

    /// $\mathbb E_q\lbrack\mathcal A_{dh}\rbrack$ of one row into `found`, $(H+1) \times D$: how likely each cause, and last the
    /// background, is to own each column.
    pub(super) fn responsibilities(&self, q: &[f64], d: usize, found: &mut [f64]) {
        found.fill(0.0);
        for (state, q) in q.iter().enumerate() {
            match &self.assignment {
                Assignment::Winner(winner) => {
                    for (column, owner) in winner[state * d..][..d].iter().enumerate() {
                        found[usize::from(*owner) * d + column] += q;
                    }
                }
                Assignment::Shared { shares, start, .. } => {
                    for column in 0..d {
                        let place = state * d + column;
                        for (h, share) in &shares[start[place]..start[place + 1]] {
                            found[h * d + column] += share * q;
                        }
                    }
                }
            }
        }
    }

    /// Gives the sums over states to the causes that own the columns in them: $\sum_n\mathbb E\lbrack \mathcal A_{dh}\rbrack $ and
    /// $\sum_n\mathbb E\lbrack \mathcal A_{dh}\rbrack  T_l(y_d^{(n)})$, the denominator and numerator of Eqn. 47.
    ///
    /// `columns` are those of the statistics that were summed.
    pub fn distribute(&self, columns: &Columns, sums: &StateSums) -> Moments {
        let (d, causes) = (columns.d(), self.count.ilog2() as usize);
        let k = columns.k();
        let (mut assigned, mut totals) = (vec![0.0; (causes + 1) * d], vec![0.0; (causes + 1) * k]);
        let mut moments = Moments::zeros(causes, columns);
        moments.weight = sums.weight;
        moments.bound = sums.bound;
        for state in 0..self.count {
            for h in (0..causes).filter(|h| state >> h & 1 == 1) {
                moments.active[h] += sums.q(state);
            }
            let line = sums.line(state);
            for (column, _, span) in columns.iter() {
                let present = sums.present(state, column);
                let mut give = |h: usize, share: f64| {
                    assigned[h * d + column] += share * present;
                    for (to, t) in totals[h * k..][span.clone()].iter_mut().zip(&line[span.clone()]) {
                        *to += share * t;
                    }
                };
                match &self.assignment {
                    Assignment::Winner(winner) => give(usize::from(winner[state * d + column]), 1.0),
                    Assignment::Shared { shares, start, .. } => {
                        let place = state * d + column;
                        shares[start[place]..start[place + 1]].iter().for_each(|(h, share)| give(*h, *share));
                    }
                }
            }
        }
        // flat slices above, because this loop visits every state and column
        moments.assigned.iter_mut().zip(assigned).for_each(|(to, value)| *to = value);
        moments.sums.iter_mut().zip(totals).for_each(|(to, value)| *to = value);
        moments
    }

    /// $Q_d = \sum_n\sum_{\vec s} q^{(n)}(\vec s) \big(\tilde\eta_d^T\vec T(y_d^{(n)}) - A(\tilde\eta_d)\big)$, the part of
    /// the bound that belongs to each column, with $q$ as it was and the parameters as they are in `tables`.
    pub fn column_objectives(&self, tables: &Tables, columns: &Columns, sums: &StateSums) -> Vec<f64> {
        let mut objectives = vec![0.0; columns.d()];
        for state in 0..self.count {
            let eta = self.eta(tables, state, columns);
            for (column, _, span) in columns.iter() {
                let inner: f64 = span.map(|k| eta[k] * sums.t(state, k)).sum();
                let a = self.a(tables, state, column, columns.d());
                objectives[column] += inner - sums.present(state, column) * a;
            }
        }
        objectives
    }
}

/// The winners of each state, from those of the state without its highest cause: that one comes after all the others,
/// as ties demand.
fn winners(model: &Model, tables: &Tables) -> Assignment {
    let (h, d) = (model.h(), model.d());
    let mut winner = vec![h as u8; (1 << h) * d];
    for state in 1..1 << h {
        let highest = usize::ilog2(state) as usize;
        let (done, rest) = winner.split_at_mut(state * d);
        let before = &done[(state - (1 << highest)) * d..][..d];
        for (column, (new, old)) in rest[..d].iter_mut().zip(before).enumerate() {
            let wins = tables.winners.beats(highest, usize::from(*old), column);
            *new = if wins { highest as u8 } else { *old };
        }
    }
    Assignment::Winner(winner)
}

fn shared(model: &Model, tables: &Tables) -> Assignment {
    let (count, columns) = (1 << model.h(), model.columns());
    let superposer = Superposer::new(model, tables);
    let (mut all, mut start) = (Vec::new(), vec![0]);
    let (mut eta, mut a) = (vec![0.0; count * columns.k()], Vec::with_capacity(count * columns.d()));
    let (mut w, mut shares) = (vec![0.0; columns.l_max()], Vec::new());
    for state in 0..count {
        let active: Vec<usize> = (0..model.h()).filter(|h| state >> h & 1 == 1).collect();
        for (d, family, span) in columns.iter() {
            let w = &mut w[..span.len()];
            superposer.shares(&active, d, &mut shares);
            superposer.w_bar(model, d, &shares, w);
            let eta = &mut eta[state * columns.k()..][span];
            family.phi(w, eta);
            let weight = columns.weight(d);
            a.push(weight * family.a(eta));
            eta.iter_mut().for_each(|eta| *eta *= weight);
            all.extend_from_slice(&shares);
            start.push(all.len());
        }
    }
    Assignment::Shared { shares: all, start, eta, a }
}
