//! How much each cause explains of each column, by entries that are held out.
//!
//! A share of the entries is hidden, and the model is trained on from where it is without them, so that its causes stay the same
//! ones and forget these entries. Then the hidden entries are predicted from the rest of their rows: with all that it says about
//! the causes, without what it says about each of them, and without anything.

use ndarray::{Array1, Array2, ArrayView2};
use rayon::prelude::*;

use crate::em::{Observer, Progress};
use crate::error::Result;
use crate::hash;
use crate::model::{Model, Resolution, Tables};
use crate::posterior::Responsibilities;
use crate::tasks::held_out::{Predictor, Source};
use crate::tasks::table::TableLearner;

/// Rows that are looked at, at the most.
const MOST_ROWS: usize = 8000;
/// Iterations in which the model forgets the hidden entries.
const ITERATIONS: usize = 10;
/// What makes the hidden entries differ from other random choices by the seed.
const HIDDEN: u64 = 0x9b05_688c_2b3e_6c1f;

/// How much the causes explain of entries that are held out.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    /// Held-out entries of each column.
    pub entries: Vec<usize>,
    /// The log-probability (log-density) of a held-out entry of each column, on average, in nats.
    pub by_all: Array1<f64>,
    /// The same if the rest of the row is not known.
    pub alone: Array1<f64>,
    /// What is lost if the row does not say whether a cause is on, $H \times D$, in nats for each held-out entry of the column:
    /// its prior takes the place of its posterior. Posteriors count as independent of each other here.
    pub by_cause: Array2<f64>,
}

impl Explained {
    /// What all causes together explain of an entry of each column: the difference to the column alone.
    #[must_use]
    pub fn total(&self) -> Array1<f64> {
        &self.by_all - &self.alone
    }
}

pub(super) fn explained(
    model: &Model,
    table: ArrayView2<'_, f64>,
    (share, seed): (f64, u64),
    observer: &mut Observer<'_>,
) -> Result<Explained> {
    let step = Source::row_step(table.nrows(), MOST_ROWS);
    let rows = table.slice(ndarray::s![..;step, ..]).to_owned();
    let mut seen = rows.clone();
    for (place, cell) in seen.iter_mut().enumerate().skip(rows.ncols()) {
        if (hash::of_place(seed ^ HIDDEN, place as u64) as f64) < share * u64::MAX as f64 {
            *cell = f64::NAN;
        }
    }
    let model = forgetful(model, &seen)?;
    let active = model.encoding(&seen, model.inference(), &mut |done| {
        observer(&Progress::of_stage("held-out cells", done, rows.nrows()))
    })?;
    let resolutions = Resolution::of_columns(rows.view(), &[]);
    let held_out = HeldOut { model: &model, tables: Tables::new(&model), seen: &seen, rows: &rows, resolutions };
    let by_cause = held_out.lost(&active.active);
    let entries = (0..rows.ncols()).map(|d| held_out.places(d).len()).collect();
    Ok(Explained { entries, alone: held_out.alone(), by_all: held_out.scores()?, by_cause })
}

/// Entries that are hidden in `seen` and present in `rows`.
struct HeldOut<'a> {
    model: &'a Model,
    tables: Tables,
    seen: &'a Array2<f64>,
    rows: &'a Array2<f64>,
    /// How finely the values of each column were written down.
    resolutions: Vec<Resolution>,
}

/// The model after a few iterations that do not see the hidden entries; itself where nothing can be learned.
fn forgetful(model: &Model, seen: &Array2<f64>) -> Result<Model> {
    if seen.columns().into_iter().any(|column| column.iter().all(|cell| cell.is_nan())) {
        return Ok(model.clone());
    }
    let learner = TableLearner::new().causes(model.h()).iterations(ITERATIONS).start_from(model.clone());
    let learner = learner.superposition(model.superposition()).states(model.states);
    let learner = model.columns().iter().fold(learner, |learner, (d, family, _)| learner.column(d, family.clone()));
    Ok(learner.run(seen.view())?.fit.model)
}

impl HeldOut<'_> {
    /// The rows in which column `d` is hidden.
    fn places(&self, d: usize) -> Vec<usize> {
        (0..self.rows.nrows()).filter(|n| self.seen[[*n, d]].is_nan() && !self.rows[[*n, d]].is_nan()).collect()
    }

    fn predictor(&self, d: usize) -> Predictor<'_> {
        Predictor::of_model(self.model, &self.tables, d, &self.resolutions[d])
    }

    /// What is lost in each column without what the rows say about each cause.
    fn lost(&self, active: &Array2<f64>) -> Array2<f64> {
        let (model, tables, rows) = (self.model, &self.tables, self.rows);
        let column = |d: usize| -> Vec<f64> {
            let mut predictor = self.predictor(d);
            let places = self.places(d);
            let mut sums = vec![0.0; model.h()];
            for n in &places {
                let mut on: Vec<f64> = active.row(*n).iter().map(|on| on.clamp(0.0, 1.0)).collect();
                let known = predictor.score(model.owners_of(tables, d, &on).view(), rows[[*n, d]]);
                for h in 0..model.h() {
                    let before = std::mem::replace(&mut on[h], model.pi()[h]);
                    sums[h] += known - predictor.score(model.owners_of(tables, d, &on).view(), rows[[*n, d]]);
                    on[h] = before;
                }
            }
            sums.into_iter().map(|sum| sum / places.len().max(1) as f64).collect()
        };
        let columns: Vec<Vec<f64>> = (0..model.d()).into_par_iter().map(column).collect();
        Array2::from_shape_fn((model.h(), model.d()), |(h, d)| columns[d][h])
    }

    /// The average score of the hidden entries of each column, given the rest of their rows.
    fn scores(&self) -> Result<Array1<f64>> {
        let responsibilities = Responsibilities::new(self.model, self.seen)?;
        let column = |d: usize| {
            let places = self.places(d);
            let owners = responsibilities.of_rows(&self.tables, d, &places);
            let mut predictor = self.predictor(d);
            let scores = places.iter().zip(owners.outer_iter()).map(|(n, r)| predictor.score(r, self.rows[[*n, d]]));
            scores.sum::<f64>() / places.len().max(1) as f64
        };
        Ok((0..self.model.d()).into_par_iter().map(column).collect::<Vec<f64>>().into())
    }

    /// The same if the rest of the row is not known.
    fn alone(&self) -> Array1<f64> {
        let column = |d: usize| {
            let places = self.places(d);
            let owners = self.model.owners_of(&self.tables, d, &self.model.pi().to_vec());
            let mut predictor = self.predictor(d);
            let sum: f64 = places.iter().map(|n| predictor.score(owners.view(), self.rows[[*n, d]])).sum();
            sum / places.len().max(1) as f64
        };
        (0..self.model.d()).map(column).collect()
    }
}
