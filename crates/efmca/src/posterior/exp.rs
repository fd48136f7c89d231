//! Many exponentials at once.

use multiversion::multiversion;

use super::LANES;

/// Replaces the log-joints of `LANES` rows (one state after the other) by $e^{x - \text{max}}$, each lane with its own
/// maximum, and returns the sums of the lanes.
///
/// The exponentials are within 2 units in the last place of the exact ones; what is below $e^{-708}$ of the largest
/// becomes about $10^{-308}$ of it. Only additions and multiplications are used, in a fixed order, so that the bits
/// do not depend on the instruction set.
#[multiversion(targets("x86_64+avx2", "x86_64+avx", "aarch64+neon"))]
pub(super) fn exp_in_place(joints: &mut [f64], max: &[f64; LANES]) -> [f64; LANES] {
    let mut sums = [0.0; LANES];
    let (states, _) = joints.as_chunks_mut::<LANES>();
    for state in states {
        for lane in 0..LANES {
            state[lane] = exp_of_negative(state[lane] - max[lane]);
        }
        for lane in 0..LANES {
            sums[lane] += state[lane];
        }
    }
    sums
}

/// $e^x$ for $-708 \le x \le 0$; smaller arguments count as $-708$.
#[inline(always)]
fn exp_of_negative(x: f64) -> f64 {
    // 1.5 * 2^52: adding it rounds to a whole number and leaves that number in the low bits
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    // 1/k!
    const C: [f64; 14] = [
        1.0,
        1.0,
        1.0 / 2.0,
        1.0 / 6.0,
        1.0 / 24.0,
        1.0 / 120.0,
        1.0 / 720.0,
        1.0 / 5040.0,
        1.0 / 40320.0,
        1.0 / 362_880.0,
        1.0 / 3_628_800.0,
        1.0 / 39_916_800.0,
        1.0 / 479_001_600.0,
        1.0 / 6_227_020_800.0,
    ];
    let x = if x > -708.0 { x } else { -708.0 };
    let rounded = x * std::f64::consts::LOG2_E + ROUND;
    let power = rounded - ROUND;
    let r = (x - power * LN_2_HIGH) - power * LN_2_LOW;
    // Pairs and quadruples instead of one chain: the additions do not wait for each other.
    let r2 = r * r;
    let r4 = r2 * r2;
    let r8 = r4 * r4;
    let low = (C[0] + C[1] * r) + (C[2] + C[3] * r) * r2;
    let middle = (C[4] + C[5] * r) + (C[6] + C[7] * r) * r2;
    let high = (C[8] + C[9] * r) + (C[10] + C[11] * r) * r2;
    let top = C[12] + C[13] * r;
    let polynomial = (low + middle * r4) + (high + top * r4) * r8;
    let scale = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
    polynomial * scale
}

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
        let worst = (0..200_000)
            .map(|i| -f64::from(i) * 0.003_539)
            .map(|x| (exp(x) / x.exp() - 1.0).abs())
            .fold(0.0, f64::max);
        assert!(worst < 2.0 * f64::EPSILON, "{worst:e}");
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
