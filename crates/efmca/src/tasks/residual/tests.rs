use super::*;
use crate::tasks::corrupt::Corruption;
use ndarray::{Array4, ArrayView4, Axis, s};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A scene with flat parts, an edge and a texture; means from 4 to 30.
fn scene(pages: usize, side: usize, channels: usize) -> Array4<f64> {
    Array4::from_shape_fn((pages, side, side, channels), |(page, y, x, channel)| {
        let edge = if x + page > side / 2 { 14.0 } else { 4.0 };
        let texture = if y > side / 2 { 6.0 * (1.0 + (0.9 * (x + y) as f64).sin()) } else { 0.0 };
        edge + texture + channel as f64 + 2.0 * y as f64 / side as f64
    })
}

fn noisy(family: &str, clean: &Array4<f64>, seed: u64) -> Array4<f64> {
    Corruption::new(family).seed(seed).run(clean.view()).unwrap().noisy
}

/// Noise with standard deviation `sd` that is uniform, which suffices where only patterns matter.
fn even_noise(clean: &Array4<f64>, sd: f64, seed: u64) -> Array4<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    clean.mapv(|value| value + sd * 12f64.sqrt() * (random.random::<f64>() - 0.5))
}

fn check(family: &str, noisy: &Array4<f64>, estimate: &Array4<f64>) -> Residual {
    ResidualCheck::new(family).run(noisy.view(), estimate.view()).unwrap()
}

fn kinds(residual: &Residual) -> Vec<FindingKind> {
    residual.findings.iter().map(|finding| finding.kind).collect()
}

/// Each pixel replaced by the mean of those near it: `share` of each neighbour in a row and in a column.
fn smoothed(image: &Array4<f64>, share: f64) -> Array4<f64> {
    let along = |image: &Array4<f64>, axis: Axis| {
        let mut smooth = image.clone();
        for (from, mut to) in image.lanes(axis).into_iter().zip(smooth.lanes_mut(axis)) {
            for at in 1..from.len() - 1 {
                to[at] = (1.0 - 2.0 * share) * from[at] + share * (from[at - 1] + from[at + 1]);
            }
        }
        smooth
    };
    along(&along(image, Axis(1)), Axis(2))
}

#[test]
fn residuals_of_a_good_estimate_pass() {
    let clean = scene(1, 96, 1);
    for (seed, family) in
        ["poisson", "exponential", "gamma:k=4", "gaussian:var=9", "rayleigh", "geometric"].iter().enumerate()
    {
        let residual = check(family, &noisy(family, &clean, seed as u64), &clean);
        assert_eq!(kinds(&residual), [], "{family}: {:?}", residual.findings);
        let dispersion = residual.dispersion.unwrap();
        assert!((dispersion.all.value - 1.0).abs() < 4.0 * dispersion.all.error, "{family}: {dispersion:?}");
        assert!(residual.variance_known && residual.is_judged() && residual.pixels == 96 * 96);
        let quantiles = residual.quantiles.unwrap();
        assert!(quantiles.distance < 2.0 / (quantiles.pixels as f64).sqrt(), "{family}: {}", quantiles.distance);
        assert!((quantiles.histogram.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        for lag in &residual.correlations.lags {
            assert!(lag.all.abs() < 4.0 * lag.error, "{family}: {lag:?}");
        }
    }
    let gaussian = Corruption::new("gaussian").sd(3.0).seed(1).run(clean.view()).unwrap().noisy;
    let residual = check("gaussian", &gaussian, &clean);
    assert_eq!(kinds(&residual), [], "{:?}", residual.findings);
    assert!(!residual.variance_known);
}

#[test]
fn estimates_that_saw_the_noise_pass() {
    let clean = scene(1, 96, 1);
    let noisy = noisy("poisson", &clean, 3);
    // a tenth of each pixel, and of its neighbours, is in the estimate
    let estimate = 0.8 * &clean + 0.2 * &smoothed(&noisy, 0.25);
    let residual = check("poisson", &noisy, &estimate);
    assert_eq!(kinds(&residual), [], "{:?}", residual.findings);
    assert!(residual.dispersion.unwrap().all.value < 0.98);
}

#[test]
fn camera_units_are_named() {
    let clean = scene(1, 96, 1);
    let counts = noisy("poisson", &clean, 4);
    let residual = check("poisson", &(&counts * 2.0), &(&clean * 2.0));
    assert_eq!(kinds(&residual), [FindingKind::VariesTooMuch]);
    let Finding { text, advice, .. } = &residual.findings[0];
    assert!(text.contains("times as much as poisson noise") && advice.contains("gain"), "{text}; {advice}");
    assert!((residual.dispersion.unwrap().all.value - 2.0).abs() < 0.1);
    // an offset that was not subtracted
    let residual = check("poisson", &(&counts + 100.0), &(&clean + 100.0));
    assert_eq!(kinds(&residual), [FindingKind::VariesTooLittle]);
    assert!(residual.findings[0].advice.contains("offset"));
}

#[test]
fn the_wrong_family_is_named() {
    let clean = scene(1, 96, 1);
    let residual = check("gaussian", &noisy("exponential", &clean, 5), &clean);
    assert_eq!(kinds(&residual), [FindingKind::OtherDistribution], "{:?}", residual.findings);
    let residual = check("poisson", &noisy("geometric", &clean, 5), &clean);
    assert_eq!(kinds(&residual), [FindingKind::VariesTooMuch], "{:?}", residual.findings);
    let residual = check("exponential", &noisy("gamma:k=4", &clean, 5), &clean);
    assert_eq!(kinds(&residual), [FindingKind::VariesTooLittle], "{:?}", residual.findings);
    assert!(residual.findings[0].advice.contains("more looks"));
}

#[test]
fn stripes_are_named_and_are_no_correlation() {
    let clean = scene(1, 96, 1);
    let plain = even_noise(&clean, 3.0, 6);
    assert!(!kinds(&check("gaussian:var=9", &plain, &clean)).contains(&FindingKind::StripedRows));
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for (axis, kind) in [(1, FindingKind::StripedRows), (2, FindingKind::StripedColumns)] {
        let mut striped = plain.clone();
        for mut line in striped.axis_iter_mut(Axis(axis)) {
            let offset = 3.0 * (random.random::<f64>() - 0.5);
            line += offset;
        }
        let residual = check("gaussian", &striped, &clean);
        assert_eq!(residual.findings[0].kind, kind, "{:?}", residual.findings);
        assert!(!kinds(&residual).contains(&FindingKind::Correlated), "{:?}", residual.findings);
        let deviation = residual.offsets.iter().map(Offsets::deviation).fold(0.0, f64::max);
        // 3 / sqrt(12) over the deviation of noise and offsets together
        assert!((deviation - 0.277).abs() < 0.08, "{deviation}");
    }
}

#[test]
fn smoothed_noise_is_named() {
    let clean = scene(1, 96, 1);
    let noise = even_noise(&Array4::zeros(clean.dim()), 5.0, 8);
    for share in [0.1, 0.25] {
        let image = &clean + &smoothed(&noise, share);
        let residual = check("gaussian", &image, &clean);
        assert_eq!(residual.findings[0].kind, FindingKind::Correlated, "{:?}", residual.findings);
        // weights a, b, a of independent values: 2ab / (2a² + b²) for neighbours
        let expected = 2.0 * share * (1.0 - 2.0 * share) / (2.0 * share * share + (1.0 - 2.0 * share).powi(2));
        let lag = residual.correlations.at(0, 1).unwrap();
        assert!((lag.all - expected).abs() < 0.06 && (lag.flat - expected).abs() < 0.1, "{lag:?} {expected}");
        assert!(residual.findings[0].advice.contains("raw"));
    }
}

#[test]
fn a_scene_that_is_left_is_told_from_smoothed_noise() {
    // waves in the lower half, of which the estimate has half
    let waves = |height: f64| {
        Array4::from_shape_fn((1, 120, 120, 1), |(_, y, x, _)| {
            100.0 + if y > 70 { height * (0.7 * x as f64).sin() * (0.7 * y as f64).cos() } else { 0.0 }
        })
    };
    let (clean, estimate) = (waves(80.0), waves(40.0));
    let residual = check("poisson", &noisy("poisson", &clean, 9), &estimate);
    assert_eq!(kinds(&residual), [FindingKind::SceneLeft], "{:?}", residual.findings);
    assert!(residual.findings[0].text.contains("scene"));
}

#[test]
fn a_dark_sky_and_bright_stars_pass() {
    let dark = |y: usize, x: usize| y < 100 || x < 60;
    let sky =
        Array4::from_shape_fn((1, 120, 120, 1), |(_, y, x, _)| if dark(y, x) { 0.0 } else { 2.0 + (y % 7) as f64 });
    let estimate = sky.mapv(|mean| if mean == 0.0 { 1e-4 } else { mean });
    let residual = check("poisson", &noisy("poisson", &sky, 14), &estimate);
    assert_eq!(kinds(&residual), [], "{:?}", residual.findings);
    let mut stars = Array4::from_elem((1, 120, 120, 1), 0.3);
    stars.slice_mut(s![0, ..;30, ..;30, 0]).fill(1e5);
    let residual = check("poisson", &noisy("poisson", &stars, 15), &stars);
    assert_eq!(kinds(&residual), [], "{:?}", residual.findings);
}

#[test]
fn missing_pixels_pages_and_channels() {
    let clean = scene(3, 40, 3);
    let mut noisy = noisy("poisson", &clean, 10);
    noisy.slice_mut(s![.., ..;3, ..;2, ..]).fill(f64::NAN);
    noisy.slice_mut(s![1, .., .., ..]).fill(f64::NAN);
    noisy[[0, 1, 1, 0]] = f64::INFINITY;
    let residual = check("poisson", &noisy, &clean);
    assert_eq!(kinds(&residual), [], "{:?}", residual.findings);
    assert_eq!(residual.pixels, noisy.iter().filter(|value| value.is_finite()).count());
    assert!(residual.standardised[[1, 0, 0, 0]].is_nan() && residual.standardised[[0, 1, 1, 0]].is_nan());
}

#[test]
fn small_constant_and_empty_images_have_no_findings_and_do_not_panic() {
    for shape in [(1, 1, 1, 1), (1, 3, 2, 1), (2, 1, 7, 3), (1, 0, 4, 1), (0, 3, 3, 1), (1, 19, 20, 1)] {
        let image = Array4::from_shape_fn(shape, |(_, y, x, _)| (y * x) as f64);
        for family in ["poisson", "gaussian", "exponential", "categorical:k=3", "laplace", "beta", "bernoulli"] {
            for value in [0.0, 1.0, -3.0, f64::NAN, f64::INFINITY] {
                let estimate = Array4::from_elem(shape, value);
                assert_eq!(check(family, &image, &estimate).findings, [], "{family} {shape:?} {value}");
            }
        }
    }
    let zero = Array4::zeros((1, 30, 30, 1));
    for family in ["poisson", "gaussian"] {
        let residual = check(family, &zero, &zero);
        assert_eq!((residual.findings.len(), residual.dispersion), (0, None), "{family}");
    }
    // counts that do not vary are not Poisson noise
    let five = Array4::from_elem((1, 30, 30, 1), 5.0);
    assert_eq!(kinds(&check("poisson", &five, &five)), [FindingKind::VariesTooLittle]);
}

#[test]
fn a_hot_pixel_does_not_decide() {
    let clean = scene(1, 96, 1);
    let mut noisy = noisy("poisson", &clean, 11);
    for place in [3, 50, 77] {
        noisy[[0, place, 96 - place, 0]] = 1e6;
    }
    let residual = check("poisson", &noisy, &clean);
    let lag = residual.correlations.at(0, 1).unwrap();
    assert!(lag.all.abs() < 0.05, "{lag:?}");
    assert!(!kinds(&residual).contains(&FindingKind::StripedRows));
}

#[test]
fn looks_of_speckle() {
    let clean = Array4::from_shape_fn((1, 128, 128, 1), |(_, _, x, _)| if x < 64 { 10.0 } else { 40.0 });
    for (family, looks) in [("exponential", 1.0), ("gamma:k=4", 4.0)] {
        let ratio = check(family, &noisy(family, &clean, 12), &clean).ratio.unwrap();
        assert!((ratio.expected_variance - 1.0 / looks).abs() < 1e-6, "{ratio:?}");
        assert!((ratio.mean - 1.0).abs() < 0.03 && (ratio.looks / looks - 1.0).abs() < 0.08, "{ratio:?}");
        assert!((ratio.looks_before / looks - 1.0).abs() < 0.2 && ratio.looks_after.is_infinite(), "{ratio:?}");
    }
    assert_eq!(check("poisson", &clean, &clean).ratio, None);
}

#[test]
fn what_does_not_fit_is_refused() {
    let (small, large) = (Array4::zeros((1, 2, 2, 1)), Array4::zeros((1, 2, 3, 1)));
    let run = |family: &str, a: ArrayView4<'_, f64>, b: ArrayView4<'_, f64>| ResidualCheck::new(family).run(a, b);
    let message = run("poisson", small.view(), large.view()).unwrap_err().to_string();
    assert!(message.contains("expected [1, 2, 2, 1], found [1, 2, 3, 1]"), "{message}");
    assert!(run("poison", small.view(), small.view()).unwrap_err().to_string().contains("poisson"));
    assert!(ResidualCheck::new("poison").check().is_err() && ResidualCheck::new("poisson").check().is_ok());
}

#[test]
fn the_same_seed_gives_the_same_numbers() {
    let clean = scene(1, 40, 1);
    let noisy = noisy("poisson", &clean, 13);
    let run = |seed: u64| ResidualCheck::new("poisson").seed(seed).run(noisy.view(), clean.view()).unwrap().quantiles;
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
