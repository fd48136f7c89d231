//! `efmca denoise` and `efmca inpaint` with many files and `--out-dir`.

mod common;

use std::path::Path;

use efmca_io::image_file::{ReadOptions, SampleType, WriteOptions, read, write};
use ndarray::Array4;

use common::{efmca, interrupted, refused, succeeds, text};

/// Settings that are quick on small images.
const QUICK: [&str; 10] =
    ["--noise", "poisson", "--quality", "fast", "--patch", "6", "--causes", "8", "--iterations", "3"];

fn with<'a>(first: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [first, &QUICK, more].concat()
}

/// Counts in stripes; every number gives another image.
fn counts(number: usize) -> Array4<f64> {
    Array4::from_shape_fn((1, 20, 18, 1), |(_, y, x, _)| {
        let stripe = if ((x + number) / 4).is_multiple_of(2) { 9 } else { 2 };
        (stripe + (y * 7 + x * 5 + y * x + number * 3) % 4) as f64
    })
}

fn save(folder: &Path, name: &str, values: &Array4<f64>) {
    let dtype = name.ends_with(".png").then_some(SampleType::U8);
    write(&folder.join(name), values.view(), &WriteOptions { dtype, ..WriteOptions::default() }).unwrap();
}

fn load(folder: &Path, name: &str) -> Array4<f64> {
    read(&folder.join(name), &ReadOptions::default()).unwrap().values
}

fn bytes(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap()
}

/// A folder `in` with these images.
fn folder_with(names: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("in")).unwrap();
    for (number, name) in names.iter().enumerate() {
        save(&folder.path().join("in"), name, &counts(number));
    }
    folder
}

/// The names in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

fn last_line(shown: &str) -> &str {
    shown.lines().last().unwrap_or_default()
}

#[test]
fn a_folder_is_cleaned_by_name_as_its_files_would_be_one_by_one() {
    let folder = folder_with(&["b.tif", "a.npy", "c.png"]);
    let path = folder.path();
    std::fs::write(path.join("in/notes.txt"), "not an image").unwrap();
    std::fs::write(path.join("in/.hidden.tif"), "not an image").unwrap();
    std::fs::create_dir(path.join("in/more")).unwrap();
    save(path, "in/more/d.tif", &counts(3));
    let shown = succeeds(path, &with(&["denoise", "in", "--out-dir", "new/clean"], &[]));
    let files: Vec<&str> = shown.lines().filter(|line| line.starts_with("file ")).collect();
    assert_eq!(files, ["file 1 of 3: in/a.npy", "file 2 of 3: in/b.tif", "file 3 of 3: in/c.png"]);
    let line = "cleaned 3 of 3 files; 2 skipped (hidden, or not the ending of an image)";
    assert_eq!(last_line(&shown), line);
    assert_eq!(names(&path.join("new/clean")), ["a.npy", "b.tif", "c.png"]);
    succeeds(path, &with(&["denoise", "in/b.tif", "-o", "alone.tif"], &[]));
    assert_eq!(bytes(path, "alone.tif"), bytes(path, "new/clean/b.tif"));
    // names are taken in the order in which they are typed
    let shown = succeeds(path, &with(&["denoise", "in/b.tif", "in/a.npy", "--out-dir", "two"], &["--threads", "1"]));
    assert!(shown.starts_with("file 1 of 2: in/b.tif") && last_line(&shown) == "cleaned 2 of 2 files", "{shown}");
    assert_eq!(bytes(path, "two/b.tif"), bytes(path, "alone.tif"));
}

#[test]
fn what_fails_does_not_end_the_others() {
    let folder = folder_with(&["a.tif", "d.tif"]);
    let path = folder.path();
    std::fs::write(path.join("in/broken.png"), "no picture").unwrap();
    save(path, "in/c.tif", &counts(1).mapv(|value| value - 5.0));
    let output = efmca(path, &with(&["denoise", "in", "--out-dir", "clean"], &[]));
    assert_eq!(output.status.code(), Some(1));
    let shown = text(&output.stdout);
    assert_eq!(last_line(&shown), "cleaned 2 of 4 files; 2 failed");
    // it is said when it happens, too
    assert!(shown.contains("file 2 of 4: in/broken.png\nfailed: "), "{shown}");
    assert_eq!(names(&path.join("clean")), ["a.tif", "d.tif"]);
    let message = text(&output.stderr);
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(lines[0], "error: 2 of 4 files could not be cleaned", "{message}");
    assert!(lines[1].contains("in/broken.png") && lines[2].contains("in/c.tif: page 1, row 1"), "{message}");
    assert_eq!(lines.len(), 3, "{message}");
    // programs are told at once
    let more = ["--log-format", "json", "--force"];
    let output = efmca(path, &with(&["denoise", "in", "--out-dir", "clean"], &more));
    let events: Vec<serde_json::Value> =
        text(&output.stderr).lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of = |name: &str| events.iter().filter(|event| event["event"] == name).collect::<Vec<_>>();
    assert_eq!((of("file").len(), of("failed").len(), of("written").len()), (4, 2, 2));
    assert_eq!(of("failed")[0]["path"], "in/broken.png");
    assert_eq!((&of("files")[0]["cleaned"], &of("files")[0]["failed"]), (&2.into(), &2.into()));
}

#[test]
fn results_are_kept_or_replaced_as_asked() {
    let folder = folder_with(&["a.tif", "b.tif", "c.tif"]);
    let path = folder.path();
    succeeds(path, &with(&["denoise", "in/b.tif", "--out-dir", "clean"], &[]));
    // the first bytes of a TIFF file, which is looked at no further
    let mine = b"II*\0mine";
    std::fs::write(path.join("clean/b.tif"), mine).unwrap();
    let all = ["denoise", "in", "--out-dir", "clean"];
    let message = refused(path, &with(&all, &[]));
    assert!(message.contains("clean/b.tif exists already; --resume keeps it"), "{message}");
    assert_eq!(names(&path.join("clean")), ["b.tif"]);
    let shown = succeeds(path, &with(&all, &["--resume"]));
    assert_eq!(last_line(&shown), "cleaned 2 of 3 files; 1 had a result already");
    assert!(shown.contains("file 2 of 2: in/c.tif") && bytes(path, "clean/b.tif") == mine, "{shown}");
    let shown = succeeds(path, &with(&all, &["--resume"]));
    assert_eq!(shown.trim_end(), "cleaned 0 of 3 files; 3 had a result already");
    assert!(refused(path, &with(&all, &[])).contains("clean/a.tif and 2 more results exist already"));
    assert_eq!(last_line(&succeeds(path, &with(&all, &["--force"]))), "cleaned 3 of 3 files");
    assert_eq!(load(path, "clean/b.tif").dim(), (1, 20, 18, 1));
    assert!(refused(path, &with(&all, &["--force", "--resume"])).contains("cannot be used with"));
}

#[test]
fn one_model_is_learned_and_applied() {
    let folder = folder_with(&["a.tif", "b.tif", "c.tif"]);
    let path = folder.path();
    let all = ["denoise", "in", "--out-dir"];
    let shown = succeeds(path, &with(&[&all[..], &["clean"]].concat(), &["--one-model"]));
    assert_eq!(last_line(&shown), "cleaned 3 of 3 files");
    let one = |input: &str, output: &str, model: &str| {
        succeeds(path, &with(&["denoise", input, "-o", output], &["--save-model", model]));
    };
    one("in/a.tif", "a.tif", "a.model");
    succeeds(path, &["apply", "a.model", "in/c.tif", "-o", "c.tif"]);
    assert!(bytes(path, "clean/a.tif") == bytes(path, "a.tif") && bytes(path, "clean/c.tif") == bytes(path, "c.tif"));
    // what is left of a run has the same model
    std::fs::remove_file(path.join("clean/c.tif")).unwrap();
    let shown = succeeds(path, &with(&[&all[..], &["clean"]].concat(), &["--one-model", "--resume"]));
    assert!(shown.starts_with("learning from in/a.tif, for all files"), "{shown}");
    assert_eq!(bytes(path, "clean/c.tif"), bytes(path, "c.tif"));
    // another file to learn from, among them or not
    let shown = succeeds(path, &with(&[&all[..], &["by-b"]].concat(), &["--learn-from", "in/b.tif"]));
    assert!(shown.starts_with("file 1 of 3: in/b.tif"), "{shown}");
    let inputs = ["denoise", "in/a.tif", "in/c.tif", "--out-dir", "other"];
    succeeds(path, &with(&inputs, &["--learn-from", "in/b.tif"]));
    assert_eq!(names(&path.join("other")), ["a.tif", "c.tif"]);
    assert_eq!(bytes(path, "other/c.tif"), bytes(path, "by-b/c.tif"));
    assert!(bytes(path, "other/c.tif") != bytes(path, "c.tif"));
    // without a model nothing can be done
    std::fs::write(path.join("in/0.tif"), "no image").unwrap();
    let message = refused(path, &with(&[&all[..], &["none"]].concat(), &["--one-model"]));
    assert!(message.contains("in/0.tif") && message.contains("--learn-from FILE chooses another"), "{message}");
}

#[test]
fn a_model_does_not_fit_every_image() {
    let folder = folder_with(&["a.tif", "b.tif"]);
    let path = folder.path();
    let colour = Array4::from_shape_fn((1, 20, 18, 3), |(_, y, x, channel)| ((x + y + channel) % 5) as f64);
    save(path, "in/colour.tif", &colour);
    let output = efmca(path, &with(&["denoise", "in", "--out-dir", "clean"], &["--one-model"]));
    assert_eq!(last_line(&text(&output.stdout)), "cleaned 2 of 3 files; 1 failed");
    let message = text(&output.stderr);
    assert!(message.contains("in/colour.tif: ") && message.contains("3 channels"), "{message}");
}

#[test]
fn missing_pixels_of_many_images_are_filled_in() {
    let folder = folder_with(&["a.tif", "b.tif"]);
    let path = folder.path();
    let mask = Array4::from_shape_fn((1, 20, 18, 1), |(_, y, x, _)| f64::from(u8::from((y * 5 + x).is_multiple_of(7))));
    save(path, "mask.png", &mask);
    for more in [&["--mask", "mask.png"][..], &["--mask", "mask.png", "--one-model", "--force"]] {
        succeeds(path, &with(&["inpaint", "in", "--out-dir", "clean"], more));
        assert!(load(path, "clean/b.tif").iter().all(|value| value.is_finite()));
    }
    succeeds(path, &with(&["inpaint", "in/a.tif", "-o", "a.tif"], &["--mask", "mask.png"]));
    assert_eq!(bytes(path, "clean/a.tif"), bytes(path, "a.tif"));
    // a reason that does not name the file
    let output = efmca(path, &with(&["inpaint", "in", "--out-dir", "none"], &[]));
    assert!(text(&output.stderr).contains("\n  in/b.tif: no pixel is missing"), "{}", text(&output.stderr));
    assert!(!path.join("none").exists());
}

#[test]
fn endings_that_cannot_be_written_are_changed_and_said() {
    let folder = folder_with(&["a.tif"]);
    let path = folder.path();
    std::fs::rename(path.join("in/a.tif"), path.join("scan.001")).unwrap();
    let shown = succeeds(path, &with(&["denoise", "scan.001", "--out-dir", "clean"], &[]));
    let note = "note: scan.001: files with this ending cannot be written: the result is clean/scan.001.tif";
    assert!(shown.contains(note), "{shown}");
    assert_eq!(names(&path.join("clean")), ["scan.001.tif"]);
}

#[test]
fn what_makes_no_sense_is_refused_before_the_work() {
    let folder = folder_with(&["a.tif", "b.tif"]);
    let path = folder.path();
    let refuse = |places: &[&str], more: &[&str], expected: &str| {
        let message = refused(path, &with(&[&["denoise"], places].concat(), more));
        assert!(message.contains(expected), "{places:?} {more:?}: {message}");
    };
    std::fs::create_dir_all(path.join("empty/sub")).unwrap();
    std::fs::write(path.join("empty/notes.txt"), "x").unwrap();
    std::fs::create_dir(path.join("twin")).unwrap();
    save(path, "twin/a.tif", &counts(7));
    refuse(&["empty", "--out-dir", "x"], &[], "empty: there is no image in this folder (other files: 1;");
    refuse(&["in"], &[], "give a place for the result: --output FILE for one image, or --out-dir DIR");
    refuse(&["in", "-o", "x.tif"], &[], "in is a folder; to clean all images in it, give --out-dir DIR");
    refuse(&["in/a.tif", "in/b.tif", "-o", "x.tif"], &[], "there are 2 inputs, and --output is for one");
    refuse(&["in", "-o", "x.tif", "--out-dir", "x"], &[], "--output is for one image and --out-dir for many");
    refuse(&["in", "--out-dir", "in"], &["--force"], "--out-dir in: the input in/a.tif would be overwritten");
    refuse(&["in", "--out-dir", "empty/../in"], &["--resume"], "would be overwritten; give another folder");
    let twins = "in/a.tif and twin/a.tif would both be written to x/a.tif";
    refuse(&["in", "twin", "--out-dir", "x"], &[], twins);
    refuse(&["in/a.tif", "in/a.tif", "--out-dir", "x"], &[], "in/a.tif and in/a.tif would both be written");
    refuse(&["in", "gone.tif", "--out-dir", "x"], &[], "gone.tif: there is no such file");
    refuse(&["in", "--out-dir", "x"], &["--learn-from", "gone.tif"], "gone.tif: there is no such file");
    refuse(&["in", "--out-dir", "twin"], &["--learn-from", "twin/a.tif", "--force"], "cannot be the same file");
    refuse(&["in", "--out-dir", "twin/a.tif"], &[], "twin/a.tif");
    refuse(&["in", "--out-dir", "x"], &["--states", "0"], "--states 0: give 1 or more");
    for (option, message) in [
        ("--report", "--report names one page; use it with one file"),
        ("--uncertainty", "--uncertainty names one image"),
        ("--reference", "--reference names one image"),
        ("--save-model", "--save-model names one model"),
    ] {
        refuse(&["in", "--out-dir", "x"], &[option, "y.tif"], message);
    }
    for option in [&["--one-model"][..], &["--resume"], &["--learn-from", "in/b.tif"]] {
        refuse(&["in/a.tif", "-o", "x.tif"], option, "--out-dir <DIR>");
    }
    assert!(!path.join("x").exists() && names(&path.join("twin")) == ["a.tif"]);
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_after_the_running_file_and_resume_goes_on() {
    let folder = folder_with(&[]);
    let path = folder.path();
    let large = Array4::from_shape_fn((1, 90, 90, 1), |(_, y, x, _)| ((x / 5 + y / 7) % 4 + (x * y) % 3) as f64);
    for name in ["a.tif", "b.tif", "c.tif"] {
        save(path, &format!("in/{name}"), &large);
    }
    let slow = ["denoise", "in", "--out-dir", "clean", "--noise", "poisson", "--patch", "10", "--iterations", "5000"];
    // the first line of the log names the file; the handler is there by then
    let (first, rest, output) = interrupted(path, &slow);
    assert!(first.contains("\"event\":\"file\""), "{first}");
    assert_eq!(output.status.code(), Some(1), "{rest}");
    assert_eq!(names(&path.join("clean")), ["a.tif"]);
    assert_eq!(load(path, "clean/a.tif").dim(), large.dim());
    let shown = text(&output.stdout);
    assert_eq!(last_line(&shown), "cleaned 1 of 3 files; 2 left", "{shown}");
    assert!(rest.contains("stopped with 2 of 3 files left; the same command with --resume goes on"), "{rest}");
    assert!(rest.contains("clean/a.tif is the result so far; delete it"), "{rest}");
    let shown = succeeds(path, &with(&["denoise", "in", "--out-dir", "clean"], &["--resume"]));
    assert_eq!(last_line(&shown), "cleaned 2 of 3 files; 1 had a result already");
}
