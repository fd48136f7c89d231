//! Means and second moments of statistics.

use ndarray::Array1;

use crate::error::{Error, Result};
use crate::model::Columns;
use crate::ranks::{Decoder, Encode, Forest, Share, Sum};

/// The weighted means of the $K$ statistics, and the weight of the rows in which each of the $D$ columns is there.
#[derive(Debug, Clone)]
pub(crate) struct ColumnMeans {
    pub(crate) means: Vec<f64>,
    pub(crate) weight: Vec<f64>,
}

impl ColumnMeans {
    /// The means, moved inside the domain.
    pub(crate) fn projected(&self, columns: &Columns) -> Array1<f64> {
        let mut means = self.means.clone();
        for (_, family, span) in columns.iter() {
            family.project(&mut means[span]);
        }
        Array1::from(means)
    }

    /// An error if there is a column of which nothing can be learned.
    pub(crate) fn check_learnable(&self, columns: &Columns) -> Result<()> {
        for (column, family, span) in columns.iter() {
            if self.weight[column] <= 0.0 {
                return Err(Error::EmptyColumn { column });
            }
            let w = &self.means[span];
            if family.loses_digits(w) {
                return Err(Error::TooFarFromZero { column, mean: w[0], family: family.spec() });
            }
        }
        Ok(())
    }
}

/// Weighted means of the statistics over the values that are present.
#[derive(Debug)]
pub(crate) struct Means {
    sums: Vec<f64>,
    weight: Vec<f64>,
}

impl Means {
    pub(crate) fn new(columns: &Columns) -> Means {
        Means { sums: vec![0.0; columns.k()], weight: vec![0.0; columns.d()] }
    }

    pub(crate) fn add(&mut self, columns: &Columns, t: &[f64], there: &[bool], weight: f64) {
        for (to, t) in self.sums.iter_mut().zip(t) {
            *to += weight * t;
        }
        for (to, there) in self.weight.iter_mut().zip(there) {
            *to += if *there { weight } else { 0.0 };
        }
        debug_assert_eq!(t.len(), columns.k());
    }

    /// The means over the rows of all ranks, and whether a value is missing in one of them, where this one has found `own`.
    pub(crate) fn of_all(
        share: &Share,
        columns: &Columns,
        own: Result<(Forest<Means>, bool)>,
    ) -> Result<(ColumnMeans, bool)> {
        let (own, missing) = share.ranks.agree(own, share.n() as u64)?;
        let sum = share.ranks.sum(share.shards.count(), own)?;
        let sum = share.ranks.broadcast(0, sum)?;
        Ok((sum.finish(columns), share.ranks.any(missing)?))
    }

    pub(crate) fn finish(mut self, columns: &Columns) -> ColumnMeans {
        for (d, _, span) in columns.iter().filter(|(d, _, _)| self.weight[*d] > 0.0) {
            self.sums[span].iter_mut().for_each(|sum| *sum /= self.weight[d]);
        }
        ColumnMeans { means: self.sums, weight: self.weight }
    }
}

impl Encode for Means {
    fn encode(&self, out: &mut Vec<u8>) {
        self.sums.encode(out);
        self.weight.encode(out);
    }

    fn decode(from: &mut Decoder<'_>) -> Option<Means> {
        Some(Means { sums: Encode::decode(from)?, weight: Encode::decode(from)? })
    }
}

impl Sum for Means {
    fn add(&mut self, other: Means) {
        Sum::add(&mut self.sums, other.sums);
        Sum::add(&mut self.weight, other.weight);
    }
}

/// Means and second moments of the statistics of each column, or of all columns together.
pub(crate) struct Scatter {
    shared: bool,
    weight: Vec<f64>,
    mean: Vec<f64>,
    second: Vec<Vec<f64>>,
}

impl Scatter {
    pub(crate) fn new(columns: &Columns, shared: bool) -> Scatter {
        let second = columns.iter().map(|(_, family, _)| vec![0.0; family.l() * family.l()]).collect();
        Scatter { shared, weight: vec![0.0; columns.d()], mean: vec![0.0; columns.k()], second }
    }

    /// Adds a row, by the method of Welford, which does not cancel.
    pub(crate) fn add(&mut self, columns: &Columns, t: &[f64], there: &[bool], weight: f64) {
        if weight <= 0.0 {
            return;
        }
        for (d, _, span) in columns.iter().filter(|(d, _, _)| there[*d]) {
            let (to, l) = (if self.shared { 0 } else { d }, span.len());
            let mean = columns.span(to).start;
            self.weight[to] += weight;
            let share = weight / self.weight[to];
            for i in 0..l {
                let before = t[span.start + i] - self.mean[mean + i];
                for j in 0..=i {
                    let other = t[span.start + j] - self.mean[mean + j];
                    // entries j < i have moved already
                    let after = if j < i { other } else { other * (1.0 - share) };
                    let value = &mut self.second[to][i * l + j];
                    *value += weight * before * after;
                }
                self.mean[mean + i] += share * before;
            }
        }
    }

    pub(crate) fn finish(mut self, columns: &Columns) -> (Vec<f64>, Vec<Vec<f64>>) {
        for (d, _, span) in columns.iter() {
            let l = span.len();
            if self.shared && d > 0 {
                let (first, rest) = self.mean.split_at_mut(l);
                rest[span.start - l..][..l].copy_from_slice(first);
                self.second[d] = self.second[0].clone();
                continue;
            }
            let weight = if self.weight[d] > 0.0 { self.weight[d] } else { 1.0 };
            for i in 0..l {
                for j in 0..=i {
                    let value = self.second[d][i * l + j] / weight;
                    self.second[d][i * l + j] = value;
                    self.second[d][j * l + i] = value;
                }
            }
        }
        (self.mean, self.second)
    }
}
