//! Spare causes: which go, and what is left.

use std::ops::ControlFlow;

use efmca::family::family;
use efmca::{Em, Fit, Init, Model, Truncation, bars};
use ndarray::Array2;

fn truth() -> Model {
    bars::model(family("poisson").unwrap(), 3, &[20.0], &[1.0], 0.2).unwrap()
}

fn em(spare: usize) -> Em {
    Em::new(6).family("poisson").spare_causes(spare).iterations(40).seed(1)
}

fn truncated(spare: usize) -> Em {
    em(spare).truncated(Truncation::new(20))
}

/// The truth with its first causes once more, a little changed.
fn doubled(copies: usize) -> Model {
    let truth = truth();
    let chosen: Vec<usize> = (0..6).chain(0..copies).collect();
    let mut w = truth.w_flat().select(ndarray::Axis(0), &chosen);
    w.rows_mut().into_iter().skip(6).for_each(|mut row| row *= 1.01);
    let pi = chosen.iter().map(|_| 0.15).collect();
    let background = efmca::Background::Fixed(truth.background().to_vec());
    Model::from_parts(truth.columns().clone(), pi, w, background).unwrap()
}

#[test]
fn twins_go_and_one_of_each_stays() {
    let y = truth().sample(300, 1).y;
    // without iterations nothing but the removal happens, all at once
    for iterations in [0, 10] {
        for em in [em(4), truncated(4)] {
            let fit = em.init(Init::Model(Box::new(doubled(4)))).iterations(iterations).run(&y).unwrap();
            assert_eq!(fit.model.h(), 6);
            assert!(bars::recovered(&truth(), &fit.model), "{iterations}");
        }
    }
}

#[test]
fn a_fit_has_the_causes_that_were_asked_for() {
    let y = truth().sample(200, 2).y;
    let stopped = |iteration: usize| -> Fit {
        let stop = |progress: &efmca::em::Progress<'_>| match progress.done >= iteration {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        truncated(5).warm_start(3).run_observed(&y, &mut { stop }).unwrap()
    };
    for iteration in [1, 17, 100] {
        let fit = stopped(iteration);
        let sets = fit.sets.as_ref().unwrap();
        assert_eq!((fit.model.h(), sets.h(), sets.s()), (6, 6, 20), "{iteration}");
        let taken: usize = fit.history.iter().map(|step| step.removed).sum();
        assert!(taken == 5 || iteration < 40);
    }
    assert!(em(5).init(Init::Model(Box::new(truth()))).run(&y).is_err(), "the spare causes are not there");
    assert!(em(usize::MAX).run(&y).is_err());
}

#[test]
fn sets_are_as_large_as_there_are_states() {
    // two causes have four states, five have more than the twelve that are kept
    let truth = bars::model(family("bernoulli").unwrap(), 1, &[0.9], &[0.1], 0.3).unwrap();
    let y = truth.sample(50, 1).y;
    let em = Em::new(2).family("bernoulli").spare_causes(3).truncated(Truncation::new(12));
    let fit = em.iterations(10).run(&y).unwrap();
    assert_eq!(fit.sets.unwrap().s(), 4);
}

#[test]
fn twenty_bars_are_found_from_one_start_with_any_number_of_threads() {
    let truth = bars::model(family("bernoulli").unwrap(), 10, &[0.99], &[0.01], 0.1).unwrap();
    let y: Array2<f64> = truth.sample(600, 1).y;
    let em = Em::new(20).family("bernoulli").spare_causes(20).iterations(30).seed(1);
    let fit = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| em.clone().truncated(Truncation::new(30)).run(&y).unwrap())
    };
    let (one, three) = (fit(1), fit(3));
    assert_eq!(bars::found(&truth, &one.model), 20);
    assert_eq!(one.bound.to_bits(), three.bound.to_bits());
    assert_eq!((one.model.w_flat(), &one.sets), (three.model.w_flat(), &three.sets));
}
