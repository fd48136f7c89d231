//! One column of a table, given all others: a mixture whose weights differ from row to row.

use ndarray::Array2;

use super::candidates::{Candidate, Kind};
use super::held_out::LEAST;
use super::interval::log_probability;
use super::known::{Owned, OwnedSums, search};
use crate::family::{Measure, SharedFamily};
use crate::model::{Model, Tables};

/// EM steps in a column.
const STEPS: usize = 10;

/// What is known of a column when a family is tried in it.
pub(super) struct Given {
    /// Entries that training sees, with $c_{nh}$.
    pub(super) seen: Owned,
    /// Hidden ones, likewise.
    hidden: Owned,
    whole: bool,
    /// Whether nothing is known of the other columns.
    pub(super) by_itself: bool,
}

impl Given {
    /// A column by itself: all entries have one owner.
    pub(super) fn by_itself(shown: &Array2<f64>, all: &Array2<f64>, d: usize, kind: Kind) -> Given {
        let owners = Array2::ones((all.nrows(), 1));
        Given::new(shown, all, d, kind, &owners)
    }

    /// A column given the others: what its own values say about their owners is taken out again.
    pub(super) fn others(
        shown: &Array2<f64>,
        all: &Array2<f64>,
        d: usize,
        kind: Kind,
        mut owners: Array2<f64>,
        model: &Model,
        tables: &Tables,
    ) -> Given {
        let (family, span) = (model.columns().family(d), model.columns().span(d));
        let etas: Vec<Vec<f64>> =
            (0..owners.ncols()).map(|h| span.clone().map(|k| tables.eta[[h, k]]).collect()).collect();
        for (n, mut row) in owners.outer_iter_mut().enumerate() {
            let y = shown[[n, d]];
            if y.is_nan() {
                continue;
            }
            let logs: Vec<f64> =
                row.iter().zip(&etas).map(|(q, eta)| q.max(1e-300).ln() - family.log_density(y, eta)).collect();
            let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = logs.iter().map(|log| (log - top).exp()).sum();
            row.iter_mut().zip(&logs).for_each(|(q, log)| *q = (log - top).exp() / sum);
        }
        Given::new(shown, all, d, kind, &owners)
    }

    fn new(shown: &Array2<f64>, all: &Array2<f64>, d: usize, kind: Kind, owners: &Array2<f64>) -> Given {
        let part = |wanted: &dyn Fn(usize) -> bool| {
            let rows: Vec<usize> = (0..all.nrows()).filter(|n| wanted(*n)).collect();
            Owned { y: rows.iter().map(|n| all[[*n, d]]).collect(), owner: owners.select(ndarray::Axis(0), &rows) }
        };
        let there = |n: usize| !all[[n, d]].is_nan();
        Given {
            seen: part(&|n| there(n) && !shown[[n, d]].is_nan()),
            hidden: part(&|n| there(n) && shown[[n, d]].is_nan()),
            whole: kind == Kind::Whole,
            by_itself: owners.ncols() == 1,
        }
    }

    /// The family with its unknown parameters found, its scores on the hidden entries, and its Bayesian information criterion
    /// on the others.
    pub(super) fn try_family(&self, candidate: &Candidate) -> Option<(SharedFamily, Vec<f64>, f64)> {
        let mut seen = self.seen.clone();
        let known = search(candidate, std::slice::from_ref(&seen), None).ok()?;
        let mut family = candidate.family(&known).ok()?;
        let mut etas = m_step(&family, &seen)?;
        let mut bound = f64::NEG_INFINITY;
        for step in 0..STEPS {
            bound = self.e_step(&family, &etas, &mut seen);
            if candidate.searched() > 0 && step == STEPS / 2 {
                family = candidate.family(&search(candidate, std::slice::from_ref(&seen), Some(&known)).ok()?).ok()?;
            }
            etas = m_step(&family, &seen)?;
        }
        let integrated = self.whole && family.support().measure == Measure::Lebesgue;
        let scores = self.scores(&family, &etas, integrated);
        let parameters = (etas.len() * family.l() + candidate.taken_from_data()) as f64;
        let bic = match integrated {
            true => f64::NEG_INFINITY,
            false => bound - 0.5 * parameters * (self.seen.y.len().max(1) as f64).ln(),
        };
        Some((family, scores, bic))
    }

    /// Who owns the entries that training sees under `etas`; returns their log-likelihood.
    fn e_step(&self, family: &SharedFamily, etas: &[Vec<f64>], seen: &mut Owned) -> f64 {
        let rule = Densities::new(family, etas);
        let mut bound = 0.0;
        let mut logs = vec![0.0; etas.len()];
        for ((y, prior), mut owner) in
            self.seen.y.iter().zip(self.seen.owner.outer_iter()).zip(seen.owner.outer_iter_mut())
        {
            rule.logs(*y, &mut logs);
            logs.iter_mut().zip(&prior).for_each(|(log, prior)| *log += prior.max(1e-300).ln());
            let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = logs.iter().map(|log| (log - top).exp()).sum();
            owner.iter_mut().zip(&logs).for_each(|(owner, log)| *owner = (log - top).exp() / sum);
            bound += top + sum.ln();
        }
        bound
    }

    fn scores(&self, family: &SharedFamily, etas: &[Vec<f64>], integrated: bool) -> Vec<f64> {
        let rule = Densities::new(family, etas);
        let mut intervals = std::collections::HashMap::new();
        let mut logs = vec![0.0; etas.len()];
        let entries = self.hidden.y.iter().zip(self.hidden.owner.outer_iter());
        entries
            .map(|(y, prior)| {
                match integrated {
                    true => logs.iter_mut().enumerate().for_each(|(h, log)| {
                        let found = intervals.entry((h, y.to_bits()));
                        *log = *found.or_insert_with(|| log_probability(&**family, &etas[h], rule.centres[h], *y));
                    }),
                    false => rule.logs(*y, &mut logs),
                }
                logs.iter_mut().zip(&prior).for_each(|(log, prior)| *log += prior.max(1e-300).ln());
                let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                if top < LEAST { LEAST } else { top + logs.iter().map(|log| (log - top).exp()).sum::<f64>().ln() }
            })
            .collect()
    }
}

/// The densities of a family with different parameters at the same value.
struct Densities<'a> {
    family: &'a SharedFamily,
    etas: &'a [Vec<f64>],
    a: Vec<f64>,
    centres: Vec<f64>,
}

impl<'a> Densities<'a> {
    fn new(family: &'a SharedFamily, etas: &'a [Vec<f64>]) -> Densities<'a> {
        let mean = |eta: &Vec<f64>| {
            let mut w = vec![0.0; eta.len()];
            family.grad_a(eta, &mut w);
            family.f(&w)
        };
        let (a, centres) = (etas.iter().map(|eta| family.a(eta)).collect(), etas.iter().map(mean).collect());
        Densities { family, etas, a, centres }
    }

    fn logs(&self, y: f64, logs: &mut [f64]) {
        let mut t = [0.0; 16];
        let mut long = Vec::new();
        let t = if self.family.l() <= t.len() {
            &mut t[..self.family.l()]
        } else {
            long.resize(self.family.l(), 0.0);
            &mut long[..]
        };
        self.family.t(y, t);
        let log_h = self.family.log_h(y);
        for ((log, eta), a) in logs.iter_mut().zip(self.etas).zip(&self.a) {
            let inner: f64 = eta.iter().zip(t.iter()).map(|(eta, t)| eta * t).sum();
            *log = log_h + (inner - a);
        }
    }
}

/// Natural parameters for each owner, or nothing if the family cannot be computed with these values.
fn m_step(family: &SharedFamily, seen: &Owned) -> Option<Vec<Vec<f64>>> {
    let l = family.l();
    let OwnedSums { weights, t, .. } = seen.sums(&**family);
    let count = seen.y.len().max(1) as f64;
    let average: Vec<f64> = (0..l).map(|l| t.iter().map(|t| t[l]).sum::<f64>() / count).collect();
    weights
        .iter()
        .enumerate()
        .map(|(h, weight)| {
            // one row of average data, as in the training of the whole model
            let mut w: Vec<f64> = (0..l).map(|l| (t[h][l] + average[l]) / (weight + 1.0)).collect();
            family.project(&mut w);
            let mut eta = vec![0.0; l];
            family.phi(&w, &mut eta);
            eta.iter().all(|eta| eta.is_finite()).then_some(eta)
        })
        .collect()
}
