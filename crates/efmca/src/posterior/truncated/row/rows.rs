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

/// All rows of a chunk.
pub(crate) fn rows<F: Float, R: Rank>(
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
pub(crate) fn neighbours<'a, F: Float, R: Rank>(
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
