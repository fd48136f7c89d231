//! The bars experiment, small: it runs, and it writes what it says.

use std::process::Command;

#[test]
fn bars_writes_its_table_and_figures() {
    let out = tempfile::tempdir().unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_experiments"))
        .args(["bars", "--runs", "2", "--reliability-runs", "1", "--out"])
        .arg(out.path())
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    for (name, start) in [("bars-log-likelihoods.svg", "<svg"), ("bars-reliability.svg", "<svg"), ("bars.md", "# The")]
    {
        let text = std::fs::read_to_string(out.path().join(name)).unwrap();
        assert!(text.contains(start), "{name}");
    }
    let png = std::fs::read(out.path().join("bars-fields.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG"));
    let json = std::fs::read_to_string(out.path().join("bars.json")).unwrap();
    let results: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(results["table"].as_array().unwrap().len(), 9);
    // the recommended settings find the bars, also in a small sample
    let recommended =
        results["table"].as_array().unwrap().iter().filter(|line| line["recipe"]["name"] == "recommended");
    for outcome in recommended.flat_map(|line| line["outcomes"].as_array().unwrap().clone()) {
        assert_eq!(outcome["recovered"], true, "{outcome}");
        assert_eq!(outcome["dips"], 0);
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_said_before_anything_runs() {
    let run =
        Command::new(env!("CARGO_BIN_EXE_experiments")).args(["bars", "--out", "/dev/null/results"]).output().unwrap();
    assert!(!run.status.success());
    assert!(String::from_utf8_lossy(&run.stderr).contains("/dev/null/results"));
}

#[test]
fn larger_bars_are_recovered_by_variational_em() {
    let out = tempfile::tempdir().unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_experiments"))
        .args(["large-bars", "--runs", "1", "--large-runs", "1", "--largest", "10", "--out"])
        .arg(out.path())
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let json = std::fs::read_to_string(out.path().join("large-bars.json")).unwrap();
    let lines: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(lines.as_array().unwrap().len(), 9);
    for line in lines.as_array().unwrap() {
        assert_eq!(line["recovered"], line["runs"], "{line}");
    }
}

#[test]
fn speed_measures_a_unit() {
    let run = Command::new(env!("CARGO_BIN_EXE_experiments"))
        .args(["speed", "--unit", "gaussian", "--rows", "64", "--steps", "1"])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let unit: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    assert!(unit["cpu"].as_f64().unwrap() > 0.0 && unit["evaluations_per_row"].as_f64().unwrap() > 60.0, "{unit}");
}
