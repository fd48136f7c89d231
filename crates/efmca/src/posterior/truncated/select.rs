//! Which states stay in $\\mathcal K^{(n)}$: a state leaves only for a better one.

use super::bits::{self, Distance};
use super::kernel::{Float, Rank};
use super::proposals::{Random, RowContext};
use super::rows::Task;
use super::sums::Sums;
use super::ways::{has_many, log_prior};
use super::work::Work;

impl<F: Float, R: Rank> Work<F, R> {
    pub(super) fn find_worst(&mut self) {
        self.worst = first_of(&self.joints, lowest(&self.joints));
    }

    /// Lets a state in, if it is new and better than the worst one, which leaves.
    pub(super) fn offer(&mut self, words: usize, state: &[u64], joint: f64) -> bool {
        // a joint that is not a number is not better
        let better = joint > self.joints[self.worst];
        if !better {
            return false;
        }
        let hash = bits::hash(state);
        if self.hashes.contains(&hash) {
            return false;
        }
        let worst = self.worst;
        self.states[worst * words..][..words].copy_from_slice(state);
        self.joints[worst] = joint;
        self.hashes[worst] = hash;
        self.find_worst();
        true
    }

    /// All generations of proposals.
    pub(super) fn evolve(
        &mut self,
        task: &Task<'_, F, R>,
        random: &mut Random,
        neighbours: [&[u64]; 6],
        sums: &mut Sums,
    ) {
        if task.layout.h < 60 && task.s >= 1 << task.layout.h {
            // all states are there
            return;
        }
        self.find_marginals(task);
        for generation in 0..task.generations {
            let mut proposed = std::mem::take(&mut self.proposed);
            proposed.begin(task.layout.h);
            let inherited = generation > 0 && !self.parent_joints.is_empty();
            let row = RowContext {
                h: task.layout.h,
                words: task.words,
                states: if inherited { &self.parents } else { &self.states },
                log_joints: if inherited { &self.parent_joints } else { &self.joints },
                current: &self.states,
                marginals: &self.marginals,
                expected: task.pi.iter().sum(),
                neighbours,
                generation,
            };
            for proposal in task.proposals {
                proposal.propose(&row, random, &mut proposed);
            }
            self.parents.clear();
            self.parent_joints.clear();
            for parent in proposed.flips_of.chunks_exact(task.words) {
                self.offer_flips(task, parent, sums);
            }
            self.offer_states(task, &proposed.states, sums);
            self.proposed = proposed;
        }
    }

    /// Scores all states that differ by one cause from `parent`, and offers them.
    pub(super) fn offer_flips(&mut self, task: &Task<'_, F, R>, parent: &[u64], sums: &mut Sums) {
        let mut flips = std::mem::take(&mut self.flips);
        let scanned = self.scanned && self.first == parent;
        if !scanned {
            if has_many(task, parent) {
                self.ways.walk.flips(task.layout, &self.row, parent, &mut flips);
            } else {
                self.ways.passes.flips(task.layout, &self.row, parent, &mut flips);
            }
            sums.evaluations += task.layout.h as u64;
            // the flips of the first state are gone
            self.scanned = false;
        }
        let prior = log_prior(&task.layout.log_odds, parent);
        let constants = task.constants.map(|constants| constants.of_flips(parent));
        let worst = self.joints[self.worst];
        self.better.clear();
        for ((cause, sum), odds) in flips.iter().enumerate().zip(&task.layout.log_odds) {
            let mut joint = sum + prior + if bits::has(parent, cause) { -odds } else { *odds };
            if let Some(constants) = &constants {
                joint += constants[cause];
            }
            if joint > worst && !(scanned && bits::has(&self.known_flips, cause)) {
                self.better.push((joint, cause as u32));
            }
        }
        // the best come first, so that none is let in that has to leave for another one
        let mut better = std::mem::take(&mut self.better);
        better.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut flipped = std::mem::take(&mut self.flipped);
        flipped.copy_from_slice(parent);
        for (joint, cause) in &better {
            if *joint <= self.joints[self.worst] {
                break;
            }
            bits::flip(&mut flipped, *cause as usize);
            if self.offer(task.words, &flipped, *joint) {
                sums.replaced += 1;
                self.parents.extend_from_slice(&flipped);
                self.parent_joints.push(*joint);
            }
            bits::flip(&mut flipped, *cause as usize);
        }
        self.better = better;
        self.flips = flips;
        self.flipped = flipped;
    }

    /// Scores the states that are new, and offers them.
    pub(super) fn offer_states(&mut self, task: &Task<'_, F, R>, states: &[u64], sums: &mut Sums) {
        self.children.clear();
        self.child_hashes.clear();
        for state in states.chunks_exact(task.words) {
            // all flips of the first state have been offered, if they were scanned
            if self.scanned && !matches!(bits::distance(&self.first, state), Distance::More) {
                continue;
            }
            let hash = bits::hash(state);
            if !self.hashes.contains(&hash) && !self.child_hashes.contains(&hash) {
                self.child_hashes.push(hash);
                self.children.extend_from_slice(state);
            }
        }
        if self.child_hashes.is_empty() {
            return;
        }
        self.child_joints.clear();
        self.child_joints.resize(self.child_hashes.len(), 0.0);
        Work::score(task, &self.row, &mut self.ways, &self.children, &mut self.child_joints);
        sums.evaluations += self.child_joints.len() as u64;
        let children = std::mem::take(&mut self.children);
        for (index, state) in children.chunks_exact(task.words).enumerate() {
            sums.replaced += u64::from(self.offer(task.words, state, self.child_joints[index]));
        }
        self.parents.extend_from_slice(&children);
        self.parent_joints.extend_from_slice(&self.child_joints);
        self.children = children;
    }

    /// Puts the best state first.
    pub(super) fn best_first(&mut self, task: &Task<'_, F, R>) {
        let highest = self.joints.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let best = first_of(&self.joints, highest);
        self.joints.swap(0, best);
        for word in 0..task.words {
            self.states.swap(word, best * task.words + word);
        }
    }
}

/// The lowest of `values`, in lanes, because it is asked for often.
pub(super) fn lowest(values: &[f64]) -> f64 {
    let mut lowest = [f64::INFINITY; 8];
    let (groups, rest) = values.as_chunks::<8>();
    for group in groups {
        for (lowest, value) in lowest.iter_mut().zip(group) {
            *lowest = if value < lowest { *value } else { *lowest };
        }
    }
    rest.iter().chain(&lowest).copied().fold(f64::INFINITY, |a, b| if b < a { b } else { a })
}

/// Where `value` is in `values`.
pub(super) fn first_of(values: &[f64], value: f64) -> usize {
    values.iter().position(|other| *other == value).unwrap_or(0)
}
