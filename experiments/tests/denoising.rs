//! The denoising experiments on small drawn images: they run, and they write what they say.

use std::path::Path;
use std::process::{Command, Output};

use efmca_io::image_file::{SampleType, WriteOptions, write};
use ndarray::Array4;

fn drawn(path: &Path, channels: usize) {
    let image =
        Array4::from_shape_fn(
            (1, 40, 40, channels),
            |(_, y, x, _)| {
                if (10..28).contains(&y) && x > 15 { 200.0 } else { 30.0 }
            },
        );
    let options = WriteOptions { dtype: Some(SampleType::U8), ..WriteOptions::default() };
    write(path, image.view(), &options).unwrap();
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let program = Command::new(env!("CARGO_BIN_EXE_experiments"))
        .args(arguments)
        .args(["--images", ".", "--out", "results", "--runs", "1"])
        .current_dir(folder)
        .output();
    program.unwrap()
}

#[test]
fn both_tables_are_written() {
    let folder = tempfile::tempdir().unwrap();
    drawn(&folder.path().join("house.png"), 1);
    let poisson = run(folder.path(), &["poisson", "--only", "house", "--peaks", "2", "--quality", "fast"]);
    assert!(poisson.status.success(), "{}", String::from_utf8_lossy(&poisson.stderr));
    let table = std::fs::read_to_string(folder.path().join("results/poisson-fast.md")).unwrap();
    assert!(table.contains("## Peak 2") && table.contains("**efmca**") && !table.contains("## Peak 1"), "{table}");
    let text = std::fs::read_to_string(folder.path().join("results/poisson-fast.json")).unwrap();
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    let (noisy, clean) = (found[0]["noisy"].as_f64().unwrap(), found[0]["psnr"].as_f64().unwrap());
    assert!(clean > noisy + 8.0, "{noisy} -> {clean}");

    let small =
        ["--patch", "6", "--components", "8", "--iterations", "3", "--qualities", "fast", "--picture", "all.png"];
    let exponential = run(folder.path(), &[&["exponential"], &small[..]].concat());
    assert!(exponential.status.success(), "{}", String::from_utf8_lossy(&exponential.stderr));
    let table = std::fs::read_to_string(folder.path().join("results/exponential.md")).unwrap();
    assert!(["E-MCA", "G-MCA", "P-MCA", "--quality fast", "noisy"].iter().all(|name| table.contains(name)), "{table}");
    assert!(std::fs::read(folder.path().join("all.png")).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn images_that_are_not_there_or_not_grey_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = run(folder.path(), &["poisson", "--quality", "fast"]);
    assert!(!missing.status.success() && String::from_utf8_lossy(&missing.stderr).contains("house.png"));
    drawn(&folder.path().join("house.png"), 3);
    let colour = run(folder.path(), &["exponential"]);
    let message = String::from_utf8_lossy(&colour.stderr).into_owned();
    assert!(!colour.status.success() && message.contains("3 channels"), "{message}");
}
