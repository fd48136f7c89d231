//! The experiment on natural images, on small drawn ones: it runs, and it writes what it says.

use std::path::Path;
use std::process::{Command, Output};

use efmca_io::image_file::{SampleType, WriteOptions, write};
use ndarray::Array4;

/// Leaves that fell on each other: discs of many sizes and greys, which have the edges of natural scenes.
fn leaves(path: &Path, seed: u64) {
    let mut state = seed;
    let mut random = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    let mut image = Array4::from_elem((1, 64, 64, 1), 90.0);
    for _ in 0..150 {
        let (y, x, radius, grey) = (random(64), random(64), 2 + random(9), 20 + random(200));
        for ((_, row, column, _), value) in image.indexed_iter_mut() {
            if row.abs_diff(y).pow(2) + column.abs_diff(x).pow(2) < radius * radius {
                *value = grey as f64;
            }
        }
    }
    let options = WriteOptions { dtype: Some(SampleType::U8), ..WriteOptions::default() };
    write(path, image.view(), &options).unwrap();
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let small = ["--patch", "8", "--patches", "800", "--components", "10", "--iterations", "6", "--states", "8"];
    let program = Command::new(env!("CARGO_BIN_EXE_experiments"))
        .args(["natural", "--images", "images", "--out", "results"])
        .args(small)
        .args(arguments)
        .current_dir(folder)
        .output();
    program.unwrap()
}

#[test]
fn fields_are_learned_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let images = folder.path().join("images");
    std::fs::create_dir(&images).unwrap();
    let none = run(folder.path(), &[]);
    assert!(!none.status.success() && String::from_utf8_lossy(&none.stderr).contains("no PNG or TIFF image"));
    (0..3).for_each(|at| leaves(&images.join(format!("{at}.png")), at));
    let done = run(folder.path(), &[]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let results = folder.path().join("results");
    let page = std::fs::read_to_string(results.join("natural.md")).unwrap();
    assert!(page.contains("800 whitened patches of 8 x 8") && page.contains("Gabor-like"), "{page}");
    let text = std::fs::read_to_string(results.join("natural.json")).unwrap();
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["images"], 3);
    assert!(found["spread_between"].as_f64().unwrap() > 1.0, "{text}");
    let shares = found["summary"]["shares"].as_array().unwrap();
    let total =
        |at: usize| ["gabor", "globular", "other"].iter().map(|key| shares[at][key].as_f64().unwrap()).sum::<f64>();
    assert!((0..shares.len()).all(|at| (total(at) - 1.0).abs() < 1e-9), "{text}");
    for name in ["means", "deviations", "bound"] {
        let picture = std::fs::read(results.join(format!("natural-{name}.png"))).unwrap();
        assert!(picture.starts_with(b"\x89PNG"));
    }
    let timed = run(folder.path(), &["--steps", "1", "--full"]);
    assert!(timed.status.success(), "{}", String::from_utf8_lossy(&timed.stderr));
    let page = std::fs::read_to_string(results.join("natural-full.md")).unwrap();
    assert!(page.contains("CPU seconds of an EM step later") && !page.contains("Gabor-like"), "{page}");
    assert!(!results.join("natural-full-means.png").exists());
}
