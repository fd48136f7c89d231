//! Exact posteriors over all $2^H$ states.

use std::cell::RefCell;
use std::ops::Range;

use ndarray::{Array1, Array2};
use rayon::prelude::*;

use super::differences::Differences;
use super::exp::exp_in_place;
use super::product::{COLUMNS, add_product};
use super::{LANES, States};
use crate::cancel;
use crate::error::{Error, Result};
use crate::model::{LARGEST_EXACT_H, Model, Statistics, Tables};
use crate::ranks::{Decoder, Encode, Ranks};

/// Rows of a chunk, at the least.
const SMALLEST_CHUNK: usize = 512;
/// Chunks that are summed apart. It depends on the size of the problem and never on the number of threads, so that
/// the order of additions, and with it every bit, is the same for any number of threads.
const MOST_CHUNKS: usize = 16;
/// Entries that the sums of all chunks together may have.
const MOST_ENTRIES: usize = 1 << 26;

/// Sums over rows for each state, from which the M-step and the guard are made.
#[derive(Debug, Clone)]
pub struct StateSums {
    /// For each state: the $K$ sums $\sum_n q^{(n)}(\vec s) T_l(y_d^{(n)})$, then $\sum_n q^{(n)}(\vec s)$, then, if
    /// values are missing, the same over the rows in which column $d$ is present, $D$ of them. All rows are weighted.
    sums: Vec<f64>,
    /// The length of a line of sums: all of the above, rounded up for the kernel.
    width: usize,
    k: usize,
    masked: bool,
    /// $\sum_n$ of the weights.
    pub weight: f64,
    /// $\mathcal F(q, \Theta)$ (Eqn. 26); at temperature one, the log-likelihood.
    pub bound: f64,
}

impl StateSums {
    fn zeros(states: usize, statistics: &Statistics) -> StateSums {
        let k = statistics.columns.k();
        let masked = statistics.present.is_some();
        let width = (k + 1 + if masked { statistics.columns.d() } else { 0 }).next_multiple_of(COLUMNS);
        StateSums { sums: vec![0.0; states * width], width, k, masked, weight: 0.0, bound: 0.0 }
    }

    /// All sums of a state: first the $K$ with the statistics.
    pub(super) fn line(&self, state: usize) -> &[f64] {
        &self.sums[state * self.width..][..self.width]
    }

    /// $\sum_n q^{(n)}(\vec s)$.
    pub fn q(&self, state: usize) -> f64 {
        self.sums[state * self.width + self.k]
    }

    /// $\sum_n q^{(n)}(\vec s) T_l(y_d^{(n)})$, `k` counting over $d$ and $l$.
    pub fn t(&self, state: usize, k: usize) -> f64 {
        self.sums[state * self.width + k]
    }

    /// $\sum_n q^{(n)}(\vec s)$ over the rows in which column `d` is present.
    pub fn present(&self, state: usize, d: usize) -> f64 {
        self.sums[state * self.width + if self.masked { self.k + 1 + d } else { self.k }]
    }

    fn add(mut self, other: &StateSums) -> StateSums {
        self.sums.iter_mut().zip(&other.sums).for_each(|(mine, theirs)| *mine += theirs);
        self.weight += other.weight;
        self.bound += other.bound;
        self
    }
}

impl Encode for StateSums {
    fn encode(&self, out: &mut Vec<u8>) {
        self.sums.encode(out);
        (self.width, self.k, self.masked).encode(out);
        (self.weight, self.bound).encode(out);
    }

    fn decode(from: &mut Decoder<'_>) -> Option<StateSums> {
        let sums = Encode::decode(from)?;
        let (width, k, masked) = Encode::decode(from)?;
        let (weight, bound) = Encode::decode(from)?;
        Some(StateSums { sums, width, k, masked, weight, bound })
    }
}

/// The exact E-step of one model: $q^{(n)}(\vec s) = p(\vec s | \vec y^{(n)}, \Theta)$ for all states.
#[derive(Debug, Clone)]
pub struct Exact {
    model: Model,
    tables: Tables,
    states: States,
}

/// The posteriors of a block of rows, one in each lane.
struct Block {
    /// $2^H$ states times the rows: $q$ up to a factor for each row.
    q: Vec<f64>,
    /// That factor's inverse.
    sum: [f64; LANES],
    /// $\mathcal F$ of each row, without $\log h$.
    bound: [f64; LANES],
    /// The statistics of the rows, one after the other.
    statistics: Vec<f64>,
    /// Log-joints before tempering, if there is any.
    joints: Vec<f64>,
}

thread_local! {
    /// The buffer of the last block of this thread: asking the system for a quarter of a megabyte in every iteration
    /// takes a tenth of the time of a small problem.
    static SPARE: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
}

impl Drop for Block {
    fn drop(&mut self) {
        // when the thread itself ends, the buffer may be gone already
        let _ = SPARE.try_with(|spare| spare.replace(std::mem::take(&mut self.q)));
    }
}

impl Exact {
    /// Prepares all states of `model`.
    pub fn new(model: &Model) -> Result<Exact> {
        if model.h() > LARGEST_EXACT_H {
            return Err(Error::TooManyCauses { causes: model.h(), limit: LARGEST_EXACT_H });
        }
        let tables = Tables::for_posteriors(model);
        let states = States::new(model, &tables);
        Ok(Exact { model: model.clone(), tables, states })
    }

    /// Chunks of `n` rows, which are as many as ranks can share, at the most.
    pub(crate) fn parts(n: usize) -> usize {
        n.div_ceil(SMALLEST_CHUNK).clamp(1, MOST_CHUNKS)
    }

    /// Which cause owns which column in each state.
    pub fn states(&self) -> &States {
        &self.states
    }

    /// The tables of the model.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    fn differences(&self, masked: bool, largest: Option<&[f64]>) -> Differences {
        Differences::new(self.model.columns(), &self.tables, &self.states, masked, largest)
    }

    /// An error if `statistics` are not those of data for this model.
    fn check(&self, statistics: &Statistics) -> Result<()> {
        let (mine, theirs) = (self.model.columns().specs(), statistics.columns.specs());
        if mine == theirs {
            Ok(())
        } else {
            Err(Error::shape("families of the data", mine.join(" "), theirs.join(" ")))
        }
    }

    fn block(&self) -> Block {
        let mut q = SPARE.take();
        q.resize(self.states.count() * LANES, 0.0);
        Block { q, sum: [0.0; LANES], bound: [0.0; LANES], statistics: Vec::new(), joints: Vec::new() }
    }

    /// The E-step: posteriors $q \propto p(\vec s, \vec y)^\beta$ under `scored`, and their sums with the statistics
    /// `summed` (the same, unless one family's posteriors start another).
    pub fn e_step(&self, scored: &Statistics, summed: &Statistics, beta: f64) -> Result<StateSums> {
        self.e_step_over(&Ranks::default(), scored, summed, beta)
    }

    /// The same, of which each rank does its part. All of them have all rows: there are few enough where posteriors are exact.
    pub(crate) fn e_step_over(
        &self,
        ranks: &Ranks,
        scored: &Statistics,
        summed: &Statistics,
        beta: f64,
    ) -> Result<StateSums> {
        self.check(scored)?;
        if summed.n() != scored.n() {
            return Err(Error::shape("rows of the statistics to be summed", scored.n(), summed.n()));
        }
        let (n, count) = (scored.n(), self.states.count());
        let entries = count * (summed.columns.k() + summed.columns.d() + 1);
        let chunks = (MOST_ENTRIES / entries).clamp(1, MOST_CHUNKS).min(n.div_ceil(SMALLEST_CHUNK));
        let chunk = n.div_ceil(chunks).next_multiple_of(LANES);
        let differences = self.differences(scored.present.is_some(), Some(&scored.largest));
        let own = ranks.own(n.div_ceil(chunk));
        let parts: Vec<Result<StateSums>> = own
            .into_par_iter()
            .map_init(
                || self.block(),
                |block, i| {
                    let rows = i * chunk..((i + 1) * chunk).min(n);
                    self.e_step_chunk(&differences, scored, summed, beta, rows, block)
                },
            )
            .collect();
        let parts = parts.into_iter().collect::<Result<Vec<StateSums>>>();
        let mark = if ranks.is_alone() { 0 } else { self.model.mark() };
        // one chunk after the other: sums of small problems keep the bits that they always had
        let all = ranks.in_turn(ranks.agree(parts, mark)?, |sum: StateSums, part| sum.add(&part))?;
        all.ok_or(Error::EmptyData { rows: n, columns: 0 })
    }

    fn e_step_chunk(
        &self,
        differences: &Differences,
        scored: &Statistics,
        summed: &Statistics,
        beta: f64,
        rows: Range<usize>,
        block: &mut Block,
    ) -> Result<StateSums> {
        let mut sums = StateSums::zeros(self.states.count(), summed);
        let width = sums.width;
        let mut weighted = vec![0.0; LANES * width];
        for from in rows.clone().step_by(LANES) {
            cancel::check();
            let rows = from..(from + LANES).min(rows.end);
            block.score(differences, scored, rows.clone(), beta, scored.present.is_some())?;
            weighted.fill(0.0);
            for (lane, n) in rows.enumerate() {
                let weight = scored.weights[n];
                sums.bound += weight * (block.bound[lane] + scored.log_h[n]);
                sums.weight += weight;
                // the factor that makes q sum to the weight goes to the statistics, of which there are fewer
                let scale = weight / block.sum[lane];
                let line = &mut weighted[lane * width..][..width];
                let present = summed.present.iter().flat_map(|present| present.row(n));
                for (to, value) in line.iter_mut().zip(summed.t.row(n).iter().chain(&[1.0]).chain(present)) {
                    *to = scale * value;
                }
            }
            add_product(&block.q, &weighted, width, &mut sums.sums);
        }
        Ok(sums)
    }

    /// $\log p(\vec y^{(n)} | \Theta)$ for each row.
    pub fn log_likelihoods(&self, statistics: &Statistics) -> Result<Array1<f64>> {
        let mut found = Array1::zeros(statistics.n());
        self.each_block(statistics, |lane, n, block| found[n] = block.bound[lane] + statistics.log_h[n])?;
        Ok(found)
    }

    /// $q^{(n)}(\vec s)$ for each row and state, $N \times 2^H$.
    pub(crate) fn posteriors(&self, statistics: &Statistics) -> Result<Array2<f64>> {
        self.rows().posteriors(statistics)
    }

    /// Prepares the states for rows that are explained by themselves.
    pub(crate) fn rows(&self) -> ExactRows<'_> {
        // Masked and from scratch, whatever the data: a row must not change by a bit because another has a hole or is
        // large.
        ExactRows { exact: self, differences: self.differences(true, None) }
    }

    /// Calls `see` with the lane, the number and the block of each row. What a row gives depends on no other row.
    fn each_block(&self, statistics: &Statistics, see: impl FnMut(usize, usize, &Block)) -> Result<()> {
        self.rows().each_block(statistics, see)
    }
}

/// Exact posteriors in which no row depends on another.
pub(crate) struct ExactRows<'a> {
    exact: &'a Exact,
    differences: Differences,
}

impl ExactRows<'_> {
    /// $\mathbb E_{q^{(n)}}\lbrack s_h\rbrack  = p(s_h = 1 | \vec y^{(n)}, \Theta)$ for each row and cause, and $\log p(\vec y^{(n)} | \Theta)$
    /// for each row.
    pub(crate) fn explain(&self, statistics: &Statistics) -> Result<(Array2<f64>, Array1<f64>)> {
        let h = self.exact.model.h();
        let mut active = Array2::zeros((statistics.n(), h));
        let mut log_likelihoods = Array1::zeros(statistics.n());
        self.each_block(statistics, |lane, n, block| {
            log_likelihoods[n] = block.bound[lane] + statistics.log_h[n];
            for state in 0..self.exact.states.count() {
                let q = block.q[state * LANES + lane] / block.sum[lane];
                for cause in (0..h).filter(|cause| state >> cause & 1 == 1) {
                    active[[n, cause]] += q;
                }
            }
        })?;
        Ok((active, log_likelihoods))
    }

    /// $q^{(n)}(\vec s)$ for each row and state, $N \times 2^H$.
    pub(super) fn posteriors(&self, statistics: &Statistics) -> Result<Array2<f64>> {
        let mut found = Array2::zeros((statistics.n(), self.exact.states.count()));
        self.each_block(statistics, |lane, n, block| {
            for (state, q) in found.row_mut(n).iter_mut().enumerate() {
                *q = block.q[state * LANES + lane] / block.sum[lane];
            }
        })?;
        Ok(found)
    }

    fn each_block(&self, statistics: &Statistics, mut see: impl FnMut(usize, usize, &Block)) -> Result<()> {
        self.exact.check(statistics)?;
        let mut block = self.exact.block();
        for from in (0..statistics.n()).step_by(LANES) {
            cancel::check();
            let rows = from..(from + LANES).min(statistics.n());
            block.score(&self.differences, statistics, rows.clone(), 1.0, true)?;
            for (lane, n) in rows.enumerate() {
                see(lane, n, &block);
            }
        }
        Ok(())
    }
}

impl Block {
    /// Fills the block with the posteriors $q \propto p(\vec s, \vec y)^\beta$ of `rows`.
    fn score(
        &mut self,
        differences: &Differences,
        data: &Statistics,
        rows: Range<usize>,
        beta: f64,
        masked: bool,
    ) -> Result<()> {
        let (k, d) = (data.columns.k(), data.columns.d());
        // lanes without a row hold zeros, and nobody looks at what comes of them
        self.statistics.clear();
        self.statistics.resize((k + if masked { d } else { 0 }) * LANES, 0.0);
        for (lane, n) in rows.clone().enumerate() {
            for (i, t) in data.t.row(n).iter().enumerate() {
                self.statistics[i * LANES + lane] = *t;
            }
            for column in 0..if masked { d } else { 0 } {
                let present = data.present.as_ref().map_or(1.0, |present| present[[n, column]]);
                self.statistics[(k + column) * LANES + lane] = present;
            }
        }
        let mut max = differences.log_joints(&self.statistics, &mut self.q);
        if let Some(lane) = (0..rows.len()).find(|lane| !max[*lane].is_finite()) {
            return Err(Error::ImpossibleRow { row: rows.start + lane });
        }
        if beta != 1.0 {
            self.joints.clone_from(&self.q);
            self.q.iter_mut().for_each(|joint| *joint *= beta);
            max.iter_mut().for_each(|max| *max *= beta);
        }
        self.sum = exp_in_place(&mut self.q, &max);
        // F = log sum p^beta + (1 - beta) E_q[log p]
        self.bound = std::array::from_fn(|lane| max[lane] + self.sum[lane].ln());
        if beta != 1.0 {
            for lane in 0..rows.len() {
                let terms = self.q.iter().zip(&self.joints).skip(lane).step_by(LANES);
                let mean: f64 = terms.filter(|(q, _)| **q > 1e-300).map(|(q, joint)| q * joint).sum();
                self.bound[lane] += (1.0 - beta) * mean / self.sum[lane];
            }
        }
        Ok(())
    }
}
