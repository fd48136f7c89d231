//! The kernel for processors with AVX2, for `f32`.
//!
//! This is the one module with `unsafe` in it: loads and stores through pointers, and calls of functions that the
//! processor must support. Every function first checks that all slices have the same length, a multiple of [`LANES`].
#![allow(unsafe_code)]

mod lanes;
mod scan;
mod share;

use std::arch::x86_64::*;

use lanes::{Lanes, accumulator, load, load_ranks, store, store_ranks, total};
pub(super) use scan::sums_with_two;
pub(super) use share::{give_owned, share_out};

use crate::posterior::truncated::kernel::{self, Float, LANES, Rank, TwoBest};

/// Eight `f32` at a time.
const EIGHT: usize = 8;

/// The proof that this processor can run this module. Only [`Avx2::detect`] makes one, so that whoever holds it may call every function
/// here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// A proof, if the processor has AVX2.
    pub(super) fn detect() -> Option<Avx2> {
        is_x86_feature_detected!("avx2").then_some(Avx2(()))
    }
}

/// [`kernel::log_terms_twin`], compiled for AVX2.
#[target_feature(enable = "avx2")]
fn log_terms_wide<F: Float>(eta: &[F], a: &[F], t: &[F], terms: &mut [F]) {
    kernel::log_terms_twin(eta, a, t, terms);
}

/// [`kernel::log_terms`].
#[inline(always)]
pub(super) fn log_terms<F: Float>(_: Avx2, eta: &[F], a: &[F], t: &[F], terms: &mut [F]) {
    // SAFETY: there is a proof that the processor has AVX2
    unsafe { log_terms_wide(eta, a, t, terms) }
}

#[target_feature(enable = "avx2")]
fn dot_lanes(a: &[f32], b: &[f32]) -> f32 {
    // SAFETY: AVX2 is enabled, and the callers checked the lengths
    unsafe {
        let mut sums = [_mm256_setzero_ps(); 4];
        for group in (0..a.len()).step_by(LANES) {
            for column in (group..group + LANES).step_by(EIGHT) {
                let product = _mm256_mul_ps(load(a, column), load(b, column));
                sums[accumulator(column)] = _mm256_add_ps(sums[accumulator(column)], product);
            }
        }
        total(sums)
    }
}

/// [`kernel::dot`], if the types are those of this module.
#[inline(always)]
pub(super) fn dot<F: Float>(_: Avx2, a: &[F], b: &[F]) -> Option<F> {
    let (a, b) = (F::singles(a)?, F::singles(b)?);
    // SAFETY: there is a proof that the processor has AVX2
    fits(&[a.len(), b.len()]).then(|| F::of_single(unsafe { dot_lanes(a, b) }))
}

#[target_feature(enable = "avx2")]
fn mask_terms_lanes(present: &[f32], terms: &mut [f32]) {
    // SAFETY: AVX2 is enabled, and the callers checked the lengths
    unsafe {
        let zero = _mm256_setzero_ps();
        for column in (0..terms.len()).step_by(EIGHT) {
            let there = _mm256_cmp_ps::<_CMP_GT_OQ>(load(present, column), zero);
            store(terms, column, _mm256_and_ps(load(terms, column), there));
        }
    }
}

/// [`kernel::mask_terms`], if the types are those of this module.
#[inline(always)]
pub(super) fn mask_terms<F: Float>(_: Avx2, present: &[F], terms: &mut [F]) -> Option<()> {
    let (present, terms) = (F::singles(present)?, F::singles_mut(terms)?);
    // SAFETY: there is a proof that the processor has AVX2
    fits(&[present.len(), terms.len()]).then(|| unsafe { mask_terms_lanes(present, terms) })
}

/// [`kernel::add_times_twin`], compiled for AVX2.
#[target_feature(enable = "avx2")]
fn add_times_wide<F: Float>(factor: F, values: &[F], sums: &mut [F]) {
    kernel::add_times_twin(factor, values, sums);
}

/// [`kernel::add_times`].
#[inline(always)]
pub(super) fn add_times<F: Float>(_: Avx2, factor: F, values: &[F], sums: &mut [F]) {
    // SAFETY: there is a proof that the processor has AVX2
    unsafe { add_times_wide(factor, values, sums) }
}

/// [`kernel::raise_ranks_twin`], compiled for AVX2.
#[target_feature(enable = "avx2")]
fn raise_ranks_wide<R: Rank>(rank: &[R], old: &[R], new: &mut [R]) {
    kernel::raise_ranks_twin(rank, old, new);
}

/// [`kernel::raise_ranks`].
#[inline(always)]
pub(super) fn raise_ranks<R: Rank>(_: Avx2, rank: &[R], old: &[R], new: &mut [R]) {
    // SAFETY: there is a proof that the processor has AVX2
    unsafe { raise_ranks_wide(rank, old, new) }
}

/// Whether all lengths are the same whole number of groups, so that no pointer leaves its slice.
#[inline(always)]
fn fits(lengths: &[usize]) -> bool {
    lengths.iter().all(|length| *length == lengths[0]) && lengths[0].is_multiple_of(LANES)
}

#[target_feature(enable = "avx2")]
fn sum_with_lanes<R: Lanes>(rank: &[R], term: &[f32], best_rank: &[R], best_term: &[f32]) -> f32 {
    // SAFETY: AVX2 is enabled, and the callers checked the lengths
    unsafe {
        let mut sums = [_mm256_setzero_ps(); 4];
        for group in (0..rank.len()).step_by(LANES) {
            for at in (group..group + LANES).step_by(R::VECTOR) {
                let wins = R::above(load_ranks(rank, at), load_ranks(best_rank, at));
                for part in 0..R::VECTOR / EIGHT {
                    let column = at + part * EIGHT;
                    let value = _mm256_blendv_ps(load(best_term, column), load(term, column), R::mask(wins, part));
                    sums[accumulator(column)] = _mm256_add_ps(sums[accumulator(column)], value);
                }
            }
        }
        total(sums)
    }
}

#[target_feature(enable = "avx2")]
fn sum_without_lanes<R: Lanes>(rank: &[R], best_rank: &[R], best_term: &[f32], second_term: &[f32]) -> f32 {
    // SAFETY: AVX2 is enabled, and the callers checked the lengths
    unsafe {
        let mut sums = [_mm256_setzero_ps(); 4];
        for group in (0..rank.len()).step_by(LANES) {
            for at in (group..group + LANES).step_by(R::VECTOR) {
                let owned = R::equal(load_ranks(rank, at), load_ranks(best_rank, at));
                for part in 0..R::VECTOR / EIGHT {
                    let column = at + part * EIGHT;
                    let value =
                        _mm256_blendv_ps(load(best_term, column), load(second_term, column), R::mask(owned, part));
                    sums[accumulator(column)] = _mm256_add_ps(sums[accumulator(column)], value);
                }
            }
        }
        total(sums)
    }
}

#[target_feature(enable = "avx2")]
fn add_cause_lanes<R: Lanes>(
    rank: &[R],
    term: &[f32],
    old: (&[R], &[f32]),
    new_rank: &mut [R],
    new_term: &mut [f32],
) -> f32 {
    // SAFETY: AVX2 is enabled, and the callers checked the lengths
    unsafe {
        let mut sums = [_mm256_setzero_ps(); 4];
        for group in (0..rank.len()).step_by(LANES) {
            for at in (group..group + LANES).step_by(R::VECTOR) {
                let (mine, theirs) = (load_ranks(rank, at), load_ranks(old.0, at));
                let wins = R::above(mine, theirs);
                store_ranks(new_rank, at, R::upper(mine, theirs));
                for part in 0..R::VECTOR / EIGHT {
                    let column = at + part * EIGHT;
                    let value = _mm256_blendv_ps(load(old.1, column), load(term, column), R::mask(wins, part));
                    store(new_term, column, value);
                    sums[accumulator(column)] = _mm256_add_ps(sums[accumulator(column)], value);
                }
            }
        }
        total(sums)
    }
}

#[target_feature(enable = "avx2")]
fn two_best_lanes<R: Lanes>(best: (&mut [R], &mut [f32]), second: (&mut [R], &mut [f32]), rank: &[R], term: &[f32]) {
    // SAFETY: AVX2 is enabled, and the callers checked the lengths
    unsafe {
        for at in (0..rank.len()).step_by(R::VECTOR) {
            let (mine, theirs) = (load_ranks(rank, at), load_ranks(best.0, at));
            let first = R::above(mine, theirs);
            let left = R::lower(mine, theirs);
            let next_rank = load_ranks(second.0, at);
            let next = R::above(left, next_rank);
            store_ranks(best.0, at, R::upper(mine, theirs));
            store_ranks(second.0, at, R::upper(left, next_rank));
            for part in 0..R::VECTOR / EIGHT {
                let column = at + part * EIGHT;
                let (new, old) = (load(term, column), load(best.1, column));
                let is_first = R::mask(first, part);
                let left = _mm256_blendv_ps(new, old, is_first);
                store(best.1, column, _mm256_blendv_ps(old, new, is_first));
                let value = _mm256_blendv_ps(load(second.1, column), left, R::mask(next, part));
                store(second.1, column, value);
            }
        }
    }
}

#[target_feature(enable = "avx2")]
fn sum_with_new_lanes<R: Lanes, const TWO: bool>(
    rank: &[R],
    eta: &[f32],
    a: &[f32],
    t: &[f32],
    best_rank: &[R],
    best_term: &[f32],
) -> f32 {
    let width = rank.len();
    // SAFETY: AVX2 is enabled, and the callers checked the lengths
    unsafe {
        let mut sums = [_mm256_setzero_ps(); 4];
        for group in (0..width).step_by(LANES) {
            for at in (group..group + LANES).step_by(R::VECTOR) {
                let wins = R::above(load_ranks(rank, at), load_ranks(best_rank, at));
                for part in 0..R::VECTOR / EIGHT {
                    let column = at + part * EIGHT;
                    let mut term = _mm256_mul_ps(load(eta, column), load(t, column));
                    if TWO {
                        let second = _mm256_mul_ps(load(eta, width + column), load(t, width + column));
                        term = _mm256_add_ps(term, second);
                    }
                    term = _mm256_sub_ps(term, load(a, column));
                    let value = _mm256_blendv_ps(load(best_term, column), term, R::mask(wins, part));
                    sums[accumulator(column)] = _mm256_add_ps(sums[accumulator(column)], value);
                }
            }
        }
        total(sums)
    }
}

/// [`crate::posterior::truncated::kernel::sum_with_new`], if the types are those of this module.
#[inline(always)]
pub(super) fn sum_with_new<F: Float, R: Rank>(
    _: Avx2,
    cause: (&[R], &[F], &[F]),
    t: &[F],
    best_rank: &[R],
    best_term: &[F],
) -> Option<F> {
    let (rank, eta, a) = (cause.0, F::singles(cause.1)?, F::singles(cause.2)?);
    let (t, best_term) = (F::singles(t)?, F::singles(best_term)?);
    let planes = eta.len() / rank.len().max(1);
    let long = [eta.len(), t.len(), planes * rank.len()];
    if !fits(&[rank.len(), a.len(), best_rank.len(), best_term.len()]) || !fits(&long) || planes > 2 {
        return None;
    }
    // SAFETY: there is a proof that the processor has AVX2
    let sum = unsafe {
        match (R::bytes(rank), R::bytes(best_rank), planes) {
            (Some(rank), Some(best), 1) => sum_with_new_lanes::<i8, false>(rank, eta, a, t, best, best_term),
            (Some(rank), Some(best), _) => sum_with_new_lanes::<i8, true>(rank, eta, a, t, best, best_term),
            (_, _, 1) => sum_with_new_lanes::<i16, false>(R::words(rank)?, eta, a, t, R::words(best_rank)?, best_term),
            _ => sum_with_new_lanes::<i16, true>(R::words(rank)?, eta, a, t, R::words(best_rank)?, best_term),
        }
    };
    Some(F::of_single(sum))
}

/// [`crate::posterior::truncated::kernel::sum_with`], if the types are those of this module.
#[inline(always)]
pub(super) fn sum_with<F: Float, R: Rank>(
    _: Avx2,
    rank: &[R],
    term: &[F],
    best_rank: &[R],
    best_term: &[F],
) -> Option<F> {
    let (term, best_term) = (F::singles(term)?, F::singles(best_term)?);
    if !fits(&[rank.len(), term.len(), best_rank.len(), best_term.len()]) {
        return None;
    }
    // SAFETY: there is a proof that the processor has AVX2
    let sum = unsafe {
        match (R::bytes(rank), R::bytes(best_rank)) {
            (Some(rank), Some(best_rank)) => sum_with_lanes(rank, term, best_rank, best_term),
            _ => sum_with_lanes(R::words(rank)?, term, R::words(best_rank)?, best_term),
        }
    };
    Some(F::of_single(sum))
}

/// [`TwoBest::sum_without`], if the types are those of this module.
#[inline(always)]
pub(super) fn sum_without<F: Float, R: Rank>(
    _: Avx2,
    rank: &[R],
    best_rank: &[R],
    best_term: &[F],
    second_term: &[F],
) -> Option<F> {
    let (best_term, second_term) = (F::singles(best_term)?, F::singles(second_term)?);
    if !fits(&[rank.len(), best_rank.len(), best_term.len(), second_term.len()]) {
        return None;
    }
    // SAFETY: there is a proof that the processor has AVX2
    let sum = unsafe {
        match (R::bytes(rank), R::bytes(best_rank)) {
            (Some(rank), Some(best_rank)) => sum_without_lanes(rank, best_rank, best_term, second_term),
            _ => sum_without_lanes(R::words(rank)?, R::words(best_rank)?, best_term, second_term),
        }
    };
    Some(F::of_single(sum))
}

/// [`crate::posterior::truncated::kernel::add_cause`], if the types are those of this module.
#[inline(always)]
pub(super) fn add_cause<F: Float, R: Rank>(
    _: Avx2,
    rank: &[R],
    term: &[F],
    old: (&[R], &[F]),
    new_rank: &mut [R],
    new_term: &mut [F],
) -> Option<F> {
    let (term, old_term, new_term) = (F::singles(term)?, F::singles(old.1)?, F::singles_mut(new_term)?);
    if !fits(&[rank.len(), term.len(), old.0.len(), old_term.len(), new_rank.len(), new_term.len()]) {
        return None;
    }
    // SAFETY: there is a proof that the processor has AVX2
    let sum = unsafe {
        match (R::bytes(rank), R::bytes(old.0), R::bytes_mut(new_rank)) {
            (Some(rank), Some(old), Some(new)) => add_cause_lanes(rank, term, (old, old_term), new, new_term),
            _ => {
                add_cause_lanes(R::words(rank)?, term, (R::words(old.0)?, old_term), R::words_mut(new_rank)?, new_term)
            }
        }
    };
    Some(F::of_single(sum))
}

/// [`TwoBest::add`], if the types are those of this module.
#[inline(always)]
pub(super) fn add_to_two_best<F: Float, R: Rank>(
    _: Avx2,
    two: &mut TwoBest<'_, F, R>,
    rank: &[R],
    term: &[F],
) -> Option<()> {
    let term = F::singles(term)?;
    let (best_term, second_term) = (F::singles_mut(two.best_term)?, F::singles_mut(two.second_term)?);
    let ranks = [rank.len(), two.best_rank.len(), two.second_rank.len()];
    if !fits(&[ranks[0], ranks[1], ranks[2], term.len(), best_term.len(), second_term.len()]) {
        return None;
    }
    // SAFETY: there is a proof that the processor has AVX2
    unsafe {
        match (R::bytes(rank), R::bytes_mut(two.best_rank), R::bytes_mut(two.second_rank)) {
            (Some(rank), Some(best), Some(second)) => {
                two_best_lanes(((best), best_term), (second, second_term), rank, term);
            }
            _ => two_best_lanes(
                (R::words_mut(two.best_rank)?, best_term),
                (R::words_mut(two.second_rank)?, second_term),
                R::words(rank)?,
                term,
            ),
        }
    }
    Some(())
}
