//! The log-joints of all states, most of them from the state without its highest cause.
//!
//! Switching a cause on changes the columns that it wins and no others. With $k$ causes active it wins about one column
//! in $k+1$, so all $2^H$ states together cost about $2\cdot 2^H D/(H+1)$ multiplications instead of the $2^H D$ of
//! the full product of statistics and natural parameters.
//!
//! A difference of two large terms would leave its rounding in every state that inherits it. The states with one cause
//! are therefore scored from scratch (a sharp background does not reach the others), and where a cause itself is so
//! sharp that digits would be lost, all states are.

use multiversion::multiversion;
use multiversion::target::target_cfg_f;

use super::exp::multiply_add;
use super::{LANES, States};
use crate::model::{Columns, Tables};

/// How each state's log-joint differs from the one it is made from.
#[derive(Debug, Clone)]
pub(super) struct Differences {
    /// For each state, what does not depend on the row.
    offset: Vec<f64>,
    /// The changes of state $i$ are `changes[start[i]..start[i + 1]]`.
    start: Vec<usize>,
    changes: Vec<Change>,
    /// Whether states with several causes are scored from scratch too.
    direct: bool,
}

/// `by` times the statistic in row `row` of the block is added.
#[derive(Debug, Clone, Copy)]
struct Change {
    row: usize,
    by: f64,
}

/// Terms up to this size leave an error of about $10^{-11}$ behind when they are taken away again.
const LARGEST_TERM: f64 = 1e5;

impl Differences {
    /// With `masked`, the rows $K, K+1, \ldots$ of a block tell which values are present, and each takes its own share of
    /// $-A$; without, $-\sum_d A$ is one number.
    ///
    /// `largest` is the largest magnitude of each statistic, from which the size of the terms follows; without it every
    /// state is scored from scratch, so that nothing depends on the data as a whole.
    pub(super) fn new(
        columns: &Columns,
        tables: &Tables,
        states: &States,
        masked: bool,
        largest: Option<&[f64]>,
    ) -> Differences {
        let (k, d) = (columns.k(), columns.d());
        let direct = largest.is_none_or(|largest| sharp(columns, tables, largest));
        let mut differences =
            Differences { offset: Vec::with_capacity(states.count()), start: vec![0], changes: Vec::new(), direct };
        let mut log_prior = vec![tables.log_prior_empty; states.count()];
        for state in 0..states.count() {
            let highest = state.checked_ilog2().map_or(0, |bit| bit as usize);
            let parent = state ^ (1 << highest);
            if state > 0 {
                log_prior[state] = log_prior[parent] + tables.log_odds[highest];
            }
            if direct || state.count_ones() <= 1 {
                let mut offset = log_prior[state];
                let eta = states.eta(tables, state, columns);
                differences.changes.extend(eta.into_iter().enumerate().map(|(row, by)| Change { row, by }));
                for column in 0..d {
                    let a = states.a(tables, state, column, d);
                    if masked { differences.changes.push(Change { row: k + column, by: -a }) } else { offset -= a }
                }
                differences.offset.push(offset);
            } else {
                let mut offset = tables.log_odds[highest];
                states.each_change(tables, columns, state, parent, |column, span, eta, a| {
                    differences.changes.extend(span.zip(eta).map(|(row, by)| Change { row, by: *by }));
                    if masked { differences.changes.push(Change { row: k + column, by: -a }) } else { offset -= a }
                });
                differences.offset.push(offset);
            }
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
    let mut max = [f64::NEG_INFINITY; LANES];
    for state in 0..joints.len() {
        let offset = differences.offset[state];
        let mut sum = [offset; LANES];
        if !differences.direct && state.count_ones() > 1 {
            let parent = &joints[state ^ (1 << state.ilog2())];
            for lane in 0..LANES {
                sum[lane] += parent[lane];
            }
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

/// Whether a term of some cause, or of a background that can win against one, is too large to be added and taken away.
fn sharp(columns: &Columns, tables: &Tables, largest: &[f64]) -> bool {
    let background = tables.winners.background();
    let term = |h: usize, span: std::ops::Range<usize>, d: usize| {
        span.map(|k| (tables.eta[[h, k]] * largest[k]).abs()).fold(tables.a[[h, d]].abs(), f64::max)
    };
    columns.iter().any(|(d, _, span)| {
        let wins = (0..background).any(|h| tables.winners.beats(background, h, d));
        let last = if wins { background } else { background - 1 };
        // a comparison that NaN fails counts as sharp
        (0..=last)
            .any(|h| !matches!(term(h, span.clone(), d).partial_cmp(&LARGEST_TERM), Some(std::cmp::Ordering::Less)))
    })
}
