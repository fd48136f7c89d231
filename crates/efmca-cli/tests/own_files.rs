//! Files that are there before a command begins: none of them is lost, unless somebody says so with `--force`.

#[path = "common/counts.rs"]
mod counts;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin;
use tempfile::TempDir;

use counts::{folder_with, text};

const LEARN: &str = "--patch 4 --causes 2 --patches 50 --iterations 2";
const DENOISE: &str = "--noise poisson --quality fast --iterations 2 --causes 3 --threads 1";

fn folder() -> TempDir {
    folder_with(60, "img.npy", 16)
}

fn run(folder: &Path, arguments: &str) -> Output {
    let mut command = Command::new(cargo_bin!("efmca"));
    command.current_dir(folder).args(arguments.split_whitespace()).stdin(Stdio::null()).output().unwrap()
}

fn succeeds(folder: &Path, arguments: &str) -> String {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{arguments}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// The message of a command that must end with this code, and say these parts.
fn fails(folder: &Path, arguments: &str, code: i32, parts: &[&str]) {
    let output = run(folder, arguments);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments}: {said}{}", text(&output.stdout));
    for part in parts {
        assert!(said.contains(part), "{arguments} should say {part:?}: {said}");
    }
}

fn refused(folder: &Path, arguments: &str, parts: &[&str]) {
    fails(folder, arguments, 2, parts);
}

/// Names of what is in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn learn_never_writes_to_its_input() {
    let folder = folder();
    let path = folder.path();
    let image = std::fs::read(path.join("img.npy")).unwrap();
    for name in ["means.png", "bound.svg", "report.html", "checkpoint.safetensors.part", ".photo.png.a8Xk2p"] {
        let out = path.join("out");
        std::fs::create_dir(&out).unwrap();
        std::fs::write(out.join(name), &image).unwrap();
        let learn = format!("learn out/{name} --out-dir out {LEARN}");
        if name.starts_with('.') {
            // the name of a file that was never finished, but it is read
            succeeds(path, &learn);
        } else {
            for more in ["", "--force", "--resume"] {
                refused(path, &format!("{learn} {more}"), &[name, "the input and the result cannot be the same file"]);
            }
        }
        assert!(std::fs::read(out.join(name)).unwrap() == image, "{name}");
        std::fs::remove_dir_all(out).unwrap();
    }
}

#[test]
fn learn_replaces_other_files_with_force_only() {
    let folder = folder();
    let path = folder.path();
    std::fs::create_dir(path.join("out")).unwrap();
    for (name, family) in
        [("means.svg", "gaussian"), ("deviations.png", "gaussian"), ("shape.png", "gamma"), ("report.html", "poisson")]
    {
        let file = path.join("out").join(name);
        std::fs::write(&file, "mine").unwrap();
        let learn = format!("learn img.npy --out-dir out --family {family} {LEARN}");
        for more in ["", "--resume"] {
            refused(path, &format!("{learn} {more}"), &[name, "--force", "--out-dir"]);
        }
        assert_eq!(std::fs::read(&file).unwrap(), b"mine");
        assert_eq!(names(&path.join("out")), [name]);
        std::fs::remove_file(file).unwrap();
    }
    std::fs::write(path.join("out/means.png"), "mine").unwrap();
    succeeds(path, &format!("learn img.npy --out-dir out --force {LEARN}"));
    assert!(std::fs::read(path.join("out/means.png")).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn learn_resumes_nothing_without_a_checkpoint_of_it() {
    let folder = folder();
    let path = folder.path();
    let learn = "learn img.npy --patches 50 --checkpoint-every 0 --iterations 2 --out-dir out";
    succeeds(path, &format!("{learn} --patch 4 --causes 3"));
    let model = std::fs::read(path.join("out/model.safetensors")).unwrap();
    let other = format!("{learn} --patch 5 --causes 2 --resume");
    refused(path, &other, &["model.safetensors", "no checkpoint", "--force", "--out-dir"]);
    assert!(std::fs::read(path.join("out/model.safetensors")).unwrap() == model);
    succeeds(path, &format!("{other} --force"));
    assert!(std::fs::read(path.join("out/model.safetensors")).unwrap() != model);
}

#[cfg(unix)]
#[test]
fn a_lock_never_empties_a_file() {
    let folder = folder();
    let path = folder.path();
    std::fs::write(path.join("p.txt"), "precious\n").unwrap();
    std::os::unix::fs::symlink("p.txt", path.join(".q.npy.efmca-lock")).unwrap();
    std::fs::write(path.join(".r.npy.efmca-lock"), "precious\n").unwrap();
    for name in ["q.npy", "r.npy"] {
        refused(path, &format!("denoise img.npy -o {name} {DENOISE}"), &[&format!(".{name}.efmca-lock"), "no lock"]);
        assert!(!path.join(name).exists());
    }
    for name in ["p.txt", ".r.npy.efmca-lock"] {
        assert_eq!(std::fs::read_to_string(path.join(name)).unwrap(), "precious\n");
    }
}

#[cfg(unix)]
#[test]
fn a_checkpoint_is_not_written_through_a_link() {
    let folder = folder();
    let path = folder.path();
    std::fs::write(path.join("p.txt"), "precious").unwrap();
    std::fs::create_dir(path.join("out")).unwrap();
    std::os::unix::fs::symlink("../p.txt", path.join("out/checkpoint.safetensors.part")).unwrap();
    succeeds(path, &format!("learn img.npy --out-dir out {LEARN}"));
    assert_eq!(std::fs::read_to_string(path.join("p.txt")).unwrap(), "precious");
    assert!(path.join("out/checkpoint.safetensors").symlink_metadata().unwrap().is_file());
}

#[test]
fn resume_keeps_images_and_names_what_is_none() {
    let folder = folder();
    let path = folder.path();
    std::fs::create_dir_all(path.join("clean/c.npy")).unwrap();
    for name in ["a", "b", "c", "d", "e"] {
        std::fs::copy(path.join("img.npy"), path.join(format!("{name}.npy"))).unwrap();
    }
    std::fs::copy(path.join("img.npy"), path.join("clean/a.npy")).unwrap();
    std::fs::write(path.join("clean/b.npy"), "").unwrap();
    std::fs::write(path.join("clean/d.npy"), "a text").unwrap();
    let denoise = format!("denoise a.npy b.npy c.npy d.npy e.npy --out-dir clean --resume {DENOISE}");
    let blocked = ["b.npy", "c.npy", "d.npy"].map(|name| Path::new("clean").join(name).display().to_string());
    fails(path, &denoise, 1, &[&blocked[0], &blocked[1], &blocked[2], "3 of 5 files", "no image that --resume"]);
    // the others are cleaned or kept
    assert!(efmca_io::image_file::read(&path.join("clean/e.npy"), &Default::default()).is_ok());
    assert_eq!(std::fs::read(path.join("clean/a.npy")).unwrap(), std::fs::read(path.join("img.npy")).unwrap());
    assert_eq!(std::fs::read(path.join("clean/d.npy")).unwrap(), b"a text");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("nowhere", path.join("clean/f.npy")).unwrap();
        std::fs::copy(path.join("img.npy"), path.join("f.npy")).unwrap();
        fails(path, &format!("denoise f.npy --out-dir clean --resume {DENOISE}"), 1, &["f.npy", "no image"]);
    }
}

#[test]
fn bars_replaces_files_with_force_only() {
    let folder = folder();
    let path = folder.path();
    std::fs::create_dir(path.join("b")).unwrap();
    std::fs::write(path.join("b/bars.png"), "mine").unwrap();
    refused(path, "bars --family bernoulli -o b", &["bars.png", "exists already"]);
    assert_eq!(std::fs::read(path.join("b/bars.png")).unwrap(), b"mine");
    assert_eq!(names(&path.join("b")), ["bars.png"]);
    succeeds(path, "bars --family bernoulli -o b --force");
    assert!(std::fs::read(path.join("b/bars.png")).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn a_folder_of_the_user_outlives_the_trainings_in_it() {
    let folder = folder();
    let path = folder.path();
    std::fs::create_dir(path.join("mine")).unwrap();
    for (checkpoint, stays) in [("mine", true), ("new", false)] {
        let fit = format!("fit table.csv --family poisson --causes 2 --iterations 3 -o {checkpoint}.model");
        succeeds(path, &format!("{fit} --checkpoint {checkpoint}"));
        assert_eq!(path.join(checkpoint).exists(), stays, "{checkpoint}");
        assert!(!stays || names(&path.join(checkpoint)).is_empty());
    }
    // a command that failed leaves no folder either
    let table = std::fs::read_to_string(path.join("table.csv")).unwrap();
    std::fs::write(path.join("negative.csv"), table.replace('3', "-3")).unwrap();
    let fit = "fit negative.csv --family poisson --causes 2 -o n.model --checkpoint other";
    refused(path, fit, &["-3"]);
    assert!(!path.join("other").exists());
}

#[cfg(unix)]
#[test]
fn bars_gives_its_places_free_after_a_signal() {
    let folder = folder();
    let path = folder.path();
    for signal in ["-INT", "-TERM", "-HUP"] {
        let mut command = Command::new(cargo_bin!("efmca"));
        command.current_dir(path).args(["bars", "-o", "b", "--force"]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let lock = path.join("b/.bars.png.efmca-lock");
        let is_left = |child: &mut std::process::Child| child.try_wait().unwrap().is_some();
        while !lock.exists() && !is_left(&mut child) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success(), "it ended before");
        let status = child.wait().unwrap();
        assert!(status.code().is_some(), "{signal} ended it");
        let left = if path.join("b").exists() { names(&path.join("b")) } else { Vec::new() };
        assert!(left.iter().all(|name| !name.ends_with("efmca-lock")), "{signal}: {left:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn draws_have_the_bytes_of_the_name_that_was_typed() {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let folder = folder();
    let path = folder.path();
    let table = std::fs::read_to_string(path.join("table.csv")).unwrap();
    std::fs::write(path.join("gaps.csv"), table.replacen("0,0,0", "0,,0", 1)).unwrap();
    let mut command = Command::new(cargo_bin!("efmca"));
    command.current_dir(path).args("impute gaps.csv --draws 2 --causes 2 -o".split_whitespace());
    let output = command.arg(OsString::from_vec(b"h\xff.csv".to_vec())).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found: Vec<OsString> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    for name in [&b"h\xff-1.csv"[..], b"h\xff-2.csv"] {
        assert!(found.iter().any(|found| found.as_bytes() == name), "{found:?}");
    }
}

#[test]
fn numbers_that_no_run_can_have_are_told_beforehand() {
    let folder = folder();
    let path = folder.path();
    let impute = "impute table.csv -o filled.csv";
    for draws in ["18446744073709551615", "100000000", "10001"] {
        refused(path, &format!("{impute} --draws {draws}"), &[&format!("--draws {draws}"), "10000 at the most"]);
    }
    refused(path, &format!("{impute} --interval 0"), &["--interval 0:"]);
    refused(path, &format!("{impute} --folds 0"), &["--folds 0:"]);
    refused(path, "fit table.csv -o m.model --shards 0", &["--shards 0:"]);
    refused(path, "bars --seed -1", &["a whole number, 0 or more"]);
    refused(path, "bars --seed=-1", &["invalid digit found in string", "a whole number, 0 or more"]);
    refused(path, "bars --seed 99999999999999999999", &["give a smaller number"]);
    refused(path, &format!("denoise img.npy -o x.npy {DENOISE} --states=-1"), &["a whole number, 0 or more"]);
    refused(path, "sample m.model -n=99999999999999999999", &["too many rows"]);
    for number in ["1e308", "1e-200"] {
        refused(path, &format!("denoise img.npy -o x.npy {DENOISE} --gain {number}"), &["from 1e-30 to 1e30"]);
    }
    refused(path, &format!("denoise img.npy -o x.npy {DENOISE} --offset 1e308"), &["from -1e30 to 1e30"]);
    for peak in ["--peak=-1", "--peak -1", "--peak 1e308", "--peak NaN"] {
        refused(path, &format!("demo {peak}"), &["--peak", "positive number of photons"]);
    }
    assert_eq!(names(path), ["img.npy", "table.csv"]);
}

#[test]
fn what_is_wrong_with_an_image_is_said_in_its_words() {
    let folder = folder();
    let path = folder.path();
    let image = |name: &str, value: f64, at: f64| {
        let pixels =
            ndarray::Array4::from_shape_fn((1, 16, 16, 1), |(_, y, x, _)| if (y, x) == (3, 4) { at } else { value });
        efmca_io::image_file::write(&path.join(name), pixels.view(), &Default::default()).unwrap();
    };
    image("infinite.npy", 3.0, f64::NEG_INFINITY);
    let denoise =
        |name: &str, noise: &str| format!("denoise {name} -o x.npy --noise {noise} --quality fast --iterations 2");
    refused(path, &denoise("infinite.npy", "gaussian"), &["--missing=-inf"]);
    refused(path, &denoise("infinite.npy", "poisson"), &["--missing=-inf"]);
    image("flat.npy", 3.0, 3.0);
    let output = run(path, &denoise("flat.npy", "gaussian"));
    assert!(!output.status.success() && !text(&output.stderr).contains("column"), "{}", text(&output.stderr));
}

#[test]
fn a_name_that_no_array_can_have_is_told_before_the_work() {
    let folder = folder();
    let path = folder.path();
    succeeds(path, "fit table.csv --family poisson --causes 2 --iterations 2 -o m.model");
    // the table is missing, which would be told next
    refused(path, "encode m.model none.csv -o x.npz:a/b", &["an array cannot be called `a/b`"]);
}
