use super::*;
use crate::tasks::denoise::strips::small_strips;
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
    refused(quick().depth(0), "depth = 0: give 1 or more");
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

#[test]
fn volumes_are_cleaned_the_same_in_any_strips() {
    let noisy =
        Array4::from_shape_fn((7, 20, 17, 2), |(page, y, x, c)| ((y / 5 + x / 4 + page + c) % 3 + (y * x) % 2) as f64);
    // three causes have eight states, all of which are looked at: patches do not depend on what their neighbours found
    let denoiser = quick().depth(3).causes(3).states(8).most_patches(300);
    let model = denoiser.learn(noisy.view()).unwrap().model;
    assert_eq!(model.d(), 6 * 5 * 3 * 2);
    for stride in [1, 2, 3] {
        let geometry = Geometry::of_volume(noisy.dim(), denoiser.patch, 3).unwrap().with_stride(stride);
        let whole = denoiser.clone().stride(stride).apply(noisy.view(), &model).unwrap();
        assert!(whole.mean.iter().all(|value| value.is_finite()));
        // one line of patches, some lines, several pages
        for (patches, pixels) in [(1, 1), (40, 100_000), (100_000, 1600), (1000, 4000)] {
            let strips = small_strips(&geometry, patches, pixels);
            assert!(strips.len() > 1, "{stride} {patches} {pixels}");
            let parts = denoiser.estimate_of_strips(noisy.view(), &model, geometry, strips).unwrap();
            let difference = (&parts.mean - &whole.mean).iter().fold(0.0, |most: f64, e| most.max(e.abs()));
            // numbers of single precision
            assert!(difference < 1e-3, "{stride} {patches} {pixels}: {difference}");
        }
    }
}

#[test]
fn large_volumes_are_cleaned_on_a_lattice() {
    let stride = |size, patch, depth| suitable_stride(&Geometry::of_volume(size, patch, depth).unwrap());
    assert_eq!(stride((5, 64, 64, 1), (8, 8), 5), 1);
    assert_eq!(stride((256, 256, 256, 1), (8, 8), 5), 2);
    assert_eq!(stride((256, 256, 256, 1), (16, 16), 16), 4);
    // small patches would not overlap
    assert_eq!(stride((256, 256, 256, 1), (4, 16), 16), 1);
    // pages by themselves as always
    assert_eq!((stride((256, 256, 256, 1), (16, 16), 1), stride((1, 800, 800, 1), (16, 16), 1)), (1, 2));
}

#[test]
fn a_depth_that_does_not_fit_is_refused() {
    let noisy = noisy();
    let refused = |denoiser: PatchDenoiser, noisy: ArrayView4<'_, f64>| denoiser.run(noisy).unwrap_err().to_string();
    let message = refused(quick().depth(3), noisy.view());
    assert!(message.contains("3 pages") && message.contains("1 to 2 pages, as many as the stack has"), "{message}");
    let message = refused(quick().depth(usize::MAX), noisy.slice(s![..1, .., .., ..]));
    assert!(message.contains("1 page, all that the image has"), "{message}");
    let model = quick().depth(2).learn(noisy.view()).unwrap().model;
    let message = quick().apply(noisy.view(), &model).unwrap_err().to_string();
    assert!(message.contains("60 pixels") && message.contains("30 (6 x 5 in 1 channels)"), "{message}");
    let message = quick().patch(5, 5).depth(2).apply(noisy.view(), &model).unwrap_err().to_string();
    assert!(message.contains("50 (5 x 5 x 2 pages in 1 channels)"), "{message}");
    assert!(quick().depth(2).apply(noisy.view(), &model).is_ok());
}
