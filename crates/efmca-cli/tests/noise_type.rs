//! `efmca noise-type` and `efmca select` as a user runs them.

mod common;

use std::fmt::Write;

use efmca::{Background, Model, bars, family::family};
use efmca_io::image_file::{WriteOptions, write};
use efmca_io::table_file::write_table;
use ndarray::{Array2, Array4, array};
use serde_json::Value;

use common::{refused, succeeds};

fn json(output: &str) -> Value {
    serde_json::from_str(output).unwrap_or_else(|error| panic!("{error}: {output}"))
}

fn names(columns: usize) -> Vec<String> {
    (1..=columns).map(|column| format!("c{column}")).collect()
}

/// Counts of two causes over six columns.
fn counts() -> Array2<f64> {
    let w = array![[9.0, 9.0, 9.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 12.0, 12.0, 12.0]];
    let model = Model::new(family("poisson").unwrap(), array![0.4, 0.3], vec![w], Background::fixed(&[1.0])).unwrap();
    model.sample(400, 1).y
}

/// A table with counts, an answer, a share and an amount, driven by one cause; a few cells are empty.
fn mixed_csv() -> String {
    let mut csv = String::from("visits,smokes,share,\"amount, euro\"\n");
    // numbers between 0 and 1 that depend on the place alone
    let uniform = |n: u32, salt: u32| {
        let mut z = u64::from(n * 16 + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    for n in 0..400u32 {
        let on = uniform(n, 1) < 0.4;
        let rate: f64 = if on { 12.0 } else { 2.0 };
        // counts by the inverse of the distribution function
        let (mut visits, mut p, u) = (0, (-rate).exp(), uniform(n, 2));
        let mut sum = p;
        while sum < u && visits < 60 {
            visits += 1;
            p *= rate / f64::from(visits);
            sum += p;
        }
        let smokes = if uniform(n, 3) < if on { 0.9 } else { 0.1 } { "yes" } else { "no" };
        let share = 0.02 + 0.96 * (uniform(n, 4) * if on { 1.0 } else { 0.5 });
        let amount = -(1.0 - uniform(n, 5)).ln() * if on { 30.0 } else { 3.0 };
        let visits = if n % 50 == 7 { String::new() } else { visits.to_string() };
        writeln!(csv, "{visits},{smokes},{share},{amount:.6}").unwrap();
    }
    csv
}

#[test]
fn arrays_of_counts_are_ranked() {
    let folder = tempfile::tempdir().unwrap();
    write_table(&folder.path().join("counts.npy"), &names(6), counts().view(), false).unwrap();
    let quick = ["noise-type", "counts.npy", "--causes", "2", "--restarts", "1", "--iterations", "30"];
    let shown = succeeds(folder.path(), &quick);
    assert!(shown.contains("The noise looks like poisson"), "{shown}");
    assert!(shown.contains("table of 400 rows x 6 columns, whole numbers"), "{shown}");
    assert!(shown.contains("not possible: ") && shown.contains("there is the value 0"), "{shown}");
    assert!(shown.contains("taken for a table"), "{shown}");
    let as_json = json(&succeeds(folder.path(), &[&quick[..], &["--json"]].concat()));
    assert_eq!(as_json["best"], "poisson");
    assert!(as_json["ranking"].as_array().unwrap().iter().any(|one| one["family"] == "geometric"));
    let some =
        [&quick[..], &["--families", "geometric,gaussian", "--report", "r.html", "--save-model", "m.safetensors"]]
            .concat();
    assert!(succeeds(folder.path(), &some).contains("wrote r.html"));
    let page = std::fs::read_to_string(folder.path().join("r.html")).unwrap();
    assert!(page.contains("Families, the best first") && page.contains("geometric"));
    assert!(succeeds(folder.path(), &["info", "m.safetensors"]).contains("column 1"));
    assert!(refused(folder.path(), &some).contains("exists already"));
}

#[test]
fn columns_of_a_csv_file_get_their_families() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("people.csv"), mixed_csv()).unwrap();
    let quick = ["noise-type", "people.csv", "--causes", "2", "--iterations", "30"];
    let shown = succeeds(folder.path(), &quick);
    for column in ["visits", "smokes", "share", "amount, euro"] {
        assert!(shown.contains(column), "{shown}");
    }
    let found = json(&succeeds(folder.path(), &[&quick[..], &["--json"]].concat()));
    let family = |index: usize| found["columns"][index]["family"].as_str().unwrap().to_owned();
    assert_eq!(family(1), "bernoulli");
    assert!(["poisson", "negative-binomial"].contains(&family(0).split(':').next().unwrap()), "{}", family(0));
    let fixed = [&quick[..], &["--json", "--family", "visits=geometric", "--family", "4=gamma:k=2"]].concat();
    let fixed = json(&succeeds(folder.path(), &fixed));
    assert_eq!(
        (&fixed["columns"][0]["family"], &fixed["columns"][3]["family"]),
        (&"geometric".into(), &"gamma:k=2".into())
    );
    let wrong = |family: &str| refused(folder.path(), &[&quick[..], &["--family", family]].concat());
    assert!(wrong("visit=poisson").contains("no column `visit`"));
    assert!(wrong("poisson").contains("COLUMN=FAMILY"));
    assert!(wrong("share=poisson").contains("column `share`"), "{}", wrong("share=poisson"));
    assert!(wrong("visits=poison").contains("did you mean `poisson`"));
}

#[test]
fn images_and_sounds_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let scene = Array4::from_shape_fn(
        (1, 40, 40, 1),
        |(_, y, x, _)| if (x / 8 + y / 10).is_multiple_of(2) { 8.0 } else { 1.0 },
    );
    write(&folder.path().join("clean.tif"), scene.view(), &WriteOptions::default()).unwrap();
    succeeds(folder.path(), &["corrupt", "clean.tif", "-o", "noisy.tif", "--noise", "poisson"]);
    let quick = ["--causes", "12", "--restarts", "1", "--iterations", "12", "--patch", "5"];
    let arguments =
        [&["noise-type", "noisy.tif", "--json", "--families", "poisson,geometric,gaussian"][..], &quick].concat();
    assert_eq!(json(&succeeds(folder.path(), &arguments))["best"], "poisson");
    assert!(refused(folder.path(), &["noise-type", "noisy.tif", "--patch", "50"]).contains("less than a patch"));
    assert!(refused(folder.path(), &["noise-type", "noisy.tif", "--columns", "each"]).contains("for tables"));

    // noise at 22,050 samples a second, 16 bit
    let samples: Vec<i16> = (0..22_050u32).map(|n| ((n.wrapping_mul(2_654_435_761) >> 16) as i16) / 4).collect();
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
    std::fs::write(folder.path().join("noise.wav"), wav).unwrap();
    let quick = ["--causes", "4", "--restarts", "1", "--iterations", "5", "--most", "600"];
    let arguments = [&["noise-type", "noise.wav", "--families", "gamma,gaussian"][..], &quick].concat();
    let shown = succeeds(folder.path(), &arguments);
    assert!(shown.contains("amplitude spectrogram of 1025 frequencies"), "{shown}");
}

#[test]
fn the_number_of_causes_is_selected() {
    let folder = tempfile::tempdir().unwrap();
    let y = bars::model(family("poisson").unwrap(), 3, &[20.0], &[1.0], 0.2).unwrap().sample(500, 1).y;
    write_table(&folder.path().join("bars.csv"), &names(9), y.view(), false).unwrap();
    let arguments = ["select", "bars.csv", "--family", "poisson", "--causes", "2,6,9"];
    let shown = succeeds(folder.path(), &[&arguments[..], &["--curve", "c.svg", "--report", "r.html"]].concat());
    assert!(shown.contains("6 causes: the fewest that predict"), "{shown}");
    assert!(std::fs::read_to_string(folder.path().join("c.svg")).unwrap().starts_with("<svg"));
    assert!(std::fs::read_to_string(folder.path().join("r.html")).unwrap().contains("Numbers of causes"));
    let found = json(&succeeds(folder.path(), &[&arguments[..], &["--json"]].concat()));
    assert_eq!(found["components"], 6);
    assert!(refused(folder.path(), &["select", "bars.csv", "--family", "beta"]).contains("column `c"));
    assert!(refused(folder.path(), &["select", "nothing.csv"]).contains("nothing.csv"));
}

#[test]
fn columns_of_words_have_the_family_of_labels_in_all_commands() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let row =
        |n: usize| format!("{},{},{}\n", ["red", "green", "blue"][n * 7 % 3], ["no", "yes"][n / 2 % 2], n * 5 % 9);
    let text: String = std::iter::once("colour,open,count\n".to_owned()).chain((0..120).map(row)).collect();
    std::fs::write(path.join("t.csv"), text).unwrap();
    let found: serde_json::Value =
        serde_json::from_str(&succeeds(path, &["noise-type", "t.csv", "--json", "--causes", "1", "--save-model", "m"]))
            .unwrap();
    let families = ["categorical:k=3,order=nominal", "bernoulli"];
    for (column, family) in families.iter().enumerate() {
        assert_eq!(found["columns"][column]["family"], *family);
    }
    let chosen: serde_json::Value =
        serde_json::from_str(&succeeds(path, &["select", "t.csv", "--json", "--causes", "1"])).unwrap();
    assert_eq!(chosen["families"][0], families[0]);
    assert_eq!(chosen["families"][1], families[1]);
    // the model knows the words
    succeeds(path, &["score", "m", "t.csv"]);
}

/// Ages in six classes, and amounts that are rounded to halves.
fn rounded_csv() -> String {
    let mut csv = String::from("age,amount\n");
    let mut state = 7u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for _ in 0..600 {
        let age = [17.5, 22.0, 27.0, 32.0, 37.0, 42.0][(6.0 * uniform() * uniform()) as usize];
        let amount = (-(1.0 - uniform()).ln() * 20.0).round() / 2.0;
        writeln!(csv, "{age},{amount}").unwrap();
    }
    csv
}

#[test]
fn steps_are_found_said_and_set() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.csv"), rounded_csv()).unwrap();
    let quick = ["noise-type", "t.csv", "--causes", "1", "--iterations", "10"];
    let shown = succeeds(folder.path(), &[&quick[..], &["--report", "t.html"]].concat());
    assert!(shown.contains("6 codes") && shown.contains("multiples of 0.5"), "{shown}");
    assert!(shown.contains("The model fits all 2 columns") || shown.contains("The model does not fit"), "{shown}");
    let page = std::fs::read_to_string(folder.path().join("t.html")).unwrap();
    assert!(page.contains("Do the families fit?") && page.contains("quantile of exponential"), "no picture");
    let as_json = json(&succeeds(folder.path(), &[&quick[..], &["--json"]].concat()));
    assert_eq!(as_json["columns"][0]["step"], "17.5/22/27/32/37/42");
    assert_eq!(as_json["columns"][1]["step"], "0.5");
    assert_eq!(as_json["columns"][1]["family"], "exponential");
    assert!(as_json["columns"][1]["alone"]["p_value"].as_f64().unwrap() > 0.0);
    // a density for six codes has a word
    let given = succeeds(folder.path(), &[&quick[..], &["--family", "age=gaussian", "--step", "amount=0.25"]].concat());
    assert!(given.contains("note: age: there are 6 different values only"), "{given}");
    assert!(given.contains("multiples of 0.25"), "{given}");
    for (typed, expected) in [
        ("amont=1", "did you mean"),
        ("amount=zero", "give a positive number"),
        ("amount=-1", "give a positive number"),
        ("amount", "write COLUMN=STEP"),
    ] {
        let said = refused(folder.path(), &[&quick[..], &["--step", typed]].concat());
        assert!(said.contains(&format!("--step {typed}")) && said.contains(expected), "{said}");
    }
    // the model keeps the steps, so that zeros are possible where they were
    let fit =
        ["fit", "t.csv", "-o", "t.model", "--causes", "1", "--family", "amount=exponential", "--family", "age=ordinal"];
    let fitted = succeeds(folder.path(), &[&fit[..], &["--iterations", "10", "--starts", "1"]].concat());
    assert!(fitted.contains("given, for multiples of 0.5"), "{fitted}");
    succeeds(folder.path(), &["score", "t.model", "t.csv"]);
    let continuous = [&fit[..], &["--step", "amount=continuous", "--force"]].concat();
    assert!(refused(folder.path(), &continuous).contains("exponential"));
}
