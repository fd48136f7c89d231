//! Whatever it is given, the crate answers with a result or an error, and a result is made of numbers.

mod common;

use common::{all_families, random_w};
use efmca::family::{check, checked_a, checked_phi, family, from_conventional};
use efmca::model::Weighted;
use efmca::{Background, Em, Init, Schedule, Superposition};
use ndarray::{Array1, Array2};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Numbers of every kind: ordinary ones, whole ones, edges, and any bit pattern.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -10.0..10.0f64,
        3 => (0..6i32).prop_map(f64::from),
        2 => Just(f64::NAN),
        1 => prop::sample::select(vec![0.0, -0.0, 1.0, 0.5, 1e-300, 1e300, 5e-324, f64::MAX, 1.0 - 1e-16, 1e-10, 1e9]),
        1 => any::<u64>().prop_map(f64::from_bits),
    ]
}

/// Pieces that specifications are made of, and some that they are not.
fn specification() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "gamma",
        "poisson",
        "hurdle-",
        "hurdle",
        "categorical",
        "gen-gamma",
        "binomial",
        ":",
        ",",
        "=",
        "k",
        "n",
        "d",
        "p",
        "scores",
        "order",
        "nominal",
        "1",
        "0",
        "-1",
        "4",
        "1e400",
        "nan",
        "inf",
        "4294967296",
        "0/1",
        "//",
        " ",
        "µ",
        "",
    ]);
    prop::collection::vec(piece, 0..7).prop_map(|pieces| pieces.concat())
}

/// Fixed cases, so that a test run says the same every time; `EFMCA_ANYTHING=20` tries twenty times as many, and others.
fn config(cases: u32) -> ProptestConfig {
    let more: Option<u32> = std::env::var("EFMCA_ANYTHING").ok().and_then(|factor| factor.parse().ok());
    let rng_seed = if more.is_some() { RngSeed::Random } else { RngSeed::Fixed(1) };
    ProptestConfig {
        cases: cases * more.unwrap_or(1),
        rng_seed,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn any_specification_is_a_family_or_an_error(spec in specification()) {
        match family(&spec) {
            Ok(found) => prop_assert_eq!(family(&found.spec()).unwrap().spec(), found.spec()),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn any_parameters_are_natural_parameters_or_an_error(values in prop::collection::vec(number(), 1..5)) {
        for family in all_families() {
            if let Ok(eta) = from_conventional(&*family, &values) {
                prop_assert!(checked_a(&*family, &eta).is_ok(), "{} {:?}", family.spec(), eta);
            }
            if let Ok(eta) = checked_phi(&*family, &values) {
                prop_assert!(eta.iter().all(|eta| !eta.is_nan()), "{} {:?} {:?}", family.spec(), values, eta);
            }
            let _ = check(&*family, values[0], 0, 0);
        }
    }
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn any_data_gives_a_model_of_numbers_or_an_error(
        values in prop::collection::vec(number(), 24),
        rows in 1..9usize,
        causes in 1..4usize,
        seed in 0..1000u64,
        way in 0..8usize,
        weight in 0.0..3.0f64,
    ) {
        let columns = 24 / rows.max(6);
        for family in all_families() {
            // values of the right kind in place of most that are not, so that not everything ends at the first check
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut eta = vec![0.0; family.l()];
            family.phi(&random_w(&*family, &mut rng), &mut eta);
            let mut fits = |value: f64| match check(&*family, value, 0, 0) {
                Err(_) if !value.is_nan() => family.sample(&eta, &mut rng),
                _ => value,
            };
            let y = Array2::from_shape_fn((rows, columns), |(n, d)| fits(values[(n * columns + d) % 24]));
            let em = Em::new(causes).family(family.clone()).seed(seed).iterations(6);
            let em = match way {
                0 => em,
                1 => em.guard(false).pseudo_count(0.1),
                2 => em.init(Init::Rows { share: 1.0 }),
                3 => em.warm_start(3),
                4 => em.rho(Schedule::Geometric { from: 1.0, to: 30.0, until: 4 }),
                5 => em.temperature(Schedule::Linear { from: 9.0, to: 1.0, until: 3 }).starts(3).short_iterations(2),
                6 => em.superposition(Superposition::MaxMagnitude).m_step_iterations(3),
                _ => em.background(Background::Learned).pi_init(0.01, 0.99),
            };
            let weights = Array1::from_shape_fn(rows, |n| if n == 0 { weight } else { 1.0 });
            match em.run(&Weighted::new(&y, weights.clone()).unwrap()) {
                Ok(fit) => {
                    prop_assert!(fit.bound.is_finite(), "{} {y:?}: {}", family.spec(), fit.bound);
                    let numbers = fit.model.w_flat().iter().chain(fit.model.pi()).chain(fit.model.background());
                    prop_assert!(numbers.clone().all(|w| w.is_finite()), "{} {y:?}", family.spec());
                    prop_assert!(fit.model.encode(&y).is_ok());
                }
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }
}
