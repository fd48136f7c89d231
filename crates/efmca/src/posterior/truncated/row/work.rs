//! The present row: its states and their log-joints, what is proposed, and what comes of it.

use crate::posterior::truncated::data::observations::Row;
use crate::posterior::truncated::kernel::{Float, Rank};
use crate::posterior::truncated::places::{self, Entering};
use crate::posterior::truncated::proposals::{Proposed, marginals};
use crate::posterior::truncated::score::centre::Centre;
use crate::posterior::truncated::score::owners::{Difference, NearWeights, Owners};
use crate::posterior::truncated::score::scan::{Scan, TOGETHER, add_causes};
use crate::posterior::truncated::score::ways::{Ways, has_many, log_prior};
use crate::posterior::truncated::states::bits::{self, OTHER};
use crate::posterior::truncated::sums::Sums;
use crate::posterior::truncated::task::{Job, Task};

/// Buffers for one row at a time: nothing is allocated for a row.
pub(crate) struct Work<F, R> {
    pub(crate) row: Row<F>,
    pub(crate) ways: Ways<F, R>,
    /// $\mathcal K^{(n)}$, its log-joints (up to what is common to all states), and hashes.
    pub(crate) states: Vec<u64>,
    pub(crate) joints: Vec<f64>,
    pub(crate) hashes: Vec<u64>,
    /// Its states as seen from `first`.
    pub(crate) codes: Vec<u16>,
    pub(crate) worst: usize,
    pub(crate) q: Vec<f64>,
    /// The states of $\mathcal K^{(n)}$ that count, and their $q$.
    pub(crate) counting: Vec<u64>,
    pub(crate) counting_q: Vec<f64>,
    pub(crate) marginals: Vec<(u32, f64)>,
    pub(crate) active: Vec<f64>,
    pub(crate) proposed: Proposed,
    /// The children of a generation, with log-joints.
    pub(crate) children: Vec<u64>,
    pub(crate) child_joints: Vec<f64>,
    pub(crate) child_hashes: Vec<u64>,
    pub(crate) parents: Vec<u64>,
    pub(crate) parent_joints: Vec<f64>,
    /// The sums of all flips of a state.
    pub(crate) flips: Vec<f64>,
    /// The log-joints of all flips of the first state, and of that state itself, if `scanned`.
    pub(crate) flip_joints: Vec<f64>,
    pub(crate) scanned: bool,
    /// The owners of the columns in the first state, if it was `walked`, and the posterior probabilities of states near it.
    pub(crate) owners: Owners<R>,
    pub(crate) walked: bool,
    pub(crate) weights: NearWeights,
    /// The same of another state.
    pub(crate) other_owners: Owners<R>,
    /// The state that most others are flips of.
    centre: Centre<R>,
    pub(crate) first: Vec<u64>,
    pub(crate) first_sum: f64,
    /// The causes whose flips are in the set.
    pub(crate) known_flips: Vec<u64>,
    pub(crate) child_places: Vec<u32>,
    pub(crate) flipped: Vec<u64>,
    /// Flips that are better than the worst state.
    pub(crate) entering: Entering,
    /// Rows that are read together.
    pub(crate) scans: Vec<Scan<F, R>>,
    pub(crate) scratch: Vec<F>,
}

impl<F: Float, R: Rank> Work<F, R> {
    pub(crate) fn new(task: &Task<'_, F, R>) -> Work<F, R> {
        let h = task.layout.h;
        Work {
            row: Row::new(task.data.columns()),
            ways: Ways::new(task.layout),
            states: vec![0; task.s * task.words],
            joints: vec![0.0; task.s],
            hashes: vec![0; task.s],
            codes: vec![OTHER; task.s],
            worst: 0,
            q: vec![0.0; task.s],
            counting: Vec::with_capacity(task.s * task.words),
            counting_q: Vec::with_capacity(task.s),
            marginals: Vec::with_capacity(h),
            active: vec![0.0; h],
            proposed: Proposed::default(),
            children: Vec::new(),
            child_joints: Vec::new(),
            child_hashes: Vec::new(),
            parents: Vec::new(),
            parent_joints: Vec::new(),
            flips: vec![0.0; h],
            flip_joints: vec![0.0; h + 1],
            scanned: false,
            owners: Owners::new(h),
            walked: false,
            weights: NearWeights::new(h, task.layout.d),
            other_owners: Owners::new(h),
            centre: Centre::new(h, task.s),
            first: vec![0; task.words],
            first_sum: 0.0,
            known_flips: vec![0; task.words],
            child_places: Vec::with_capacity(task.s),
            flipped: vec![0; task.words],
            entering: Entering::default(),
            scans: (0..TOGETHER).map(|_| Scan::new(task.layout, Row::new(task.data.columns()))).collect(),
            scratch: vec![F::ZERO; task.layout.width],
        }
    }

    /// The log-joints of `states`, without what is common to all states.
    pub(crate) fn score(
        task: &Task<'_, F, R>,
        row: &Row<F>,
        ways: &mut Ways<F, R>,
        states: &[u64],
        joints: &mut [f64],
    ) {
        ways.divide(task.layout, task.words, states);
        let Ways { passes, walk, passed, passed_at, walked, walked_at, found, .. } = ways;
        if passed_at.is_empty() {
            walk.score(task.layout, row, states, task.words, joints);
        } else if walked_at.is_empty() {
            passes.score(task.layout, row, states, joints);
        } else {
            found.resize(passed_at.len().max(walked_at.len()), 0.0);
            walk.score(task.layout, row, walked, task.words, &mut found[..walked_at.len()]);
            walked_at.iter().zip(&*found).for_each(|(at, found)| joints[*at as usize] = *found);
            passes.score(task.layout, row, passed, &mut found[..passed_at.len()]);
            passed_at.iter().zip(&*found).for_each(|(at, found)| joints[*at as usize] = *found);
        }
        for (state, joint) in states.chunks_exact(task.words).zip(&mut *joints) {
            *joint += log_prior(&task.layout.log_odds, state);
        }
        if let Some(constants) = task.constants {
            constants.add_to(states, task.words, joints);
        }
    }

    /// Reads a few rows with their sets. If all flips of their first states will be asked for, then they come first: many states
    /// of $\mathcal K^{(n)}$ are among them.
    pub(crate) fn scan_together<'s>(
        &mut self,
        task: &Task<'_, F, R>,
        job: Job,
        rows: impl Iterator<Item = (usize, &'s [u64])>,
    ) {
        let wanted = task.flips_first && job == Job::EStep;
        let mut count = 0;
        for ((n, set), scan) in rows.zip(&mut self.scans) {
            task.data.load(n, &mut scan.row);
            scan.state.copy_from_slice(&set[..task.words]);
            scan.wanted = wanted;
            scan.walked = scan.wanted && has_many(task.layout, &scan.state);
            if scan.walked {
                scan.walk(task.layout);
            } else if scan.wanted {
                scan.prepare(task.layout, &mut self.ways.passes);
            }
            count += 1;
        }
        if wanted {
            add_causes(task.layout, &mut self.scans[..count], &mut self.scratch);
        }
    }

    /// Makes a row of those that were read the present one.
    pub(crate) fn take_scan(&mut self, index: usize) {
        let scan = &mut self.scans[index];
        std::mem::swap(&mut self.row, &mut scan.row);
        std::mem::swap(&mut self.flips, &mut scan.flips);
        std::mem::swap(&mut self.first, &mut scan.state);
        std::mem::swap(&mut self.owners, &mut scan.owners);
        (self.first_sum, self.scanned, self.walked) = (scan.sum, scan.wanted, scan.walked);
    }

    /// The log-joints of the first state and of all its flips, from their sums.
    fn find_flip_joints(&mut self, log_odds: &[f64]) {
        let h = log_odds.len();
        let prior = log_prior(log_odds, &self.first);
        for ((joint, sum), odds) in self.flip_joints.iter_mut().zip(&self.flips).zip(log_odds) {
            *joint = sum + prior + odds;
        }
        let (flips, joints) = (&self.flips, &mut self.flip_joints);
        bits::each(&self.first, |cause| joints[cause] = flips[cause] + prior - log_odds[cause]);
        joints[h] = self.first_sum + prior;
    }

    /// Scores the states of $\mathcal K^{(n)}$ under the parameters as they are now.
    pub(crate) fn rescore(&mut self, task: &Task<'_, F, R>, sums: &mut Sums) {
        let (words, h, log_odds) = (task.words, task.layout.h, &task.layout.log_odds);
        self.children.clear();
        self.child_places.clear();
        self.known_flips.fill(0);
        if self.scanned {
            sums.evaluations += h as u64;
            self.find_flip_joints(log_odds);
        }
        let (scanned, states) = (self.scanned, self.states.chunks_exact(words));
        for (code, state) in self.codes.iter_mut().zip(states) {
            *code = if scanned { bits::code(h, &self.first, state) } else { OTHER };
        }
        if self.walked {
            sums.evaluations += self.centre.score(task.layout, &self.row, &self.states, &self.codes) as u64;
        }
        for (index, code) in self.codes.iter().enumerate() {
            if *code != OTHER {
                self.joints[index] = self.flip_joints[usize::from(*code)];
                if usize::from(*code) < h {
                    bits::flip(&mut self.known_flips, usize::from(*code));
                }
                continue;
            }
            let state = &self.states[index * words..][..words];
            if let Some(joint) = self.walked.then(|| self.centre.joint(index)).flatten() {
                self.joints[index] = joint;
                continue;
            }
            if self.walked
                && let Some(difference) = Difference::new(&self.first, state)
            {
                let prior = |cause: usize| if bits::has(state, cause) { log_odds[cause] } else { -log_odds[cause] };
                self.joints[index] = self.flip_joints[h]
                    + self.owners.score(task.layout, &self.row, &difference)
                    + difference.causes().map(prior).sum::<f64>();
                sums.evaluations += 1;
                continue;
            }
            self.children.extend_from_slice(state);
            self.child_places.push(index as u32);
        }
        self.child_joints.clear();
        self.child_joints.resize(self.child_places.len(), 0.0);
        if !self.child_places.is_empty() {
            Work::score(task, &self.row, &mut self.ways, &self.children, &mut self.child_joints);
        }
        for (place, joint) in self.child_places.iter().zip(&self.child_joints) {
            self.joints[*place as usize] = *joint;
        }
        sums.evaluations += self.child_places.len() as u64;
        self.hashes.clear();
        self.hashes.extend(self.states.chunks_exact(words).map(bits::hash));
        self.find_worst();
    }

    /// $q$ of the set, and $\mathcal F$ without what is common to all states; nothing if no state is possible.
    pub(crate) fn posterior(&mut self, task: &Task<'_, F, R>) -> Option<f64> {
        places::posterior(task.beta, &self.joints, &mut self.q)
    }

    /// $\mathbb E_q\lbrack s_h\rbrack $ of the causes that are active somewhere in $\mathcal K^{(n)}$.
    pub(crate) fn find_marginals(&mut self, task: &Task<'_, F, R>) {
        self.marginals.clear();
        if !task.proposals.iter().any(|proposal| proposal.needs_marginals()) || self.posterior(task).is_none() {
            return;
        }
        marginals((&self.states, task.words), &self.q, &mut self.active, &mut self.marginals);
    }

    /// Adds the expectations of this row (Eqn. 42) to the sums.
    pub(crate) fn distribute(&mut self, task: &Task<'_, F, R>, weight: f64, sums: &mut Sums) {
        self.counting.clear();
        self.counting_q.clear();
        let states = self.states.chunks_exact(task.words).zip(&self.q).zip(&self.codes);
        for ((state, q), code) in states {
            if *q > F::NEGLIGIBLE {
                let q = *q * weight;
                if self.walked && *code != OTHER {
                    self.weights.assign(*code, q);
                    continue;
                }
                if self.walked
                    && let Some(difference) = Difference::new(&self.first, state)
                {
                    let base = (&mut self.owners, &self.first[..]);
                    self.weights.give(task.layout, &self.row, base, (&difference, q), sums);
                    continue;
                }
                bits::each(state, |cause| sums.active[cause] += q);
                self.counting.extend_from_slice(state);
                self.counting_q.push(q);
            }
        }
        self.weights.distribute(task.layout, &self.row, &self.owners, &self.first, sums);
        let (states, q) = (&self.counting, &self.counting_q);
        self.ways.divide(task.layout, task.words, states);
        let Ways { passes, walk, passed, passed_at, walked, walked_at, found, .. } = &mut self.ways;
        if !walked_at.is_empty() {
            found.clear();
            found.extend(walked_at.iter().map(|at| q[*at as usize]));
            walk.distribute(task.layout, &self.row, walked, task.words, found, sums);
        }
        if !passed_at.is_empty() {
            found.clear();
            found.extend(passed_at.iter().map(|at| q[*at as usize]));
            passes.distribute(task.layout, &self.row, passed, found);
            passes.flush(task.layout, sums, false);
        }
    }
}
