//! The sums of log-terms of all states of rows in stars.

use std::ops::Range;

use ndarray::ArrayViewMut2;
use ndarray::linalg::general_mat_mul;

use super::winners::Winners;
use super::{Batch, Scores, Shared, Stars, TOGETHER, planes, runs};
use crate::posterior::truncated::kernel::{self, Float, Rank};
use crate::posterior::truncated::states::bits;
use crate::posterior::truncated::task::Task;

/// Scores the rows of some stars; `scores` is their part of [`Stars::scores`].
pub(super) fn scan<F: Float, R: Rank>(
    task: &Task<'_, F, R>,
    all: &Stars<F>,
    sets: &[u64],
    stars: Range<usize>,
    scores: Scores<&mut [F], &mut [u16]>,
) {
    let rows = |stars: &Range<usize>| all.stars[stars.clone()].iter().map(|(_, rows)| rows.len()).sum::<usize>();
    if stars.len() > 1 && rows(&stars) > TOGETHER {
        let middle = stars.start + stars.len() / 2;
        let (left, right) = scores.split(all, rows(&(stars.start..middle)));
        rayon::join(
            || scan(task, all, sets, stars.start..middle, left),
            || scan(task, all, sets, middle..stars.end, right),
        );
    } else {
        scan_some(task, all, sets, stars, scores);
    }
}

fn scan_some<F: Float, R: Rank>(
    task: &Task<'_, F, R>,
    all: &Stars<F>,
    sets: &[u64],
    stars: Range<usize>,
    mut scores: Scores<&mut [F], &mut [u16]>,
) {
    let mut winners = Winners::new(task.layout, planes(task));
    let mut batch = Batch::new(task);
    let mut shared: Vec<Shared> = Vec::new();
    for (state, rows) in &all.stars[stars] {
        winners.star(task.layout, state);
        for rows in all.order[rows.clone()].chunks(TOGETHER) {
            let mine;
            (mine, scores) = scores.split(all, rows.len());
            let statistics = batch.load(task, all.start, rows);
            if let Ok(mut found) = ArrayViewMut2::from_shape((rows.len(), all.h + 1), &mut *mine.flips) {
                general_mat_mul(F::ONE, &statistics, &winners.eta.t(), F::ZERO, &mut found);
            }
            for found in mine.flips.chunks_exact_mut(all.h + 1) {
                found.iter_mut().zip(&winners.a).for_each(|(sum, a)| *sum = *sum - *a);
            }
            shared.clear();
            for (index, row) in rows.iter().enumerate() {
                let set = &sets[*row as usize * task.s * task.words..][..task.s * task.words];
                let codes = &mut mine.codes[index * task.s..][..task.s];
                for ((place, other), code) in set.chunks_exact(task.words).enumerate().zip(codes) {
                    *code = bits::code(all.h, state, other);
                    if *code == bits::OTHER {
                        shared.push(Shared::new(other, index * task.s + place));
                    }
                }
            }
            let at = |shared: Shared| (shared.place() / task.s, shared.place() % task.s);
            let state = |shared: Shared| {
                let (row, place) = at(shared);
                &sets[(rows[row] as usize * task.s + place) * task.words..][..task.words]
            };
            for run in runs(&mut shared, state) {
                let other = state(run[0]);
                let (parameters, a) = winners.state(task.layout, other, None);
                for (row, place) in run.iter().map(|shared| at(*shared)) {
                    let t = statistics.row(row).to_slice().unwrap_or(&[]);
                    let sum = kernel::dot(task.layout.set, parameters, t);
                    mine.others[row * task.s + place] = sum - a;
                }
            }
        }
    }
}

impl<F: Float> Scores<&mut [F], &mut [u16]> {
    /// Those of the first `rows` rows, and the rest.
    fn split(self, all: &Stars<F>, rows: usize) -> (Self, Self) {
        let (flips, later_flips) = self.flips.split_at_mut(rows * (all.h + 1));
        let (others, later_others) = self.others.split_at_mut(rows * all.s);
        let (codes, later_codes) = self.codes.split_at_mut(rows * all.s);
        (Scores { flips, others, codes }, Scores { flips: later_flips, others: later_others, codes: later_codes })
    }
}
