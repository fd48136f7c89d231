//! Posteriors times statistics: the second matrix product of the E-step.
//!
//! The general product of `matrixmultiply` repacks both factors for each block of rows; here the factors lie as the
//! kernel wants them from the start.

use multiversion::multiversion;
use multiversion::target::target_cfg_f;

use super::LANES;
use super::exp::multiply_add;

/// Columns that go together, and what the width of [`add_product`]'s factors is a multiple of.
pub(super) const COLUMNS: usize = 4;
/// States that go together.
const STATES: usize = 4;

/// Adds $q X$ to `sums`: `q` holds `LANES` rows for each state, `x` a line of `width` statistics for each of those rows,
/// `sums` a line of `width` for each state.
#[multiversion(targets("x86_64+avx2+fma", "x86_64+avx", "aarch64+neon"))]
pub(super) fn add_product(q: &[f64], x: &[f64], width: usize, sums: &mut [f64]) {
    if target_cfg_f!(any(target_feature = "fma", target_arch = "aarch64")) {
        add_blocks::<true>(q, x, width, sums)
    } else {
        add_blocks::<false>(q, x, width, sums)
    }
}

#[inline(always)]
fn add_blocks<const FUSED: bool>(q: &[f64], x: &[f64], width: usize, sums: &mut [f64]) {
    let (q, _) = q.as_chunks::<LANES>();
    let (q_blocks, q_rest) = q.as_chunks::<STATES>();
    let (blocks, rest) = sums.split_at_mut(q_blocks.len() * STATES * width);
    for (q, sums) in q_blocks.iter().zip(blocks.chunks_exact_mut(STATES * width)) {
        let mut column = 0;
        // two vectors of columns for four states keep eight sums, enough to hide the latency, in registers
        while column + 2 * COLUMNS <= width {
            add_tile::<FUSED, 2, STATES>(q, x, width, column, sums);
            column += 2 * COLUMNS;
        }
        if column < width {
            add_tile::<FUSED, 1, STATES>(q, x, width, column, sums);
        }
    }
    for (q, sums) in q_rest.iter().zip(rest.chunks_exact_mut(width)) {
        for column in (0..width).step_by(COLUMNS) {
            add_tile::<FUSED, 1, 1>(std::array::from_ref(q), x, width, column, sums);
        }
    }
}

/// `V` vectors of columns for `S` states.
#[inline(always)]
fn add_tile<const FUSED: bool, const V: usize, const S: usize>(
    q: &[[f64; LANES]; S],
    x: &[f64],
    width: usize,
    column: usize,
    sums: &mut [f64],
) {
    let mut tile = [[[0.0; COLUMNS]; V]; S];
    for lane in 0..LANES {
        let (x, _) = x[lane * width + column..][..V * COLUMNS].as_chunks::<COLUMNS>();
        for s in 0..S {
            let q = q[s][lane];
            for v in 0..V {
                for c in 0..COLUMNS {
                    tile[s][v][c] = multiply_add::<FUSED>(q, x[v][c], tile[s][v][c]);
                }
            }
        }
    }
    for s in 0..S {
        let sums = &mut sums[s * width + column..][..V * COLUMNS];
        for (sum, value) in sums.iter_mut().zip(tile[s].as_flattened()) {
            *sum += value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_matrix_product() {
        for (states, width) in [(1, 4), (2, 8), (4, 12), (8, 28), (16, 20), (6, 16)] {
            let q: Vec<f64> = (0..states * LANES).map(|i| ((i * 7919) % 101) as f64 / 101.0).collect();
            let x: Vec<f64> = (0..LANES * width).map(|i| ((i * 104729) % 97) as f64 - 48.0).collect();
            let mut sums = vec![1.0; states * width];
            add_product(&q, &x, width, &mut sums);
            for s in 0..states {
                for k in 0..width {
                    let expected: f64 = 1.0 + (0..LANES).map(|n| q[s * LANES + n] * x[n * width + k]).sum::<f64>();
                    assert!((sums[s * width + k] - expected).abs() < 1e-12, "{states} {width} {s} {k}");
                }
            }
        }
    }
}
