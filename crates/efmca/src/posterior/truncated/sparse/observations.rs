//! Data of which only the values other than zero are kept, as the kernel reads it.

use ndarray::Array1;

use crate::cancel;
use crate::error::{Error, Result};
use crate::family::check;
use crate::model::{Columns, Data, Statistics};
use crate::posterior::truncated::data::observations::{Observations, Row, padded};
use crate::posterior::truncated::data::scatter::{ColumnMeans, Means};
use crate::ranks::{Forest, Share};

/// The sufficient statistics of sparse rows: their differences to those of a zero, where the value is not zero.
#[derive(Debug, Clone)]
pub(crate) struct SparseObservations {
    columns: Columns,
    /// Where the entries of each row begin, and where the last ones end.
    starts: Vec<usize>,
    /// The column of each entry.
    entries: Vec<u32>,
    /// $L$ for each entry: $\vec T(y) - \vec T(0)$; NaN first where the value is missing.
    differences: Vec<f64>,
    /// $\vec T(0)$ of all columns.
    zero: Row<f64>,
    share: Share,
    /// The first row that is here.
    first: usize,
    /// $\sum_d \log h(y_d)$ of each row that is here.
    log_h: Vec<f64>,
    weights: Option<Array1<f64>>,
    means: ColumnMeans,
    nothing: Observations<f64>,
}

/// The entries of a row.
pub(super) struct Entries<'a> {
    pub(super) columns: &'a [u32],
    pub(super) differences: &'a [f64],
}

impl SparseObservations {
    /// Checks `data` against the families and takes its statistics.
    pub(crate) fn new(columns: &Columns, data: &dyn Data, share: Share) -> Result<SparseObservations> {
        if data.d() != columns.d() {
            return Err(Error::shape("columns of the data", columns.d(), data.d()));
        }
        let weights = data.weights().cloned();
        let zeros = Zeros::new(columns);
        let mut made = SparseObservations {
            columns: columns.clone(),
            starts: vec![0],
            entries: Vec::new(),
            differences: Vec::new(),
            zero: zeros.row(columns),
            log_h: Vec::with_capacity(share.rows().len()),
            first: share.first(),
            share,
            weights,
            means: Means::new(columns).finish(columns),
            nothing: Observations::without_rows(columns),
        };
        let read = made.read(columns, data, &zeros);
        let share = made.share.clone();
        let sum = share.ranks.sum(share.shards.count(), share.ranks.agree(read, share.n() as u64)?)?;
        let all = share.ranks.broadcast(0, sum)?;
        let (sums, absent) = all.split_at(columns.k());
        let total = made.total_weight();
        made.means.weight.iter_mut().zip(absent).for_each(|(weight, absent)| *weight = (total - absent).max(0.0));
        for (column, _, span) in columns.iter() {
            let weight = made.means.weight[column];
            for k in span {
                // what is missing is no zero
                let all = sums[k] + weight * zeros.t[k];
                made.means.means[k] = if weight > 0.0 { all / weight } else { 0.0 };
            }
        }
        Ok(made)
    }

    /// Reads the rows that are here. For each shard the sums of $\vec T(y) - \vec T(0)$, and the weight of what is missing.
    fn read(&mut self, columns: &Columns, data: &dyn Data, zeros: &Zeros) -> Result<Forest<Vec<f64>>> {
        let mut all = Forest::new();
        for shard in self.share.own() {
            let mut sums = vec![0.0; columns.k() + columns.d()];
            for row in self.share.shards.rows(shard) {
                self.read_row(columns, (data, row), zeros, &mut sums)?;
            }
            all.push(shard, sums);
        }
        Ok(all)
    }

    fn read_row(
        &mut self,
        columns: &Columns,
        (data, row): (&dyn Data, usize),
        zeros: &Zeros,
        sums: &mut [f64],
    ) -> Result<()> {
        let (sums, absent) = sums.split_at_mut(columns.k());
        let l = columns.l_max();
        let mut t = vec![0.0; l];
        cancel::check();
        let (places, values) = data.non_zeros(row).unwrap_or_default();
        zeros.refuse(columns, places, row)?;
        let (weight, mut log_h) = (self.weight(row), zeros.log_h);
        for (place, value) in places.iter().zip(values) {
            let column = *place as usize;
            let (family, span) = (columns.family(column), columns.span(column));
            self.entries.push(*place);
            log_h -= zeros.log_h_of[column];
            if value.is_nan() {
                absent[column] += weight;
                self.differences.extend(std::iter::repeat_n(f64::NAN, l));
                continue;
            }
            if value.is_infinite() {
                return Err(Error::NotFinite { row, column, value: *value });
            }
            check(&**family, *value, row, column)?;
            let t = &mut t[..span.len()];
            family.t(*value, t);
            if t.iter().any(|t| t.is_nan() || t.abs() > Statistics::LARGEST) {
                return Err(Error::TooExtreme { row, column, value: *value, family: family.spec() });
            }
            log_h += columns.weight(column) * family.log_h(*value);
            for ((sum, t), zero) in sums[span.clone()].iter_mut().zip(&mut *t).zip(&zeros.t[span.clone()]) {
                *t -= zero;
                *sum += weight * *t;
            }
            self.differences.extend_from_slice(t);
            self.differences.extend(std::iter::repeat_n(0.0, l - t.len()));
        }
        self.starts.push(self.entries.len());
        self.log_h.push(log_h);
        Ok(())
    }

    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The rows that are here, and where the others are.
    pub(crate) fn share(&self) -> &Share {
        &self.share
    }

    /// All rows, wherever they are.
    pub(crate) fn n(&self) -> usize {
        self.share.n()
    }

    pub(crate) fn log_h(&self, n: usize) -> f64 {
        self.log_h[n - self.first]
    }

    pub(crate) fn weight(&self, n: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[n])
    }

    pub(crate) fn total_weight(&self) -> f64 {
        self.weights.as_ref().map_or(self.n() as f64, |weights| weights.sum())
    }

    /// The weighted mean of each of the $K$ statistics, moved inside the domain.
    pub(crate) fn column_means(&self) -> Array1<f64> {
        self.means.projected(&self.columns)
    }

    /// An error if there is a column of which nothing can be learned.
    pub(crate) fn check_learnable(&self) -> Result<()> {
        self.means.check_learnable(&self.columns)
    }

    /// A row of zeros.
    pub(super) fn zero(&self) -> &Row<f64> {
        &self.zero
    }

    /// Observations without any row, for what is asked of them beside their rows.
    pub(super) fn nothing(&self) -> &Observations<f64> {
        &self.nothing
    }

    pub(super) fn entries(&self, n: usize) -> Entries<'_> {
        let n = n - self.first;
        let (range, l) = (self.starts[n]..self.starts[n + 1], self.columns.l_max());
        Entries {
            columns: &self.entries[range.clone()],
            differences: &self.differences[range.start * l..range.end * l],
        }
    }

    /// $\vec T$ of row `n`, $K$ values, zero where missing, and which columns are present. A row that is not here is read from
    /// `data`, whose values were checked where it is.
    pub(crate) fn statistics(&self, n: usize, data: Option<&dyn Data>) -> (Vec<f64>, Vec<bool>) {
        if let Some(data) = data.filter(|_| !self.share.rows().contains(&n)) {
            return self.statistics_elsewhere(n, data);
        }
        self.statistics_of(&self.entries(n))
    }

    /// The statistics of a row that is kept by another rank.
    fn statistics_elsewhere(&self, n: usize, data: &dyn Data) -> (Vec<f64>, Vec<bool>) {
        let (places, values) = data.non_zeros(n).unwrap_or_default();
        let (width, l) = (padded(self.columns.d()), self.columns.l_max());
        let mut differences = Vec::with_capacity(places.len() * l);
        for (place, value) in places.iter().zip(values) {
            let column = *place as usize;
            let mut t = vec![f64::NAN; l];
            if !value.is_nan() {
                let count = self.columns.span(column).len();
                self.columns.family(column).t(*value, &mut t[..count]);
                t[count..].fill(0.0);
                (0..count).for_each(|l| t[l] -= self.zero.t[l * width + column]);
            }
            differences.extend(t);
        }
        self.statistics_of(&Entries { columns: places, differences: &differences })
    }

    fn statistics_of(&self, entries: &Entries<'_>) -> (Vec<f64>, Vec<bool>) {
        let (width, l) = (padded(self.columns.d()), self.columns.l_max());
        let (mut t, mut there) = (vec![0.0; self.columns.k()], vec![true; self.columns.d()]);
        for (column, _, span) in self.columns.iter() {
            t[span].iter_mut().enumerate().for_each(|(l, t)| *t = self.zero.t[l * width + column]);
        }
        let Entries { columns, differences } = *entries;
        for (column, difference) in columns.iter().map(|column| *column as usize).zip(differences.chunks_exact(l)) {
            there[column] = !difference[0].is_nan();
            for (t, difference) in t[self.columns.span(column)].iter_mut().zip(difference) {
                *t = if there[column] { *t + difference } else { 0.0 };
            }
        }
        (t, there)
    }
}

/// What a zero is in each column.
struct Zeros {
    /// $\vec T(0)$, one after the other; zero in columns that cannot have one.
    t: Vec<f64>,
    /// $\log h(0)$ of each column, and the sum.
    log_h_of: Vec<f64>,
    log_h: f64,
    /// Columns that cannot have a zero.
    refused: Vec<u32>,
}

impl Zeros {
    fn new(columns: &Columns) -> Zeros {
        let mut zeros =
            Zeros { t: vec![0.0; columns.k()], log_h_of: vec![0.0; columns.d()], log_h: 0.0, refused: Vec::new() };
        for (column, family, span) in columns.iter() {
            if check(&**family, 0.0, 0, column).is_err() {
                zeros.refused.push(column as u32);
                continue;
            }
            family.t(0.0, &mut zeros.t[span]);
            zeros.log_h_of[column] = columns.weight(column) * family.log_h(0.0);
        }
        zeros.log_h = zeros.log_h_of.iter().sum();
        zeros
    }

    /// An error if a row has a zero where there can be none.
    fn refuse(&self, columns: &Columns, places: &[u32], row: usize) -> Result<()> {
        match self.refused.iter().find(|column| places.binary_search(column).is_err()) {
            Some(column) => check(&**columns.family(*column as usize), 0.0, row, *column as usize),
            None => Ok(()),
        }
    }

    /// The statistics as the kernel reads them.
    fn row(&self, columns: &Columns) -> Row<f64> {
        let mut row = Row::new(columns);
        let width = padded(columns.d());
        for (column, _, span) in columns.iter() {
            self.t[span].iter().enumerate().for_each(|(l, t)| row.t[l * width + column] = *t);
        }
        row
    }
}
