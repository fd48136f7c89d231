//! The numbers and ranks that the kernel works with.

use std::ops::AddAssign;

/// The numbers that the kernel works with.
pub(crate) trait Float:
    ndarray::LinalgScalar + PartialOrd + AddAssign + std::fmt::Debug + Send + Sync + 'static
{
    const ZERO: Self;
    const ONE: Self;
    /// Marks a missing value.
    const MISSING: Self;
    /// States with less posterior probability than this add nothing that the rounding of the others leaves visible.
    const NEGLIGIBLE: f64;
    /// Whether ranks are stored in the order that [`crate::posterior::truncated::avx2`] wants.
    const INTERLEAVED: bool;
    /// The nearest number of this type, kept away from where sums overflow.
    fn of(value: f64) -> Self;
    fn f64(self) -> f64;
    fn is_missing(self) -> bool;
    fn of_single(value: f32) -> Self;
    /// `yes` where `take` is -1, `no` where it is 0: without a branch, for many at once.
    fn blend(take: i8, yes: Self, no: Self) -> Self;
    /// The same numbers, if they are `f32`.
    fn singles(values: &[Self]) -> Option<&[f32]>;
    fn singles_mut(values: &mut [Self]) -> Option<&mut [f32]>;
}

macro_rules! float {
    ($type:ty, $signed:ty, $bits:ty, $negligible:expr, $limit:expr, $interleaved:expr, |$values:ident| $singles:expr) => {
        impl Float for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const MISSING: Self = <$type>::NAN;
            const NEGLIGIBLE: f64 = $negligible;
            const INTERLEAVED: bool = $interleaved;
            #[inline(always)]
            fn of(value: f64) -> Self {
                value.clamp(-$limit, $limit) as $type
            }
            #[inline(always)]
            fn f64(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn is_missing(self) -> bool {
                self.is_nan()
            }
            #[inline(always)]
            fn of_single(value: f32) -> Self {
                <$type>::from(value)
            }
            #[inline(always)]
            fn blend(take: i8, yes: Self, no: Self) -> Self {
                let mask = <$signed>::from(take) as $bits;
                <$type>::from_bits((yes.to_bits() & mask) | (no.to_bits() & !mask))
            }
            #[inline(always)]
            fn singles($values: &[Self]) -> Option<&[f32]> {
                $singles
            }
            #[inline(always)]
            fn singles_mut($values: &mut [Self]) -> Option<&mut [f32]> {
                $singles
            }
        }
    };
}
float!(f32, i32, u32, 1e-9, 1e18, cfg!(target_arch = "x86_64"), |values| Some(values));
float!(f64, i64, u64, 1e-18, 1e150, false, |_values| None);

/// The place of a cause in the order of strength of a column: the weakest comes first.
pub(crate) trait Rank: Copy + Ord + std::fmt::Debug + Send + Sync + 'static {
    /// The weakest.
    const LOWEST: Self;
    /// How many ranks there are.
    const COUNT: usize;
    fn of(place: usize) -> Self;
    /// -1 if this rank is higher, else 0.
    fn higher(self, than: Self) -> i8;
    /// -1 if the two are the same, else 0.
    fn same(self, other: Self) -> i8;
    /// The same ranks, if they are bytes.
    fn bytes(values: &[Self]) -> Option<&[i8]>;
    fn bytes_mut(values: &mut [Self]) -> Option<&mut [i8]>;
    /// The same ranks, if they are words.
    fn words(values: &[Self]) -> Option<&[i16]>;
    fn words_mut(values: &mut [Self]) -> Option<&mut [i16]>;
}

macro_rules! rank {
    ($type:ty, |$values:ident| $bytes:expr, $words:expr) => {
        // signed, because AVX2 compares signed integers only
        impl Rank for $type {
            const LOWEST: Self = <$type>::MIN;
            const COUNT: usize = 1 << <$type>::BITS;
            #[inline(always)]
            fn of(place: usize) -> Self {
                (place as i64 + i64::from(<$type>::MIN)) as $type
            }
            #[inline(always)]
            fn higher(self, than: Self) -> i8 {
                -i8::from(self > than)
            }
            #[inline(always)]
            fn same(self, other: Self) -> i8 {
                -i8::from(self == other)
            }
            #[inline(always)]
            fn bytes($values: &[Self]) -> Option<&[i8]> {
                $bytes
            }
            #[inline(always)]
            fn bytes_mut($values: &mut [Self]) -> Option<&mut [i8]> {
                $bytes
            }
            #[inline(always)]
            fn words($values: &[Self]) -> Option<&[i16]> {
                $words
            }
            #[inline(always)]
            fn words_mut($values: &mut [Self]) -> Option<&mut [i16]> {
                $words
            }
        }
    };
}
rank!(i8, |_values| Some(_values), None);
rank!(i16, |_values| None, Some(_values));

/// Where the rank of a column is stored: in place, or, for [`crate::posterior::truncated::avx2`], so that the ranks of columns 0, 8, 16 and 24 of
/// a group are the four bytes of one 32-bit lane (of 0 and 8, the two words). A comparison of ranks then becomes the mask
/// for eight numbers by a shift.
#[inline(always)]
pub(in crate::posterior::truncated) fn place<F: Float, R: Rank>(column: usize) -> usize {
    if !F::INTERLEAVED {
        return column;
    }
    let ratio = 4 / size_of::<R>();
    let group = 8 * ratio;
    let inside = column % group;
    column - inside + inside % 8 * ratio + inside / 8
}
