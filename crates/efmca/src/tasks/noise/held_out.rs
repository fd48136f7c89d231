//! Entries that training does not see, and how well they are foretold.

use std::collections::HashMap;

use ndarray::{Array2, Array4, ArrayView2, ArrayView4};
use rayon::prelude::*;

use super::interval::log_probability;
use super::known::Owned;
use super::pixels::HiddenPixels;
use crate::em::Fit;
use crate::error::Result;
use crate::family::Measure;
use crate::model::{Data, Model, Patches, Tables};
use crate::posterior::Responsibilities;

/// Numbers that owners of entries may take.
const MOST_OWNERS: usize = 16_000_000;
/// Rows for each owner, and for a single one, at the least: a few values would be fitted exactly, whatever is known.
const LEAST_ROWS: usize = 32;
const LEAST_ROWS_OF_ONE: usize = 256;

/// Data whose noise is asked for: a table, or images cut into patches.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// A row for each data point, NaN where a value is missing.
    Table(ArrayView2<'a, f64>),
    /// Pages, rows, columns and channels, cut into patches.
    Images {
        /// The pixels, NaN where one is missing.
        pixels: ArrayView4<'a, f64>,
        /// Rows and columns of a patch.
        patch: (usize, usize),
        /// Patches are this far apart.
        stride: usize,
    },
}

/// Data with some entries hidden.
pub(crate) struct Split {
    /// What training sees.
    pub(crate) seen: Box<dyn Data>,
    /// Rows for scoring, without the hidden entries and with them.
    pub(super) shown: Box<dyn Data>,
    pub(super) whole: Box<dyn Data>,
    /// The hidden entries of these rows, if they are patches of images.
    pub(super) hidden_pixels: Option<HiddenPixels>,
    /// How often an entry is in the rows that training sees.
    pub(crate) overlap: f64,
}

impl Source<'_> {
    /// All values that are there.
    pub(crate) fn values(&self) -> Vec<f64> {
        match self {
            Source::Table(table) => table.iter().copied().filter(|value| !value.is_nan()).collect(),
            Source::Images { pixels, .. } => pixels.iter().copied().filter(|value| !value.is_nan()).collect(),
        }
    }

    /// Hides a share of the entries, chosen by the seed and the place alone. Columns keep an entry at least.
    pub(crate) fn split(&self, share: f64, seed: u64) -> Result<Split> {
        let hidden = |index: usize| (hash(seed, index as u64) as f64) < share * u64::MAX as f64;
        match self {
            Source::Table(table) => {
                let mut seen = table.to_owned();
                let columns = seen.ncols();
                for (index, value) in seen.iter_mut().enumerate().filter(|(index, _)| *index >= columns) {
                    if hidden(index) {
                        *value = f64::NAN;
                    }
                }
                let (shown, whole) = (Box::new(seen.clone()), Box::new(table.to_owned()));
                Ok(Split { seen: Box::new(seen), shown, whole, hidden_pixels: None, overlap: 1.0 })
            }
            Source::Images { pixels, patch, stride } => {
                let mut masked: Array4<f64> = pixels.to_owned();
                let channels = masked.dim().3;
                // a hidden pixel is hidden in all its channels, or they would give it away
                for (index, value) in masked.iter_mut().enumerate() {
                    if hidden(index / channels) {
                        *value = f64::NAN;
                    }
                }
                let patches = |image: ArrayView4<'_, f64>| -> Result<Box<dyn Data>> {
                    Ok(Box::new(Patches::of_stack(image, *patch)?.stride(*stride)))
                };
                let hidden = HiddenPixels::new(masked.view(), *pixels, *patch, *stride)?;
                let (seen, shown, whole) = (patches(masked.view())?, patches(masked.view())?, patches(*pixels)?);
                let overlap = (seen.n() * seen.d()) as f64 / masked.len() as f64;
                Ok(Split { seen, shown, whole, hidden_pixels: Some(hidden), overlap: overlap.max(1.0) })
            }
        }
    }
}

/// SplitMix64 of a place.
pub(crate) fn hash(seed: u64, index: u64) -> u64 {
    let mut z = seed
        .wrapping_mul(0xd134_2543_de82_ef95)
        .wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// How well the hidden entries are foretold.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scores {
    /// For each row, or block of an image, the sum over its hidden entries of $\log p(y_d | \text{the entries of the row that are seen})$;
    /// for a pixel, of the average of that over the patches that it is in.
    pub(crate) rows: Vec<f64>,
    /// The number of hidden entries.
    pub(crate) entries: usize,
}

impl Scores {
    /// Per hidden entry.
    pub(crate) fn mean(&self) -> f64 {
        self.rows.iter().sum::<f64>() / self.entries.max(1) as f64
    }

    /// By how much `other` is worse for each hidden entry, and the standard error of that over rows.
    pub(crate) fn lead(&self, other: &Scores) -> (f64, f64) {
        let differences: Vec<f64> = self.rows.iter().zip(&other.rows).map(|(mine, theirs)| mine - theirs).collect();
        let count = differences.len().max(1) as f64;
        let mean = differences.iter().sum::<f64>() / count;
        let variance = differences.iter().map(|difference| (difference - mean).powi(2)).sum::<f64>() / count;
        let per_entry = count / self.entries.max(1) as f64;
        (mean * per_entry, (variance / count).sqrt() * per_entry)
    }
}

/// $\log\sum_h\mathbb E\lbrack\mathcal A_{dh}\rbrack p(y; \vec\eta_{dh})$ for entries of one column.
pub(crate) struct Foretold<'a> {
    model: &'a Model,
    tables: &'a Tables,
    d: usize,
    /// Whether probabilities of whole numbers are wanted.
    whole: bool,
    intervals: HashMap<(usize, u64), f64>,
}

impl<'a> Foretold<'a> {
    pub(crate) fn new(model: &'a Model, tables: &'a Tables, d: usize, whole: bool) -> Foretold<'a> {
        let whole = whole && model.columns().family(d).support().measure == Measure::Lebesgue;
        Foretold { model, tables, d, whole, intervals: HashMap::new() }
    }

    /// The logarithm of the density or probability of `y` if `owner` has the column.
    pub(crate) fn log_density(&mut self, owner: usize, y: f64) -> f64 {
        let family = self.model.columns().family(self.d);
        let span = self.model.columns().span(self.d);
        let eta: Vec<f64> = span.clone().map(|k| self.tables.eta[[owner, k]]).collect();
        if self.whole {
            let centre = family.f(&self.model.profile(owner)[span]);
            let found = self.intervals.entry((owner, y.to_bits()));
            return *found.or_insert_with(|| log_probability(&**family, &eta, centre, y));
        }
        family.log_density(y, &eta)
    }

    /// The score of an entry, given how likely each cause is to own it.
    pub(crate) fn score(&mut self, owners: ndarray::ArrayView1<'_, f64>, y: f64) -> f64 {
        let mut terms = Vec::with_capacity(owners.len());
        for (owner, q) in owners.iter().enumerate().filter(|(_, q)| **q > 1e-12) {
            terms.push(q.ln() + self.log_density(owner, y));
        }
        let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // a value that no cause can have would end all comparisons; it counts as very unlikely instead
        if top < LEAST { LEAST } else { top + terms.iter().map(|term| (term - top).exp()).sum::<f64>().ln() }
    }
}

/// The lowest score of an entry.
pub(super) const LEAST: f64 = -1e4;

impl Split {
    /// How well the model of `fit` foretells the hidden entries; `whole` if all of them are whole numbers, so that densities must
    /// be integrated.
    pub(crate) fn scores(&self, fit: &Fit, whole: bool) -> Result<Scores> {
        Ok(self.scores_given(&fit.model, &self.posteriors(fit)?, &Tables::new(&fit.model), |_| whole))
    }

    /// The posteriors of the rows for scoring. Patches are those of training, whose states are there already.
    pub(super) fn posteriors(&self, fit: &Fit) -> Result<Responsibilities> {
        match (&fit.sets, &self.hidden_pixels) {
            (Some(sets), Some(_)) => Responsibilities::of_sets(&fit.model, &*self.shown, sets.clone()),
            _ => Responsibilities::new(&fit.model, &*self.shown),
        }
    }

    /// The scores of a model for which nothing is known of the rows, with `whole` for each column.
    pub(crate) fn scores_of_columns(&self, model: &Model, whole: impl Fn(usize) -> bool + Sync) -> Result<Scores> {
        Ok(self.scores_given(model, &Responsibilities::new(model, &*self.shown)?, &Tables::new(model), whole))
    }

    /// The same with given posteriors, whose owners are those of `owning`.
    pub(crate) fn scores_given(
        &self,
        model: &Model,
        posteriors: &Responsibilities,
        owning: &Tables,
        whole: impl Fn(usize) -> bool + Sync,
    ) -> Scores {
        if let Some(hidden) = &self.hidden_pixels {
            return self.scores_of_pixels(hidden, model, (posteriors, owning), whole(0));
        }
        let tables = Tables::new(model);
        let (shown, all) = (rows_of(&*self.shown), rows_of(&*self.whole));
        let columns: Vec<Vec<(usize, f64)>> = (0..model.d())
            .into_par_iter()
            .map(|d| {
                let hidden = |n: &usize| shown[[*n, d]].is_nan() && !all[[*n, d]].is_nan();
                let owners = posteriors.of_column(owning, d);
                let mut foretold = Foretold::new(model, &tables, d, whole(d));
                (0..all.nrows()).filter(hidden).map(|n| (n, foretold.score(owners.row(n), all[[n, d]]))).collect()
            })
            .collect();
        let mut rows = vec![0.0; all.nrows()];
        for (n, score) in columns.iter().flatten() {
            rows[*n] += score;
        }
        Scores { rows, entries: columns.iter().map(Vec::len).sum() }
    }

    /// The entries that training sees with their owners under `model`, about `most` of them and for as many rows as there is
    /// room for.
    pub(crate) fn owned(&self, model: &Model, most: usize) -> Result<Vec<Owned>> {
        let owners = model.h() + 1;
        let most = most.max(LEAST_ROWS * owners * model.d()).min(MOST_OWNERS / owners);
        let few = self.few(most / model.d());
        let posteriors = Responsibilities::new(model, &few)?;
        let tables = Tables::new(model);
        Ok(owned(&rows_of(&few), &posteriors, &tables))
    }

    /// About `most` entries that training sees, all with one owner.
    pub(crate) fn by_one(&self, most: usize) -> Vec<Owned> {
        let few = self.few((most / self.shown.d()).max(LEAST_ROWS_OF_ONE));
        let rows = rows_of(&few);
        let there = |column: ndarray::ArrayView1<'_, f64>| column.iter().copied().filter(|y| !y.is_nan()).collect();
        rows.columns().into_iter().map(|column| Owned::by_one(there(column))).collect()
    }
}

fn owned(rows: &Array2<f64>, posteriors: &Responsibilities, tables: &Tables) -> Vec<Owned> {
    (0..rows.ncols())
        .into_par_iter()
        .map(|d| {
            let there: Vec<usize> = (0..rows.nrows()).filter(|n| !rows[[*n, d]].is_nan()).collect();
            let owner = posteriors.of_column(tables, d).select(ndarray::Axis(0), &there);
            Owned { y: there.iter().map(|n| rows[[*n, d]]).collect(), owner }
        })
        .collect()
}

/// Rows of a data set, one of as many each.
struct Few<'a> {
    data: &'a dyn Data,
    step: usize,
    /// Whether which one of them is left to chance. Evenly spaced patches could all be at the left edge of their image.
    any: bool,
}

impl Split {
    /// About `most` of the rows for scoring.
    fn few(&self, most: usize) -> Few<'_> {
        let step = self.shown.n().div_ceil(most.max(1)).max(1);
        Few { data: &*self.shown, step, any: self.hidden_pixels.is_some() }
    }
}

impl Data for Few<'_> {
    fn n(&self) -> usize {
        self.data.n().div_ceil(self.step)
    }
    fn d(&self) -> usize {
        self.data.d()
    }
    fn read_row(&self, n: usize, y: &mut [f64]) {
        let chance = if self.any { hash(0, n as u64) as usize % self.step } else { 0 };
        self.data.read_row((n * self.step + chance).min(self.data.n() - 1), y);
    }
}

/// All rows as an array.
pub(crate) fn rows_of(data: &dyn Data) -> Array2<f64> {
    let mut rows = Array2::zeros((data.n(), data.d()));
    for (n, mut row) in rows.outer_iter_mut().enumerate() {
        if let Some(row) = row.as_slice_mut() {
            data.read_row(n, row);
        }
    }
    rows
}
