//! `efmca fit`, `efmca info`, `efmca encode`, `efmca score` and `efmca sample` as a user runs them.

mod common;

use std::fmt::Write;
use std::path::Path;

use efmca_io::table_file::{Table, TableOptions, read_table, write_table};
use serde_json::Value;

use common::{efmca, refused, succeeds, text};

/// Numbers between 0 and 1 that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// A count with this mean.
    fn count(&mut self, mean: f64) -> u32 {
        let (mut left, mut count) = ((-mean).exp(), 0);
        loop {
            left /= self.next();
            if left >= 1.0 {
                return count;
            }
            count += 1;
        }
    }
}

const HEADER: &str = "visits,smokes,amount,share,city";

/// Counts, answers, amounts, fractions and labels. One cause brings visits and smoke, the other amounts, shares and
/// Rome.
fn rows(count: usize) -> Vec<[String; 5]> {
    let mut numbers = Numbers(7);
    (0..count)
        .map(|row| {
            let (first, second) = (numbers.next() < 0.4, numbers.next() < 0.4);
            let visits = numbers.count(if first { 12.0 } else { 1.5 });
            let smokes = numbers.next() < if first { 0.9 } else { 0.1 };
            let amount = -numbers.next().ln() * if second { 50.0 } else { 4.0 };
            let share = (0..3).map(|_| numbers.next()).fold(0.0, f64::max) * if second { 0.99 } else { 0.4 };
            let city = match numbers.next() {
                draw if second && draw < 0.85 => "Rome",
                draw if draw < 0.5 => "Oslo",
                _ => "Bonn",
            };
            let visits = if row % 29 == 3 { String::new() } else { visits.to_string() };
            let smokes = if smokes { "yes" } else { "no" };
            [visits, smokes.to_owned(), format!("{amount:.4}"), format!("{share:.4}"), city.to_owned()]
        })
        .collect()
}

/// A CSV file with these columns of the table.
fn csv(rows: &[[String; 5]], columns: &[usize]) -> String {
    let names: Vec<&str> = HEADER.split(',').collect();
    let mut text = columns.iter().map(|column| names[*column]).collect::<Vec<_>>().join(",") + "\n";
    for row in rows {
        let cells: Vec<&str> = columns.iter().map(|column| row[*column].as_str()).collect();
        writeln!(text, "{}", cells.join(",")).unwrap();
    }
    text
}

const ALL: [usize; 5] = [0, 1, 2, 3, 4];

/// A folder with table.csv.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "table.csv", &csv(&rows(300), &ALL));
    folder
}

fn put(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).unwrap();
}

fn load(folder: &Path, name: &str) -> Table {
    read_table(&folder.join(name), &TableOptions::default()).unwrap()
}

/// Families that suit the table; those of the labels are clear.
const FAMILIES: [&str; 6] = ["--family", "visits=poisson", "--family", "3=exponential", "--family", "share=beta"];

/// A quick fit with known families.
fn quick<'a>(output: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fit = ["fit", "table.csv", "-o", output, "--causes", "2", "--starts", "3", "--iterations", "40"];
    [&fit, &FAMILIES[..], more].concat()
}

#[test]
fn the_whole_way_with_families_that_are_found() {
    let folder = folder();
    let path = folder.path();
    let fit = ["fit", "table.csv", "-o", "m.safetensors", "--causes", "2", "--starts", "4", "--report", "r.html"];
    let shown = succeeds(path, &fit);
    for part in
        ["rows            300", "columns         5", "missing values  11", "causes          2 (as given)", "BIC"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    for part in
        ["smokes  bernoulli", "categorical:k=3,order=nominal", "for labels", "found for whole numbers", " (exact)"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // each cause shows in its own columns
    let causes: Vec<&str> = shown.lines().filter(|line| line.starts_with("  cause ")).collect();
    assert_eq!(causes.len(), 2, "{shown}");
    let with = |what: &str| causes.iter().find(|line| line.contains(what)).copied().unwrap_or_default();
    assert!(with("visits 1").contains("smokes yes"), "{shown}");
    assert!(with("amount").contains("city Rome") && with("amount") != with("visits 1"), "{shown}");
    assert!(shown.contains("wrote m.safetensors, r.html"), "{shown}");
    let page = std::fs::read_to_string(path.join("r.html")).unwrap();
    assert!(page.contains("family of visits") && page.contains("Learned causes") && page.contains("Learning"));

    let info = succeeds(path, &["info", "m.safetensors"]);
    assert!(
        info.contains("`Bonn` ") && info.contains("`Rome` ") && info.contains("cause 2") && info.contains("max"),
        "{info}"
    );
    let info: Value = serde_json::from_str(&succeeds(path, &["info", "m.safetensors", "--json"])).unwrap();
    assert_eq!((&info["causes"], &info["columns"][1]["labels"][1]), (&2.into(), &"yes".into()));
    assert!(info["columns"][0]["name"] == "visits" && info["pi"].as_array().unwrap().len() == 2);

    let shown = succeeds(path, &["encode", "m.safetensors", "table.csv", "-o", "codes.csv"]);
    assert!(shown.contains("300 rows") && shown.contains("wrote codes.csv") && !shown.contains("note"), "{shown}");
    let codes = load(path, "codes.csv");
    assert_eq!((codes.names, codes.values.dim()), (vec!["cause 1".to_owned(), "cause 2".to_owned()], (300, 2)));
    assert!(codes.values.iter().all(|p| (0.0..=1.0).contains(p)));

    let shown = succeeds(path, &["score", "m.safetensors", "table.csv", "-o", "scores.csv"]);
    assert!(shown.contains("300 rows (exact)") && shown.contains("least likely rows"), "{shown}");
    let scores = load(path, "scores.csv");
    assert_eq!((scores.names, scores.values.nrows()), (vec!["log-likelihood".to_owned()], 300));
    let least = scores.values.column(0).iter().copied().enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0;
    assert!(shown.contains(&format!("  row {}  ", least + 1)), "{shown}");

    let shown = succeeds(path, &["sample", "m.safetensors", "-n", "40", "-o", "new.csv", "--causes", "s.csv"]);
    assert!(shown.contains("wrote new.csv (40 rows, 5 columns), s.csv"), "{shown}");
    let new = std::fs::read_to_string(path.join("new.csv")).unwrap();
    assert!(new.starts_with(HEADER) && new.contains("yes") && new.contains("Oslo"), "{new}");
    assert!(load(path, "s.csv").values.iter().all(|state| *state == 0.0 || *state == 1.0));
    assert_eq!(succeeds(path, &["sample", "m.safetensors", "-n", "40"]), new);
    assert_ne!(succeeds(path, &["sample", "m.safetensors", "-n", "40", "--seed", "1"]), new);
    // what was drawn can be read again, as words and as numbers
    succeeds(path, &["encode", "m.safetensors", "new.csv", "-o", "a.csv"]);
    let shown = succeeds(path, &["sample", "m.safetensors", "-n", "40", "-o", "new.npy"]);
    assert!(shown.contains("labels are written as their numbers"), "{shown}");
    succeeds(path, &["encode", "m.safetensors", "new.npy", "-o", "b.csv"]);
    assert_eq!(load(path, "a.csv").values, load(path, "b.csv").values);
}

#[test]
fn the_number_of_causes_is_chosen() {
    let folder = folder();
    let path = folder.path();
    let fit = ["fit", "table.csv", "-o", "m.safetensors", "--starts", "3", "--iterations", "30"];
    let shown = succeeds(path, &[&fit, &FAMILIES[..]].concat());
    let line = shown.lines().find(|line| line.starts_with("causes")).unwrap();
    assert!(line.contains("of 2, 4, 8") && line.contains("held-out values"), "{line}");
    assert!(shown.contains("visits  poisson") && shown.contains("given"), "{shown}");
}

#[test]
fn columns_with_one_value_and_small_tables_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    put(path, "small.csv", "a,b,c,d,e\n1,2019,0.5,-3,5\n1,2019,0.5,-3,6\n1,2019,0.5,-3,7\n1,2019,0.5,-3,7\n");
    let shown = succeeds(path, &["fit", "small.csv", "-o", "m.safetensors"]);
    assert!(shown.contains("causes          1 (the table is too small to try more)"), "{shown}");
    assert_eq!(shown.matches("has one value only").count(), 4, "{shown}");
    let shown = succeeds(path, &["score", "m.safetensors", "small.csv"]);
    assert!(shown.contains("4 rows (exact)") && !shown.contains("NaN"), "{shown}");
}

#[test]
fn the_same_seed_gives_the_same_bits_with_any_number_of_threads() {
    let folder = folder();
    let path = folder.path();
    let run = |name: &str, more: &[&str]| {
        succeeds(path, &quick(name, more));
        std::fs::read(path.join(name)).unwrap()
    };
    let first = run("a.safetensors", &["--threads", "1"]);
    assert!(first == run("b.safetensors", &["--threads", "2"]), "one thread and two differ");
    assert!(first != run("c.safetensors", &["--seed", "5"]), "another seed changes nothing");
}

#[test]
fn columns_are_found_by_name_and_otherwise_by_place() {
    let folder = folder();
    let path = folder.path();
    succeeds(path, &quick("m.safetensors", &[]));
    let rows = rows(300);
    let encode = |input: &str, more: &[&str]| {
        let shown = succeeds(path, &[&["encode", "m.safetensors", input, "-o", "c.csv", "--force"], more].concat());
        (shown, load(path, "c.csv").values)
    };
    let (shown, codes) = encode("table.csv", &[]);
    assert!(!shown.contains("order of the model"), "{shown}");
    put(path, "turned.csv", &csv(&rows, &[4, 2, 0, 1, 3]));
    let (shown, turned) = encode("turned.csv", &[]);
    assert!(shown.contains("put in the order of the model"), "{shown}");
    assert_eq!(turned, codes);
    // columns that the model does not know
    let more: Vec<String> = csv(&rows, &ALL).lines().map(|line| format!("{line},{}", line.len())).collect();
    put(path, "more.csv", &more.join("\n").replacen(",31", ",length", 1));
    let (shown, same) = encode("more.csv", &[]);
    assert!(shown.contains("left out columns that the model does not have: `length`"), "{shown}");
    assert_eq!(same, codes);
    // no names at all
    let bare = csv(&rows, &ALL).lines().skip(1).collect::<Vec<_>>().join("\n");
    put(path, "bare.csv", &bare);
    assert_eq!(encode("bare.csv", &["--header", "no"]).1, codes);
    // a column without values is missing in every row, and fewer labels than were learned have the same codes
    let few: Vec<[String; 5]> = rows.iter().filter(|row| row[4] == "Rome").take(3).cloned().collect();
    put(path, "few.csv", &csv(&few, &ALL));
    let (_, few_codes) = encode("few.csv", &[]);
    let first = rows.iter().position(|row| row[4] == "Rome").unwrap();
    assert_eq!(few_codes.row(0), codes.row(first));
    let empty: Vec<[String; 5]> = few.into_iter().map(|[a, b, _, d, e]| [a, b, String::new(), d, e]).collect();
    put(path, "empty.csv", &csv(&empty, &ALL));
    let (shown, other) = encode("empty.csv", &[]);
    assert!(shown.contains("`amount` holds no value"), "{shown}");
    assert!(other.iter().all(|p| p.is_finite()) && other != few_codes);
    // missing values can be written in any way
    put(path, "marked.csv", &csv(&rows, &ALL).replace("\n,", "\n-9,"));
    assert_eq!(encode("marked.csv", &["--missing", "-9"]).1, codes);
}

#[test]
fn what_cannot_be_done_is_said_before_the_work() {
    let folder = folder();
    let path = folder.path();
    let fit = |more: &[&str]| refused(path, &[&["fit", "table.csv", "-o", "x.safetensors"], more].concat());
    let message = fit(&["--family", "visit=poisson"]);
    assert!(message.contains("no column `visit` (did you mean `visits`?)"), "{message}");
    let message = fit(&["--family", "9=poisson"]);
    assert!(message.contains("no column `9`") && message.contains("`visits`, `smokes`"), "{message}");
    let message = fit(&["--family", "visits=poison"]);
    assert!(message.contains("--family visits=poison") && message.contains("did you mean `poisson`?"), "{message}");
    let message = fit(&["--family", "gamma:q=4"]);
    assert!(message.contains("gamma:q=4") && message.contains("no fixed parameter"), "{message}");
    let message = fit(&["--family", "amount=poisson"]);
    assert!(message.contains("row 1 of the data, column `amount`") && message.contains("whole numbers"), "{message}");
    assert!(message.contains("--family \"amount=FAMILY\""), "{message}");
    let message = fit(&["--family", "visits=beta"]);
    assert!(message.contains("column `visits`: the value") && message.contains("cannot come from `beta`"), "{message}");
    let message = fit(&["--family", "city=bernoulli"]);
    assert!(message.contains("column `city`: the label `Rome` (coded as 2)"), "{message}");
    let message = fit(&["--family", "visits=poisson", "--family", "1=geometric"]);
    assert!(message.contains("column `visits` has a family already"), "{message}");
    let message = fit(&["--family", "gaussian", "--family", "gamma"]);
    assert!(message.contains("all columns have the family gaussian already"), "{message}");
    assert!(fit(&["--causes", "many"]).contains("or auto"));
    assert!(fit(&["--starts", "0"]).contains("--starts 0"));
    assert!(fit(&["--threads", "0"]).contains("from 1 to 4096"));
    assert!(fit(&["--report", "x.safetensors"]).contains("cannot be the same"));
    assert!(fit(&["--report", "table.csv"]).contains("cannot be the same"));
    assert!(!path.join("x.safetensors").exists());

    let message = refused(path, &["fit", "nothing.csv", "-o", "x.safetensors"]);
    assert!(message.contains("nothing.csv") && message.contains("check that the path is right"), "{message}");
    put(path, "negative.csv", &csv(&rows(40), &ALL).replacen("\n1,", "\n-3,", 1));
    let row = csv(&rows(40), &ALL).lines().position(|line| line.starts_with("1,")).unwrap();
    let message = refused(path, &["fit", "negative.csv", "-o", "x.safetensors", "--family", "visits=poisson"]);
    let place =
        format!("negative.csv: row {row} of the data, column `visits`: the value -3 cannot come from `poisson`");
    assert!(message.contains(&place) && message.contains("--missing -3"), "{message}");

    succeeds(path, &quick("m.safetensors", &[]));
    let message = refused(path, &quick("m.safetensors", &[]));
    assert!(message.contains("m.safetensors exists already"), "{message}");
    succeeds(path, &quick("m.safetensors", &["--force"]));

    let encode = |input: &str, more: &[&str]| {
        refused(path, &[&["encode", "m.safetensors", input, "-o", "x.csv"], more].concat())
    };
    let message = encode("negative.csv", &[]);
    assert!(message.contains(&place) && message.contains("correct it"), "{message}");
    put(path, "other.csv", &csv(&rows(40), &ALL).replacen("amount", "amounts", 1));
    let message = encode("other.csv", &[]);
    assert!(message.contains("no column `amount` (did you mean `amounts`?)"), "{message}");
    put(path, "label.csv", &csv(&rows(40), &ALL).replacen("Oslo", "Paris", 1));
    let row = csv(&rows(40), &ALL).lines().position(|line| line.ends_with("Oslo")).unwrap();
    let message = encode("label.csv", &[]);
    let place = format!("row {row} of the data, column `city`: the label `Paris`");
    assert!(message.contains(&place) && message.contains("`Bonn`, `Oslo`, `Rome`"), "{message}");
    let numbers = ndarray::Array2::from_elem((3, 4), 1.0);
    write_table(&path.join("four.npy"), &["a", "b", "c", "d"].map(str::to_owned), numbers.view(), false).unwrap();
    let message = encode("four.npy", &[]);
    assert!(message.contains("it has 4 columns") && message.contains("the model has 5"), "{message}");
    assert!(encode("nothing.csv", &[]).contains("nothing.csv"));
    let encode_to = |output: &str| refused(path, &["encode", "m.safetensors", "table.csv", "-o", output]);
    assert!(encode_to("label.csv").contains("exists already"));
    assert!(encode_to("x.txt").contains(".csv, .tsv, .npy or .npz"));
    assert!(encode_to("table.csv").contains("cannot be the same"));
    assert!(
        refused(path, &["encode", "table.csv", "table.csv", "-o", "x.csv"]).contains("no usable model in table.csv")
    );
    assert!(refused(path, &["score", "absent", "table.csv"]).contains("absent"));
    assert!(refused(path, &["sample", "m.safetensors", "-n", "0"]).contains("1 row or more"));
    assert!(refused(path, &["sample", "m.safetensors", "-n", "999999999999"]).contains("too much memory"));
    let message = refused(path, &["sample", "m.safetensors", "-n", "3", "-o", "x.csv", "--causes", "x.csv"]);
    assert!(message.contains("cannot be the same"), "{message}");
    assert!(refused(path, &["info", "table.csv"]).contains("no usable model"));
    assert!(!path.join("x.csv").exists());
}

#[test]
fn models_without_names_are_shown_and_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    succeeds(path, &["bars", "--family", "poisson", "--out", "b"]);
    let info = succeeds(path, &["info", "b/bars-model.safetensors"]);
    assert!(info.contains("poisson (25 columns)") && info.contains("no names"), "{info}");
    let rows = succeeds(path, &["sample", "b/bars-model.safetensors", "-n", "5"]);
    assert!(rows.starts_with("column 1,column 2,") && rows.lines().count() == 6, "{rows}");
    put(path, "rows.csv", &rows);
    let shown = succeeds(path, &["score", "b/bars-model.safetensors", "rows.csv"]);
    assert!(shown.contains("5 rows"), "{shown}");
}

#[test]
fn machines_read_json() {
    let folder = folder();
    let output = efmca(folder.path(), &quick("m.safetensors", &["--log-format", "json"]));
    let lines: Vec<Value> = text(&output.stderr).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["event"] == "iteration"));
    let fitted = lines.iter().find(|line| line["event"] == "fitted").unwrap();
    assert!(fitted["causes"] == 2 && fitted["families"][0] == "poisson" && fitted["bic"].is_number());
}
