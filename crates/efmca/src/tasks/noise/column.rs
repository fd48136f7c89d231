//! One column of a table, given all others: a mixture whose weights differ from row to row.

use ndarray::{Array2, ArrayView2, Axis};

use super::candidates::{Candidate, Kind};
use super::fixed_search::{EntrySums, search};
use crate::cancel;
use crate::family::{Measure, SharedFamily};
use crate::model::{Model, Tables};
use crate::tasks::held_out::{Entries, Predictor, Scores, normalised};

/// EM steps in a column.
const STEPS: usize = 10;
/// Responsibilities are at least this, so that they have a logarithm.
const SMALLEST: f64 = 1e-300;

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
    integer: bool,
}

/// A family that was tried in a column.
pub(super) struct ColumnScore {
    pub(super) family: SharedFamily,
    pub(super) scores: Scores,
    /// The Bayesian information criterion on the entries that training sees, over all rows and as a log-likelihood; `None` if the
    /// density was integrated around integers.
    pub(super) bic: Option<f64>,
    /// Learned parameters of the column, and fixed ones that come from the data.
    pub(super) parameters: usize,
}

impl ColumnMixture {
    /// Column `d` by itself: all entries belong to one cause.
    pub(super) fn by_itself(rows: Rows<'_>, d: usize, kind: Kind) -> ColumnMixture {
        ColumnMixture::new(rows, d, kind, &Array2::ones((rows.full.nrows(), 1)))
    }

    /// Column `d` given the others: the part of the responsibilities that comes from its own values is divided out.
    pub(super) fn given_others(
        rows: Rows<'_>,
        d: usize,
        kind: Kind,
        mut responsibilities: Array2<f64>,
        model: &Model,
        tables: &Tables,
    ) -> ColumnMixture {
        let (family, span) = (model.columns().family(d), model.columns().span(d));
        let etas: Vec<Vec<f64>> =
            (0..responsibilities.ncols()).map(|h| span.clone().map(|k| tables.eta[[h, k]]).collect()).collect();
        for (n, mut row) in responsibilities.outer_iter_mut().enumerate() {
            let y = rows.seen[[n, d]];
            if y.is_nan() {
                continue;
            }
            let logs: Vec<f64> =
                row.iter().zip(&etas).map(|(r, eta)| r.max(SMALLEST).ln() - family.log_density(y, eta)).collect();
            normalised(&logs, &mut row);
        }
        ColumnMixture::new(rows, d, kind, &responsibilities)
    }

    fn new(rows: Rows<'_>, d: usize, kind: Kind, responsibilities: &Array2<f64>) -> ColumnMixture {
        let (seen, full) = (rows.seen.column(d), rows.full.column(d));
        let part = |held_out: bool| {
            let wanted = |n: &usize| !full[*n].is_nan() && seen[*n].is_nan() == held_out;
            let places: Vec<usize> = (0..full.len()).filter(wanted).collect();
            let responsibilities = responsibilities.select(Axis(0), &places);
            Entries { y: places.iter().map(|n| full[*n]).collect(), responsibilities }
        };
        ColumnMixture { seen: part(false), held_out: part(true), integer: kind == Kind::Integer }
    }

    /// Whether nothing is known of the other columns.
    pub(super) fn is_by_itself(&self) -> bool {
        self.seen.responsibilities.ncols() == 1
    }

    /// Trains a family on the column, with its fixed parameters searched; `None` if it cannot be computed with these values.
    pub(super) fn try_family(&self, candidate: &Candidate) -> Option<ColumnScore> {
        let mut seen = self.seen.clone();
        let fixed = search(candidate, std::slice::from_ref(&seen), None);
        let mut family = candidate.family(&fixed).ok()?;
        let mut etas = m_step(&family, &seen)?;
        let mut bound = f64::NEG_INFINITY;
        for step in 0..STEPS {
            bound = self.e_step(&family, &etas, &mut seen);
            if candidate.searched() > 0 && step == STEPS / 2 {
                family = candidate.family(&search(candidate, std::slice::from_ref(&seen), Some(&fixed))).ok()?;
            }
            etas = m_step(&family, &seen)?;
        }
        let parameters = etas.len() * family.l() + candidate.taken_from_data();
        let penalty = 0.5 * parameters as f64 * (self.seen.y.len().max(1) as f64).ln();
        let integrated = self.integer && family.support().measure == Measure::Lebesgue;
        let scores = self.scores(&family, etas);
        Some(ColumnScore { family, scores, bic: (!integrated).then_some(bound - penalty), parameters })
    }

    /// The responsibilities for the entries that training sees under `etas`; returns their log-likelihood.
    fn e_step(&self, family: &SharedFamily, etas: &[Vec<f64>], seen: &mut Entries) -> f64 {
        let mut predictor = Predictor::of_column(family, etas.to_vec(), false);
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
        let mut predictor = Predictor::of_column(family, etas, self.integer);
        let entries = self.held_out.y.iter().zip(self.held_out.responsibilities.outer_iter());
        Scores::of_entries(entries.map(|(y, weights)| predictor.score(weights, *y)).collect())
    }
}

/// Natural parameters for each cause, or nothing if the family cannot be computed with these values.
fn m_step(family: &SharedFamily, seen: &Entries) -> Option<Vec<Vec<f64>>> {
    let l = family.l();
    let EntrySums { weights, t, .. } = seen.sums(&**family);
    let count = seen.y.len().max(1) as f64;
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
