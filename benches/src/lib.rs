//! What the benchmarks share: models, data, and the naive evaluation that the kernel is compared with.

use efmca::family::family;
use efmca::internals::Tables;
use efmca::{Background, Model, Result};
use ndarray::{Array1, Array2};

/// A number in $[0, 1)$ that looks random, the same each time.
fn scrambled(i: usize, j: usize) -> f64 {
    let mut x = (i as u64) << 32 ^ j as u64 ^ 0x9e37_79b9_7f4a_7c15;
    for _ in 0..3 {
        x = (x ^ (x >> 31)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    }
    (x >> 11) as f64 / (1u64 << 53) as f64
}

/// A Poisson model with means between 0.5 and 8, in which `active` causes are expected.
pub fn model(h: usize, d: usize, active: f64) -> Result<Model> {
    let w = Array2::from_shape_fn((h, d), |(h, d)| 0.5 + 7.5 * scrambled(h, d).powi(3));
    let pi = Array1::from_elem(h, (active / h as f64).min(0.9));
    Model::new(family("poisson")?, pi, vec![w], Background::fixed(&[0.5]))
}

/// Different states with `active` causes each, as bits.
pub fn states(h: usize, count: usize, active: usize) -> Vec<u64> {
    let words = h.div_ceil(64);
    let mut states = vec![0u64; count * words];
    for (index, state) in states.chunks_exact_mut(words).enumerate() {
        // most causes are those of the first state, as in a set that has converged
        let mut found = 0;
        for i in 0.. {
            let seed = if found + 2 < active { 0 } else { index + 1 };
            let cause = (scrambled(seed, i) * h as f64) as usize;
            if state[cause / 64] >> (cause % 64) & 1 == 0 {
                state[cause / 64] |= 1 << (cause % 64);
                found += 1;
            }
            if found >= active {
                break;
            }
        }
    }
    states
}

/// The log-joint of a state the obvious way: for each column the strongest active cause, then its log-term.
pub fn naive(tables: &Tables, y: &[f64], state: &[u64]) -> f64 {
    let h = tables.log_odds.len();
    let active: Vec<usize> = (0..h).filter(|h| state[h / 64] >> (h % 64) & 1 == 1).collect();
    let prior: f64 = active.iter().map(|h| tables.log_odds[*h]).sum::<f64>() + tables.log_prior_empty;
    let column = |d: usize| {
        let winner = tables.winners.winner(active.iter().copied(), d);
        tables.eta[[winner, d]] * y[d] - tables.a[[winner, d]]
    };
    prior + (0..y.len()).map(column).sum::<f64>()
}
