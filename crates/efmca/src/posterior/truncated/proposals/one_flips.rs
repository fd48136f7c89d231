//! All flips of the best state.

use super::evolution::Selection;
use super::{Propose, Proposed, Random, RowContext};

/// The best single cause to add or drop, found in one pass over all $H$: all states that differ by one cause from the
/// one that was best in the last E-step, and from some others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OneFlips {
    /// Parents: the state that was best in the last E-step (in later generations the best child), then randomly chosen
    /// ones.
    pub parents: usize,
}

impl Propose for OneFlips {
    fn spec(&self) -> String {
        format!("one-flips:parents={}", self.parents)
    }

    fn flips_first(&self) -> bool {
        self.parents > 0
    }

    fn flips_others(&self) -> bool {
        self.parents > 1
    }

    fn propose(&self, row: &RowContext<'_>, random: &mut Random, proposed: &mut Proposed) {
        if self.parents == 0 {
            return;
        }
        let first = if row.generation == 0 { &row.current[..row.words] } else { row.words_of(row.best_index()) };
        proposed.flips_of_words(first);
        if self.parents > 1 {
            let mut parents = std::mem::take(&mut proposed.parents);
            Selection::Uniform.choose(row, self.parents - 1, random, &mut parents);
            for parent in parents.indices.iter().filter(|parent| row.words_of(**parent) != first) {
                proposed.flips_of_words(row.words_of(*parent));
            }
            proposed.parents = parents;
        }
    }
}
