//! `efmca impute`, `efmca report` and `efmca fit` with `--by`, `--signs`, `--hold` and `--views`, as a user runs them.

mod common;

use std::fmt::Write;
use std::path::Path;

use efmca_io::read_model_file;
use efmca_io::table_file::{TableOptions, read_table};
use serde_json::Value;

use common::{refused, succeeds};

/// Numbers between 0 and 1 that are the same in every run.
fn draw(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

/// Rows of two causes: illness brings visits and costs, youth brings sport; the label `ward` follows illness in two of three
/// rows. Every so many-th cell is empty.
fn patients(rows: usize, holes: usize) -> String {
    let mut text = String::from("visits,costs,sport,city,ward\n");
    let mut state = 5;
    for row in 0..rows {
        let (ill, young) = (draw(&mut state) < 0.4, draw(&mut state) < 0.4);
        let sum = |times: usize, state: &mut u64| (0..times).map(|_| draw(state)).sum::<f64>();
        let visits = (sum(4, &mut state) * if ill { 10.0 } else { 1.5 }).round();
        let costs = sum(4, &mut state) * if ill { 50.0 } else { 8.0 };
        let sport = (sum(4, &mut state) * if young { 6.0 } else { 0.8 }).round();
        let city = if draw(&mut state) < if ill { 0.8 } else { 0.2 } { "Rome" } else { "Oslo" };
        let ward = if row % 3 == 0 { draw(&mut state) < 0.5 } else { ill };
        let cells = [visits.to_string(), format!("{costs:.2}"), sport.to_string(), city.to_owned()];
        for (place, cell) in cells.iter().enumerate() {
            let empty = holes > 0 && row > 5 && (row * 4 + place) % holes == 0;
            let _ = write!(text, "{},", if empty { "" } else { cell });
        }
        let _ = writeln!(text, "{}", if ward { "north" } else { "south" });
    }
    text
}

fn folder(rows: usize, holes: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("patients.csv"), patients(rows, holes)).unwrap();
    folder
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

const QUICK: [&str; 4] = ["--family", "sport=poisson", "--causes", "2"];

#[test]
fn missing_cells_are_filled_in_and_judged() {
    let folder = folder(300, 11);
    let path = folder.path();
    let outputs = ["--cells", "cells.csv", "--json", "errors.json", "--report", "errors.html"];
    let shown = succeeds(path, &[&["impute", "patients.csv", "-o", "filled.csv"], &QUICK[..], &outputs[..]].concat());
    assert!(shown.contains("error of numbers") && shown.contains("codes"), "{shown}");
    let read = |name: &str| read_table(&path.join(name), &TableOptions::default()).unwrap();
    let (before, after) = (read("patients.csv"), read("filled.csv"));
    assert_eq!(before.names, after.names);
    assert_eq!(before.kinds, after.kinds);
    let missing = before.values.iter().filter(|cell| cell.is_nan()).count();
    assert!(missing > 80 && after.values.iter().all(|cell| cell.is_finite()));
    assert!(before.values.iter().zip(&after.values).all(|(before, after)| before.is_nan() || before == after));
    let cells = std::fs::read_to_string(path.join("cells.csv")).unwrap();
    assert!(cells.starts_with("row,column,value,sd,low,high,probability\n"));
    assert_eq!(cells.lines().count(), missing + 1);
    assert!(cells.contains(",city,Rome,,,,0.") || cells.contains(",city,Oslo,,,,0."), "{cells}");
    let errors = json(&path.join("errors.json"));
    assert_eq!((errors["schema"].as_str(), errors["filled"].as_u64()), (Some("efmca-impute-1"), Some(missing as u64)));
    assert!(errors["error"].as_f64() < errors["error_of_means"].as_f64());
    assert!(errors["accuracy"].as_f64() > errors["accuracy_of_modes"].as_f64());
    assert!(std::fs::read_to_string(path.join("errors.html")).unwrap().contains("Missing cells of patients.csv"));
}

#[test]
fn draws_other_tables_and_models_fill_as_well() {
    let folder = folder(200, 13);
    let path = folder.path();
    std::fs::write(path.join("complete.csv"), patients(200, 0)).unwrap();
    succeeds(path, &[&["impute", "patients.csv", "-o", "drawn.csv", "--draws", "2"], &QUICK[..]].concat());
    let read = |name: &str| read_table(&path.join(name), &TableOptions::default()).unwrap().values;
    assert_ne!(read("drawn-1.csv"), read("drawn-2.csv"));
    assert!(read("drawn-1.csv").column(0).iter().all(|visits| visits.fract() == 0.0));
    succeeds(path, &[&["impute", "patients.csv", "-o", "a.csv", "--learn-from", "complete.csv"], &QUICK[..]].concat());
    assert!(read("a.csv").iter().all(|cell| cell.is_finite()));
    succeeds(path, &[&["fit", "complete.csv", "-o", "m.model"], &QUICK[..]].concat());
    succeeds(path, &["impute", "patients.csv", "-o", "b.csv", "--model", "m.model", "--as-written"]);
    assert!(read("b.csv").column(0).iter().all(|visits| visits.fract() == 0.0));
}

#[test]
fn what_cannot_be_filled_is_refused() {
    let folder = folder(60, 9);
    let path = folder.path();
    std::fs::write(path.join("complete.csv"), patients(60, 0)).unwrap();
    let told = |arguments: &[&str], expected: &str| {
        let message = refused(path, arguments);
        assert!(message.contains(expected), "{message}");
    };
    told(&["impute", "complete.csv", "-o", "x.csv"], "no missing cell");
    told(&["impute", "patients.csv", "-o", "x.csv", "--codes", "vists"], "did you mean `visits`");
    told(&["impute", "patients.csv", "-o", "x.csv", "--numbers", "city"], "has words");
    told(&["impute", "patients.csv", "-o", "x.csv", "--interval", "2"], "between 0 and 1");
    told(&["impute", "patients.csv", "-o", "x.csv", "--draws", "0"], "give 1 or more");
    told(&["impute", "patients.csv", "-o", "x.csv", "--folds", "1"], "give 2 or more");
    told(&["impute", "patients.csv", "-o", "x.txt"], ".csv, .tsv, .npy or .npz");
    std::fs::write(path.join("other.csv"), "a,b\n1,2\n3,4\n").unwrap();
    told(&["impute", "patients.csv", "-o", "x.csv", "--learn-from", "other.csv", "--causes", "1"], "no column `a`");
}

#[test]
fn the_report_has_the_numbers_of_its_files() {
    let folder = folder(300, 23);
    let path = folder.path();
    let outputs = ["--by", "ward", "--report", "r.html", "--json", "r.json", "--csv", "numbers"];
    let shown = succeeds(path, &[&["fit", "patients.csv", "-o", "m.model"], &QUICK[..], &outputs[..]].concat());
    assert!(shown.contains("differs by ward"), "{shown}");
    let page = std::fs::read_to_string(path.join("r.html")).unwrap();
    for heading in [
        "The table",
        "Causes and columns",
        "Each cause",
        "What the causes explain",
        "Causes by ward",
        "Rows that fit least",
    ] {
        assert!(page.contains(&format!("<h2>{heading}</h2>")), "{heading}");
    }
    assert!(!page.contains("<script"));
    let report = json(&path.join("r.json"));
    assert_eq!(report["schema"], "efmca-report-1");
    // nothing is learned from the label
    let names: Vec<&str> =
        report["columns"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["visits", "costs", "sport", "city"]);
    assert_eq!(read_model_file(&path.join("m.model")).unwrap().names, names);
    let sure = |test: &Value| test["p_corrected"].as_f64().unwrap() < 1e-6;
    assert_eq!(report["groups"]["tests"].as_array().unwrap().iter().filter(|test| sure(test)).count(), 1);
    assert!(report["columns"][0]["held_out"]["explained"].as_f64().unwrap() > 0.05);
    assert_eq!(report["causes"][0]["explained"].as_array().unwrap().len(), 4);
    let lines = |name: &str| std::fs::read_to_string(path.join("numbers").join(name)).unwrap().lines().count();
    assert_eq!(["columns.csv", "causes.csv", "groups.csv"].map(lines), [5, 3, 5]);
    assert!(lines("effects.csv") > 2 && lines("rows.csv") > 5);
    // the same of the model afterwards
    succeeds(path, &["report", "m.model", "patients.csv", "-o", "again.html", "--by", "ward", "--json", "again.json"]);
    let again = json(&path.join("again.json"));
    assert_eq!(
        (&again["causes"], &again["groups"], &again["columns"]),
        (&report["causes"], &report["groups"], &report["columns"])
    );
}

#[test]
fn groups_that_are_none_are_refused() {
    let folder = folder(80, 0);
    let path = folder.path();
    let told = |by: &str, expected: &str| {
        let message = refused(path, &["fit", "patients.csv", "-o", "m.model", "--by", by]);
        assert!(message.contains(expected), "{message}");
    };
    told("wards", "did you mean `ward`");
    told("costs", "different values; give one with 50 at the most");
}

#[test]
fn signs_and_held_causes_steer_the_fit() {
    let folder = folder(300, 0);
    let path = folder.path();
    std::fs::write(path.join("signs.csv"), "cause,sport,visits,costs\nyouth,+,0,0\nillness,0,+,+\n").unwrap();
    let shown = succeeds(
        path,
        &["fit", "patients.csv", "-o", "m.model", "--by", "ward", "--signs", "signs.csv", "--causes", "2"],
    );
    assert!(shown.contains("cause 1 is youth") && shown.contains("cause 2 is illness"), "{shown}");
    let model = read_model_file(&path.join("m.model")).unwrap().model;
    let (means, none) = (model.means(), model.means_of(ndarray::Array2::zeros((1, 2)).view()).unwrap());
    // visits, costs, sport
    assert!(means[[0, 2]] > none[[0, 2]] + 3.0 && means[[1, 0]] > none[[0, 0]] + 5.0, "{means} {none}");
    assert_eq!((means[[0, 0]], means[[0, 1]], means[[1, 2]]), (none[[0, 0]], none[[0, 1]], none[[0, 2]]));
    succeeds(path, &["fit", "patients.csv", "-o", "more.model", "--by", "ward", "--hold", "m.model", "--causes", "3"]);
    let more = read_model_file(&path.join("more.model")).unwrap().model;
    assert_eq!(more.h(), 3);
    assert_eq!(more.means().slice(ndarray::s![..2, ..]), means);
}

#[test]
fn signs_for_other_columns_are_refused_with_their_place() {
    let folder = folder(60, 0);
    let path = folder.path();
    for (signs, expected) in [
        ("cause,vists\nx,+\n", "line 1, field 2: the table has no column `vists` (did you mean `visits`?)"),
        ("cause,visits\nx,maybe\n", "line 2, field 2 (column `visits`): `maybe` is none of +, -, 0 or nothing"),
        ("cause,visits,sport\nx,+\n", "line 2 has 2 fields"),
        ("cause,visits\nx,-\n", "turn the column around"),
        ("", "it is empty"),
    ] {
        std::fs::write(path.join("signs.csv"), signs).unwrap();
        let message = refused(path, &["fit", "patients.csv", "-o", "m.model", "--signs", "signs.csv", "--causes", "1"]);
        assert!(message.contains(expected), "{signs:?}: {message}");
    }
    let message = refused(path, &["fit", "patients.csv", "-o", "m.model", "--signs", "none.csv"]);
    assert!(message.contains("none.csv"), "{message}");
    std::fs::write(path.join("other.csv"), "a,b\n1,2\n3,4\n2,2\n5,1\n").unwrap();
    succeeds(path, &["fit", "other.csv", "-o", "other.model", "--causes", "1"]);
    let message = refused(path, &["fit", "patients.csv", "-o", "m.model", "--hold", "other.model"]);
    assert!(message.contains("its columns are `a`, `b`"), "{message}");
}

#[test]
fn views_are_weighed_kept_and_shown() {
    let folder = folder(300, 0);
    let path = folder.path();
    std::fs::write(path.join("views.csv"), "column,view\nsport,leisure\nvisits,care\ncosts,care\n").unwrap();
    let fit = ["fit", "patients.csv", "-o", "m.model", "--by", "ward", "--views", "views.csv", "--json", "r.json"];
    let shown = succeeds(path, &[&fit, &QUICK[..]].concat());
    assert!(shown.contains("views           leisure (1 column that counts once), care (2 columns that "), "{shown}");
    assert!(shown.contains("weighted log-likelihood ") && !shown.contains("BIC"), "{shown}");
    let model = read_model_file(&path.join("m.model")).unwrap().model;
    let views: Vec<_> = model.columns().views().unwrap().iter().cloned().collect();
    let columns: Vec<&[usize]> = views.iter().map(|view| &view.columns[..]).collect();
    // the city is in none
    assert_eq!(columns, [&[2][..], &[0, 1], &[3]]);
    assert!(views.iter().all(|view| view.weight > 0.0 && view.weight <= 1.0), "{views:?}");
    let info = succeeds(path, &["info", "m.model"]);
    assert!(info.contains("views            leisure (1 column that counts once)"), "{info}");
    let info: Value = serde_json::from_str(&succeeds(path, &["info", "m.model", "--json"])).unwrap();
    assert_eq!(info["views"][1]["columns"], serde_json::json!(["visits", "costs"]));
    assert_eq!(info["views"][1]["weight"], json(&path.join("r.json"))["views"][1]["weight"]);
    std::fs::write(path.join("ward.csv"), "column,view\nsport,a\nvisit,b\n").unwrap();
    let message = refused(path, &["fit", "patients.csv", "-o", "n.model", "--views", "ward.csv"]);
    assert!(message.contains("ward.csv: line 3, field 1: the table has no column `visit` (did you mean"), "{message}");
    let message = refused(path, &["fit", "patients.csv", "-o", "n.model", "--views", "none.csv"]);
    assert!(message.contains("none.csv"), "{message}");
}

#[test]
fn steps_are_shown_and_drawn_values_have_them() {
    let folder = folder(300, 0);
    let path = folder.path();
    succeeds(
        path,
        &["fit", "patients.csv", "-o", "m.model", "--causes", "1", "--family", "costs=gamma", "--step", "costs=0.01"],
    );
    let info = succeeds(path, &["info", "m.model"]);
    assert!(info.contains("(multiples of 0.01)") && info.contains("(whole numbers)"), "{info}");
    let info: Value = serde_json::from_str(&succeeds(path, &["info", "m.model", "--json"])).unwrap();
    assert_eq!((&info["columns"][0]["step"], &info["columns"][1]["step"]), (&"1".into(), &"0.01".into()));
    let costs = |more: &[&str]| {
        let text = succeeds(path, &[&["sample", "m.model", "-n", "50"], more].concat());
        text.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().to_owned()).collect::<Vec<String>>()
    };
    let decimals = |cost: &String| cost.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let (rounded, unrounded) = (costs(&[]), costs(&["--unrounded"]));
    assert!(rounded.iter().all(|cost| decimals(cost) <= 2), "{rounded:?}");
    assert!(unrounded.iter().filter(|cost| decimals(cost) > 4).count() > 40, "{unrounded:?}");
    let near = |(a, b): (&String, &String)| (a.parse::<f64>().unwrap() - b.parse::<f64>().unwrap()).abs() < 0.0051;
    assert!(rounded.iter().zip(&unrounded).all(near));
}
