//! Rows that share their first state, all at once.
//!
//! For a given state the log-likelihood is linear in the statistics of a row,
//! $$ \sum\_d \vec\eta\_{d,h(d,\vec s)}^T \vec T(y\_d) - \sum\_d A\_{d,h(d,\vec s)}, $$
//! with the parameters of the winners $h(d,\vec s)$. A *star* is a state together with all its flips. For rows with the
//! same star the winners' parameters are put together once, and all sums are one product of matrices; so are the
//! statistics that the rows give to the causes in the M-step. The other states of these rows are shared by several of
//! them, too. Where few causes are active most rows have their first state in common with many others.
//!
//! Some rows of a star are a *batch*, whose E-step is done in one go, while their statistics are in the cache: what they share is
//! scored, states are proposed and scored, each row chooses, and gives to the M-step. There a state is a number: a
//! flip of the first state has that of its cause, and all others are numbered as they occur ([`pool`]).
//!
//! | file | subject |
//! | --- | --- |
//! | `batch` | the rows of a batch, and the steps of their E-step |
//! | `winners` | the parameters of the winners in each column |
//! | `pool` | the numbers of states that are not flips, and the order in which rows that have them are gone through |
//! | `scan` | sums of log-terms of all flips, and log-joints of numbered states, for all rows of a batch |
//! | `choice` | one row: what is proposed to it, and which states stay |
//! | `give` | what rows give to the M-step |

mod batch;
mod choice;
mod give;
mod pool;
mod scan;
mod winners;

use std::ops::Range;

use rayon::prelude::*;

use crate::error::Result;
use crate::posterior::truncated::kernel::{Float, Rank};
use crate::posterior::truncated::score::ways::has_many;
use crate::posterior::truncated::states::bits;
use crate::posterior::truncated::sums::Sums;
use crate::posterior::truncated::task::{Kept, Task};
use batch::Batches;

/// Rows that are needed for a star to be worth the work.
const SMALLEST: usize = 6;
/// The most rows of a batch: the more there are, the more of them share a state; their statistics (0.6 MB for 400 columns) still stay
/// in the cache.
const TOGETHER: usize = 384;
/// The most states of a row: numbers and log-joints of a batch take twelve bytes for each.
const MOST_STATES: usize = 8192;
/// Parts into which the batches of a block of rows are divided, which are summed separately.
const PARTS: usize = 8;
/// Rows whose sets a thread copies back at a time.
const COPIED: usize = 256;
/// Marks a row that is in no star.
const NONE: u32 = u32::MAX;

/// The stars of a block of rows.
#[derive(Debug)]
pub(super) struct Stars {
    /// The first row of the block.
    start: usize,
    /// The rows of each star, one after the other, counted from `start`.
    order: Vec<u32>,
    /// The state of each star, and where in that list its rows are.
    stars: Vec<(Vec<u64>, Range<usize>)>,
    /// Where in the list each row of the block is.
    place: Vec<u32>,
}

/// Some rows of a star: which star, and where in [`Stars::order`] they are.
type Lot = (usize, Range<usize>);

/// Sets, bounds and $q$ of rows in stars, in the order of stars.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    sets: Vec<u64>,
    bounds: Vec<f64>,
    q: Vec<f64>,
}

/// Whether the E-step of rows that share their first state is done in stars: all flips of that state are asked for and of no other
/// one, there is one generation of proposals, and rows may depend on each other.
pub(super) fn suit<F: Float, R: Rank>(task: &Task<'_, F, R>) -> bool {
    let others = task.proposals.iter().any(|proposal| proposal.flips_others());
    task.flips_first && !others && task.generations == 1 && !task.by_content && task.s <= MOST_STATES
}

impl Stars {
    /// Without any star.
    pub(super) fn none(start: usize) -> Stars {
        Stars { start, order: Vec::new(), stars: Vec::new(), place: Vec::new() }
    }

    /// Finds the rows of a block that share their first states.
    pub(super) fn find<F: Float, R: Rank>(task: &Task<'_, F, R>, rows: Range<usize>, sets: &[u64]) -> Stars {
        let mut all = Stars { place: vec![NONE; rows.len()], ..Stars::none(rows.start) };
        let size = task.s * task.words;
        let first = |row: u32| &sets[row as usize * size..][..task.words];
        let mut order: Vec<(u64, u32)> = (0..rows.len() as u32).map(|row| (bits::hash(first(row)), row)).collect();
        order.sort_unstable();
        for same in order.chunk_by(|a, b| a.0 == b.0 && first(a.1) == first(b.1)) {
            let state = first(same[0].1);
            if same.len() < SMALLEST || has_many(task.layout, state) {
                continue;
            }
            let from = all.order.len();
            for (_, row) in same {
                all.place[*row as usize] = all.order.len() as u32;
                all.order.push(*row);
            }
            all.stars.push((state.to_vec(), from..all.order.len()));
        }
        all
    }

    /// Whether row `n` is in a star.
    pub(super) fn contains(&self, n: usize) -> bool {
        self.place.get(n - self.start).is_some_and(|place| *place != NONE)
    }

    /// The batches of all stars.
    fn lots(&self) -> Vec<Lot> {
        let mut lots = Vec::new();
        for (star, (_, rows)) in self.stars.iter().enumerate() {
            // of about as many rows each
            let share = rows.len().div_ceil(rows.len().div_ceil(TOGETHER));
            lots.extend(rows.clone().step_by(share).map(|from| (star, from..rows.end.min(from + share))));
        }
        lots
    }

    /// The E-step of all rows in stars, whose contributions to the M-step come back. Neighbours lend the states that they had before.
    pub(super) fn e_step<F: Float, R: Rank>(
        &self,
        task: &Task<'_, F, R>,
        kept: &mut Kept<'_>,
        chosen: &mut Chosen,
    ) -> Result<Option<Sums>> {
        let (count, size) = (self.order.len(), task.s * task.words);
        let each_q = if kept.q.is_empty() { 0 } else { task.s };
        chosen.sets.resize(count * size, 0);
        chosen.bounds.resize(count, 0.0);
        chosen.q.resize(count * each_q, 0.0);
        let lots = self.lots();
        // parts of about as many rows each
        let share = count.div_ceil(PARTS).max(1);
        let at = |part: usize| lots.partition_point(|(_, rows)| rows.start < part * share);
        let parts: Vec<&[Lot]> = (0..PARTS).map(|part| &lots[at(part)..at(part + 1)]).collect();
        let new = Kept { sets: &mut chosen.sets, bounds: &mut chosen.bounds, q: &mut chosen.q };
        let sums = self.in_order(task, kept.sets, &parts, new)?;
        let place = |row: usize| Some(self.place[row] as usize).filter(|place| *place != NONE as usize);
        kept.sets.par_chunks_mut(size).with_min_len(COPIED).enumerate().for_each(|(row, set)| {
            if let Some(place) = place(row) {
                set.copy_from_slice(&chosen.sets[place * size..][..size]);
            }
        });
        for (place, row) in self.order.iter().enumerate() {
            kept.bounds[*row as usize] = chosen.bounds[place];
            kept.q[*row as usize * each_q..][..each_q].copy_from_slice(&chosen.q[place * each_q..][..each_q]);
        }
        Ok(sums)
    }

    /// The E-step of all parts, whose sums are added in a fixed order.
    fn in_order<F: Float, R: Rank>(
        &self,
        task: &Task<'_, F, R>,
        sets: &[u64],
        parts: &[&[Lot]],
        new: Kept<'_>,
    ) -> Result<Option<Sums>> {
        match parts {
            [] => Ok(None),
            [[]] => Ok(None),
            [part] => Batches::new(task, self, sets).e_step(part, new).map(Some),
            _ => {
                let (left, right) = parts.split_at(parts.len() / 2);
                let rows = left.iter().flat_map(|part| *part).map(|(_, rows)| rows.len()).sum();
                let (new_left, new_right) = new.split(rows, (task.s, task.words));
                let (left, right) = rayon::join(
                    || self.in_order(task, sets, left, new_left),
                    || self.in_order(task, sets, right, new_right),
                );
                Ok(match (left?, right?) {
                    (Some(mut left), Some(right)) => {
                        left.add(&right);
                        Some(left)
                    }
                    (left, right) => left.or(right),
                })
            }
        }
    }
}
