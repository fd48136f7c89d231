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

/// The output of a chunk of rows: its part of everything that is kept for each row.
pub(crate) struct Kept<'a, F> {
    pub(crate) sets: &'a mut [u64],
    /// $\mathcal F$ of each row.
    pub(crate) bounds: &'a mut [f64],
    /// $q$ of each state; empty if nobody asks for it.
    pub(crate) q: &'a mut [f64],
    /// Contributions of states in stars to the M-step.
    pub(crate) given: &'a mut [Given<F>],
}

/// The job that rows are gone through for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Job {
    /// The whole E-step.
    EStep,
    /// With $q$ as it is, which cause owns which column under the tables as they are now.
    Redistribute,
}

/// The contribution of a state of a row to the M-step, and its posterior probability. The state is number $H$ for the first state,
/// $h$ for its flip of cause $h$, and $H + 1 + i$ for state $i$ of the row.
pub(crate) type Given<F> = (u32, F);
/// Marks the end of a row's list.
pub(crate) const END: u32 = u32::MAX;

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
}
