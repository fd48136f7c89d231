//! `--noise auto`, and no `--noise` at all.

mod common;

use std::path::Path;

use efmca_io::image_file::{WriteOptions, write};
use ndarray::Array4;

use common::{efmca, interrupted, refused, succeeds, text};

/// Squares of different brightness.
fn scene(low: f64, high: f64) -> Array4<f64> {
    Array4::from_shape_fn((1, 64, 64, 1), |(_, y, x, _)| {
        low + (high - low) * ((y / 16 * 5 + x / 16 * 3) % 7) as f64 / 6.0
    })
}

fn save(folder: &Path, name: &str, values: &Array4<f64>) {
    write(&folder.join(name), values.view(), &WriteOptions::default()).unwrap();
}

/// A folder with noisy.tif.
fn folder_with(noise: &str, low: f64, high: f64) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    save(folder.path(), "clean.tif", &scene(low, high));
    succeeds(folder.path(), &["corrupt", "clean.tif", "-o", "noisy.tif", "--noise", noise, "--seed", "4"]);
    folder
}

/// Settings that are quick on small images.
const QUICK: [&str; 6] = ["--patch", "8", "--causes", "4", "--iterations", "2"];

fn denoise<'a>(input: &'a str, output: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["denoise", input, "-o", output][..], &QUICK, more].concat()
}

/// The line about the noise, which comes first.
fn line(shown: &str) -> &str {
    let line = shown.lines().next().unwrap_or_default();
    assert!(line.starts_with("noise: "), "{shown}");
    line
}

#[test]
fn the_noise_is_found_if_it_is_not_given() {
    let folder = folder_with("exponential", 2.0, 40.0);
    let path = folder.path();
    let found = succeeds(path, &denoise("noisy.tif", "found.tif", &["--report", "found.html"]));
    assert!(line(&found).starts_with("noise: the noise looks like exponential ("), "{found}");
    let auto = succeeds(path, &denoise("noisy.tif", "auto.tif", &["--noise", "auto"]));
    assert_eq!(line(&auto), line(&found));
    // a family that is given is taken, and nothing is said
    let given = succeeds(path, &denoise("noisy.tif", "given.tif", &["--noise", "exponential"]));
    assert!(!given.contains("noise:"), "{given}");
    let bytes = |name: &str| std::fs::read(path.join(name)).unwrap();
    assert_eq!(bytes("found.tif"), bytes("given.tif"));
    assert_eq!(bytes("found.tif"), bytes("auto.tif"));
    let page = std::fs::read_to_string(path.join("found.html")).unwrap();
    assert!(page.contains("exponential (auto: the noise looks like exponential"), "no line about the noise");
}

#[test]
fn programs_are_told_what_was_found() {
    let folder = folder_with("exponential", 2.0, 40.0);
    let output = efmca(folder.path(), &denoise("noisy.tif", "out.tif", &["--log-format", "json"]));
    let lines: Vec<serde_json::Value> =
        text(&output.stderr).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found = lines.iter().find(|line| line["event"] == "noise").unwrap();
    assert_eq!((&found["family"], found["camera"].is_null()), (&"exponential".into(), true));
    let ranking = found["ranking"].as_array().unwrap();
    assert_eq!(ranking[0]["family"], "exponential");
    assert!(ranking.len() > 2 && ranking.iter().all(|one| one["behind"].is_number() && one["tied"].is_boolean()));
    assert!(found["sentence"].as_str().unwrap().contains("looks like exponential"));
}

#[test]
fn missing_pixels_and_camera_units_have_noise_too() {
    let folder = folder_with("poisson", 5.0, 90.0);
    let path = folder.path();
    let shown =
        succeeds(path, &[&["inpaint", "noisy.tif", "-o", "filled.tif", "--missing", "20"], &QUICK[..]].concat());
    assert!(line(&shown).contains("looks like poisson"), "{shown}");
    let counts = efmca_io::image_file::read(&path.join("noisy.tif"), &Default::default()).unwrap().values;
    save(path, "camera.tif", &counts.mapv(|count| 3.0 * count + 200.0));
    let shown = succeeds(path, &denoise("camera.tif", "camera-clean.tif", &[]));
    assert!(line(&shown).contains("gain of about") && line(&shown).contains("efmca calibrate"), "{shown}");
    // with both the values are counts again
    let shown = succeeds(path, &denoise("camera.tif", "units.tif", &["--gain", "3", "--offset", "200"]));
    assert!(line(&shown).contains("looks like poisson") && !line(&shown).contains("calibrate"), "{shown}");
    assert!(shown.contains("turned into counts"), "{shown}");
}

#[test]
fn odd_images_are_cleaned_or_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let one = |value: f64| Array4::from_elem((1, 12, 12, 1), value);
    save(path, "flat.tif", &one(7.0));
    let shown = succeeds(path, &denoise("flat.tif", "flat-clean.tif", &[]));
    assert!(line(&shown).contains("all pixels are 7, so that there is no noise; poisson is taken"), "{shown}");
    let tiny = Array4::from_shape_vec((1, 2, 2, 1), vec![3.0, 4.0, 90.0, 2.0]).unwrap();
    save(path, "tiny.tif", &tiny);
    let shown = succeeds(path, &["denoise", "tiny.tif", "-o", "tiny-clean.tif", "--iterations", "2"]);
    assert!(line(&shown).contains("4 pixels are too few to compare families"), "{shown}");
    save(path, "missing.tif", &one(f64::NAN));
    assert!(refused(path, &denoise("missing.tif", "x.tif", &[])).contains("every pixel to learn from is missing"));
    let mut infinite = one(1.5);
    infinite[[0, 2, 3, 0]] = f64::INFINITY;
    save(path, "infinite.tif", &infinite);
    let message = refused(path, &denoise("infinite.tif", "x.tif", &[]));
    assert!(message.contains("row 3, column 4") && message.contains("--missing=inf"), "{message}");
    succeeds(path, &denoise("infinite.tif", "finite.tif", &["--missing", "inf"]));
    // settings are checked before the noise is looked for
    assert!(refused(path, &denoise("flat.tif", "x.tif", &["--states", "0"])).contains("--states 0"));
    assert!(refused(path, &denoise("flat.tif", "x.tif", &["--noise", "automatic"])).contains("automatic"));
    assert!(!path.join("x.tif").exists());
}

#[test]
fn ctrl_c_ends_the_search_without_a_result() {
    let folder = folder_with("exponential", 2.0, 40.0);
    let (first, _, output) = interrupted(folder.path(), &denoise("noisy.tif", "out.tif", &[]));
    assert!(first.contains("training"), "{first}");
    let stopped = !output.status.success();
    // a fast machine may have found the noise before the signal came
    assert!(stopped || text(&output.stdout).contains("stopped early"), "{}", text(&output.stdout));
    assert_eq!(folder.path().join("out.tif").exists(), !stopped);
}
