//! The noise of an image, found in a few seconds.

use std::ops::ControlFlow;

use efmca::Error;
use efmca::tasks::corrupt::Corruption;
use efmca::tasks::denoise::{Denoiser, Quality};
use efmca::tasks::noise::{Basis, FoundNoise, ImageNoise, Kind};
use ndarray::{Array4, Axis, concatenate, s};

/// A scene of flat parts, edges and a slope, with means from `low` to `high`.
fn scene(side: usize, low: f64, high: f64) -> Array4<f64> {
    let brightness = |y: usize, x: usize| match (y * 4 / side, x * 4 / side) {
        (0, _) => x as f64 / side as f64,
        (row, column) => ((row * 5 + column * 3) % 7) as f64 / 6.0,
    };
    Array4::from_shape_fn((1, side, side, 1), |(_, y, x, _)| low + (high - low) * brightness(y, x))
}

fn noisy(spec: &str, low: f64, high: f64) -> Array4<f64> {
    Corruption::new(spec).seed(5).run(scene(128, low, high).view()).unwrap().noisy
}

fn found(image: &Array4<f64>) -> FoundNoise {
    ImageNoise::new().run(image.view()).unwrap()
}

fn base(found: &FoundNoise) -> String {
    found.family.spec().split(':').next().unwrap_or_default().to_owned()
}

#[test]
fn the_noise_of_an_image_is_found() {
    for (spec, low, high) in [
        ("poisson", 0.1, 2.0),
        ("poisson", 1.0, 30.0),
        ("poisson", 20.0, 400.0),
        ("negative-binomial:r=3", 2.0, 30.0),
        ("geometric", 1.0, 12.0),
        ("binomial:n=8", 0.5, 7.5),
        ("bernoulli", 0.1, 0.9),
        ("exponential", 1.0, 20.0),
        ("gamma:k=4", 1.0, 20.0),
        ("gaussian:var=4", -9.0, 9.0),
        ("gaussian:var=4", 20.0, 60.0),
    ] {
        let found = found(&noisy(spec, low, high));
        assert_eq!(base(&found), spec.split(':').next().unwrap(), "{spec} {low} {high}: {}", found.sentence());
        assert!(found.camera.is_none(), "{spec}: {}", found.sentence());
        // what is found can be used as it is
        assert_eq!(Denoiser::new(found.family).check(), Ok(()));
    }
    // a fixed parameter that is found is near the true one
    let looks = found(&noisy("gamma:k=4", 1.0, 20.0)).family.spec();
    let k: f64 = looks.strip_prefix("gamma:k=").and_then(|k| k.parse().ok()).unwrap_or(f64::NAN);
    assert!((k - 4.0).abs() < 0.6, "{looks}");
}

#[test]
fn the_finding_says_what_was_compared() {
    let image = noisy("exponential", 1.0, 20.0);
    let first = found(&image);
    let Basis::HeldOut(ranking) = &first.basis else { panic!("{:?}", first.basis) };
    assert_eq!((ranking.kind, ranking.by_bic), (Kind::Real, false));
    assert_eq!(ranking.best().family.spec(), first.family.spec());
    // gamma contains it, and is not simpler
    let gamma = first.ranked().iter().find(|one| one.family.spec().starts_with("gamma:k=")).unwrap();
    assert!(gamma.tied && gamma.parameters > ranking.best().parameters);
    let sentence = first.sentence();
    assert!(sentence.starts_with("the noise looks like exponential (") && !sentence.contains('\n'), "{sentence}");
    assert!(sentence.contains("cannot be told from it") && sentence.contains("gaussian"), "{sentence}");
    // the same seed, the same finding
    let again = found(&image);
    let scores = |found: &FoundNoise| found.ranked().iter().map(|one| one.held_out.to_bits()).collect::<Vec<_>>();
    assert_eq!(scores(&first), scores(&again));
}

#[test]
fn the_values_of_a_camera_are_called_so() {
    let counts = noisy("poisson", 10.0, 200.0);
    let camera = counts.mapv(|count| (3.0 * count + 200.0).round());
    let result = found(&camera);
    let seen = result.camera.unwrap_or_else(|| panic!("{}", result.sentence()));
    assert!((seen.gain / 3.0 - 1.0).abs() < 0.25, "{seen:?}");
    assert!((seen.offset - 200.0).abs() < 40.0, "{seen:?}");
    assert!(result.sentence().contains("efmca calibrate") && result.sentence().contains("--gain"));
    // and its counts are not
    let counted = found(&counts);
    assert_eq!((counted.family.spec().as_str(), counted.camera), ("poisson", None));
    // fractions of a largest value are seen to be multiples of one number
    let fractions = found(&counts.mapv(|count| count / 64.0));
    assert_eq!(fractions.unit, Some(1.0 / 64.0));
    assert!(fractions.camera.is_some() || fractions.sentence().contains("--gain 0.015625"), "{}", fractions.sentence());
}

#[test]
fn stacks_channels_and_missing_pixels_are_no_trouble() {
    let one = noisy("exponential", 1.0, 20.0);
    let pages = concatenate(Axis(0), &[one.view(), one.mapv(|value| 2.0 * value).view()]).unwrap();
    let channels = concatenate(Axis(3), &[one.view(), one.view(), one.mapv(|value| 0.5 * value).view()]).unwrap();
    let mut holes = one.clone();
    for (index, value) in holes.iter_mut().enumerate() {
        if index % 7 == 0 {
            *value = f64::NAN;
        }
    }
    holes.slice_mut(s![.., 20..60, 30..70, ..]).fill(f64::NAN);
    for (name, image) in [("pages", pages), ("channels", channels), ("holes", holes)] {
        let found = found(&image);
        // the channels have the same noise three times, so that a small difference looks certain: exponential is gamma with k = 1
        let spec = found.family.spec();
        let shape = spec.strip_prefix("gamma:k=").filter(|_| name == "channels").and_then(|k| k.parse::<f64>().ok());
        let near = shape.is_some_and(|k| (k - 1.0).abs() < 0.1);
        assert!(spec == "exponential" || near, "{name}: {}", found.sentence());
    }
}

#[test]
fn odd_images_have_a_usual_family_or_an_error() {
    let constant = |value: f64| found(&Array4::from_elem((1, 20, 20, 1), value));
    for (value, family) in [(0.0, "bernoulli"), (7.0, "poisson"), (0.5, "exponential"), (-3.5, "gaussian:var=1")] {
        let found = constant(value);
        assert_eq!(found.family.spec(), family);
        assert!(found.sentence().contains("there is no noise"), "{}", found.sentence());
    }
    let mut seen_once = Array4::from_elem((1, 9, 9, 1), f64::NAN);
    seen_once[[0, 4, 4, 0]] = 2.0;
    assert!(matches!(found(&seen_once).basis, Basis::Equal(2.0)));

    let run = |image: &Array4<f64>| ImageNoise::new().run(image.view());
    assert_eq!(run(&Array4::from_elem((2, 8, 8, 1), f64::NAN)).unwrap_err(), Error::EmptyImage);
    assert!(matches!(run(&Array4::zeros((1, 0, 5, 1))).unwrap_err(), Error::EmptyData { .. }));
    for infinite in [f64::INFINITY, f64::NEG_INFINITY] {
        let mut image = scene(20, 1.0, 9.0);
        image[[0, 3, 4, 0]] = infinite;
        let message = run(&image).unwrap_err().to_string();
        assert!(message.contains("row 4, column 5") && message.contains("inf"), "{message}");
    }

    // too few pixels to compare, whatever they are
    for (values, family) in [
        ([3.0, 4.0, 9.0, 2.0], "poisson"),
        ([3.0, 4.0, 90.0, 2.0], "poisson"),
        ([0.5, 0.25, 0.125, 0.75], "gaussian"),
        ([-1.0, 2.5, 0.0, 9.0], "gaussian"),
        ([0.0, 1.0, 1.0, 0.0], "bernoulli"),
    ] {
        let found = found(&Array4::from_shape_vec((1, 2, 2, 1), values.to_vec()).unwrap());
        assert_eq!(found.family.spec(), family, "{}", found.sentence());
    }
    let few = found(&Array4::from_shape_fn((1, 6, 6, 1), |(_, y, x, _)| (y * 7 % 5 + x * 11 % 7) as f64));
    assert!(few.sentence().contains("36 pixels are too few"), "{}", few.sentence());

    // values that are far too large, of both signs, in strange shapes
    let wild = |scale: f64| move |index: usize| if index.is_multiple_of(3) { -scale } else { scale * index as f64 };
    for scale in [1.0, 1e12, 1e150, 1e300] {
        for shape in [(1, 40, 40, 1), (1, 1, 400, 1), (30, 5, 3, 2), (1, 25, 2, 9)] {
            let value = wild(scale);
            let mut index = 0;
            let image = Array4::from_shape_simple_fn(shape, || {
                index += 1;
                value(index)
            });
            assert_eq!(found(&image).family.spec(), "gaussian");
            let positive = found(&image.mapv(f64::abs));
            assert_eq!(positive.family.resolve().map(|_| ()), Ok(()), "{}", positive.sentence());
            let small = found(&image.mapv(|value| 0.1 + (value / scale / 700.0).abs()));
            assert_eq!(small.family.resolve().map(|_| ()), Ok(()), "{}", small.sentence());
        }
    }
}

#[test]
fn the_work_can_be_ended() {
    let image = noisy("exponential", 1.0, 20.0);
    let ended = ImageNoise::new().run_observed(image.view(), &mut |_| ControlFlow::Break(()));
    assert!(matches!(ended.unwrap_err(), Error::Stopped { .. }));
    let mut stages = Vec::new();
    let all = ImageNoise::new().run_observed(image.view(), &mut |progress| {
        stages.push(progress.stage.to_owned());
        ControlFlow::Continue(())
    });
    assert_eq!(all.unwrap().family.spec(), "exponential");
    assert!(stages.iter().any(|stage| stage == "gaussian") && stages.iter().any(|stage| stage == "gamma:k=?"));
}

#[test]
fn an_image_is_cleaned_with_what_was_found() {
    let (clean, image) =
        (scene(48, 1.0, 12.0), Corruption::new("poisson").run(scene(48, 1.0, 12.0).view()).unwrap().noisy);
    let family = found(&image).family;
    assert_eq!(family.spec(), "poisson");
    let cleaned = Denoiser::new(family).quality(Quality::Fast).run(image.view()).unwrap();
    let error = |image: &Array4<f64>| (image - &clean).mapv(|e| e * e).mean().unwrap();
    assert!(error(&cleaned.estimate.mean) < error(&image) / 3.0);
}
