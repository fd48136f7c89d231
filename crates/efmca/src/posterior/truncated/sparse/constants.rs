//! What a row of zeros adds to the log-joints of states.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use multiversion::multiversion;

use crate::posterior::truncated::bits;
use crate::posterior::truncated::kernel::{LANES, Rank, log_terms};
use crate::posterior::truncated::layout::Layout;
use crate::posterior::truncated::observations::Row;

/// Parts of the memory, so that threads seldom wait for each other.
const PARTS: usize = 64;
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

/// The winners of a state: their ranks and log-terms in each column.
struct Winners {
    ranks: Vec<f64>,
    terms: Vec<f64>,
}

impl Constants {
    pub(super) fn new<R: Rank>(layout: &Layout<f64, R>, zero: &Row<f64>) -> Constants {
        let (h, width) = (layout.h, layout.width);
        let mut terms = vec![0.0; (h + 1) * width];
        for (cause, terms) in terms.chunks_exact_mut(width).enumerate() {
            let (eta, a) = layout.parameters(cause);
            log_terms::<false, f64>(eta, a, &zero.t, terms);
        }
        let mut ranks = vec![0.0; (h + 1) * width];
        for column in 0..layout.d {
            for (position, cause) in layout.strongest(column).iter().enumerate() {
                ranks[usize::from(*cause) * width + column] = (h + 1 - position) as f64;
            }
        }
        let (known, flips) = (0..PARTS).map(|_| (Mutex::default(), Mutex::default())).unzip();
        Constants { h, width, terms, ranks, known, flips }
    }

    /// The log-term of a zero in `column` where `cause` wins.
    pub(super) fn term(&self, cause: usize, column: usize) -> f64 {
        self.terms[cause * self.width + column]
    }

    /// Ranks and log-terms of a cause.
    fn of_cause(&self, cause: usize) -> (&[f64], &[f64]) {
        let range = cause * self.width..(cause + 1) * self.width;
        (&self.ranks[range.clone()], &self.terms[range])
    }

    /// Adds $c(\vec s)$ of each of `states`, which have `words` words each, to `joints`.
    pub(crate) fn add_to(&self, states: &[u64], words: usize, joints: &mut [f64]) {
        let mut unknown: Vec<(Vec<u16>, usize)> = Vec::new();
        for (index, state) in states.chunks_exact(words).enumerate() {
            match lock(self.part_of(state)).get(state) {
                Some(known) => joints[index] += known,
                None => unknown.push((causes_of(state), index)),
            }
        }
        // neighbours in this order share their first causes, whose winners are found once
        unknown.sort_unstable();
        let mut path = Path::new(self);
        for (causes, index) in &unknown {
            let value = path.sum(self, causes);
            joints[*index] += value;
            let state = &states[index * words..][..words];
            remember(self.part_of(state), state, value);
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
        let mut path = Path::new(self);
        let mut without = Vec::with_capacity(causes.len());
        let mut values = vec![0.0; self.h];
        for dropped in causes.iter().rev() {
            without.clear();
            without.extend(causes.iter().copied().filter(|cause| cause != dropped));
            values[usize::from(*dropped)] = path.sum(self, &without);
        }
        path.go(self, &causes);
        for cause in (0..self.h).filter(|cause| !bits::has(state, *cause)) {
            values[cause] = path.sum_with(self, cause);
        }
        let values: Arc<[f64]> = values.into();
        remember(part, state, values.clone());
        values
    }
}

/// The winners along a list of causes: those of the background, of it and the first cause, and so on.
struct Path {
    causes: Vec<u16>,
    levels: Vec<Winners>,
}

impl Path {
    fn new(constants: &Constants) -> Path {
        let (ranks, terms) = constants.of_cause(constants.h);
        Path { causes: Vec::new(), levels: vec![Winners { ranks: ranks.to_vec(), terms: terms.to_vec() }] }
    }

    /// Goes to `causes`, from where the path is the same.
    fn go(&mut self, constants: &Constants, causes: &[u16]) {
        let same = self.causes.iter().zip(causes).take_while(|(a, b)| a == b).count();
        self.causes.truncate(same);
        for cause in &causes[same..] {
            let level = self.causes.len();
            if self.levels.len() == level + 1 {
                let room = || vec![0.0; constants.width];
                self.levels.push(Winners { ranks: room(), terms: room() });
            }
            let (before, after) = self.levels.split_at_mut(level + 1);
            raise(constants.of_cause(usize::from(*cause)), &before[level], &mut after[0]);
            self.causes.push(*cause);
        }
    }

    /// The sum of the log-terms where the path is, with a cause more.
    fn sum_with(&self, constants: &Constants, cause: usize) -> f64 {
        let (ranks, terms) = constants.of_cause(cause);
        let winners = &self.levels[self.causes.len()];
        sum_with(ranks, terms, &winners.ranks, &winners.terms)
    }

    /// The sum of the log-terms of `causes`.
    fn sum(&mut self, constants: &Constants, causes: &[u16]) -> f64 {
        let Some((last, others)) = causes.split_last() else {
            // the background wins against itself
            return self
                .levels
                .first()
                .map_or(0.0, |empty| sum_with(&empty.ranks, &empty.terms, &empty.ranks, &empty.terms));
        };
        self.go(constants, others);
        self.sum_with(constants, usize::from(*last))
    }
}

/// The causes of a state in ascending order.
fn causes_of(state: &[u64]) -> Vec<u16> {
    let mut causes = Vec::new();
    bits::each(state, |cause| causes.push(cause as u16));
    causes
}

/// The winners of a state with a cause more.
fn raise((ranks, terms): (&[f64], &[f64]), old: &Winners, new: &mut Winners) {
    raise_all([ranks, terms], [&old.ranks, &old.terms], &mut new.ranks, &mut new.terms);
}

#[multiversion(targets("x86_64+avx2", "aarch64+neon"))]
fn raise_all(cause: [&[f64]; 2], old: [&[f64]; 2], new_ranks: &mut [f64], new_terms: &mut [f64]) {
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
