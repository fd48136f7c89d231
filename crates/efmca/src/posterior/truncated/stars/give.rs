//! Contributions of rows in stars to the M-step.

use std::ops::Range;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, s};

use super::{Batch, NONE, Shared, Stars, TOGETHER, planes, runs};
use crate::posterior::truncated::kernel::{self, Float, Rank};
use crate::posterior::truncated::score::passes::Passes;
use crate::posterior::truncated::states::bits;
use crate::posterior::truncated::sums::Sums;
use crate::posterior::truncated::task::{END, Given, Task};

/// Parts into which stars are divided, which are summed apart.
const PARTS: usize = 8;

/// Adds to `sums` what the rows in stars give to the M-step. `given` has $S$ entries for each row of the block.
pub(crate) fn give<F: Float, R: Rank>(
    task: &Task<'_, F, R>,
    stars: &Stars<F>,
    sets: &[u64],
    given: &[Given<F>],
    sums: &mut Sums,
) {
    // parts of about as many rows each
    let share = stars.order.len().div_ceil(PARTS).max(1);
    let at = |part: usize| stars.stars.partition_point(|(_, rows)| rows.start < part * share);
    let parts: Vec<Range<usize>> = (0..PARTS).map(|part| at(part)..at(part + 1)).collect();
    let give = |part: &Range<usize>| {
        let mut giver = Giver::new(Source { task, all: stars, sets, given });
        giver.give(part.clone());
        giver.sums
    };
    if let Some(found) = in_order(&parts, &give) {
        sums.add(&found);
    }
}

/// The sum over parts, added in a fixed order.
fn in_order(parts: &[Range<usize>], give: &(impl Fn(&Range<usize>) -> Sums + Sync)) -> Option<Sums> {
    match parts {
        [] => None,
        [part] => (!part.is_empty()).then(|| give(part)),
        _ => {
            let (left, right) = parts.split_at(parts.len() / 2);
            match rayon::join(|| in_order(left, give), || in_order(right, give)) {
                (Some(mut left), Some(right)) => {
                    left.add(&right);
                    Some(left)
                }
                (left, right) => left.or(right),
            }
        }
    }
}

/// Where what rows give comes from.
struct Source<'a, F, R> {
    task: &'a Task<'a, F, R>,
    all: &'a Stars<F>,
    sets: &'a [u64],
    given: &'a [Given<F>],
}

impl<F, R> Clone for Source<'_, F, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F, R> Copy for Source<'_, F, R> {}

impl<'a, F: Float, R: Rank> Source<'a, F, R> {
    /// The contribution of a row.
    fn of_row(self, row: u32) -> &'a [Given<F>] {
        &self.given[row as usize * self.task.s..][..self.task.s]
    }

    /// The state of a row that has this number.
    fn state(self, row: u32, number: u32) -> &'a [u64] {
        let place = number as usize - self.all.h - 1;
        &self.sets[(row as usize * self.task.s + place) * self.task.words..][..self.task.words]
    }

    /// The place of a row in `rows`, and what it gives.
    fn entry(self, rows: &[u32], shared: Shared) -> (usize, Given<F>) {
        let (row, entry) = (shared.place() / self.task.s, shared.place() % self.task.s);
        (row, self.of_row(rows[row])[entry])
    }

    fn state_of(self, rows: &[u32], shared: Shared) -> &'a [u64] {
        let (row, (number, _)) = self.entry(rows, shared);
        self.state(rows[row], number)
    }
}

/// Those of a star's states that have a weight, each with a row of a matrix: about half of all flips.
struct Used<F> {
    /// Where the state with a number is, or [`NONE`].
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

    /// Begins with other data points of the same star.
    fn next(&mut self) {
        self.q[..self.numbers.len() * TOGETHER].fill(F::ZERO);
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
            self.q[place as usize * TOGETHER..][..TOGETHER].fill(F::ZERO);
            self.statistics.row_mut(place as usize).fill(F::ZERO);
        }
        self.q[place as usize * TOGETHER + index] = q;
        self.weights[place as usize] += q.f64();
    }

    /// Adds the statistics `t` of the data points to those of the states.
    fn add(&mut self, t: &ArrayView2<'_, F>) {
        let used = self.numbers.len();
        if let Ok(q) = ArrayView2::from_shape((self.place.len(), TOGETHER), &self.q) {
            let q = q.slice(s![..used, ..t.nrows()]);
            general_mat_mul(F::ONE, &q, t, F::ONE, &mut self.statistics.slice_mut(s![..used, ..]));
        }
    }
}

/// Sums what rows give, and the buffers for it.
struct Giver<'a, F, R> {
    source: Source<'a, F, R>,
    sums: Sums,
    passes: Passes<F, R>,
    statistics: Vec<F>,
    /// The same with what each column weighs in front, if values are missing.
    weighed: Vec<F>,
}

impl<'a, F: Float, R: Rank> Giver<'a, F, R> {
    fn new(source: Source<'a, F, R>) -> Giver<'a, F, R> {
        let layout = source.task.layout;
        let statistics = vec![F::ZERO; planes(source.task) * layout.width];
        let (sums, passes, weighed) = (Sums::zeros(layout), Passes::new(layout), Vec::new());
        Giver { source, sums, passes, statistics, weighed }
    }

    fn give(&mut self, stars: Range<usize>) {
        let Source { task, all, .. } = self.source;
        let mut batch = Batch::new(task);
        let mut used = Used::new(all.h + 1, planes(task) * task.layout.width);
        let (mut flipped, mut shared) = (vec![0; task.words], Vec::new());
        for (state, rows) in &all.stars[stars] {
            used.begin();
            for rows in all.order[rows.clone()].chunks(TOGETHER) {
                used.next();
                shared.clear();
                for (index, row) in rows.iter().enumerate() {
                    let given = self.source.of_row(*row).iter().take_while(|(number, _)| *number != END);
                    for ((number, value), entry) in given.zip(0..) {
                        if *number as usize <= all.h {
                            used.give(*number, index, *value);
                        } else {
                            shared.push(Shared::new(self.source.state(*row, *number), index * task.s + entry));
                        }
                    }
                }
                let t = batch.load(task, all.start, rows);
                used.add(&t);
                let source = self.source;
                for run in runs(&mut shared, |shared| source.state_of(rows, shared)) {
                    self.give_run(rows, run, |row| t.row(row).to_slice().unwrap_or(&[]));
                }
            }
            for ((number, weight), statistics) in
                used.numbers.iter().zip(&used.weights).zip(used.statistics.outer_iter())
            {
                flipped.copy_from_slice(state);
                if (*number as usize) < all.h {
                    bits::flip(&mut flipped, *number as usize);
                }
                self.give_state(&flipped, *weight, statistics.to_slice().unwrap_or(&[]));
            }
        }
        self.passes.flush(task.layout, &mut self.sums, true);
    }

    /// The same state in several rows.
    fn give_run<'t>(&mut self, rows: &[u32], run: &[Shared], t: impl Fn(usize) -> &'t [F])
    where
        F: 't,
    {
        let source = self.source;
        let (state, layout) = (source.state_of(rows, run[0]), source.task.layout);
        self.statistics.fill(F::ZERO);
        let mut weight = 0.0;
        for (row, (_, q)) in run.iter().map(|shared| source.entry(rows, *shared)) {
            weight += q.f64();
            kernel::add_times(layout.set, q, t(row), &mut self.statistics);
        }
        let statistics = std::mem::take(&mut self.statistics);
        self.give_state(state, weight, &statistics);
        self.statistics = statistics;
    }

    /// A state with the weight and the statistics of all rows that have it.
    fn give_state(&mut self, state: &[u64], weight: f64, statistics: &[F]) {
        let layout = self.source.task.layout;
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
}
