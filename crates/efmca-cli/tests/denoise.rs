//! `efmca denoise`, `efmca inpaint`, `efmca apply` and `efmca demo` as a user runs them.

mod common;

use std::path::Path;

use efmca_io::image_file::{ReadOptions, SampleType, WriteOptions, read, write};
use ndarray::Array4;

use common::{efmca, interrupted, refused, succeeds, text};

/// Stripes and a bright corner.
fn scene(pages: usize, channels: usize) -> Array4<f64> {
    Array4::from_shape_fn((pages, 40, 36, channels), |(page, y, x, channel)| {
        let stripe = if (x + page) / 6 % 2 == 0 { 6.0 } else { 1.0 };
        stripe + if y > 24 { 8.0 } else { 0.0 } + channel as f64
    })
}

fn save(folder: &Path, name: &str, values: &Array4<f64>) {
    write(&folder.join(name), values.view(), &WriteOptions::default()).unwrap();
}

fn load(folder: &Path, name: &str) -> Array4<f64> {
    read(&folder.join(name), &ReadOptions::default()).unwrap().values
}

/// A folder with clean.tif and noisy.tif.
fn folder_with(pages: usize, channels: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    save(folder.path(), "clean.tif", &scene(pages, channels));
    succeeds(folder.path(), &["corrupt", "clean.tif", "-o", "noisy.tif", "--noise", "poisson"]);
    folder
}

/// Settings that are quick on small images.
const QUICK: [&str; 8] = ["--noise", "poisson", "--patch", "8", "--causes", "12", "--iterations", "12"];

fn with<'a>(first: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [first, &QUICK, more].concat()
}

fn error(a: &Array4<f64>, b: &Array4<f64>) -> f64 {
    (a - b).mapv(|e| e * e).mean().unwrap()
}

#[test]
fn noise_goes_and_all_files_are_written() {
    let folder = folder_with(1, 1);
    let path = folder.path();
    let more = ["--reference", "clean.tif", "--report", "r.html", "--uncertainty", "sd.tif", "--save-model", "m.model"];
    let shown = succeeds(path, &with(&["denoise", "noisy.tif", "-o", "out.tif"], &more));
    assert!(shown.contains("PSNR") && shown.contains("SSIM") && shown.contains("wrote out.tif (f32)"), "{shown}");
    let (clean, noisy, out) = (load(path, "clean.tif"), load(path, "noisy.tif"), load(path, "out.tif"));
    assert!(error(&out, &clean) < error(&noisy, &clean) / 3.0, "{} {}", error(&out, &clean), error(&noisy, &clean));
    let deviation = load(path, "sd.tif");
    assert!(deviation.iter().all(|value| value.is_finite() && *value >= 0.0) && deviation.sum() > 0.0);
    let page = std::fs::read_to_string(path.join("r.html")).unwrap();
    assert!(page.contains("before") && page.contains("Learned causes") && page.contains("12 causes of 8 x 8 pixels"));
    // the model cleans the same image as well as the run that made it
    let shown = succeeds(path, &["apply", "m.model", "noisy.tif", "-o", "applied.tif", "--reference", "clean.tif"]);
    assert!(shown.contains("PSNR"), "{shown}");
    assert!(error(&load(path, "applied.tif"), &clean) < error(&noisy, &clean) / 3.0);
}

#[test]
fn the_same_seed_gives_the_same_bits_with_any_number_of_threads() {
    let folder = folder_with(1, 1);
    let path = folder.path();
    let run = |name: &str, more: &[&str]| {
        succeeds(path, &with(&["denoise", "noisy.tif", "-o", name], more));
        std::fs::read(path.join(name)).unwrap()
    };
    let first = run("a.tif", &["--threads", "1"]);
    assert!(first == run("b.tif", &["--threads", "2"]), "one thread and two differ");
    assert!(first != run("c.tif", &["--seed", "5"]), "another seed changes nothing");
}

#[test]
fn missing_pixels_are_filled_in() {
    let folder = folder_with(1, 1);
    let path = folder.path();
    let (clean, mut noisy) = (load(path, "clean.tif"), load(path, "noisy.tif"));
    let missing = |y: usize, x: usize| (y * 7 + x * 3).is_multiple_of(5);
    let mask = Array4::from_shape_fn(noisy.dim(), |(_, y, x, _)| f64::from(u8::from(missing(y, x))));
    let options = WriteOptions { dtype: Some(SampleType::U8), ..WriteOptions::default() };
    write(&path.join("mask.png"), mask.view(), &options).unwrap();
    succeeds(path, &with(&["inpaint", "noisy.tif", "-o", "out.tif"], &["--mask", "mask.png"]));
    let out = load(path, "out.tif");
    assert!(out.iter().all(|value| value.is_finite()));
    assert!(error(&out, &clean) < error(&noisy, &clean) / 2.0, "{}", error(&out, &clean));
    // what is below the mask does not matter, and NaN and a value say the same
    noisy.indexed_iter_mut().filter(|((_, y, x, _), _)| missing(*y, *x)).for_each(|(_, value)| *value = 999.0);
    save(path, "marked.tif", &noisy);
    succeeds(path, &with(&["inpaint", "marked.tif", "-o", "marked-out.tif"], &["--missing", "999"]));
    assert_eq!(load(path, "marked-out.tif"), out);
    noisy.mapv_inplace(|value| if value == 999.0 { f64::NAN } else { value });
    save(path, "holes.tif", &noisy);
    succeeds(path, &with(&["inpaint", "holes.tif", "-o", "holes-out.tif"], &[]));
    assert_eq!(load(path, "holes-out.tif"), out);
    assert!(refused(path, &with(&["inpaint", "clean.tif", "-o", "x.tif"], &[])).contains("no pixel is missing"));
}

#[test]
fn colours_stacks_and_camera_units() {
    let folder = folder_with(3, 3);
    let path = folder.path();
    let (clean, noisy) = (load(path, "clean.tif"), load(path, "noisy.tif"));
    assert_eq!(clean.dim(), (3, 40, 36, 3));
    succeeds(path, &with(&["denoise", "noisy.tif", "-o", "out.tif"], &["--learn-pages", "1,3"]));
    let out = load(path, "out.tif");
    assert_eq!(out.dim(), clean.dim());
    assert!(error(&out, &clean) < error(&noisy, &clean) / 2.0);
    // 5 camera units a photon above 100
    save(path, "camera.tif", &noisy.mapv(|value| value * 5.0 + 100.0));
    let more = ["--gain", "5", "--offset", "100", "--learn-pages", "1,3"];
    let shown = succeeds(path, &with(&["denoise", "camera.tif", "-o", "units.tif"], &more));
    assert!(shown.contains("turned into counts"), "{shown}");
    let units = load(path, "units.tif");
    assert!(error(&units.mapv(|value| (value - 100.0) / 5.0), &out) < 1e-8);
    assert!(
        refused(path, &with(&["denoise", "noisy.tif", "-o", "x.tif"], &["--learn-pages", "4"]))
            .contains("pages 1 to 3")
    );
}

#[test]
fn pages_to_learn_from_are_a_set() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    // pages that have little in common, so that states of one are wrong for the other
    let pages = Array4::from_shape_fn((2, 30, 28, 1), |(page, y, x, _)| {
        if (page == 0 && x / 5 % 2 == 0) || (page == 1 && y / 4 % 2 == 0) { 9.0 } else { 1.0 }
    });
    save(path, "clean.tif", &pages);
    succeeds(path, &["corrupt", "clean.tif", "-o", "noisy.tif", "--noise", "poisson"]);
    let run = |name: &str, more: &[&str]| {
        succeeds(path, &with(&["denoise", "noisy.tif", "-o", name], more));
        std::fs::read(path.join(name)).unwrap()
    };
    let all = run("all.tif", &[]);
    assert!(all == run("turned.tif", &["--learn-pages", "2,1"]), "the order of the pages changes the result");
    assert!(all == run("more.tif", &["--learn-pages", "1,2,1"]), "a page that is named twice changes the result");
    let first = run("first.tif", &["--learn-pages", "1"]);
    assert!(first == run("twice.tif", &["--learn-pages", "1,1"]), "a page that is named twice counts twice");
    assert!(first != all && first != run("second.tif", &["--learn-pages", "2"]));
}

#[test]
fn a_reference_that_does_not_fit_is_refused_before_the_work() {
    let folder = folder_with(1, 1);
    let path = folder.path();
    save(path, "small.tif", &scene(1, 1).slice_move(ndarray::s![.., ..39, .., ..]));
    save(path, "dark.tif", &Array4::zeros((1, 40, 36, 1)));
    succeeds(path, &with(&["denoise", "noisy.tif", "-o", "first.tif"], &["--save-model", "m.model"]));
    // a number of iterations that would never end
    let endless = ["--iterations", "100000000", "--uncertainty", "sd.tif", "--report", "r.html", "--reference"];
    for (reference, words) in
        [("small.tif", "39 x 36 pixels"), ("none.tif", "none.tif"), ("dark.tif", "largest value is 0")]
    {
        let denoise =
            [&["denoise", "noisy.tif", "-o", "x.tif", "--noise", "poisson"], &endless[..], &[reference]].concat();
        let message = refused(path, &denoise);
        assert!(message.contains(words), "{message}");
        let message = refused(path, &["apply", "m.model", "noisy.tif", "-o", "x.tif", "--reference", reference]);
        assert!(message.contains(words), "{message}");
    }
    assert!(["x.tif", "sd.tif", "r.html"].iter().all(|name| !path.join(name).exists()));
}

#[cfg(unix)]
#[test]
fn after_ctrl_c_the_report_has_the_models_that_ran() {
    let folder = folder_with(1, 1);
    let path = folder.path();
    let arguments = ["denoise", "noisy.tif", "-o", "out.tif", "--noise", "poisson", "--report", "r.html"];
    let slow = ["--iterations", "100000", "--causes", "12"];
    let (line, _, output) = interrupted(path, &[&arguments[..], &slow].concat());
    assert!(line.contains("\"iteration\""), "{line}");
    assert!(output.status.success() && text(&output.stdout).contains("stopped early"), "{}", text(&output.stdout));
    // the first of three models, with the iterations that it had
    let page = std::fs::read_to_string(path.join("r.html")).unwrap();
    assert_eq!(page.matches("12 causes of").count(), 1);
    assert!(!page.contains("100000 iterations"));
    assert!(load(path, "out.tif").iter().all(|value| value.is_finite()));
}

#[test]
fn png_gets_a_stated_scale() {
    let folder = folder_with(1, 1);
    let path = folder.path();
    succeeds(path, &["corrupt", "clean.tif", "-o", "dim.png", "--noise", "poisson", "--peak", "0.5"]);
    let shown = succeeds(path, &with(&["denoise", "dim.png", "-o", "out.png"], &[]));
    assert!(shown.contains("stored as") && shown.contains("wrote out.png (u"), "{shown}");
    let shown = succeeds(path, &with(&["denoise", "dim.png", "-o", "out.tif"], &[]));
    assert!(!shown.contains("stored as") && shown.contains("(f32)"), "{shown}");
}

#[test]
fn what_cannot_be_done_is_said_before_the_work() {
    let folder = folder_with(1, 1);
    let path = folder.path();
    let denoise = |input: &str, output: &str, noise: &str, more: &[&str]| {
        refused(path, &[&["denoise", input, "-o", output, "--noise", noise], more].concat())
    };
    let mut negative = load(path, "noisy.tif");
    negative[[0, 3, 7, 0]] = -2.0;
    save(path, "negative.tif", &negative);
    let message = denoise("negative.tif", "x.tif", "poisson", &[]);
    assert!(message.contains("page 1, row 4, column 8, channel 1") && message.contains("-2"), "{message}");
    save(path, "half.tif", &negative.mapv(|value: f64| value.abs() + 0.5));
    assert!(denoise("half.tif", "x.tif", "poisson", &[]).contains("--gain"));
    assert!(denoise("noisy.tif", "x.tif", "poison", &[]).contains("did you mean `poisson`?"));
    assert!(denoise("noisy.tif", "x.tif", "poisson", &["--patch", "99"]).contains("40 x 36"));
    assert!(denoise("noisy.tif", "clean.tif", "poisson", &[]).contains("exists already"));
    assert!(denoise("noisy.tif", "x.jpg", "poisson", &[]).contains("x.jpg"));
    assert!(denoise("noisy.tif", "clean.tif/x.tif", "poisson", &[]).contains("clean.tif"));
    assert!(denoise("nothing.tif", "x.tif", "poisson", &[]).contains("nothing.tif"));
    assert!(denoise("noisy.tif", "x.tif", "poisson", &["--causes", "many"]).contains("auto"));
    assert!(denoise("noisy.tif", "x.tif", "poisson", &["--states", "0"]).contains("--states 0: give 1 or more"));
    assert!(denoise("noisy.tif", "x.tif", "poisson", &["--iterations", "0"]).contains("--iterations 0"));
    assert!(denoise("noisy.tif", "x.tif", "poisson", &["--learn-pages", "0"]).contains("counted from 1"));
    save(path, "nothing-seen.tif", &Array4::from_elem((1, 40, 36, 1), f64::NAN));
    assert!(denoise("nothing-seen.tif", "x.tif", "poisson", &[]).contains("every pixel to learn from is missing"));
    assert!(denoise("noisy.tif", "x.tif", "poisson", &["--report", "x.tif"]).contains("same file"));
    std::fs::write(path.join("cut.tif"), &std::fs::read(path.join("noisy.tif")).unwrap()[..900]).unwrap();
    assert!(denoise("cut.tif", "x.tif", "poisson", &[]).contains("cut.tif"));
    save(path, "small-mask.tif", &Array4::zeros((1, 4, 4, 1)));
    let message = refused(path, &with(&["inpaint", "noisy.tif", "-o", "x.tif"], &["--mask", "small-mask.tif"]));
    assert!(message.contains("4 rows x 4 columns") && message.contains("40 rows x 36 columns"), "{message}");
    succeeds(path, &["bars", "--family", "bernoulli", "--out", "b"]);
    let message = refused(path, &["apply", "b/bars-model.safetensors", "noisy.tif", "-o", "x.tif"]);
    assert!(message.contains("bernoulli"), "{message}");
    assert!(!path.join("x.tif").exists());
}

#[test]
fn machines_read_json() {
    let folder = folder_with(1, 1);
    let more = ["--log-format", "json", "--reference", "clean.tif"];
    let output = efmca(folder.path(), &with(&["denoise", "noisy.tif", "-o", "out.tif"], &more));
    let lines: Vec<serde_json::Value> =
        text(&output.stderr).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // twelve of the image, and four of a second pass over a part of the data
    assert_eq!(lines.iter().filter(|line| line["event"] == "iteration").count(), 16);
    assert!(lines.iter().any(|line| line["event"] == "quality" && line["psnr_after"].is_number()));
}

#[test]
fn the_demo_cleans_its_picture() {
    let folder = tempfile::tempdir().unwrap();
    let shown = succeeds(folder.path(), &["demo"]);
    let line = shown.lines().find(|line| line.starts_with("PSNR")).unwrap();
    let numbers: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert!(numbers[1] > numbers[0] + 12.0, "{line}");
    for name in ["camera.png", "noisy.tif", "denoised.tif", "report.html", "before-after.png", "days.csv"] {
        assert!(folder.path().join("efmca-demo").join(name).exists(), "{name}");
    }
}

#[test]
fn patches_go_over_pages() {
    let folder = folder_with(5, 1);
    let path = folder.path();
    let (clean, noisy) = (load(path, "clean.tif"), load(path, "noisy.tif"));
    let over_pages = |command: &[&str], more: &[&str]| {
        let quick = ["--noise", "poisson", "--patch", "8x7x3", "--causes", "12", "--iterations", "8"];
        succeeds(path, &[command, &quick, more].concat())
    };
    let more = ["--save-model", "m.model", "--report", "r.html"];
    over_pages(&["denoise", "noisy.tif", "-o", "out.tif"], &more);
    let out = load(path, "out.tif");
    assert_eq!(out.dim(), clean.dim());
    assert!(error(&out, &clean) < error(&noisy, &clean) / 2.0, "{}", error(&out, &clean));
    let page = std::fs::read_to_string(path.join("r.html")).unwrap();
    assert!(page.contains("12 causes of 8 x 7 pixels x 3 pages") && page.contains("page 2 of 3 of a patch"));
    // the model knows its patches
    assert!(succeeds(path, &["info", "m.model"]).contains("8 x 7 pixels x 3 pages"));
    succeeds(path, &["apply", "m.model", "noisy.tif", "-o", "applied.tif"]);
    assert!(error(&load(path, "applied.tif"), &clean) < error(&noisy, &clean) / 2.0);
    let apply = |patch: &str| refused(path, &["apply", "m.model", "noisy.tif", "-o", "x.tif", "--patch", patch]);
    let message = apply("7x8x3");
    assert!(message.contains("8 x 7 pixels x 3 pages, and --patch says 7 x 8 pixels x 3 pages"), "{message}");
    let mut holes = noisy.clone();
    holes.slice_mut(ndarray::s![2, 5..9, 5..9, ..]).fill(f64::NAN);
    save(path, "holes.tif", &holes);
    over_pages(&["inpaint", "holes.tif", "-o", "filled.tif"], &[]);
    assert!(load(path, "filled.tif").iter().all(|value| value.is_finite()));

    save(path, "one.tif", &noisy.slice(ndarray::s![..1, .., .., ..]).to_owned());
    let message = refused(path, &["apply", "m.model", "one.tif", "-o", "x.tif"]);
    assert!(message.contains("one.tif") && message.contains("1 page, all that the image has"), "{message}");
    let denoise = |input: &str, patch: &str, more: &[&str]| {
        refused(path, &[&["denoise", input, "-o", "x.tif", "--noise", "poisson", "--patch", patch], more].concat())
    };
    let message = denoise("one.tif", "8x8x5", &[]);
    assert!(message.contains("5 pages") && message.contains("1 page, all that the image has"), "{message}");
    let message = denoise("noisy.tif", "8x8x99", &[]);
    assert!(message.contains("99 pages") && message.contains("1 to 5 pages, as many as the stack has"), "{message}");
    for wrong in ["8x8x0", "8x8x", "8x8x5x2"] {
        assert!(denoise("noisy.tif", wrong, &[]).contains("8x8x5 for 8 rows, 8 columns and 5 pages"), "{wrong}");
    }
    assert!(denoise("noisy.tif", "8x", &[]).contains("not a number of pixels"));
    let message = denoise("noisy.tif", "8x8x3", &["--learn-pages", "1,2,4"]);
    assert!(message.contains("page 2 and then page 4") && message.contains("--learn-pages"), "{message}");
    assert!(!path.join("x.tif").exists());
}

#[test]
fn a_model_says_how_many_channels_it_is_for() {
    let folder = folder_with(1, 3);
    let path = folder.path();
    succeeds(path, &with(&["denoise", "noisy.tif", "-o", "out.tif"], &["--save-model", "m.model"]));
    save(path, "grey.tif", &Array4::ones((1, 20, 20, 1)));
    let message = refused(path, &["apply", "m.model", "grey.tif", "-o", "x.tif"]);
    assert!(message.contains("an image with 3 channels, and this one has 1"), "{message}");
}
