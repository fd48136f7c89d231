//! The task of an E-step, which all rows share, and where its results go.

use std::ops::Range;
use std::sync::Arc;

use rand::SeedableRng;
use rayon::prelude::*;

use crate::posterior::truncated::data::constants::Constants;
use crate::posterior::truncated::data::layout::Layout;
use crate::posterior::truncated::data::observations::{Observations, Row};
use crate::posterior::truncated::kernel::{Float, Rank};
use crate::posterior::truncated::proposals::Propose;
use crate::posterior::truncated::states::{Random, bits, sets};

/// Rows whose sets are filled one after the other.
const FILLED_TOGETHER: usize = 256;

/// The task for all rows.
pub(crate) struct Task<'a, F, R> {
    pub(crate) data: &'a Observations<F>,
    pub(crate) layout: &'a Layout<F, R>,
    /// What zeros add to the log-joint of a state, where they are not part of rows.
    pub(crate) constants: Option<&'a Constants>,
    pub(crate) proposals: &'a [Arc<dyn Propose>],
    pub(crate) generations: usize,
    /// $1/T$.
    pub(crate) beta: f64,
    pub(crate) pi: &'a [f64],
    /// $\sum_h\pi_h$.
    pub(crate) expected_active: f64,
    /// States of a row, and words of a state.
    pub(crate) s: usize,
    pub(crate) words: usize,
    /// Whether some proposal asks for all flips of the first state.
    pub(crate) flips_first: bool,
    /// Whether randomness comes from a row's data instead of its number: then no row depends on another.
    pub(crate) by_content: bool,
    pub(crate) seed: u64,
    pub(crate) iteration: u64,
}

/// The output of some rows: their part of everything that is kept for each row.
pub(crate) struct Kept<'a> {
    pub(crate) sets: &'a mut [u64],
    /// $\mathcal F$ of each row.
    pub(crate) bounds: &'a mut [f64],
    /// $q$ of each state; empty if nobody asks for it.
    pub(crate) q: &'a mut [f64],
}

impl<'a> Kept<'a> {
    /// That of the first `rows` rows, which have `s` states of so many words each, and that of the others.
    pub(crate) fn split(self, rows: usize, (s, words): (usize, usize)) -> (Kept<'a>, Kept<'a>) {
        let (sets, other_sets) = self.sets.split_at_mut(rows * s * words);
        let (bounds, other_bounds) = self.bounds.split_at_mut(rows);
        let (q, other_q) = self.q.split_at_mut(if self.q.is_empty() { 0 } else { rows * s });
        (Kept { sets, bounds, q }, Kept { sets: other_sets, bounds: other_bounds, q: other_q })
    }
}

/// The job that rows are gone through for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Job {
    /// The whole E-step.
    EStep,
    /// With $q$ as it is, which cause owns which column under the tables as they are now.
    Redistribute,
}

impl<F: Float, R: Rank> Task<'_, F, R> {
    /// Fills the sets of rows with states to start from.
    pub(crate) fn fill(&self, rows: Range<usize>, sets: &mut [u64]) {
        let size = self.s * self.words;
        sets.par_chunks_mut(size * FILLED_TOGETHER).enumerate().for_each(|(chunk, sets)| {
            let first = rows.start + chunk * FILLED_TOGETHER;
            let (mut row, mut hashes) = (Row::new(self.data.columns()), Vec::new());
            for (n, states) in (first..).zip(sets.chunks_exact_mut(size)) {
                if self.by_content {
                    self.data.load(n, &mut row);
                }
                sets::fill(states, self.words, self.pi, &mut self.random(n, &row.t, 1), &mut hashes);
            }
        });
    }

    /// The random numbers of a row with statistics `t`; `of` tells apart what they are for.
    pub(crate) fn random(&self, n: usize, t: &[F], of: u64) -> Random {
        let mut key = n as u64;
        if self.by_content {
            key = t.iter().fold(0, |key, t| bits::hash(&[key ^ t.f64().to_bits()]));
        }
        Random::seed_from_u64(bits::hash(&[self.seed, self.iteration, key ^ of << 63]))
    }

    /// The sets of the rows before and after the one at `index`, as far as `sets` has them.
    pub(crate) fn neighbours<'s>(&self, sets: &'s [u64], index: usize) -> [&'s [u64]; 6] {
        if self.by_content {
            return [&[]; 6];
        }
        let size = self.s * self.words;
        let set = |index: usize| sets.get(index * size..(index + 1) * size);
        let row = |index: Option<usize>| index.and_then(set).unwrap_or(&[]);
        let ([near, far], page) = self.data.neighbours();
        [
            row(index.checked_sub(near)),
            row(index.checked_sub(far)),
            row(index.checked_add(near)),
            row(index.checked_add(far)),
            row(page.and_then(|page| index.checked_sub(page))),
            row(page.and_then(|page| index.checked_add(page))),
        ]
    }
}
