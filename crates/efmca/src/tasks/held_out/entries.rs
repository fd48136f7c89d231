//! Entries of a column with their responsibilities, for searches that need no complete model.

use std::borrow::Cow;

use ndarray::{Array2, ArrayView1, Axis};
use rayon::prelude::*;

use super::split::HeldOut;
use super::{Responsibilities, Split, rows_of};
use crate::error::Result;
use crate::hash;
use crate::model::{Data, Model, Resolution, Tables};

/// Numbers that responsibilities of entries may take.
const MOST_NUMBERS: usize = 16_000_000;
/// Rows for each cause, and for a single one, at the least: a few values would be fitted exactly, whatever the parameters are.
const LEAST_ROWS: usize = 32;
const LEAST_ROWS_OF_ONE: usize = 256;

/// The values of a column, and how likely each cause is to own each of them.
#[derive(Debug, Clone)]
pub(crate) struct Entries {
    /// The values that are present.
    pub(crate) y: Vec<f64>,
    /// For each of them the responsibility of each cause and, last, of the background.
    pub(crate) responsibilities: Array2<f64>,
    /// How often each value counts; empty if all count once.
    pub(crate) counts: Vec<f64>,
    /// How finely values were written down.
    pub(crate) resolution: Resolution,
}

impl Entries {
    /// Values that all belong to the same cause.
    pub(crate) fn of_one(y: Vec<f64>, resolution: &Resolution) -> Entries {
        let responsibilities = Array2::ones((y.len(), 1));
        Entries::new(y, responsibilities, resolution)
    }

    /// Values with their responsibilities.
    pub(crate) fn new(y: Vec<f64>, responsibilities: Array2<f64>, resolution: &Resolution) -> Entries {
        Entries { y, responsibilities, counts: Vec::new(), resolution: resolution.clone() }
    }

    /// Equal values as one with the sum of their responsibilities, where most values repeat: the same sums in less time.
    pub(crate) fn grouped(&self) -> Cow<'_, Entries> {
        if !self.counts.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut order: Vec<usize> = (0..self.y.len()).collect();
        order.sort_by(|a, b| self.y[*a].total_cmp(&self.y[*b]).then(a.cmp(b)));
        let groups: Vec<&[usize]> = order.chunk_by(|a, b| self.y[*a] == self.y[*b]).collect();
        if self.resolution.is_continuous() && 2 * groups.len() > self.y.len() {
            return Cow::Borrowed(self);
        }
        let mut responsibilities = Array2::zeros((groups.len(), self.responsibilities.ncols()));
        for (group, mut sum) in groups.iter().zip(responsibilities.outer_iter_mut()) {
            group.iter().for_each(|place| sum += &self.responsibilities.row(*place));
        }
        Cow::Owned(Entries {
            y: groups.iter().map(|group| self.y[group[0]]).collect(),
            responsibilities,
            counts: groups.iter().map(|group| group.len() as f64).collect(),
            resolution: self.resolution.clone(),
        })
    }
}

impl Split<'_> {
    /// For each column entries that training sees with their responsibilities under `model`, about `most` in all and for as many
    /// rows as there is room for.
    pub(crate) fn entries(&self, model: &Model, most: usize, resolution: &Resolution) -> Result<Vec<Entries>> {
        let causes = model.h() + 1;
        let most = most.max(LEAST_ROWS * causes * model.d()).min(MOST_NUMBERS / causes);
        let sample = self.sample(most / model.d());
        let (responsibilities, tables) = (Responsibilities::new(model, &sample)?, Tables::new(model));
        let rows = rows_of(&sample);
        let column = |d: usize| {
            let present: Vec<usize> = (0..rows.nrows()).filter(|n| !rows[[*n, d]].is_nan()).collect();
            let responsibilities = responsibilities.of_column(&tables, d).select(Axis(0), &present);
            Entries::new(present.iter().map(|n| rows[[*n, d]]).collect(), responsibilities, resolution)
        };
        Ok((0..rows.ncols()).into_par_iter().map(column).collect())
    }

    /// For each column entries that training sees, about `most` in all and all of one cause.
    pub(crate) fn entries_of_one(&self, most: usize, resolution: &Resolution) -> Vec<Entries> {
        let rows = rows_of(&self.sample((most / self.seen.d()).max(LEAST_ROWS_OF_ONE)));
        let present = |column: ArrayView1<'_, f64>| column.iter().copied().filter(|y| !y.is_nan()).collect();
        rows.columns().into_iter().map(|column| Entries::of_one(present(column), resolution)).collect()
    }

    /// About `most` of the rows that training sees.
    fn sample(&self, most: usize) -> SampledRows<'_> {
        let step = self.seen.n().div_ceil(most.max(1)).max(1);
        SampledRows { data: &*self.seen, step, random: matches!(self.held_out, HeldOut::Pixels(_)) }
    }
}

/// One of every `step` rows of a data set.
struct SampledRows<'a> {
    data: &'a dyn Data,
    step: usize,
    /// Whether it is drawn which one. Evenly spaced patches could all be at the left edge of their image.
    random: bool,
}

impl Data for SampledRows<'_> {
    fn n(&self) -> usize {
        self.data.n().div_ceil(self.step)
    }

    fn d(&self) -> usize {
        self.data.d()
    }

    fn read_row(&self, n: usize, y: &mut [f64]) {
        let drawn = if self.random { hash::of_place(0, n as u64) as usize % self.step } else { 0 };
        self.data.read_row((n * self.step + drawn).min(self.data.n() - 1), y);
    }

    fn check_unchanged(&self) -> crate::error::Result<()> {
        self.data.check_unchanged()
    }
}
