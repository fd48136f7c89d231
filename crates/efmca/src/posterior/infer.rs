//! A trained model on data: which causes explain each row, and how likely it is.
//!
//! Every row is treated by itself: its result depends on no other row, and not on how many there are.

use std::ops::{ControlFlow, Range};

use ndarray::{Array1, Array2, Axis, concatenate};
use rayon::prelude::*;

use super::truncated::{OneFlips, Precision};
use super::{Exact, LARGEST_EXACT_H, Observed, Sets, Truncated, Truncation};
use crate::error::{Error, Result};
use crate::model::{Data, Inference, Model, RowRange, Statistics};

/// Truncated posteriors of a model on data.
#[derive(Debug, Clone)]
pub struct TruncatedPosterior {
    /// The states of each row.
    pub sets: Sets,
    /// $q^{(n)}(\vec s)$ of each row and state, $N \times S$.
    pub q: Array2<f64>,
    /// $\log\sum_{\vec s\in\mathcal K^{(n)}}p(\vec y^{(n)}, \vec s)$, a lower bound of $\log p(\vec y^{(n)})$.
    pub bounds: Array1<f64>,
}

/// Rows explained by a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoding {
    /// $N \times H$: $p(s_h = 1 | \vec y^{(n)}, \Theta)$, how likely each cause is to be active in each row.
    pub active: Array2<f64>,
    /// $\log p(\vec y^{(n)} | \Theta)$ of each row, or a lower bound of it.
    pub log_likelihoods: Array1<f64>,
    /// Whether both are exact; otherwise posteriors are truncated.
    pub is_exact: bool,
}

/// Is told how many rows are done, and can end the work.
pub(crate) type RowObserver<'a> = dyn FnMut(usize) -> ControlFlow<()> + 'a;

/// Rows of truncated posteriors that are worked on before the observer is asked.
const TRUNCATED_BLOCK: usize = 2048;
/// States times rows of exact posteriors that one thread works on at a time, and rows at the least and at the most.
const EXACT_WORK: usize = 1 << 22;
const EXACT_ROWS: Range<usize> = 32..8192;

impl Model {
    /// Truncated posteriors with `truncation` after `e_steps` E-steps. A row's result depends on its values and on the seed, and
    /// on no other row.
    ///
    /// # Errors
    ///
    /// Settings that make no sense, and values that the families cannot have.
    pub fn infer(
        &self,
        y: &dyn Data,
        truncation: &Truncation,
        e_steps: usize,
        seed: u64,
    ) -> Result<TruncatedPosterior> {
        truncation.check()?;
        let truncation = truncation.clone().precision(Precision::Double);
        let observed = Observed::new(&self.columns, y, Precision::Double)?;
        let mut truncated = Truncated::new(&observed, &truncation, self.h(), seed).by_content();
        for step in 0..e_steps.max(1) {
            truncated.e_step(self, 1.0, step + 1 >= e_steps)?;
        }
        Ok(TruncatedPosterior::of(truncated))
    }

    /// $\log p(\vec y^{(n)} | \Theta)$ for each row of `y`, or a lower bound, in the model's own way of inference
    /// ([`Model::inference`]).
    ///
    /// # Errors
    ///
    /// Values that the families cannot have, and rows that the model cannot have produced.
    pub fn log_likelihoods(&self, y: &dyn Data) -> Result<Array1<f64>> {
        let model = self.with_columns_counted_once();
        Ok(model.encoding(y, self.inference(), &mut |_| ControlFlow::Continue(()))?.log_likelihoods)
    }

    /// $\mathcal L(\Theta) = \sum_n \log p(\vec y^{(n)} | \Theta)$, or a lower bound, in the model's own way of inference. Rows of
    /// [`Weighted`](crate::model::Weighted) data count with their weights.
    ///
    /// # Errors
    ///
    /// As [`Model::log_likelihoods`].
    pub fn log_likelihood(&self, y: &dyn Data) -> Result<f64> {
        if self.inference() == Inference::Exact {
            let model = self.with_columns_counted_once();
            let statistics = Statistics::new(&model.columns, y)?;
            return Ok(Exact::new(&model)?.e_step(&statistics, &statistics, 1.0)?.bound);
        }
        let rows = self.log_likelihoods(y)?;
        Ok(y.weights().map_or_else(|| rows.sum(), |weights| rows.dot(weights)))
    }

    /// $p(s_h = 1 | \vec y^{(n)}, \Theta)$ for each row and cause, in the model's own way of inference. See
    /// [`Encoder`](crate::tasks::encode::Encoder) for another way, and to watch and end long work.
    ///
    /// # Errors
    ///
    /// As [`Model::log_likelihoods`].
    pub fn encode(&self, y: &dyn Data) -> Result<Array2<f64>> {
        Ok(self.encoding(y, self.inference(), &mut |_| ControlFlow::Continue(()))?.active)
    }

    /// Explains all rows, and asks `observer` from time to time.
    pub(crate) fn encoding(
        &self,
        y: &dyn Data,
        inference: Inference,
        observer: &mut RowObserver<'_>,
    ) -> Result<Encoding> {
        let encoding = |model: &Model, observer: &mut RowObserver<'_>| match inference {
            Inference::Exact => model.exact_encoding(y, observer),
            Inference::Truncated { states, e_steps } => model.truncated_encoding(y, states, e_steps, observer),
        };
        let found = encoding(self, observer)?;
        if self.columns.count_once() {
            return Ok(found);
        }
        // views say which causes are seen; how likely a row is has nothing to do with them
        let known = encoding(&self.with_columns_counted_once(), &mut |_| observer(y.n()))?;
        Ok(Encoding { log_likelihoods: known.log_likelihoods, ..found })
    }

    /// The same model without views: the density of rows.
    pub(crate) fn with_columns_counted_once(&self) -> Model {
        Model { columns: self.columns.clone().counted_once(), ..self.clone() }
    }

    fn exact_encoding(&self, y: &dyn Data, observer: &mut RowObserver<'_>) -> Result<Encoding> {
        let exact = Exact::new(self)?;
        let rows = exact.rows();
        let parts = self.exact_blocks(y, observer, |_, statistics| rows.explain(statistics))?;
        together(parts, self, y, true)
    }

    /// Calls `work` with the first row and the statistics of each block of rows.
    pub(super) fn exact_blocks<T: Send>(
        &self,
        y: &dyn Data,
        observer: &mut RowObserver<'_>,
        work: impl Fn(usize, &Statistics) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let size = (EXACT_WORK >> self.h()).clamp(EXACT_ROWS.start, EXACT_ROWS.end);
        let at_a_time = 2 * size * rayon::current_num_threads();
        let mut parts = Vec::new();
        for start in (0..y.n()).step_by(at_a_time) {
            let end = (start + at_a_time).min(y.n());
            let blocks: Vec<Range<usize>> = (start..end).step_by(size).map(|n| n..(n + size).min(end)).collect();
            let done = blocks.into_par_iter().map(|block| {
                let statistics = Statistics::of_rows(&self.columns, y, &block.clone().collect::<Vec<_>>())?;
                work(block.start, &statistics).map_err(|error| error.rows_later(block.start))
            });
            let done = done.collect::<Result<Vec<_>>>();
            y.check_unchanged()?;
            parts.extend(done?);
            ask(observer, end)?;
        }
        Ok(parts)
    }

    fn truncated_encoding(
        &self,
        y: &dyn Data,
        states: usize,
        e_steps: usize,
        observer: &mut RowObserver<'_>,
    ) -> Result<Encoding> {
        let parts = self.truncated_blocks(y, states, e_steps, observer, |_, posterior| {
            (posterior.active_probabilities(), posterior.bounds)
        })?;
        together(parts, self, y, false)
    }

    /// Calls `work` with the first row and the posteriors of each block of rows.
    pub(super) fn truncated_blocks<T>(
        &self,
        y: &dyn Data,
        states: usize,
        e_steps: usize,
        observer: &mut RowObserver<'_>,
        work: impl Fn(usize, TruncatedPosterior) -> T,
    ) -> Result<Vec<T>> {
        let truncation = Truncation::new(states).proposals(vec![std::sync::Arc::new(OneFlips { parents: 3 })]);
        let mut parts = Vec::new();
        for start in (0..y.n()).step_by(TRUNCATED_BLOCK) {
            let rows = start..(start + TRUNCATED_BLOCK).min(y.n());
            let end = rows.end;
            let posterior = self.infer(&RowRange::new(y, rows), &truncation, e_steps, 0);
            y.check_unchanged()?;
            parts.push(work(start, posterior.map_err(|error| error.rows_later(start))?));
            ask(observer, end)?;
        }
        Ok(parts)
    }
}

fn ask(observer: &mut RowObserver<'_>, done: usize) -> Result<()> {
    match observer(done) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Stopped { what: "all rows were done".into() }),
    }
}

/// The blocks of rows one after the other.
fn together(parts: Vec<(Array2<f64>, Array1<f64>)>, model: &Model, y: &dyn Data, is_exact: bool) -> Result<Encoding> {
    if parts.is_empty() {
        return Err(Error::EmptyData { rows: y.n(), columns: y.d() });
    }
    let failed = |error: ndarray::ShapeError| Error::shape("causes of the rows", model.h(), error);
    let active: Vec<_> = parts.iter().map(|(active, _)| active.view()).collect();
    let bounds: Vec<_> = parts.iter().map(|(_, bounds)| bounds.view()).collect();
    Ok(Encoding {
        active: concatenate(Axis(0), &active).map_err(failed)?,
        log_likelihoods: concatenate(Axis(0), &bounds).map_err(failed)?,
        is_exact,
    })
}

impl TruncatedPosterior {
    /// The posterior of the last E-step, which kept $q$.
    pub(super) fn of(truncated: Truncated<'_>) -> TruncatedPosterior {
        let (n, s) = (truncated.sets().n(), truncated.sets().s());
        let q = Array2::from_shape_fn((n, s), |(n, state)| truncated.q()[n * s + state]);
        let bounds = Array1::from(truncated.bounds().to_vec());
        TruncatedPosterior { sets: truncated.into_sets(), q, bounds }
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

impl Inference {
    /// Whether a model with `h` causes can be applied in this way.
    pub(crate) fn check(self, h: usize) -> Result<()> {
        match self {
            Inference::Exact if h > LARGEST_EXACT_H => Err(Error::TooManyCauses { causes: h, limit: LARGEST_EXACT_H }),
            Inference::Truncated { states: 0, .. } => {
                Err(Error::setting("states", 0, "a truncated posterior needs one state at least"))
            }
            Inference::Truncated { e_steps: 0, .. } => {
                Err(Error::setting("e_steps", 0, "states are found by E-steps: give 1 or more"))
            }
            _ => Ok(()),
        }
    }
}
