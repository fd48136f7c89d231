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

    /// $c(\vec s)$.
    pub(crate) fn of(&self, state: &[u64]) -> f64 {
        let part = &self.known[bits::hash(state) as usize % PARTS];
        if let Some(known) = lock(part).get(state) {
            return *known;
        }
        let value = self.make(state);
        remember(part, state, value);
        value
    }

    fn make(&self, state: &[u64]) -> f64 {
        // the last cause is not needed as a part of other states
        let (mut others, mut last) = (state.to_vec(), None);
        bits::each(state, |cause| last = Some(cause));
        let Some(last) = last else { return sum(self.of_cause(self.h).1) };
        bits::flip(&mut others, last);
        self.with(&self.winners(&others), last)
    }

    /// $c$ of `state` with each of its $H$ bits flipped in turn.
    pub(crate) fn of_flips(&self, state: &[u64]) -> Arc<[f64]> {
        let part = &self.flips[bits::hash(state) as usize % PARTS];
        if let Some(known) = lock(part).get(state) {
            return known.clone();
        }
        let winners = self.winners(state);
        let mut flipped = state.to_vec();
        let flip = |cause: usize| match bits::has(state, cause) {
            true => {
                bits::flip(&mut flipped, cause);
                let value = self.make(&flipped);
                bits::flip(&mut flipped, cause);
                value
            }
            false => self.with(&winners, cause),
        };
        let values: Arc<[f64]> = (0..self.h).map(flip).collect();
        remember(part, state, values.clone());
        values
    }

    fn winners(&self, state: &[u64]) -> Winners {
        let (ranks, terms) = self.of_cause(self.h);
        let mut winners = Winners { ranks: ranks.to_vec(), terms: terms.to_vec() };
        bits::each(state, |cause| {
            let (ranks, terms) = self.of_cause(cause);
            raise(ranks, terms, &mut winners.ranks, &mut winners.terms);
        });
        winners
    }

    fn with(&self, winners: &Winners, cause: usize) -> f64 {
        let (ranks, terms) = self.of_cause(cause);
        sum_with(ranks, terms, &winners.ranks, &winners.terms)
    }
}

/// Adds a cause to the winners of a state.
#[multiversion(targets("x86_64+avx2", "aarch64+neon"))]
fn raise(ranks: &[f64], terms: &[f64], best_ranks: &mut [f64], best_terms: &mut [f64]) {
    for (((rank, term), best_rank), best_term) in ranks.iter().zip(terms).zip(best_ranks).zip(best_terms) {
        let wins = *rank > *best_rank;
        *best_rank = if wins { *rank } else { *best_rank };
        *best_term = if wins { *term } else { *best_term };
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

/// The same of one cause alone.
fn sum(terms: &[f64]) -> f64 {
    sum_with(terms, terms, terms, terms)
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
