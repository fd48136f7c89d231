//! Faults that several commands can meet are told the same way by all of them, before any work.

mod common;

use std::fmt::Write;
use std::path::Path;

use efmca_io::image_file::{WriteOptions, write};
use ndarray::Array4;

use common::{refused, succeeds};

/// A table of counts, amounts and towns, with these visits in the third row.
fn table(visits: i32) -> String {
    let mut text = "visits,amount,town\n".to_owned();
    for row in 0..60 {
        let count = if row == 2 { visits } else { row * 7 % 5 };
        let town = ["Bonn", "Oslo", "Rome"][row as usize % 3];
        writeln!(text, "{count},{}.5,{town}", row * 5 % 11 + 1).unwrap();
    }
    text
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, visits) in [("good.csv", 1), ("bad.csv", -3)] {
        std::fs::write(folder.path().join(name), table(visits)).unwrap();
    }
    folder
}

/// A model of good.csv.
fn fit(folder: &Path) {
    let quick = ["--causes", "2", "--starts", "1", "--iterations", "3", "--family", "visits=poisson"];
    succeeds(folder, &[&["fit", "good.csv", "-o", "m.safetensors", "--family", "amount=gamma"][..], &quick].concat());
}

#[test]
fn the_same_fault_of_a_table_is_told_the_same_way() {
    let folder = folder();
    let path = folder.path();
    let learning = |table: &str, family: &str| {
        let fit = refused(path, &["fit", table, "-o", "x.safetensors", "--family", family]);
        assert_eq!(refused(path, &["noise-type", table, "--family", family]), fit);
        assert_eq!(refused(path, &["select", table, "--family", family]), fit);
        fit
    };
    let message = learning("bad.csv", "visits=poisson");
    let place = "error: bad.csv: row 3 of the data, column `visits`: the value -3 cannot come from `poisson`";
    assert!(message.starts_with(place), "{message}");
    assert!(message.contains("--family \"visits=FAMILY\", or leave it out with --missing -3"), "{message}");
    let message = learning("good.csv", "town=bernoulli");
    assert!(message.contains("row 3 of the data, column `town`: the label `Rome` (coded as 2)"), "{message}");
    let message = learning("good.csv", "vist=poisson");
    assert!(message.contains("there is no column `vist` (did you mean `visits`?)"), "{message}");
    learning("good.csv", "visits=poison");
    // the numbers of rows are those of the file, also where only some of them are looked at
    let some = refused(path, &["select", "bad.csv", "--family", "visits=poisson", "--most", "30"]);
    assert!(some.starts_with(place), "{some}");

    fit(path);
    let encode = refused(path, &["encode", "m.safetensors", "bad.csv", "-o", "x.csv"]);
    assert_eq!(refused(path, &["score", "m.safetensors", "bad.csv"]), encode);
    assert!(encode.starts_with(place) && encode.contains("correct it"), "{encode}");
}

#[test]
fn settings_are_told_as_the_options_that_were_typed() {
    let folder = folder();
    for (command, option) in [
        (&["fit", "none.csv", "-o", "x.safetensors"][..], "--starts"),
        (&["fit", "none.csv", "-o", "x.safetensors"], "--iterations"),
        (&["noise-type", "none.csv"], "--restarts"),
        (&["select", "none.csv"], "--restarts"),
        (&["denoise", "none.tif", "-o", "x.tif", "--noise", "poisson"], "--states"),
        (&["learn", "none.png", "--out-dir", "o"], "--batches"),
    ] {
        let message = refused(folder.path(), &[command, &[option, "0"]].concat());
        assert!(message.contains(&format!("{option} 0: ")), "{message}");
    }
    for command in ["noise-type", "select"] {
        let message = refused(folder.path(), &[command, "none.csv", "--hidden", "2"]);
        assert!(message.contains("--held-out 2: it must lie between"), "{message}");
    }
}

#[test]
fn no_result_takes_the_place_of_an_input_or_of_another_result() {
    let folder = folder();
    let path = folder.path();
    fit(path);
    for name in ["noisy.tif", "mask.tif", "clean.tif"] {
        write(&path.join(name), Array4::from_elem((1, 12, 12, 1), 1.0).view(), &WriteOptions::default()).unwrap();
    }
    let before = |name: &str| std::fs::read(path.join(name)).unwrap();
    let files = ["noisy.tif", "mask.tif", "clean.tif", "good.csv", "m.safetensors"].map(|name| (name, before(name)));
    let same = |command: &str, words: &str| {
        let arguments: Vec<&str> = command.split(' ').chain(["--force"]).collect();
        let message = refused(path, &arguments);
        assert!(message.contains(words), "{command}: {message}");
    };
    for command in [
        "corrupt clean.tif -o clean.tif --noise poisson",
        "corrupt clean.tif -o ./clean.tif --noise poisson",
        "denoise noisy.tif -o noisy.tif --noise poisson",
        "denoise noisy.tif -o x.tif --noise poisson --uncertainty noisy.tif",
        "denoise noisy.tif -o x.tif --noise poisson --reference clean.tif --report clean.tif",
        "denoise noisy.tif -o x.tif --noise poisson --save-model noisy.tif",
        "inpaint noisy.tif -o mask.tif --noise poisson --mask mask.tif",
        "apply m.safetensors noisy.tif -o noisy.tif",
        "apply m.safetensors noisy.tif -o x.tif --report m.safetensors",
        "learn o/report.html --out-dir o",
        "fit good.csv -o good.csv",
        "fit good.csv -o x.safetensors --report good.csv",
        "noise-type good.csv --report good.csv",
        "noise-type good.csv --save-model good.csv",
        "select good.csv --curve good.csv",
        "encode m.safetensors good.csv -o good.csv",
        "score m.safetensors good.csv -o ./good.csv",
    ] {
        same(command, "the input and the result cannot be the same file");
    }
    for command in [
        "denoise noisy.tif -o x.tif --noise poisson --uncertainty x.tif",
        "fit good.csv -o x.safetensors --report x.safetensors",
        "noise-type good.csv --report x --save-model ./x",
        "select good.csv --report x --curve x",
        "sample m.safetensors -n 3 -o x.csv --causes x.csv",
    ] {
        same(command, "two results cannot be the same file");
    }
    files.iter().for_each(|(name, bytes)| assert!(before(name) == *bytes, "{name}"));
    assert!(["x.tif", "x.csv", "x", "x.safetensors"].iter().all(|name| !path.join(name).exists()));
}
