//! One column of a table, given all others: a mixture whose weights differ from row to row.

use ndarray::{Array2, ArrayView2, Axis};

use super::candidates::Candidate;
use super::fixed_search::{EntrySums, search};
use super::rounded::Cells;
use crate::cancel;
use crate::error::Result;
use crate::family::SharedFamily;
use crate::family::cell::mean_statistics;
use crate::model::{Model, Resolution, Tables};
use crate::tasks::held_out::{Entries, Predictor, Scores, needs_integrals, normalised};

/// EM steps in a column.
const STEPS: usize = 10;
/// Responsibilities are at least this, so that they have a logarithm.
const SMALLEST: f64 = 1e-300;

/// A score on its way to other ranks: the values of fixed parameters that were searched, the scores and the parameters of causes, and
/// the criterion with the number of parameters.
pub(super) type SentScore = (Vec<f64>, (Scores, Vec<Vec<f64>>), (f64, usize));

impl ColumnScore {
    /// The score on its way to other ranks.
    pub(super) fn sent(self) -> SentScore {
        (self.fixed, (self.scores, self.etas), (self.bic, self.parameters))
    }

    /// The score of a candidate that another rank has tried.
    pub(super) fn received(candidate: &Candidate, sent: SentScore) -> Result<ColumnScore> {
        let (fixed, (scores, etas), (bic, parameters)) = sent;
        Ok(ColumnScore { family: candidate.family(&fixed)?, fixed, scores, etas, bic, parameters })
    }
}

/// The rows of a table in which one column is looked at.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    /// Without the held-out entries.
    pub(super) seen: &'a Array2<f64>,
    /// With them.
    pub(super) full: ArrayView2<'a, f64>,
}

/// A column in which families are tried.
pub(super) struct ColumnMixture {
    /// Entries that training sees, with the weights $c_{nh}$ of the mixture.
    seen: Entries,
    /// Held-out entries with theirs.
    held_out: Entries,
    resolution: Resolution,
}

/// A family that was tried in a column.
#[derive(Clone)]
pub(super) struct ColumnScore {
    pub(super) family: SharedFamily,
    /// The values of its fixed parameters that were searched.
    fixed: Vec<f64>,
    pub(super) scores: Scores,
    /// The natural parameters of each cause.
    pub(super) etas: Vec<Vec<f64>>,
    /// The Bayesian information criterion on the entries that training sees, over all rows and as a log-likelihood.
    pub(super) bic: f64,
    /// Learned parameters of the column, and fixed ones that come from the data.
    pub(super) parameters: usize,
}

impl ColumnMixture {
    /// Column `d` by itself: all entries belong to one cause.
    pub(super) fn by_itself(rows: Rows<'_>, d: usize, resolution: &Resolution) -> ColumnMixture {
        ColumnMixture::new(rows, d, resolution, &Array2::ones((rows.full.nrows(), 1)))
    }

    /// Column `d` given the others: the part of the responsibilities that comes from its own values is divided out.
    pub(super) fn given_others(
        rows: Rows<'_>,
        d: usize,
        resolution: &Resolution,
        mut responsibilities: Array2<f64>,
        model: &Model,
        tables: &Tables,
    ) -> ColumnMixture {
        let (family, span) = (model.columns().family(d), model.columns().span(d));
        let etas: Vec<Vec<f64>> =
            (0..responsibilities.ncols()).map(|h| span.clone().map(|k| tables.eta[[h, k]]).collect()).collect();
        let rounded = needs_integrals(family.support().measure, model.columns().resolution(d));
        let (mut t, weight) = (vec![0.0; span.len()], model.columns().weight(d));
        for (n, mut row) in responsibilities.outer_iter_mut().enumerate() {
            let y = rows.seen[[n, d]];
            if y.is_nan() {
                continue;
            }
            // a rounded value has the statistics of its interval, in the posteriors too
            let cell = model.columns().resolution(d).cell(y).filter(|_| rounded);
            let known = cell.map(|cell| mean_statistics(&**family, y, cell, &mut t));
            let log = |(h, eta): (usize, &Vec<f64>)| match known {
                Some(_) => eta.iter().zip(&t).map(|(eta, t)| eta * t).sum::<f64>() - tables.a[[h, d]],
                None => family.log_density(y, eta),
            };
            let densities = etas.iter().enumerate().map(log);
            let logs: Vec<f64> =
                row.iter().zip(densities).map(|(r, log)| r.max(SMALLEST).ln() - weight * log).collect();
            normalised(&logs, &mut row);
        }
        ColumnMixture::new(rows, d, resolution, &responsibilities)
    }

    fn new(rows: Rows<'_>, d: usize, resolution: &Resolution, responsibilities: &Array2<f64>) -> ColumnMixture {
        let (seen, full) = (rows.seen.column(d), rows.full.column(d));
        let part = |held_out: bool| {
            let wanted = |n: &usize| !full[*n].is_nan() && seen[*n].is_nan() == held_out;
            let places: Vec<usize> = (0..full.len()).filter(wanted).collect();
            let responsibilities = responsibilities.select(Axis(0), &places);
            Entries::new(places.iter().map(|n| full[*n]).collect(), responsibilities, resolution)
        };
        ColumnMixture { seen: part(false), held_out: part(true), resolution: resolution.clone() }
    }

    /// The entries that training sees, and the held-out ones.
    pub(super) fn entries(&self) -> (&Entries, &Entries) {
        (&self.seen, &self.held_out)
    }

    /// Whether nothing is known of the other columns.
    pub(super) fn is_by_itself(&self) -> bool {
        self.seen.responsibilities.ncols() == 1
    }

    /// Trains a family on the column, with its fixed parameters searched; `None` if it cannot be computed with these values.
    pub(super) fn try_family(&self, candidate: &Candidate) -> Option<ColumnScore> {
        let mut seen = self.seen.clone();
        let mut fixed = search(candidate, std::slice::from_ref(&seen), None);
        let mut family = candidate.family(&fixed).ok()?;
        let cells = |family: &SharedFamily| {
            let rounded = needs_integrals(family.support().measure, &self.resolution);
            rounded.then(|| Cells::new(&self.seen, &**family))
        };
        let mut known = cells(&family);
        let mut etas = m_step(&family, &seen.sums(&*family), seen.y.len())?;
        let mut bound = f64::NEG_INFINITY;
        for step in 0..STEPS {
            let sums = match &mut known {
                Some(cells) => cells.e_step(&*family, &etas, &self.seen, &mut seen),
                None => {
                    bound = self.e_step(&family, &etas, &mut seen);
                    None
                }
            };
            let mut sums = sums;
            if candidate.searched() > 0 && step == STEPS / 2 {
                fixed = search(candidate, std::slice::from_ref(&seen), Some(&fixed));
                family = candidate.family(&fixed).ok()?;
                known = cells(&family);
                sums = None;
            }
            etas = m_step(&family, &sums.unwrap_or_else(|| seen.grouped().sums(&*family)), seen.y.len())?;
        }
        if let Some(cells) = &known {
            bound = cells.log_likelihood(&*family, &etas, &self.seen);
        }
        let parameters = etas.len() * family.l() + candidate.taken_from_data();
        let penalty = 0.5 * parameters as f64 * (self.seen.y.len().max(1) as f64).ln();
        let scores = self.scores(&family, etas.clone());
        Some(ColumnScore { family, fixed, scores, etas, bic: bound - penalty, parameters })
    }

    /// The responsibilities for the entries that training sees under `etas`; returns their log-likelihood.
    fn e_step(&self, family: &SharedFamily, etas: &[Vec<f64>], seen: &mut Entries) -> f64 {
        let mut predictor = Predictor::of_column(family, etas.to_vec(), &Resolution::Continuous);
        let entries = self.seen.y.iter().zip(self.seen.responsibilities.outer_iter());
        cancel::check();
        let mut bound = 0.0;
        for ((y, weights), responsibilities) in entries.zip(seen.responsibilities.outer_iter_mut()) {
            bound += normalised(predictor.terms(weights, *y), responsibilities);
        }
        bound
    }

    /// The scores of the held-out entries.
    fn scores(&self, family: &SharedFamily, etas: Vec<Vec<f64>>) -> Scores {
        let mut predictor = Predictor::of_column(family, etas, &self.resolution);
        let entries = self.held_out.y.iter().zip(self.held_out.responsibilities.outer_iter());
        Scores::of_entries(entries.map(|(y, weights)| predictor.score(weights, *y)).collect())
    }
}

/// Natural parameters for each cause, or nothing if the family cannot be computed with these values.
fn m_step(family: &SharedFamily, sums: &EntrySums, count: usize) -> Option<Vec<Vec<f64>>> {
    let l = family.l();
    let EntrySums { weights, t, .. } = sums;
    let count = count.max(1) as f64;
    let average: Vec<f64> = (0..l).map(|l| t.iter().map(|t| t[l]).sum::<f64>() / count).collect();
    weights
        .iter()
        .enumerate()
        .map(|(h, weight)| {
            // one row of average data, as in the training of a complete model
            let mut w: Vec<f64> = (0..l).map(|l| (t[h][l] + average[l]) / (weight + 1.0)).collect();
            family.project(&mut w);
            let mut eta = vec![0.0; l];
            family.phi(&w, &mut eta);
            eta.iter().all(|eta| eta.is_finite()).then_some(eta)
        })
        .collect()
}
