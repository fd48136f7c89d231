//! Draws from the marginals of the current posterior.

use rand::RngExt;

use super::{Propose, Proposed, Random, RowContext};
use crate::posterior::truncated::states::bits;

/// Draws in which each cause is active with its posterior probability in this row, independently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marginals {
    /// Draws in each generation.
    pub draws: usize,
}

impl Propose for Marginals {
    fn spec(&self) -> String {
        format!("marginals:draws={}", self.draws)
    }

    fn needs_marginals(&self) -> bool {
        true
    }

    fn propose(&self, row: &RowContext<'_>, random: &mut Random, proposed: &mut Proposed) {
        for _ in 0..self.draws {
            let start = proposed.states.len();
            proposed.states.resize(start + row.words, 0);
            for (cause, p) in row.marginals() {
                if random.random::<f64>() < *p {
                    bits::flip(proposed.last(row.words), *cause as usize);
                }
            }
        }
    }
}
