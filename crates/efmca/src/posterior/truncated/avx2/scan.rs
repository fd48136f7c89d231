//! Two causes added to the states of two rows, all four sums in one pass.
//!
//! A pass over one cause and one row is bound by its loads: parameters, statistics, and what is best so far. With two
//! of each, a load serves two sums.

use std::arch::x86_64::*;

use super::lanes::{Lanes, load, load_ranks, total};
use super::{Avx2, Float, LANES, Rank, fits};
use crate::posterior::truncated::kernel::{Added, Base};

/// A cause and a row as this module takes them.
type Cause<'a, R> = (&'a [R], &'a [f32], &'a [f32]);
type Row<'a, R> = (&'a [f32], &'a [R], &'a [f32]);

/// The four sums over every fourth vector of eight columns, from vector `K` on: for each row with both causes.
///
/// Going over the columns once for each `K` keeps all that lives in 16 registers, and the order of additions is that of
/// the pass over one cause.
///
/// SAFETY: needs AVX2, and lengths that fit.
#[inline(always)]
unsafe fn every_fourth<R: Lanes, const TWO: bool, const K: usize>(
    causes: [Cause<'_, R>; 2],
    rows: [Row<'_, R>; 2],
) -> [__m256; 4] {
    let width = causes[0].0.len();
    let parts = R::VECTOR / 8;
    unsafe {
        let mut sums = [_mm256_setzero_ps(); 4];
        for group in (0..width).step_by(LANES) {
            let (at, column) = (group + K / parts * R::VECTOR, group + K * 8);
            let cause_ranks = [load_ranks(causes[0].0, at), load_ranks(causes[1].0, at)];
            for r in 0..2 {
                let (t, ranks, best) = rows[r];
                let (ranks, t_1) = (load_ranks(ranks, at), load(t, column));
                let best = load(best, column);
                for c in 0..2 {
                    let (_, eta, a) = causes[c];
                    let mut term = _mm256_mul_ps(load(eta, column), t_1);
                    if TWO {
                        term = _mm256_add_ps(term, _mm256_mul_ps(load(eta, width + column), load(t, width + column)));
                    }
                    term = _mm256_sub_ps(term, load(a, column));
                    let wins = R::mask(R::above(cause_ranks[c], ranks), K % parts);
                    sums[r * 2 + c] = _mm256_add_ps(sums[r * 2 + c], _mm256_blendv_ps(best, term, wins));
                }
            }
        }
        sums
    }
}

#[target_feature(enable = "avx2")]
fn scan_lanes<R: Lanes, const TWO: bool>(causes: [Cause<'_, R>; 2], rows: [Row<'_, R>; 2]) -> [f32; 4] {
    // SAFETY: AVX2 is enabled, and the callers checked the lengths
    unsafe {
        let sums = [
            every_fourth::<R, TWO, 0>(causes, rows),
            every_fourth::<R, TWO, 1>(causes, rows),
            every_fourth::<R, TWO, 2>(causes, rows),
            every_fourth::<R, TWO, 3>(causes, rows),
        ];
        std::array::from_fn(|pair| total([sums[0][pair], sums[1][pair], sums[2][pair], sums[3][pair]]))
    }
}

/// [`kernel::sums_with_two`](crate::posterior::truncated::kernel::sums_with_two), if the types are those of this module.
#[inline(always)]
pub(crate) fn sums_with_two<F: Float, R: Rank>(
    _: Avx2,
    causes: &[Added<'_, F, R>; 2],
    rows: &[Base<'_, F, R>; 2],
) -> Option<[F; 4]> {
    let width = causes[0].rank.len();
    let planes = causes[0].eta.len() / width.max(1);
    for cause in causes {
        if !fits(&[width, cause.rank.len(), cause.a.len()]) || cause.eta.len() != planes * width || planes > 2 {
            return None;
        }
    }
    for row in rows {
        if !fits(&[width, row.best_rank.len(), row.best_term.len()]) || row.t.len() != planes * width {
            return None;
        }
    }
    let [c, e] = causes;
    let [r, s] = rows;
    let causes = [(F::singles(c.eta)?, F::singles(c.a)?), (F::singles(e.eta)?, F::singles(e.a)?)];
    let rows = [(F::singles(r.t)?, F::singles(r.best_term)?), (F::singles(s.t)?, F::singles(s.best_term)?)];
    macro_rules! call {
        ($ranks:path) => {{
            let causes = [($ranks(c.rank)?, causes[0].0, causes[0].1), ($ranks(e.rank)?, causes[1].0, causes[1].1)];
            let rows = [(rows[0].0, $ranks(r.best_rank)?, rows[0].1), (rows[1].0, $ranks(s.best_rank)?, rows[1].1)];
            // SAFETY: there is a proof that the processor has AVX2
            unsafe {
                if planes == 1 { scan_lanes::<_, false>(causes, rows) } else { scan_lanes::<_, true>(causes, rows) }
            }
        }};
    }
    let sums = if R::bytes(c.rank).is_some() { call!(R::bytes) } else { call!(R::words) };
    Some(sums.map(F::of_single))
}
