//! Rounded values and codes: nothing collapses, names stay, and verdicts say whether a family fits.

use efmca::family::{Measure, family, from_conventional};
use efmca::model::Resolution;
use efmca::posterior::Truncation;
use efmca::tasks::noise::{NoiseType, Shape, Source, TableNoise};
use efmca::tasks::table::TableLearner;
use efmca::{Em, Model};
use ndarray::{Array1, Array2, Axis, concatenate};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Columns drawn from a family.
fn drawn(spec: &str, parameters: &[f64], size: (usize, usize), seed: u64) -> Array2<f64> {
    let family = family(spec).unwrap();
    let eta = from_conventional(&*family, parameters).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Array2::from_shape_fn(size, |_| family.sample(&eta, &mut rng))
}

fn rounded(y: &Array2<f64>, step: f64) -> Array2<f64> {
    y.mapv(|y| (y / step).round() * step)
}

fn short(spec: &str) -> String {
    spec.split(':').next().unwrap_or_default().to_owned()
}

/// Six classes of age, whose rows lean to one side, beside a count.
fn ages(rows: usize) -> Array2<f64> {
    let codes = [17.5, 22.0, 27.0, 32.0, 37.0, 42.0];
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let age = |rng: &mut ChaCha8Rng| {
        let u: f64 = rng.random();
        codes[[0.02, 0.3, 0.58, 0.76, 0.88].iter().filter(|edge| u > **edge).count()]
    };
    Array2::from_shape_fn((rows, 2), |(_, d)| if d == 0 { age(&mut rng) } else { f64::from(rng.random_range(0..9u8)) })
}

#[test]
fn rounded_columns_are_named_as_they_were_before() {
    let rows = (1000, 2);
    let parts = [
        drawn("gaussian", &[50.0, 64.0], rows, 1),
        drawn("gamma", &[4.0, 0.2], rows, 2),
        drawn("exponential", &[0.1], rows, 3),
        drawn("log-normal", &[2.5, 0.2], rows, 4),
    ];
    let y = concatenate(Axis(1), &parts.each_ref().map(|part| part.view())).unwrap();
    let names = |y: &Array2<f64>| -> Vec<String> {
        let found = TableNoise::new().causes(1).iterations(20).run(y.view()).unwrap();
        found.columns.iter().map(|column| short(&column.family.spec())).collect()
    };
    let before = names(&y);
    let mut other = 0;
    for step in [1.0, 0.5, 0.01] {
        other += before.iter().zip(names(&rounded(&y, step))).filter(|(before, after)| *before != after).count();
    }
    assert!(other <= 1, "{other} of 24 are named otherwise");
}

#[test]
fn codes_are_codes_and_no_density_is_far_ahead_of_another() {
    let found = TableNoise::new().causes(2).iterations(20).run(ages(1500).view()).unwrap();
    let age = &found.columns[0];
    assert_eq!(age.resolution, Resolution::Codes(vec![17.5, 22.0, 27.0, 32.0, 37.0, 42.0]));
    assert_eq!(age.values(), "6 codes");
    let density = age.family.support().measure != Measure::Counting;
    assert_eq!(density, age.remark().is_some(), "{}", age.family.spec());
    let tried: Vec<String> = age.trials.iter().map(|trial| short(&trial.family.spec())).collect();
    for name in ["ordinal", "categorical", "gaussian", "laplace"] {
        assert!(tried.iter().any(|tried| tried == name), "{name}: {tried:?}");
    }
    // one of the densities had been 4.6 nats ahead of the next, by a variance that had run onto a code
    assert!(age.trials.iter().all(|trial| trial.held_out < 0.0 && trial.behind.mean < 3.0), "{:?}", age.trials);
    // a density has a word
    let given = TableNoise::new().causes(1).iterations(10).fix(0, "gaussian").run(ages(400).view()).unwrap();
    assert!(given.columns[0].remark().unwrap().contains("6 different values"));
}

#[test]
fn a_gaussian_of_many_equal_whole_numbers_predicts_sensibly() {
    // most pixels of a small image are 0 or 16, as those of handwritten digits are
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let table = Array2::from_shape_fn((300, 12), |(n, d)| match ((n + d) % 3, rng.random::<f64>()) {
        (0, u) if u < 0.97 => 0.0,
        (1, u) if u < 0.9 => 16.0,
        (_, u) => (17.0 * u).floor(),
    });
    let ranking = NoiseType::new().causes(4).restarts(1).families(["gaussian", "poisson"]);
    let ranking = ranking.run(Source::Table(table.view())).unwrap();
    let gaussian = ranking.ranked.iter().find(|one| one.family.spec() == "gaussian").unwrap();
    assert!(gaussian.held_out > -6.0, "{}", gaussian.held_out);
    assert!(gaussian.bic.is_some());
}

#[test]
fn no_variance_is_below_that_of_its_interval() {
    let mut y = rounded(&drawn("gaussian", &[10.0, 4.0], (400, 2), 7), 0.5);
    y.column_mut(1).slice_mut(ndarray::s![..200]).fill(10.0);
    for em in [Em::new(2), Em::new(2).truncated(Truncation::new(4))] {
        let em = em.family("gaussian").iterations(40).seed(2);
        let steps = vec![Resolution::steps(0.5).unwrap(); 2];
        let model = em.clone().resolutions(&steps).run(&y).unwrap().model;
        let variance = |model: &Model| -> f64 {
            let (first, second) = (model.w(0), model.w(1));
            let of_causes = first.iter().zip(&second).map(|(mean, square)| square - mean * mean);
            let background = model.background();
            let of_background = [0, 2].map(|k| background[k + 1] - background[k] * background[k]);
            of_causes.chain(of_background).fold(f64::INFINITY, f64::min)
        };
        assert!(variance(&model) >= 0.25 / 12.0 - 1e-9, "{}", variance(&model));
        assert_eq!(model.columns().resolution(1), &steps[1]);
        let bound = |model: &Model| model.log_likelihood(&y).unwrap();
        assert!(bound(&model) < 0.0, "probabilities are below one");
    }
}

#[test]
fn what_is_rounded_is_kept_with_a_model_and_can_be_set() {
    let y = rounded(&drawn("exponential", &[0.2], (300, 1), 1), 1.0);
    let learner = TableLearner::new().family("exponential").causes(1).iterations(10).starts(1);
    let learned = learner.clone().run(y.view()).unwrap();
    assert_eq!(learned.resolutions, [Resolution::WHOLE]);
    let model = learned.fit.model;
    let again = Model::from_tensors(&model.to_tensors(), &model.to_metadata()).unwrap();
    assert_eq!(again.columns().resolutions(), model.columns().resolutions());
    // a zero stands for numbers up to a half, which an exponential amount can be
    let zero = Array2::<f64>::zeros((1, 1));
    assert_eq!(model.log_likelihood(&zero).unwrap().to_bits(), again.log_likelihood(&zero).unwrap().to_bits());
    let error = learner.resolution(0, Resolution::Continuous).run(y.view()).unwrap_err().to_string();
    assert!(error.contains("exponential") && error.contains('0'), "{error}");
}

#[test]
fn the_verdict_has_a_level_and_sees_two_humps() {
    // columns of one family in a table: at 5 % about three of sixty are called ill-fitting
    let (mut ill, mut all) = (0, 0);
    for (spec, parameters, step) in
        [("gaussian", vec![50.0, 64.0], None), ("gamma", vec![4.0, 0.2], Some(0.5)), ("poisson", vec![6.0], None)]
    {
        let y = drawn(spec, &parameters, (600, 20), 11);
        let y = step.map_or(y.clone(), |step| rounded(&y, step));
        let noise = (0..20).fold(TableNoise::new().causes(1).iterations(10), |noise, d| noise.fix(d, spec));
        let found = noise.run(y.view()).unwrap();
        ill += found.columns.iter().filter(|column| !column.alone.as_ref().unwrap().fits()).count();
        all += found.columns.len();
    }
    assert!(all == 60 && ill <= 9, "{ill} of {all}");
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let humps = drawn("gaussian", &[0.0, 1.0], (1000, 3), 2);
    let humps = humps.mapv(|y| y + if rng.random::<bool>() { 6.0 } else { 0.0 });
    let noise = (0..3).fold(TableNoise::new().causes(1).iterations(20), |noise, d| noise.fix(d, "gaussian"));
    let found = noise.run(humps.view()).unwrap();
    for column in &found.columns {
        let alone = column.alone.as_ref().unwrap();
        assert_eq!(alone.shape, Some(Shape::TwoHumps), "{}", alone.sentence());
    }
    // one cause explains one of three columns, and the others are as they were
    let model = found.verdict.unwrap();
    assert!(model.ill_fitting.len() >= 2 && !model.fits(), "{model:?}");
}

#[test]
fn ordered_codes_are_learned() {
    let truth = drawn("ordinal:codes=1/2/3/4/5", &[1.5, -2.0], (600, 1), 3);
    let fit = Em::new(1).family("ordinal:codes=1/2/3/4/5").seed(1).run(&truth).unwrap();
    let shown = fit.model.sample(4000, 1).y;
    let mean = |y: &Array2<f64>| -> Array1<f64> { y.mean_axis(Axis(0)).unwrap() };
    assert!((mean(&shown)[0] - mean(&truth)[0]).abs() < 0.15);
    assert!(shown.iter().all(|y| (1..=5).any(|code| *y == f64::from(code))));
}
