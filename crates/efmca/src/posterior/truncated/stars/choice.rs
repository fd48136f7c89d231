//! One row: what is proposed to it, and which states stay.

use multiversion::multiversion;

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
    /// The log-priors of all flips of the star's state, and of that state.
    priors: Vec<f64>,
    /// Their log-joints in the present row; $-\infty$ for those that are in its set.
    flips: Vec<f64>,
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
            priors: vec![0.0; h + 1],
            flips: vec![0.0; h + 1],
            entering: Entering::default(),
            q: vec![0.0; task.s],
            marginals: Vec::new(),
            active: vec![0.0; h],
            needs_marginals: task.proposals.iter().any(|proposal| proposal.needs_marginals()),
            proposed: Proposed::default(),
            flipped: vec![0; task.words],
        }
    }

    /// Prepares for the rows of a star.
    pub(super) fn begin_star<F: Float, R: Rank>(&mut self, task: &Task<'_, F, R>, state: &[u64]) {
        let log_odds = &task.layout.log_odds;
        let prior = log_prior(log_odds, state);
        self.priors.iter_mut().zip(log_odds).for_each(|(to, odds)| *to = prior + odds);
        bits::each(state, |cause| self.priors[cause] = prior - log_odds[cause]);
        self.priors[log_odds.len()] = prior;
    }

    /// Takes the sums of all flips of the star's state in a row, some of which are in the set.
    pub(super) fn begin<F: Float>(&mut self, sums: &[F], (numbers, joints): Set<'_>) {
        add_priors(sums, &self.priors, &mut self.flips);
        for (number, joint) in numbers.iter().zip(joints) {
            if let Some(flip) = self.flips.get_mut(*number as usize) {
                *joint = *flip;
                *flip = f64::NEG_INFINITY;
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
        self.marginals.clear();
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

    /// Lets those flips in that belong to the best, all at once; `put` gets the place and
    /// the cause of each. The result is how many entered.
    pub(super) fn let_flips_in(&mut self, (numbers, joints): Set<'_>, mut put: impl FnMut(usize, usize)) -> usize {
        let worst = joints[places::worst(joints)];
        self.entering.better.clear();
        let h = self.flips.len() - 1;
        for (group, first) in self.flips[..h].chunks(8).zip((0..).step_by(8)) {
            // few are better, so that eight are asked at once
            if group.iter().fold(false, |any, joint| any | (*joint > worst)) {
                let better = group.iter().zip(first..).filter(|(joint, _)| **joint > worst);
                self.entering.better.extend(better.map(|(joint, cause)| (*joint, cause)));
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

    /// Lets in those `children` that are better than the worst state, which leaves; `put` gets the place and the state, and returns
    /// the number that the state has in sets.
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

/// Log-joints from sums of log-terms.
#[multiversion(targets("x86_64+avx2", "x86_64+avx", "aarch64+neon"))]
fn add_priors<F: Float>(sums: &[F], priors: &[f64], joints: &mut [f64]) {
    for ((joint, sum), prior) in joints.iter_mut().zip(sums).zip(priors) {
        *joint = sum.f64() + prior;
    }
}
