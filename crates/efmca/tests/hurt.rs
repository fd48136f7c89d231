//! Numbers that hurt: every family and both inferences, with values at the ends of what numbers can be. Training ends in a finite
//! model or in an error that says something, and the bound never falls where the guard promises it.

mod common;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::all_families;
use efmca::family::{Family, SharedFamily, check};
use efmca::model::Weighted;
use efmca::posterior::Precision;
use efmca::{Background, Em, Error, Fit, Init, Model, Superposition, Truncation};
use ndarray::{Array1, Array2};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// What a column is filled with, before it is made to fit its family.
const NUMBERS: [f64; 16] =
    [1e308, -1e308, 1e-308, -1e-308, 1e15, 1e15 + 1.0, 5e-324, -5e-324, -0.0, 0.0, 1.0, 0.5, 3.0, 1e150, 1e69, 1e-160];

/// The inferences: exact, and truncated in both precisions. The guard is off by default for truncated ones.
fn inferences(em: &Em) -> [(&'static str, Em); 3] {
    let truncated = |precision| em.clone().truncated(Truncation::new(3).precision(precision)).guard(true);
    [
        ("exact", em.clone()),
        ("truncated, double", truncated(Precision::Double)),
        ("truncated, single", truncated(Precision::Single)),
    ]
}

/// The number itself if the family can produce it, else something near that it can.
fn near(family: &dyn Family, value: f64) -> f64 {
    let support = family.support();
    if value.is_nan() {
        return value;
    }
    if let Some(codes) = support.codes {
        return codes[(value.abs() % 7.0) as usize % codes.len()];
    }
    let span = (support.high - support.low).min(1.0);
    let inside = support.low + span * (value.abs() / (1.0 + value.abs())).clamp(1e-16, 1.0 - 1e-16);
    [value, value.abs(), value.abs().max(1.0), value.round(), inside, inside.round()]
        .into_iter()
        .find(|value| check(family, *value, 0, 0).is_ok())
        .unwrap_or(f64::NAN)
}

/// The sizes of all numbers that the bound is the sum of, with the parameters of the cause for which they are largest. The bound
/// itself can be small where they cancel, and has their rounding then.
fn size_of_terms(model: &Model, y: &Array2<f64>, weights: Option<&Array1<f64>>) -> f64 {
    let mut size = 0.0;
    for (d, family, span) in model.columns().iter() {
        let (mut t, mut eta) = (vec![0.0; span.len()], vec![0.0; span.len()]);
        for (n, value) in y.column(d).iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            family.t(*value, &mut t);
            let mut largest = 0.0_f64;
            for profile in model.w_flat().outer_iter().chain([model.background().view()]) {
                family.phi(&profile.to_vec()[span.clone()], &mut eta);
                let products: f64 = eta.iter().zip(&t).map(|(eta, t)| (eta * t).abs()).sum();
                largest = largest.max(products + family.a(&eta).abs());
            }
            size += (1.0 + largest + family.log_h(*value).abs()) * weights.map_or(1.0, |weights| weights[n]);
        }
    }
    size
}

/// Demands something of a result, or says what it is instead.
macro_rules! demand {
    ($holds:expr, $($instead:tt)*) => {
        let holds: bool = $holds;
        if !holds {
            return Err(format!($($instead)*));
        }
    };
}

/// A model of numbers, or an error that says something.
fn is_sound(
    y: &Array2<f64>,
    weights: Option<&Array1<f64>>,
    rises: bool,
    fit: Result<Fit, Error>,
) -> Result<(), String> {
    let fit = match fit {
        Ok(fit) => fit,
        Err(error) => {
            demand!(error.to_string().len() > 10, "an error that says {error}");
            return Ok(());
        }
    };
    let model = &fit.model;
    demand!(model.pi().iter().all(|pi| *pi > 0.0 && *pi < 1.0), "pi = {}", model.pi());
    demand!(model.w_flat().iter().all(|w| w.is_finite()), "w = {}", model.w_flat());
    demand!(model.background().iter().all(|w| w.is_finite()), "background = {}", model.background());
    let steps: Vec<(f64, bool)> = fit
        .history
        .iter()
        .map(|step| (step.bound, step.revived + step.removed == 0))
        .chain([(fit.bound, true)])
        .collect();
    demand!(steps.iter().all(|(bound, _)| bound.is_finite()), "bounds {steps:?}");
    // what 64 bits leave of sums of such terms; with 32 bits a log-joint has six digits, and the guard promises no more
    let rounding = 1e-13 * size_of_terms(model, y, weights);
    for pair in steps.windows(2).filter(|pair| pair[0].1 && rises) {
        demand!(pair[1].0 >= pair[0].0 - rounding, "the bound falls by more than {rounding:e}: {steps:?}");
    }
    // what can be done with it
    let likely = model.log_likelihoods(y).map_err(|error| error.to_string())?;
    demand!(likely.iter().all(|value| !value.is_nan()), "log-likelihoods {likely}");
    let codes = model.encode(y).map_err(|error| error.to_string())?;
    demand!(codes.iter().all(|code| (0.0..=1.0 + 1e-9).contains(code)), "codes {codes}");
    demand!(model.sample(3, 1).y.iter().all(|value| !value.is_nan()), "draws that are NaN");
    Ok(())
}

/// Trains with each inference; what is not as it should be is told with `what` was tried.
fn train(what: &str, em: &Em, y: &Array2<f64>, weights: Option<&Array1<f64>>) -> Vec<String> {
    train_with(what, em, y, weights, true)
}

/// The same where the bound need not rise.
fn train_with(what: &str, em: &Em, y: &Array2<f64>, weights: Option<&Array1<f64>>, rises: bool) -> Vec<String> {
    let one = |(inference, em): &(&str, Em)| {
        let fit = match weights {
            Some(weights) => Weighted::new(y, weights.clone()).and_then(|weighted| em.run(&weighted)),
            None => em.run(y),
        };
        is_sound(y, weights, rises && !inference.contains("single"), fit)
            .err()
            .map(|problem| format!("{what}, {inference}: {problem}\n{y}"))
    };
    inferences(em).iter().filter_map(one).collect()
}

/// Tables that hurt, with their names.
fn tables(family: &dyn Family) -> Vec<(String, Array2<f64>)> {
    let full = |shape, value| Array2::from_elem(shape, near(family, value));
    let mut tables = vec![("one row".to_owned(), Array2::from_shape_fn((1, 3), |(_, d)| near(family, d as f64)))];
    for value in NUMBERS {
        tables.push((format!("constant columns of {value:e}"), full((6, 2), value)));
        tables.push((format!("one row of {value:e}"), full((1, 2), value)));
        let mut alone = Array2::from_elem((6, 2), f64::NAN);
        alone.row_mut(3).fill(near(family, value));
        tables.push((format!("all missing but one row of {value:e}"), alone.clone()));
        alone[[3, 1]] = f64::NAN;
        tables.push((format!("all missing but {value:e}"), alone));
        let mut odd = Array2::from_shape_fn((7, 2), |(n, d)| near(family, ((n + 2 * d) % 3) as f64));
        odd[[4, 1]] = near(family, value);
        tables.push((format!("one value of {value:e} among small ones"), odd));
    }
    for (place, pair) in NUMBERS.windows(2).enumerate() {
        let mixed = |(n, d): (usize, usize)| near(family, pair[(n * 5 + d * 3 + place) % 7 % 2]);
        tables.push((format!("{:e} and {:e}", pair[0], pair[1]), Array2::from_shape_fn((7, 2), mixed)));
    }
    tables.push((
        "all of them".to_owned(),
        Array2::from_shape_fn((16, 2), |(n, d)| near(family, NUMBERS[(n + 5 * d) % 16])),
    ));
    tables
}

/// Every family in turn, in as many threads as there are.
fn every_family_is_sound(try_it: impl Fn(&SharedFamily) -> Vec<String> + Sync) {
    let (families, next) = (all_families(), AtomicUsize::new(0));
    let problems = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(family) = families.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = try_it(family);
                    problems
                        .lock()
                        .unwrap()
                        .extend(found.iter().map(|problem| format!("{}, {problem}", family.spec())));
                }
            });
        }
    });
    let problems = problems.into_inner().unwrap();
    let told: Vec<&str> = problems.iter().map(String::as_str).take(40).collect();
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), told.join("\n"));
}

#[test]
fn tables_that_hurt_end_in_a_model_or_an_error() {
    every_family_is_sound(|family| {
        let em = Em::new(3).family(family.clone()).iterations(6);
        tables(&**family).iter().flat_map(|(name, y)| train(name, &em, y, None)).collect()
    });
}

#[test]
fn numbers_that_a_family_cannot_produce_end_in_a_model_or_an_error() {
    let more = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MAX, f64::MIN];
    every_family_is_sound(|family| {
        let em = Em::new(2).family(family.clone()).iterations(4);
        let table = |value: f64| Array2::from_elem((4, 2), value);
        let numbers = NUMBERS.into_iter().chain(more);
        numbers.flat_map(|value| train(&format!("{value:e} as it is"), &em, &table(value), None)).collect()
    });
}

#[test]
fn weights_that_hurt_end_in_a_model_or_an_error() {
    type Weight = fn(usize) -> f64;
    let weights: [(&str, Weight); 10] = [
        ("1e-300", |_| 1e-300),
        ("1e-90", |_| 1e-90),
        ("1e-10", |_| 1e-10),
        ("1e300", |_| 1e300),
        ("1e98", |_| 1e98),
        ("5e-324", |_| 5e-324),
        ("1e-300 to 1e300", |n| 10f64.powi(-300 + 60 * n as i32)),
        ("1e-300 to 1e90", |n| 10f64.powi(-300 + 39 * n as i32)),
        ("one row counts", |n| if n == 2 { 1e-90 } else { 0.0 }),
        ("one row counts almost alone", |n| if n == 2 { 1e15 } else { 1e-300 }),
    ];
    every_family_is_sound(|family| {
        let y = Array2::from_shape_fn((11, 2), |(n, d)| near(&**family, ((3 * n + d) % 5) as f64));
        let em = Em::new(3).family(family.clone()).iterations(6);
        let with = |of: &fn(usize) -> f64| Array1::from_shape_fn(y.nrows(), of);
        weights.iter().flat_map(|(name, of)| train(&format!("weights {name}"), &em, &y, Some(&with(of)))).collect()
    });
}

#[test]
fn weights_beyond_the_range_are_refused() {
    let y = Array2::from_elem((3, 1), 1.0);
    for weight in [1e-300, 1e300, 5e-324, f64::MAX, 0.0, -1.0, f64::NAN] {
        let refused = Weighted::new(&y, Array1::from_elem(3, weight)).err().expect("they are refused").to_string();
        assert!(refused.contains("between 1e-100 and 1e100"), "{refused}");
    }
    assert!(Weighted::new(&y, Array1::from(vec![1e-300, 1.0, 0.0])).is_ok());
}

#[test]
fn duplicated_causes_end_in_a_model() {
    every_family_is_sound(|family| {
        let y = Array2::from_shape_fn((9, 3), |(n, d)| near(&**family, ((2 * n + d) % 4) as f64));
        let first = Em::new(1).family(family.clone()).iterations(1).run(&y).expect("such tables can be learned").model;
        let profile = first.w_flat().row(0).to_vec();
        let w = Array2::from_shape_fn((3, profile.len()), |(_, k)| profile[k]);
        let mut problems = Vec::new();
        for (name, background) in [
            ("three equal causes", Background::Fixed(first.background().to_vec())),
            ("three equal causes, and the background", Background::Fixed(profile.clone())),
        ] {
            let pi = Array1::from_elem(3, 0.3);
            let model = Model::from_parts(first.columns().clone(), pi, w.clone(), background).unwrap();
            for rule in [Superposition::Max, Superposition::MaxMagnitude] {
                let model = model.clone().with_superposition(rule).unwrap();
                let em = Em::new(3).family(family.clone()).iterations(6).superposition(rule);
                let em = em.init(Init::Model(Box::new(model)));
                problems.extend(train(&format!("{name}, {rule:?}"), &em, &y, None));
                problems.extend(em.run(&y).err().map(|error| format!("{name}: {error}")));
            }
        }
        problems
    });
}

#[test]
fn a_million_equal_rows_end_in_a_model() {
    // one cause and one iteration, so that this is quick
    let exact = Em::new(1).family("exponential").iterations(1);
    let truncated = Em::new(1).family("poisson").iterations(1).truncated(Truncation::new(2));
    for (value, em) in [(0.1, exact), (7.0, truncated)] {
        let model = em.run(&Array2::from_elem((1_000_000, 1), value)).unwrap().model;
        assert!(model.w_flat().iter().chain(model.background()).all(|w| w.is_finite()), "{model:?}");
        // all of it is the mean, to the last digits of a sum of a million
        let mean = model.means()[[0, 0]];
        assert!((mean - value).abs() < 1e-9 * value, "{mean} of {value}");
    }
}

/// Fixed cases, so that a test run says the same every time; `EFMCA_ANYTHING=20` tries twenty times as many, and others.
fn config(cases: u32) -> ProptestConfig {
    let more: Option<u32> = std::env::var("EFMCA_ANYTHING").ok().and_then(|factor| factor.parse().ok());
    let rng_seed = if more.is_some() { RngSeed::Random } else { RngSeed::Fixed(1) };
    ProptestConfig {
        cases: cases * more.unwrap_or(1),
        rng_seed,
        failure_persistence: None,
        // every family is tried anyway, and smaller tables say no more
        max_shrink_iters: 0,
        ..ProptestConfig::default()
    }
}

/// Numbers of all sizes, many of them equal, and some missing.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => prop::sample::select(NUMBERS.to_vec()),
        1 => Just(f64::NAN),
        2 => (-323..308i32, 1.0..9.9f64).prop_map(|(exponent, digits)| digits * 10f64.powi(exponent)),
        1 => (0..5i32).prop_map(f64::from),
    ]
}

proptest! {
    #![proptest_config(config(10))]

    /// All of it at once: any such numbers, weights, equal columns, ways to start and kinds of training.
    #[test]
    fn any_mixture_ends_in_a_model_or_an_error(
        numbers in prop::collection::vec(number(), 24),
        exponents in prop::collection::vec(-300..99i32, 12),
        (rows, equal, weighted) in (1..=12usize, any::<bool>(), any::<bool>()),
        (causes, seed, way) in (1..4usize, 0..1000u64, 0..6usize),
    ) {
        every_family_is_sound(|family| {
            let of = |(n, d): (usize, usize)| near(&**family, numbers[if equal { 2 * n } else { 2 * n + d }]);
            let y = Array2::from_shape_fn((rows, 2), of);
            let em = Em::new(causes).family(family.clone()).iterations(5).seed(seed);
            let em = match way {
                0 => em.init(Init::Rows { share: 1.0 }),
                1 => em.init(Init::Clusters { spread: 1.0 }),
                2 => em.superposition(Superposition::MaxMagnitude),
                3 => em.pseudo_count(0.5),
                4 => em.spare_causes(1),
                _ => em,
            };
            let weights: Option<Array1<f64>> =
                weighted.then(|| exponents[..rows].iter().map(|exponent| 10f64.powi(*exponent)).collect());
            // with pseudo-counts it is the bound with their share that never falls
            let what = format!("{causes} causes, seed {seed}, way {way}, {weights:?}");
            train_with(&what, &em, &y, weights.as_ref(), way != 3)
        });
    }
}
