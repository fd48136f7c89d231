//! What a row of zeros adds to the log-joints of states.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use multiversion::multiversion;

use crate::posterior::truncated::data::layout::Layout;
use crate::posterior::truncated::data::observations::Row;
use crate::posterior::truncated::kernel::{LANES, Rank, log_terms};
use crate::posterior::truncated::states::bits;

/// Parts of the memory, so that threads seldom wait for each other.
const PARTS: usize = 64;
/// Columns that are worked on together: those of all causes fit into the second cache.
const BLOCK: usize = 16 * LANES;
/// States that are remembered in each part; others are made anew.
const MOST: usize = 1 << 14;

/// $c(\vec s) = \sum_d \vec\eta_{d,h(d,\vec s)}^T\vec T(0) - A_{d,h(d,\vec s)}$ of states, up to what is common to all of them.
///
/// It depends on the state and the parameters and on no row, and rows share most of their states: it is made once for each
/// state and remembered while the parameters are the same. Its value does not depend on who asked first.
pub(crate) struct Constants {
    h: usize,
    width: usize,
    /// $(H+1) \times$ width: the log-terms of zeros, and the ranks, as numbers of the same size because then many columns
    /// are compared at once.
    terms: Vec<f64>,
    ranks: Vec<f64>,
    known: Vec<Mutex<Known<f64>>>,
    flips: Vec<Mutex<Known<Arc<[f64]>>>>,
}

type Known<T> = HashMap<Box<[u64]>, T>;

impl Constants {
    pub(crate) fn new<R: Rank>(layout: &Layout<f64, R>, zero: &Row<f64>) -> Constants {
        let (h, width) = (layout.h, layout.width);
        let mut terms = vec![0.0; (h + 1) * width];
        for (cause, terms) in terms.chunks_exact_mut(width).enumerate() {
            let (eta, a) = layout.parameters(cause);
            log_terms(layout.set, eta, a, &zero.t, terms);
        }
        let mut ranks = vec![0.0; (h + 1) * width];
        for column in 0..layout.d {
            for (position, cause) in layout.strongest(column).enumerate() {
                ranks[cause * width + column] = (h + 1 - position) as f64;
            }
        }
        let (known, flips) = (0..PARTS).map(|_| (Mutex::default(), Mutex::default())).unzip();
        Constants { h, width, terms, ranks, known, flips }
    }

    /// The log-term of a zero in `column` where `cause` wins.
    pub(crate) fn term(&self, cause: usize, column: usize) -> f64 {
        self.terms[cause * self.width + column]
    }

    /// Ranks and log-terms of a cause.
    fn of_cause(&self, cause: usize) -> (&[f64], &[f64]) {
        let range = cause * self.width..(cause + 1) * self.width;
        (&self.ranks[range.clone()], &self.terms[range])
    }

    /// Adds $c(\vec s)$ of each of `states`, which have `words` words each, to `joints`.
    pub(crate) fn add_to(&self, states: &[u64], words: usize, joints: &mut [f64]) {
        let mut unknown: Vec<List> = Vec::new();
        for (index, state) in states.chunks_exact(words).enumerate() {
            match lock(self.part_of(state)).get(state) {
                Some(known) => joints[index] += known,
                None => unknown.push(List { causes: causes_of(state), index, sum: 0.0 }),
            }
        }
        if unknown.is_empty() {
            return;
        }
        // causes that many of the states have come first, so that these states share the beginning of their lists
        let mut often = vec![0_usize; self.h];
        unknown.iter().flat_map(|list| &list.causes).for_each(|cause| often[usize::from(*cause)] += 1);
        let order = |cause: &u16| (usize::MAX - often[usize::from(*cause)], *cause);
        unknown.iter_mut().for_each(|list| list.causes.sort_unstable_by_key(order));
        unknown.sort_unstable_by(|a, b| a.causes.cmp(&b.causes));
        self.sum_up(&mut unknown);
        for List { index, sum, .. } in &unknown {
            joints[*index] += sum;
            let state = &states[index * words..][..words];
            remember(self.part_of(state), state, *sum);
        }
    }

    fn part_of(&self, state: &[u64]) -> &Mutex<Known<f64>> {
        &self.known[bits::hash(state) as usize % PARTS]
    }

    /// $c$ of `state` with each of its $H$ bits flipped in turn.
    pub(crate) fn of_flips(&self, state: &[u64]) -> Arc<[f64]> {
        let part = &self.flips[bits::hash(state) as usize % PARTS];
        if let Some(known) = lock(part).get(state) {
            return known.clone();
        }
        let causes = causes_of(state);
        let flip = |index: usize| {
            let mut causes = causes.clone();
            match bits::has(state, index) {
                true => causes.retain(|cause| usize::from(*cause) != index),
                false => causes.push(index as u16),
            }
            List { causes, index, sum: 0.0 }
        };
        let mut flips: Vec<List> = (0..self.h).map(flip).collect();
        flips.sort_unstable_by(|a, b| a.causes.cmp(&b.causes));
        self.sum_up(&mut flips);
        let mut values = vec![0.0; self.h];
        flips.iter().for_each(|flip| values[flip.index] = flip.sum);
        let values: Arc<[f64]> = values.into();
        remember(part, state, values.clone());
        values
    }

    /// Finds the sums of all lists, some columns at a time, because these stay near while all lists are gone through. The order
    /// of additions is that of the columns, whatever the lists and their order.
    fn sum_up(&self, lists: &mut [List]) {
        let mut path = Path::default();
        for start in (0..self.width).step_by(BLOCK) {
            path.begin(self, start..(start + BLOCK).min(self.width));
            for list in &mut *lists {
                list.sum += path.sum(self, &list.causes);
            }
        }
    }
}

/// The causes of a state, and the sum of the log-terms of their winners.
struct List {
    causes: Vec<u16>,
    index: usize,
    sum: f64,
}

/// Winners in some columns along a list of causes: the background, the better of it and the first cause, and so on.
#[derive(Default)]
struct Path {
    columns: Range<usize>,
    causes: Vec<u16>,
    /// A line of columns for each level.
    ranks: Vec<f64>,
    terms: Vec<f64>,
}

impl Path {
    /// Starts with the background in these columns.
    fn begin(&mut self, constants: &Constants, columns: Range<usize>) {
        self.causes.clear();
        let (ranks, terms) = constants.of_cause(constants.h);
        self.ranks.splice(.., ranks[columns.clone()].iter().copied());
        self.terms.splice(.., terms[columns.clone()].iter().copied());
        self.columns = columns;
    }

    /// The sum of the log-terms of `causes`.
    fn sum(&mut self, constants: &Constants, causes: &[u16]) -> f64 {
        let size = self.columns.len();
        let Some((last, others)) = causes.split_last() else {
            // the background wins against itself
            let (ranks, terms) = (&self.ranks[..size], &self.terms[..size]);
            return sum_with(ranks, terms, ranks, terms);
        };
        let same = self.causes.iter().zip(others).take_while(|(a, b)| a == b).count();
        self.causes.truncate(same);
        for cause in &others[same..] {
            let level = self.causes.len();
            let end = (level + 2) * size;
            if self.ranks.len() < end {
                self.ranks.resize(end, 0.0);
                self.terms.resize(end, 0.0);
            }
            let (ranks, terms) = constants.of_cause(usize::from(*cause));
            let (old_ranks, new_ranks) = self.ranks[level * size..end].split_at_mut(size);
            let (old_terms, new_terms) = self.terms[level * size..end].split_at_mut(size);
            let cause_here = [&ranks[self.columns.clone()], &terms[self.columns.clone()]];
            raise(cause_here, [old_ranks, old_terms], new_ranks, new_terms);
            self.causes.push(*cause);
        }
        let (ranks, terms) = constants.of_cause(usize::from(*last));
        let here = self.causes.len() * size..(self.causes.len() + 1) * size;
        let (ranks, terms) = (&ranks[self.columns.clone()], &terms[self.columns.clone()]);
        sum_with(ranks, terms, &self.ranks[here.clone()], &self.terms[here])
    }
}

/// The causes of a state in ascending order.
fn causes_of(state: &[u64]) -> Vec<u16> {
    let mut causes = Vec::new();
    bits::each(state, |cause| causes.push(cause as u16));
    causes
}

/// The winners of a state with a cause more.
#[multiversion(targets("x86_64+avx2", "aarch64+neon"))]
fn raise(cause: [&[f64]; 2], old: [&[f64]; 2], new_ranks: &mut [f64], new_terms: &mut [f64]) {
    let old = old[0].iter().zip(old[1]);
    let new = new_ranks.iter_mut().zip(new_terms);
    for (((rank, term), (old_rank, old_term)), (new_rank, new_term)) in cause[0].iter().zip(cause[1]).zip(old).zip(new)
    {
        let wins = *rank > *old_rank;
        *new_rank = if wins { *rank } else { *old_rank };
        *new_term = if wins { *term } else { *old_term };
    }
}

/// The sum of the log-terms of a state with a cause more. There is one order of additions, for the same bits everywhere.
#[multiversion(targets("x86_64+avx2", "aarch64+neon"))]
fn sum_with(ranks: &[f64], terms: &[f64], best_ranks: &[f64], best_terms: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let new = ranks.as_chunks::<LANES>().0.iter().zip(terms.as_chunks::<LANES>().0);
    let best = best_ranks.as_chunks::<LANES>().0.iter().zip(best_terms.as_chunks::<LANES>().0);
    for ((ranks, terms), (best_ranks, best_terms)) in new.zip(best) {
        for lane in 0..LANES {
            sums[lane] += if ranks[lane] > best_ranks[lane] { terms[lane] } else { best_terms[lane] };
        }
    }
    sums.iter().sum()
}

fn lock<T>(part: &Mutex<T>) -> MutexGuard<'_, T> {
    // what is in it is complete at all times
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

fn remember<T>(part: &Mutex<Known<T>>, state: &[u64], value: T) {
    let mut known = lock(part);
    if known.len() < MOST {
        known.insert(state.into(), value);
    }
}
