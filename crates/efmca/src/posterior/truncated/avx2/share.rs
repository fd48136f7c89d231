//! The way back: what states own goes to the causes that own it.

use std::arch::x86_64::*;

use super::lanes::{Lanes, load, load_ranks, store};
use super::{Avx2, EIGHT, fits};
use crate::posterior::truncated::kernel::{Float, Rank, Share};

#[target_feature(enable = "avx2")]
fn give_owned_lanes<R: Lanes>(rank: &[R], best_rank: &[R], weight: Option<f32>, statistics: &[f32], sums: &mut [f32]) {
    let width = rank.len();
    // weights that differ are the first plane of statistics
    let shift = if weight.is_some() { width } else { 0 };
    // SAFETY: AVX2 is enabled, and the callers checked the lengths
    unsafe {
        let one = _mm256_set1_ps(weight.unwrap_or(0.0));
        for at in (0..width).step_by(R::VECTOR) {
            let owned = R::equal(load_ranks(rank, at), load_ranks(best_rank, at));
            for part in 0..R::VECTOR / EIGHT {
                let column = at + part * EIGHT;
                let mask = R::mask(owned, part);
                if weight.is_some() {
                    store(sums, column, _mm256_add_ps(load(sums, column), _mm256_and_ps(mask, one)));
                }
                for plane in (0..statistics.len()).step_by(width) {
                    let (from, to) = (plane + column, shift + plane + column);
                    store(sums, to, _mm256_add_ps(load(sums, to), _mm256_and_ps(mask, load(statistics, from))));
                }
            }
        }
    }
}

/// [`crate::posterior::truncated::kernel::give_owned`], if the types are those of this module.
#[inline(always)]
pub(in crate::posterior::truncated) fn give_owned<F: Float, R: Rank>(
    _: Avx2,
    rank: &[R],
    best_rank: &[R],
    weight: Option<F>,
    statistics: &[F],
    sums: &mut [F],
) -> Option<()> {
    let (statistics, sums) = (F::singles(statistics)?, F::singles_mut(sums)?);
    let (width, weight) = (rank.len(), weight.map(|weight| weight.f64() as f32));
    let shift = if weight.is_some() { width } else { 0 };
    if !fits(&[width, best_rank.len()])
        || !statistics.len().is_multiple_of(width)
        || sums.len() != shift + statistics.len()
    {
        return None;
    }
    // SAFETY: there is a proof that the processor has AVX2
    unsafe {
        match (R::bytes(rank), R::bytes(best_rank)) {
            (Some(rank), Some(best_rank)) => give_owned_lanes(rank, best_rank, weight, statistics, sums),
            _ => give_owned_lanes(R::words(rank)?, R::words(best_rank)?, weight, statistics, sums),
        }
    }
    Some(())
}

#[target_feature(enable = "avx2")]
fn share_out_lanes<R: Lanes, const CONSTANT: bool, const MISSING: bool>(
    rank: &[R],
    parent_rank: &[R],
    (own, extra, t, present): (&[f32], f32, &[f32], &[f32]),
    sums: &mut [f32],
    parent: &mut [f32],
) {
    let width = rank.len();
    // SAFETY: AVX2 is enabled, and the callers checked the lengths
    unsafe {
        let zero = _mm256_setzero_ps();
        let extra = _mm256_set1_ps(extra);
        for at in (0..width).step_by(R::VECTOR) {
            let wins = R::above(load_ranks(rank, at), load_ranks(parent_rank, at));
            for part in 0..R::VECTOR / EIGHT {
                let column = at + part * EIGHT;
                let whole = if CONSTANT { extra } else { _mm256_add_ps(extra, load(own, column)) };
                let mask = R::mask(wins, part);
                store(parent, column, _mm256_add_ps(load(parent, column), _mm256_blendv_ps(whole, zero, mask)));
                let mut given = _mm256_blendv_ps(zero, whole, mask);
                if MISSING {
                    let there = _mm256_cmp_ps::<_CMP_GT_OQ>(load(present, column), zero);
                    given = _mm256_and_ps(given, there);
                }
                store(sums, column, _mm256_add_ps(load(sums, column), given));
                for plane in (0..t.len()).step_by(width) {
                    let place = width + plane + column;
                    let product = _mm256_mul_ps(given, load(t, plane + column));
                    store(sums, place, _mm256_add_ps(load(sums, place), product));
                }
            }
        }
    }
}

/// [`crate::posterior::truncated::kernel::share_out`], if the types are those of this module.
#[inline(always)]
pub(in crate::posterior::truncated) fn share_out<F: Float, R: Rank>(
    _: Avx2,
    rank: &[R],
    parent_rank: &[R],
    share: &Share<'_, F>,
    sums: &mut [F],
    parent: &mut [F],
) -> Option<()> {
    let (sums, parent, t) = (F::singles_mut(sums)?, F::singles_mut(parent)?, F::singles(share.t)?);
    let (constant, missing) = (share.own.is_none(), share.present.is_some());
    let own = share.own.map_or(Some(&[][..]), F::singles)?;
    let present = share.present.map_or(Some(&[][..]), F::singles)?;
    let width = rank.len();
    let own_length = if constant { width } else { own.len() };
    let present_length = if missing { present.len() } else { width };
    if !fits(&[width, parent_rank.len(), own_length, present_length, parent.len()])
        || !t.len().is_multiple_of(width)
        || sums.len() != width + t.len()
    {
        return None;
    }
    let share = (own, share.extra.f64() as f32, t, present);
    macro_rules! call {
        ($ranks:path) => {{
            let (rank, above) = ($ranks(rank)?, $ranks(parent_rank)?);
            // SAFETY: there is a proof that the processor has AVX2
            unsafe {
                match (constant, missing) {
                    (true, false) => share_out_lanes::<_, true, false>(rank, above, share, sums, parent),
                    (false, false) => share_out_lanes::<_, false, false>(rank, above, share, sums, parent),
                    (true, true) => share_out_lanes::<_, true, true>(rank, above, share, sums, parent),
                    (false, true) => share_out_lanes::<_, false, true>(rank, above, share, sums, parent),
                }
            }
        }};
    }
    if R::bytes(rank).is_some() {
        call!(R::bytes)
    } else {
        call!(R::words)
    }
    Some(())
}
