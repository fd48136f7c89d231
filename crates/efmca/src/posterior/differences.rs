//! The log-joints of all states, each from the state without its highest cause.
//!
//! Switching a cause on changes the columns that it wins and no others. With $k$ causes active it wins about one column
//! in $k+1$, so all $2^H$ states together cost about $2\cdot 2^H D/(H+1)$ multiplications instead of the $2^H D$ of
//! the full product of statistics and natural parameters.

use multiversion::multiversion;
use multiversion::target::target_cfg_f;

use super::exp::multiply_add;
use super::{LANES, States};
use crate::model::{Columns, Tables};

/// How each state's log-joint differs from that of the state without its highest cause.
#[derive(Debug, Clone)]
pub(super) struct Differences {
    /// The log-joint of the empty state: coefficients of the statistics (and of the mask, if there is one).
    empty: Vec<f64>,
    /// For each state, what does not depend on the row.
    offset: Vec<f64>,
    /// The differences of state $i$ are `changes[start[i]..start[i + 1]]`.
    start: Vec<usize>,
    changes: Vec<Change>,
}

/// `by` times the statistic in row `row` of the block is added.
#[derive(Debug, Clone, Copy)]
struct Change {
    row: usize,
    by: f64,
}

impl Differences {
    /// With `masked`, the rows $K, K+1, \ldots$ of a block tell which values are there, and each takes its own share of
    /// $-A$; without, $-\sum_d A$ is one number.
    pub(super) fn new(columns: &Columns, tables: &Tables, states: &States, masked: bool) -> Differences {
        let (k, d) = (columns.k(), columns.d());
        let mut differences = Differences {
            empty: states.eta(tables, 0, columns),
            offset: Vec::with_capacity(states.count()),
            start: vec![0, 0],
            changes: Vec::new(),
        };
        let mut offset = tables.log_prior_empty;
        for column in 0..d {
            let a = states.a(tables, 0, column, d);
            if masked { differences.empty.push(-a) } else { offset -= a }
        }
        differences.offset.push(offset);
        for state in 1..states.count() {
            let highest = state.ilog2() as usize;
            let mut offset = tables.log_odds[highest];
            states.each_change(tables, columns, state, state - (1 << highest), |column, span, eta, a| {
                for (row, by) in span.zip(eta) {
                    differences.changes.push(Change { row, by: *by });
                }
                if masked { differences.changes.push(Change { row: k + column, by: -a }) } else { offset -= a }
            });
            differences.offset.push(offset);
            differences.start.push(differences.changes.len());
        }
        differences
    }

    /// The log-joints of a block of rows, one state after the other, and the maximum for each row.
    ///
    /// `block` holds the statistics, one after the other, each for all rows.
    pub(super) fn log_joints(&self, block: &[f64], joints: &mut [f64]) -> [f64; LANES] {
        score(self, block, joints)
    }
}

#[multiversion(targets("x86_64+avx2+fma", "x86_64+avx", "aarch64+neon"))]
fn score(differences: &Differences, block: &[f64], joints: &mut [f64]) -> [f64; LANES] {
    if target_cfg_f!(any(target_feature = "fma", target_arch = "aarch64")) {
        score_lanes::<true>(differences, block, joints)
    } else {
        score_lanes::<false>(differences, block, joints)
    }
}

#[inline(always)]
fn score_lanes<const FUSED: bool>(differences: &Differences, block: &[f64], joints: &mut [f64]) -> [f64; LANES] {
    let (block, _) = block.as_chunks::<LANES>();
    let (joints, _) = joints.as_chunks_mut::<LANES>();
    let mut sum = [differences.offset[0]; LANES];
    for (by, statistic) in differences.empty.iter().zip(block) {
        for lane in 0..LANES {
            sum[lane] = multiply_add::<FUSED>(*by, statistic[lane], sum[lane]);
        }
    }
    joints[0] = sum;
    let mut max = sum;
    for state in 1..joints.len() {
        let mut sum = joints[state - (1 << state.ilog2())];
        let offset = differences.offset[state];
        for lane in &mut sum {
            *lane += offset;
        }
        for Change { row, by } in &differences.changes[differences.start[state]..differences.start[state + 1]] {
            let statistic = &block[*row];
            for lane in 0..LANES {
                sum[lane] = multiply_add::<FUSED>(*by, statistic[lane], sum[lane]);
            }
        }
        joints[state] = sum;
        for lane in 0..LANES {
            max[lane] = if sum[lane] > max[lane] { sum[lane] } else { max[lane] };
        }
    }
    max
}
