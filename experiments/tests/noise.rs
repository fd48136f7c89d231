//! The noise experiments, small: they run, they name what made the data, and they write what they say.

mod common;

use std::path::Path;

use efmca_io::image_file::{SampleType, WriteOptions, write};
use ndarray::Array4;

use common::{results, run};

#[test]
fn families_of_drawn_data_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let small = ["--rows", "400", "--columns", "8", "--components", "2", "--draws", "2", "--restarts", "1"];
    let families = ["--families", "bernoulli;geometric;rayleigh"];
    let (table, lines) = results(folder.path(), "noise-synthetic", &[&small[..], &families].concat());
    assert!(table.contains("--draws 2 --rows 400") && table.contains("| geometric | 2 of 2 |"), "{table}");
    let lines = lines.as_array().unwrap();
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| line["right"] == 2 && line["cpu"].as_f64().unwrap() > 0.0), "{lines:?}");
}

#[test]
fn columns_of_drawn_tables_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let small = ["--rows", "1500", "--columns", "8", "--causes", "3", "--components", "4", "--iterations", "30"];
    let families = ["--families", "bernoulli;geometric;exponential;gaussian", "--tables", "2", "--missing", "0.02"];
    let (table, tables) = results(folder.path(), "noise-tables", &[&small[..], &families].concat());
    assert!(table.contains("| 8 | gaussian |") && table.contains("| table 1 | table 2 |"), "{table}");
    assert_eq!(tables.as_array().unwrap().len(), 2);
    for table in tables.as_array().unwrap() {
        assert!(table["cpu"].as_f64().unwrap() > 0.0 && table["sweeps"].as_u64().unwrap() > 0);
        let columns = table["columns"].as_array().unwrap();
        assert_eq!(columns.len(), 8);
        let count = |verdict: &str| columns.iter().filter(|column| column["verdict"] == verdict).count();
        assert!(count("right") >= 7 && count("wrong") == 0, "{table}");
    }
    assert!(!run(folder.path(), &["noise-tables", "--families", "gama"]).status.success());
}

#[test]
fn noises_of_a_drawn_image_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let image = Array4::from_shape_fn(
        (1, 64, 64, 1),
        |(_, y, x, _)| {
            if (x / 16 + y / 20).is_multiple_of(2) { 200.0 } else { 60.0 }
        },
    );
    let options = WriteOptions { dtype: Some(SampleType::U8), ..WriteOptions::default() };
    write(&folder.path().join("drawn.png"), image.view(), &options).unwrap();
    let small = ["--images", ".", "--names", "drawn", "--runs", "1", "--patch", "6", "--components", "8"];
    let more = ["--noises", "beta,gaussian", "--iterations", "15", "--stride", "2"];
    let (table, cells) = results(folder.path(), "noise-images", &[&small[..], &more].concat());
    let cells = cells.as_array().unwrap();
    assert_eq!(cells.len(), 2);
    for cell in cells {
        assert_eq!(cell["noise"], cell["named"], "{cell}");
        assert!(cell["margin"].as_f64().unwrap() > 0.0 && cell["error"].as_f64().unwrap() > 0.0, "{cell}");
    }
    assert!(table.contains("**2 of 2 named correctly") && !table.contains("| gamma | drawn |"), "{table}");
    let missing = run(folder.path(), &["noise-images", "--images", ".", "--names", "house"]);
    assert!(!missing.status.success() && String::from_utf8_lossy(&missing.stderr).contains("house.png"));
}

/// A WAV file with noise that swells, 16 bit, 22,050 samples a second.
fn sound(path: &Path) {
    let loudness = |n: u32| if (n / 4000).is_multiple_of(2) { 2 } else { 12 };
    let value = |n: u32| ((n.wrapping_mul(2_654_435_761).rotate_left(7) ^ n.wrapping_mul(40_503)) >> 16) as u16 as i16;
    let samples: Vec<i16> = (0..16_000).map(|n| value(n) / loudness(n)).collect();
    let size = samples.len() as u32 * 2;
    let mut wav = Vec::new();
    wav.extend_from_slice(b"RIFF");
    wav.extend_from_slice(&(36 + size).to_le_bytes());
    wav.extend_from_slice(b"WAVEfmt ");
    for (value, bytes) in [(16u32, 4), (1, 2), (1, 2), (22_050, 4), (44_100, 4), (2, 2), (16, 2)] {
        wav.extend_from_slice(&value.to_le_bytes()[..bytes]);
    }
    wav.extend_from_slice(b"data");
    wav.extend_from_slice(&size.to_le_bytes());
    wav.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
    std::fs::write(path, wav).unwrap();
}

#[test]
fn amplitudes_of_a_sound_are_ranked() {
    let folder = tempfile::tempdir().unwrap();
    let small = ["--sounds", ".", "--families", "gamma,gaussian", "--seconds", "0.6", "--patch", "6", "--stride", "4"];
    let more = ["--components", "6", "--iterations", "10", "--restarts", "1"];
    let arguments = [&small[..], &more].concat();
    let empty = run(folder.path(), &[&["noise-audio"], &arguments[..]].concat());
    assert!(!empty.status.success() && String::from_utf8_lossy(&empty.stderr).contains("no WAV file"));
    sound(&folder.path().join("swell.wav"));
    let (table, sounds) = results(folder.path(), "noise-audio", &arguments);
    // amplitudes of noise are no less than zero and skewed
    assert!(table.contains("1 of 1 files") && table.contains("## swell.wav"), "{table}");
    assert_eq!(sounds[0]["ranking"][0]["family"], "gamma", "{sounds}");
}
