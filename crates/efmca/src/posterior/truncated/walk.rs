//! Scoring states column by column, from the strongest cause down: for states with many active causes.
//!
//! Where a third of all causes is active, the winner of a column is found among the first few of its order, whatever $H$
//! is. Up to 64 states are followed at once, one bit for each.

use super::bits;
use super::kernel::{Float, LANES, Rank};
use super::layout::Layout;
use super::observations::Row;
use super::sums::Sums;

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
                let mut waiting = everyone;
                let mut first = F::ZERO;
                let mut first_known = false;
                let mut before: [(u64, F); 8] = [(0, F::ZERO); 8];
                let mut count = 0;
                for (position, cause) in layout.strongest(column).iter().enumerate() {
                    let here = waiting & self.members[usize::from(*cause)];
                    if here == 0 {
                        continue;
                    }
                    let term = layout.sorted_term(row, column, position);
                    waiting &= !here;
                    if here & 1 == 1 && first_known {
                        // looked up before; those that share its winner differ by nothing
                    } else if here & 1 == 1 {
                        first = term;
                        first_known = true;
                        for (states, term) in &before[..count] {
                            add_to(&self.ones, &mut sums, *states, *term - first);
                        }
                    } else if first_known {
                        add_to(&self.ones, &mut sums, here, term - first);
                    } else if count < before.len() {
                        before[count] = (here, term);
                        count += 1;
                    } else {
                        // the first state is far down: look it up, and go on as if it had been found
                        first = self.winner_of_first(layout, row, column, position);
                        first_known = true;
                        for (states, term) in before.iter().chain(&[(here, term)]) {
                            add_to(&self.ones, &mut sums, *states, *term - first);
                        }
                    }
                    if waiting == 0 {
                        break;
                    }
                }
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

    /// The log-term of the first state in a column, whose winner comes after `position`.
    fn winner_of_first<R: Rank>(&self, layout: &Layout<F, R>, row: &Row<F>, column: usize, position: usize) -> F {
        let rest = &layout.strongest(column)[position..];
        let winner = rest.iter().position(|cause| self.members[usize::from(*cause)] & 1 == 1);
        layout.sorted_term(row, column, position + winner.unwrap_or(rest.len() - 1))
    }

    /// $\sum_d$ of the log-terms of `state` with each of its $H$ bits flipped in turn, and of `state` itself.
    ///
    /// An inactive cause changes the columns in which it comes before the winner, and the winner the columns it owns:
    /// one walk to the second active cause of each column gives all flips together.
    pub(crate) fn flips<R: Rank>(
        &mut self,
        layout: &Layout<F, R>,
        row: &Row<F>,
        state: &[u64],
        found: &mut [f64],
    ) -> f64 {
        found.fill(0.0);
        let mut total = 0.0;
        let active = |cause: u16| usize::from(cause) == layout.h || bits::has(state, usize::from(cause));
        for column in 0..layout.d {
            if row.missing && row.present[column] == F::ZERO {
                continue;
            }
            let order = layout.strongest(column);
            let mut winner = 0;
            while !active(order[winner]) {
                winner += 1;
            }
            let term = layout.sorted_term(row, column, winner);
            total += term.f64();
            for (position, cause) in order[..winner].iter().enumerate() {
                found[usize::from(*cause)] += (layout.sorted_term(row, column, position) - term).f64();
            }
            let owner = usize::from(order[winner]);
            if owner < layout.h {
                let mut second = winner + 1;
                while !active(order[second]) {
                    second += 1;
                }
                found[owner] += (layout.sorted_term(row, column, second) - term).f64();
            }
        }
        found.iter_mut().for_each(|found| *found += total);
        total
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
        for (states, q) in states.chunks(TOGETHER * words).zip(q.chunks(TOGETHER)) {
            self.enter(states, words, layout.h);
            let everyone = u64::MAX >> (TOGETHER - q.len());
            let total: f64 = q.iter().sum();
            for column in 0..layout.d {
                if row.missing && row.present[column] == F::ZERO {
                    continue;
                }
                let mut waiting = everyone;
                let mut left = total;
                for (position, cause) in layout.strongest(column).iter().enumerate() {
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
                    sums.give(layout, row, column, position, share);
                    if waiting == 0 {
                        break;
                    }
                }
            }
        }
    }
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
