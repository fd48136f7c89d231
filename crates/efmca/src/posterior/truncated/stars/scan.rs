//! Sums of log-terms of all flips, and log-joints of numbered states, for all rows of a batch.

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2};

use super::pool::{ByState, Pool};
use super::winners::Winners;
use crate::posterior::truncated::kernel::{self, Float, Rank};
use crate::posterior::truncated::score::ways::log_prior;
use crate::posterior::truncated::task::Task;

/// A numbered state that a row of the batch has or that is proposed to it, and the place that its log-joint goes to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) state: u32,
    pub(super) row: u32,
    pub(super) place: u32,
}

/// $\sum_d$ of the log-terms of all flips of a star's state and, last, of that state, for each row of `t`; `winners` has the star.
pub(super) fn flips<F: Float, R: Rank>(winners: &Winners<F, R>, t: &ArrayView2<'_, F>, found: &mut [F]) {
    let states = winners.a.len();
    let found = &mut found[..t.nrows() * states];
    if let Ok(mut found) = ArrayViewMut2::from_shape((t.nrows(), states), &mut *found) {
        general_mat_mul(F::ONE, t, &winners.eta.t(), F::ZERO, &mut found);
    }
    for found in found.chunks_exact_mut(states) {
        found.iter_mut().zip(&winners.a).for_each(|(sum, a)| *sum = *sum - *a);
    }
}

/// The log-joints of all `wanted` states.
pub(super) fn others<F: Float, R: Rank>(
    task: &Task<'_, F, R>,
    (winners, pool): (&mut Winners<F, R>, &Pool),
    t: &ArrayView2<'_, F>,
    (wanted, by_state): (&[Wanted], &mut ByState<Wanted>),
    joints: &mut [f64],
) {
    by_state.arrange(pool.len(), wanted, |wanted| wanted.state);
    for same in by_state.runs(|wanted| wanted.state) {
        let state = pool.state(same[0].state);
        let prior = log_prior(&task.layout.log_odds, state);
        let (parameters, a) = winners.state(task.layout, state, None);
        for wanted in same {
            let t = t.row(wanted.row as usize).to_slice().unwrap_or(&[]);
            let sum = kernel::dot(task.layout.set, parameters, t) - a;
            joints[wanted.place as usize] = sum.f64() + prior;
        }
    }
}
