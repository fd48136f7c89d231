//! The two ways to look at states: passes for those with few active causes, walks for those with many.

use super::bits;
use super::kernel::{Float, Rank};
use super::layout::Layout;
use super::passes::Passes;
use super::rows::Task;
use super::walk::Walk;

/// More active causes than this, and columns may be walked…
pub(super) const MANY_ACTIVE: usize = 24;
/// … if one cause of this many is active.
const SPARSE: usize = 32;

/// Whether so many causes are active that columns are walked: then the winner is near.
pub(super) fn has_many<F, R>(task: &Task<'_, F, R>, state: &[u64]) -> bool {
    !task.layout.is_part && is_many(bits::count(state), task.layout.h)
}

/// Whether `active` causes of `h` are many.
pub(super) fn is_many(active: usize, h: usize) -> bool {
    active > MANY_ACTIVE && active * SPARSE > h
}

/// The two ways to look at states.
pub(super) struct Ways<F, R> {
    pub(super) passes: Passes<F, R>,
    pub(super) walk: Walk<F>,
    /// States with few active causes, and where they were.
    pub(super) passed: Vec<u64>,
    pub(super) passed_at: Vec<u32>,
    /// States with many.
    pub(super) walked: Vec<u64>,
    pub(super) walked_at: Vec<u32>,
    pub(super) found: Vec<f64>,
}

impl<F: Float, R: Rank> Ways<F, R> {
    pub(super) fn new(layout: &Layout<F, R>) -> Ways<F, R> {
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
    pub(super) fn divide(&mut self, task: &Task<'_, F, R>, states: &[u64]) {
        self.passed.clear();
        self.passed_at.clear();
        self.walked.clear();
        self.walked_at.clear();
        for (index, state) in states.chunks_exact(task.words).enumerate() {
            if has_many(task, state) {
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
pub(super) fn log_prior(log_odds: &[f64], state: &[u64]) -> f64 {
    // four sums, because additions would wait for each other
    let mut sums = [0.0; 4];
    bits::each(state, |cause| sums[cause / 64 % 4] += log_odds[cause]);
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}
