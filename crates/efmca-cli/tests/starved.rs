//! What the program does where the system gives it too little: room on the disk, memory, files, a reader, a place.
//!
//! Limits are set by `ulimit` in a shell that becomes the program.
#![cfg(target_os = "linux")]

#[path = "common/counts.rs"]
mod counts;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin;

use counts::{folder_with, text};

const FIT: &str = "fit table.csv -o out/m.model --family poisson --causes 2 --iterations 5 --threads 1";

/// A table, an image, and a folder for results.
fn folder() -> tempfile::TempDir {
    let folder = folder_with(200, "noisy.tif", 40);
    std::fs::create_dir(folder.path().join("out")).unwrap();
    std::fs::create_dir(folder.path().join("tmp")).unwrap();
    folder
}

/// A shell that sets a limit and becomes the program.
fn limited(folder: &Path, limit: &str, arguments: &str) -> Command {
    let mut command = Command::new("sh");
    command.current_dir(folder).env("TMPDIR", folder.join("tmp")).stdin(Stdio::null());
    command.args(["-c", &format!("{limit} exec \"$0\" {arguments}")]).arg(cargo_bin!("efmca"));
    command
}

fn run(folder: &Path, limit: &str, arguments: &str) -> Output {
    limited(folder, limit, arguments).output().unwrap()
}

/// An error with this code that says all of `parts`, and no signal and no panic.
fn fails(output: &Output, code: i32, parts: &[&str]) -> String {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.starts_with("error: ") && !said.contains("panicked"), "{said}");
    parts.iter().for_each(|part| assert!(said.contains(part), "should say {part:?}: {said}"));
    said
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_limit_on_the_size_of_files_leaves_no_half_written_one() {
    let folder = folder();
    let path = folder.path();
    std::fs::write(path.join("out/m.model"), "before").unwrap();
    // 0 blocks: every write fails, wherever it goes
    let said = fails(&run(path, "ulimit -f 0;", &format!("{FIT} --force")), 1, &["m.model", "ulimit -f", "either"]);
    assert!(said.contains("rescued-m.model"), "{said}");
    assert_eq!(std::fs::read(path.join("out/m.model")).unwrap(), b"before");
    assert_eq!((names(&path.join("out")), names(&path.join("tmp"))), (vec!["m.model".to_owned()], Vec::new()));
    for (command, results) in [
        ("denoise noisy.tif -o out/c.tif --noise poisson --quality fast --report out/c.html", ["c.tif", "c.html"]),
        ("noise-type table.csv --families poisson --save-model out/n.model --report out/n.html", ["n.model", "n.html"]),
    ] {
        fails(&run(path, "ulimit -f 0;", command), 1, &results);
        assert_eq!(names(&path.join("out")), ["m.model"], "{command}");
    }
}

#[test]
fn a_full_output_is_told_and_files_are_written() {
    let folder = folder();
    let output = run(folder.path(), "exec >/dev/full;", FIT);
    fails(&output, 1, &["cannot write the output", "No space left"]);
    assert!(efmca_io::read_model_file(&folder.path().join("out/m.model")).is_ok());
}

#[test]
fn a_reader_that_goes_does_not_end_work_on_files() {
    let folder = folder();
    let path = folder.path();
    let output = Command::new("sh")
        .current_dir(path)
        .args(["-c", &format!("\"$0\" {FIT} | true; \"$0\" families | head -1")])
        .arg(cargo_bin!("efmca"))
        .output()
        .unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().count(), 1);
    assert!(efmca_io::read_model_file(&path.join("out/m.model")).is_ok());
}

#[test]
fn closed_streams_end_in_a_result() {
    let folder = folder();
    for (number, streams) in ["exec <&-;", "exec 2>&-;", "exec <&- 2>&-;"].iter().enumerate() {
        let output = run(folder.path(), streams, &FIT.replace("m.model", &format!("{number}.model")));
        assert!(output.status.success(), "{streams}: {}", text(&output.stderr));
        assert!(efmca_io::read_model_file(&folder.path().join(format!("out/{number}.model"))).is_ok());
    }
}

/// A run whose folder goes away while it works, and what it says.
fn folder_goes(folder: &Path, change: impl Fn(&Path)) -> Output {
    let out = folder.join("out");
    let work = "denoise noisy.tif -o out/c.tif --noise poisson --checkpoint kept --checkpoint-seconds 0";
    let child = limited(folder, "", work).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // a training has begun, so that all checks are done
    let start = Instant::now();
    while std::fs::read_dir(folder.join("kept")).map_or(true, |mut files| {
        !files.any(|file| file.unwrap().path().extension().is_some_and(|end| end == "safetensors"))
    }) {
        assert!(start.elapsed() < Duration::from_secs(120), "nothing happens");
        std::thread::sleep(Duration::from_millis(1));
    }
    change(&out);
    child.wait_with_output().unwrap()
}

#[test]
fn a_folder_that_becomes_a_file_costs_no_result() {
    let folder = folder();
    let path = folder.path();
    let output = folder_goes(path, |out| {
        std::fs::remove_dir_all(out).unwrap();
        std::fs::write(out, "a file").unwrap();
    });
    fails(&output, 1, &["out", "rescued-c.tif instead"]);
    let rescued = efmca_io::image_file::read(&path.join("rescued-c.tif"), &Default::default()).unwrap();
    assert_eq!(rescued.values.dim(), (1, 40, 40, 1));
    // what was trained is still there, too
    assert!(std::fs::read_dir(path.join("kept")).unwrap().count() > 0);
}

#[test]
fn a_folder_that_vanishes_is_made_again() {
    let folder = folder();
    let output = folder_goes(folder.path(), |out| std::fs::remove_dir_all(out).unwrap());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(folder.path().join("out/c.tif").exists());
}

/// A file of rows that are zeros and take no room on the disk.
fn zeros(path: &Path, rows: u64, columns: u64) {
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    header += &" ".repeat(118 - 1 - header.len());
    let bytes = [b"\x93NUMPY\x01\x00".as_slice(), &118_u16.to_le_bytes(), header.as_bytes(), b"\n"].concat();
    std::fs::write(path, &bytes).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(bytes.len() as u64 + rows * columns * 8).unwrap();
}

#[test]
fn too_little_memory_is_refused_with_the_numbers() {
    let folder = folder();
    let path = folder.path();
    // 3 GB
    zeros(&path.join("rows.npy"), 3_000_000, 128);
    let learn = "learn --rows rows.npy --out-dir o --causes 100 --states 60 --whiten none --threads 1";
    let said = fails(&run(path, "ulimit -v 2000000;", learn), 2, &["MB of memory, and there are", "--states"]);
    assert!(!path.join("o").exists(), "{said}");
    // a small file with many rows, whose states take the room
    zeros(&path.join("many.npy"), 200_000, 16);
    let fit = "fit many.npy -o out/y.model --family gaussian --causes 20 --threads 1";
    fails(&run(path, "ulimit -v 300000;", fit), 2, &["MB of memory, and there are", "fewer rows, causes or states"]);
    // a limit below what the program itself needs
    fails(&run(path, "ulimit -v 20000;", FIT), 2, &["the program itself", "ulimit -v"]);
    // the numbers of a report need all rows in memory
    let fit = "fit rows.npy -o out/x.model --report out/x.html --family gaussian --causes 2 --threads 1";
    fails(&run(path, "ulimit -v 2000000;", fit), 2, &["rows.npy", "bytes"]);
    assert!(names(&path.join("out")).is_empty());
}

#[test]
fn too_many_open_files_are_told_with_the_remedy() {
    let folder = folder();
    // the three streams, and one more that the start of a program needs
    fails(&run(folder.path(), "ulimit -n 4;", FIT), 2, &["Too many open files", "ulimit -n"]);
    assert!(names(&folder.path().join("out")).is_empty());
    // with one more at a time: refused before the work or done, and no result is lost for want of a file
    for limit in 5..16 {
        let output = run(folder.path(), &format!("ulimit -n {limit};"), &format!("{FIT} --force"));
        if !output.status.success() {
            fails(&output, 2, &["Too many open files", "ulimit -n"]);
            assert!(limit < 12, "{limit} are enough");
        }
    }
    assert!(efmca_io::read_model_file(&folder.path().join("out/m.model")).is_ok());
}

#[test]
fn two_runs_do_not_write_to_the_same_place() {
    let folder = folder();
    let path = folder.path();
    let held = efmca_io::PlaceLock::take(&path.join("out/m.model")).unwrap();
    let process = format!("(process {})", std::process::id());
    fails(&run(path, "", FIT), 2, &["m.model", "another run writes there now", &process, "choose another place"]);
    drop(held);
    assert!(run(path, "", FIT).status.success());
    assert_eq!(names(&path.join("out")), ["m.model"]);
    let held = efmca_io::PlaceLock::take(&path.join("out")).unwrap();
    let learn = "learn noisy.tif --patch 4 --causes 4 --patches 50 --iterations 2 --out-dir out --force";
    fails(&run(path, "", learn), 2, &["out", "another run writes there now"]);
    drop(held);
    assert!(run(path, "", learn).status.success());
}

#[test]
fn decisions_do_not_depend_on_the_clock_of_the_wall() {
    let mut folders = vec!["efmca", "efmca-io", "efmca-view", "efmca-cli"]
        .into_iter()
        .map(|name| Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src"))
        .collect::<Vec<_>>();
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|end| end == "rs") {
                files += 1;
                let source = std::fs::read_to_string(&entry).unwrap();
                // `Instant` never jumps; times of files are compared with each other, and with nothing else
                assert!(!source.contains("SystemTime::now"), "{}", entry.display());
            }
        }
    }
    assert!(files > 100, "{files}");
}

#[test]
fn more_threads_than_anyone_means_are_refused() {
    let folder = folder_with(50, "noisy.tif", 16);
    let mut program = Command::new(cargo_bin!("efmca"));
    program.current_dir(folder.path()).env("RAYON_NUM_THREADS", "99999");
    let output = program.args("fit table.csv -o table.model --family poisson --causes 2".split(' ')).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("RAYON_NUM_THREADS=99999"), "{said}");
}

/// Noise around a mean of billions is summed in blocks of counts: one by one it took minutes and more.
#[test]
fn a_pixel_of_billions_costs_no_time() {
    let folder = folder_with(50, "noisy.tif", 16);
    let place = folder.path().join("hot.npy");
    let mut image = ndarray::Array4::from_shape_fn((1, 20, 20, 1), |(_, y, x, _)| ((y * x) % 5) as f64);
    image[[0, 5, 5, 0]] = f64::from(u32::MAX);
    let options = efmca_io::image_file::WriteOptions { force: true, ..Default::default() };
    efmca_io::image_file::write(&place, image.view(), &options).unwrap();
    // seconds of the processor are limited by the system: where they are used up the program ends without a result
    let script = "ulimit -t 60; exec \"$0\" denoise hot.npy -o clean.npy --noise poisson --quality fast --iterations 2";
    let output =
        Command::new("sh").args(["-c", script]).arg(cargo_bin!("efmca")).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(folder.path().join("clean.npy").is_file());
}
