//! The experiments with tables, small: they run, they find what was put in, and they write what they say.

mod common;

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use common::{results, run};

/// The lines that an experiment wrote, as a table and as numbers.
fn lines(folder: &Path, name: &str, arguments: &[&str]) -> (String, Vec<Value>) {
    let (text, numbers) = results(folder, name, arguments);
    (text, numbers.as_array().unwrap().clone())
}

/// Numbers between 0 and 1 that are the same in every run.
fn draw(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

/// Three parts of a table of two groups of rows, in which three columns go together.
fn table(folder: &Path) {
    let mut state = 3;
    for (part, rows) in [("train", 240), ("valid", 80), ("test", 80)] {
        let mut text = String::from("a,b,c\n");
        for _ in 0..rows {
            let high = draw(&mut state) < 0.5;
            let mut cell = |low: f64, far: f64| {
                let sum: f64 = (0..4).map(|_| draw(&mut state)).sum();
                low + if high { far } else { 0.0 } + sum
            };
            let _ = writeln!(text, "{:.2},{:.2},{:.0}", cell(3.0, 6.0), cell(1.0, 8.0), cell(2.0, 9.0));
        }
        std::fs::write(folder.join(format!("made-{part}.csv")), text).unwrap();
    }
}

#[test]
fn rounded_columns_are_named_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let small = ["--draws", "2", "--rows", "500", "--steps", "1,0.1", "--families", "gaussian 50 64;exponential 0.1"];
    let (text, lines) = lines(folder.path(), "rounded", &small);
    assert!(text.contains("--draws 2 --rows 500") && text.contains("| gaussian 50 64 | 0.1 | "), "{text}");
    assert_eq!(lines.len(), 4);
    assert!(lines.iter().map(|line| line["same"].as_u64().unwrap()).sum::<u64>() >= 6, "{lines:?}");
    assert!(lines.iter().all(|line| line["farthest"].as_f64().unwrap() < 3.0), "{lines:?}");
}

#[test]
fn the_verdict_sees_a_mixture_and_lets_families_be() {
    let folder = tempfile::tempdir().unwrap();
    let small = ["--draws", "10", "--rows", "800", "--columns", "5", "--families", "gaussian 50 64;poisson 6"];
    let (text, lines) = lines(folder.path(), "verdict", &small);
    assert!(text.contains("--draws 10"), "{text}");
    let count = |line: &Value| (line["columns"].as_u64().unwrap(), line["alone"].as_u64().unwrap());
    let families: Vec<(u64, u64)> = lines[..2].iter().map(count).collect();
    assert!(families.iter().all(|(columns, ill)| *columns == 10 && *ill <= 3), "{lines:?}");
    let (columns, ill) = count(lines.last().unwrap());
    assert!(lines.len() > 2 && ill + 1 >= columns, "{lines:?}");
}

#[test]
fn masked_cells_are_filled_in_better_than_by_means() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path());
    let small = ["--tables", ".", "--only", "made", "--masks", "1", "--causes", "2"];
    let (text, lines) = lines(folder.path(), "impute", &small);
    assert!(text.contains("made"), "{text}");
    let error = |method: &str| lines.iter().find(|line| line["method"] == method).unwrap()["error"].as_f64().unwrap();
    assert!(error("efmca impute") < 0.6 * error("column means"), "{lines:?}");
    assert!(!run(folder.path(), &["impute", "--tables", ".", "--only", "none"]).status.success());
}

#[test]
fn real_tables_are_scored_beside_independent_columns() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path());
    std::fs::write(folder.path().join("peers.tsv"), "made\tguess\t-\t-99\t-9\t-9\t0.1\n").unwrap();
    let small = ["--tables", ".", "--causes", "1,2", "--peers", "peers.tsv"];
    let (text, lines) = lines(folder.path(), "tables", &small);
    assert!(text.contains("| made | efmca |") && text.contains("| made | guess | - | -99.00 |"), "{text}");
    let row = |method: &str| lines.iter().find(|line| line["method"] == method).unwrap()["row"].as_f64().unwrap();
    // two columns say what the third is about
    assert!(row("efmca") > row("independent columns") + 0.5, "{lines:?}");
    std::fs::write(folder.path().join("peers.tsv"), "made\tguess\n").unwrap();
    let output = run(folder.path(), &["tables", "--tables", ".", "--peers", "peers.tsv"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("peers.tsv, line 1"), "{output:?}");
}

#[test]
fn large_tables_are_read_and_learned() {
    let folder = tempfile::tempdir().unwrap();
    let (text, lines) = lines(folder.path(), "large-tables", &["--rows", "2000", "--counts", "300"]);
    assert!(text.contains("mixed") && text.contains("counts"), "{text}");
    assert_eq!(lines.len(), 2);
    for line in &lines {
        assert!(line["cpu"].as_f64().unwrap() > 0.0 && line["iterations"].as_u64().unwrap() > 0, "{line}");
        assert!(line["file"].as_f64().unwrap() > 0.0 && line["megabytes"].as_f64().unwrap() > 0.0, "{line}");
    }
    // a trained model explains its own rows better than the one that they were drawn from
    assert!(lines[0]["above"].as_f64().unwrap() > -0.5, "{lines:?}");
}

#[test]
fn causes_of_binary_data_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (text, lines) = lines(folder.path(), "noisy-or", &["--drawn", "1", "--kinds", "few rows"]);
    assert!(
        text.contains("--kinds 'few rows' --drawn 1") && text.contains("| few rows | 1500 x 50 | 6 | 6 |"),
        "{text}"
    );
    assert_eq!(lines.len(), 1);
    let found = lines[0]["found"][0].as_u64().unwrap();
    assert!((4..=6).contains(&found) && lines[0]["bounds"][0].as_f64().unwrap() < 0.0, "{lines:?}");
    let output = run(folder.path(), &["noisy-or", "--kinds", "many rows"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("the kinds are few columns"), "{output:?}");
}
