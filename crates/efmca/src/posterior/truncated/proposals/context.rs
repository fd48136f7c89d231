//! A row as a proposal sees it, and the states that it proposes.

use crate::posterior::truncated::states::bits;
use crate::posterior::truncated::states::state::State;

/// The row that states are proposed for.
#[derive(Debug)]
pub struct RowContext<'a> {
    pub(crate) h: usize,
    pub(crate) words: usize,
    pub(crate) states: &'a [u64],
    pub(crate) log_joints: &'a [f64],
    pub(crate) current: &'a [u64],
    pub(crate) marginals: &'a [(u32, f64)],
    pub(crate) expected: f64,
    pub(crate) neighbours: [&'a [u64]; 6],
    pub(crate) generation: usize,
}

impl<'a> RowContext<'a> {
    /// $H$.
    pub fn h(&self) -> usize {
        self.h
    }

    /// The possible parents: the states of $\mathcal K^{(n)}$, or in later generations the children of the generation before.
    pub fn parents(&self) -> impl ExactSizeIterator<Item = State<'a>> {
        self.states.chunks_exact(self.words).map(State::new)
    }

    /// The log-joint $\log p(\vec y^{(n)}, \vec s)$ of each parent, up to a constant of the row.
    pub fn log_joints(&self) -> &'a [f64] {
        self.log_joints
    }

    /// The parent with the highest log-joint; the first of equals.
    pub fn best(&self) -> State<'a> {
        State::new(self.words_of(self.best_index()))
    }

    /// All states of $\mathcal K^{(n)}$; the first is the one that was best in the last E-step.
    pub fn current_set(&self) -> impl ExactSizeIterator<Item = State<'a>> {
        self.current.chunks_exact(self.words).map(State::new)
    }

    /// The causes that are active in some state of $\mathcal K^{(n)}$, with $\mathbb E_{q^{(n)}}\lbrack s_h\rbrack $. Empty unless
    /// [`Propose::needs_marginals`](super::Propose::needs_marginals) asks for them.
    pub fn marginals(&self) -> &'a [(u32, f64)] {
        self.marginals
    }

    /// The generation, counted from zero.
    pub fn generation(&self) -> usize {
        self.generation
    }

    /// $\sum_h\pi_h$, the number of active causes that the prior expects.
    pub fn expected_active(&self) -> f64 {
        self.expected
    }

    /// The states of each neighbouring row (for patches of an image, those that overlap most); the best of each comes first.
    pub fn neighbours(&self) -> impl Iterator<Item = impl ExactSizeIterator<Item = State<'a>>> {
        self.neighbours_of().map(|states| states.chunks_exact(self.words).map(State::new))
    }

    /// The same as words.
    pub(super) fn neighbours_of(&self) -> impl Iterator<Item = &'a [u64]> {
        self.neighbours.into_iter().filter(|states| !states.is_empty())
    }

    /// The number of parents.
    pub(super) fn len(&self) -> usize {
        self.log_joints.len()
    }

    /// A parent as words.
    pub(super) fn words_of(&self, index: usize) -> &'a [u64] {
        &self.states[index * self.words..][..self.words]
    }

    pub(super) fn best_index(&self) -> usize {
        let better =
            |best: usize, index: usize| if self.log_joints[index] > self.log_joints[best] { index } else { best };
        (1..self.len()).fold(0, better)
    }
}

/// $\mathbb E_q\lbrack s_h\rbrack $ of the causes that are active in one of `states`, which have `words` words each. `active` is
/// zero for all causes, before and after. Nothing is added to `found` of causes that are active in none.
pub(crate) fn marginals((states, words): (&[u64], usize), q: &[f64], active: &mut [f64], found: &mut Vec<(u32, f64)>) {
    for (state, q) in states.chunks_exact(words).zip(q) {
        bits::each(state, |cause| active[cause] += q);
    }
    for (cause, active) in active.iter_mut().enumerate() {
        if *active > 0.0 {
            found.push((cause as u32, *active));
            *active = 0.0;
        }
    }
}

/// The states that are proposed for a row.
#[derive(Debug, Default)]
pub struct Proposed {
    pub(crate) states: Vec<u64>,
    pub(crate) flips_of: Vec<u64>,
    /// $H$.
    h: usize,
    pub(super) parents: super::evolution::Parents,
}

impl Proposed {
    /// Proposes a state.
    pub fn state(&mut self, state: State<'_>) {
        self.words(state.words());
    }

    /// Proposes a state that differs from `state` in the causes `flipped`: those that are active become inactive, and the others
    /// active. A cause that is named twice stays as it is; causes that do not exist are ignored.
    pub fn state_with_flips(&mut self, state: State<'_>, flipped: impl IntoIterator<Item = usize>) {
        let causes = self.h;
        self.words(state.words());
        let words = self.last(state.words().len());
        flipped.into_iter().filter(|h| *h < causes).for_each(|h| bits::flip(words, h));
    }

    /// Proposes all $H$ states that differ from this one by one cause. They are scored together, in one pass over the table, which
    /// costs less than as many states that are scored one by one, if the proposal says that it asks for them
    /// ([`flips_first`](super::Propose::flips_first), [`flips_others`](super::Propose::flips_others)).
    pub fn flips_of(&mut self, state: State<'_>) {
        self.flips_of_words(state.words());
    }

    /// Nothing is proposed yet for a row with `h` causes.
    pub(crate) fn begin(&mut self, h: usize) {
        self.states.clear();
        self.flips_of.clear();
        self.h = h;
    }

    pub(super) fn words(&mut self, words: &[u64]) {
        self.states.extend_from_slice(words);
    }

    pub(crate) fn flips_of_words(&mut self, words: &[u64]) {
        self.flips_of.extend_from_slice(words);
    }

    pub(super) fn last(&mut self, words: usize) -> &mut [u64] {
        let start = self.states.len() - words;
        &mut self.states[start..]
    }
}
