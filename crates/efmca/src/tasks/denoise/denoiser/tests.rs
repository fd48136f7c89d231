use std::ops::ControlFlow;

use super::*;
use crate::em::Progress;
use ndarray::{Array4, s};

fn noisy() -> Array4<f64> {
    Array4::from_shape_fn((2, 31, 26, 1), |(page, y, x, _)| ((y / 9 + x / 7 + 2 * page) % 5 + (y * x) % 2) as f64)
}

/// Large enough for blocks of pixels.
fn large() -> Array4<f64> {
    Array4::from_shape_fn((1, 74, 76, 1), |(_, y, x, _)| ((y / 9 + x / 7) % 5 + (y * x) % 2) as f64)
}

fn quick() -> Denoiser {
    Denoiser::new("poisson").causes(6).iterations(3)
}

#[test]
fn members_are_combined_and_their_estimates_kept_if_asked_for() {
    let noisy = large();
    let by_causes = quick().similar_patches(false);
    let plain = by_causes.run(noisy.view()).unwrap();
    assert!(plain.members.iter().all(|member| member.estimate.is_none()) && !plain.interrupted);
    let kept = by_causes.member_estimates(true).run(noisy.view()).unwrap();
    let estimates: Vec<Estimate> = kept.members.iter().filter_map(|member| member.estimate.clone()).collect();
    assert_eq!(kept.members.iter().map(|member| member.block).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(Estimate::combine(noisy.view(), &estimates).unwrap(), plain.estimate);
    // a member by itself gives the same
    let alone = kept.members[0].settings.run(noisy.view()).unwrap();
    assert_eq!(alone.estimate, estimates[0]);
    // groups of similar patches are one estimate more
    let with_groups = quick().run(noisy.view()).unwrap();
    assert_ne!(with_groups.estimate, plain.estimate);
    assert!(with_groups.estimate.mean.iter().chain(&with_groups.estimate.deviation).all(|value| value.is_finite()));
}

#[test]
fn every_pixel_of_a_small_image_is_in_several_patches() {
    // so that one that is missing is filled in
    let mut noisy = Array4::from_shape_fn((1, 24, 24, 1), |(_, y, x, _)| ((7 * x + 3 * y) % 9 + 1) as f64);
    noisy[[0, 5, 5, 0]] = f64::NAN;
    for quality in [Quality::Fast, Quality::Balanced] {
        let cleaned = Denoiser::new("poisson").quality(quality).run(noisy.view()).unwrap();
        assert!(cleaned.estimate.mean.iter().all(|value| value.is_finite()));
    }
    // a patch that was given is taken as it is
    let whole = Denoiser::new("poisson").patch(24, 24).run(noisy.view());
    assert!(matches!(whole, Err(Error::EmptyColumn { .. })), "{whole:?}");
}

#[test]
fn a_model_of_pixels_is_there_if_it_is_kept() {
    let fast = quick().quality(Quality::Fast);
    let denoised = fast.run(large().view()).unwrap();
    assert_eq!((denoised.members[0].block, denoised.model()), (3, None));
    let kept = fast.keep_model(true).run(large().view()).unwrap();
    assert_eq!(kept.members.iter().map(|member| member.block).collect::<Vec<_>>(), [3, 1]);
    assert_eq!(kept.model(), Some(&kept.members[1].model));
}

#[test]
fn pages_to_learn_from_are_a_set() {
    let noisy = noisy();
    let quick = quick().patch(6, 6);
    let run = |denoiser: Denoiser| denoiser.run(noisy.view()).unwrap().estimate;
    let all = run(quick.clone());
    assert_eq!(run(quick.clone().learn_from([1, 0])), all);
    assert_eq!(run(quick.clone().learn_from([0, 1, 1])), all);
    let first = run(quick.clone().learn_from([0]));
    assert_eq!(run(quick.clone().learn_from([0, 0])), first);
    assert_ne!(first, all);
    assert_ne!(run(quick.clone().learn_from([1])), first);
    let message = quick.clone().learn_from([0, 2]).run(noisy.view()).unwrap_err().to_string();
    assert!(message.contains("page 3") && message.contains("pages 1 to 2"), "{message}");
    let one = noisy.slice(s![..1, .., .., ..]);
    assert!(quick.clone().learn_from([usize::MAX]).run(one).unwrap_err().to_string().contains("one page only"));
    assert!(quick.learn_from([]).check().unwrap_err().to_string().contains("one page at least"));
}

#[test]
fn progress_counts_the_iterations_of_all_members() {
    let (mut seen, mut groups, mut count) = (Vec::new(), Vec::new(), 0);
    let denoised = quick().run_observed(large().view(), &mut |progress| {
        count += 1;
        assert!(progress.done == count && count <= progress.total);
        match progress.training {
            Some(training) => seen.push((progress.stage.to_owned(), training.iteration)),
            None => groups.push((progress.stage.to_owned(), progress.total)),
        }
        ControlFlow::Continue(())
    });
    // a second pass sees a part of the data
    let passes = ["", ", part of the data"];
    let expected: Vec<_> =
        (0..18).map(|k| (format!("model {} of 3{}", k % 9 / 3 + 1, passes[k / 9]), k % 3 + 1)).collect();
    assert_eq!(seen, expected);
    let half = groups.len() / 2;
    assert!(half > 3 && groups[0].0 == "similar patches" && groups[half].0 == "similar patches, part of the data");
    assert_eq!(groups.last().unwrap().1, count);
    assert!(!denoised.unwrap().interrupted);
}

#[test]
fn a_break_ends_the_work_with_the_members_so_far() {
    let noisy = large();
    // the last breaks are among groups of similar patches, and in the models and groups of a part of the data
    for (calls, members, iterations) in [(1, 1, 1), (3, 1, 3), (5, 2, 2), (11, 3, 3), (24, 3, 3), (35, 3, 3)] {
        let mut count = 0;
        let mut observer = |_: &Progress<'_>| {
            count += 1;
            // one break is enough
            if count == calls { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let denoised = quick().run_observed(noisy.view(), &mut observer).unwrap();
        assert_eq!(count, calls);
        assert_eq!(denoised.members.len(), members);
        assert_eq!(denoised.members[members - 1].history.len(), iterations);
        assert!(denoised.interrupted, "{calls}");
        assert!(denoised.estimate.mean.iter().all(|value| value.is_finite()));
    }
    // in the last iteration of all there is nothing left to end
    let mut last = |progress: &Progress<'_>| {
        if progress.done < progress.total { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    assert!(!quick().run_observed(noisy.view(), &mut last).unwrap().interrupted);
    // without a number of causes there is no model to clean with
    let auto = quick().causes(Causes::Auto).patch(6, 6);
    let stopped = auto.run_observed(noisy.view(), &mut |_| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(Error::Stopped { .. })));
}

#[test]
fn settings_and_images_are_checked_before_the_work() {
    let noisy = noisy();
    let mut never = |_: &Progress<'_>| -> ControlFlow<()> { panic!("work was done") };
    let mut refused = |denoiser: &Denoiser, noisy: &Array4<f64>, words: &str| {
        let error = denoiser.run_observed(noisy.view(), &mut never).unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
    };
    for (denoiser, words) in [
        (quick().window(0.0), "window = 0"),
        (quick().window(f64::NAN), "window = NaN"),
        (quick().blur(-1.0), "blur = -1"),
        (quick().states(0), "states = 0"),
        (quick().iterations(0), "iterations = 0"),
        (quick().batches(0), "batches = 0"),
        (quick().causes(0), "causes = 0"),
        (quick().patch(0, 3), "patch = 0 x 3"),
        (Denoiser::new("gamma:q=4"), "gamma"),
    ] {
        assert!(denoiser.check().is_err());
        refused(&denoiser, &noisy, words);
    }
    refused(&quick().patch(6, 99), &noisy, "31 x 26 pixels");
    refused(&quick().patch(32, 6).causes(Causes::Auto), &noisy, "31 x 26 pixels");
    // also in pages that are not learned from
    let mut negative = noisy.clone();
    negative[[1, 2, 3, 0]] = -2.0;
    refused(&quick().learn_from([0]), &negative, "page 2, row 3, column 4, channel 1: the value -2");
    let mut missing = noisy.clone();
    missing.slice_mut(s![1, .., .., ..]).fill(f64::NAN);
    refused(&quick().learn_from([1]), &missing, "every pixel to learn from is missing");
    refused(&quick(), &Array4::zeros((0, 3, 4, 1)), "at least one of each");
}

#[test]
fn missing_pixels_are_filled_in() {
    let mut noisy = noisy();
    noisy.slice_mut(s![.., ..;3, ..;2, ..]).fill(f64::NAN);
    let estimate = quick().quality(Quality::Fast).run(noisy.view()).unwrap().estimate;
    assert!(estimate.mean.iter().all(|value| value.is_finite()));
}

#[test]
fn patches_over_pages_learn_from_pages_that_follow_each_other() {
    let noisy = Array4::from_shape_fn((5, 14, 13, 1), |(page, y, x, _)| ((y / 4 + x / 3 + page) % 3) as f64);
    let quick = quick().patch(5, 5).depth(2);
    let denoised = quick.run(noisy.view()).unwrap();
    assert_eq!((denoised.members.len(), denoised.members[0].settings.depth), (1, 2));
    assert_eq!(denoised.members[0].model.d(), 50);
    // one model also where only the depth is given, and the number of causes can be searched for
    assert_eq!(Denoiser::new("poisson").causes(4).iterations(2).depth(3).run(noisy.view()).unwrap().members.len(), 1);
    assert!(quick.clone().causes(Causes::Auto).run(noisy.view()).is_ok());
    let some = quick.clone().learn_from([3, 1, 2]).run(noisy.view()).unwrap();
    assert_eq!(some.estimate.mean.dim(), noisy.dim());
    assert!(some.estimate.mean.iter().all(|value| value.is_finite()));
    let refused = |denoiser: Denoiser| {
        let error = denoiser.check().unwrap_err();
        assert_eq!(denoiser.run(noisy.view()).unwrap_err(), error);
        error.to_string()
    };
    let message = refused(quick.clone().learn_from([0, 1, 3]));
    assert!(message.contains("page 2 and then page 4") && message.contains("follow each other"), "{message}");
    let message = refused(quick.clone().learn_from([1]));
    assert!(message.contains("1 page: give 2 pages or more"), "{message}");
    assert!(refused(quick.clone().learn_from([0, usize::MAX])).contains("follow each other"));
    assert!(refused(quick.clone().depth(0)).contains("depth = 0"));
    let message = quick.depth(6).run(noisy.view()).unwrap_err().to_string();
    assert!(message.contains("6 pages") && message.contains("1 to 5 pages"), "{message}");
}
