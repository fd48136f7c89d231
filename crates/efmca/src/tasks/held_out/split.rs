//! Which entries are held out, and the scores of a model on them.

use ndarray::{Array2, Array4, ArrayView2, ArrayView4};
use rayon::prelude::*;

use super::pixels::HeldOutPixels;
use super::{Predictor, Responsibilities, Scores};
use crate::em::Fit;
use crate::error::Result;
use crate::hash;
use crate::model::{Data, Geometry, Model, Patches, Resolution, Tables};

/// Data for a comparison by held-out entries: a table, or images cut into patches.
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
        /// Pages of a patch.
        depth: usize,
        /// Patches are this far apart.
        stride: usize,
    },
}

/// Data with some entries held out.
pub(crate) struct Split<'a> {
    /// The rows without the held-out entries: what training sees, and what held-out entries are predicted from.
    pub(crate) seen: Box<dyn Data>,
    /// The held-out entries.
    pub(super) held_out: HeldOut<'a>,
    /// How often an entry is in the rows that training sees.
    pub(crate) overlap: f64,
}

/// Where held-out entries are.
pub(super) enum HeldOut<'a> {
    /// Present in this table, and missing in the rows that training sees.
    Cells(ArrayView2<'a, f64>),
    /// In the patches of images.
    Pixels(HeldOutPixels),
}

/// Posteriors of rows, with the tables of the model that they belong to: these say which cause wins a column in a state.
#[derive(Clone, Copy)]
pub(crate) struct Posteriors<'a> {
    pub(crate) responsibilities: &'a Responsibilities,
    pub(crate) tables: &'a Tables,
}

impl<'a> Source<'a> {
    /// Patches of images that comparisons look at where nothing is said.
    pub const MOST_PATCHES: usize = 8000;
    /// Rows of a table that are enough for a comparison: a larger one can be thinned out.
    pub const MOST_ROWS: usize = 20_000;

    /// A table, of which every so many-th row is taken where it has more than `most`: see [`Source::row_step`].
    #[must_use]
    pub fn table(table: ArrayView2<'a, f64>, most: usize) -> Source<'a> {
        let step = Source::row_step(table.nrows(), most);
        Source::Table(table.slice_move(ndarray::s![..;step, ..]))
    }

    /// Every so many-th of `rows` rows is taken where about `most` are enough.
    #[must_use]
    pub fn row_step(rows: usize, most: usize) -> usize {
        rows.div_ceil(most.max(1)).max(1)
    }

    /// Images cut into patches of `patch` rows and columns, as far apart as it takes for about `most` of them.
    #[must_use]
    pub fn images(pixels: ArrayView4<'a, f64>, patch: (usize, usize), most: usize) -> Source<'a> {
        Source::volume(pixels, patch, 1, most)
    }

    /// The same with patches of `depth` pages, of a volume or a movie.
    #[must_use]
    pub fn volume(pixels: ArrayView4<'a, f64>, patch: (usize, usize), depth: usize, most: usize) -> Source<'a> {
        let (pages, rows, columns, _) = pixels.dim();
        let positions = pages * (rows + 1).saturating_sub(patch.0) * (columns + 1).saturating_sub(patch.1);
        let mut stride = ((positions as f64 / most.max(1) as f64).sqrt().ceil() as usize).max(1);
        if let Some(all) = Geometry::of_volume(pixels.dim(), patch, depth).ok().filter(|_| depth > 1) {
            let few = |stride: &usize| all.with_stride(*stride).n() <= most;
            stride = (1..=stride).find(few).unwrap_or(stride);
        }
        Source::Images { pixels, patch, depth, stride }
    }

    /// All values that are present.
    pub(crate) fn values(&self) -> Vec<f64> {
        match self {
            Source::Table(table) => table.iter().copied().filter(|value| !value.is_nan()).collect(),
            Source::Images { pixels, .. } => pixels.iter().copied().filter(|value| !value.is_nan()).collect(),
        }
    }

    /// Holds out a share of the entries, chosen by the seed and the place alone. Columns keep an entry at least.
    pub(crate) fn split(self, share: f64, seed: u64) -> Result<Split<'a>> {
        let chosen = |index: usize| (hash::of_place(seed, index as u64) as f64) < share * u64::MAX as f64;
        match self {
            Source::Table(table) => {
                let mut seen = table.to_owned();
                let columns = seen.ncols();
                for (index, value) in seen.iter_mut().enumerate().filter(|(index, _)| *index >= columns) {
                    if chosen(index) {
                        *value = f64::NAN;
                    }
                }
                Ok(Split { seen: Box::new(seen), held_out: HeldOut::Cells(table), overlap: 1.0 })
            }
            Source::Images { pixels, patch, depth, stride } => {
                let mut masked: Array4<f64> = pixels.to_owned();
                let channels = masked.dim().3;
                // a pixel is held out in all its channels, or they would give it away
                for (index, value) in masked.iter_mut().enumerate() {
                    if chosen(index / channels) {
                        *value = f64::NAN;
                    }
                }
                let held_out = HeldOut::Pixels(HeldOutPixels::new(masked.view(), pixels, (patch, depth), stride)?);
                let seen = Patches::of_volume(masked.view(), patch, depth)?.stride(stride);
                let overlap = (seen.n() * seen.d()) as f64 / masked.len() as f64;
                Ok(Split { seen: Box::new(seen), held_out, overlap: overlap.max(1.0) })
            }
        }
    }
}

impl Split<'_> {
    /// How well the model of `fit` predicts the held-out entries; with `resolution` for each column, since densities of rounded values
    /// must be integrated.
    pub(crate) fn scores<'r>(&self, fit: &Fit, resolution: impl Fn(usize) -> &'r Resolution + Sync) -> Result<Scores> {
        let (responsibilities, tables) = (self.responsibilities(fit)?, Tables::new(&fit.model));
        let posteriors = Posteriors { responsibilities: &responsibilities, tables: &tables };
        Ok(self.scores_given(&fit.model, posteriors, resolution))
    }

    /// The posteriors of all rows. Patches have states from training already.
    pub(crate) fn responsibilities(&self, fit: &Fit) -> Result<Responsibilities> {
        match (&fit.sets, &self.held_out) {
            (Some(sets), HeldOut::Pixels(_)) => Responsibilities::of_sets(&fit.model, &*self.seen, sets.clone()),
            _ => Responsibilities::new(&fit.model, &*self.seen),
        }
    }

    /// The scores of a model without states from its training, with `resolution` for each column.
    pub(crate) fn scores_of_columns<'r>(
        &self,
        model: &Model,
        resolution: impl Fn(usize) -> &'r Resolution + Sync,
    ) -> Result<Scores> {
        let (responsibilities, tables) = (Responsibilities::new(model, &*self.seen)?, Tables::new(model));
        let posteriors = Posteriors { responsibilities: &responsibilities, tables: &tables };
        Ok(self.scores_given(model, posteriors, resolution))
    }

    /// The scores of `model` with given posteriors, which can be those of another model.
    pub(crate) fn scores_given<'r>(
        &self,
        model: &Model,
        posteriors: Posteriors<'_>,
        resolution: impl Fn(usize) -> &'r Resolution + Sync,
    ) -> Scores {
        let table = match &self.held_out {
            HeldOut::Pixels(pixels) => return pixels.scores(model, posteriors, resolution(0)),
            HeldOut::Cells(table) => table,
        };
        let (tables, seen) = (Tables::new(model), rows_of(&*self.seen));
        let columns: Vec<Vec<(usize, f64)>> = (0..model.d())
            .into_par_iter()
            .map(|d| {
                let held_out = |n: &usize| seen[[*n, d]].is_nan() && !table[[*n, d]].is_nan();
                let responsibilities = posteriors.responsibilities.of_column(posteriors.tables, d);
                let mut predictor = Predictor::of_model(model, &tables, d, resolution(d));
                let weight = model.columns().weight(d);
                let score = |n: usize| (n, weight * predictor.score(responsibilities.row(n), table[[n, d]]));
                (0..table.nrows()).filter(held_out).map(score).collect()
            })
            .collect();
        let mut rows = vec![0.0; table.nrows()];
        for (n, score) in columns.iter().flatten() {
            rows[*n] += score;
        }
        Scores { rows, entries: columns.iter().map(Vec::len).sum() }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_holds_the_rows_that_training_sees_once_and_borrows_the_rest() -> Result<()> {
        let table = Array2::from_shape_fn((50, 4), |(n, d)| (n * 4 + d) as f64);
        // all fields by name: one more copy of the rows would have to be named here
        let Split { seen, held_out, overlap } = Source::Table(table.view()).split(0.3, 1)?;
        let HeldOut::Cells(cells) = held_out else { unreachable!("this is a table") };
        assert_eq!(cells.as_ptr(), table.as_ptr());
        assert_eq!(overlap, 1.0);
        let seen = rows_of(&*seen);
        assert!(seen.indexed_iter().all(|(place, value)| value.is_nan() || *value == table[place]));
        let held_out = seen.iter().filter(|value| value.is_nan()).count();
        assert!((30..90).contains(&held_out), "{held_out}");
        // the first row stays, so that no column is empty
        assert!(seen.row(0).iter().all(|value| !value.is_nan()));
        Ok(())
    }

    #[test]
    fn the_same_seed_holds_out_the_same_entries() -> Result<()> {
        let table = Array2::from_shape_fn((40, 3), |(n, d)| (n + d) as f64);
        let missing = |seed: u64| -> Result<Vec<bool>> {
            let split = Source::Table(table.view()).split(0.2, seed)?;
            Ok(rows_of(&*split.seen).iter().map(|value| value.is_nan()).collect())
        };
        assert_eq!(missing(3)?, missing(3)?);
        assert_ne!(missing(3)?, missing(4)?);
        Ok(())
    }
}
