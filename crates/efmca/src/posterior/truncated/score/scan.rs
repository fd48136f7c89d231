//! All flips of the first state of several rows at once.

use crate::posterior::truncated::data::layout::Layout;
use crate::posterior::truncated::data::observations::Row;
use crate::posterior::truncated::kernel::{self, Added, Base, Float, Rank};
use crate::posterior::truncated::score::owners::Owners;
use crate::posterior::truncated::score::passes::Passes;
use crate::posterior::truncated::states::bits;

/// Rows that are scanned together: their buffers and one cause's parameters fit in the first-level cache, so that the
/// tables of the model are read from the second level once for all of them.
pub(crate) const TOGETHER: usize = 6;

/// A row, the state whose flips are asked for, and what came of it.
#[derive(Debug)]
pub(crate) struct Scan<F, R> {
    pub(crate) row: Row<F>,
    /// The state, its sum of log-terms, and those of its flips.
    pub(crate) state: Vec<u64>,
    pub(crate) sum: f64,
    pub(crate) flips: Vec<f64>,
    /// Whether flips were asked for.
    pub(crate) wanted: bool,
    /// The owners of the columns, if the state has so many active causes that columns are walked.
    pub(crate) owners: Owners<R>,
    pub(crate) walked: bool,
    best_rank: Vec<R>,
    best_term: Vec<F>,
}

impl<F: Float, R: Rank> Scan<F, R> {
    pub(crate) fn new(layout: &Layout<F, R>, row: Row<F>) -> Scan<F, R> {
        Scan {
            row,
            state: vec![0; bits::words(layout.h)],
            sum: 0.0,
            flips: vec![0.0; layout.h],
            wanted: false,
            owners: Owners::new(layout.h),
            walked: false,
            best_rank: vec![R::LOWEST; layout.width],
            best_term: vec![F::ZERO; layout.width],
        }
    }

    /// Prepares the scan of `self.state`: what is best in each column, and the flips that drop a cause.
    pub(crate) fn prepare(&mut self, layout: &Layout<F, R>, passes: &mut Passes<F, R>) {
        passes.begin();
        self.sum = passes.drops(layout, &self.row, &self.state, &mut self.flips);
        let (rank, term) = passes.best(layout);
        self.best_rank.copy_from_slice(rank);
        self.best_term.copy_from_slice(term);
    }

    /// All flips of a state with many active causes.
    pub(crate) fn walk(&mut self, layout: &Layout<F, R>) {
        self.sum = self.owners.flips(layout, &self.row, &self.state, &mut self.flips);
    }

    /// Whether flips that add a cause are still to be found.
    fn is_open(&self) -> bool {
        self.wanted && !self.walked
    }

    /// The same where nothing is missing.
    fn is_plain(&self) -> bool {
        self.is_open() && !self.row.missing
    }

    fn base(&self) -> Base<'_, F, R> {
        Base { t: &self.row.t, best_rank: &self.best_rank, best_term: &self.best_term }
    }

    /// The flip that adds `cause`.
    fn add(&mut self, layout: &Layout<F, R>, cause: usize, scratch: &mut [F]) {
        if bits::has(&self.state, cause) {
            return;
        }
        let (rank, (eta, a)) = (layout.ranks(cause), layout.parameters(cause));
        let sum = if self.row.missing {
            kernel::log_terms(layout.set, eta, a, &self.row.t, scratch);
            kernel::mask_terms(layout.set, &self.row.present, scratch);
            kernel::sum_with(layout.set, rank, scratch, &self.best_rank, &self.best_term)
        } else {
            let cause = (rank, eta, a);
            kernel::sum_with_new(layout.set, cause, &self.row.t, &self.best_rank, &self.best_term, scratch)
        };
        self.flips[cause] = sum.f64();
    }
}

/// The flips that add a cause, for all rows that want them.
pub(crate) fn add_causes<F: Float, R: Rank>(layout: &Layout<F, R>, scans: &mut [Scan<F, R>], scratch: &mut [F]) {
    for first in (0..layout.h).step_by(2) {
        for pair in scans.chunks_mut(2) {
            match pair {
                [one, other] if first + 1 < layout.h && one.is_plain() && other.is_plain() => {
                    let causes = [first, first + 1];
                    let added = causes.map(|cause| {
                        let (eta, a) = layout.parameters(cause);
                        Added { rank: layout.ranks(cause), eta, a }
                    });
                    let sums = kernel::sums_with_two(layout.set, &added, &[one.base(), other.base()], scratch);
                    for (row, sums) in [one, other].into_iter().zip(sums.chunks_exact(2)) {
                        for (cause, sum) in causes.into_iter().zip(sums) {
                            if !bits::has(&row.state, cause) {
                                row.flips[cause] = sum.f64();
                            }
                        }
                    }
                }
                rows => {
                    for row in rows.iter_mut().filter(|row| row.is_open()) {
                        for cause in first..(first + 2).min(layout.h) {
                            row.add(layout, cause, scratch);
                        }
                    }
                }
            }
        }
    }
}
