//! Every command that writes a result, where the folder of the result is lost after it was checked.
//!
//! The input is a pipe: a command that has opened it has checked its places, and goes on when something comes.
#![cfg(target_os = "linux")]

#[path = "common/counts.rs"]
mod counts;

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;
use efmca_io::image_file::{WriteOptions, write};
use ndarray::Array4;

use counts::{folder_with, text};

/// What is given to each command, the command, and its results.
const COMMANDS: [(&str, &str, &[&str]); 13] = [
    (
        "table.csv",
        "fit PIPE -o out/m.model --family poisson --causes 2 --iterations 3 --report out/m.html",
        &["m.model", "m.html"],
    ),
    ("table.csv", "encode given.model PIPE -o out/codes.csv", &["codes.csv"]),
    ("table.csv", "score given.model PIPE -o out/scores.csv", &["scores.csv"]),
    (
        "table.csv",
        "noise-type PIPE --families poisson --save-model out/n.model --report out/n.html",
        &["n.model", "n.html"],
    ),
    (
        "table.csv",
        "select PIPE --family poisson --causes 1,2 --curve out/c.svg --report out/c.html",
        &["c.svg", "c.html"],
    ),
    ("gaps.csv", "impute PIPE -o out/filled.csv --family poisson --causes 2", &["filled.csv"]),
    ("table.csv", "report given.model PIPE -o out/page.html", &["page.html"]),
    ("given.model", "sample PIPE -n 5 -o out/rows.csv", &["rows.csv"]),
    ("noisy.tif", "corrupt PIPE -o out/noisy.tif --noise poisson", &["noisy.tif"]),
    ("noisy.tif", "denoise PIPE -o out/clean.tif --noise poisson --quality fast", &["clean.tif"]),
    ("noisy.tif", "inpaint PIPE -o out/clean.tif --noise poisson --quality fast --mask mask.tif", &["clean.tif"]),
    ("noisy.tif", "apply patches.model PIPE -o out/clean.tif", &["clean.tif"]),
    (
        "noisy.tif",
        "learn PIPE --patch 4 --causes 4 --patches 50 --iterations 2 --out-dir out",
        &["model.safetensors", "report.html"],
    ),
];

/// Says that an open must not wait.
const O_NONBLOCK: i32 = 0o4000;

fn started(folder: &Path, command: &str) -> Child {
    let mut program = Command::new(cargo_bin!("efmca"));
    program.current_dir(folder).args(command.split(' ')).env("TMPDIR", folder).env("RAYON_NUM_THREADS", "1");
    program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs a command, and changes the folder of its results when it has opened its input.
fn with_places_lost(folder: &Path, (input, command, _): (&str, &str, &[&str]), change: impl Fn(&Path)) -> Output {
    let out = folder.join("out");
    let _ = std::fs::remove_dir_all(&out);
    let _ = std::fs::remove_file(&out);
    std::fs::create_dir(&out).unwrap();
    let pipe = folder.join("pipe");
    let mut child = started(folder, &command.replace("PIPE", "pipe"));
    // it cannot be opened before somebody reads it
    let mut open = loop {
        match OpenOptions::new().write(true).custom_flags(O_NONBLOCK).open(&pipe) {
            Ok(open) => break open,
            Err(_) if child.try_wait().unwrap().is_none() => std::thread::sleep(Duration::from_millis(1)),
            Err(error) => panic!("{command}: {error}: {}", text(&child.wait_with_output().unwrap().stderr)),
        }
    };
    change(&out);
    open.write_all(&std::fs::read(folder.join(input)).unwrap()).unwrap();
    drop(open);
    child.wait_with_output().unwrap()
}

fn folder() -> tempfile::TempDir {
    let folder = folder_with(200, "noisy.tif", 40);
    let path = folder.path();
    let gaps = std::fs::read_to_string(path.join("table.csv")).unwrap().replace("\n3,", "\n,");
    std::fs::write(path.join("gaps.csv"), gaps).unwrap();
    let mut mask = Array4::zeros((1, 40, 40, 1));
    mask[[0, 5, 5, 0]] = 1.0;
    write(&path.join("mask.tif"), mask.view(), &WriteOptions::default()).unwrap();
    for command in [
        "fit table.csv -o given.model --family poisson --causes 2 --iterations 3",
        "denoise noisy.tif -o first.tif --noise poisson --quality fast --save-model patches.model",
    ] {
        let output = started(path, command).wait_with_output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    assert!(Command::new("mkfifo").arg(path.join("pipe")).status().unwrap().success());
    folder
}

#[test]
fn a_folder_that_is_removed_is_made_again_by_every_command() {
    let folder = folder();
    for command in COMMANDS {
        let output = with_places_lost(folder.path(), command, |out| std::fs::remove_dir_all(out).unwrap());
        assert!(output.status.success(), "{}: {}", command.1, text(&output.stderr));
        for name in command.2 {
            assert!(folder.path().join("out").join(name).exists(), "{}: {name}", command.1);
        }
    }
}

#[test]
fn where_a_file_takes_the_place_of_the_folder_no_command_loses_its_result_or_says_that_it_is_there() {
    let folder = folder();
    let path = folder.path();
    for command in COMMANDS {
        let output = with_places_lost(path, command, |out| {
            std::fs::remove_dir_all(out).unwrap();
            std::fs::write(out, "a file").unwrap();
        });
        let (said, shown) = (text(&output.stderr), text(&output.stdout));
        assert_eq!(output.status.code(), Some(1), "{}: {said}", command.1);
        assert!(!said.contains("panicked") && !shown.contains("wrote out"), "{}: {shown}{said}", command.1);
        // pictures and pages of `learn` can be made again
        let lost = if command.1.starts_with("learn") { &command.2[..1] } else { command.2 };
        for name in lost {
            let rescued = format!("rescued-{name}");
            assert!(said.contains(&rescued), "{}: {said}", command.1);
            std::fs::remove_file(path.join(rescued)).unwrap();
        }
        assert_eq!(std::fs::read(path.join("out")).unwrap(), b"a file");
    }
}
