//! Starts of large tables: several short trainings of different kinds on some of the rows, with more causes than asked for.
//!
//! A start that misses a cause never finds it, since the others have taken what belongs to it. Causes to spare find what is there,
//! and those that the bound misses least go ([`Em::spare_causes`]); which way to begin works depends on the table: from single
//! rows where causes are rare, from hot posteriors where many are active at a time. Some thousand rows are enough to tell, so that
//! several starts cost less than one on all rows (`docs/TABLE_BENCHMARKS.md` has what each choice gave).

use ndarray::Array2;

use crate::em::{Em, Init, Progress, Schedule};
use crate::error::Result;
use crate::model::{Data, Model};
use crate::posterior::Truncation;
use crate::tasks::watch::Watch;

/// Rows that starts are given, at the least, and for each cause.
const ROWS: usize = 2000;
const ROWS_PER_CAUSE: usize = 60;
/// States of a row in starts.
const STATES: usize = 16;
/// Iterations of a start, and how often each of them updates the parameters.
const ITERATIONS: usize = 30;
const BATCHES: usize = 4;
/// Starts where nothing is said about them, and rows times causes of all of them, at the most: one at least is made.
const STARTS: usize = 4;
const MOST_WORK: usize = STARTS * ROWS * 32;

/// A way to begin.
struct Kind {
    /// The share of a single row in each cause; `None` for the average of the data with a little noise.
    row: Option<f64>,
    /// The first temperature of the posteriors.
    temperature: f64,
}

/// All ways, one after the other and from the beginning again.
const KINDS: [Kind; 4] = [
    Kind { row: Some(0.9), temperature: 1.0 },
    Kind { row: None, temperature: 4.0 },
    Kind { row: Some(0.9), temperature: 2.0 },
    Kind { row: Some(0.5), temperature: 1.0 },
];

/// The best of several starts for `em` on `data`, whose rows count alike: a model with as many causes as `em` has. `None` if the
/// observer ended the work before there is one.
pub(super) fn best_start(
    em: &Em,
    causes: usize,
    starts: Option<usize>,
    seed: u64,
    data: &dyn Data,
    watch: &mut Watch<'_, '_>,
) -> Result<Option<Model>> {
    let rows = some_rows(data, ROWS.max(ROWS_PER_CAUSE * causes));
    let starts = starts.unwrap_or((MOST_WORK / (rows.nrows().max(1) * 2 * causes)).clamp(1, STARTS));
    let em = em.clone().spare_causes(causes).iterations(ITERATIONS).tolerance(0.0).starts(1);
    let em = em.truncated(Truncation::new(STATES)).batches(BATCHES);
    let mut best: Option<(f64, Model)> = None;
    for (start, kind) in (0..starts).zip(KINDS.iter().cycle()) {
        let em = match kind.row {
            Some(share) => em.clone().init(Init::Rows { share }),
            None => em.clone(),
        };
        let em = em.temperature(Schedule::Geometric { from: kind.temperature, to: 1.0, until: ITERATIONS / 3 });
        let step = |progress: &Progress<'_>| start * ITERATIONS + progress.done.min(ITERATIONS);
        let fit = em.seed(seed.wrapping_add((start as u64) << 40)).run_observed(&rows, &mut |progress| {
            watch.see(&Progress::of_stage("starts", step(progress), starts * ITERATIONS))
        })?;
        if best.as_ref().is_none_or(|(bound, _)| fit.bound > *bound) {
            best = Some((fit.bound, fit.model));
        }
        if watch.stopped() {
            break;
        }
    }
    Ok(best.map(|(_, model)| model))
}

/// At most about `most` rows, as far apart as possible.
fn some_rows(data: &dyn Data, most: usize) -> Array2<f64> {
    let step = (data.n() / most).max(1);
    let places: Vec<usize> = (0..data.n()).step_by(step).collect();
    let mut rows = Array2::zeros((places.len(), data.d()));
    let mut row = vec![0.0; data.d()];
    for (n, mut to) in places.into_iter().zip(rows.rows_mut()) {
        data.read_row(n, &mut row);
        to.iter_mut().zip(&row).for_each(|(to, value)| *to = *value);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn some_rows_are_spread_over_all() {
        let data = Array2::from_shape_fn((10, 2), |(n, d)| (n * 2 + d) as f64);
        assert_eq!(some_rows(&data, 4), array![[0.0, 1.0], [4.0, 5.0], [8.0, 9.0], [12.0, 13.0], [16.0, 17.0]]);
        assert_eq!(some_rows(&data, 100), data);
    }
}
