//! Every vectorised function against its safe twin: the same bits for any size, for ties, and at the edges of the numbers.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::posterior::truncated::kernel;

/// Columns, in groups of [`LANES`], and planes of statistics.
const GROUPS: [usize; 5] = [0, 1, 2, 3, 13];
const PLANES: [usize; 3] = [1, 2, 3];
const SEEDS: u64 = 8;

/// Numbers and ranks that are drawn so that ties and edges are frequent.
struct Drawn(ChaCha8Rng);

impl Drawn {
    fn number<F: Float>(&mut self) -> F {
        let edges = [0.0, -0.0, 1.0, -1.0, 1e-40, -1e-40, 1e30, -1e30, f64::from(f32::MAX), f64::INFINITY];
        match self.0.random_range(0..4) {
            0 => F::of(edges[self.0.random_range(0..edges.len())]),
            _ => F::of(self.0.random_range(-50.0..50.0)),
        }
    }

    fn numbers<F: Float>(&mut self, count: usize) -> Vec<F> {
        (0..count).map(|_| self.number()).collect()
    }

    /// Ranks from `from` of eight different ones, so that one in eight is a tie.
    fn ranks<R: Rank>(&mut self, count: usize) -> Vec<R> {
        let from = if self.0.random_range(0..2) == 0 { 0 } else { R::COUNT - 8 };
        (0..count).map(|_| R::of(from + self.0.random_range(0..8))).collect()
    }
}

fn bits<F: Float>(numbers: &[F]) -> Vec<u64> {
    // which of two NaNs comes out of a sum of infinities is nobody's promise
    numbers.iter().map(|number| number.f64()).map(|x| if x.is_nan() { u64::MAX } else { x.to_bits() }).collect()
}

/// What `work` gives with the portable instructions and with the best ones of this processor, for all sizes.
fn same<T: PartialEq + std::fmt::Debug>(work: impl Fn(Instructions, &mut Drawn, usize, usize) -> T) {
    for seed in 0..SEEDS {
        for (groups, planes) in GROUPS.into_iter().flat_map(|groups| PLANES.map(|planes| (groups, planes))) {
            let of = |set: Instructions| work(set, &mut Drawn(ChaCha8Rng::seed_from_u64(seed)), groups * LANES, planes);
            let (portable, best) = (of(Instructions::Portable), of(Instructions::new(false)));
            assert_eq!(portable, best, "seed {seed}, {groups} groups, {planes} planes");
        }
    }
}

/// A test for each type of numbers and each width of ranks.
macro_rules! for_all_types {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                twins::$name::<f32, i8>();
                twins::$name::<f32, i16>();
                twins::$name::<f64, i8>();
                twins::$name::<f64, i16>();
            }
        )*
    };
}

for_all_types! {
    dot add_times log_terms mask_terms sum_with add_cause two_best sum_with_new sums_with_two raise_ranks share_out give_owned
}

mod twins {
    use super::*;

    pub(super) fn dot<F: Float, R: Rank>() {
        same(|set, drawn, width, _| {
            let (a, b) = (drawn.numbers::<F>(width), drawn.numbers::<F>(width));
            bits(&[kernel::dot(set, &a, &b)])
        });
    }

    pub(super) fn add_times<F: Float, R: Rank>() {
        same(|set, drawn, width, _| {
            let (factor, values, mut sums) = (drawn.number::<F>(), drawn.numbers(width), drawn.numbers(width));
            kernel::add_times(set, factor, &values, &mut sums);
            bits(&sums)
        });
    }

    pub(super) fn log_terms<F: Float, R: Rank>() {
        same(|set, drawn, width, planes| {
            let (eta, t) = (drawn.numbers::<F>(planes * width), drawn.numbers(planes * width));
            let (a, mut terms) = (drawn.numbers(width), drawn.numbers(width));
            // without columns there are no planes either
            if width > 0 {
                kernel::log_terms(set, &eta, &a, &t, &mut terms);
            }
            bits(&terms)
        });
    }

    pub(super) fn mask_terms<F: Float, R: Rank>() {
        same(|set, drawn, width, _| {
            let (present, mut terms) = (drawn.numbers::<F>(width), drawn.numbers(width));
            kernel::mask_terms(set, &present, &mut terms);
            bits(&terms)
        });
    }

    pub(super) fn sum_with<F: Float, R: Rank>() {
        same(|set, drawn, width, _| {
            let (rank, best_rank) = (drawn.ranks::<R>(width), drawn.ranks(width));
            let (term, best_term) = (drawn.numbers::<F>(width), drawn.numbers(width));
            bits(&[kernel::sum_with(set, &rank, &term, &best_rank, &best_term)])
        });
    }

    pub(super) fn add_cause<F: Float, R: Rank>() {
        same(|set, drawn, width, _| {
            let (rank, old_rank) = (drawn.ranks::<R>(width), drawn.ranks::<R>(width));
            let (term, old_term) = (drawn.numbers::<F>(width), drawn.numbers(width));
            let (mut new_rank, mut new_term) = (drawn.ranks(width), drawn.numbers(width));
            let sum = kernel::add_cause(set, &rank, &term, (&old_rank, &old_term), &mut new_rank, &mut new_term);
            (bits(&[sum]), new_rank, bits(&new_term))
        });
    }

    pub(super) fn two_best<F: Float, R: Rank>() {
        same(|set, drawn, width, _| {
            let (mut best_rank, mut second_rank) = (vec![R::LOWEST; width], vec![R::LOWEST; width]);
            let (mut best_term, mut second_term) = (drawn.numbers::<F>(width), drawn.numbers::<F>(width));
            let causes: Vec<(Vec<R>, Vec<F>)> = (0..4).map(|_| (drawn.ranks(width), drawn.numbers(width))).collect();
            let mut two = TwoBest {
                best_rank: &mut best_rank,
                best_term: &mut best_term,
                second_rank: &mut second_rank,
                second_term: &mut second_term,
            };
            causes.iter().for_each(|(rank, term)| two.add(set, rank, term));
            let without: Vec<F> = causes.iter().map(|(rank, _)| two.sum_without(set, rank)).collect();
            (bits(&without), best_rank, second_rank, bits(&best_term), bits(&second_term))
        });
    }

    pub(super) fn sum_with_new<F: Float, R: Rank>() {
        same(|set, drawn, width, planes| {
            let (rank, best_rank) = (drawn.ranks::<R>(width), drawn.ranks(width));
            let (eta, t) = (drawn.numbers::<F>(planes * width), drawn.numbers(planes * width));
            let (a, best_term, mut scratch) = (drawn.numbers(width), drawn.numbers(width), vec![F::ZERO; width]);
            if width == 0 {
                return Vec::new();
            }
            bits(&[kernel::sum_with_new(set, (&rank, &eta, &a), &t, &best_rank, &best_term, &mut scratch)])
        });
    }

    pub(super) fn sums_with_two<F: Float, R: Rank>() {
        same(|set, drawn, width, planes| {
            let mut cause = || (drawn.ranks::<R>(width), drawn.numbers::<F>(planes * width), drawn.numbers(width));
            let causes: [_; 2] = [cause(), cause()];
            let rows: [_; 2] = [cause(), cause()];
            if width == 0 {
                return Vec::new();
            }
            let added = [0, 1].map(|c| Added { rank: &causes[c].0, eta: &causes[c].1, a: &causes[c].2 });
            let bases = [0, 1].map(|r| Base { t: &rows[r].1, best_rank: &rows[r].0, best_term: &rows[r].2 });
            bits(&kernel::sums_with_two(set, &added, &bases, &mut vec![F::ZERO; width]))
        });
    }

    pub(super) fn raise_ranks<F: Float, R: Rank>() {
        same(|set, drawn, width, _| {
            let (rank, old, mut new) = (drawn.ranks::<R>(width), drawn.ranks(width), drawn.ranks(width));
            kernel::raise_ranks(set, &rank, &old, &mut new);
            new
        });
    }

    pub(super) fn share_out<F: Float, R: Rank>() {
        for (constant, missing) in [(true, false), (false, false), (true, true), (false, true)] {
            same(|set, drawn, width, planes| {
                let (rank, parent_rank) = (drawn.ranks::<R>(width), drawn.ranks(width));
                let (own, t) = (drawn.numbers::<F>(width), drawn.numbers(planes * width));
                let (mut sums, mut parent) = (drawn.numbers((planes + 1) * width), drawn.numbers(width));
                let present: Vec<F> = (0..width).map(|_| F::of(f64::from(drawn.0.random_range(0..2)))).collect();
                let present = missing.then_some(&present[..]);
                let share = Share { own: (!constant).then_some(&own[..]), extra: drawn.number(), t: &t, present };
                if width > 0 {
                    kernel::share_out(set, &rank, &parent_rank, &share, &mut sums, &mut parent);
                }
                (bits(&sums), bits(&parent))
            });
        }
    }

    pub(super) fn give_owned<F: Float, R: Rank>() {
        same(|set, drawn, width, planes| {
            let (rank, best_rank) = (drawn.ranks::<R>(width), drawn.ranks(width));
            let (weight, statistics) = (drawn.number::<F>(), drawn.numbers((planes + 1) * width));
            let mut sums = drawn.numbers((planes + 1) * width);
            if width > 0 {
                kernel::give_owned(set, &rank, &best_rank, Some(weight), &statistics[width..], &mut sums);
                kernel::give_owned(set, &rank, &best_rank, None, &statistics, &mut sums);
            }
            bits(&sums)
        });
    }
}

#[test]
fn lengths_that_do_not_fit_go_to_the_safe_twin() {
    // a whole group in one slice and not in the other: nothing is read beyond the shorter one
    let (a, b) = (vec![1.0f32; 2 * LANES], vec![2.0f32; LANES]);
    let of = |set: Instructions| kernel::dot(set, &a, &b);
    assert_eq!(of(Instructions::Portable), 2.0 * LANES as f32);
    assert_eq!(of(Instructions::new(false)), of(Instructions::Portable));
}

#[test]
fn portable_instructions_are_used_where_they_are_asked_for() {
    assert_eq!(Instructions::new(true), Instructions::Portable);
}
