//! Which states stay in $\\mathcal K^{(n)}$: a state leaves only for a better one.

use crate::posterior::truncated::kernel::{Float, Rank};
use crate::posterior::truncated::places;
use crate::posterior::truncated::proposals::{Random, RowContext};
use crate::posterior::truncated::row::work::Work;
use crate::posterior::truncated::score::ways::{has_many, log_prior};
use crate::posterior::truncated::states::bits::{self, OTHER};
use crate::posterior::truncated::sums::Sums;
use crate::posterior::truncated::task::Task;

impl<F: Float, R: Rank> Work<F, R> {
    pub(crate) fn find_worst(&mut self) {
        self.worst = places::worst(&self.joints);
    }

    /// Lets a state in, if it is new and better than the worst one, which leaves.
    pub(crate) fn offer(&mut self, words: usize, state: &[u64], joint: f64) -> bool {
        // a joint that is not a number is not better
        let better = joint > self.joints[self.worst];
        if !better {
            return false;
        }
        let hash = bits::hash(state);
        if self.hashes.contains(&hash) {
            return false;
        }
        self.put(words, self.worst, state, (joint, hash));
        self.find_worst();
        true
    }

    /// Puts a state in the place of another.
    fn put(&mut self, words: usize, place: usize, state: &[u64], (joint, hash): (f64, u64)) {
        let h = self.flips.len();
        let left = usize::from(self.codes[place]);
        if left < h {
            bits::flip(&mut self.known_flips, left);
        }
        let code = if self.scanned { bits::code(h, &self.first, state) } else { OTHER };
        if usize::from(code) < h {
            bits::flip(&mut self.known_flips, usize::from(code));
        }
        self.states[place * words..][..words].copy_from_slice(state);
        self.joints[place] = joint;
        self.hashes[place] = hash;
        self.codes[place] = code;
    }

    /// All generations of proposals.
    pub(crate) fn evolve(
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
                expected: task.expected_active,
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
    pub(crate) fn offer_flips(&mut self, task: &Task<'_, F, R>, parent: &[u64], sums: &mut Sums) {
        let worst = self.joints[self.worst];
        self.entering.better.clear();
        if self.scanned && self.first == parent {
            for (cause, joint) in self.flip_joints[..task.layout.h].iter().enumerate() {
                if *joint > worst && !bits::has(&self.known_flips, cause) {
                    self.entering.better.push((*joint, cause as u32));
                }
            }
        } else {
            if has_many(task.layout, parent) {
                self.other_owners.flips(task.layout, &self.row, parent, &mut self.flips);
            } else {
                self.ways.passes.flips(task.layout, &self.row, parent, &mut self.flips);
            }
            sums.evaluations += task.layout.h as u64;
            let prior = log_prior(&task.layout.log_odds, parent);
            let constants = task.constants.map(|constants| constants.of_flips(parent));
            self.flipped.copy_from_slice(parent);
            for ((cause, sum), odds) in self.flips.iter().enumerate().zip(&task.layout.log_odds) {
                let mut joint = sum + prior + if bits::has(parent, cause) { -odds } else { *odds };
                if let Some(constants) = &constants {
                    joint += constants[cause];
                }
                if joint > worst {
                    bits::flip(&mut self.flipped, cause);
                    if !self.hashes.contains(&bits::hash(&self.flipped)) {
                        self.entering.better.push((joint, cause as u32));
                    }
                    bits::flip(&mut self.flipped, cause);
                }
            }
        }
        self.let_in_better(task, parent, sums);
    }

    /// Lets in those flips of `parent` that belong to the best, all at once.
    fn let_in_better(&mut self, task: &Task<'_, F, R>, parent: &[u64], sums: &mut Sums) {
        let mut entering = std::mem::take(&mut self.entering);
        let mut flipped = std::mem::take(&mut self.flipped);
        flipped.copy_from_slice(parent);
        let pairs = entering.pairs(&self.joints);
        sums.replaced += pairs.len() as u64;
        let any = pairs.len() > 0;
        for ((joint, cause), place) in pairs {
            bits::flip(&mut flipped, cause as usize);
            self.put(task.words, place, &flipped, (joint, bits::hash(&flipped)));
            if task.generations > 1 {
                self.parents.extend_from_slice(&flipped);
                self.parent_joints.push(joint);
            }
            bits::flip(&mut flipped, cause as usize);
        }
        self.flipped = flipped;
        self.entering = entering;
        if any {
            self.find_worst();
        }
    }

    /// Scores the states that are new, and offers them.
    pub(crate) fn offer_states(&mut self, task: &Task<'_, F, R>, states: &[u64], sums: &mut Sums) {
        self.children.clear();
        self.child_hashes.clear();
        for state in states.chunks_exact(task.words) {
            // all flips of the first state have been offered, if they were scanned
            if self.scanned && bits::code(task.layout.h, &self.first, state) != OTHER {
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
    pub(crate) fn best_first(&mut self, task: &Task<'_, F, R>) {
        let best = places::best(&self.joints);
        self.joints.swap(0, best);
        self.codes.swap(0, best);
        for word in 0..task.words {
            self.states.swap(word, best * task.words + word);
        }
    }
}
