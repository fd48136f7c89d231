//! EVO: states evolve, as in Sec. 5.2.1 of the paper and in the EVO papers. Fitness, selection and variation are theirs.

use rand::RngExt;

use super::{Propose, Proposed, Random, RowContext};
use crate::posterior::truncated::states::bits;

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
    fn name(self) -> &'static str {
        match self {
            Selection::Fitness => "fitness",
            Selection::Uniform => "uniform",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Selection> {
        [Selection::Fitness, Selection::Uniform].into_iter().find(|selection| selection.name() == name)
    }

    /// Puts up to `count` different parents into `chosen`.
    pub(super) fn choose(self, row: &RowContext<'_>, count: usize, random: &mut Random, chosen: &mut Parents) {
        chosen.indices.clear();
        if count >= row.len() {
            chosen.indices.extend(0..row.len());
            return;
        }
        let lowest = row.log_joints.iter().copied().fold(0.0, f64::min);
        let fitness = |joint: &f64| match self {
            Selection::Fitness => joint - 2.0 * lowest,
            Selection::Uniform => 1.0,
        };
        let mut total = 0.0;
        chosen.cumulative.clear();
        chosen.cumulative.extend(row.log_joints.iter().map(|joint| {
            total += fitness(joint);
            total
        }));
        for _ in 0..count {
            // a parent that was chosen before is drawn again, which is the same as drawing among the others
            let draw = |random: &mut Random| {
                let at = random.random::<f64>() * total;
                chosen.cumulative.partition_point(|sum| *sum <= at).min(row.len() - 1)
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
                parent = (0..row.len()).find(|index| !chosen.indices.contains(index)).unwrap_or(parent);
            }
            chosen.indices.push(parent);
        }
    }
}

/// Draws before the first free parent is taken instead.
const MOST_REDRAWS: usize = 100;

/// Buffers for choosing parents.
#[derive(Debug, Default)]
pub(super) struct Parents {
    pub(super) indices: Vec<usize>,
    cumulative: Vec<f64>,
}

/// Evolution (EVO, Sec. 5.2.1; Drefs, Guiraud and Lücke, 2022): parents are chosen and varied.
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

impl Variation {
    fn spec(self) -> String {
        match self {
            Variation::RandomFlip => "random-flip".into(),
            Variation::SparseFlip { rate } => format!("sparse-flip,rate={rate}"),
            Variation::Crossover => "crossover".into(),
            Variation::CrossoverRandomFlip => "crossover-random-flip".into(),
            Variation::CrossoverSparseFlip { rate } => format!("crossover-sparse-flip,rate={rate}"),
        }
    }

    pub(super) fn from_name(name: &str, rate: Option<f64>) -> Option<Variation> {
        match (name, rate) {
            ("random-flip", None) => Some(Variation::RandomFlip),
            ("sparse-flip", Some(rate)) => Some(Variation::SparseFlip { rate }),
            ("crossover", None) => Some(Variation::Crossover),
            ("crossover-random-flip", None) => Some(Variation::CrossoverRandomFlip),
            ("crossover-sparse-flip", Some(rate)) => Some(Variation::CrossoverSparseFlip { rate }),
            _ => None,
        }
    }
}

impl Propose for Evolution {
    fn spec(&self) -> String {
        let Evolution { parents, children, selection, variation } = self;
        format!(
            "evolution:parents={parents},children={children},selection={},variation={}",
            selection.name(),
            variation.spec()
        )
    }

    fn propose(&self, row: &RowContext<'_>, random: &mut Random, proposed: &mut Proposed) {
        let mut parents = std::mem::take(&mut proposed.parents);
        self.selection.choose(row, self.parents, random, &mut parents);
        match self.variation {
            Variation::RandomFlip | Variation::SparseFlip { .. } => {
                for parent in &parents.indices {
                    self.mutate(row, row.words_of(*parent), random, proposed);
                }
            }
            _ => self.cross(row, &parents.indices, random, proposed),
        }
        proposed.parents = parents;
    }
}

impl Evolution {
    fn mutate(&self, row: &RowContext<'_>, parent: &[u64], random: &mut Random, proposed: &mut Proposed) {
        let first = proposed.states.len();
        for child in 0..self.children {
            match self.variation {
                Variation::SparseFlip { rate } => {
                    proposed.words(parent);
                    sparse_flip(row, rate, random, proposed.last(row.words));
                }
                _ if child < row.h => loop {
                    let h = random.random_range(0..row.h);
                    let mut used = proposed.states[first..].chunks_exact(row.words);
                    if !used.any(|sibling| bits::has(sibling, h) != bits::has(parent, h)) {
                        proposed.words(parent);
                        bits::flip(proposed.last(row.words), h);
                        break;
                    }
                },
                _ => {}
            }
        }
    }

    fn cross(&self, row: &RowContext<'_>, parents: &[usize], random: &mut Random, proposed: &mut Proposed) {
        if row.h < 2 {
            return;
        }
        for (index, a) in parents.iter().enumerate() {
            for b in &parents[index + 1..] {
                let cut = random.random_range(1..row.h);
                for (head, tail) in [(*a, *b), (*b, *a)] {
                    proposed.words(row.words_of(head));
                    let child = proposed.last(row.words);
                    for (index, (word, other)) in child.iter_mut().zip(row.words_of(tail)).enumerate() {
                        // bits from the cut on
                        let from = cut.saturating_sub(index * 64).min(64);
                        let mask = if from == 64 { 0 } else { u64::MAX << from };
                        *word = (*word & !mask) | (other & mask);
                    }
                    match self.variation {
                        Variation::CrossoverRandomFlip => bits::flip(child, random.random_range(0..row.h)),
                        Variation::CrossoverSparseFlip { rate } => sparse_flip(row, rate, random, child),
                        _ => {}
                    }
                }
            }
        }
    }
}

/// Flips bits so that `rate` $H$ flip on average and the number of active ones moves towards the prior's.
fn sparse_flip(row: &RowContext<'_>, rate: f64, random: &mut Random, state: &mut [u64]) {
    let (h, active) = (row.h as f64, bits::count(state) as f64);
    let (flips, missing) = (h * rate, row.expected - active);
    let (p_off, p_on) = if active == 0.0 || active == h {
        (rate, rate)
    } else {
        let alpha = ((h - active) * (flips - missing) / ((missing + flips) * active)).max(0.0);
        // more is missing than flips can mend: then all of them switch on
        let p_off = if missing + flips <= 0.0 { 0.0 } else { flips / (h + (alpha - 1.0) * active) };
        let p_on = if missing + flips <= 0.0 { flips / active } else { alpha * p_off };
        (p_off.clamp(0.0, 1.0), p_on.clamp(0.0, 1.0))
    };
    for cause in 0..row.h {
        let p = if bits::has(state, cause) { p_on } else { p_off };
        if random.random::<f64>() < p {
            bits::flip(state, cause);
        }
    }
}
