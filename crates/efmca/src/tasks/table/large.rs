//! Large tables: most of the training on a part of the rows, the end on all of them.

use ndarray::{Array1, Array2};

use super::TableLearner;
use crate::model::{Data, LARGEST_EXACT_H, is_sparse};
use crate::tasks::held_out::rows_of;

/// Values of a table from which on it is large.
const LARGE: usize = 1 << 24;
/// Values of the part that most of the training is done on, and its rows at the least.
const PART: usize = 1 << 19;
const LEAST_ROWS: usize = 4096;
/// Values of the part of sparse rows that families and the number of causes are looked for in.
const SEARCHED: usize = 1 << 23;
/// Values times states of one iteration, up to which the end of a training on all rows is exact: a few seconds.
const MOST_WORK: usize = 1 << 33;
/// Iterations on all rows, at the most: one of so many, and a few.
const SHARE: usize = 5;
const LEAST_ITERATIONS: usize = 5;

/// Every so many-th row of a data set.
pub(super) struct Part<'a> {
    data: &'a dyn Data,
    pub(super) step: usize,
    weights: Option<Array1<f64>>,
}

impl<'a> Part<'a> {
    /// The rows with which the training of a large table begins; `None` if the table is not large, or if the part would
    /// be most of it.
    pub(super) fn to_begin_with(data: &'a dyn Data) -> Option<Part<'a>> {
        let (n, d) = (data.n(), data.d());
        let step = n / (PART / d.max(1)).max(LEAST_ROWS);
        (n.saturating_mul(d) >= LARGE && step >= 2).then(|| Part::new(data, step)).filter(Part::counts)
    }

    /// The rows that families and the number of causes of sparse rows are looked for in.
    pub(super) fn to_search(data: &'a dyn Data) -> Part<'a> {
        Part::new(data, data.n().div_ceil((SEARCHED / data.d().max(1)).max(LEAST_ROWS / 4)).max(1))
    }

    /// Every `step`-th row.
    pub(super) fn new(data: &'a dyn Data, step: usize) -> Part<'a> {
        let weights = data.weights().map(|weights| weights.iter().step_by(step).copied().collect());
        Part { data, step, weights }
    }

    /// Whether some of the rows have a weight.
    fn counts(&self) -> bool {
        self.weights.as_ref().is_none_or(|weights| weights.sum() > 0.0)
    }
}

/// Searches for families and for the number of causes in sparse rows, and in rows that are not in memory, look at every so
/// many-th row: those that are made whole take 64 MB, or are a thousand.
pub fn search_step(data: &dyn Data) -> usize {
    Part::to_search(data).step
}

/// Every `step`-th row, made whole.
pub fn every_row(data: &dyn Data, step: usize) -> Array2<f64> {
    rows_of(&Part::new(data, step.max(1)))
}

impl Data for Part<'_> {
    fn n(&self) -> usize {
        self.data.n().div_ceil(self.step)
    }

    fn d(&self) -> usize {
        self.data.d()
    }

    fn read_row(&self, n: usize, y: &mut [f64]) {
        self.data.read_row(n * self.step, y);
    }

    fn check_unchanged(&self) -> crate::error::Result<()> {
        self.data.check_unchanged()
    }

    fn weights(&self) -> Option<&Array1<f64>> {
        self.weights.as_ref()
    }

    fn non_zeros(&self, n: usize) -> Option<(&[u32], &[f64])> {
        self.data.non_zeros(n * self.step)
    }
}

impl TableLearner {
    /// The settings with which the training of a large table begins, on a part of its rows.
    pub(super) fn for_a_part(&self, part: &Part<'_>, causes: usize) -> TableLearner {
        let exact = self.exact || self.exact_in_seconds(part, causes);
        // one start of truncated posteriors takes as long as the rest, and ends much like another
        let starts = if exact { self.starts } else { Some(1) };
        TableLearner { starts, exact, ..self.clone() }
    }

    /// The settings with which it ends, once `start` holds what the part gave.
    pub(super) fn for_all_rows(&self, data: &dyn Data, causes: usize) -> TableLearner {
        let iterations = (self.iterations / SHARE).max(LEAST_ITERATIONS).min(self.iterations);
        TableLearner { iterations, exact: self.exact || self.exact_in_seconds(data, causes), ..self.clone() }
    }

    /// Whether exact posteriors take no more than a few seconds for an iteration.
    fn exact_in_seconds(&self, data: &dyn Data, causes: usize) -> bool {
        self.states.is_none()
            && !is_sparse(data)
            && data.outside().is_none()
            && causes <= LARGEST_EXACT_H
            && data.n().saturating_mul(data.d()) <= MOST_WORK >> causes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_taken_of_large_tables_only() {
        let rows = |n: usize, d: usize| Array2::<f32>::zeros((n, d));
        assert!(Part::to_begin_with(&rows(500_000, 30)).is_none());
        let large = rows(1 << 20, 16);
        let part = Part::to_begin_with(&large).unwrap();
        assert_eq!((part.step, part.n()), (32, 1 << 15));
        assert!(Part::to_begin_with(&rows(5000, 4000)).is_none());
        assert_eq!((search_step(&rows(20_000, 4000)), search_step(&rows(1000, 4000))), (10, 1));
        assert_eq!(every_row(&ndarray::array![[1.0], [2.0], [3.0]], 2), ndarray::array![[1.0], [3.0]]);
    }

    #[test]
    fn the_end_is_exact_where_that_takes_seconds() {
        let table = Array2::<f32>::zeros((1 << 20, 16));
        let learner = TableLearner::new();
        assert!(learner.for_all_rows(&table, 8).exact && !learner.for_all_rows(&table, 10).exact);
        assert!(!learner.clone().states(20).for_all_rows(&table, 8).exact);
        let part = Part::to_begin_with(&table).unwrap();
        assert_eq!(learner.for_a_part(&part, 8).starts, None);
        assert_eq!(learner.for_a_part(&part, 20).starts, Some(1));
        assert_eq!(learner.for_all_rows(&table, 8).iterations, 20);
        assert_eq!(learner.iterations(4).for_all_rows(&table, 8).iterations, 4);
    }
}
