use super::*;
use crate::family::family;
use crate::family::registry::entries;

fn image(rows: usize, columns: usize, mean: impl Fn(usize, usize) -> f64) -> Array4<f64> {
    Array4::from_shape_fn((1, rows, columns, 1), |(_, row, column, _)| mean(row, column))
}

fn noise(spec: &str) -> Corruption {
    Corruption::new(spec)
}

fn message(corruption: &Corruption, clean: &Array4<f64>) -> String {
    corruption.run(clean.view()).unwrap_err().to_string()
}

/// Mean and standard deviation of 40,000 draws with one mean.
fn moments(corruption: &Corruption, mean: f64) -> (f64, f64) {
    let drawn = corruption.run(image(200, 200, |_, _| mean).view()).unwrap().noisy;
    (drawn.mean().unwrap(), drawn.std(0.0))
}

#[test]
fn every_family_has_the_mean_that_was_asked_for() {
    // the standard deviation as a function of the mean, from the textbooks
    let sds: [(&str, f64, f64); 17] = [
        ("poisson", 3.7, 3.7_f64.sqrt()),
        ("bernoulli", 0.3, 0.21_f64.sqrt()),
        ("binomial:n=10", 4.0, 2.4_f64.sqrt()),
        ("geometric", 2.0, 6.0_f64.sqrt()),
        ("negative-binomial:r=2.5", 5.0, 15.0_f64.sqrt()),
        ("zero-truncated-poisson", 2.0, 1.086),
        ("exponential", 7.0, 7.0),
        ("gamma:k=4", 6.0, 3.0),
        ("rayleigh", 2.0, 2.0 * (4.0 / std::f64::consts::PI - 1.0).sqrt()),
        ("maxwell", 2.0, 2.0 * (3.0 * std::f64::consts::PI / 8.0 - 1.0).sqrt()),
        ("half-normal", 2.0, 2.0 * (std::f64::consts::PI / 2.0 - 1.0).sqrt()),
        ("weibull:k=1", 2.5, 2.5),
        ("inverse-gamma:alpha=6", 3.0, 1.5),
        ("gen-gamma:d=1,p=1", 3.0, 3.0),
        ("continuous-bernoulli", 0.5, 12.0_f64.sqrt().recip()),
        ("pareto:xm=2", 2.5, 2.5 / 15.0_f64.sqrt()),
        ("gaussian:var=9", -4.0, 3.0),
    ];
    for (spec, mean, sd) in sds {
        let (found_mean, found_sd) = moments(&noise(spec), mean);
        assert!((found_mean - mean).abs() < 5.0 * sd / 200.0, "{spec}: mean {found_mean}, not {mean}");
        assert!((found_sd / sd - 1.0).abs() < 0.06, "{spec}: sd {found_sd}, not {sd}");
    }
    for (spec, mean, sd) in [
        ("gaussian", 5.0, 2.0),
        ("gaussian", 0.0, 2.0),
        ("gamma", 5.0, 2.0),
        ("log-normal", 5.0, 2.0),
        ("inverse-gaussian", 5.0, 2.0),
        ("beta", 0.7, 0.1),
    ] {
        let (found_mean, found_sd) = moments(&noise(spec).sd(sd), mean);
        assert!((found_mean - mean).abs() < 5.0 * sd / 200.0, "{spec}: mean {found_mean}, not {mean}");
        assert!((found_sd / sd - 1.0).abs() < 0.06, "{spec}: sd {found_sd}, not {sd}");
    }
}

#[test]
fn all_families_draw_from_their_support_or_say_why_not() {
    let clean = image(5, 5, |row, column| 0.05 + 0.03 * (5 * row + column) as f64);
    let mut drawn = 0;
    for spec in entries().iter().flat_map(|entry| entry.examples) {
        let family = family(spec).unwrap();
        for corruption in [Corruption::new(family.clone()), Corruption::new(family.clone()).sd(0.05)] {
            match corruption.run(clean.view()) {
                Ok(result) => {
                    assert!(result.noisy.iter().all(|y| family.support().contains(*y)), "{spec}");
                    drawn += 1;
                }
                Err(error) => assert!(error.to_string().len() > 40, "{spec}: {error}"),
            }
        }
    }
    assert!(drawn > 15, "{drawn}");
}

#[test]
fn the_seed_decides_and_pixels_are_on_their_own() {
    let clean = image(6, 7, |row, column| 1.0 + (row * column) as f64);
    let draw = |seed: u64, clean: &Array4<f64>| noise("exponential").seed(seed).run(clean.view()).unwrap().noisy;
    let first = draw(3, &clean);
    assert_eq!(first, draw(3, &clean));
    assert_ne!(first, draw(4, &clean));
    let mut changed = clean.clone();
    changed[[0, 0, 0, 0]] = 100.0;
    changed[[0, 2, 2, 0]] = f64::NAN;
    let second = draw(3, &changed);
    let differ = first.iter().zip(&second).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
    assert_eq!(differ, 2);
    assert!(second[[0, 2, 2, 0]].is_nan());
}

#[test]
fn a_peak_scales_the_means_and_is_told() {
    let clean = image(4, 4, |row, column| (row * 4 + column) as f64 * 17.0);
    let result = noise("poisson").peak(2.0).run(clean.view()).unwrap();
    assert_eq!((result.largest_mean, result.scale, result.raised), (2.0, 127.5, 0));
    assert!(result.means.iter().zip(&clean).all(|(mean, clean)| (mean * result.scale - clean).abs() < 1e-12));
    let expected = psnr(result.noisy.view(), result.means.view(), 2.0).unwrap();
    assert_eq!(result.psnr, Some(expected));
    assert_eq!(noise("poisson").run(clean.view()).unwrap().scale, 1.0);
    let dark = image(2, 2, |_, _| 0.0);
    assert!(message(&noise("poisson").peak(2.0), &dark).contains("largest value of the image is 0"));
    assert_eq!(noise("poisson").run(dark.view()).unwrap().psnr, None);
}

#[test]
fn ends_of_integers_are_certain() {
    let clean = image(1, 2, |_, column| column as f64);
    assert_eq!(noise("bernoulli").run(clean.view()).unwrap().noisy, clean);
    assert_eq!(noise("poisson").run(clean.view()).unwrap().noisy[[0, 0, 0, 0]], 0.0);
}

#[test]
fn means_that_cannot_be_name_the_first_pixel() {
    let clean = image(3, 3, |row, column| if row >= 1 && column == 2 { 0.0 } else { 1.0 });
    let text = message(&noise("exponential"), &clean);
    assert!(text.starts_with("page 1, row 2, column 3, channel 1:") && text.contains("above 0"), "{text}");
    assert!(text.contains("floor"), "{text}");
    let raised = noise("exponential").floor(0.1).run(clean.view()).unwrap();
    assert_eq!((raised.raised, raised.means[[0, 1, 2, 0]]), (2, 0.1));
    let text = message(&noise("bernoulli"), &image(1, 2, |_, column| 200.0 * column as f64));
    assert!(text.contains("column 2") && text.contains("from 0 to 1") && text.contains("peak"), "{text}");
    let text = message(&noise("beta").sd(0.4), &image(1, 1, |_, _| 0.1));
    assert!(text.contains("below 0.3"), "{text}");
    let text = message(&noise("poisson"), &image(1, 1, |_, _| f64::INFINITY));
    assert!(text.contains("finite"), "{text}");
    assert!(message(&noise("poisson"), &image(1, 1, |_, _| -1.0)).contains("0 or more"));
}

#[test]
fn noise_that_a_mean_does_not_fix_says_what_does() {
    let clean = image(1, 1, |_, _| 1.0);
    for (corruption, expected) in [
        (noise("gaussian"), "gaussian:var=25"),
        (noise("gamma"), "gamma:k=4"),
        (noise("beta"), "standard deviation sd"),
        (noise("poisson").sd(1.0), "leave it out"),
        (noise("gaussian:var=1").sd(1.0), "leave it out"),
        (noise("gaussian:mean=1"), "whatever its parameter"),
        (noise("laplace"), "whatever its parameter"),
        (noise("inverse-gamma:alpha=0.7"), "its mean is inf"),
        (noise("hurdle-gamma").sd(1.0), "use a family with one parameter"),
        (noise("categorical:k=2"), "use a family with one parameter"),
        (noise("poisson").peak(-1.0), "positive"),
        (noise("gaussian").sd(0.0), "positive"),
        (noise("poisson").floor(f64::NAN), "finite"),
    ] {
        let text = message(&corruption, &clean);
        assert!(text.contains(expected), "{text}");
        // nothing of that depends on the image, and it is found without one
        assert_eq!(corruption.check().unwrap_err().to_string(), text);
    }
    assert!(matches!(Corruption::new("poison").check(), Err(Error::UnknownFamily { .. })));
    assert_eq!(noise("gamma").sd(2.0).check(), Ok(()));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig {
        cases: 200,
        rng_seed: proptest::test_runner::RngSeed::Fixed(3),
        failure_persistence: None,
        ..proptest::prelude::ProptestConfig::default()
    })]
    #[test]
    fn any_numbers_give_values_of_the_family_or_an_error(
        values in proptest::collection::vec(proptest::prelude::any::<f64>(), 1..4),
        settings in proptest::array::uniform3(proptest::option::of(proptest::prelude::any::<f64>())),
        seed in proptest::prelude::any::<u64>(),
    ) {
        let clean = Array4::from_shape_vec((1, values.len(), 1, 1), values).unwrap();
        for spec in entries().iter().flat_map(|entry| entry.examples) {
            let [peak, sd, floor] = settings;
            let family = family(spec).unwrap();
            for sd in [None, sd] {
                let corruption = Corruption { family: (&family).into(), peak, sd, floor, offset: None, seed };
                if let Ok(result) = corruption.run(clean.view()) {
                    let possible = |y: &f64| y.is_nan() || family.support().contains(*y);
                    proptest::prop_assert!(result.noisy.iter().all(possible), "{spec}: {}", result.noisy);
                }
            }
        }
    }
}
