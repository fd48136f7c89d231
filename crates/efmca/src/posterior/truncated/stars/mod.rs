//! Rows that share their first state, all at once.
//!
//! For a given state the log-likelihood is linear in the statistics of a row,
//! $$ \sum\_d \vec\eta\_{d,h(d,\vec s)}^T \vec T(y\_d) - \sum\_d A\_{d,h(d,\vec s)}, $$
//! with the parameters of the winners $h(d,\vec s)$. A *star* is a state together with all its flips. For rows with the
//! same star the winners' parameters are put together once, and all sums are one product of matrices; so are the
//! statistics that the rows give to the causes in the M-step. The other states of these rows are shared by several of
//! them, too. That is several times faster than passes over single rows, and where few causes are active most rows
//! have their first state in common with many others.

mod give;
mod scan;
mod winners;

use std::ops::Range;

use ndarray::{Array2, ArrayView2, s};

use crate::posterior::truncated::data::observations::Row;
use crate::posterior::truncated::kernel::{Float, Rank};
use crate::posterior::truncated::score::ways::has_many;
use crate::posterior::truncated::states::bits;
use crate::posterior::truncated::task::Task;
pub(super) use give::give;

/// Rows that are needed for a star to be worth the work.
const SMALLEST: usize = 6;
/// Rows of a star that are worked on together: the more, the more of them share a state; their statistics (0.6 MB for 400
/// columns) are still near.
const TOGETHER: usize = 384;
/// Marks a row that is in no star.
const NONE: u32 = u32::MAX;

/// The stars of a block of rows.
#[derive(Debug)]
pub(super) struct Stars<F> {
    h: usize,
    s: usize,
    /// The first row of the block.
    start: usize,
    /// The rows of each star, one after the other, and where in that list each star is.
    order: Vec<u32>,
    stars: Vec<(Vec<u64>, Range<usize>)>,
    /// Where in the list each row of the block is.
    place: Vec<u32>,
    scores: Scores<Vec<F>, Vec<u16>>,
}

/// Sums of log-terms for the rows of a list.
#[derive(Debug, Default)]
pub(super) struct Scores<T, C> {
    /// Of all $H$ flips of the first state, and of that state itself.
    pub(super) flips: T,
    /// Of those states of $\mathcal K^{(n)}$ that are none of these, in their places.
    pub(super) others: T,
    /// The codes of the states of $\mathcal K^{(n)}$ as seen from the first state.
    pub(super) codes: C,
}

impl<F: Float> Stars<F> {
    /// Without any star.
    pub(super) fn none(start: usize) -> Stars<F> {
        let (order, stars, place) = (Vec::new(), Vec::new(), Vec::new());
        Stars { h: 0, s: 0, start, order, stars, place, scores: Scores::default() }
    }

    /// Finds the rows of a block that share their first states, and scores their states and the flips of the first ones.
    pub(super) fn new<R: Rank>(task: &Task<'_, F, R>, rows: Range<usize>, sets: &[u64]) -> Stars<F> {
        let mut all = Stars { h: task.layout.h, s: task.s, ..Stars::none(rows.start) };
        let size = task.s * task.words;
        let first = |row: u32| &sets[row as usize * size..][..task.words];
        let mut order: Vec<(u64, u32)> = (0..rows.len() as u32).map(|row| (bits::hash(first(row)), row)).collect();
        order.sort_unstable();
        all.place = vec![NONE; rows.len()];
        for same in order.chunk_by(|a, b| a.0 == b.0 && first(a.1) == first(b.1)) {
            let state = first(same[0].1);
            if same.len() < SMALLEST || has_many(task.layout, state) {
                continue;
            }
            let from = all.order.len();
            for (_, row) in same {
                all.place[*row as usize] = all.order.len() as u32;
                all.order.push(*row);
            }
            all.stars.push((state.to_vec(), from..all.order.len()));
        }
        let mut flips = vec![F::ZERO; all.order.len() * (all.h + 1)];
        let mut others = vec![F::ZERO; all.order.len() * all.s];
        let mut codes = vec![bits::OTHER; all.order.len() * all.s];
        let scores = Scores { flips: &mut flips[..], others: &mut others[..], codes: &mut codes[..] };
        scan::scan(task, &all, sets, 0..all.stars.len(), scores);
        all.scores = Scores { flips, others, codes };
        all
    }

    /// The sums of log-terms for the states of a row, if it is in a star.
    pub(super) fn of_row(&self, n: usize) -> Option<Scores<&[F], &[u16]>> {
        let place = *self.place.get(n - self.start)? as usize;
        (place != NONE as usize).then(|| Scores {
            flips: &self.scores.flips[place * (self.h + 1)..][..self.h + 1],
            others: &self.scores.others[place * self.s..][..self.s],
            codes: &self.scores.codes[place * self.s..][..self.s],
        })
    }
}

/// The statistics of a few rows: $\vec T$, which is zero where a value is missing, and then, if any is missing anywhere, -1 where
/// there is one: what $A$ is multiplied with.
struct Batch<F> {
    row: Row<F>,
    t: Array2<F>,
}

/// The planes of a row in a product of matrices.
fn planes<F: Float, R: Rank>(task: &Task<'_, F, R>) -> usize {
    task.layout.l + usize::from(task.data.any_missing())
}

impl<F: Float> Batch<F> {
    fn new<R: Rank>(task: &Task<'_, F, R>) -> Batch<F> {
        let length = planes(task) * task.layout.width;
        Batch { row: Row::new(task.data.columns()), t: Array2::zeros((TOGETHER, length)) }
    }

    /// The rows with numbers `rows` counted from `start`.
    fn load<R: Rank>(&mut self, task: &Task<'_, F, R>, start: usize, rows: &[u32]) -> ArrayView2<'_, F> {
        for (mut t, row) in self.t.outer_iter_mut().zip(rows) {
            task.data.load(start + *row as usize, &mut self.row);
            let (to_t, to_there) = t.as_slice_mut().unwrap_or(&mut []).split_at_mut(self.row.t.len());
            to_t.copy_from_slice(&self.row.t);
            to_there.iter_mut().zip(&self.row.present).for_each(|(to, present)| *to = F::ZERO - *present);
        }
        self.t.slice(s![..rows.len(), ..])
    }
}

/// A state that several rows may have: part of a hash of it, and where it is, in one number because that is sorted faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Shared(u64);

/// Bits of a place; see [`enough_places`].
const PLACE_BITS: u32 = 24;

/// Whether rows of `s` states can be in stars: the places of all states of [`TOGETHER`] rows must have numbers.
pub(super) fn enough_places(s: usize) -> bool {
    s <= (1 << PLACE_BITS) / TOGETHER
}

impl Shared {
    fn new(state: &[u64], place: usize) -> Shared {
        Shared(bits::hash(state) >> PLACE_BITS << PLACE_BITS | place as u64)
    }

    fn place(self) -> usize {
        (self.0 & ((1 << PLACE_BITS) - 1)) as usize
    }
}

/// Runs of the same state; `state` finds it. Other states seldom share the part of the hash, and then there are more runs.
fn runs<'a, 's>(shared: &'a mut [Shared], state: impl Fn(Shared) -> &'s [u64]) -> impl Iterator<Item = &'a [Shared]> {
    shared.sort_unstable();
    // word by word: a state is too short for a call that compares memory
    let same = move |a: &Shared, b: &Shared| state(*a).iter().zip(state(*b)).all(|(a, b)| a == b);
    shared.chunk_by(move |a, b| a.0 >> PLACE_BITS == b.0 >> PLACE_BITS && same(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_states_survive_and_runs_have_one_state_each() {
        let most = (1..).take_while(|s| enough_places(*s)).last().unwrap_or(0);
        let last = TOGETHER * most - 1;
        assert_eq!(Shared::new(&[3, 1], last).place(), last);
        let states = [[1u64, 2], [5, 0], [1, 2], [1, 3], [5, 0]];
        let mut shared: Vec<Shared> = states.iter().enumerate().map(|(at, state)| Shared::new(state, at)).collect();
        let found: Vec<Vec<usize>> = runs(&mut shared, |one| &states[one.place()])
            .map(|run| run.iter().map(|one| one.place()).collect())
            .collect();
        assert_eq!(found.len(), 3);
        assert!(found.contains(&vec![0, 2]) && found.contains(&vec![1, 4]) && found.contains(&vec![3]), "{found:?}");
    }
}
