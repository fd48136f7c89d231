//! A whole tiny training on arbitrary arrays: it ends in a finite model or in an error.

use efmca::family::{Measure, Support};
use efmca::{Background, Em, Init, Model, Schedule, Superposition, Truncation, Weighted};
use ndarray::{Array1, Array2};

use crate::numbers::families;
use crate::{Choices, said};

/// The number as it is, or a value of the support that is made of it.
fn within(support: &Support, y: f64) -> f64 {
    if let Some(codes) = support.codes {
        let place = if y.is_finite() { (y.abs() as usize) % codes.len() } else { 0 };
        return codes[place];
    }
    let whole = |y: f64| if support.measure == Measure::Counting { y.round() } else { y };
    let span = support.high - support.low;
    let folded = if span.is_finite() { support.low + (y - support.low).rem_euclid(span) } else { y.abs() };
    [y, whole(y), whole(y.abs()), whole(folded), whole(y.abs() + 1.0)]
        .into_iter()
        .find(|y| support.contains(*y))
        .unwrap_or(f64::NAN)
}

pub(crate) fn training(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let all = families();
    let (h, d, n) = (1 + choices.below(4), 1 + choices.below(3), 1 + choices.below(8));
    let same = choices.below(2) == 0;
    let chosen: Vec<_> = (0..d).map(|_| all[choices.below(all.len())].clone()).collect();
    let chosen = if same { vec![chosen[0].clone(); d] } else { chosen };
    let (how, more, fold) = (choices.byte(), choices.byte(), choices.below(8) != 0);
    let mut em = Em::new(h).families(&chosen).iterations(1 + usize::from(how & 3)).seed(u64::from(more >> 6));
    if how >> 2 & 1 == 1 {
        em = em.truncated(Truncation::new(1 + usize::from(how >> 3 & 3)));
    } else if how >> 3 & 3 == 3 {
        em = em.rho(Schedule::Linear { from: 2.0, to: 20.0, until: 2 });
    }
    em = match how >> 5 & 3 {
        0 => em.init(Init::Rows { share: 0.5 }),
        1 => em.init(Init::Clusters { spread: 1.0 }),
        _ => em,
    };
    if how >> 7 == 1 {
        em = em.superposition(Superposition::MaxMagnitude);
    }
    em = match more & 7 {
        0 => em.starts(2).short_iterations(1),
        1 => em.batches(2),
        2 => em.spare_causes(1),
        3 => em.pseudo_count(0.5),
        4 => em.temperature(Schedule::Linear { from: 3.0, to: 1.0, until: 2 }),
        5 => em.warm_start(1),
        _ => em,
    };
    if more >> 3 & 3 == 3 && same {
        em = em.background(Background::fixed(&(0..chosen[0].l()).map(|_| choices.number()).collect::<Vec<_>>()));
    }
    let weights: Option<Array1<f64>> = (more >> 5 & 1 == 1).then(|| (0..n).map(|_| choices.number()).collect());
    let mut y = Array2::zeros((n, d));
    for ((_, column), value) in y.indexed_iter_mut() {
        let number = choices.number();
        *value = if fold && !number.is_nan() { within(&chosen[column].support(), number) } else { number };
    }
    let fit = match weights {
        Some(weights) => match said(Weighted::new(&y, weights)) {
            Some(weighted) => em.run(&weighted),
            None => return,
        },
        None => em.run(&y),
    };
    let Some(fit) = said(fit) else { return };
    is_finite(&fit.model);
    assert!(!fit.bound.is_nan(), "the bound is {}", fit.bound);
    if let Some(likely) = said(fit.model.log_likelihoods(&y)) {
        assert!(likely.iter().all(|value| !value.is_nan()), "{likely}");
    }
    if let Some(codes) = said(fit.model.encode(&y)) {
        assert!(codes.iter().all(|value| (0.0..=1.0 + 1e-9).contains(value)), "{codes}");
    }
}

/// No parameter of a model is NaN or infinite.
pub(crate) fn is_finite(model: &Model) {
    assert!(model.pi().iter().all(|pi| (0.0..=1.0).contains(pi)), "pi = {}", model.pi());
    assert!(model.w_flat().iter().all(|w| w.is_finite()), "w = {}", model.w_flat());
    assert!(model.background().iter().all(|w| w.is_finite()), "background = {}", model.background());
}

/// The data of the checkpoints in the corpus.
pub(crate) fn small_counts() -> Array2<f64> {
    Array2::from_shape_fn((6, 2), |(n, d)| ((3 * n + 5 * d) % 7) as f64)
}
