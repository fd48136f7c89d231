//! Cameras: noise that is made as a camera makes it, and what is found in it.

use efmca::Error;
use efmca::family::Family;
use efmca::tasks::camera::{Calibrated, Calibration, Camera, Shots};
use efmca::tasks::denoise::{Denoiser, Quality};
use efmca::tasks::quality::psnr;
use ndarray::{Array4, ArrayView4, Axis, concatenate};
use std::sync::Arc;

const TRUTH: Camera = Camera { gain: 2.1, offset: 100.0, read_noise: 1.6 };

/// Dark discs and a lit wall with stripes, from 0.6 to about 22 photons: flat parts, edges and gradients.
fn scene(side: usize) -> Array4<f64> {
    Array4::from_shape_fn((1, side, side, 1), |(_, y, x, _)| {
        let (v, u) = (y as f64 / side as f64, x as f64 / side as f64);
        let disc = (v - 0.35).hypot(u - 0.4) < 0.28 || (v - 0.75).hypot(u - 0.7) < 0.18;
        if disc {
            0.6 + 0.3 * u
        } else if v > 0.9 {
            10.0 + 8.0 * (40.0 * u).sin()
        } else {
            8.0 + 14.0 * v
        }
    })
}

fn one(image: ArrayView4<'_, f64>) -> Shots<'_> {
    Shots { scenes: vec![image], ..Shots::default() }
}

/// Whether the numbers are right, by their distance and by their own errors.
fn near(found: &Calibrated, gain: f64, offset: f64, read_noise: f64) {
    let Camera { gain: g, offset: o, read_noise: r } = found.camera;
    let text = format!("{:?} {:?}", found.camera, found.errors);
    assert!((g / TRUTH.gain - 1.0).abs() < gain, "{text}");
    assert!((o - TRUTH.offset).abs() < offset, "{text}");
    assert!((r / TRUTH.read_noise - 1.0).abs() < read_noise, "{text}");
    let errors = [(g - TRUTH.gain, found.errors.gain), (o - TRUTH.offset, found.errors.offset)];
    for (error, stated) in errors.into_iter().chain([(r - TRUTH.read_noise, found.errors.read_noise)]) {
        assert!(stated.is_none_or(|stated| error.abs() < 5.0 * stated && stated > 0.0), "{text}");
    }
}

#[test]
fn one_image_of_a_dim_scene_tells_all_three_numbers() {
    let image = TRUTH.expose(scene(400).view(), 1).unwrap();
    let found = Calibration::new().run(&one(image.view())).unwrap();
    near(&found, 0.03, 0.5, 0.08);
    assert!(found.points.len() > 10 && found.pixels > 40_000, "{} {}", found.points.len(), found.pixels);
    // the points lie on the line of the camera
    let heavy: Vec<_> = found.points.iter().filter(|point| point.weight > 0.0).collect();
    let (sum, weight) = heavy.iter().fold((0.0, 0.0), |(sum, weight), point| {
        (sum + point.weight * (point.variance - TRUTH.variance(point.mean)), weight + point.weight)
    });
    assert!((sum / weight).abs() < 0.5, "{}", sum / weight);
    // rounding is no read noise
    let rounded = image.mapv(f64::round);
    near(&Calibration::new().run(&one(rounded.view())).unwrap(), 0.03, 0.5, 0.08);
}

#[test]
fn what_is_known_is_kept_and_helps() {
    let bright = scene(256).mapv(|photons| 20.0 * photons);
    let image = TRUTH.expose(bright.view(), 2).unwrap();
    // twelve photons and more do not tell offset and read noise apart, and the errors say so
    let alone = Calibration::new().run(&one(image.view())).unwrap();
    assert!(alone.errors.read_noise.unwrap() > 0.1 * alone.camera.read_noise, "{alone:?}");
    assert!(alone.remarks.iter().any(|remark| remark.contains("--dark")), "{:?}", alone.remarks);
    let given = Calibration::new().offset(100.0).read_noise(1.6).run(&one(image.view())).unwrap();
    assert_eq!((given.camera.offset, given.camera.read_noise), (100.0, 1.6));
    assert_eq!((given.errors.offset, given.errors.read_noise), (None, None));
    near(&given, 0.03, 1e-9, 1e-9);
    let dark = TRUTH.expose(Array4::zeros((2, 128, 128, 1)).view(), 3).unwrap();
    let with_dark = Calibration::new().run(&Shots { darks: vec![dark.view()], ..one(image.view()) }).unwrap();
    near(&with_dark, 0.03, 0.06, 0.02);
}

#[test]
fn frames_of_one_scene_need_no_flat_parts() {
    // texture as large as the noise, pixel by pixel: one image would take it for noise
    let rough = Array4::from_shape_fn((1, 128, 128, 1), |(_, y, x, _)| {
        let hash = (y * 7919 + x * 104_729 + y * x * 31) % 97;
        (1.0 + (y / 16 % 4) as f64 * 3.0) * (0.5 + hash as f64 / 97.0)
    });
    let frames: Vec<Array4<f64>> = (0..6).map(|seed| TRUTH.expose(rough.view(), 10 + seed).unwrap()).collect();
    let views: Vec<_> = frames.iter().map(|frame| frame.view()).collect();
    let stack = concatenate(Axis(0), &views).unwrap();
    let found = Calibration::new().run(&Shots { one_scene: true, ..one(stack.view()) }).unwrap();
    near(&found, 0.04, 0.5, 0.15);
    // files or pages make no difference
    let files = Shots { scenes: views, one_scene: true, ..Shots::default() };
    assert_eq!(Calibration::new().run(&files).unwrap(), found);
}

#[test]
fn flat_and_dark_frames_give_the_photon_transfer_line() {
    let flats: Vec<Array4<f64>> = [5.0, 40.0, 150.0]
        .iter()
        .enumerate()
        .map(|(i, level)| {
            // a pattern of the pixels that is no noise
            let even =
                Array4::from_shape_fn((2, 96, 96, 1), |(_, y, x, _)| level * (1.0 + 0.1 * ((y + 3 * x) % 5) as f64));
            TRUTH.expose(even.view(), 20 + i as u64).unwrap()
        })
        .collect();
    let dark = TRUTH.expose(Array4::zeros((1, 96, 96, 1)).view(), 30).unwrap();
    let shots =
        Shots { flats: flats.iter().map(|flat| flat.view()).collect(), darks: vec![dark.view()], ..Shots::default() };
    near(&Calibration::new().run(&shots).unwrap(), 0.03, 0.1, 0.03);
}

#[test]
fn images_that_do_not_tell_are_refused_with_what_to_do() {
    let message = |shots: &Shots<'_>| Calibration::new().run(shots).unwrap_err().to_string();
    let tiny = Array4::from_elem((1, 9, 9, 1), 5.0);
    assert!(message(&one(tiny.view())).contains("too few pixels lie in flat parts"));
    assert!(message(&Shots::default()).contains("there is no image with light in it"));
    let gaussian = Camera { gain: 1e-6, offset: 0.0, read_noise: 3.0 };
    let same = gaussian.expose(Array4::from_elem((1, 200, 200, 1), 1e6).view(), 1).unwrap();
    let (found, error) = match Calibration::new().run(&one(same.view())) {
        Ok(found) => (Some(found), String::new()),
        Err(error) => (None, error.to_string()),
    };
    assert!(found.is_none_or(|found| !found.remarks.is_empty()), "nothing is said about one brightness");
    assert!(error.is_empty() || error.contains("brighter parts"), "{error}");
    let constant = Array4::from_elem((1, 200, 200, 1), 7.0);
    assert!(message(&one(constant.view())).contains("calibrated"));
    let missing = Array4::from_elem((1, 50, 50, 1), f64::NAN);
    assert!(message(&one(missing.view())).contains("no image with light"));
    let (small, large) = (Array4::from_elem((1, 50, 50, 1), 1.0), Array4::from_elem((1, 60, 60, 1), 1.0));
    let sizes = Shots { scenes: vec![small.view(), large.view()], one_scene: true, ..Shots::default() };
    assert!(message(&sizes).contains("frames of one scene"));
    assert!(message(&Shots { one_scene: true, ..one(small.view()) }).contains("2 or more"));
    assert!(message(&Shots { darks: vec![tiny.view()], ..one(large.view()) }).contains("dark frame"));
    assert!(matches!(Calibration::new().read_noise(-1.0).check(), Err(Error::Setting { name: "read_noise", .. })));
    assert!(matches!(Calibration::new().offset(f64::NAN).check(), Err(Error::Setting { name: "offset", .. })));
}

#[test]
fn saturated_pixels_are_left_out() {
    let image = TRUTH.expose(scene(300).view(), 4).unwrap().mapv(|value| value.min(140.0));
    let found = Calibration::new().run(&one(image.view())).unwrap();
    assert!(found.remarks.iter().any(|remark| remark.contains("saturated")), "{:?}", found.remarks);
}

#[test]
fn an_exposure_has_the_mean_and_variance_of_the_camera() {
    let photons = Array4::from_elem((1, 200, 200, 1), 3.0);
    let image = TRUTH.expose(photons.view(), 5).unwrap();
    let mean = image.mean().unwrap();
    let variance = image.mapv(|value| (value - mean).powi(2)).mean().unwrap();
    assert!((mean - 106.3).abs() < 0.1, "{mean}");
    assert!((variance / TRUTH.variance(106.3) - 1.0).abs() < 0.05, "{variance}");
    assert_eq!(image, TRUTH.expose(photons.view(), 5).unwrap());
    let error = TRUTH.expose(photons.mapv(|photons| -photons).view(), 5).unwrap_err().to_string();
    assert!(error.contains("-3") && error.contains("scale the image"), "{error}");
    assert!(Camera { read_noise: f64::NAN, ..TRUTH }.expose(photons.view(), 1).is_err());
}

#[test]
fn an_image_is_cleaned_as_well_with_the_numbers_that_were_found() {
    let photons = scene(96).mapv(|photons| 0.4 * photons);
    let (image, clean) = (TRUTH.expose(photons.view(), 6).unwrap(), photons.mapv(|p| TRUTH.gain * p + TRUTH.offset));
    let dark = TRUTH.expose(Array4::zeros((1, 64, 64, 1)).view(), 7).unwrap();
    let found = Calibration::new().run(&Shots { darks: vec![dark.view()], ..one(image.view()) }).unwrap();
    let quality = |camera: &Camera| {
        let denoiser = Denoiser::new(&(Arc::new(camera.family().unwrap()) as Arc<dyn Family>));
        let denoiser = denoiser.quality(Quality::Fast).patch(10, 10).causes(30).iterations(6);
        psnr(denoiser.run(image.view()).unwrap().estimate.mean.view(), clean.view(), 20.0).unwrap()
    };
    let (before, best, good) =
        (psnr(image.view(), clean.view(), 20.0).unwrap(), quality(&TRUTH), quality(&found.camera));
    assert!(best > before + 4.0, "{before} {best}");
    assert!(good > best - 0.4, "{best} {good}");
}
