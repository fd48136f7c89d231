//! What the rows of a star give to the M-step.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, s};

use super::pool::{ByState, Pool};
use super::{NONE, TOGETHER};
use crate::posterior::truncated::kernel::{self, Float, Rank};
use crate::posterior::truncated::score::passes::Passes;
use crate::posterior::truncated::states::bits;
use crate::posterior::truncated::sums::Sums;
use crate::posterior::truncated::task::Task;

/// Those flips of a star's state that have a weight (about half of all), and that state, each with a row of a matrix.
struct Used<F> {
    /// Where the flip with a number is, or [`NONE`].
    place: Vec<u32>,
    numbers: Vec<u32>,
    weights: Vec<f64>,
    /// $q$ of the states (rows) for each of [`TOGETHER`] data points.
    q: Vec<F>,
    statistics: Array2<F>,
}

impl<F: Float> Used<F> {
    fn new(states: usize, length: usize) -> Used<F> {
        Used {
            place: vec![NONE; states],
            numbers: Vec::with_capacity(states),
            weights: Vec::with_capacity(states),
            q: vec![F::ZERO; states * TOGETHER],
            statistics: Array2::zeros((states, length)),
        }
    }

    /// Forgets the star before.
    fn begin(&mut self) {
        self.numbers.drain(..).for_each(|number| self.place[number as usize] = NONE);
        self.weights.clear();
    }

    /// Data point `index` gives `q` to the state with `number`.
    #[inline(always)]
    fn give(&mut self, number: u32, index: usize, q: F) {
        let mut place = self.place[number as usize];
        if place == NONE {
            place = self.numbers.len() as u32;
            self.place[number as usize] = place;
            self.numbers.push(number);
            self.weights.push(0.0);
            self.statistics.row_mut(place as usize).fill(F::ZERO);
        }
        self.q[place as usize * TOGETHER + index] = q;
        self.weights[place as usize] += q.f64();
    }

    /// Adds the statistics `t` of the data points to those of the states; after this the next batch can give.
    fn add(&mut self, t: &ArrayView2<'_, F>) {
        let used = self.numbers.len();
        if let Ok(q) = ArrayView2::from_shape((self.place.len(), TOGETHER), &self.q) {
            let q = q.slice(s![..used, ..t.nrows()]);
            general_mat_mul(F::ONE, &q, t, F::ONE, &mut self.statistics.slice_mut(s![..used, ..]));
        }
        self.q.chunks_exact_mut(TOGETHER).take(used).for_each(|q| q[..t.nrows()].fill(F::ZERO));
    }
}

/// A part of a row's posterior that belongs to a state of the pool.
#[derive(Debug, Clone, Copy)]
struct Given<F> {
    state: u32,
    row: u32,
    q: F,
}

/// Sums what rows give, and the buffers for it.
pub(super) struct Giver<F, R> {
    pub(super) sums: Sums,
    used: Used<F>,
    given: Vec<Given<F>>,
    by_state: ByState<Given<F>>,
    passes: Passes<F, R>,
    statistics: Vec<F>,
    /// The same with what each column weighs in front, if values are missing.
    weighed: Vec<F>,
    flipped: Vec<u64>,
}

impl<F: Float, R: Rank> Giver<F, R> {
    pub(super) fn new(task: &Task<'_, F, R>, planes: usize) -> Giver<F, R> {
        let length = planes * task.layout.width;
        Giver {
            sums: Sums::zeros(task.layout),
            used: Used::new(task.layout.h + 1, length),
            given: Vec::new(),
            by_state: ByState::new(),
            passes: Passes::new(task.layout),
            statistics: vec![F::ZERO; length],
            weighed: Vec::new(),
            flipped: vec![0; task.words],
        }
    }

    /// Row number `index` of a batch has a bound and a weight, and these states and posterior probabilities.
    pub(super) fn row(
        &mut self,
        task: &Task<'_, F, R>,
        index: usize,
        (bound, weight): (f64, f64),
        numbers: &[u32],
        q: &[f64],
    ) {
        self.sums.bound += weight * bound;
        self.sums.weight += weight;
        let states = (task.layout.h + 1) as u32;
        for (number, q) in numbers.iter().zip(q) {
            if *q > F::NEGLIGIBLE {
                let q = F::of(*q * weight);
                match number.checked_sub(states) {
                    None => self.used.give(*number, index, q),
                    Some(state) => self.given.push(Given { state, row: index as u32, q }),
                }
            }
        }
    }

    /// Sums over the rows of a batch, whose statistics are `t`; the states of `pool` give to their causes.
    pub(super) fn finish_batch(&mut self, task: &Task<'_, F, R>, pool: &Pool, t: &ArrayView2<'_, F>) {
        self.used.add(t);
        let mut by_state = std::mem::replace(&mut self.by_state, ByState::new());
        by_state.arrange(pool.len(), &self.given, |given| given.state);
        self.given.clear();
        let mut statistics = std::mem::take(&mut self.statistics);
        for same in by_state.runs(|given| given.state) {
            statistics.fill(F::ZERO);
            let mut weight = 0.0;
            for Given { row, q, .. } in same {
                weight += q.f64();
                let t = t.row(*row as usize).to_slice().unwrap_or(&[]);
                kernel::add_times(task.layout.set, *q, t, &mut statistics);
            }
            self.give_state(task, pool.state(same[0].state), weight, &statistics);
        }
        (self.by_state, self.statistics) = (by_state, statistics);
    }

    /// All rows of a star with this state have given that are in this part.
    pub(super) fn finish_star(&mut self, task: &Task<'_, F, R>, state: &[u64]) {
        let mut used = std::mem::replace(&mut self.used, Used::new(0, 0));
        let mut flipped = std::mem::take(&mut self.flipped);
        for ((number, weight), statistics) in used.numbers.iter().zip(&used.weights).zip(used.statistics.outer_iter()) {
            flipped.copy_from_slice(state);
            if (*number as usize) < task.layout.h {
                bits::flip(&mut flipped, *number as usize);
            }
            self.give_state(task, &flipped, *weight, statistics.to_slice().unwrap_or(&[]));
        }
        used.begin();
        (self.used, self.flipped) = (used, flipped);
    }

    /// A state with the weight and the statistics of all rows that have it.
    fn give_state(&mut self, task: &Task<'_, F, R>, state: &[u64], weight: f64, statistics: &[F]) {
        let layout = task.layout;
        bits::each(state, |cause| self.sums.active[cause] += weight);
        let (t, absent) = statistics.split_at(layout.l * layout.width);
        if absent.is_empty() {
            self.passes.give(layout, state, Some(weight), t);
        } else {
            self.weighed.clear();
            self.weighed.extend(absent.iter().map(|absent| F::ZERO - *absent));
            self.weighed.extend_from_slice(t);
            self.passes.give(layout, state, None, &self.weighed);
        }
        self.passes.flush(layout, &mut self.sums, false);
    }

    pub(super) fn into_sums(mut self, task: &Task<'_, F, R>) -> Sums {
        self.passes.flush(task.layout, &mut self.sums, true);
        self.sums
    }
}
