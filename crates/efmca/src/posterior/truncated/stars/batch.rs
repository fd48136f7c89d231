//! The rows of a batch, and the steps of their E-step.

use ndarray::{Array2, ArrayView2, s};

use super::choice::{Child, Choice};
use super::give::Giver;
use super::pool::{ByState, Pool};
use super::scan::{self, Wanted};
use super::winners::Winners;
use super::{Lot, Stars, TOGETHER};
use crate::cancel;
use crate::error::{Error, Result};
use crate::posterior::truncated::data::observations::Row;
use crate::posterior::truncated::kernel::{Float, Rank};
use crate::posterior::truncated::states::bits::{self, OTHER};
use crate::posterior::truncated::sums::Sums;
use crate::posterior::truncated::task::{Kept, Task};

/// Goes through batches, and sums what they give.
pub(super) struct Batches<'a, F, R> {
    task: &'a Task<'a, F, R>,
    stars: &'a Stars,
    /// The sets of all rows of the block as they were before.
    sets: &'a [u64],
    statistics: Statistics<F>,
    winners: Winners<F, R>,
    pool: Pool,
    /// The sums of all flips, $H + 1$ for each row.
    flips: Vec<F>,
    /// The sets of all rows, $S$ for each: numbers of states ($h$ for the flip of cause $h$, $H$ for the star's state, and from
    /// $H + 1$ on those of the pool), and their log-joints.
    numbers: Vec<u32>,
    joints: Vec<f64>,
    wanted: Vec<Wanted>,
    by_state: ByState<Wanted>,
    /// The states that are proposed, row by row, and their log-joints.
    children: Vec<Wanted>,
    /// Where those of each row end.
    children_end: Vec<usize>,
    child_joints: Vec<f64>,
    choice: Choice,
    giver: Giver<F, R>,
}

/// The statistics of the rows of a batch: $\vec T$, which is zero where a value is missing, and then, if any value of the
/// data is missing, -1 where one is present: what $A$ is multiplied with.
struct Statistics<F> {
    row: Row<F>,
    t: Array2<F>,
    /// What is common to all states of a row.
    common: Vec<f64>,
}

/// The planes of a row in a product of matrices.
pub(super) fn planes<F: Float, R: Rank>(task: &Task<'_, F, R>) -> usize {
    task.layout.l + usize::from(task.data.any_missing())
}

impl<F: Float> Statistics<F> {
    /// Those of the rows with numbers `rows` counted from `start`.
    fn load<R: Rank>(&mut self, task: &Task<'_, F, R>, start: usize, rows: &[u32]) {
        self.common.clear();
        for (mut t, row) in self.t.outer_iter_mut().zip(rows) {
            task.data.load(start + *row as usize, &mut self.row);
            let (to_t, to_there) = t.as_slice_mut().unwrap_or(&mut []).split_at_mut(self.row.t.len());
            to_t.copy_from_slice(&self.row.t);
            to_there.iter_mut().zip(&self.row.present).for_each(|(to, present)| *to = F::ZERO - *present);
            self.common.push(task.layout.common(&self.row));
        }
    }

    fn of(&self, rows: usize) -> ArrayView2<'_, F> {
        self.t.slice(s![..rows, ..])
    }
}

impl<'a, F: Float, R: Rank> Batches<'a, F, R> {
    pub(super) fn new(task: &'a Task<'a, F, R>, stars: &'a Stars, sets: &'a [u64]) -> Batches<'a, F, R> {
        let planes = planes(task);
        let t = Array2::zeros((TOGETHER, planes * task.layout.width));
        Batches {
            task,
            stars,
            sets,
            statistics: Statistics { row: Row::new(task.data.columns()), t, common: Vec::with_capacity(TOGETHER) },
            winners: Winners::new(task.layout, planes),
            pool: Pool::new(task.words),
            flips: vec![F::ZERO; TOGETHER * (task.layout.h + 1)],
            numbers: vec![0; TOGETHER * task.s],
            joints: vec![0.0; TOGETHER * task.s],
            wanted: Vec::new(),
            by_state: ByState::new(),
            children: Vec::new(),
            children_end: Vec::new(),
            child_joints: Vec::new(),
            choice: Choice::new(task),
            giver: Giver::new(task, planes),
        }
    }

    /// The E-step of the rows of `lots`; `new` has room for their sets.
    pub(super) fn e_step(mut self, lots: &[Lot], mut new: Kept<'_>) -> Result<Sums> {
        for same in lots.chunk_by(|a, b| a.0 == b.0) {
            let state = &self.stars.stars[same[0].0].0;
            self.winners.star(self.task.layout, state);
            self.choice.begin_star(self.task, state);
            for (_, rows) in same {
                cancel::check();
                let (of_batch, later) = new.split(rows.len(), (self.task.s, self.task.words));
                new = later;
                self.batch(state, &self.stars.order[rows.clone()], of_batch)?;
            }
            self.giver.finish_star(self.task, state);
        }
        Ok(self.giver.into_sums(self.task))
    }

    fn batch(&mut self, state: &[u64], rows: &[u32], mut new: Kept<'_>) -> Result<()> {
        self.statistics.load(self.task, self.stars.start, rows);
        scan::flips(&self.winners, &self.statistics.of(rows.len()), &mut self.flips);
        self.number(state, rows, new.sets);
        let t = self.statistics.of(rows.len());
        let states = (&mut self.winners, &self.pool);
        scan::others(self.task, states, &t, (&self.wanted, &mut self.by_state), &mut self.joints);
        self.propose(state, rows, new.sets);
        self.child_joints.resize(self.children.len(), 0.0);
        let t = self.statistics.of(rows.len());
        let states = (&mut self.winners, &self.pool);
        scan::others(self.task, states, &t, (&self.children, &mut self.by_state), &mut self.child_joints);
        self.choose(rows, &mut new)?;
        self.giver.finish_batch(self.task, &self.pool, &self.statistics.of(rows.len()));
        let evaluations = rows.len() * self.task.layout.h + self.wanted.len() + self.children.len();
        self.giver.sums.evaluations += evaluations as u64;
        Ok(())
    }

    /// Numbers the states of all sets, and notes those that are not flips. `new` has the same sets.
    fn number(&mut self, state: &[u64], rows: &[u32], new: &mut [u64]) {
        let Task { s, words, .. } = *self.task;
        let h = self.task.layout.h;
        self.pool.clear();
        self.wanted.clear();
        for (index, row) in rows.iter().enumerate() {
            let set = &self.sets[*row as usize * s * words..][..s * words];
            new[index * s * words..][..s * words].copy_from_slice(set);
            let numbers = self.numbers[index * s..][..s].iter_mut();
            for ((other, number), place) in set.chunks_exact(words).zip(numbers).zip(index * s..) {
                let code = bits::code(h, state, other);
                *number = u32::from(code);
                if code == OTHER {
                    let state = self.pool.number(other);
                    *number = (h + 1) as u32 + state;
                    self.wanted.push(Wanted { state, row: index as u32, place: place as u32 });
                }
            }
        }
    }

    /// Notes what is proposed to each row beside flips, and lets better flips in.
    fn propose(&mut self, state: &[u64], rows: &[u32], new: &mut [u64]) {
        let Task { s, words, .. } = *self.task;
        let states = self.task.layout.h + 1;
        self.children.clear();
        self.children_end.clear();
        for (index, row) in rows.iter().enumerate() {
            let set = &mut new[index * s * words..][..s * words];
            let (numbers, joints) = (&mut self.numbers[index * s..][..s], &mut self.joints[index * s..][..s]);
            let flips = &self.flips[index * states..][..states];
            self.choice.begin(flips, (numbers, joints));
            let (row, pool) = (*row as usize, &mut self.pool);
            self.choice.propose(self.task, (self.stars.start, row, self.sets), (state, joints), |child| {
                let (of_row, place) = (index as u32, self.children.len() as u32);
                let from = self.children_end.last().copied().unwrap_or(0);
                let number = pool.number(child);
                let known = numbers.contains(&(states as u32 + number))
                    || self.children[from..].iter().any(|other| other.state == number);
                if !known {
                    self.children.push(Wanted { state: number, row: of_row, place });
                }
            });
            self.children_end.push(self.children.len());
            let entered = self.choice.let_flips_in((numbers, joints), |place, cause| {
                let to = &mut set[place * words..][..words];
                bits::copy(state, to);
                bits::flip(to, cause);
            });
            self.giver.sums.replaced += entered as u64;
        }
    }

    /// Lets better children in; then the rows have their posteriors, and give to the M-step.
    fn choose(&mut self, rows: &[u32], new: &mut Kept<'_>) -> Result<()> {
        let Task { s, words, .. } = *self.task;
        let mut from = 0;
        for (index, row) in rows.iter().enumerate() {
            let n = self.stars.start + *row as usize;
            let set = &mut new.sets[index * s * words..][..s * words];
            let (numbers, joints) = (&mut self.numbers[index * s..][..s], &mut self.joints[index * s..][..s]);
            let to = self.children_end[index];
            let children = self.children[from..to].iter().zip(&self.child_joints[from..to]);
            from = to;
            let children = children.map(|(child, joint)| Child { state: child.state, joint: *joint });
            let first = (self.task.layout.h + 1) as u32;
            let entered = self.choice.let_children_in((numbers, joints), children, |place, child| {
                bits::copy(self.pool.state(child), &mut set[place * words..][..words]);
                first + child
            });
            self.giver.sums.replaced += entered as u64;
            let best = self.choice.best_first((numbers, joints));
            (0..words).for_each(|word| set.swap(word, best * words + word));
            let found = self.choice.posterior(self.task.beta, joints);
            let Some((bound, q)) = found else { return Err(Error::ImpossibleRow { row: n }) };
            let common = self.statistics.common[index] + self.task.layout.log_prior_empty + self.task.data.log_h(n);
            let (bound, weight) = (bound + common, self.task.data.weight(n));
            new.bounds[index] = bound;
            if !new.q.is_empty() {
                new.q[index * s..][..s].copy_from_slice(q);
            }
            self.giver.row(self.task, index, (bound, weight), numbers, q);
        }
        Ok(())
    }
}
