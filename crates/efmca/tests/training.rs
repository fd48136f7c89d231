//! Schedules, starts, holding, reviving, and everything that is refused.

mod common;

use common::random_model;
use efmca::em::StopReason;
use efmca::family::family;
use efmca::model::Weighted;
use efmca::{Background, Em, Error, Held, Hold, Init, Model, Schedule, Superposition, bars};
use ndarray::{Array1, Array2, array};
use std::ops::ControlFlow;

fn bars_truth() -> Model {
    bars::model(family("poisson").unwrap(), 3, &[10.0], &[1.0], 0.2).unwrap()
}

fn em() -> Em {
    Em::new(6).family(family("poisson").unwrap())
}

#[test]
fn several_starts_find_the_bars() {
    let truth = bars_truth();
    for seed in 0..5 {
        let y = truth.sample(500, seed).y;
        let fit = em().seed(seed).starts(10).run(&y).unwrap();
        assert!(bars::recovered(&truth, &fit.model), "seed {seed}");
        assert!(fit.bound > truth.log_likelihood(&y).unwrap() - 1.0);
    }
}

#[test]
fn annealing_schedules_run_and_end_at_the_true_model() {
    let truth = bars_truth();
    let y = truth.sample(500, 3).y;
    let fit = em()
        .seed(1)
        .temperature(Schedule::Linear { from: 3.0, to: 1.0, until: 10 })
        .rho(Schedule::Geometric { from: 2.0, to: 20.0, until: 15 })
        .iterations(40)
        .tolerance(0.0)
        .run(&y)
        .unwrap();
    assert_eq!(fit.history[0].temperature, 3.0);
    assert_eq!(fit.history[0].rho, Some(2.0));
    assert_eq!((fit.history[15].rho, fit.history[15].temperature), (None, 1.0));
    assert_eq!(fit.model.superposition(), Superposition::Max);
    assert_eq!(fit.model.log_likelihood(&y).unwrap(), fit.bound);
    // a tempered bound is a lower bound
    assert!(fit.history[0].bound < fit.bound);
}

#[test]
fn the_gaussian_warm_start_serves_other_families() {
    let truth = bars::model(family("gamma").unwrap(), 3, &[3.0, 0.3], &[3.0, 3.0], 0.2).unwrap();
    let y = truth.sample(600, 2).y;
    let first = |warm: usize| {
        let em = Em::new(6).family("gamma").seed(1).iterations(60).warm_start(warm);
        em.run(&y).unwrap().history[0].bound
    };
    // the posteriors of the Gaussian are worth many iterations of the target family
    assert!(first(50) > first(0) + 500.0, "{} {}", first(50), first(0));
    let recovered = |seed: &u64| {
        let em = Em::new(6).family("gamma").seed(*seed).iterations(60).warm_start(50);
        bars::recovered(&truth, &em.run(&y).unwrap().model)
    };
    assert!((0..6).filter(recovered).count() >= 3);
    // zeros and ones have columns without variance; they must not break the Gaussian
    let truth = bars::model(family("bernoulli").unwrap(), 3, &[0.99], &[0.01], 0.2).unwrap();
    let mut y = truth.sample(300, 2).y;
    y.column_mut(4).fill(0.0);
    assert!(Em::new(6).family("bernoulli").warm_start(10).run(&y).unwrap().bound.is_finite());
}

#[test]
fn held_parameters_do_not_move() {
    let model = random_model(vec![family("gaussian").unwrap(); 5], 3, 4);
    let y = model.sample(200, 1).y;
    let em = || {
        let em = Em::new(3).family(family("gaussian").unwrap()).init(Init::Model(Box::new(model.clone())));
        em.background(Background::Fixed(model.background().to_vec())).iterations(6).tolerance(0.0).revive(false)
    };
    let free = em().run(&y).unwrap().model;
    assert!(free.pi() != model.pi() && free.w(0) != model.w(0));
    let held = em().hold(Hold::always(Held::Pi)).hold(Hold::always(Held::W(0))).run(&y).unwrap().model;
    assert_eq!((held.pi(), held.w(0)), (model.pi(), model.w(0)));
    assert!(held.w(1) != model.w(1));
    // the second dictionary of the Gaussian is its variance
    let variance = |model: &Model| model.w(1) - model.w(0).mapv(|w| w * w);
    let held = em().hold(Hold::always(Held::W(1))).run(&y).unwrap().model;
    assert!(held.w(0) != model.w(0));
    assert!(variance(&held).iter().zip(&variance(&model)).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + b.abs())));
    // and a span of iterations ends
    let span = em().hold(Hold { what: Held::Pi, from: 0, until: 3 }).run(&y).unwrap().model;
    assert!(span.pi() != model.pi());
}

#[test]
fn densities_can_have_a_pseudo_count_of_their_own() {
    // two narrow groups far apart, and a code that tells which
    let y = Array2::from_shape_fn((80, 2), |(n, d)| {
        let group = (n % 2) as f64;
        if d == 0 { 100.0 * group + 0.1 * ((n / 2) % 5) as f64 } else { group }
    });
    let fit = |own: Option<f64>| {
        let em = Em::new(1).families(["gaussian", "bernoulli"]).seed(1).pseudo_count(1.0).density_pseudo_count(own);
        em.run(&y).unwrap().model
    };
    let (with_one, with_less) = (fit(None), fit(Some(1.0 / 32.0)));
    let spread = |model: &Model| model.columns().family(0).spread(&model.w_flat().row(0).to_vec()[..2]).unwrap();
    // one average row in 41 adds a variance of some 2,500 / 41; a 32nd of a row a 32nd of that
    let ratio = (spread(&with_one) / spread(&with_less)).powi(2);
    assert!((25.0..40.0).contains(&ratio), "{ratio}");
    // the code has its row of average data in both
    let code = |model: &Model| model.w_flat()[[0, 2]];
    assert!((code(&with_one) - code(&with_less)).abs() < 1e-6 && code(&with_less) < 0.99);
    let wrong = Em::new(1).family("gaussian").density_pseudo_count(-1.0).run(&y).unwrap_err();
    assert!(wrong.to_string().contains("density_pseudo_count"), "{wrong}");
}

#[test]
fn pseudo_counts_pull_towards_the_average_and_keep_causes_inside() {
    let truth = bars::model(family("bernoulli").unwrap(), 2, &[0.99], &[0.01], 0.3).unwrap();
    let y = truth.sample(60, 1).y;
    let smallest = |pseudo_count: f64| {
        let fit = Em::new(4).family("bernoulli").seed(1).pseudo_count(pseudo_count).run(&y).unwrap();
        fit.model.w_flat().iter().copied().fold(1.0, f64::min)
    };
    assert!(smallest(0.0) < 1e-4 && smallest(0.5) > 1e-3, "{} {}", smallest(0.0), smallest(0.5));
    // the guard counts them as data: from the maximum likelihood it lets the step towards the average pass
    let em = || Em::new(4).family("bernoulli").iterations(200).revive(false);
    let start = em().seed(1).run(&y).unwrap().model;
    let again = |guard: bool| em().init(Init::Model(Box::new(start.clone()))).pseudo_count(5.0).guard(guard).run(&y);
    let (guarded, plain) = (again(true).unwrap().model, again(false).unwrap().model);
    let moved = |model: &Model| (model.w_flat() - start.w_flat()).iter().fold(0.0, |max, d| f64::max(max, d.abs()));
    assert!(moved(&guarded) > 0.2 && moved(&plain) > 0.2, "{} {}", moved(&guarded), moved(&plain));
}

#[test]
fn weights_have_no_unit() {
    let truth = bars_truth();
    let y = truth.sample(300, 2).y;
    let fit = |weight: f64| {
        em().seed(3).iterations(30).run(&Weighted::new(&y, Array1::from_elem(300, weight)).unwrap()).unwrap()
    };
    let one = fit(1.0);
    for weight in [1e-15, 1.0 / 300.0, 1e6] {
        let other = fit(weight);
        assert!((other.bound / weight - one.bound).abs() < 1e-6 * one.bound.abs(), "{weight}");
        assert_eq!(other.history.iter().map(|step| step.revived).sum::<usize>(), 0);
    }
    // rows without weight are not there, at the start neither
    let longer = ndarray::concatenate![ndarray::Axis(0), y, Array2::from_elem((200, 9), 1e6)];
    let weights = Array1::from_shape_fn(500, |n| if n < 300 { 1.0 } else { 0.0 });
    let start = Init::Rows { share: 0.3 };
    let (a, b) = (
        em().seed(3).init(start.clone()).run(&y).unwrap(),
        em().seed(3).init(start).run(&Weighted::new(&longer, weights.clone()).unwrap()).unwrap(),
    );
    assert!((a.bound - b.bound).abs() < 1e-6 * a.bound.abs());
}

#[test]
fn what_is_held_is_not_revived_and_not_warmed() {
    let truth = bars_truth();
    let y = truth.sample(200, 6).y;
    let mut w = truth.w(0);
    w.row_mut(5).fill(1e-6);
    let start = Model::new(family("poisson").unwrap(), truth.pi().clone(), vec![w], Background::fixed(&[1.0])).unwrap();
    let em = em().init(Init::Model(Box::new(start.clone()))).iterations(9);
    let fit = em.hold(Hold::always(Held::W(0))).hold(Hold::always(Held::Pi)).run(&y).unwrap();
    assert_eq!((fit.model.w(0), fit.model.pi()), (start.w(0), start.pi()));
    let warm = Em::new(6).family("poisson").pi_init(0.2, 0.2).hold(Hold::always(Held::Pi)).warm_start(5);
    assert!(warm.run(&y).unwrap().model.pi().iter().all(|pi| *pi == 0.2));
}

#[test]
fn the_ends_of_the_numbers_do_not_overflow() {
    let y = bars_truth().sample(50, 1).y;
    let never = |_: &efmca::em::Progress<'_>| ControlFlow::Break(());
    let em = em()
        .iterations(usize::MAX)
        .hold(Hold { what: Held::Pi, from: 0, until: usize::MAX - 1 })
        .temperature(Schedule::Linear { from: 2.0, to: 1.0, until: usize::MAX });
    assert!(em.run_observed(&y, &mut |progress| never(progress)).is_ok());
    assert!(family(&("hurdle-".repeat(100_000) + "gamma")).is_err());
    assert!(family("hurdle-pareto:xm=2").is_err());
}

#[test]
fn dead_causes_are_revived() {
    let truth = bars_truth();
    let y = truth.sample(400, 6).y;
    // two causes so dim and so rare that no row would ever be given to them
    let mut w = truth.w(0);
    for h in 4..6 {
        w.row_mut(h).fill(1e-6);
    }
    let start = Model::new(family("poisson").unwrap(), truth.pi().clone(), vec![w], Background::fixed(&[1.0])).unwrap();
    let run = |revive: bool| {
        let em = em().background(Background::fixed(&[1.0])).init(Init::Model(Box::new(start.clone())));
        em.revive(revive).iterations(90).run(&y).unwrap()
    };
    let (without, with) = (run(false), run(true));
    assert!(with.history.iter().map(|step| step.revived).sum::<usize>() >= 2);
    let brightest = |fit: &efmca::Fit, h: usize| fit.model.w(0).row(h).iter().copied().fold(0.0, f64::max);
    assert!((4..6).all(|h| brightest(&without, h) < 1e-3 && brightest(&with, h) > 5.0));
    assert!(with.bound > without.bound + 100.0);
}

#[test]
fn training_says_why_it_stopped() {
    let y = bars_truth().sample(300, 1).y;
    assert_eq!(em().iterations(3).run(&y).unwrap().stop, StopReason::Iterations);
    assert_eq!(em().iterations(1000).run(&y).unwrap().stop, StopReason::Converged);
    // the paper's plain M-step can end in a cycle of two models, and then it is cut off by the iterations
    assert_eq!(em().guard(false).iterations(1000).run(&y).unwrap().stop, StopReason::Iterations);
    let mut seen = Vec::new();
    let fit = em()
        .run_observed(&y, &mut |progress| {
            seen.push(progress.done);
            if progress.done == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    assert_eq!((fit.stop, seen), (StopReason::Interrupted, vec![1, 2, 3, 4]));
    assert_eq!(em().iterations(0).run(&y).unwrap().history.len(), 0);
}

#[test]
fn a_whole_run_keeps_its_values() {
    // A change here changes what every seed gives, and belongs in the changelog.
    let y = bars_truth().sample(200, 11).y;
    let fit = em().seed(5).starts(3).iterations(20).tolerance(0.0).run(&y).unwrap();
    let found = format!("{:.6} {:.6} {:.6}", fit.bound, fit.model.pi()[0], fit.model.w(0)[[0, 0]]);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pinned/run.txt");
    if std::env::var_os("EFMCA_UPDATE_PINNED").is_some() {
        std::fs::write(path, &found).unwrap();
    }
    assert_eq!(found, std::fs::read_to_string(path).unwrap());
}

#[test]
fn tensors_carry_everything() {
    let specs = ["poisson", "gamma:k=4", "gaussian", "categorical:k=3"];
    let model = random_model(specs.iter().map(|spec| family(spec).unwrap()).collect(), 3, 1);
    let model = model.with_superposition(Superposition::MaxMagnitude).unwrap();
    let (tensors, metadata) = (model.to_tensors(), model.to_metadata());
    let again = Model::from_tensors(&tensors, &metadata).unwrap();
    assert_eq!((again.pi(), again.w_flat(), again.background()), (model.pi(), model.w_flat(), model.background()));
    assert_eq!(again.superposition(), Superposition::MaxMagnitude);
    assert_eq!(again.to_metadata(), metadata);
    let refuse = |tensors: &[efmca::model::Tensor], metadata: &str| {
        let error = Model::from_tensors(tensors, metadata).unwrap_err();
        assert!(!error.to_string().is_empty());
        error.to_string()
    };
    assert!(refuse(&tensors[1..], &metadata).contains("no tensor `pi`"));
    assert!(refuse(&tensors, "{").contains("metadata cannot be read"));
    assert!(refuse(&tensors, "{}").contains("not say that it is an efmca model"));
    assert!(refuse(&tensors, &metadata.replace("\"version\":1", "\"version\":7")).contains("version is 7"));
    assert!(refuse(&tensors, &metadata.replace("poisson", "poison")).contains("did you mean"));
    let mut bent = tensors.clone();
    bent[0].shape = vec![2];
    assert!(refuse(&bent, &metadata).contains("shape"));
    let mut outside = tensors.clone();
    outside[1].values[0] = -1.0;
    assert!(refuse(&outside, &metadata).contains("outside its domain"));
}

#[test]
fn bad_input_is_refused_with_a_reason() {
    let y = array![[1.0, 2.0], [0.0, 3.0]];
    let refused = |em: Em, y: &Array2<f64>| em.run(y).unwrap_err();
    let poisson = |h: usize| Em::new(h).family("poisson");
    assert!(matches!(refused(poisson(0), &y), Error::Setting { name: "causes", .. }));
    // more causes than exact posteriors can have are trained with truncated ones
    let many = poisson(17).iterations(3).run(&y).unwrap().model;
    let error = efmca::internals::Exact::new(&many).unwrap_err();
    assert!(matches!(error, Error::TooManyCauses { causes: 17, limit: 16 }) && error.to_string().contains("2^H"));
    assert!(matches!(refused(poisson(1 << 16), &y), Error::Setting { name: "causes", .. }));
    assert!(matches!(refused(Em::new(2), &y), Error::Setting { name: "family", .. }));
    assert!(matches!(refused(poisson(2).starts(usize::MAX), &y), Error::Setting { name: "starts", .. }));
    let needed = many.memory(&y, efmca::model::Inference::Truncated { states: usize::MAX, e_steps: 1 });
    assert_eq!(needed, u64::MAX, "an estimate that is too large for a number is the largest one");
    assert!(matches!(Em::new(2).family("poison").run(&y), Err(Error::UnknownFamily { .. })));
    for (rows, columns) in [(0, 0), (0, 3), (3, 0)] {
        assert!(matches!(refused(poisson(2), &Array2::zeros((rows, columns))), Error::EmptyData { .. }));
    }
    let three = vec![family("poisson").unwrap(); 3];
    assert!(matches!(refused(Em::new(2).families(three), &y), Error::Shape { .. }));
    let error = refused(poisson(2), &array![[1.0, 2.0], [0.0, f64::INFINITY]]);
    assert!(matches!(error, Error::NotFinite { row: 1, column: 1, .. }));
    let error = refused(poisson(2), &array![[1.0, 2.5], [0.0, 3.0]]);
    assert!(matches!(error, Error::OutsideSupport { row: 0, column: 1, .. }));
    assert!(error.to_string().contains("2.5") && error.to_string().contains("whole numbers"));
    let error = refused(poisson(2), &array![[1.0, -1.0], [0.0, 3.0]]);
    assert!(matches!(error, Error::OutsideSupport { value: -1.0, .. }));
    let error = refused(poisson(2), &array![[1.0, f64::NAN], [0.0, f64::NAN]]);
    assert!(matches!(error, Error::EmptyColumn { column: 1 }));
    assert!(matches!(Weighted::new(&y, array![1.0, -1.0]).err().unwrap(), Error::Weight { row: 1, value: -1.0 }));
    assert!(matches!(Weighted::new(&y, array![0.0, 0.0]).err().unwrap(), Error::Weight { .. }));
    assert!(matches!(Weighted::new(&y, Array1::ones(3)).err().unwrap(), Error::Shape { .. }));
    let settings = [
        poisson(2).starts(0),
        poisson(2).m_step_iterations(0),
        poisson(2).tolerance(f64::NAN),
        poisson(2).pseudo_count(-1.0),
        poisson(2).smallest_pi(0.7),
        poisson(2).pi_init(0.0, 0.5),
        poisson(2).temperature(Schedule::Constant(0.0)),
        poisson(2).rho(Schedule::Constant(f64::INFINITY)),
        poisson(2).init(Init::MeanNoise { scale: 0.0 }),
        poisson(2).init(Init::Rows { share: 1.5 }),
        poisson(2).superposition(Superposition::Smooth { rho: -1.0 }),
    ];
    for em in settings {
        let error = refused(em, &y);
        assert!(matches!(error, Error::Setting { .. }), "{error}");
    }
    let other = Init::Model(Box::new(bars_truth()));
    assert!(matches!(refused(poisson(2).init(other), &y), Error::Shape { .. }));
    assert!(matches!(refused(poisson(2).background(Background::fixed(&[-1.0])), &y), Error::OutsideDomain { .. }));
    assert!(matches!(refused(poisson(2).background(Background::fixed(&[1.0; 7])), &y), Error::Shape { .. }));
    let far = Em::new(1).family("gaussian");
    let years = array![[1.0, 1.6e9], [2.0, 1.6e9 + 1.0], [4.0, 1.6e9 + 3.0]];
    assert!(matches!(far.run(&years).unwrap_err(), Error::TooFarFromZero { column: 1, .. }));
    assert!(matches!(refused(poisson(2), &array![[1.0, 1e200], [0.0, 3.0]]), Error::TooExtreme { column: 1, .. }));
    let w = vec![array![[1.0, 2.0]]];
    let new = |pi: Array1<f64>, w: Vec<Array2<f64>>| {
        Model::new(family("poisson").unwrap(), pi, w, Background::fixed(&[1.0])).unwrap_err()
    };
    assert!(matches!(new(array![1.0], w.clone()), Error::Setting { name: "pi", .. }));
    assert!(matches!(new(array![0.5, 0.5], w.clone()), Error::Shape { .. }));
    assert!(matches!(new(array![0.5], vec![]), Error::Shape { .. }));
    assert!(matches!(new(array![0.5], vec![array![[1.0, f64::NAN]]]), Error::OutsideDomain { .. }));
    assert!(matches!(bars_truth().log_likelihood(&y).unwrap_err(), Error::Shape { .. }));
}

/// Causes that own the same columns with nearly the same strength: the plain M-step of these posteriors changes who owns what.
#[test]
fn posteriors_that_are_adopted_keep_what_was_found() {
    let mut fell = 0;
    for (taught, learner) in [
        ("poisson", "poisson"),
        ("exponential", "exponential"),
        ("nakagami:m=0.5", "half-normal"),
        ("negative-binomial:r=1", "geometric"),
        ("gaussian:var=1", "gaussian:var=1"),
    ] {
        for seed in 0..4 {
            let truth = random_model(vec![family(taught).unwrap(); 8], 5, seed);
            let y = truth.sample(400, seed).y;
            let em = |spec: &str| Em::new(5).family(spec).iterations(30).seed(seed).pseudo_count(1e-3);
            let teacher = em(taught).run(&y).unwrap();
            let adopted =
                em(learner).iterations(0).init(Init::Posteriors(Box::new(teacher.model.clone()))).run(&y).unwrap();
            let lost = teacher.bound - adopted.bound;
            assert!(lost < 1e-6 * teacher.bound.abs(), "{learner} from {taught}, seed {seed}: {lost} nats");
            // what the plain step does, for comparison
            let plain =
                em(taught).iterations(1).guard(false).init(Init::Model(Box::new(teacher.model.clone()))).run(&y);
            fell += usize::from(plain.unwrap().bound < teacher.bound - 1.0);
        }
    }
    assert!(fell > 3, "the plain step never lost anything, so that nothing was tested: {fell}");
}
