//! Scoring states column by column, from the strongest cause down: for states with many active causes.
//!
//! Where a third of all causes is active, the winner of a column is found among the first few of its order, whatever $H$
//! is. Up to 64 states are followed at once, one bit for each.

use crate::posterior::truncated::data::layout::Layout;
use crate::posterior::truncated::data::observations::Row;
use crate::posterior::truncated::kernel::{Float, LANES, Rank};
use crate::posterior::truncated::states::bits;
use crate::posterior::truncated::sums::Sums;

/// States that are followed together.
const TOGETHER: usize = 64;

/// Buffers for one row at a time.
#[derive(Debug)]
pub(crate) struct Walk<F> {
    /// For each cause the states that have it; the background is in all of them.
    members: Vec<u64>,
    /// For each byte, ones where its bits are set.
    ones: Vec<[F; 8]>,
}

impl<F: Float> Walk<F> {
    pub(crate) fn new(h: usize) -> Walk<F> {
        let one = |byte: usize, bit: usize| if byte >> bit & 1 == 1 { F::ONE } else { F::ZERO };
        Walk {
            members: vec![0; bits::words(h) * 64 + 1],
            ones: (0..256).map(|byte| std::array::from_fn(|bit| one(byte, bit))).collect(),
        }
    }

    /// Notes which of up to 64 states have which cause.
    fn enter(&mut self, states: &[u64], words: usize, h: usize) {
        let mut block = [0; 64];
        for word in 0..words {
            block.fill(0);
            for (row, state) in block.iter_mut().zip(states.chunks_exact(words)) {
                *row = state[word];
            }
            bits::transpose(&mut block);
            self.members[word * 64..][..64].copy_from_slice(&block);
        }
        self.members[h] = u64::MAX;
    }

    /// $\sum_d$ of the log-terms of each of `states`.
    pub(crate) fn score<R: Rank>(
        &mut self,
        layout: &Layout<F, R>,
        row: &Row<F>,
        states: &[u64],
        words: usize,
        found: &mut [f64],
    ) {
        for (states, found) in states.chunks(TOGETHER * words).zip(found.chunks_mut(TOGETHER)) {
            self.score_together(layout, row, states, words, found);
        }
    }

    fn score_together<R: Rank>(
        &mut self,
        layout: &Layout<F, R>,
        row: &Row<F>,
        states: &[u64],
        words: usize,
        found: &mut [f64],
    ) {
        self.enter(states, words, layout.h);
        let everyone = u64::MAX >> (TOGETHER - found.len());
        let mut exact = [0.0; TOGETHER];
        let mut first_of_all = 0.0;
        for group in (0..layout.d).step_by(LANES) {
            // differences to the first state, over few columns in the precision of the kernel
            let mut sums = [[F::ZERO; 8]; TOGETHER / 8];
            for column in group..(group + LANES).min(layout.d) {
                if row.missing && row.present[column] == F::ZERO {
                    continue;
                }
                let first = self.score_column(layout, row, column, everyone, &mut sums);
                first_of_all += first.f64();
            }
            for (exact, sum) in exact.iter_mut().zip(sums.as_flattened()) {
                *exact += sum.f64();
            }
        }
        for (found, exact) in found.iter_mut().zip(exact) {
            *found = first_of_all + exact;
        }
    }

    /// The log-term of the first state in a column; those of the others are added to `sums` as differences to it.
    #[inline(always)]
    fn score_column<R: Rank>(
        &self,
        layout: &Layout<F, R>,
        row: &Row<F>,
        column: usize,
        mut waiting: u64,
        sums: &mut [[F; 8]; TOGETHER / 8],
    ) -> F {
        let mut first = None;
        let mut before: [(u64, F); 8] = [(0, F::ZERO); 8];
        let mut count = 0;
        for (start, causes) in layout.blocks(column) {
            for (place, cause) in (start..).zip(causes) {
                let here = waiting & self.members[usize::from(*cause)];
                if here == 0 {
                    continue;
                }
                let term = layout.term_at(row, column, place);
                waiting &= !here;
                match first {
                    // those that share the winner of the first state differ by nothing
                    Some(_) if here & 1 == 1 => {}
                    Some(first) => add_to(&self.ones, sums, here, term - first),
                    None if here & 1 == 1 => {
                        first = Some(term);
                        before[..count]
                            .iter()
                            .for_each(|(states, other)| add_to(&self.ones, sums, *states, *other - term));
                    }
                    None if count < before.len() => {
                        before[count] = (here, term);
                        count += 1;
                    }
                    None => {
                        // the first state is far down: look it up, and go on as if it had been found
                        let found = self.term_of_first(layout, row, column);
                        first = Some(found);
                        for (states, term) in before.iter().chain(&[(here, term)]) {
                            add_to(&self.ones, sums, *states, *term - found);
                        }
                    }
                }
                if waiting == 0 {
                    return first.unwrap_or(term);
                }
            }
        }
        first.unwrap_or(F::ZERO)
    }

    /// The log-term of the first state in a column.
    fn term_of_first<R: Rank>(&self, layout: &Layout<F, R>, row: &Row<F>, column: usize) -> F {
        let owner = find(layout, column, |cause| self.members[cause] & 1 == 1);
        layout.term_at(row, column, owner)
    }

    /// Gives the columns to the causes that own them in `states`, with posterior probabilities `q`.
    pub(crate) fn distribute<R: Rank>(
        &mut self,
        layout: &Layout<F, R>,
        row: &Row<F>,
        states: &[u64],
        words: usize,
        q: &[f64],
        sums: &mut Sums,
    ) {
        sums.prepare_walks(layout);
        for (states, q) in states.chunks(TOGETHER * words).zip(q.chunks(TOGETHER)) {
            self.enter(states, words, layout.h);
            let everyone = u64::MAX >> (TOGETHER - q.len());
            let total: f64 = q.iter().sum();
            for column in 0..layout.d {
                if row.missing && row.present[column] == F::ZERO {
                    continue;
                }
                let (mut waiting, mut left) = (everyone, total);
                'column: for (start, causes) in layout.blocks(column) {
                    for (place, cause) in (start..).zip(causes) {
                        let mut here = waiting & self.members[usize::from(*cause)];
                        if here == 0 {
                            continue;
                        }
                        waiting &= !here;
                        let mut share = left;
                        if waiting != 0 {
                            share = 0.0;
                            while here != 0 {
                                share += q[here.trailing_zeros() as usize];
                                here &= here - 1;
                            }
                            left -= share;
                        }
                        sums.give(layout, row, column, place, share);
                        if waiting == 0 {
                            break 'column;
                        }
                    }
                }
            }
        }
    }
}

/// The place of the first cause of a column's order that is `wanted`; the background always is.
#[inline(always)]
fn find<F: Float, R: Rank>(layout: &Layout<F, R>, column: usize, wanted: impl Fn(usize) -> bool) -> usize {
    let places = layout.blocks(column).flat_map(|(start, causes)| (start..).zip(causes));
    let found = places.into_iter().find(|(_, cause)| wanted(usize::from(**cause)));
    found.map_or(0, |(place, _)| place)
}

/// Adds `value` to the sums of `states`.
#[inline(always)]
fn add_to<F: Float>(ones: &[[F; 8]], sums: &mut [[F; 8]; TOGETHER / 8], mut states: u64, value: F) {
    if states.count_ones() <= 6 {
        while states != 0 {
            let state = states.trailing_zeros() as usize;
            sums[state / 8][state % 8] += value;
            states &= states - 1;
        }
        return;
    }
    for (sums, byte) in sums.iter_mut().zip(states.to_le_bytes()) {
        let ones = &ones[usize::from(byte)];
        for lane in 0..8 {
            sums[lane] += ones[lane] * value;
        }
    }
}
