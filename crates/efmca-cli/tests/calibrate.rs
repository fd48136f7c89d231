//! `efmca calibrate` and `--camera` as a user runs them.

mod common;

use std::path::Path;

use efmca::tasks::camera::Camera;
use efmca_io::image_file::{ReadOptions, WriteOptions, read, write};
use ndarray::Array4;

use common::{refused, succeeds};

const TRUTH: Camera = Camera { gain: 2.1, offset: 100.0, read_noise: 1.6 };

fn save(folder: &Path, name: &str, values: &Array4<f64>) {
    write(&folder.join(name), values.view(), &WriteOptions::default()).unwrap();
}

/// A folder with a picture of a disc in front of a wall as the camera sees it, and a dark frame.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let photons = Array4::from_shape_fn((1, 240, 240, 1), |(_, y, x, _)| {
        let disc = (y as f64 - 110.0).hypot(x as f64 - 120.0) < 80.0;
        if disc { 0.8 } else { 6.0 + y as f64 / 20.0 }
    });
    save(folder.path(), "scene.tif", &TRUTH.expose(photons.view(), 1).unwrap());
    save(folder.path(), "truth.tif", &photons.mapv(|photons| TRUTH.gain * photons + TRUTH.offset));
    save(folder.path(), "dark.tif", &TRUTH.expose(Array4::zeros((2, 100, 100, 1)).view(), 2).unwrap());
    folder
}

#[test]
fn a_camera_is_found_written_and_used() {
    let folder = folder();
    let path = folder.path();
    let more = ["-o", "camera.json", "--report", "page.html", "--figure", "line.svg"];
    let shown = succeeds(path, &[&["calibrate", "scene.tif"][..], &more].concat());
    for expected in ["gain", "offset", "read noise", "±", "camera units per photon", "pixels in"] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    let camera = efmca_io::read_camera(&path.join("camera.json")).unwrap();
    assert!((camera.gain - 2.1).abs() < 0.15 && (camera.offset - 100.0).abs() < 0.7, "{camera:?}");
    assert!(std::fs::read_to_string(path.join("line.svg")).unwrap().contains("variance of the noise"));
    assert!(std::fs::read_to_string(path.join("page.html")).unwrap().contains("Photon-transfer line"));

    let quick = ["--patch", "10", "--causes", "12", "--iterations", "4", "--quality", "fast"];
    let files = ["denoise", "scene.tif", "-o", "clean.tif", "--camera", "camera.json", "--reference", "truth.tif"];
    let shown = succeeds(path, &[&files[..], &quick].concat());
    assert!(shown.contains("PSNR"), "{shown}");
    let values = |name: &str| read(&path.join(name), &ReadOptions::default()).unwrap().values;
    let (noisy, clean, truth) = (values("scene.tif"), values("clean.tif"), values("truth.tif"));
    let error = |image: &Array4<f64>| (image - &truth).mapv(|e| e * e).mean().unwrap();
    // in the units of the file, and better
    assert!(error(&clean) < error(&noisy) / 4.0, "{} {}", error(&clean), error(&noisy));

    // files are not replaced without being asked
    assert!(refused(path, &["calibrate", "scene.tif", "-o", "camera.json"]).contains("exists already"));
    let holes = ["inpaint", "scene.tif", "-o", "full.tif", "--camera", "camera.json"];
    let first = noisy[[0, 0, 0, 0]].to_string();
    succeeds(path, &[&holes[..], &quick, &["--missing", &first]].concat());
}

#[test]
fn what_is_given_is_used() {
    let folder = folder();
    let path = folder.path();
    let shown = succeeds(path, &["calibrate", "scene.tif", "-o", "a.json", "--offset", "100", "--read-noise", "1.6"]);
    assert!(shown.contains("given"), "{shown}");
    let camera = efmca_io::read_camera(&path.join("a.json")).unwrap();
    assert_eq!((camera.offset, camera.read_noise), (100.0, 1.6));
    let shown = succeeds(path, &["calibrate", "scene.tif", "--dark", "dark.tif", "-o", "b.json"]);
    assert!(shown.contains("from dark frames"), "{shown}");
    let camera = efmca_io::read_camera(&path.join("b.json")).unwrap();
    assert!((camera.read_noise - 1.6).abs() < 0.05 && (camera.offset - 100.0).abs() < 0.1, "{camera:?}");
}

#[test]
fn wrong_options_are_refused() {
    let folder = folder();
    let path = folder.path();
    let message = |more: &[&str]| refused(path, &[&["calibrate", "scene.tif", "-o", "c.json"], more].concat());
    assert!(message(&["--read-noise=-1"]).contains("--read-noise -1: it must be 0 or a positive number"));
    assert!(message(&["--offset", "inf"]).contains("--offset inf"));
    assert!(message(&["--frames-are-one-scene"]).contains("2 or more images or pages"));
    assert!(message(&["--dark", "none.tif"]).contains("none.tif"));
    assert!(message(&["--figure", "c.json"]).contains("two results"));
    save(path, "small.tif", &Array4::from_elem((1, 8, 8, 1), 3.0));
    let small = refused(path, &["calibrate", "small.tif", "-o", "c.json"]);
    assert!(small.contains("small.tif: the camera cannot be calibrated") && small.contains("--flat"), "{small}");
    assert!(!path.join("c.json").exists());
}

#[test]
fn a_camera_file_with_nonsense_is_refused_by_name_and_key() {
    let folder = folder();
    let path = folder.path();
    let good = r#"{"format": "efmca camera", "version": 1, "gain": 2.1, "offset": 100, "read_noise": 1.6}"#;
    let message = |text: &str| {
        std::fs::write(path.join("bad.json"), text).unwrap();
        let message = refused(path, &["denoise", "scene.tif", "-o", "clean.tif", "--camera", "bad.json"]);
        assert!(message.contains("bad.json"), "{message}");
        message
    };
    for (from, to, expected) in [
        ("{", "gain = 2.1", "not JSON"),
        (good, "[1, 2]", "a list, not an object"),
        (good, "", "not JSON"),
        ("\"efmca camera\"", "\"photo\"", "the key `format` is \"photo\""),
        ("\"format\": \"efmca camera\", ", "", "the key `format` is missing"),
        ("\"version\": 1", "\"version\": 7", "the key `version` is 7; this program knows 1"),
        ("\"gain\": 2.1, ", "", "the key `gain` is missing"),
        ("2.1", "-2.1", "the key `gain` = -2.1: it must be a positive number"),
        ("2.1", "\"2.1\"", "the key `gain` is a text, not a number"),
        ("100", "null", "the key `offset` is null, not a number"),
        ("100", "NaN", "not JSON"),
        ("100", "1e999", "not JSON"),
        ("1.6", "-1.6", "the key `read_noise` = -1.6: it must be 0 or a positive number"),
        ("1.6", "[1.6]", "the key `read_noise` is a list, not a number"),
    ] {
        let message = message(&good.replace(from, to));
        assert!(message.contains(expected) && message.contains("efmca calibrate"), "{expected}: {message}");
    }
    // counts without read noise have a family of their own
    assert!(message(&good.replace("1.6", "0")).contains("use poisson with the gain"));
    let missing = refused(path, &["denoise", "scene.tif", "-o", "clean.tif", "--camera", "none.json"]);
    assert!(missing.contains("none.json") && missing.contains("check that the path is right"), "{missing}");
    std::fs::write(path.join("good.json"), good).unwrap();
    let camera = ["denoise", "scene.tif", "-o", "clean.tif", "--camera", "good.json"];
    for more in [["--noise", "poisson"], ["--gain", "2"], ["--offset", "3"]] {
        let message = refused(path, &[&camera[..], &more].concat());
        assert!(message.contains("--camera <FILE.json>' cannot be used with"), "{message}");
    }
    let neither = refused(path, &["denoise", "scene.tif", "-o", "clean.tif"]);
    assert!(neither.contains("--noise <FAMILY>"), "{neither}");
}

#[test]
fn noise_of_the_family_is_made_above_an_offset() {
    let folder = folder();
    let path = folder.path();
    let clean = Array4::from_shape_fn((1, 64, 64, 1), |(_, y, _, _)| y as f64);
    save(path, "clean.tif", &clean);
    let noise = ["--noise", "camera:gain=2.1,offset=100,read=1.6", "--peak", "42", "--offset", "100"];
    let shown = succeeds(path, &[&["corrupt", "clean.tif", "-o", "noisy.tif"][..], &noise].concat());
    assert!(shown.contains("means up to 42 + 100"), "{shown}");
    let noisy = read(&path.join("noisy.tif"), &ReadOptions::default()).unwrap().values;
    let mean = noisy.mean().unwrap();
    assert!((mean - 121.0).abs() < 0.8, "{mean}");
    // nothing is clipped at the offset
    assert!(noisy.iter().any(|value| *value < 100.0));
    let quick = ["--patch", "8", "--causes", "8", "--iterations", "3", "--reference", "clean.tif", "--quality", "fast"];
    let files = ["denoise", "noisy.tif", "-o", "out.tif", "--noise", "camera:gain=2.1,offset=100,read=1.6"];
    let shown = succeeds(path, &[&files[..], &quick].concat());
    assert!(shown.contains("(peak 142)"), "{shown}");
    let message = refused(path, &["corrupt", "clean.tif", "-o", "x.tif", "--noise", "poisson", "--offset", "nan"]);
    assert!(message.contains("--offset NaN: it must be a finite number"), "{message}");
}
