//! The state that most states of a set are flips of.
//!
//! The states that entered $\mathcal K^{(n)}$ in the last E-step are flips of what was its best state then. Where many causes
//! are active the best one moves in most E-steps, so that they are no flips of the present one; but one walk scores them
//! all. The state is not kept: it is what most states of the set have in common.

use crate::posterior::truncated::data::layout::Layout;
use crate::posterior::truncated::data::observations::Row;
use crate::posterior::truncated::kernel::{Float, Rank};
use crate::posterior::truncated::score::owners::Owners;
use crate::posterior::truncated::score::ways::log_prior;
use crate::posterior::truncated::states::bits::{self, OTHER};

/// States of a set that are asked: as many as six bits can count.
const ASKED: usize = 63;
const PLANES: usize = 6;
/// Flips of a state that make it worth a walk of its own.
const FEWEST: usize = 8;

/// A state with many active causes, and its flips.
#[derive(Debug)]
pub(crate) struct Centre<R> {
    state: Vec<u64>,
    /// The states of $\mathcal K^{(n)}$ as seen from it.
    codes: Vec<u16>,
    /// The log-joints of all its flips, and its own.
    joints: Vec<f64>,
    owners: Owners<R>,
    /// The bits of the number of states that have each cause.
    counts: Vec<u64>,
}

impl<R: Rank> Centre<R> {
    pub(crate) fn new(h: usize, s: usize) -> Centre<R> {
        let words = bits::words(h);
        Centre {
            state: vec![0; words],
            codes: vec![OTHER; s],
            joints: vec![0.0; h + 1],
            owners: Owners::new(h),
            counts: vec![0; PLANES * words],
        }
    }

    /// Scores those of `states` that are flips of one state and have [`OTHER`] in `known`, if there are enough of them. The result
    /// says how many there are.
    pub(crate) fn score<F: Float>(
        &mut self,
        layout: &Layout<F, R>,
        row: &Row<F>,
        states: &[u64],
        known: &[u16],
    ) -> usize {
        self.codes.fill(OTHER);
        if known.iter().filter(|code| **code == OTHER).count() < FEWEST {
            return 0;
        }
        self.find(states);
        let flips = self.encode(states, known);
        if flips < FEWEST {
            self.codes.fill(OTHER);
            return 0;
        }
        if let Some((joint, flips)) = self.joints.split_last_mut() {
            let sum = self.owners.flips(layout, row, &self.state, flips);
            let prior = log_prior(&layout.log_odds, &self.state);
            for (cause, (flip, odds)) in flips.iter_mut().zip(&layout.log_odds).enumerate() {
                *flip = *flip + prior + if bits::has(&self.state, cause) { -odds } else { *odds };
            }
            *joint = sum + prior;
        }
        flips
    }

    /// The log-joint of a state of the set, if it was scored.
    #[inline(always)]
    pub(crate) fn joint(&self, index: usize) -> Option<f64> {
        self.joints.get(usize::from(self.codes[index])).copied()
    }

    /// Becomes the state of the causes that more than half of `states` have; up to [`ASKED`] of them are asked.
    fn find(&mut self, states: &[u64]) {
        let words = self.state.len();
        let asked = (states.len() / words).min(ASKED);
        self.counts.fill(0);
        for state in states.chunks_exact(words).take(asked) {
            self.state.copy_from_slice(state);
            for plane in self.counts.chunks_exact_mut(words) {
                for (count, carry) in plane.iter_mut().zip(&mut self.state) {
                    (*count, *carry) = (*count ^ *carry, *count & *carry);
                }
            }
        }
        // more than half: compared from the highest bit down
        let half = asked / 2;
        for (word, state) in self.state.iter_mut().enumerate() {
            let (mut more, mut same) = (0, u64::MAX);
            for bit in (0..PLANES).rev() {
                let count = self.counts[bit * words + word];
                if half >> bit & 1 == 0 {
                    more |= same & count;
                    same &= !count;
                } else {
                    same &= count;
                }
            }
            *state = more;
        }
    }

    /// Finds the codes of those of `states` that have [`OTHER`] in `known`; the result says how many are flips.
    fn encode(&mut self, states: &[u64], known: &[u16]) -> usize {
        let (h, words) = (self.joints.len() - 1, self.state.len());
        let mut flips = 0;
        for ((code, known), state) in self.codes.iter_mut().zip(known).zip(states.chunks_exact(words)) {
            *code = if *known == OTHER { bits::code(h, &self.state, state) } else { OTHER };
            flips += usize::from(*code != OTHER);
        }
        flips
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_centre_of_flips_is_found() {
        for (h, count) in [(5, 3), (64, 4), (130, 60), (130, 200)] {
            let words = bits::words(h);
            let mut state = vec![0; words];
            (0..h).filter(|cause| cause % 3 == 0).for_each(|cause| bits::flip(&mut state, cause));
            let mut states = Vec::new();
            for flip in 0..count {
                states.extend_from_slice(&state);
                let last = states.len() - words;
                // most are flips, some are further away
                bits::flip(&mut states[last..], flip % h);
                if flip % 7 == 5 {
                    bits::flip(&mut states[last..], (flip + 2) % h);
                }
            }
            let mut centre: Centre<i16> = Centre::new(h, count);
            centre.find(&states);
            assert_eq!(centre.state, state, "{h} {count}");
            let flips = centre.encode(&states, &vec![OTHER; count]);
            assert_eq!(flips, (0..count).filter(|flip| flip % 7 != 5).count());
            assert!((0..count).all(|flip| centre.codes[flip] == if flip % 7 == 5 { OTHER } else { (flip % h) as u16 }));
        }
    }
}
