//! The E-step of one row after the other.

use std::ops::Range;
use std::sync::Arc;

use rand::SeedableRng;

use super::bits::{self, Distance};
use super::kernel::{Float, Rank};
use super::layout::Layout;
use super::observations::{Observations, Row};
use super::passes::Passes;
use super::proposals::{Propose, Random, Scene, Wishes};
use super::scan::{Scan, TOGETHER, add_causes};
use super::sets;
use super::stars::{END, Given, Scores, Stars};
use super::sums::Sums;
use super::walk::Walk;
use crate::error::{Error, Result};
use crate::posterior::exp::exp_of_negative;

/// More active causes than this, and columns may be walked…
pub(super) const MANY_ACTIVE: usize = 24;
/// … if one cause of this many is active.
const SPARSE: usize = 32;

/// What is to be done for all rows.
pub(super) struct Task<'a, F, R> {
    pub(super) data: &'a Observations<F>,
    pub(super) layout: &'a Layout<F, R>,
    pub(super) proposals: &'a [Arc<dyn Propose>],
    pub(super) generations: usize,
    /// $1/T$.
    pub(super) beta: f64,
    pub(super) pi: &'a [f64],
    /// States of a row, and words of a state.
    pub(super) s: usize,
    pub(super) words: usize,
    /// Whether some proposal asks for all flips of the first state.
    pub(super) flips_first: bool,
    /// Whether the sets are to be filled first.
    pub(super) fill: bool,
    /// Whether randomness comes from a row's data instead of its number: then no row depends on another.
    pub(super) by_content: bool,
    pub(super) seed: u64,
    pub(super) iteration: u64,
}

/// What a chunk of rows writes to: its part of everything that is kept for each row.
pub(super) struct Kept<'a, F> {
    pub(super) sets: &'a mut [u64],
    /// $\mathcal F$ of each row.
    pub(super) bounds: &'a mut [f64],
    /// $q$ of each state; empty if nobody asks for it.
    pub(super) q: &'a mut [f64],
    /// What the states that are in stars give to the M-step.
    pub(super) given: &'a mut [Given<F>],
}

/// What is asked of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Job {
    /// The whole E-step.
    EStep,
    /// With $q$ as it is, which cause owns which column under the tables as they are now.
    Redistribute,
}

/// All rows of a chunk, with the fastest kernel that there is, or with the one that runs anywhere.
pub(super) fn rows<F: Float, R: Rank>(
    task: &Task<'_, F, R>,
    job: Job,
    rows: Range<usize>,
    kept: Kept<'_, F>,
    stars: &Stars<F>,
    fast: bool,
) -> Result<Sums> {
    if fast {
        run::<true, F, R>(task, job, rows, kept, stars)
    } else {
        run::<false, F, R>(task, job, rows, kept, stars)
    }
}

/// Whether this processor has the fast kernel.
pub(super) fn fast() -> bool {
    #[cfg(target_arch = "x86_64")]
    return super::avx2::available();
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

fn run<const AVX2: bool, F: Float, R: Rank>(
    task: &Task<'_, F, R>,
    job: Job,
    rows: Range<usize>,
    kept: Kept<'_, F>,
    stars: &Stars<F>,
) -> Result<Sums> {
    let mut work = Work::new(task);
    let mut sums = Sums::zeros(task.layout);
    let size = task.s * task.words;
    let first = rows.start;
    for from in rows.clone().step_by(TOGETHER) {
        let group = from..(from + TOGETHER).min(rows.end);
        work.scan_together::<AVX2>(task, job, group.clone(), &kept.sets[(from - first) * size..], stars);
        for n in group {
            let index = n - first;
            work.take_scan(n - from);
            let star = stars.of_row(n);
            work.take_star(star.as_ref());
            work.ways.passes.begin();
            work.states.copy_from_slice(&kept.sets[index * size..][..size]);
            if job == Job::Redistribute {
                work.q.copy_from_slice(&kept.q[index * task.s..][..task.s]);
                let weight = task.data.weight(n);
                sums.weight += weight;
                work.distribute::<AVX2>(task, weight, &mut [], &mut sums);
                continue;
            }
            let mut random = task.random(n, &work.row);
            if task.fill {
                sets::fill(&mut work.states, task.words, task.pi, &mut random, &mut work.hashes);
            }
            work.rescore::<AVX2>(task, star.map(|scores| scores.others), &mut sums);
            let neighbours = neighbours(task, kept.sets, index);
            work.evolve::<AVX2>(task, &mut random, neighbours, &mut sums);
            work.best_first(task);
            let Some(bound) = work.posterior(task) else { return Err(Error::ImpossibleRow { row: n }) };
            let bound = bound + task.layout.common(&work.row) + task.layout.log_prior_empty + task.data.log_h(n);
            let weight = task.data.weight(n);
            sums.bound += weight * bound;
            sums.weight += weight;
            kept.bounds[index] = bound;
            let given = if work.in_star { &mut kept.given[index * task.s..][..task.s] } else { &mut [] };
            work.distribute::<AVX2>(task, weight, given, &mut sums);
            kept.sets[index * size..][..size].copy_from_slice(&work.states);
            if !kept.q.is_empty() {
                kept.q[index * task.s..][..task.s].copy_from_slice(&work.q);
            }
        }
    }
    work.ways.passes.flush(task.layout, &mut sums, true);
    Ok(sums)
}

/// The sets of the rows before and after this one, as far as they are in the same chunk.
fn neighbours<'a, F: Float, R: Rank>(task: &Task<'_, F, R>, sets: &'a [u64], index: usize) -> [&'a [u64]; 4] {
    let size = task.s * task.words;
    if task.by_content || task.fill {
        return [&[]; 4];
    }
    let row = |index: Option<usize>| index.and_then(|index| sets.get(index * size..(index + 1) * size)).unwrap_or(&[]);
    let [near, far] = task.data.neighbours();
    [
        row(index.checked_sub(near)),
        row(index.checked_sub(far)),
        row(index.checked_add(near)),
        row(index.checked_add(far)),
    ]
}

impl<F: Float, R: Rank> Task<'_, F, R> {
    fn random(&self, n: usize, row: &Row<F>) -> Random {
        let mut key = n as u64;
        if self.by_content {
            key = row.t.iter().fold(0, |key, t| bits::hash(&[key ^ t.f64().to_bits()]));
        }
        Random::seed_from_u64(bits::hash(&[self.seed, self.iteration, key]))
    }
}

/// Buffers for one row at a time: nothing is allocated for a row.
struct Work<F, R> {
    row: Row<F>,
    ways: Ways<F, R>,
    /// $\mathcal K^{(n)}$, its log-joints (up to what is common to all states), and hashes.
    states: Vec<u64>,
    joints: Vec<f64>,
    hashes: Vec<u64>,
    worst: usize,
    q: Vec<f64>,
    /// The states of $\mathcal K^{(n)}$ that count, and their $q$.
    counting: Vec<u64>,
    counting_q: Vec<f64>,
    marginals: Vec<(u32, f64)>,
    active: Vec<f64>,
    wishes: Wishes,
    /// The children of a generation, with log-joints.
    children: Vec<u64>,
    child_joints: Vec<f64>,
    child_hashes: Vec<u64>,
    parents: Vec<u64>,
    parent_joints: Vec<f64>,
    /// The sums of all flips of a state, for the first state if `scanned`, and of that state itself.
    flips: Vec<f64>,
    scanned: bool,
    /// Whether they came from a star, whose states are summed over rows.
    in_star: bool,
    first: Vec<u64>,
    first_sum: f64,
    /// The causes whose flips are in the set.
    known_flips: Vec<u64>,
    child_places: Vec<u32>,
    flipped: Vec<u64>,
    /// Rows that are read together.
    scans: Vec<Scan<F, R>>,
    scratch: Vec<F>,
}

impl<F: Float, R: Rank> Work<F, R> {
    fn new(task: &Task<'_, F, R>) -> Work<F, R> {
        let h = task.layout.h;
        Work {
            row: Row::new(task.data.columns()),
            ways: Ways::new(task.layout),
            states: vec![0; task.s * task.words],
            joints: vec![0.0; task.s],
            hashes: vec![0; task.s],
            worst: 0,
            q: vec![0.0; task.s],
            counting: Vec::with_capacity(task.s * task.words),
            counting_q: Vec::with_capacity(task.s),
            marginals: Vec::with_capacity(h),
            active: vec![0.0; h],
            wishes: Wishes::default(),
            children: Vec::new(),
            child_joints: Vec::new(),
            child_hashes: Vec::new(),
            parents: Vec::new(),
            parent_joints: Vec::new(),
            flips: vec![0.0; h],
            scanned: false,
            in_star: false,
            first: vec![0; task.words],
            first_sum: 0.0,
            known_flips: vec![0; task.words],
            child_places: Vec::with_capacity(task.s),
            flipped: vec![0; task.words],
            scans: (0..TOGETHER).map(|_| Scan::new(task.layout, Row::new(task.data.columns()))).collect(),
            scratch: vec![F::ZERO; task.layout.width],
        }
    }

    /// The log-joints of `states`, without what is common to all states.
    fn score<const AVX2: bool>(
        task: &Task<'_, F, R>,
        row: &Row<F>,
        ways: &mut Ways<F, R>,
        states: &[u64],
        joints: &mut [f64],
    ) {
        ways.divide(task, states);
        let Ways { passes, walk, passed, passed_at, walked, walked_at, found, .. } = ways;
        if passed_at.is_empty() {
            walk.score(task.layout, row, states, task.words, joints);
        } else if walked_at.is_empty() {
            passes.score::<AVX2>(task.layout, row, states, joints);
        } else {
            found.resize(passed_at.len().max(walked_at.len()), 0.0);
            walk.score(task.layout, row, walked, task.words, &mut found[..walked_at.len()]);
            walked_at.iter().zip(&*found).for_each(|(at, found)| joints[*at as usize] = *found);
            passes.score::<AVX2>(task.layout, row, passed, &mut found[..passed_at.len()]);
            passed_at.iter().zip(&*found).for_each(|(at, found)| joints[*at as usize] = *found);
        }
        for (state, joint) in states.chunks_exact(task.words).zip(joints) {
            *joint += log_prior(&task.layout.log_odds, state);
        }
    }

    /// Reads a few rows. If all flips of their first states will be asked for, then they come first: many states of
    /// $\mathcal K^{(n)}$ are among them.
    fn scan_together<const AVX2: bool>(
        &mut self,
        task: &Task<'_, F, R>,
        job: Job,
        rows: Range<usize>,
        sets: &[u64],
        stars: &Stars<F>,
    ) {
        let wanted = task.flips_first && !task.fill && job == Job::EStep;
        for ((n, scan), set) in rows.clone().zip(&mut self.scans).zip(sets.chunks_exact(task.s * task.words)) {
            task.data.load(n, &mut scan.row);
            scan.state.copy_from_slice(&set[..task.words]);
            scan.wanted = wanted && stars.of_row(n).is_none() && !has_many(task, &scan.state);
            if scan.wanted {
                scan.prepare::<AVX2>(task.layout, &mut self.ways.passes);
            }
        }
        if wanted {
            add_causes::<AVX2, F, R>(task.layout, &mut self.scans[..rows.len()], &mut self.scratch);
        }
    }

    /// Makes a row of those that were read the present one.
    fn take_scan(&mut self, index: usize) {
        let scan = &mut self.scans[index];
        std::mem::swap(&mut self.row, &mut scan.row);
        std::mem::swap(&mut self.flips, &mut scan.flips);
        std::mem::swap(&mut self.first, &mut scan.state);
        (self.first_sum, self.scanned) = (scan.sum, scan.wanted);
    }

    /// Takes the sums of a star that the present row is in.
    fn take_star(&mut self, scores: Option<&Scores<&[F]>>) {
        self.in_star = scores.is_some();
        if let Some((sum, flips)) = scores.and_then(|scores| scores.flips.split_last()) {
            self.flips.iter_mut().zip(flips).for_each(|(to, flip)| *to = flip.f64());
            (self.first_sum, self.scanned) = (sum.f64(), true);
        }
    }

    /// Scores the states of $\mathcal K^{(n)}$ under the parameters as they are now.
    fn rescore<const AVX2: bool>(&mut self, task: &Task<'_, F, R>, others: Option<&[F]>, sums: &mut Sums) {
        let words = task.words;
        if self.scanned {
            sums.evaluations += task.layout.h as u64;
        }
        self.children.clear();
        self.child_places.clear();
        self.known_flips.fill(0);
        for (index, state) in self.states.chunks_exact(words).enumerate() {
            let known = if self.scanned { bits::distance(&self.first, state) } else { Distance::More };
            match known {
                Distance::None => self.joints[index] = self.first_sum,
                Distance::One(cause) => {
                    self.joints[index] = self.flips[cause];
                    bits::flip(&mut self.known_flips, cause);
                }
                Distance::More => match others {
                    Some(others) => {
                        self.joints[index] = others[index].f64();
                        sums.evaluations += 1;
                    }
                    None => {
                        self.children.extend_from_slice(state);
                        self.child_places.push(index as u32);
                        continue;
                    }
                },
            }
            self.joints[index] += log_prior(&task.layout.log_odds, state);
        }
        self.child_joints.clear();
        self.child_joints.resize(self.child_places.len(), 0.0);
        if !self.child_places.is_empty() {
            Work::score::<AVX2>(task, &self.row, &mut self.ways, &self.children, &mut self.child_joints);
        }
        for (place, joint) in self.child_places.iter().zip(&self.child_joints) {
            self.joints[*place as usize] = *joint;
        }
        sums.evaluations += self.child_places.len() as u64;
        self.hashes.clear();
        self.hashes.extend(self.states.chunks_exact(words).map(bits::hash));
        self.find_worst();
    }

    fn find_worst(&mut self) {
        self.worst = first_of(&self.joints, lowest(&self.joints));
    }

    /// Lets a state in, if it is new and better than the worst one, which leaves.
    fn offer(&mut self, words: usize, state: &[u64], joint: f64) -> bool {
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
    fn evolve<const AVX2: bool>(
        &mut self,
        task: &Task<'_, F, R>,
        random: &mut Random,
        neighbours: [&[u64]; 4],
        sums: &mut Sums,
    ) {
        if task.layout.h < 60 && task.s >= 1 << task.layout.h {
            // all states are there
            return;
        }
        self.find_marginals(task);
        for generation in 0..task.generations {
            let mut wishes = std::mem::take(&mut self.wishes);
            wishes.clear();
            let inherited = generation > 0 && !self.parent_joints.is_empty();
            let scene = Scene {
                h: task.layout.h,
                words: task.words,
                states: if inherited { &self.parents } else { &self.states },
                log_joints: if inherited { &self.parent_joints } else { &self.joints },
                known: &self.states,
                marginals: &self.marginals,
                expected: task.pi.iter().sum(),
                neighbours,
                generation,
            };
            for proposal in task.proposals {
                proposal.propose(&scene, random, &mut wishes);
            }
            self.parents.clear();
            self.parent_joints.clear();
            for parent in wishes.flips_of.chunks_exact(task.words) {
                self.offer_flips::<AVX2>(task, parent, sums);
            }
            self.offer_states::<AVX2>(task, &wishes.states, sums);
            self.wishes = wishes;
        }
    }

    /// Scores all states that differ by one cause from `parent`, and offers them.
    fn offer_flips<const AVX2: bool>(&mut self, task: &Task<'_, F, R>, parent: &[u64], sums: &mut Sums) {
        let mut flips = std::mem::take(&mut self.flips);
        let scanned = self.scanned && self.first == parent;
        if !scanned {
            if has_many(task, parent) {
                self.ways.walk.flips(task.layout, &self.row, parent, &mut flips);
            } else {
                self.ways.passes.flips::<AVX2>(task.layout, &self.row, parent, &mut flips);
            }
            sums.evaluations += task.layout.h as u64;
            // the flips of the first state are gone
            self.scanned = false;
        }
        let prior = log_prior(&task.layout.log_odds, parent);
        let mut flipped = std::mem::take(&mut self.flipped);
        flipped.copy_from_slice(parent);
        for (cause, sum) in flips.iter().enumerate() {
            let odds = task.layout.log_odds[cause];
            let joint = sum + prior + if bits::has(parent, cause) { -odds } else { odds };
            let known = scanned && bits::has(&self.known_flips, cause);
            if joint > self.joints[self.worst] && !known {
                bits::flip(&mut flipped, cause);
                if self.offer(task.words, &flipped, joint) {
                    sums.replaced += 1;
                    self.parents.extend_from_slice(&flipped);
                    self.parent_joints.push(joint);
                }
                bits::flip(&mut flipped, cause);
            }
        }
        self.flips = flips;
        self.flipped = flipped;
    }

    /// Scores the states that are new, and offers them.
    fn offer_states<const AVX2: bool>(&mut self, task: &Task<'_, F, R>, states: &[u64], sums: &mut Sums) {
        self.children.clear();
        self.child_hashes.clear();
        for state in states.chunks_exact(task.words) {
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
        Work::score::<AVX2>(task, &self.row, &mut self.ways, &self.children, &mut self.child_joints);
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
    fn best_first(&mut self, task: &Task<'_, F, R>) {
        let highest = self.joints.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let best = first_of(&self.joints, highest);
        self.joints.swap(0, best);
        for word in 0..task.words {
            self.states.swap(word, best * task.words + word);
        }
    }

    /// $q \propto p^\beta$ over $\mathcal K^{(n)}$, and $\mathcal F$ without what is common to all states; nothing if
    /// no state is possible.
    fn posterior(&mut self, task: &Task<'_, F, R>) -> Option<f64> {
        let max = self.joints.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !max.is_finite() {
            return None;
        }
        let mut total = 0.0;
        for (q, joint) in self.q.iter_mut().zip(&self.joints) {
            *q = exp_of_negative::<false>(task.beta * (joint - max));
            total += *q;
        }
        let mut mean = 0.0;
        for (q, joint) in self.q.iter_mut().zip(&self.joints) {
            *q /= total;
            if task.beta != 1.0 && *q > 1e-300 {
                mean += *q * (joint - max);
            }
        }
        // F = log sum p^beta + (1 - beta) E_q[log p]
        Some(libm::log(total) + max + (1.0 - task.beta) * mean)
    }

    /// $\mathbb E_q\lbrack s_h\rbrack $ of the causes that are active somewhere in $\mathcal K^{(n)}$.
    fn find_marginals(&mut self, task: &Task<'_, F, R>) {
        if !task.proposals.iter().any(|proposal| proposal.needs_marginals()) || self.posterior(task).is_none() {
            return;
        }
        for (state, q) in self.states.chunks_exact(task.words).zip(&self.q) {
            bits::each(state, |cause| self.active[cause] += q);
        }
        self.marginals.clear();
        for (cause, active) in self.active.iter_mut().enumerate() {
            if *active > 0.0 {
                self.marginals.push((cause as u32, *active));
                *active = 0.0;
            }
        }
    }

    /// Adds what this row gives to the sums.
    fn distribute<const AVX2: bool>(
        &mut self,
        task: &Task<'_, F, R>,
        weight: f64,
        given: &mut [Given<F>],
        sums: &mut Sums,
    ) {
        self.counting.clear();
        self.counting_q.clear();
        let in_star = !given.is_empty();
        let mut given_to = given.iter_mut();
        for ((state, q), place) in self.states.chunks_exact(task.words).zip(&self.q).zip(0..) {
            if *q > F::NEGLIGIBLE {
                let q = *q * weight;
                bits::each(state, |cause| sums.active[cause] += q);
                if in_star {
                    let number = match bits::distance(&self.first, state) {
                        Distance::None => task.layout.h,
                        Distance::One(cause) => cause,
                        Distance::More => task.layout.h + 1 + place,
                    };
                    if let Some(to) = given_to.next() {
                        *to = (number as u32, F::of(q));
                    }
                    continue;
                }
                self.counting.extend_from_slice(state);
                self.counting_q.push(q);
            }
        }
        if let Some(end) = given_to.next() {
            end.0 = END;
        }
        if in_star {
            return;
        }
        let (states, q) = (&self.counting, &self.counting_q);
        self.ways.divide(task, states);
        let Ways { passes, walk, passed, passed_at, walked, walked_at, found, .. } = &mut self.ways;
        if !walked_at.is_empty() {
            found.clear();
            found.extend(walked_at.iter().map(|at| q[*at as usize]));
            walk.distribute(task.layout, &self.row, walked, task.words, found, sums);
        }
        if !passed_at.is_empty() {
            found.clear();
            found.extend(passed_at.iter().map(|at| q[*at as usize]));
            passes.distribute::<AVX2>(task.layout, &self.row, passed, found);
            passes.flush(task.layout, sums, false);
        }
    }
}

/// The lowest of `values`, in lanes, because it is asked for often.
fn lowest(values: &[f64]) -> f64 {
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
fn first_of(values: &[f64], value: f64) -> usize {
    values.iter().position(|other| *other == value).unwrap_or(0)
}

/// Whether so many causes are active that columns are walked: then the winner is near.
pub(super) fn has_many<F, R>(task: &Task<'_, F, R>, state: &[u64]) -> bool {
    is_many(bits::count(state), task.layout.h)
}

/// Whether `active` causes of `h` are many.
pub(super) fn is_many(active: usize, h: usize) -> bool {
    active > MANY_ACTIVE && active * SPARSE > h
}

/// The two ways to look at states.
struct Ways<F, R> {
    passes: Passes<F, R>,
    walk: Walk<F>,
    /// States with few active causes, and where they were.
    passed: Vec<u64>,
    passed_at: Vec<u32>,
    /// States with many.
    walked: Vec<u64>,
    walked_at: Vec<u32>,
    found: Vec<f64>,
}

impl<F: Float, R: Rank> Ways<F, R> {
    fn new(layout: &Layout<F, R>) -> Ways<F, R> {
        Ways {
            passes: Passes::new(layout),
            walk: Walk::new(layout.h),
            passed: Vec::new(),
            passed_at: Vec::new(),
            walked: Vec::new(),
            walked_at: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Divides states into those with few and those with many active causes.
    fn divide(&mut self, task: &Task<'_, F, R>, states: &[u64]) {
        self.passed.clear();
        self.passed_at.clear();
        self.walked.clear();
        self.walked_at.clear();
        for (index, state) in states.chunks_exact(task.words).enumerate() {
            if has_many(task, state) {
                self.walked.extend_from_slice(state);
                self.walked_at.push(index as u32);
            } else {
                self.passed.extend_from_slice(state);
                self.passed_at.push(index as u32);
            }
        }
    }
}

/// $\log p(\vec s)$ without the log-prior of the empty state.
fn log_prior(log_odds: &[f64], state: &[u64]) -> f64 {
    let mut sum = 0.0;
    bits::each(state, |cause| sum += log_odds[cause]);
    sum
}
