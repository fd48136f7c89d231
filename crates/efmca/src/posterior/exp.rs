//! Many exponentials at once.

use multiversion::multiversion;
use multiversion::target::target_cfg_f;

use super::LANES;

/// $a b + c$ with one rounding where the processor has an instruction for it, and with two elsewhere: a fused
/// multiplication in software would be slower than everything around it.
#[inline(always)]
pub(super) fn multiply_add<const FUSED: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// Replaces the log-joints of `LANES` rows (one state after the other) by $e^{x - \text{max}}$, each lane with its own
/// maximum, and returns the sums of the lanes.
///
/// The exponentials are within 2 units in the last place of the exact ones; what is below $e^{-708}$ of the largest
/// becomes about $10^{-308}$ of it.
#[multiversion(targets("x86_64+avx2+fma", "x86_64+avx", "aarch64+neon"))]
pub(super) fn exp_in_place(joints: &mut [f64], max: &[f64; LANES]) -> [f64; LANES] {
    if target_cfg_f!(any(target_feature = "fma", target_arch = "aarch64")) {
        exp_lanes::<true>(joints, max)
    } else {
        exp_lanes::<false>(joints, max)
    }
}

#[inline(always)]
fn exp_lanes<const FUSED: bool>(joints: &mut [f64], max: &[f64; LANES]) -> [f64; LANES] {
    // A few lanes at a time: sums, maxima and coefficients then stay in registers.
    const FEW: usize = 8;
    let mut sums = [0.0; LANES];
    let (states, _) = joints.as_chunks_mut::<LANES>();
    for first in (0..LANES).step_by(FEW) {
        let few_max: [f64; FEW] = std::array::from_fn(|lane| max[first + lane]);
        let mut few_sums = [0.0; FEW];
        for state in states.iter_mut() {
            for lane in 0..FEW {
                let value = exp_of_negative::<FUSED>(state[first + lane] - few_max[lane]);
                state[first + lane] = value;
                few_sums[lane] += value;
            }
        }
        sums[first..first + FEW].copy_from_slice(&few_sums);
    }
    sums
}

/// $e^x$ for $-708 \le x \le 0$; smaller arguments count as $-708$.
#[inline(always)]
pub(super) fn exp_of_negative<const FUSED: bool>(x: f64) -> f64 {
    // 1.5 * 2^52: adding it rounds to a whole number and leaves that number in the low bits
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let x = if x > -708.0 { x } else { -708.0 };
    let rounded = multiply_add::<FUSED>(x, std::f64::consts::LOG2_E, ROUND);
    let power = rounded - ROUND;
    let r = multiply_add::<FUSED>(power, -LN_2_LOW, multiply_add::<FUSED>(power, -LN_2_HIGH, x));
    // In pairs rather than in one chain: the multiplications do not wait for each other.
    let pair = |i: usize| multiply_add::<FUSED>(EXP[i + 1], r, EXP[i]);
    let r2 = r * r;
    let r4 = r2 * r2;
    let low = multiply_add::<FUSED>(pair(2), r2, pair(0));
    let middle = multiply_add::<FUSED>(pair(6), r2, pair(4));
    let high = multiply_add::<FUSED>(pair(10), r2, pair(8));
    let series = multiply_add::<FUSED>(multiply_add::<FUSED>(high, r4, middle), r4, low);
    let scale = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
    series * scale
}

/// A polynomial of degree 11 that interpolates $e^r$ at the Chebyshev points of $|r| \le \frac12\log 2$; its error is
/// below $10^{-17}$.
const EXP: [f64; 12] = [
    1.0,
    1.0,
    0.5000000000000019,
    0.1666666666666668,
    0.04166666666648795,
    0.008333333333319589,
    0.0013888888952352863,
    0.00019841269890076403,
    2.4801485441561313e-05,
    2.755724088722987e-06,
    2.763265472252779e-07,
    2.5110049204818658e-08,
];
#[cfg(test)]
mod tests {
    use super::*;

    fn exp(x: f64) -> f64 {
        let mut joints = [x; LANES];
        exp_in_place(&mut joints, &[0.0; LANES]);
        joints[LANES - 1]
    }

    #[test]
    fn exponentials_are_exact_to_two_units_in_the_last_place() {
        let worst =
            (0..200_000).map(|i| -f64::from(i) * 0.003_539).map(|x| (exp(x) / x.exp() - 1.0).abs()).fold(0.0, f64::max);
        assert!(worst <= 2.0 * f64::EPSILON, "{worst:e}");
        assert_eq!(exp(0.0), 1.0);
    }

    #[test]
    fn impossible_states_get_nothing() {
        assert!(exp(f64::NEG_INFINITY) < 1e-300 && exp(-1e4) < 1e-300);
    }

    #[test]
    fn lanes_do_not_mix() {
        let mut joints: Vec<f64> = (0..3 * LANES).map(|i| -((i % 7) as f64)).collect();
        let max: [f64; LANES] = std::array::from_fn(|lane| lane as f64);
        let expected: Vec<f64> =
            (0..LANES).map(|lane| (0..3).map(|s| (joints[s * LANES + lane] - max[lane]).exp()).sum()).collect();
        let sums = exp_in_place(&mut joints, &max);
        assert!(sums.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-15 * b));
    }
}
