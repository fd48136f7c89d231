//! Vectors of 32 bytes: ranks of one width, numbers, and sums over them.

use std::arch::x86_64::*;

use super::EIGHT;
use crate::posterior::truncated::kernel::Rank;

/// Ranks of one width: how they are compared, and how a comparison becomes masks.
pub(super) trait Lanes: Rank {
    /// Ranks in a vector of 32 bytes, which are those of as many columns.
    const VECTOR: usize = 32 / size_of::<Self>();
    /// SAFETY: needs AVX2.
    unsafe fn above(a: __m256i, b: __m256i) -> __m256i;
    /// SAFETY: needs AVX2.
    unsafe fn equal(a: __m256i, b: __m256i) -> __m256i;
    /// SAFETY: needs AVX2.
    unsafe fn upper(a: __m256i, b: __m256i) -> __m256i;
    /// SAFETY: needs AVX2.
    unsafe fn lower(a: __m256i, b: __m256i) -> __m256i;
    /// The comparison for the columns of `part`, one in each 32-bit lane.
    ///
    /// SAFETY: needs AVX2.
    unsafe fn mask(compared: __m256i, part: usize) -> __m256;
}

impl Lanes for i8 {
    #[inline(always)]
    unsafe fn above(a: __m256i, b: __m256i) -> __m256i {
        unsafe { _mm256_cmpgt_epi8(a, b) }
    }
    #[inline(always)]
    unsafe fn equal(a: __m256i, b: __m256i) -> __m256i {
        unsafe { _mm256_cmpeq_epi8(a, b) }
    }
    #[inline(always)]
    unsafe fn upper(a: __m256i, b: __m256i) -> __m256i {
        unsafe { _mm256_max_epi8(a, b) }
    }
    #[inline(always)]
    unsafe fn lower(a: __m256i, b: __m256i) -> __m256i {
        unsafe { _mm256_min_epi8(a, b) }
    }
    #[inline(always)]
    unsafe fn mask(compared: __m256i, part: usize) -> __m256 {
        unsafe {
            // byte `part` of each 32-bit lane to all its bytes; a shift would do, but the compiler makes two instructions of it
            let [a, b, c, d] = std::array::from_fn(|lane| 0x0101_0101 * (4 * lane as i32 + part as i32));
            _mm256_castsi256_ps(_mm256_shuffle_epi8(compared, _mm256_setr_epi32(a, b, c, d, a, b, c, d)))
        }
    }
}

impl Lanes for i16 {
    #[inline(always)]
    unsafe fn above(a: __m256i, b: __m256i) -> __m256i {
        unsafe { _mm256_cmpgt_epi16(a, b) }
    }
    #[inline(always)]
    unsafe fn equal(a: __m256i, b: __m256i) -> __m256i {
        unsafe { _mm256_cmpeq_epi16(a, b) }
    }
    #[inline(always)]
    unsafe fn upper(a: __m256i, b: __m256i) -> __m256i {
        unsafe { _mm256_max_epi16(a, b) }
    }
    #[inline(always)]
    unsafe fn lower(a: __m256i, b: __m256i) -> __m256i {
        unsafe { _mm256_min_epi16(a, b) }
    }
    #[inline(always)]
    unsafe fn mask(compared: __m256i, part: usize) -> __m256 {
        unsafe {
            // word `part` of each 32-bit lane to both its words
            _mm256_castsi256_ps(match part {
                0 => _mm256_srai_epi32::<16>(_mm256_slli_epi32::<16>(compared)),
                _ => _mm256_srai_epi32::<16>(compared),
            })
        }
    }
}

/// SAFETY: needs AVX2, and `at + R::VECTOR` ranks in the slice.
#[inline(always)]
pub(super) unsafe fn load_ranks<R: Lanes>(ranks: &[R], at: usize) -> __m256i {
    unsafe { _mm256_loadu_si256(ranks.as_ptr().add(at).cast()) }
}

/// SAFETY: needs AVX2, and `at + R::VECTOR` ranks in the slice.
#[inline(always)]
pub(super) unsafe fn store_ranks<R: Lanes>(ranks: &mut [R], at: usize, values: __m256i) {
    unsafe { _mm256_storeu_si256(ranks.as_mut_ptr().add(at).cast(), values) }
}

/// SAFETY: needs AVX2, and `at + 8` numbers in the slice.
#[inline(always)]
pub(super) unsafe fn load(numbers: &[f32], at: usize) -> __m256 {
    unsafe { _mm256_loadu_ps(numbers.as_ptr().add(at)) }
}

/// SAFETY: needs AVX2, and `at + 8` numbers in the slice.
#[inline(always)]
pub(super) unsafe fn store(numbers: &mut [f32], at: usize, values: __m256) {
    unsafe { _mm256_storeu_ps(numbers.as_mut_ptr().add(at), values) }
}

/// The sum over the 32 lanes of four accumulators, by halves, as in the safe twin.
///
/// SAFETY: needs AVX2.
#[inline(always)]
pub(super) unsafe fn total(sums: [__m256; 4]) -> f32 {
    unsafe {
        let eight = _mm256_add_ps(_mm256_add_ps(sums[0], sums[2]), _mm256_add_ps(sums[1], sums[3]));
        let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
    }
}

/// Which accumulator the columns from `column` on go to.
#[inline(always)]
pub(super) fn accumulator(column: usize) -> usize {
    column / EIGHT % 4
}
