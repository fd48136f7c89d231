use super::*;
use ndarray::Array4;

fn noisy() -> Array4<f64> {
    Array4::from_shape_fn((2, 31, 26, 1), |(page, y, x, _)| ((y / 9 + x / 7 + page) % 3 + (y * x) % 2) as f64)
}

fn quick() -> PatchDenoiser {
    PatchDenoiser::new("poisson").patch(6, 5).causes(6).iterations(4).blur(1.0)
}

#[test]
fn every_pixel_is_cleaned_on_any_lattice() {
    let (noisy, denoiser) = (noisy(), quick());
    let learned = denoiser.clone().most_patches(200).learn(noisy.view()).unwrap();
    assert!(learned.patches <= 200 && learned.estimate.is_none(), "{}", learned.patches);
    let all = denoiser.apply(noisy.view(), &learned.model).unwrap().mean;
    for stride in [2, 3, 5, 100] {
        let some = denoiser.clone().stride(stride).apply(noisy.view(), &learned.model).unwrap().mean;
        let difference = (&some - &all).mapv(|e| e * e).mean().unwrap().sqrt();
        assert!(some.iter().all(|value| value.is_finite()) && difference < 0.5, "{stride}: {difference}");
    }
    // a lattice does not become wider than the image
    let few = denoiser.most_patches(1).learn(noisy.view()).unwrap();
    assert_eq!(few.patches, 2 * 2 * 2);
}

#[test]
fn states_are_used_for_the_pages_that_they_belong_to_only() {
    let (noisy, denoiser) = (noisy(), quick());
    let family = denoiser.family.resolve().unwrap();
    let train = |pages: &[usize]| {
        let pages = noisy.select(ndarray::Axis(0), pages);
        denoiser.train(&family, pages.view(), &mut unobserved).unwrap()
    };
    for (pages, belong) in [(vec![0, 1], true), (vec![1, 0], false), (vec![0, 0], false), (vec![1], false)] {
        let (member, states) = train(&pages);
        assert_eq!(states.as_ref().unwrap().belong_to(noisy.view()), belong, "{pages:?}");
        let estimate = denoiser.estimate(noisy.view(), &member.model, states).unwrap();
        let without = denoiser.apply(noisy.view(), &member.model).unwrap();
        assert_eq!(estimate == without, !belong, "{pages:?}");
        assert_eq!(estimate.mean.dim(), noisy.dim());
    }
}

#[test]
fn settings_without_meaning_are_refused() {
    let noisy = noisy();
    let refused = |denoiser: PatchDenoiser, words: &str| {
        let error = denoiser.check().unwrap_err();
        assert!(error.to_string().contains(words), "{words}: {error}");
        assert_eq!(denoiser.learn(noisy.view()).unwrap_err(), error);
        assert_eq!(denoiser.run(noisy.view()).unwrap_err(), error);
    };
    for window in [0.0, -1.0, f64::NAN, 0.01, f64::NEG_INFINITY] {
        refused(quick().window(window), "window");
    }
    for blur in [-1.0, f64::NAN, f64::INFINITY, 1e9] {
        refused(quick().blur(blur), "blur");
    }
    refused(quick().causes(0), "causes = 0");
    refused(quick().causes(70_000), "65534 at most");
    refused(quick().states(0), "states = 0: give 1 or more");
    refused(quick().iterations(0), "iterations = 0");
    refused(quick().batches(0), "batches = 0");
    refused(quick().most_patches(0), "most_patches = 0");
    refused(quick().stride(0), "stride = 0");
    refused(quick().e_steps(0), "e_steps = 0");
    refused(quick().patch(0, 4), "patch = 0 x 4");
    refused(PatchDenoiser::new("poison"), "poisson");
    assert_eq!(quick().window(f64::INFINITY).blur(0.0).check(), Ok(()));
    let average = quick().window(f64::INFINITY).run(noisy.view()).unwrap().estimate;
    assert!(average.mean.iter().all(|value| value.is_finite()));
}

#[test]
fn models_say_which_patches_they_are_of() {
    let noisy = noisy();
    let model = quick().patch(5, 5).learn(noisy.view()).unwrap().model;
    let denoiser = PatchDenoiser::for_model(&model, 1).unwrap();
    assert_eq!((denoiser.patch, denoiser.causes, denoiser.family.spec()), ((5, 5), 6, "poisson".to_owned()));
    assert!(denoiser.apply(noisy.view(), &model).is_ok());
    let message = PatchDenoiser::for_model(&model, 3).unwrap_err().to_string();
    assert!(message.contains("25 values a patch") && message.contains("3 channels"), "{message}");
    assert!(PatchDenoiser::for_model(&model, 0).is_err());
    // patches that are not square are told
    let model = quick().learn(noisy.view()).unwrap().model;
    assert!(PatchDenoiser::for_model(&model, 1).is_err());
    assert!(PatchDenoiser::for_model_of(&model, (6, 5)).unwrap().apply(noisy.view(), &model).is_ok());
    let message = PatchDenoiser::for_model_of(&model, (6, 6)).unwrap().apply(noisy.view(), &model).unwrap_err();
    assert!(message.to_string().contains("36 (6 x 6 in 1 channels)"), "{message}");
}
