//! How good the values are: the error on cells that were not seen, next to column means.

use ndarray::Array2;

use super::CellKind;
use super::beliefs::Beliefs;
use super::column::{Column, largest};
use super::correction::Unseen;
use crate::model::{Model, Tables};
use crate::tasks::held_out::Predictor;

/// The smallest variance, in variances of the column.
const SMALLEST: f64 = 1e-12;

/// The errors of cells that are present, each predicted from the other cells of its row by models that have not seen the row.
#[derive(Debug, Clone, PartialEq)]
pub struct CellScores {
    /// The normalised error of numbers: the root of the mean square difference in standard deviations of the column, over
    /// all columns of numbers alike. `None` if there are none.
    pub error: Option<f64>,
    /// The same if each number is the mean of its column.
    pub error_of_means: Option<f64>,
    /// The share of codes that are right, over all columns of codes alike. `None` if there are none.
    pub accuracy: Option<f64>,
    /// The same if each code is the most frequent one of its column.
    pub accuracy_of_modes: Option<f64>,
    /// The log-probability (log-density) of a cell under the models, on average, in nats.
    pub log_likelihood: f64,
    /// The same if the other cells of the row are not known.
    pub log_likelihood_alone: f64,
    /// Each column by itself.
    pub columns: Vec<ColumnScore>,
}

/// The errors in one column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnScore {
    /// Numbers or codes.
    pub kind: CellKind,
    /// Cells that were predicted.
    pub cells: usize,
    /// Of numbers the root of the mean square difference in standard deviations of the column, of codes the share that is
    /// wrong.
    pub error: f64,
    /// The same for the mean of the column or its most frequent code.
    pub error_of_means: f64,
    /// The log-probability (log-density) of a cell under the models, on average, in nats.
    pub log_likelihood: f64,
    /// The same if the other cells of the row are not known.
    pub log_likelihood_alone: f64,
}

/// What is gathered while the folds are predicted.
pub(super) struct Judged {
    /// The log-probability of each cell that is present, given the others, and by itself.
    given: Array2<f64>,
    alone: Array2<f64>,
    /// The mean or the most frequent code of the other folds.
    simple: Array2<f64>,
}

impl Judged {
    pub(super) fn new(rows: &Array2<f64>) -> Judged {
        let empty = Array2::from_elem(rows.dim(), f64::NAN);
        Judged { given: empty.clone(), alone: empty.clone(), simple: empty }
    }

    /// Scores the rows of a fold, which `model` has not seen; `seen` are those that it has.
    pub(super) fn by_models(
        &mut self,
        model: &Model,
        columns: &[Column],
        beliefs: &Beliefs,
        rows: &Array2<f64>,
        seen: &Array2<f64>,
        places: &[usize],
    ) {
        let tables = Tables::new(model);
        for (d, column) in columns.iter().enumerate() {
            let mut predictor = Predictor::of_model(model, &tables, d, &column.resolution);
            let marginal = model.owners_of(&tables, d, &model.pi().to_vec());
            let of_seen = Column::of(seen.column(d), &**model.columns().family(d), Some(column.kind()));
            let simple = match of_seen.kind() {
                CellKind::Number => of_seen.mean,
                CellKind::Code => of_seen.codes.get(of_seen.mode()).copied().unwrap_or(of_seen.mean),
            };
            for (row, to) in places.iter().enumerate().filter(|(row, _)| !rows[[*row, d]].is_nan()) {
                let cell = rows[[row, d]];
                self.given[[*to, d]] = predictor.score(beliefs.owners[row].column(d), cell);
                self.alone[[*to, d]] = predictor.score(marginal.view(), cell);
                self.simple[[*to, d]] = simple;
            }
        }
    }

    /// The errors of all columns.
    pub(super) fn scores(&self, columns: &[Column], rows: &Array2<f64>, unseen: &Unseen) -> CellScores {
        let found: Vec<ColumnScore> =
            columns.iter().enumerate().map(|(d, column)| self.column(column, rows, unseen, d)).collect();
        let average = |kind: CellKind, of: &dyn Fn(&ColumnScore) -> f64| {
            let kept: Vec<f64> = found
                .iter()
                .zip(columns)
                .filter(|(one, column)| one.kind == kind && one.cells > 0 && column.sd > 0.0)
                .map(|(one, _)| of(one))
                .collect();
            (!kept.is_empty()).then(|| kept.iter().sum::<f64>() / kept.len() as f64)
        };
        let cells: f64 = found.iter().map(|one| one.cells as f64).sum::<f64>().max(1.0);
        let of_cells = |of: &dyn Fn(&ColumnScore) -> f64| {
            found.iter().filter(|one| one.cells > 0).map(|one| of(one) * one.cells as f64).sum::<f64>() / cells
        };
        CellScores {
            error: average(CellKind::Number, &|one| one.error.powi(2)).map(f64::sqrt),
            error_of_means: average(CellKind::Number, &|one| one.error_of_means.powi(2)).map(f64::sqrt),
            accuracy: average(CellKind::Code, &|one| 1.0 - one.error),
            accuracy_of_modes: average(CellKind::Code, &|one| 1.0 - one.error_of_means),
            log_likelihood: of_cells(&|one| one.log_likelihood),
            log_likelihood_alone: of_cells(&|one| one.log_likelihood_alone),
            columns: found,
        }
    }

    fn column(&self, column: &Column, rows: &Array2<f64>, unseen: &Unseen, d: usize) -> ColumnScore {
        let present: Vec<usize> = unseen.rows.iter().copied().filter(|n| !self.given[[*n, d]].is_nan()).collect();
        let count = present.len().max(1) as f64;
        let average = |of: &dyn Fn(usize) -> f64| present.iter().map(|n| of(*n)).sum::<f64>() / count;
        let wrong = |right: bool| f64::from(u8::from(!right));
        let (error, error_of_means) = match column.kind() {
            CellKind::Number => {
                let scale = column.scale();
                let error = average(&|n| ((rows[[n, d]] - unseen.beliefs.mean[[n, d]]) / scale).powi(2));
                let of_means = average(&|n| ((rows[[n, d]] - self.simple[[n, d]]) / scale).powi(2));
                (error.sqrt(), of_means.sqrt())
            }
            CellKind::Code => {
                let likeliest = |n: usize| largest(&unseen.beliefs.codes[d].row(n).to_vec());
                let error = average(&|n| wrong(column.codes[likeliest(n)] == rows[[n, d]]));
                (error, average(&|n| wrong(self.simple[[n, d]] == rows[[n, d]])))
            }
        };
        ColumnScore {
            kind: column.kind(),
            cells: present.len(),
            error,
            error_of_means,
            log_likelihood: average(&|n| self.given[[n, d]]),
            log_likelihood_alone: average(&|n| self.alone[[n, d]]),
        }
    }
}

/// How far cells that were not seen are from their predictions, in predicted standard deviations.
#[derive(Debug, Clone)]
pub(super) struct Calibration {
    /// In ascending order.
    residuals: Vec<f64>,
    /// Predicted standard deviations are multiplied by this.
    pub(super) factor: f64,
}

impl Calibration {
    pub(super) fn of_columns(columns: &[Column], rows: &Array2<f64>, unseen: &Unseen) -> Vec<Calibration> {
        let of = |(d, column): (usize, &Column)| {
            let residual = |n: &usize| {
                let sd = predicted_sd(column, unseen.beliefs.variance[[*n, d]]);
                Some((rows[[*n, d]] - unseen.beliefs.mean[[*n, d]]) / sd).filter(|residual| !residual.is_nan())
            };
            let mut residuals: Vec<f64> = match column.kind() {
                CellKind::Number => unseen.rows.iter().filter_map(residual).collect(),
                CellKind::Code => Vec::new(),
            };
            residuals.sort_by(f64::total_cmp);
            let count = residuals.len().max(1) as f64;
            let square = residuals.iter().map(|residual| residual * residual).sum::<f64>() / count;
            Calibration { factor: if square > 0.0 { square.sqrt() } else { 1.0 }, residuals }
        };
        columns.iter().enumerate().map(of).collect()
    }

    /// The residual below which this share of them is.
    pub(super) fn quantile(&self, share: f64) -> f64 {
        let last = self.residuals.len().saturating_sub(1);
        let at = share * last as f64;
        let (low, high) = (at.floor() as usize, at.ceil() as usize);
        match (self.residuals.get(low), self.residuals.get(high.min(last))) {
            (Some(low), Some(high)) => low + (at - at.floor()) * (high - low),
            _ => 0.0,
        }
    }
}

/// The standard deviation that a model predicts, which is never zero.
pub(super) fn predicted_sd(column: &Column, variance: f64) -> f64 {
    variance.max(SMALLEST * column.scale().powi(2)).sqrt()
}
