//! Draws of missing cells, for multiple imputation.
//!
//! The cells of a row are drawn one after the other, each given those that are present or were drawn before, so that they go
//! together as they do in the table. Every draw uses one of the models alone: tables differ by what is not known of the
//! parameters as well as by what is not known of the cells.

use ndarray::{Array2, Axis};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::CellKind;
use super::TrainedImputer;
use super::beliefs::Beliefs;
use super::scores::predicted_sd;
use crate::error::Result;
use crate::hash;
use crate::model::{Model, Tables};

/// The incomplete rows of a table with all cells drawn; `places` are their numbers in the table, `number` that of the draw.
pub(super) fn draw(
    imputer: &TrainedImputer,
    rows: &Array2<f64>,
    places: &[usize],
    number: usize,
) -> Result<Array2<f64>> {
    let model = &imputer.members[number % imputer.members.len()];
    let tables = Tables::new(model);
    let mut drawn = rows.clone();
    loop {
        let open: Vec<usize> = (0..drawn.nrows()).filter(|n| drawn.row(*n).iter().any(|cell| cell.is_nan())).collect();
        if open.is_empty() {
            return Ok(drawn);
        }
        let left = drawn.select(Axis(0), &open);
        let of_open: Vec<usize> = open.iter().map(|row| places[*row]).collect();
        let beliefs = imputer.believed(model, &left, &of_open)?;
        let corrected = imputer.corrections.apply(&imputer.columns, &left, &beliefs);
        for (row, to) in open.iter().enumerate() {
            let Some(d) = left.row(row).iter().position(|cell| cell.is_nan()) else { continue };
            let mut rng = ChaCha8Rng::seed_from_u64(hash::of_place(imputer.settings.seed, number as u64));
            rng.set_stream((places[*to] * rows.ncols() + d) as u64);
            drawn[[*to, d]] = one(imputer, (model, &tables), (&beliefs, &corrected), row, d, &mut rng);
        }
    }
}

/// Draws one cell.
fn one(
    imputer: &TrainedImputer,
    (model, tables): (&Model, &Tables),
    (beliefs, corrected): (&Beliefs, &Beliefs),
    row: usize,
    d: usize,
    rng: &mut ChaCha8Rng,
) -> f64 {
    let column = &imputer.columns[d];
    if column.kind() == CellKind::Code {
        return column.codes[chosen(corrected.codes[d].row(row).iter().copied(), rng)];
    }
    let owner = chosen(beliefs.owners[row].column(d).iter().copied(), rng);
    let eta: Vec<f64> = model.columns().span(d).map(|k| tables.eta[[owner, k]]).collect();
    let away = model.columns().family(d).sample(&eta, rng) - beliefs.mean[[row, d]];
    // a draw that is infinitely far away comes from a tail without a mean
    let most = 20.0 * predicted_sd(column, beliefs.variance[[row, d]]);
    let away = away.clamp(-most, most) * imputer.calibration[d].factor;
    column.on_grid(corrected.mean[[row, d]] + away)
}

/// A place drawn with these probabilities.
fn chosen(probabilities: impl Iterator<Item = f64> + Clone, rng: &mut ChaCha8Rng) -> usize {
    let mut left = rng.random::<f64>() * probabilities.clone().sum::<f64>();
    let mut last = 0;
    for (place, probability) in probabilities.enumerate().filter(|(_, probability)| *probability > 0.0) {
        last = place;
        left -= probability;
        if left < 0.0 {
            break;
        }
    }
    last
}

/// The density of a number given who may have set it.
pub(super) fn density(model: &Model, said: &Beliefs, row: usize, d: usize, y: f64) -> f64 {
    let (family, span) = (model.columns().family(d), model.columns().span(d));
    let owners = said.owners[row].column(d);
    let of_owner = |(h, r): (usize, &f64)| {
        let mut eta = vec![0.0; span.len()];
        family.phi(&model.profile(h)[span.clone()], &mut eta);
        r * family.log_density(y, &eta).exp()
    };
    owners.iter().enumerate().filter(|(_, r)| **r > 1e-6).map(of_owner).filter(|part| part.is_finite()).sum()
}

/// Where the number that cause `h` gives column `d` is, on average.
pub(super) fn peak(model: &Model, h: usize, d: usize) -> f64 {
    let found = model.columns().family(d).f(&model.profile(h)[model.columns().span(d)]);
    let whole = model.columns().family(d).support().measure == crate::family::Measure::Counting;
    if whole { found.round() } else { found }
}
