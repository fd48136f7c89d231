//! A trained model on data: what explains each row.

use ndarray::{Array1, Array2, Axis};

use super::truncated::{OneFlips, Precision};
use super::{Exact, LARGEST_EXACT_H, Observed, Sets, Truncated, Truncation};
use crate::error::Result;
use crate::model::{Data, Model, Statistics, Tables};

/// E-steps that a row is given. Every row is given all of them: its result must not depend on when others are done.
const SWEEPS: usize = 20;

/// Truncated posteriors of a model on data.
#[derive(Debug, Clone)]
pub struct Inferred {
    /// The states of each row.
    pub sets: Sets,
    /// $q^{(n)}(\vec s)$ of each row and state, $N \times S$.
    pub q: Array2<f64>,
    /// $\log\sum_{\vec s\in\mathcal K^{(n)}}p(\vec y^{(n)}, \vec s)$, a lower bound of $\log p(\vec y^{(n)})$.
    pub bounds: Array1<f64>,
}

impl Model {
    /// Truncated posteriors with `truncation` after `sweeps` E-steps. A row's result depends on its values and on the
    /// seed, and on no other row.
    pub fn infer(&self, y: &dyn Data, truncation: &Truncation, sweeps: usize, seed: u64) -> Result<Inferred> {
        truncation.check()?;
        let truncation = truncation.clone().precision(Precision::Double);
        let observed = Observed::new(&self.columns, y, Precision::Double)?;
        let mut truncated = Truncated::new(&observed, &truncation, self.h(), seed).by_content();
        for sweep in 0..sweeps.max(1) {
            truncated.e_step(self, 1.0, sweep + 1 >= sweeps)?;
        }
        Ok(Inferred::of(truncated))
    }

    /// The posteriors that are used where nothing is said about them.
    fn infer_by_default(&self, y: &dyn Data) -> Result<Inferred> {
        let truncation = Truncation::new(64).proposals(vec![std::sync::Arc::new(OneFlips { parents: 3 })]);
        self.infer(y, &truncation, SWEEPS, 0)
    }

    /// $\log p(\vec y^{(n)} | \Theta)$ for each row of `y`: exactly up to 16 causes, and a lower bound above.
    pub fn log_likelihoods(&self, y: &dyn Data) -> Result<Array1<f64>> {
        if self.h() > LARGEST_EXACT_H {
            return Ok(self.infer_by_default(y)?.bounds);
        }
        let statistics = Statistics::new(&self.columns, y)?;
        Exact::new(self)?.log_likelihoods(&statistics)
    }

    /// $\mathcal L(\Theta) = \sum_n \log p(\vec y^{(n)} | \Theta)$: exactly up to 16 causes, and a lower bound above.
    pub fn log_likelihood(&self, y: &dyn Data) -> Result<f64> {
        if self.h() > LARGEST_EXACT_H {
            return Ok(self.infer_by_default(y)?.bounds.sum());
        }
        let statistics = Statistics::new(&self.columns, y)?;
        Ok(Exact::new(self)?.e_step(&statistics, &statistics, 1.0)?.bound)
    }

    /// $p(s_h = 1 | \vec y^{(n)}, \Theta)$ for each row and cause: exactly up to 16 causes, and with truncated posteriors
    /// above.
    pub fn encode(&self, y: &dyn Data) -> Result<Array2<f64>> {
        if self.h() > LARGEST_EXACT_H {
            return Ok(self.infer_by_default(y)?.active_probabilities());
        }
        let statistics = Statistics::new(&self.columns, y)?;
        Exact::new(self)?.active_probabilities(&statistics)
    }
}

impl Inferred {
    /// What the last E-step left, which kept $q$.
    fn of(truncated: Truncated<'_>) -> Inferred {
        let (n, s) = (truncated.sets().n(), truncated.sets().s());
        let q = Array2::from_shape_fn((n, s), |(n, state)| truncated.q()[n * s + state]);
        let bounds = Array1::from(truncated.bounds().to_vec());
        Inferred { sets: truncated.into_sets(), q, bounds }
    }

    /// $\mathbb E_{q^{(n)}}\lbrack s_h\rbrack $ for each row and cause.
    pub fn active_probabilities(&self) -> Array2<f64> {
        let mut found = Array2::zeros((self.sets.n(), self.sets.h()));
        for (n, mut row) in found.outer_iter_mut().enumerate() {
            for (state, q) in self.sets.states(n).zip(self.q.row(n)) {
                state.active().for_each(|h| row[h] += *q);
            }
        }
        found
    }
}

/// Causes up to which all states of all rows are kept.
const FEW_CAUSES: usize = 8;

/// States and E-steps of a row where there are more. Who owns an entry is a sum over states, to which the rare ones add little.
const OWNER_STATES: usize = 24;
const OWNER_SWEEPS: usize = 8;

/// Posteriors in the form that tells who owns what.
#[derive(Debug, Clone)]
pub(crate) enum Owners {
    /// $N \times 2^H$.
    All(Array2<f64>),
    Some(Box<Inferred>),
}

impl Owners {
    /// The posteriors of `model` on `y`: exact for few causes.
    pub(crate) fn new(model: &Model, y: &dyn Data) -> Result<Owners> {
        if model.h() > FEW_CAUSES {
            let truncation =
                Truncation::new(OWNER_STATES).proposals(vec![std::sync::Arc::new(OneFlips { parents: 1 })]);
            return Ok(Owners::Some(Box::new(model.infer(y, &truncation, OWNER_SWEEPS, 0)?)));
        }
        let statistics = Statistics::new(&model.columns, y)?;
        Ok(Owners::All(Exact::new(model)?.posteriors(&statistics)?))
    }

    /// The posteriors of `model` on `y` from sets of states that training left, after one more E-step.
    pub(crate) fn of_sets(model: &Model, y: &dyn Data, sets: Sets) -> Result<Owners> {
        let truncation = Truncation::new(sets.s()).precision(Precision::Single);
        let observed = Observed::new(&model.columns, y, Precision::Single)?;
        let mut truncated = Truncated::new(&observed, &truncation, model.h(), 0).with_sets(sets);
        truncated.e_step(model, 1.0, true)?;
        Ok(Owners::Some(Box::new(Inferred::of(truncated))))
    }

    /// $\mathbb E_{q^{(n)}}\lbrack\mathcal A_{dh}\rbrack $ for each row: how likely each cause, and last the background, is to own
    /// column `d` of it.
    pub(crate) fn of_column(&self, tables: &Tables, d: usize) -> Array2<f64> {
        let rows = match self {
            Owners::All(q) => q.nrows(),
            Owners::Some(inferred) => inferred.sets.n(),
        };
        self.of_rows(tables, d, &(0..rows).collect::<Vec<usize>>())
    }

    /// The same for some rows.
    pub(crate) fn of_rows(&self, tables: &Tables, d: usize, rows: &[usize]) -> Array2<f64> {
        let background = tables.winners.background();
        let order = tables.winners.down_to_background(d);
        let owner = |active: &dyn Fn(usize) -> bool| {
            order.iter().map(|h| usize::from(*h)).find(|h| *h == background || active(*h)).unwrap_or(background)
        };
        match self {
            Owners::All(q) => {
                let mut takes = Array2::zeros((q.ncols(), background + 1));
                for state in 0..q.ncols() {
                    takes[[state, owner(&|h| state >> h & 1 == 1)]] = 1.0;
                }
                if rows.len() == q.nrows() { q.dot(&takes) } else { q.select(Axis(0), rows).dot(&takes) }
            }
            Owners::Some(inferred) => {
                let sets = &inferred.sets;
                let mut found = Array2::zeros((rows.len(), background + 1));
                for (n, mut row) in rows.iter().zip(found.outer_iter_mut()) {
                    for (state, q) in sets.states(*n).zip(inferred.q.row(*n)) {
                        row[owner(&|h| state.is_active(h))] += *q;
                    }
                }
                found
            }
        }
    }
}
