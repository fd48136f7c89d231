//! Rows that share their first state, all at once.
//!
//! For a given state the log-likelihood is linear in the statistics of a row,
//! $$ \sum\_d \vec\eta\_{d,h(d,\vec s)}^T \vec T(y\_d) - \sum\_d A\_{d,h(d,\vec s)}, $$
//! with the parameters of the winners $h(d,\vec s)$. A *star* is a state together with all its flips. For rows with the
//! same star the winners' parameters are put together once, and all sums are one product of matrices; so are the
//! statistics that the rows give to the causes in the M-step. That is several times faster than any pass over a single
//! row, and rows with few active causes share their states with many others.

use std::ops::Range;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, s};

use super::bits;
use super::kernel::{self, Float, Rank};
use super::layout::Layout;
use super::observations::Row;
use super::passes::Passes;
use super::rows::{Task, has_many};
use super::sums::Sums;

/// Rows that are needed for a star to be worth the work.
const SMALLEST: usize = 16;
/// Rows that are multiplied together: their statistics stay in the cache.
const TOGETHER: usize = 96;
/// Parts into which stars are divided for the M-step, which are summed apart.
const PARTS: usize = 8;
/// Marks a row that is in no star.
const NONE: u32 = u32::MAX;

/// What a state of a row gives to the M-step: the flip that it is ($H$: none), and its posterior probability.
pub(super) type Given<F> = (u16, F);
/// Marks the end of a row's list.
pub(super) const END: u16 = u16::MAX;

/// The stars of a block of rows.
#[derive(Debug)]
pub(super) struct Stars<F> {
    h: usize,
    /// The first row of the block.
    start: usize,
    /// The rows of each star, one after the other, and where in that list each star is.
    order: Vec<u32>,
    stars: Vec<(Vec<u64>, Range<usize>)>,
    /// Where in the list each row of the block is.
    place: Vec<u32>,
    /// For each row of the list, the sums of log-terms of all $H$ flips, and of the state itself.
    sums: Vec<F>,
}

impl<F: Float> Stars<F> {
    /// Without any star.
    pub(super) fn none(start: usize) -> Stars<F> {
        Stars { h: 0, start, order: Vec::new(), stars: Vec::new(), place: Vec::new(), sums: Vec::new() }
    }

    /// Finds the rows of a block that share their first states, and scores those and their flips.
    pub(super) fn new<R: Rank>(task: &Task<'_, F, R>, rows: Range<usize>, sets: &[u64], portable: bool) -> Stars<F> {
        let mut stars = Stars::none(rows.start);
        stars.h = task.layout.h;
        let size = task.s * task.words;
        let first = |row: u32| &sets[row as usize * size..][..task.words];
        let mut order: Vec<(u64, u32)> =
            (0..rows.len() as u32).map(|row| (bits::hash(first(row)), row)).collect();
        order.sort_unstable();
        stars.place = vec![NONE; rows.len()];
        for same in order.chunk_by(|a, b| a.0 == b.0 && first(a.1) == first(b.1)) {
            let state = first(same[0].1);
            if same.len() < SMALLEST || has_many(task, state) {
                continue;
            }
            let from = stars.order.len();
            for (_, row) in same {
                stars.place[*row as usize] = stars.order.len() as u32;
                stars.order.push(*row);
            }
            stars.stars.push((state.to_vec(), from..stars.order.len()));
        }
        stars.sums = vec![F::ZERO; stars.order.len() * (stars.h + 1)];
        let mut sums = std::mem::take(&mut stars.sums);
        let fast = !portable && super::rows::fast();
        scan(task, &stars, 0..stars.stars.len(), &mut sums, fast);
        stars.sums = sums;
        stars
    }

    /// The sums of log-terms of the flips of a row's first state, and of that state, if the row is in a star.
    pub(super) fn of_row(&self, n: usize) -> Option<&[F]> {
        let place = *self.place.get(n - self.start)?;
        (place != NONE).then(|| &self.sums[place as usize * (self.h + 1)..][..self.h + 1])
    }

    /// Adds to `sums` what the states in stars give to the M-step; `given` has $S$ entries for each row of the block.
    pub(super) fn give<R: Rank>(&self, task: &Task<'_, F, R>, given: &[Given<F>], sums: &mut Sums, portable: bool) {
        // parts of about as many rows each
        let share = self.order.len().div_ceil(PARTS).max(1);
        let parts: Vec<Range<usize>> = (0..PARTS)
            .map(|part| {
                let at = |part: usize| self.stars.partition_point(|(_, rows)| rows.start < part * share);
                at(part)..at(part + 1)
            })
            .collect();
        let fast = !portable && super::rows::fast();
        let part = |stars: &Range<usize>| match fast {
            true => give::<true, F, R>(task, self, stars.clone(), given),
            false => give::<false, F, R>(task, self, stars.clone(), given),
        };
        if let Some(found) = in_order(&parts, &part) {
            sums.add(&found);
        }
    }
}

/// The sum over parts, added in a fixed order.
fn in_order(parts: &[Range<usize>], part: &(impl Fn(&Range<usize>) -> Sums + Sync)) -> Option<Sums> {
    match parts {
        [] => None,
        [only] => (!only.is_empty()).then(|| part(only)),
        _ => {
            let (left, right) = parts.split_at(parts.len() / 2);
            match rayon::join(|| in_order(left, part), || in_order(right, part)) {
                (Some(mut left), Some(right)) => {
                    left.add(&right);
                    Some(left)
                }
                (left, right) => left.or(right),
            }
        }
    }
}

/// Scores all flips of some stars; `sums` is their part of [`Stars::sums`].
fn scan<F: Float, R: Rank>(
    task: &Task<'_, F, R>,
    all: &Stars<F>,
    stars: Range<usize>,
    sums: &mut [F],
    fast: bool,
) {
    let rows = |stars: &Range<usize>| all.stars[stars.clone()].iter().map(|(_, rows)| rows.len()).sum::<usize>();
    if stars.len() > 1 && rows(&stars) > TOGETHER {
        let middle = stars.start + stars.len() / 2;
        let (left, right) = sums.split_at_mut(rows(&(stars.start..middle)) * (all.h + 1));
        rayon::join(
            || scan(task, all, stars.start..middle, left, fast),
            || scan(task, all, middle..stars.end, right, fast),
        );
        return;
    }
    let mut winners = Winners::new(task.layout);
    let mut batch = Batch::new(task);
    let mut sums = sums;
    for (state, rows) in &all.stars[stars] {
        if fast {
            winners.star::<true>(task.layout, state);
        } else {
            winners.star::<false>(task.layout, state);
        }
        for rows in all.order[rows.clone()].chunks(TOGETHER) {
            let (mine, rest) = sums.split_at_mut(rows.len() * (all.h + 1));
            sums = rest;
            let statistics = batch.load(task, all.start, rows);
            if let Ok(mut found) = ArrayViewMut2::from_shape((rows.len(), all.h + 1), &mut *mine) {
                general_mat_mul(F::ONE, &statistics, &winners.eta.t(), F::ZERO, &mut found);
            }
            for found in mine.chunks_exact_mut(all.h + 1) {
                found.iter_mut().zip(&winners.a).for_each(|(sum, a)| *sum = *sum - *a);
            }
        }
    }
}

/// What the rows of some stars give to the causes.
fn give<const AVX2: bool, F: Float, R: Rank>(
    task: &Task<'_, F, R>,
    all: &Stars<F>,
    stars: Range<usize>,
    given: &[Given<F>],
) -> Sums {
    let layout = task.layout;
    let mut sums = Sums::zeros(layout);
    let mut passes = Passes::new(layout);
    let mut batch = Batch::new(task);
    let mut q = Array2::zeros((TOGETHER, all.h + 1));
    let mut statistics = Array2::zeros((all.h + 1, layout.l * layout.width));
    let mut weights = vec![0.0; all.h + 1];
    let mut flipped = vec![0; task.words];
    let mut mean = Row::new(task.data.columns());
    for (state, rows) in &all.stars[stars] {
        statistics.fill(F::ZERO);
        weights.fill(0.0);
        for rows in all.order[rows.clone()].chunks(TOGETHER) {
            let mut q = q.slice_mut(s![..rows.len(), ..]);
            q.fill(F::ZERO);
            for (mut q, row) in q.outer_iter_mut().zip(rows) {
                let given = &given[*row as usize * task.s..][..task.s];
                for (flip, value) in given.iter().take_while(|(flip, _)| *flip != END) {
                    q[usize::from(*flip)] = *value;
                    weights[usize::from(*flip)] += value.f64();
                }
            }
            general_mat_mul(F::ONE, &q.t(), &batch.load(task, all.start, rows), F::ONE, &mut statistics);
        }
        // all that a flip owns in these rows is as much as one row of their weight with their mean statistics owns
        for (flip, (weight, statistics)) in weights.iter().zip(statistics.outer_iter()).enumerate() {
            if *weight > 0.0 {
                flipped.copy_from_slice(state);
                if flip < all.h {
                    bits::flip(&mut flipped, flip);
                }
                let scale = F::of(1.0 / weight);
                mean.t.iter_mut().zip(statistics).for_each(|(mean, sum)| *mean = *sum * scale);
                passes.distribute::<AVX2>(layout, &mean, &flipped, &[*weight]);
                passes.flush(layout, &mut sums, false);
            }
        }
    }
    passes.flush(layout, &mut sums, true);
    sums
}

/// The statistics of a few rows.
struct Batch<F> {
    row: Row<F>,
    t: Array2<F>,
}

impl<F: Float> Batch<F> {
    fn new<R: Rank>(task: &Task<'_, F, R>) -> Batch<F> {
        let length = task.layout.l * task.layout.width;
        Batch { row: Row::new(task.data.columns()), t: Array2::zeros((TOGETHER, length)) }
    }

    /// The rows with numbers `rows` counted from `start`.
    fn load<R: Rank>(&mut self, task: &Task<'_, F, R>, start: usize, rows: &[u32]) -> ArrayView2<'_, F> {
        for (mut t, row) in self.t.outer_iter_mut().zip(rows) {
            task.data.load(start + *row as usize, &mut self.row);
            t.iter_mut().zip(&self.row.t).for_each(|(to, from)| *to = *from);
        }
        self.t.slice(s![..rows.len(), ..])
    }
}

/// The parameters of the winners in each column for all states of a star.
struct Winners<F, R> {
    /// $(H+1) \times (L \cdot$ width$)$: $\vec\eta$.
    eta: Array2<F>,
    /// $H+1$: sums of $A$ over the columns.
    a: Vec<F>,
    /// Of one state: ranks, $\vec\eta$ and $A$; and the same with a cause more.
    ranks: [Vec<R>; 2],
    parameters: [Vec<F>; 2],
}

impl<F: Float, R: Rank> Winners<F, R> {
    fn new(layout: &Layout<F, R>) -> Winners<F, R> {
        let width = layout.width;
        Winners {
            eta: Array2::zeros((layout.h + 1, layout.l * width)),
            a: vec![F::ZERO; layout.h + 1],
            ranks: std::array::from_fn(|_| vec![R::LOWEST; width]),
            parameters: std::array::from_fn(|_| vec![F::ZERO; (layout.l + 1) * width]),
        }
    }

    /// Puts together the winners of `state`, leaving out cause `without`.
    fn state<const AVX2: bool>(&mut self, layout: &Layout<F, R>, state: &[u64], without: usize) {
        let width = layout.width;
        self.ranks[0].copy_from_slice(layout.ranks(layout.h));
        let (eta, a) = layout.parameters(layout.h);
        self.parameters[0][..eta.len()].copy_from_slice(eta);
        self.parameters[0][eta.len()..].copy_from_slice(a);
        bits::each(state, |cause| {
            if cause == without {
                return;
            }
            let [ranks, new_ranks] = &mut self.ranks;
            let [old, new] = &mut self.parameters;
            let (eta, a) = layout.parameters(cause);
            let planes = eta.chunks_exact(width).chain([a]);
            for ((plane, old), new) in planes.zip(old.chunks_exact(width)).zip(new.chunks_exact_mut(width)) {
                kernel::add_cause::<AVX2, F, R>(layout.ranks(cause), plane, (ranks, old), new_ranks, new);
            }
            self.ranks.swap(0, 1);
            self.parameters.swap(0, 1);
        });
    }

    /// Keeps the state that was put together as number `index`.
    fn keep(&mut self, index: usize) {
        let length = self.eta.ncols();
        self.eta.row_mut(index).iter_mut().zip(&self.parameters[0]).for_each(|(to, from)| *to = *from);
        self.a[index] = kernel::sum(&self.parameters[0][length..]);
    }

    /// Puts together the winners of `state` and of all its flips.
    fn star<const AVX2: bool>(&mut self, layout: &Layout<F, R>, state: &[u64]) {
        let width = layout.width;
        bits::each(state, |cause| {
            self.state::<AVX2>(layout, state, cause);
            self.keep(cause);
        });
        self.state::<AVX2>(layout, state, usize::MAX);
        self.keep(layout.h);
        let (ranks, scratch) = self.ranks.split_at_mut(1);
        let best = &self.parameters[0];
        for cause in (0..layout.h).filter(|cause| !bits::has(state, *cause)) {
            let (eta, a) = layout.parameters(cause);
            let rank = layout.ranks(cause);
            let mut row = self.eta.row_mut(cause);
            let Some(row) = row.as_slice_mut() else { continue };
            for ((plane, old), new) in eta.chunks_exact(width).zip(best.chunks_exact(width)).zip(row.chunks_exact_mut(width)) {
                kernel::add_cause::<AVX2, F, R>(rank, plane, (&ranks[0], old), &mut scratch[0], new);
            }
            self.a[cause] = kernel::sum_with::<AVX2, F, R>(rank, a, &ranks[0], &best[layout.l * width..]);
        }
    }
}
