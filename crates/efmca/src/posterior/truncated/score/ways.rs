//! The two ways to look at states: passes for those with few active causes, walks for those with many.

use crate::posterior::truncated::data::layout::Layout;
use crate::posterior::truncated::kernel::{Float, Rank};
use crate::posterior::truncated::score::passes::Passes;
use crate::posterior::truncated::score::walk::Walk;
use crate::posterior::truncated::states::{MANY_ACTIVE, bits};

/// Columns may be walked where more than [`MANY_ACTIVE`] causes are active, if one cause of this many is.
const SPARSE: usize = 32;

/// Whether so many causes are active that columns are walked: then the winner is near.
pub(crate) fn has_many<F, R>(layout: &Layout<F, R>, state: &[u64]) -> bool {
    !layout.is_part && is_many(bits::count(state), layout.h)
}

/// Whether `active` causes of `h` are many.
pub(crate) fn is_many(active: usize, h: usize) -> bool {
    active > MANY_ACTIVE && active * SPARSE > h
}

/// The two ways to look at states.
pub(crate) struct Ways<F, R> {
    pub(crate) passes: Passes<F, R>,
    pub(crate) walk: Walk<F>,
    /// States with few active causes, and where they were.
    pub(crate) passed: Vec<u64>,
    pub(crate) passed_at: Vec<u32>,
    /// States with many.
    pub(crate) walked: Vec<u64>,
    pub(crate) walked_at: Vec<u32>,
    pub(crate) found: Vec<f64>,
}

impl<F: Float, R: Rank> Ways<F, R> {
    pub(crate) fn new(layout: &Layout<F, R>) -> Ways<F, R> {
        Ways {
            passes: Passes::new(layout),
            walk: Walk::new(layout.h),
            passed: Vec::new(),
            passed_at: Vec::new(),
            walked: Vec::new(),
            walked_at: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Divides states into those with few and those with many active causes.
    pub(crate) fn divide(&mut self, layout: &Layout<F, R>, words: usize, states: &[u64]) {
        self.passed.clear();
        self.passed_at.clear();
        self.walked.clear();
        self.walked_at.clear();
        for (index, state) in states.chunks_exact(words).enumerate() {
            if has_many(layout, state) {
                self.walked.extend_from_slice(state);
                self.walked_at.push(index as u32);
            } else {
                self.passed.extend_from_slice(state);
                self.passed_at.push(index as u32);
            }
        }
    }
}

/// $\log p(\vec s)$ without the log-prior of the empty state.
pub(crate) fn log_prior(log_odds: &[f64], state: &[u64]) -> f64 {
    // four sums, because additions would wait for each other
    let mut sums = [0.0; 4];
    bits::each(state, |cause| sums[cause / 64 % 4] += log_odds[cause]);
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}
