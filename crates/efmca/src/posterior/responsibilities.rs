//! Who has won each entry of the data, on average over the posterior.

use ndarray::{Array2, Axis};

use super::truncated::{OneFlips, Precision};
use super::{Exact, Observed, Sets, Truncated, TruncatedPosterior, Truncation};
use crate::error::Result;
use crate::model::{Data, Model, Statistics, Tables};

/// Causes up to which all states of all rows are kept.
const FEW_CAUSES: usize = 8;

/// States and E-steps of a row where there are more. Who has won an entry is a sum over states, to which the rare ones add little.
const STATES: usize = 24;
const E_STEPS: usize = 8;

/// Posteriors of rows in the form that gives $\mathbb E_{q^{(n)}}\lbrack\mathcal A_{dh}\rbrack $: how likely each cause is to have won
/// each column.
#[derive(Debug, Clone)]
pub(crate) enum Responsibilities {
    /// $N \times 2^H$.
    All(Array2<f64>),
    Some(Box<TruncatedPosterior>),
}

impl Responsibilities {
    /// The posteriors of `model` on `y`: exact for few causes.
    pub(crate) fn new(model: &Model, y: &dyn Data) -> Result<Responsibilities> {
        if model.h() > FEW_CAUSES {
            let truncation = Truncation::new(STATES).proposals(vec![std::sync::Arc::new(OneFlips { parents: 1 })]);
            return Ok(Responsibilities::Some(Box::new(model.infer(y, &truncation, E_STEPS, 0)?)));
        }
        let statistics = Statistics::new(&model.columns, y)?;
        Ok(Responsibilities::All(Exact::new(model)?.posteriors(&statistics)?))
    }

    /// The posteriors of `model` on `y` from sets of states that training left, after one more E-step.
    pub(crate) fn of_sets(model: &Model, y: &dyn Data, sets: Sets) -> Result<Responsibilities> {
        let truncation = Truncation::new(sets.s()).precision(Precision::Single);
        let observed = Observed::new(&model.columns, y, Precision::Single)?;
        let mut truncated = Truncated::new(&observed, &truncation, model.h(), 0).with_sets(sets);
        truncated.e_step(model, 1.0, true)?;
        Ok(Responsibilities::Some(Box::new(TruncatedPosterior::of(truncated))))
    }

    /// $\mathbb E_{q^{(n)}}\lbrack\mathcal A_{dh}\rbrack $ for each row: how likely each cause, and last the background, is to have won
    /// column `d` of it.
    pub(crate) fn of_column(&self, tables: &Tables, d: usize) -> Array2<f64> {
        let rows = match self {
            Responsibilities::All(q) => q.nrows(),
            Responsibilities::Some(posterior) => posterior.sets.n(),
        };
        self.of_rows(tables, d, &(0..rows).collect::<Vec<usize>>())
    }

    /// The same for some rows.
    pub(crate) fn of_rows(&self, tables: &Tables, d: usize, rows: &[usize]) -> Array2<f64> {
        let background = tables.winners.background();
        let order = tables.winners.down_to_background(d);
        let winner = |active: &dyn Fn(usize) -> bool| {
            order.iter().map(|h| usize::from(*h)).find(|h| *h == background || active(*h)).unwrap_or(background)
        };
        match self {
            Responsibilities::All(q) => {
                let mut takes = Array2::zeros((q.ncols(), background + 1));
                for state in 0..q.ncols() {
                    takes[[state, winner(&|h| state >> h & 1 == 1)]] = 1.0;
                }
                if rows.len() == q.nrows() { q.dot(&takes) } else { q.select(Axis(0), rows).dot(&takes) }
            }
            Responsibilities::Some(posterior) => {
                let sets = &posterior.sets;
                let mut found = Array2::zeros((rows.len(), background + 1));
                for (n, mut row) in rows.iter().zip(found.outer_iter_mut()) {
                    for (state, q) in sets.states(*n).zip(posterior.q.row(*n)) {
                        row[winner(&|h| state.is_active(h))] += *q;
                    }
                }
                found
            }
        }
    }
}
