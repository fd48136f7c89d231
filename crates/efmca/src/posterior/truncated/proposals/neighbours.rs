//! States of neighbouring rows.

use rand::RngExt;

use super::{Propose, Proposed, Random, RowContext};

/// States of neighbouring rows: the best of each, then random ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbours {
    /// States from each neighbour.
    pub each: usize,
}

impl Propose for Neighbours {
    fn spec(&self) -> String {
        format!("neighbours:each={}", self.each)
    }

    fn propose(&self, row: &RowContext<'_>, random: &mut Random, proposed: &mut Proposed) {
        for states in row.neighbours_of() {
            let count = states.len() / row.words;
            for index in 0..self.each {
                let chosen = if index == 0 { 0 } else { random.random_range(0..count) };
                proposed.words(&states[chosen * row.words..][..row.words]);
            }
        }
    }
}
