//! A reference that does everything the slow and obvious way, straight from the paper's equations.
#![allow(dead_code)] // every test file uses its own part of it

use efmca::family::registry::entries;
use efmca::family::{Family, Range, SharedFamily, family, from_conventional};
use efmca::model::Columns;
use efmca::{Background, Model, Superposition};
use ndarray::{Array1, Array2};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub(crate) fn all_families() -> Vec<SharedFamily> {
    entries().iter().flat_map(|entry| entry.examples).map(|spec| family(spec).unwrap()).collect()
}

/// Mean parameters of a random member with moderate parameters.
pub(crate) fn random_w(family: &dyn Family, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut values: Vec<f64> = family
        .parameters()
        .iter()
        .map(|parameter| match parameter.range {
            Range::Positive(..) => rng.random_range(0.6..6.0),
            Range::Real(..) => rng.random_range(-2.0..4.0),
            Range::Probability => rng.random_range(0.15..0.85),
            Range::Share => rng.random_range(0.2..1.0),
        })
        .collect();
    if family.parameters()[0].range == Range::Share {
        let total: f64 = values.iter().sum();
        values.iter_mut().for_each(|v| *v /= total);
    }
    let eta = from_conventional(family, &values).unwrap();
    let mut w = vec![0.0; family.l()];
    family.grad_a(&eta, &mut w);
    w
}

/// A random model with a family for each column.
pub(crate) fn random_model(families: Vec<SharedFamily>, h: usize, seed: u64) -> Model {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let columns = Columns::new(families).unwrap();
    let profile = |rng: &mut ChaCha8Rng| -> Vec<f64> {
        columns.iter().flat_map(|(_, family, _)| random_w(&**family, rng)).collect()
    };
    let mut w = Array2::zeros((h, columns.k()));
    for mut row in w.outer_iter_mut() {
        row.assign(&Array1::from(profile(&mut rng)));
    }
    let background = Background::Fixed(profile(&mut rng));
    let pi = Array1::from_shape_fn(h, |_| rng.random_range(0.2..0.6));
    Model::from_parts(columns, pi, w, background).unwrap()
}

/// The active causes of a state given by its bits.
fn active(model: &Model, state: usize) -> Vec<usize> {
    (0..model.h()).filter(|cause| state >> cause & 1 == 1).collect()
}

/// The winner of column `d`; `h` is the background.
pub(crate) fn winner(model: &Model, state: usize, d: usize) -> usize {
    winner_of(model, &active(model, state), d)
}

/// The same by going through all active causes.
fn winner_of(model: &Model, active: &[usize], d: usize) -> usize {
    let (h, span) = (model.h(), model.columns().span(d));
    let strength = |cause: usize| {
        let w: Vec<f64> =
            span.clone().map(|k| if cause < h { model.w_flat()[[cause, k]] } else { model.background()[k] }).collect();
        let dominance = model.columns().family(d).dominance(&w);
        if model.superposition() == Superposition::MaxMagnitude { dominance.abs() } else { dominance }
    };
    let best = active.iter().map(|cause| strength(*cause)).fold(f64::NEG_INFINITY, f64::max);
    match active.iter().find(|cause| strength(**cause) == best) {
        Some(cause) if best >= strength(h) => *cause,
        _ => h,
    }
}

fn w_of(model: &Model, cause: usize, d: usize) -> Vec<f64> {
    let span = model.columns().span(d);
    span.map(|k| if cause < model.h() { model.w_flat()[[cause, k]] } else { model.background()[k] }).collect()
}

/// log p(s, y) for one row, from densities.
pub(crate) fn log_joint(model: &Model, state: usize, y: &[f64]) -> f64 {
    log_joint_of(model, &active(model, state), y)
}

/// The same for a state given by its active causes.
pub(crate) fn log_joint_of(model: &Model, active: &[usize], y: &[f64]) -> f64 {
    let prior: f64 =
        (0..model.h()).map(|h| if active.contains(&h) { model.pi()[h].ln() } else { (1.0 - model.pi()[h]).ln() }).sum();
    let likelihood: f64 = (0..model.d())
        .filter(|d| !y[*d].is_nan())
        .map(|d| {
            let family = model.columns().family(d);
            let mut eta = vec![0.0; family.l()];
            family.phi(&w_of(model, winner_of(model, active, d), d), &mut eta);
            family.log_density(y[d], &eta)
        })
        .sum();
    prior + likelihood
}

/// The posterior at inverse temperature `beta`, and F(q, Theta), of one row.
pub(crate) fn posterior(model: &Model, y: &[f64], beta: f64) -> (Vec<f64>, f64) {
    let joints: Vec<f64> = (0..1 << model.h()).map(|state| log_joint(model, state, y)).collect();
    let max = joints.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let unnormalised: Vec<f64> = joints.iter().map(|joint| (beta * (joint - max)).exp()).collect();
    let total: f64 = unnormalised.iter().sum();
    let q: Vec<f64> = unnormalised.iter().map(|q| q / total).collect();
    let bound = q.iter().zip(&joints).filter(|(q, _)| **q > 0.0).map(|(q, joint)| q * (joint - q.ln())).sum();
    (q, bound)
}

/// One EM step by the paper's equations: the new pi, the new W (H x K), and the bound before it.
pub(crate) fn em_step(model: &Model, y: &Array2<f64>, weights: &[f64], beta: f64) -> (Array1<f64>, Array2<f64>, f64) {
    let (h, columns) = (model.h(), model.columns());
    let mut pi = Array1::<f64>::zeros(h);
    let mut sums = Array2::<f64>::zeros((h, columns.k()));
    let mut counts = Array2::<f64>::zeros((h, columns.d()));
    let (mut bound, mut total) = (0.0, 0.0);
    for (row, weight) in y.outer_iter().zip(weights) {
        let row = row.to_vec();
        let (q, row_bound) = posterior(model, &row, beta);
        bound += weight * row_bound;
        total += weight;
        for (state, q) in q.iter().enumerate() {
            for cause in (0..h).filter(|cause| state >> cause & 1 == 1) {
                pi[cause] += weight * q;
            }
            for (d, family, span) in columns.iter() {
                let owner = winner(model, state, d);
                if owner == h || row[d].is_nan() {
                    continue;
                }
                let mut t = vec![0.0; family.l()];
                family.t(row[d], &mut t);
                counts[[owner, d]] += weight * q;
                for (k, t) in span.zip(&t) {
                    sums[[owner, k]] += weight * q * t;
                }
            }
        }
    }
    let mut w = model.w_flat().clone();
    for (d, family, span) in columns.iter() {
        for cause in 0..h {
            if counts[[cause, d]] > 1e-12 {
                let mut new: Vec<f64> = span.clone().map(|k| sums[[cause, k]] / counts[[cause, d]]).collect();
                family.project(&mut new);
                for (k, value) in span.clone().zip(new) {
                    w[[cause, k]] = value;
                }
            }
        }
    }
    (pi / total, w, bound)
}

/// Puts NaN into some entries.
pub(crate) fn with_holes(y: &Array2<f64>, share: f64, seed: u64) -> Array2<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    y.mapv(|value| if rng.random::<f64>() < share { f64::NAN } else { value })
}

pub(crate) fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + b.abs())
}
