//! Rows of which only the values other than zero are kept.
//!
//! A zero has constant statistics $\vec T(0)$. The log-likelihood of a state is therefore that of a row of zeros, which
//! depends on no row, plus a sum over the other values of the row alone:
//! $$ \sum\_d \vec\eta\_{d,h(d,\vec s)}^T \vec T(y\_d) - A\_{d,h(d,\vec s)} = c(\vec s) + \sum\_{d: y\_d\ne 0} \vec\eta\_{d,h(d,\vec s)}^T (\vec T(y\_d) - \vec T(0)). $$
//! The first part ([`Constants`]) is as good as a part of the prior $p(\vec s)$. The second is scored by the same passes as
//! any row, over the columns that are not zero ([`Layout::gather`]). The M-step, too, has two parts: what the zeros give
//! depends on how often each state was there, $\sum_n q^{(n)}(\vec s)$, and each state is gone through once. Nothing is
//! left out, so that the results are those of whole rows but for rounding.
//!
//! A missing value is no zero: what a zero would have added there is taken off again.

mod observations;

use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;

use crate::posterior::truncated::data::constants::Constants;
pub(crate) use observations::SparseObservations;

use crate::cancel;
use crate::error::{Error, Result};
use crate::model::{Model, Tables};
use crate::posterior::Moments;
use crate::posterior::truncated::Truncated;
use crate::posterior::truncated::data::frame::Frame;
use crate::posterior::truncated::data::layout::Layout;
use crate::posterior::truncated::data::observations::Row;
use crate::posterior::truncated::kernel::Rank;
use crate::posterior::truncated::row::work::Work;
use crate::posterior::truncated::score::passes::Passes;
use crate::posterior::truncated::shards::{Batch, each_shard, finished, tree};
use crate::posterior::truncated::states::sets;
use crate::posterior::truncated::sums::Effort;
use crate::posterior::truncated::sums::Sums;
use crate::posterior::truncated::task::{Job, Kept, Task};
use crate::ranks::{Decoder, Encode, Forest, Sum};
use observations::Entries;

/// Parts into which states are divided for the M-step, which are summed apart.
const STATE_PARTS: usize = 8;
/// Rows whose sets are filled one after the other.
const FILLED_TOGETHER: usize = 256;

/// The sums of some rows.
pub(super) struct SparseSums {
    /// Of what is not zero.
    sums: Sums,
    /// $\sum_n q^{(n)}(\vec s)$ of each state.
    states: HashMap<Box<[u64]>, f64>,
}

impl Sum for SparseSums {
    fn add(&mut self, other: SparseSums) {
        Sums::add(&mut self.sums, &other.sums);
        // each state has a sum of its own, so that their order is of no matter
        #[allow(clippy::iter_over_hash_type)]
        for (state, q) in other.states {
            *self.states.entry(state).or_default() += q;
        }
    }
}

impl Encode for SparseSums {
    fn encode(&self, out: &mut Vec<u8>) {
        self.sums.encode(out);
        // each state has a sum of its own, so that their order is of no matter
        let states: Vec<(Vec<u64>, f64)> = self.states.iter().map(|(state, q)| (state.to_vec(), *q)).collect();
        states.encode(out);
    }

    fn decode(from: &mut Decoder<'_>) -> Option<SparseSums> {
        let sums = Encode::decode(from)?;
        let states: Vec<(Vec<u64>, f64)> = Encode::decode(from)?;
        Some(SparseSums { sums, states: states.into_iter().map(|(state, q)| (state.into(), q)).collect() })
    }
}

/// The present row: what is gathered for it.
struct Gathered<R> {
    layout: Layout<f64, R>,
    work: Work<f64, R>,
}

impl Truncated<'_> {
    /// The E-step of sparse rows, or the moments of posteriors that are there.
    pub(super) fn sparse_rows<R: Rank>(
        &mut self,
        data: &SparseObservations,
        (model, tables): (&Model, &Tables),
        job: Job,
        batch: Batch,
        beta: f64,
    ) -> Result<(Moments, Effort)> {
        let frame = Frame::identity(data.columns());
        let layout: Layout<f64, R> = Layout::new(data.columns(), tables, &frame, self.truncation.instructions());
        let constants = Constants::new(&layout, data.zero());
        let pi = model.pi().to_vec();
        let task = Task {
            data: data.nothing(),
            layout: &layout,
            constants: Some(&constants),
            proposals: &self.truncation.proposals,
            generations: self.truncation.generations,
            beta,
            pi: &pi,
            expected_active: pi.iter().sum(),
            s: self.sets.s(),
            words: self.sets.words(),
            flips_first: false,
            by_content: self.by_content,
            seed: self.seed,
            iteration: self.iteration,
        };
        let (share, chunk) = (data.share(), data.share().shards.chunk());
        let (mut own, filled) = (Forest::new(), self.filled);
        let kept = Kept { sets: self.sets.bits_mut(), bounds: &mut self.bounds, q: &mut self.q };
        let each = |rows: Range<usize>, kept: Kept<'_>| {
            if !filled {
                fill(&task, data, rows.clone(), kept.sets);
            }
            let leaf = |rows: Range<usize>, kept: Kept<'_>| chunk_of_rows(&task, data, job, rows, kept);
            tree(rows, chunk, (task.s, task.words), kept, &leaf, &|mut a: SparseSums, b| {
                a.add(b);
                a
            })
        };
        let done = each_shard(share, batch, (task.s, task.words), kept, &mut own, each);
        finished(share, done.map(|()| own), model, |SparseSums { mut sums, states }| {
            give_zeros(&task, data.zero(), states, &mut sums);
            let effort = Effort { evaluations: sums.evaluations, replaced: sums.replaced };
            (sums.moments(data.columns(), &layout, &frame), effort)
        })
    }
}

/// Fills the sets of rows with states to start from.
fn fill<R: Rank>(task: &Task<'_, f64, R>, data: &SparseObservations, rows: Range<usize>, sets: &mut [u64]) {
    let size = task.s * task.words;
    sets.par_chunks_mut(size * FILLED_TOGETHER).enumerate().for_each(|(chunk, sets)| {
        let first = rows.start + chunk * FILLED_TOGETHER;
        let mut hashes = Vec::new();
        for (n, states) in (first..).zip(sets.chunks_exact_mut(size)) {
            let mut random = task.random(n, data.entries(n).differences, 1);
            sets::fill(states, task.words, task.pi, &mut random, &mut hashes);
        }
    });
}

fn chunk_of_rows<R: Rank>(
    task: &Task<'_, f64, R>,
    data: &SparseObservations,
    job: Job,
    rows: Range<usize>,
    kept: Kept<'_>,
) -> Result<SparseSums> {
    let mut gathered = Gathered { layout: task.layout.without_columns(), work: Work::new(task) };
    let mut found = SparseSums { sums: Sums::zeros(task.layout), states: HashMap::new() };
    let size = task.s * task.words;
    let first = rows.start;
    let common_of_zeros = task.layout.common(data.zero());
    for n in rows {
        cancel::check();
        let index = n - first;
        let entries = data.entries(n);
        gathered.take(task, &entries, data.zero());
        let Gathered { layout, work } = &mut gathered;
        let row_task = Task { layout, ..*task };
        work.states.copy_from_slice(&kept.sets[index * size..][..size]);
        let weight = data.weight(n);
        found.sums.weight += weight;
        if job == Job::Redistribute {
            work.q.copy_from_slice(&kept.q[index * task.s..][..task.s]);
        } else {
            let mut random = task.random(n, entries.differences, 0);
            work.rescore(&row_task, &mut found.sums);
            let neighbours = task.neighbours(kept.sets, index);
            work.evolve(&row_task, &mut random, neighbours, &mut found.sums);
            work.best_first(&row_task);
            let Some(bound) = work.posterior(&row_task) else { return Err(Error::ImpossibleRow { row: n }) };
            let common = common_of_zeros + layout.common(&work.row);
            let bound = bound + common + task.layout.log_prior_empty + data.log_h(n);
            found.sums.bound += weight * bound;
            kept.bounds[index] = bound;
            kept.sets[index * size..][..size].copy_from_slice(&work.states);
            if !kept.q.is_empty() {
                kept.q[index * task.s..][..task.s].copy_from_slice(&work.q);
            }
        }
        work.distribute(&row_task, weight, &mut found.sums);
        for (state, q) in work.counting.chunks_exact(task.words).zip(&work.counting_q) {
            match found.states.get_mut(state) {
                Some(sum) => *sum += q,
                None => drop(found.states.insert(state.into(), *q)),
            }
        }
        work.ways.passes.take_block(layout, |cause, block| {
            scatter(
                (layout.width, block),
                &entries,
                (task.layout.width, data.zero()),
                found.sums.of_cause(task.layout, cause),
            );
        });
    }
    Ok(found)
}

impl<R: Rank> Gathered<R> {
    /// Makes the entries of a row the present row, with the parameters of their columns.
    fn take(&mut self, task: &Task<'_, f64, R>, entries: &Entries<'_>, zero: &Row<f64>) {
        let Some(constants) = task.constants else { return };
        self.layout.gather(task.layout, entries.columns);
        let (width, l) = (self.layout.width, task.layout.l);
        let row = &mut self.work.row;
        row.t.clear();
        row.t.resize(l * width, 0.0);
        for (place, difference) in entries.differences.chunks_exact(l).enumerate() {
            if difference[0].is_nan() {
                // its statistics are zero, and A is what a zero would have added
                let column = entries.columns[place] as usize;
                let reference = task.layout.reference_term(zero, column);
                self.layout.take_off(place, |cause| constants.term(cause, column), reference);
                continue;
            }
            difference.iter().enumerate().for_each(|(l, difference)| row.t[l * width + place] = *difference);
        }
        self.work.scanned = false;
        self.work.ways.passes.reshape(&self.layout);
        self.work.ways.passes.begin();
    }
}

/// Adds what the entries of a row give to a cause; what its zeros give comes later.
fn scatter(
    (width, block): (usize, &[f64]),
    entries: &Entries<'_>,
    (whole, zero): (usize, &Row<f64>),
    sums: &mut [f64],
) {
    let (assigned, statistics) = block.split_at(width);
    let l = statistics.len() / width;
    for (place, (column, difference)) in entries.columns.iter().zip(entries.differences.chunks_exact(l)).enumerate() {
        let column = *column as usize;
        let missing = difference[0].is_nan();
        if missing {
            sums[column] -= assigned[place];
        }
        for l in 0..l {
            sums[(1 + l) * whole + column] += match missing {
                true => -assigned[place] * zero.t[l * whole + column],
                false => statistics[l * width + place],
            };
        }
    }
}

/// Adds what zeros give to the M-step, state by state.
fn give_zeros<R: Rank>(task: &Task<'_, f64, R>, zero: &Row<f64>, states: HashMap<Box<[u64]>, f64>, sums: &mut Sums) {
    let mut states: Vec<(Box<[u64]>, f64)> = states.into_iter().collect();
    // the order of additions must not be that of a hash table
    states.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let part = states.len().div_ceil(STATE_PARTS).max(1);
    let parts: Vec<Sums> = states
        .par_chunks(part)
        .map(|states| {
            let (mut passes, mut sums) = (Passes::new(task.layout), Sums::zeros(task.layout));
            let mut statistics = vec![0.0; zero.t.len()];
            for (state, q) in states {
                cancel::check();
                statistics.iter_mut().zip(&zero.t).for_each(|(to, t)| *to = q * t);
                passes.give(task.layout, state, Some(*q), &statistics);
                passes.flush(task.layout, &mut sums, false);
            }
            passes.flush(task.layout, &mut sums, true);
            sums
        })
        .collect();
    parts.iter().for_each(|part| sums.add(part));
}
