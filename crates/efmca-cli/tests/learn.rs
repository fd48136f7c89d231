//! `efmca learn` as a user runs it; `learn_survives.rs` has runs that are interrupted and resumed.

use std::path::Path;
use std::process::{Command, Output};

use assert_cmd::cargo::cargo_bin;
use efmca::model::Data;
use efmca::tasks::learn::FeatureLearner;
use efmca_io::image_file::{WriteOptions, write};
use efmca_io::{FileRows, ModelFile, read_model_file, write_model_file};
use ndarray::{Array2, Array4};

/// The program in a folder of its own.
fn efmca(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(cargo_bin!("efmca")).current_dir(folder).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    let output = efmca(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Settings that are quick on small images, where nothing else is said.
const QUICK: [(&str, &str); 5] =
    [("--patch", "6"), ("--causes", "5"), ("--patches", "200"), ("--iterations", "4"), ("--states", "6")];

/// `efmca learn` with these arguments and quick settings. A run of rows has no patches to choose.
fn learning<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let rows = arguments.contains(&"--rows");
    let given = |name: &str| arguments.contains(&name) || rows && name.starts_with("--patch");
    let quick = QUICK.into_iter().filter(|(name, _)| !given(name)).flat_map(|(name, value)| [name, value]);
    ["learn"].into_iter().chain(arguments.iter().copied()).chain(quick).collect()
}

/// Learns in the folder `out`, or the one that is given.
fn learns(folder: &Path, arguments: &[&str]) -> String {
    let out: &[&str] = if arguments.contains(&"--out-dir") { &[] } else { &["--out-dir", "out"] };
    succeeds(folder, &learning(&[arguments, out].concat()))
}

/// A run that is refused because of its input. It must say all of `parts`, and write nothing in a folder of its own.
fn refused(folder: &Path, arguments: &[&str], parts: &[&str]) {
    let out: &[&str] = if arguments.contains(&"--out-dir") { &[] } else { &["--out-dir", "refused"] };
    let output = efmca(folder, &learning(&[arguments, out].concat()));
    assert!(!folder.join("refused").exists(), "{arguments:?}");
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}{message}", text(&output.stdout));
    assert!(message.starts_with("error: "), "{arguments:?}: {message}");
    for part in parts {
        assert!(message.contains(part), "{arguments:?} should say {part:?}: {message}");
    }
}

/// Stripes of different widths, with values from 20 to 210.
fn scene(rows: usize, columns: usize, channels: usize) -> Array4<f64> {
    Array4::from_shape_fn((1, rows, columns, channels), |(_, y, x, channel)| {
        let stripe = if (x + y / 3) / 4 % 2 == 0 { 140.0 } else { 20.0 };
        // something that looks like noise, and is the same everywhere
        let grain = ((x * 7919 + y * 104_729 + channel * 13) % 57) as f64;
        stripe + grain + 3.0 * channel as f64 + 0.25 * y as f64
    })
    .mapv(f64::round)
}

fn save(folder: &Path, name: &str, values: &Array4<f64>, dtype: &str) {
    let options = WriteOptions { dtype: Some(dtype.parse().unwrap()), ..WriteOptions::default() };
    write(&folder.join(name), values.view(), &options).unwrap();
}

fn load_rows(folder: &Path, name: &str) -> Array2<f64> {
    let rows = FileRows::open(&folder.join(name)).unwrap();
    let mut values = Array2::zeros((rows.n(), rows.d()));
    values.rows_mut().into_iter().enumerate().for_each(|(n, mut row)| rows.read_row(n, row.as_slice_mut().unwrap()));
    values
}

/// A folder with grey.png, which nearly all tests start from.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    save(folder.path(), "grey.png", &scene(30, 26, 1), "u8");
    folder
}

fn bytes(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap()
}

#[test]
fn everything_is_written_and_threads_change_no_bit() {
    let folder = folder();
    let path = folder.path();
    let said = learns(path, &["grey.png", "--threads", "1"]);
    assert!(said.contains("200 patches of 6 x 6 pixels from 1 image") && said.contains("out/means.png"), "{said}");
    for name in ["means", "deviations", "encoding", "bound"] {
        assert!(bytes(path, &format!("out/{name}.png")).starts_with(b"\x89PNG"), "{name}");
        assert!(text(&bytes(path, &format!("out/{name}.svg"))).contains("</svg>"), "{name}");
    }
    let report = text(&bytes(path, "out/report.html"));
    assert!(report.contains("Learned causes") && report.contains("ZCA") && report.contains("grey.png"));
    assert_eq!(efmca_io::read_checkpoint(&path.join("out/checkpoint.safetensors")).unwrap().0.history.len(), 4);
    let file = read_model_file(&path.join("out/model.safetensors")).unwrap();
    assert_eq!((file.patch, file.whitening.is_some(), file.model.h()), (Some([6, 6, 1]), true, 5));
    let info = succeeds(path, &["info", "out/model.safetensors"]);
    assert!(info.contains("gaussian (36 columns)") && info.contains("max-magnitude"), "{info}");
    assert!(info.contains("6 x 6 pixels") && info.contains("whitened"), "{info}");
    let output = efmca(path, &["apply", "out/model.safetensors", "grey.png", "-o", "clean.tif"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("(whitened)"), "{}", text(&output.stderr));

    learns(path, &["grey.png", "--threads", "2", "--out-dir", "two"]);
    assert!(bytes(path, "two/model.safetensors") == bytes(path, "out/model.safetensors"));
    learns(path, &["grey.png", "--seed", "1", "--out-dir", "seed"]);
    assert!(bytes(path, "seed/model.safetensors") != bytes(path, "out/model.safetensors"));
}

#[test]
fn a_model_of_the_most_causes_is_written_and_unused_ones_are_not_drawn() {
    let folder = folder();
    let path = folder.path();
    let few = ["--patch", "2", "--patches", "20", "--iterations", "1", "--states", "1", "--checkpoint-every", "0"];
    let output = efmca(path, &[&["learn", "grey.png", "--causes", "65534", "--out-dir", "out"], &few[..]].concat());
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(read_model_file(&path.join("out/model.safetensors")).unwrap().model.h(), 65_534);
    // 65,534 fields would be more pixels than a picture may have
    let drawn = text(&bytes(path, "out/means.svg"));
    assert!(drawn.contains("causes are not used and left out") && path.join("out/report.html").exists());
}

#[test]
fn an_earlier_run_is_only_replaced_with_force() {
    let folder = folder();
    let path = folder.path();
    learns(path, &["grey.png"]);
    let first = bytes(path, "out/model.safetensors");
    let again = ["grey.png", "--seed", "1", "--out-dir", "out"];
    refused(path, &again, &["out/model.safetensors", "--resume", "--force", "--out-dir"]);
    assert!(bytes(path, "out/model.safetensors") == first);
    // a run that cannot start takes nothing away
    refused(path, &["none.png", "--force", "--out-dir", "out"], &["none.png"]);
    assert!(path.join("out/checkpoint.safetensors").exists());
    learns(path, &["grey.png", "--seed", "1", "--force", "--checkpoint-every", "0"]);
    assert!(bytes(path, "out/model.safetensors") != first);
    assert!(!path.join("out/checkpoint.safetensors").exists(), "the checkpoint is that of another run");
}

#[test]
fn a_run_is_only_resumed_as_it_was_started() {
    let folder = folder();
    let path = folder.path();
    save(path, "other.png", &scene(30, 26, 1).mapv(|value| 220.0 - value), "u8");
    learns(path, &["grey.png"]);
    let first = bytes(path, "out/model.safetensors");
    let resumed = |image: &str, more: &[&str], parts: &[&str]| {
        refused(path, &[&[image, "--resume", "--out-dir", "out"], more].concat(), &[parts, &["--out-dir"]].concat());
        assert!(bytes(path, "out/model.safetensors") == first, "{more:?}");
    };
    resumed("grey.png", &["--seed", "1"], &["--seed 0", "now it is 1"]);
    resumed("grey.png", &["--causes", "6"], &["`causes` is 5", "now it is 6"]);
    resumed("grey.png", &["--iterations", "3"], &["`iterations` is 4", "now it is 3"]);
    resumed("grey.png", &["--family", "poisson", "--whiten", "none"], &["--whiten 0.95", "now it is none"]);
    resumed("other.png", &[], &["other values"]);
    resumed("grey.png", &["--patches", "100"], &["--patches 200", "now it is 100"]);
    resumed("grey.png", &["--patch", "5x4"], &["--patch 6x6,", "now it is 5x4"]);
    resumed("grey.png", &["--whiten", "0.9"], &["--whiten 0.95", "now it is 0.9"]);
    resumed("grey.png", &["--transform", "log"], &["--transform none", "now it is log"]);
    save(path, "colour.png", &scene(30, 26, 3), "u8");
    resumed("colour.png", &[], &["1 channels", "there are 3"]);
    resumed("grey.png", &["--normalise"], &["without --normalise", "now it is with it"]);
    save(path, "rows.npy", &scene(60, 4, 1), "f64");
    resumed("rows.npy", &["--rows"], &["without --rows", "now it is with it"]);

    let checkpoint = path.join("out/checkpoint.safetensors");
    let complete = std::fs::read(&checkpoint).unwrap();
    let damaged = |bytes: &[u8]| {
        std::fs::write(&checkpoint, bytes).unwrap();
        resumed("grey.png", &[], &["checkpoint.safetensors", "start a new run"]);
    };
    damaged(&complete[..complete.len() / 2]);
    damaged(&[]);
    for at in [3, 100, complete.len() / 2, complete.len() - 1] {
        let mut flipped = complete.clone();
        flipped[at] ^= 1;
        damaged(&flipped);
    }
    std::fs::write(&checkpoint, &complete).unwrap();
    learns(path, &["grey.png", "--resume"]);
    assert!(bytes(path, "out/model.safetensors") == first);
}

#[test]
fn rows_of_a_file_give_the_model_that_the_library_gives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let bits = scene(300, 12, 1).mapv(|value| f64::from(u8::from(value > 100.0)));
    save(path, "bits.npy", &bits, "u8");
    let said = learns(path, &["bits.npy", "--rows", "--family", "bernoulli"]);
    assert!(said.contains("300 rows of 12 values"), "{said}");
    assert!(!path.join("out/means.png").exists(), "rows are no pictures");

    let learner = FeatureLearner::new("bernoulli", 5).iterations(4).states(6);
    let rows = FileRows::open(&path.join("bits.npy")).unwrap();
    let in_memory = bits.into_shape_with_order((300, 12)).unwrap();
    for rows in [&rows as &dyn Data, &in_memory] {
        let fit = learner.run(rows).unwrap();
        write_model_file(&path.join("expected"), &ModelFile::from(fit.model)).unwrap();
        assert!(bytes(path, "out/model.safetensors") == bytes(path, "expected"));
    }
}

#[test]
fn rows_can_be_pixels_and_whitened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    save(path, "rows.npy", &scene(300, 12, 1), "f32");
    let file = |out: &str| read_model_file(&path.join(out).join("model.safetensors")).unwrap();
    learns(path, &["rows.npy", "--rows", "--patch", "3x4"]);
    assert_eq!((file("out").patch, file("out").whitening.is_some()), (Some([3, 4, 1]), true));
    assert!(path.join("out/means.png").exists());
    learns(path, &["rows.npy", "--rows", "--whiten", "none", "--out-dir", "plain"]);
    assert_eq!((file("plain").patch, file("plain").whitening.is_some()), (None, false));

    refused(path, &["rows.npy", "--rows", "--patch", "5"], &["rows.npy", "12 values", "5 x 5 pixels", "--patch"]);
    refused(path, &["rows.npy", "rows.npy", "--rows"], &["one NPY file", "numpy.concatenate"]);
    refused(path, &["rows.npy", "--rows", "--missing", "3"], &["--missing"]);
    refused(path, &["rows.npy", "--rows", "--patches", "30"], &["--rows", "--patches"]);
    refused(
        path,
        &["rows.npy", "--rows", "--family", "bernoulli"],
        &["rows.npy", "row 1 of the data, column 1", "`bernoulli`", "--family"],
    );
    let mut holes = scene(300, 12, 1);
    holes[[0, 7, 3, 0]] = f64::NAN;
    save(path, "holes.npy", &holes, "f64");
    refused(path, &["holes.npy", "--rows"], &["holes.npy", "row 8, column 4", "--whiten none"]);
    learns(path, &["holes.npy", "--rows", "--whiten", "none", "--out-dir", "holes"]);
    save(path, "one.npy", &scene(1, 12, 1), "f64");
    refused(path, &["one.npy", "--rows"], &["one.npy", "two rows at least", "--whiten none"]);
}

#[test]
fn models_of_whitened_rows_are_used_with_rows_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    save(path, "rows.npy", &scene(300, 12, 1), "f64");
    learns(path, &["rows.npy", "--rows"]);
    let file = read_model_file(&path.join("out/model.safetensors")).unwrap();
    let rows = FileRows::open(&path.join("rows.npy")).unwrap();
    let white = file.whitening.unwrap().whitened(&rows).unwrap().mapv(f64::from);
    let expected = file.model.encode(&white).unwrap();
    let said = succeeds(path, &["encode", "out/model.safetensors", "rows.npy", "-o", "codes.npy"]);
    assert!(said.contains("whitened"), "{said}");
    let codes = load_rows(path, "codes.npy");
    // the library's rows are in single precision
    assert!(codes.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() < 1e-3));
    succeeds(path, &["sample", "out/model.safetensors", "-n", "2000", "-o", "drawn.npy"]);
    // values around 100, which whitened ones never are
    let (drawn, data) = (load_rows(path, "drawn.npy"), load_rows(path, "rows.npy"));
    assert!(
        (drawn.mean().unwrap() - data.mean().unwrap()).abs() < 20.0,
        "{} {}",
        drawn.mean().unwrap(),
        data.mean().unwrap()
    );
    let mut holes = scene(300, 12, 1);
    holes[[0, 7, 3, 0]] = f64::NAN;
    save(path, "holes.npy", &holes, "f64");
    let output = efmca(path, &["score", "out/model.safetensors", "holes.npy"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("row 8, column 4: a value is missing"), "{}", text(&output.stderr));
}

#[test]
fn images_may_differ_where_it_makes_sense() {
    let folder = folder();
    let path = folder.path();
    save(path, "large.png", &scene(41, 52, 1), "u8");
    save(path, "deep.png", &scene(30, 26, 1).mapv(|value| value * 250.0), "u16");
    save(path, "colour.png", &scene(30, 26, 3), "u8");
    assert!(learns(path, &["grey.png", "large.png"]).contains("from 2 images"));
    refused(path, &["grey.png", "deep.png"], &["deep.png", "u16", "grey.png", "u8", "--normalise"]);
    learns(path, &["grey.png", "deep.png", "--normalise", "--out-dir", "depths"]);
    assert!(learns(path, &["colour.png", "--out-dir", "colour"]).contains("in 3 channels"));
    let patch = read_model_file(&path.join("colour/model.safetensors")).unwrap().patch;
    assert_eq!(patch, Some([6, 6, 3]));
    refused(path, &["grey.png", "colour.png"], &["colour.png", "is 3", "grey.png", "is 1", "separately"]);
    save(path, "small.png", &scene(30, 5, 1), "u8");
    refused(path, &["grey.png", "small.png"], &["small.png", "30 x 5", "6 x 6", "--patch 5"]);
    refused(path, &["grey.png", "--patch", "27"], &["grey.png", "30 x 26", "27 x 27", "--patch 26"]);
}

#[test]
fn values_that_do_not_fit_are_named_with_their_pixel() {
    let folder = folder();
    let path = folder.path();
    let with = |name: &str, value: f64| {
        let mut values = scene(30, 26, 1);
        values[[0, 12, 9, 0]] = value;
        save(path, name, &values, "f64");
    };
    save(path, "good.npy", &scene(30, 26, 1), "f64");
    with("zero.npy", 0.0);
    with("half.npy", 3.5);
    with("hole.npy", f64::NAN);
    with("endless.npy", f64::INFINITY);
    let pixel = "row 13, column 10";
    refused(path, &["good.npy", "zero.npy", "--transform", "log"], &["zero.npy", pixel, "logarithm", "--missing"]);
    learns(path, &["zero.npy", "--transform", "log", "--missing", "0", "--out-dir", "log"]);
    let half = ["good.npy", "half.npy", "--family", "poisson"];
    refused(path, &half, &["half.npy", pixel, "3.5", "whole numbers", "--family", "--missing"]);
    refused(path, &["good.npy", "--family", "poisson", "--normalise"], &["good.npy", "leave --normalise out"]);
    refused(path, &["endless.npy"], &["endless.npy", pixel, "inf", "--missing"]);
    let said = learns(path, &["hole.npy"]);
    assert!(said.contains("note: ") && said.contains("missing pixels were left out: "), "{said}");
    learns(path, &["hole.npy", "--whiten", "none", "--out-dir", "holes"]);

    save(path, "flat.npy", &Array4::from_elem((1, 30, 26, 1), 7.0), "f64");
    refused(path, &["flat.npy"], &["all of them are the same", "--whiten none"]);
    refused(path, &["flat.npy", "--whiten", "none"], &["row 1, column 1 of patches", "about 7", "other images"]);
    save(path, "nothing.npy", &Array4::from_elem((1, 30, 26, 1), f64::NAN), "f64");
    refused(path, &["nothing.npy"], &["missing pixels", "smaller patches", "--whiten none"]);
    refused(path, &["nothing.npy", "--whiten", "none"], &["every value is missing", "other images"]);
    refused(path, &["grey.png", "--patches", "1"], &["two rows at least", "--whiten none"]);
}

#[test]
fn options_that_make_no_sense_are_refused_before_images_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    // there is no such image: were it looked for first, the message would be about it
    let option = |name: &str, value: &str, parts: &[&str]| {
        refused(path, &["none.png", name, value], &[&[name, value], parts].concat());
    };
    option("--causes", "0", &["from 1 to 65534"]);
    option("--causes", "65535", &["from 1 to 65534"]);
    option("--causes", "-3", &["--causes"]);
    option("--causes", "18446744073709551616", &["--causes"]);
    option("--patches", "0", &["1 or more"]);
    option("--patch", "0", &["20 or 16x24"]);
    for name in ["--states", "--iterations", "--batches"] {
        option(name, "0", &["1 or more"]);
    }
    for value in ["-1", "0", "NaN", "inf"] {
        option("--spread", value, &["positive"]);
    }
    for value in ["-1", "NaN", "inf"] {
        option("--pseudo-rows", value, &["0.0005"]);
    }
    for value in ["2", "-1", "0", "NaN", "much"] {
        option("--whiten", value, &["such as 0.95, or none"]);
    }
    for value in ["0,1", "0.5,0.1", "0.3", "NaN,NaN"] {
        option("--pi-start", value, &["0.1,0.5"]);
    }
    option("--threads", "0", &["from 1 to 4096"]);
    option("--threads", "100000", &["from 1 to 4096"]);
    option("--family", "gausian", &["did you mean `gaussian`"]);
    refused(path, &["none.png", "--family", "poisson", "--whiten", "0.9"], &["--whiten", "`poisson`"]);
    refused(path, &["none.npy", "--rows", "--transform", "log"], &["--rows", "--transform"]);
    refused(path, &["none.npy", "other.npy", "--rows"], &["--rows", "one NPY file"]);
    refused(path, &["none.npy", "--rows", "--whiten", "2"], &["--whiten 2", "at most 1"]);
    refused(path, &["none.png"], &["none.png"]);
    assert_eq!(std::fs::read_dir(path).unwrap().count(), 0, "nothing was written");
}

#[test]
fn a_folder_that_cannot_be_written_is_found_before_the_work() {
    let folder = folder();
    let path = folder.path();
    std::fs::write(path.join("file"), "x").unwrap();
    refused(path, &["none.png", "--out-dir", "file"], &["file", "not a folder"]);
    refused(path, &["none.png", "--out-dir", "file/below"], &["file/below", "not a folder"]);
    // a folder where the model should go
    std::fs::create_dir_all(path.join("taken/report.html")).unwrap();
    refused(path, &["none.png", "--out-dir", "taken"], &["taken/report.html", "folder"]);
    #[cfg(target_os = "linux")]
    refused(path, &["none.png", "--out-dir", "/proc/efmca"], &["/proc/efmca"]);
    assert_eq!(bytes(path, "file"), b"x");
}
