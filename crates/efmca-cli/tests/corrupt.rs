//! `efmca corrupt` as a user runs it.

use std::path::Path;
use std::process::Command;

use assert_cmd::assert::OutputAssertExt;
use assert_cmd::cargo::cargo_bin;
use efmca_io::image_file::{ImageFile, ReadOptions, SampleType, WriteOptions, read, write};
use ndarray::Array4;

/// Runs the program in a folder and gives what it wrote to stdout and stderr.
fn efmca(folder: &Path, arguments: &str, code: i32) -> (String, String) {
    let mut command = Command::new(cargo_bin!("efmca"));
    let output =
        command.current_dir(folder).args(arguments.split_whitespace()).assert().code(code).get_output().clone();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn image(folder: &Path, name: &str) -> ImageFile {
    read(&folder.join(name), &ReadOptions::default()).unwrap()
}

/// A folder with a clean image: a ramp from 0 to 240, in 8 bits and in colour.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let grey = Array4::from_shape_fn((1, 6, 9, 1), |(_, _, column, _)| (30 * column) as f64);
    let colour = Array4::from_shape_fn((1, 6, 9, 3), |(_, row, _, channel)| (1 + row + 10 * channel) as f64);
    let options = WriteOptions { dtype: Some(SampleType::U8), ..Default::default() };
    write(&folder.path().join("clean.png"), grey.view(), &options).unwrap();
    write(&folder.path().join("colour.tif"), colour.view(), &options).unwrap();
    folder
}

#[test]
fn a_peak_is_applied_and_kept_in_the_file() {
    let folder = folder();
    let (shown, errors) = efmca(folder.path(), "corrupt clean.png -o noisy.tif --noise poisson --peak 2 --seed 5", 0);
    assert_eq!(errors, "");
    assert_eq!(shown.lines().count(), 1, "{shown}");
    for expected in ["noisy.tif", "6 x 9 pixels", "poisson", "seed 5", "divided by 120", "PSNR", "peak 2"] {
        assert!(shown.contains(expected), "{shown}");
    }
    let noisy = image(folder.path(), "noisy.tif");
    assert_eq!(noisy.metadata.sample, SampleType::F32);
    assert!(noisy.values.iter().all(|value| value.fract() == 0.0 && *value >= 0.0));
    assert!(noisy.values.iter().any(|value| *value > 0.0));
    assert!((0..6).all(|row| noisy.values[[0, row, 0, 0]] == 0.0));
    for (key, value) in [("family", "poisson"), ("peak", "2"), ("peak-scale", "120"), ("seed", "5")] {
        assert_eq!(noisy.metadata.note(key), Some(value), "{key}");
    }
    assert_eq!(noisy.metadata.note("sd"), None);
}

#[test]
fn the_same_seed_gives_the_same_file() {
    let folder = folder();
    let bytes = |name: &str, seed: u64| {
        let arguments = format!("corrupt colour.tif -o {name} --noise exponential --seed {seed}");
        efmca(folder.path(), &arguments, 0);
        std::fs::read(folder.path().join(name)).unwrap()
    };
    let first = bytes("a.tif", 1);
    assert!(first == bytes("b.tif", 1), "two runs differ");
    assert!(first != bytes("c.tif", 2), "another seed changes nothing");
    let noisy = image(folder.path(), "a.tif");
    assert_eq!(noisy.values.dim(), (1, 6, 9, 3));
    assert!(noisy.values.iter().all(|value| *value > 0.0));
}

#[test]
fn counts_fit_a_png_and_fractions_do_not() {
    let folder = folder();
    let (shown, _) = efmca(folder.path(), "corrupt clean.png -o small.png --noise poisson --peak 3", 0);
    assert!(shown.contains("as u8") && !shown.contains("rounded"), "{shown}");
    assert_eq!(image(folder.path(), "small.png").metadata.note("peak"), Some("3"));
    let (shown, _) = efmca(folder.path(), "corrupt clean.png -o large.png --noise poisson --peak 3000", 0);
    assert!(shown.contains("as u16"), "{shown}");
    let refused = "corrupt clean.png -o x.png --noise gaussian --sd 3 --floor 60";
    let (shown, message) = efmca(folder.path(), refused, 2);
    assert!(shown.is_empty() && message.contains("end in .tif") && message.contains("--dtype u16"), "{message}");
    assert!(!folder.path().join("x.png").exists());
    let (shown, _) = efmca(folder.path(), &format!("{refused} --dtype u16"), 0);
    assert!(shown.contains("values rounded") && shown.contains("means raised to 60"), "{shown}");
}

#[test]
fn every_format_takes_noise() {
    let folder = folder();
    for name in ["n.tif", "n.npy", "n.npz", "n.npz:dark", "n.fits"] {
        let arguments = format!("corrupt clean.png -o {name} --noise rayleigh --floor 1 --force");
        let (shown, _) = efmca(folder.path(), &arguments, 0);
        assert_eq!(shown.contains("no place for notes"), name == "n.npy", "{shown}");
        let noisy = image(folder.path(), name);
        assert_eq!(noisy.values.dim(), (1, 6, 9, 1));
        assert!(noisy.values.iter().all(|value| *value > 0.0));
        if name != "n.npy" {
            assert_eq!(noisy.metadata.note("family"), Some("rayleigh"), "{name}");
        }
    }
}

#[test]
fn the_level_of_the_noise_is_asked_for() {
    let folder = folder();
    for (noise, expected) in [
        ("gaussian", "gaussian:var=25"),
        ("gamma", "gamma:k=4"),
        ("beta", "standard deviation sd"),
        ("poisson --sd 2", "leave it out"),
        ("laplace", "cannot follow an image"),
        ("poison", "did you mean `poisson`?"),
        ("poisson --peak 0", "positive"),
        ("poisson --peak many", "invalid value"),
        ("poisson --dtype u7", "u8"),
    ] {
        let (_, message) = efmca(folder.path(), &format!("corrupt clean.png -o x.tif --noise {noise}"), 2);
        assert!(message.starts_with("error: ") && message.contains(expected), "{message}");
    }
    for noise in
        ["gaussian --sd 10", "gaussian:var=100", "gamma --sd 20 --floor 5", "beta --peak 0.9 --floor 0.1 --sd 0.1"]
    {
        efmca(folder.path(), &format!("corrupt clean.png -o x.tif --force --noise {noise}"), 0);
    }
}

#[test]
fn a_mean_that_cannot_be_names_its_pixel() {
    let folder = folder();
    let (_, message) = efmca(folder.path(), "corrupt clean.png -o x.tif --noise exponential", 2);
    assert!(message.contains("clean.png: page 1, row 1, column 1"), "{message}");
    assert!(message.contains("above 0") && message.contains("floor"), "{message}");
    let (_, message) = efmca(folder.path(), "corrupt clean.png -o x.tif --noise bernoulli", 2);
    assert!(message.contains("column 2") && message.contains("lower peak"), "{message}");
    efmca(folder.path(), "corrupt clean.png -o x.tif --noise bernoulli --peak 1", 0);
}

#[test]
fn files_are_not_overwritten_and_must_be_there() {
    let folder = folder();
    let before = std::fs::read(folder.path().join("colour.tif")).unwrap();
    let (_, message) = efmca(folder.path(), "corrupt clean.png -o colour.tif --noise poisson", 2);
    assert!(message.contains("exists already"), "{message}");
    assert_eq!(std::fs::read(folder.path().join("colour.tif")).unwrap(), before);
    efmca(folder.path(), "corrupt clean.png -o colour.tif --noise poisson --force", 0);
    let (_, message) = efmca(folder.path(), "corrupt nowhere.png -o x.tif --noise poisson", 2);
    assert!(message.contains("nowhere.png") && message.contains("check that the path is right"), "{message}");
    let (_, message) = efmca(folder.path(), "corrupt clean.png -o x.jpg --noise poisson", 2);
    assert!(message.contains(".tif"), "{message}");
}
