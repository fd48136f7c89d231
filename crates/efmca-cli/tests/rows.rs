//! `efmca encode`, `efmca score` and `efmca sample`: ways of inference, and runs that are stopped.

mod common;

use std::path::Path;

use efmca_io::table_file::{TableOptions, read_table, write_table};
use ndarray::Array2;

use common::{interrupted, refused, succeeds};

/// A folder with rows.npy and models of its rows with 2, 8 and 16 causes; the latter two have truncated posteriors.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let rows =
        Array2::from_shape_fn((120, 9), |(n, d)| if (n + d) % 4 == 0 { 9.0 } else { ((n * 7 + d * 3) % 3) as f64 });
    let names: Vec<String> = (1..=9).map(|column| format!("c{column}")).collect();
    write_table(&folder.path().join("rows.npy"), &names, rows.view(), false).unwrap();
    for (model, more) in [
        ("two.safetensors", &["--causes", "2"][..]),
        ("eight.safetensors", &["--causes", "8", "--states", "6"]),
        ("many.safetensors", &["--components", "16", "--states", "6"]),
    ] {
        let quick = ["fit", "rows.npy", "-o", model, "--family", "poisson", "--starts", "1", "--iterations", "4"];
        succeeds(folder.path(), &[&quick, more].concat());
    }
    folder
}

fn scores(folder: &Path, name: &str) -> Array2<f64> {
    read_table(&folder.join(name), &TableOptions::default()).unwrap().values
}

#[test]
fn rows_are_explained_as_in_training_or_as_was_asked_for() {
    let folder = folder();
    let path = folder.path();
    let score = |model: &str, output: &str, more: &[&str]| {
        let shown = succeeds(path, &[&["score", model, "rows.npy", "-o", output], more].concat());
        (shown, scores(path, output))
    };
    // trained exactly
    let (shown, own) = score("two.safetensors", "a.csv", &[]);
    assert!(shown.contains("120 rows (exact)"), "{shown}");
    assert_eq!(score("two.safetensors", "b.csv", &["--exact"]).1, own);
    // trained with six states
    let (shown, own) = score("eight.safetensors", "c.csv", &[]);
    assert!(shown.contains("lower bounds with 6 states for each row"), "{shown}");
    assert_eq!(score("eight.safetensors", "d.csv", &["--states", "6"]).1, own);
    let (shown, exact) = score("eight.safetensors", "e.csv", &["--exact"]);
    assert!(shown.contains("120 rows (exact)"), "{shown}");
    assert!(exact.iter().zip(&own).all(|(exact, bound)| *bound <= exact + 1e-9) && exact.sum() > own.sum());
    let more = score("eight.safetensors", "f.csv", &["--states", "30"]).1;
    assert!(own.sum() < more.sum() && more.sum() <= exact.sum() + 1e-6);

    let shown = succeeds(path, &["encode", "eight.safetensors", "rows.npy", "-o", "g.csv"]);
    assert!(shown.contains("approximate: 6 states"), "{shown}");
    let shown = succeeds(path, &["encode", "eight.safetensors", "rows.npy", "-o", "h.csv", "--exact"]);
    assert!(!shown.contains("approximate"), "{shown}");
    assert_eq!(scores(path, "h.csv").dim(), (120, 8));

    for command in ["encode", "score"] {
        let refused =
            |more: &[&str]| refused(path, &[&[command, "eight.safetensors", "rows.npy", "-o", "x.csv"], more].concat());
        assert!(refused(&["--states", "0"]).contains("--states 0: "));
        assert!(refused(&["--states", "5", "--exact"]).contains("--exact"));
    }
    let quick = ["--family", "poisson", "--causes", "17", "--starts", "1", "--iterations", "1"];
    succeeds(path, &[&["fit", "rows.npy", "-o", "more.safetensors"][..], &quick].concat());
    let message = refused(path, &["score", "more.safetensors", "rows.npy", "--exact"]);
    assert!(message.contains("--exact: the model has 17 causes") && message.contains("--states"), "{message}");
}

#[test]
fn rows_that_are_drawn_piece_by_piece_are_those_that_are_drawn_at_once() {
    let folder = folder();
    let path = folder.path();
    // more than are drawn at a time
    succeeds(
        path,
        &["sample", "two.safetensors", "-n", "100000", "--seed", "3", "-o", "drawn.npy", "--causes", "s.npy"],
    );
    let model = efmca_io::read_model(&path.join("two.safetensors")).unwrap();
    let drawn = model.sample(100_000, 3);
    assert!(scores(path, "drawn.npy") == drawn.y && scores(path, "s.npy") == drawn.s);
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_encoding_without_a_result() {
    let folder = folder();
    let path = folder.path();
    succeeds(path, &["sample", "many.safetensors", "-n", "50000", "-o", "large.npy"]);
    for command in ["encode", "score"] {
        // all 65,536 states of every row take minutes
        let (line, rest, output) =
            interrupted(path, &[command, "many.safetensors", "large.npy", "-o", "out.csv", "--exact"]);
        let first: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert!(first["event"] == "rows" && first["of"] == 50_000 && first["seconds_left"].is_number(), "{line}");
        assert_eq!(output.status.code(), Some(1), "{rest}");
        assert!(rest.contains("error: large.npy: stopped before all rows were done, so there is no result"), "{rest}");
        assert!(!path.join("out.csv").exists());
    }
}
