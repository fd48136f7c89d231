//! One state of a set.

use crate::posterior::truncated::states::bits;

/// A state $\vec s$: which causes are active.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct State<'a> {
    words: &'a [u64],
}

impl<'a> State<'a> {
    pub(crate) fn new(words: &'a [u64]) -> State<'a> {
        State { words }
    }

    pub(crate) fn words(self) -> &'a [u64] {
        self.words
    }

    /// The active causes, in ascending order.
    pub fn active(self) -> impl Iterator<Item = usize> + 'a {
        self.words.iter().enumerate().flat_map(|(index, word)| {
            // what is left of the word, without one cause more each time
            let left = |left: u64| Some(left).filter(|left| *left != 0);
            let rest = std::iter::successors(left(*word), move |rest| left(rest & (rest - 1)));
            rest.map(move |rest| index * 64 + rest.trailing_zeros() as usize)
        })
    }

    /// Whether cause `h` is active, $s_h = 1$.
    #[must_use]
    pub fn is_active(self, h: usize) -> bool {
        h / 64 < self.words.len() && bits::has(self.words, h)
    }

    /// The number of active causes.
    #[must_use]
    pub fn count(self) -> usize {
        bits::count(self.words)
    }
}

impl std::fmt::Debug for State<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_set().entries(self.active()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_knows_its_causes() {
        let words = [1u64 << 3 | 1 << 63, 0, 1 << 1];
        let state = State::new(&words);
        assert_eq!(state.active().collect::<Vec<_>>(), [3, 63, 129]);
        assert_eq!(state.count(), 3);
        assert!(state.is_active(63) && !state.is_active(64) && state.is_active(129) && !state.is_active(1000));
        assert_eq!(State::new(&[0, 0]).active().count(), 0);
        assert_eq!(format!("{state:?}"), "{3, 63, 129}");
    }
}
