//! The E-step of one row after the other.

use std::ops::Range;
use std::sync::Arc;

use rand::SeedableRng;
use rayon::prelude::*;

use super::bits;
use super::kernel::{Float, Rank};
use super::layout::Layout;
use super::observations::{Observations, Row};
use super::proposals::{Propose, Random};
use super::scan::TOGETHER;
use super::sets;
use super::sparse::Constants;
use super::stars::{Given, Stars};
use super::sums::Sums;
use super::work::Work;
use crate::cancel;
use crate::error::{Error, Result};

/// Rows whose sets are filled one after the other.
const FILLED_TOGETHER: usize = 256;

/// The task for all rows.
pub(super) struct Task<'a, F, R> {
    pub(super) data: &'a Observations<F>,
    pub(super) layout: &'a Layout<F, R>,
    /// What zeros add to the log-joint of a state, where they are not part of rows.
    pub(super) constants: Option<&'a Constants>,
    pub(super) proposals: &'a [Arc<dyn Propose>],
    pub(super) generations: usize,
    /// $1/T$.
    pub(super) beta: f64,
    pub(super) pi: &'a [f64],
    /// $\sum_h\pi_h$.
    pub(super) expected_active: f64,
    /// States of a row, and words of a state.
    pub(super) s: usize,
    pub(super) words: usize,
    /// Whether some proposal asks for all flips of the first state.
    pub(super) flips_first: bool,
    /// Whether randomness comes from a row's data instead of its number: then no row depends on another.
    pub(super) by_content: bool,
    pub(super) seed: u64,
    pub(super) iteration: u64,
}

/// The output of a chunk of rows: its part of everything that is kept for each row.
pub(super) struct Kept<'a, F> {
    pub(super) sets: &'a mut [u64],
    /// $\mathcal F$ of each row.
    pub(super) bounds: &'a mut [f64],
    /// $q$ of each state; empty if nobody asks for it.
    pub(super) q: &'a mut [f64],
    /// Contributions of states in stars to the M-step.
    pub(super) given: &'a mut [Given<F>],
}

/// The job that rows are gone through for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Job {
    /// The whole E-step.
    EStep,
    /// With $q$ as it is, which cause owns which column under the tables as they are now.
    Redistribute,
}

/// All rows of a chunk.
pub(super) fn rows<F: Float, R: Rank>(
    task: &Task<'_, F, R>,
    job: Job,
    rows: Range<usize>,
    kept: Kept<'_, F>,
    stars: &Stars<F>,
) -> Result<Sums> {
    let mut work = Work::new(task);
    let mut sums = Sums::zeros(task.layout);
    let size = task.s * task.words;
    let first = rows.start;
    for from in rows.clone().step_by(TOGETHER) {
        cancel::check();
        let group = from..(from + TOGETHER).min(rows.end);
        work.scan_together(task, job, group.clone(), &kept.sets[(from - first) * size..], stars);
        for n in group {
            let index = n - first;
            work.take_scan(n - from);
            let star = stars.of_row(n);
            work.take_star(star.as_ref());
            work.ways.passes.begin();
            work.states.copy_from_slice(&kept.sets[index * size..][..size]);
            if job == Job::Redistribute {
                work.q.copy_from_slice(&kept.q[index * task.s..][..task.s]);
                let weight = task.data.weight(n);
                sums.weight += weight;
                work.distribute(task, weight, &mut [], &mut sums);
                continue;
            }
            let mut random = task.random(n, &work.row.t, 0);
            work.rescore(task, star.as_ref(), &mut sums);
            let neighbours = neighbours(task, kept.sets, index);
            work.evolve(task, &mut random, neighbours, &mut sums);
            work.best_first(task);
            let Some(bound) = work.posterior(task) else { return Err(Error::ImpossibleRow { row: n }) };
            let bound = bound + task.layout.common(&work.row) + task.layout.log_prior_empty + task.data.log_h(n);
            let weight = task.data.weight(n);
            sums.bound += weight * bound;
            sums.weight += weight;
            kept.bounds[index] = bound;
            let given = if work.in_star { &mut kept.given[index * task.s..][..task.s] } else { &mut [] };
            work.distribute(task, weight, given, &mut sums);
            kept.sets[index * size..][..size].copy_from_slice(&work.states);
            if !kept.q.is_empty() {
                kept.q[index * task.s..][..task.s].copy_from_slice(&work.q);
            }
        }
    }
    work.ways.passes.flush(task.layout, &mut sums, true);
    Ok(sums)
}

/// The sets of the rows before and after this one, as far as they are in the same chunk.
pub(super) fn neighbours<'a, F: Float, R: Rank>(
    task: &Task<'_, F, R>,
    sets: &'a [u64],
    index: usize,
) -> [&'a [u64]; 6] {
    let size = task.s * task.words;
    if task.by_content {
        return [&[]; 6];
    }
    let row = |index: Option<usize>| index.and_then(|index| sets.get(index * size..(index + 1) * size)).unwrap_or(&[]);
    let ([near, far], page) = task.data.neighbours();
    [
        row(index.checked_sub(near)),
        row(index.checked_sub(far)),
        row(index.checked_add(near)),
        row(index.checked_add(far)),
        row(page.and_then(|page| index.checked_sub(page))),
        row(page.and_then(|page| index.checked_add(page))),
    ]
}

impl<F: Float, R: Rank> Task<'_, F, R> {
    /// Fills the sets of rows with states to start from.
    pub(super) fn fill(&self, rows: Range<usize>, sets: &mut [u64]) {
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
    pub(super) fn random(&self, n: usize, t: &[F], of: u64) -> Random {
        let mut key = n as u64;
        if self.by_content {
            key = t.iter().fold(0, |key, t| bits::hash(&[key ^ t.f64().to_bits()]));
        }
        Random::seed_from_u64(bits::hash(&[self.seed, self.iteration, key ^ of << 63]))
    }
}
