//! Models that have not seen the rows whose cells they predict.

use ndarray::{Array2, ArrayView2, Axis};

use super::beliefs::Beliefs;
use super::column::Column;
use super::correction::{Corrections, Unseen};
use super::scores::{Calibration, Judged};
use super::{Imputer, TrainedImputer};
use crate::em::{Observer, Progress};
use crate::error::{Error, Result};
use crate::family::SharedFamily;
use crate::hash;
use crate::model::{Columns, Model};
use crate::tasks::held_out::Source;
use crate::tasks::table::{LearnedTable, TableLearner};

/// Rows from which everything but the model of all rows is learned, at the most.
const MOST_ROWS: usize = 40_000;
/// Starts and iterations of the models of folds, and the relative change of the bound that ends them.
const FOLD_STARTS: usize = 1;
const FOLD_ITERATIONS: usize = 40;
const FOLD_TOLERANCE: f64 = 1e-5;
/// Rows of a fold, at the least.
const FOLD_ROWS: usize = 4;
/// What makes the folds of a seed differ from other random choices by it.
const FOLDS: u64 = 0x1f83_d9ab_fb41_bd6b;

/// Learns `table` with settings that were checked.
pub(super) fn train(
    settings: &Imputer,
    table: ArrayView2<'_, f64>,
    observer: &mut Observer<'_>,
) -> Result<TrainedImputer> {
    let learned = settings.learner.run_observed(table, observer)?;
    let columns = columns_of(settings, table, learned.fit.model.columns());
    let step = Source::row_step(table.nrows(), MOST_ROWS);
    let rows = table.slice(ndarray::s![..;step, ..]).to_owned();
    let count = settings.folds.min(rows.nrows() / FOLD_ROWS).max(1);
    let folds: Vec<usize> =
        (0..rows.nrows()).map(|n| (hash::of_place(settings.seed ^ FOLDS, n as u64) % count as u64) as usize).collect();
    let learner = learner_of_folds(&settings.learner, &learned);
    let mut beliefs: Option<Beliefs> = None;
    let mut members: Vec<Model> = Vec::new();
    let mut judged = Judged::new(&rows);
    for fold in 0..count {
        let (inside, outside): (Vec<usize>, Vec<usize>) = (0..folds.len()).partition(|n| folds[*n] == fold);
        if inside.is_empty() {
            continue;
        }
        let learner = learner.clone().seed(settings.learner.seed_of().wrapping_add(1 + fold as u64));
        let seen = rows.select(Axis(0), &outside);
        let member = if has_all_columns(&seen) {
            let stage = format!("fold {} of {count}", fold + 1);
            let fit = learner.run_observed(seen.view(), &mut |_| observer(&Progress::of_stage(&stage, fold, count)))?;
            if fit.stopped {
                return Err(Error::Stopped { what: "all rows were predicted".into() });
            }
            fit.fit.model
        } else {
            learned.fit.model.clone()
        };
        let unseen = rows.select(Axis(0), &inside);
        let said = Beliefs::new(&member, &columns, unseen.view())?;
        judged.by_models(&member, &columns, &said, &unseen, &seen, &inside);
        let all = beliefs.get_or_insert_with(|| said.like(rows.nrows()));
        all.put(&inside, &said);
        members.push(member);
    }
    let Some(beliefs) = beliefs else { return Err(Error::EmptyData { rows: 0, columns: table.ncols() }) };
    let (corrections, unseen) = if settings.regression && count > 1 {
        Corrections::learn(&columns, &rows, &beliefs, &folds)
    } else {
        let all = (0..rows.nrows()).collect();
        (Corrections::none(&columns), Unseen { beliefs, rows: all })
    };
    let calibration = Calibration::of_columns(&columns, &rows, &unseen);
    let scores = judged.scores(&columns, &rows, &unseen);
    members.push(learned.fit.model.clone());
    let learned = Some(learned);
    Ok(TrainedImputer { settings: settings.clone(), columns, members, corrections, calibration, scores, learned })
}

/// Fills by a model that exists already. How good it is, is judged on the cells of `table`, each without itself; the model may
/// have seen them.
pub(super) fn of_model(settings: &Imputer, model: &Model, table: ArrayView2<'_, f64>) -> Result<TrainedImputer> {
    let scatter = scatter(model);
    let of_family = |(d, family, _): (usize, &SharedFamily, _)| {
        Column::of_family(&**family, model.columns().resolution(d), settings.kind_of(d), scatter[d])
    };
    let columns: Vec<Column> = model.columns().iter().map(of_family).collect();
    let step = Source::row_step(table.nrows(), MOST_ROWS);
    let rows = table.slice(ndarray::s![..;step, ..]).to_owned();
    let all: Vec<usize> = (0..rows.nrows()).collect();
    let beliefs = Beliefs::new(model, &columns, rows.view())?;
    let mut judged = Judged::new(&rows);
    judged.by_models(model, &columns, &beliefs, &rows, &rows, &all);
    let unseen = Unseen { beliefs, rows: all };
    let calibration = Calibration::of_columns(&columns, &rows, &unseen);
    let scores = judged.scores(&columns, &rows, &unseen);
    let (members, corrections) = (vec![model.clone()], Corrections::none(&columns));
    Ok(TrainedImputer { settings: settings.clone(), columns, members, corrections, calibration, scores, learned: None })
}

/// What the cells of all columns are.
fn columns_of(settings: &Imputer, table: ArrayView2<'_, f64>, families: &Columns) -> Vec<Column> {
    families.iter().map(|(d, family, _)| Column::of(table.column(d), &**family, settings.kind_of(d))).collect()
}

/// The mean and the standard deviation that a model gives each column, as far as they are finite: those of the means of its
/// causes and its background.
fn scatter(model: &Model) -> Vec<(f64, f64)> {
    let means = model.means_with_background();
    let of_column = |column: ndarray::ArrayView1<'_, f64>| {
        let finite: Vec<f64> = column.iter().copied().filter(|mean| mean.is_finite()).collect();
        let count = finite.len().max(1) as f64;
        let mean = finite.iter().sum::<f64>() / count;
        (mean, (finite.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / count).sqrt())
    };
    means.columns().into_iter().map(of_column).collect()
}

/// The learner of the models of the folds: families and causes are known.
fn learner_of_folds(learner: &TableLearner, learned: &LearnedTable) -> TableLearner {
    let h = learned.fit.model.h();
    let learner = learned
        .families
        .iter()
        .enumerate()
        .fold(learner.clone(), |learner, (d, family)| learner.column(d, family.clone()));
    // starts and iterations are for the last digits of a model that is looked at; these are averaged
    learner.causes(h).starts(FOLD_STARTS).iterations(FOLD_ITERATIONS).tolerance(FOLD_TOLERANCE)
}

/// Whether there is a value in every column.
fn has_all_columns(rows: &Array2<f64>) -> bool {
    rows.nrows() > 0 && rows.columns().into_iter().all(|column| column.iter().any(|cell| !cell.is_nan()))
}
