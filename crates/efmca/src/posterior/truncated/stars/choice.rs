//! One row: what is proposed to it, and which states stay.

use crate::posterior::truncated::kernel::{Float, Rank};
use crate::posterior::truncated::places::{self, Entering};
use crate::posterior::truncated::proposals::{Proposed, RowContext, marginals};
use crate::posterior::truncated::score::ways::log_prior;
use crate::posterior::truncated::states::bits::{self, OTHER};
use crate::posterior::truncated::task::Task;

/// The numbers of the states of a set, and their log-joints.
type Set<'a> = (&'a mut [u32], &'a mut [f64]);

/// Buffers for one row at a time.
pub(super) struct Choice {
    /// The log-joints of all flips of the star's state, and of that state.
    flips: Vec<f64>,
    /// Whether these are in the set.
    present: Vec<bool>,
    entering: Entering,
    q: Vec<f64>,
    marginals: Vec<(u32, f64)>,
    active: Vec<f64>,
    needs_marginals: bool,
    proposed: Proposed,
    flipped: Vec<u64>,
}

/// A state that was proposed: its number in the pool.
pub(super) struct Child {
    pub(super) state: u32,
    pub(super) joint: f64,
}

impl Choice {
    pub(super) fn new<F: Float, R: Rank>(task: &Task<'_, F, R>) -> Choice {
        let h = task.layout.h;
        Choice {
            flips: vec![0.0; h + 1],
            present: vec![false; h + 1],
            entering: Entering::default(),
            q: vec![0.0; task.s],
            marginals: Vec::new(),
            active: vec![0.0; h],
            needs_marginals: task.proposals.iter().any(|proposal| proposal.needs_marginals()),
            proposed: Proposed::default(),
            flipped: vec![0; task.words],
        }
    }

    /// Takes the sums of all flips of the star's `state`, and notes which of them the set has.
    pub(super) fn begin<F: Float, R: Rank>(
        &mut self,
        task: &Task<'_, F, R>,
        state: &[u64],
        sums: &[F],
        (numbers, joints): Set<'_>,
    ) {
        let (log_odds, h) = (&task.layout.log_odds, task.layout.h);
        let prior = log_prior(log_odds, state);
        for ((joint, sum), odds) in self.flips.iter_mut().zip(sums).zip(log_odds) {
            *joint = sum.f64() + prior + odds;
        }
        bits::each(state, |cause| self.flips[cause] = sums[cause].f64() + prior - log_odds[cause]);
        self.flips[h] = sums[h].f64() + prior;
        self.present.fill(false);
        for (number, joint) in numbers.iter().zip(joints) {
            if let Some(flip) = self.flips.get(*number as usize) {
                *joint = *flip;
                self.present[*number as usize] = true;
            }
        }
    }

    /// Asks all proposals about row number `row` of a block that begins at `start` and has these `sets`, and hands what is no flip of
    /// the star's state to `see`.
    pub(super) fn propose<F: Float, R: Rank>(
        &mut self,
        task: &Task<'_, F, R>,
        (start, row, sets): (usize, usize, &[u64]),
        (state, joints): (&[u64], &[f64]),
        mut see: impl FnMut(&[u64]),
    ) {
        let Task { s, words, .. } = *task;
        let (h, set) = (task.layout.h, &sets[row * s * words..][..s * words]);
        if self.needs_marginals && places::posterior(task.beta, joints, &mut self.q).is_some() {
            marginals((set, words), &self.q, &mut self.active, &mut self.marginals);
        }
        let mut random = task.random(start + row, &[], 0);
        let context = RowContext {
            h,
            words,
            states: set,
            log_joints: joints,
            current: set,
            marginals: &self.marginals,
            expected: task.expected_active,
            neighbours: task.neighbours(sets, row),
            generation: 0,
        };
        self.proposed.begin(h);
        for proposal in task.proposals {
            proposal.propose(&context, &mut random, &mut self.proposed);
        }
        let is_other = |other: &[u64]| bits::code(h, state, other) == OTHER;
        // all flips of the star's state are known; those of others are states like any
        for parent in self.proposed.flips_of.chunks_exact(words).filter(|parent| *parent != state) {
            self.flipped.copy_from_slice(parent);
            for cause in 0..h {
                bits::flip(&mut self.flipped, cause);
                if is_other(&self.flipped) {
                    see(&self.flipped);
                }
                bits::flip(&mut self.flipped, cause);
            }
        }
        self.proposed.states.chunks_exact(words).filter(|other| is_other(other)).for_each(see);
    }

    /// Lets those flips in that belong to the best, all at once; `put` is told places and causes. The result is how many they are.
    pub(super) fn let_flips_in(&mut self, (numbers, joints): Set<'_>, mut put: impl FnMut(usize, usize)) -> usize {
        let worst = joints[places::worst(joints)];
        self.entering.better.clear();
        let h = self.flips.len() - 1;
        for ((cause, joint), present) in (0..).zip(&self.flips[..h]).zip(&self.present) {
            if *joint > worst && !present {
                self.entering.better.push((*joint, cause));
            }
        }
        let pairs = self.entering.pairs(joints);
        let entered = pairs.len();
        for ((joint, cause), place) in pairs {
            (numbers[place], joints[place]) = (cause, joint);
            put(place, cause as usize);
        }
        entered
    }

    /// Lets those of `children` in that are better than the worst state, which leaves; `put` is told the place and gives the number of
    /// the state in sets.
    pub(super) fn let_children_in(
        &mut self,
        (numbers, joints): Set<'_>,
        children: impl Iterator<Item = Child>,
        mut put: impl FnMut(usize, u32) -> u32,
    ) -> usize {
        let (mut worst, mut entered) = (places::worst(joints), 0);
        for Child { state, joint } in children {
            // a joint that is not a number is not better
            if joint > joints[worst] {
                (numbers[worst], joints[worst]) = (put(worst, state), joint);
                worst = places::worst(joints);
                entered += 1;
            }
        }
        entered
    }

    /// Puts the best state first; the result is the place that it had.
    pub(super) fn best_first(&self, (numbers, joints): Set<'_>) -> usize {
        let best = places::best(joints);
        numbers.swap(0, best);
        joints.swap(0, best);
        best
    }

    /// $\mathcal F$ without what is common to all states, and $q$ of the set; nothing if no state is possible.
    pub(super) fn posterior(&mut self, beta: f64, joints: &[f64]) -> Option<(f64, &[f64])> {
        places::posterior(beta, joints, &mut self.q).map(|bound| (bound, &self.q[..]))
    }
}
