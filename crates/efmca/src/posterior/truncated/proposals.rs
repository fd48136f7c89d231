//! Ways to propose states.

use std::fmt::Debug;

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::bits;

/// Random numbers of one row and iteration.
pub type Random = Xoshiro256PlusPlus;

/// A way to propose new states for a row.
///
/// It sees what is known about the row and makes wishes; what it wished for is scored, and what is better than the
/// worst state of $\mathcal K^{(n)}$ takes its place. Nothing that is proposed can lower the bound.
pub trait Propose: Debug + Send + Sync {
    /// Makes wishes for one row.
    fn propose(&self, scene: &Scene<'_>, random: &mut Random, wishes: &mut Wishes);

    /// Whether it asks for [`Wishes::flips_of`] the first of [`Scene::known`]. Most of the other states of
    /// $\mathcal K^{(n)}$ are among these, so that asking for them costs little.
    fn flips_first(&self) -> bool {
        false
    }

    /// Whether it looks at [`Scene::marginals`], which take time to find.
    fn needs_marginals(&self) -> bool {
        false
    }
}

/// What is known about a row when states are proposed for it.
#[derive(Debug)]
pub struct Scene<'a> {
    pub(super) h: usize,
    pub(super) words: usize,
    pub(super) states: &'a [u64],
    pub(super) log_joints: &'a [f64],
    pub(super) known: &'a [u64],
    pub(super) marginals: &'a [(u32, f64)],
    pub(super) expected: f64,
    pub(super) neighbours: [&'a [u64]; 4],
    pub(super) generation: usize,
}

impl Scene<'_> {
    /// $H$.
    pub fn h(&self) -> usize {
        self.h
    }

    /// The number of possible parents: the states of $\mathcal K^{(n)}$, or in later generations the children of the
    /// generation before.
    pub fn len(&self) -> usize {
        self.log_joints.len()
    }

    /// Whether there are no parents, which does not happen.
    pub fn is_empty(&self) -> bool {
        self.log_joints.is_empty()
    }

    /// A possible parent: bit $h \bmod 64$ of word $\lfloor h/64\rfloor$ is set where cause $h$ is active.
    pub fn state(&self, index: usize) -> &[u64] {
        &self.states[index * self.words..][..self.words]
    }

    /// Its log-joint, $\log p(\vec y^{(n)}, \vec s)$, up to a constant of the row.
    pub fn log_joint(&self, index: usize) -> f64 {
        self.log_joints[index]
    }

    /// The parent with the highest log-joint; the first of equals.
    pub fn best(&self) -> usize {
        let better =
            |best: usize, index: usize| if self.log_joints[index] > self.log_joints[best] { index } else { best };
        (1..self.len()).fold(0, better)
    }

    /// All states of $\mathcal K^{(n)}$; the first is the one that was best in the last E-step.
    pub fn known(&self) -> impl Iterator<Item = &[u64]> {
        self.known.chunks_exact(self.words)
    }

    /// The causes that are active in some state of $\mathcal K^{(n)}$, with $\mathbb E_{q^{(n)}}\lbrack s_h\rbrack $.
    pub fn marginals(&self) -> &[(u32, f64)] {
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

    /// The states of neighbouring rows (for patches of an image, those that overlap most); the best of each is first.
    pub fn neighbours(&self) -> impl Iterator<Item = (&[u64], usize)> {
        self.neighbours.iter().filter(|states| !states.is_empty()).map(|states| (*states, states.len() / self.words))
    }
}

/// What a proposal asks for.
#[derive(Debug, Default)]
pub struct Wishes {
    pub(super) states: Vec<u64>,
    pub(super) flips_of: Vec<u64>,
    parents: Parents,
}

impl Wishes {
    /// A state that may be a good one.
    pub fn state(&mut self, state: &[u64]) {
        self.states.extend_from_slice(state);
    }

    /// All $H$ states that differ from this one by one cause. They are scored together, in one pass over the table, which
    /// costs less than as many states that are scored one by one.
    pub fn flips_of(&mut self, state: &[u64]) {
        self.flips_of.extend_from_slice(state);
    }

    pub(super) fn clear(&mut self) {
        self.states.clear();
        self.flips_of.clear();
    }

    fn last(&mut self, words: usize) -> &mut [u64] {
        let start = self.states.len() - words;
        &mut self.states[start..]
    }
}

/// How parents are chosen, without replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Selection {
    /// With a probability proportional to their fitness, $\log p - 2\min(\min\log p, 0)$.
    Fitness,
    /// All with the same probability.
    Uniform,
}

impl Selection {
    /// Puts up to `count` different parents into `chosen`.
    fn choose(self, scene: &Scene<'_>, count: usize, random: &mut Random, chosen: &mut Parents) {
        chosen.indices.clear();
        if count >= scene.len() {
            chosen.indices.extend(0..scene.len());
            return;
        }
        let lowest = scene.log_joints.iter().copied().fold(0.0, f64::min);
        let fitness = |joint: &f64| match self {
            Selection::Fitness => joint - 2.0 * lowest,
            Selection::Uniform => 1.0,
        };
        let mut total = 0.0;
        chosen.cumulative.clear();
        chosen.cumulative.extend(scene.log_joints.iter().map(|joint| {
            total += fitness(joint);
            total
        }));
        for _ in 0..count {
            // a parent that was chosen before is drawn again, which is the same as drawing among the others
            let draw = |random: &mut Random| {
                let at = random.random::<f64>() * total;
                chosen.cumulative.partition_point(|sum| *sum <= at).min(scene.len() - 1)
            };
            let mut parent = draw(random);
            for _ in 0..MOST_REDRAWS {
                if !chosen.indices.contains(&parent) {
                    break;
                }
                parent = draw(random);
            }
            if chosen.indices.contains(&parent) {
                // all the weight is on those that are taken
                parent = (0..scene.len()).find(|index| !chosen.indices.contains(index)).unwrap_or(parent);
            }
            chosen.indices.push(parent);
        }
    }
}

/// Draws before the first free parent is taken instead.
const MOST_REDRAWS: usize = 100;

/// Buffers for choosing parents.
#[derive(Debug, Default)]
struct Parents {
    indices: Vec<usize>,
    cumulative: Vec<f64>,
}

/// Evolution as in the EVO papers (Drefs, Guiraud and Lücke, 2022): parents are chosen and varied.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evolution {
    /// Parents in each generation.
    pub parents: usize,
    /// Children of each parent; crossover makes a child for each ordered pair of parents instead.
    pub children: usize,
    /// How parents are chosen.
    pub selection: Selection,
    /// How children differ from them.
    pub variation: Variation,
}

/// How children differ from their parents.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Variation {
    /// One bit is flipped, a different one in each child of a parent.
    RandomFlip,
    /// Bits are flipped so that `rate` times $H$ of them flip on average and the number of active causes moves
    /// towards the one that the prior expects.
    SparseFlip {
        /// The share of bits that flip.
        rate: f64,
    },
    /// Pairs of parents exchange what comes after a random place.
    Crossover,
    /// Crossover, then one random flip.
    CrossoverRandomFlip,
    /// Crossover, then sparse flips.
    CrossoverSparseFlip {
        /// The share of bits that flip.
        rate: f64,
    },
}

impl Propose for Evolution {
    fn propose(&self, scene: &Scene<'_>, random: &mut Random, wishes: &mut Wishes) {
        let mut parents = std::mem::take(&mut wishes.parents);
        self.selection.choose(scene, self.parents, random, &mut parents);
        match self.variation {
            Variation::RandomFlip | Variation::SparseFlip { .. } => {
                for parent in &parents.indices {
                    self.mutate(scene, scene.state(*parent), random, wishes);
                }
            }
            _ => self.cross(scene, &parents.indices, random, wishes),
        }
        wishes.parents = parents;
    }
}

impl Evolution {
    fn mutate(&self, scene: &Scene<'_>, parent: &[u64], random: &mut Random, wishes: &mut Wishes) {
        let first = wishes.states.len();
        for child in 0..self.children {
            match self.variation {
                Variation::SparseFlip { rate } => {
                    wishes.state(parent);
                    sparse_flip(scene, rate, random, wishes.last(scene.words));
                }
                _ if child < scene.h => loop {
                    let h = random.random_range(0..scene.h);
                    let mut used = wishes.states[first..].chunks_exact(scene.words);
                    if !used.any(|sibling| bits::has(sibling, h) != bits::has(parent, h)) {
                        wishes.state(parent);
                        bits::flip(wishes.last(scene.words), h);
                        break;
                    }
                },
                _ => {}
            }
        }
    }

    fn cross(&self, scene: &Scene<'_>, parents: &[usize], random: &mut Random, wishes: &mut Wishes) {
        if scene.h < 2 {
            return;
        }
        for (index, a) in parents.iter().enumerate() {
            for b in &parents[index + 1..] {
                let cut = random.random_range(1..scene.h);
                for (head, tail) in [(*a, *b), (*b, *a)] {
                    wishes.state(scene.state(head));
                    let child = wishes.last(scene.words);
                    for (index, (word, other)) in child.iter_mut().zip(scene.state(tail)).enumerate() {
                        // bits from the cut on
                        let from = cut.saturating_sub(index * 64).min(64);
                        let mask = if from == 64 { 0 } else { u64::MAX << from };
                        *word = (*word & !mask) | (other & mask);
                    }
                    match self.variation {
                        Variation::CrossoverRandomFlip => bits::flip(child, random.random_range(0..scene.h)),
                        Variation::CrossoverSparseFlip { rate } => sparse_flip(scene, rate, random, child),
                        _ => {}
                    }
                }
            }
        }
    }
}

/// Flips bits so that `rate` $H$ flip on average and the number of active ones moves towards the prior's.
fn sparse_flip(scene: &Scene<'_>, rate: f64, random: &mut Random, state: &mut [u64]) {
    let (h, active) = (scene.h as f64, bits::count(state) as f64);
    let (flips, missing) = (h * rate, scene.expected - active);
    let (p_off, p_on) = if active == 0.0 || active == h {
        (rate, rate)
    } else {
        let alpha = ((h - active) * (flips - missing) / ((missing + flips) * active)).max(0.0);
        // more is missing than flips can mend: then all of them switch on
        let p_off = if missing + flips <= 0.0 { 0.0 } else { flips / (h + (alpha - 1.0) * active) };
        let p_on = if missing + flips <= 0.0 { flips / active } else { alpha * p_off };
        (p_off.clamp(0.0, 1.0), p_on.clamp(0.0, 1.0))
    };
    for cause in 0..scene.h {
        let p = if bits::has(state, cause) { p_on } else { p_off };
        if random.random::<f64>() < p {
            bits::flip(state, cause);
        }
    }
}

/// The best single cause to add or drop, found in one pass over all $H$: all states that differ by one cause from the
/// one that was best in the last E-step, and from some others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OneFlips {
    /// Parents: the state that was best in the last E-step (in later generations the best child), then randomly chosen
    /// ones.
    pub parents: usize,
}

impl Propose for OneFlips {
    fn flips_first(&self) -> bool {
        self.parents > 0
    }

    fn propose(&self, scene: &Scene<'_>, random: &mut Random, wishes: &mut Wishes) {
        if self.parents == 0 {
            return;
        }
        let first = if scene.generation == 0 { &scene.known[..scene.words] } else { scene.state(scene.best()) };
        wishes.flips_of(first);
        if self.parents > 1 {
            let mut parents = std::mem::take(&mut wishes.parents);
            Selection::Uniform.choose(scene, self.parents - 1, random, &mut parents);
            for parent in parents.indices.iter().filter(|parent| scene.state(**parent) != first) {
                wishes.flips_of(scene.state(*parent));
            }
            wishes.parents = parents;
        }
    }
}

/// States of neighbouring rows: the best of each, then random ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbours {
    /// States from each neighbour.
    pub each: usize,
}

impl Propose for Neighbours {
    fn propose(&self, scene: &Scene<'_>, random: &mut Random, wishes: &mut Wishes) {
        for (states, count) in scene.neighbours() {
            for index in 0..self.each {
                let chosen = if index == 0 { 0 } else { random.random_range(0..count) };
                wishes.state(&states[chosen * scene.words..][..scene.words]);
            }
        }
    }
}

/// Draws in which each cause is active with its posterior probability in this row, independently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marginals {
    /// Draws in each generation.
    pub draws: usize,
}

impl Propose for Marginals {
    fn needs_marginals(&self) -> bool {
        true
    }

    fn propose(&self, scene: &Scene<'_>, random: &mut Random, wishes: &mut Wishes) {
        for _ in 0..self.draws {
            let start = wishes.states.len();
            wishes.states.resize(start + scene.words, 0);
            for (cause, p) in scene.marginals() {
                if random.random::<f64>() < *p {
                    bits::flip(wishes.last(scene.words), *cause as usize);
                }
            }
        }
    }
}
