//! The E-step of one row after the other.

use std::ops::Range;

use crate::cancel;
use crate::error::{Error, Result};
use crate::posterior::truncated::kernel::{Float, Rank};
use crate::posterior::truncated::row::work::Work;
use crate::posterior::truncated::score::scan::TOGETHER;
use crate::posterior::truncated::stars::Stars;
use crate::posterior::truncated::sums::Sums;
use crate::posterior::truncated::task::{Job, Kept, Task};

/// The rows of a chunk, but for those in `stars`.
pub(crate) fn rows<F: Float, R: Rank>(
    task: &Task<'_, F, R>,
    job: Job,
    rows: Range<usize>,
    kept: Kept<'_>,
    stars: &Stars,
) -> Result<Sums> {
    let mut sums = Sums::zeros(task.layout);
    let single: Vec<usize> = rows.clone().filter(|n| !stars.contains(*n)).collect();
    if single.is_empty() {
        return Ok(sums);
    }
    let mut work = Work::new(task);
    let size = task.s * task.words;
    let first = rows.start;
    for group in single.chunks(TOGETHER) {
        cancel::check();
        work.scan_together(task, job, group.iter().map(|n| (*n, &kept.sets[(n - first) * size..][..size])));
        for (place, n) in group.iter().copied().enumerate() {
            let index = n - first;
            work.take_scan(place);
            work.ways.passes.begin();
            work.states.copy_from_slice(&kept.sets[index * size..][..size]);
            if job == Job::Redistribute {
                work.q.copy_from_slice(&kept.q[index * task.s..][..task.s]);
                let weight = task.data.weight(n);
                sums.weight += weight;
                work.distribute(task, weight, &mut sums);
                continue;
            }
            let mut random = task.random(n, &work.row.t, 0);
            work.rescore(task, &mut sums);
            let neighbours = task.neighbours(kept.sets, index);
            work.evolve(task, &mut random, neighbours, &mut sums);
            work.best_first(task);
            let Some(bound) = work.posterior(task) else { return Err(Error::ImpossibleRow { row: n }) };
            let bound = bound + task.layout.common(&work.row) + task.layout.log_prior_empty + task.data.log_h(n);
            let weight = task.data.weight(n);
            sums.bound += weight * bound;
            sums.weight += weight;
            kept.bounds[index] = bound;
            work.distribute(task, weight, &mut sums);
            kept.sets[index * size..][..size].copy_from_slice(&work.states);
            if !kept.q.is_empty() {
                kept.q[index * task.s..][..task.s].copy_from_slice(&work.q);
            }
        }
    }
    work.ways.passes.flush(task.layout, &mut sums, true);
    Ok(sums)
}
