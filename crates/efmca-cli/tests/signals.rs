//! Signals with which a system asks a program to end: a terminal that closes, a limit on the time of the processor.
#![cfg(target_os = "linux")]

#[path = "common/counts.rs"]
mod counts;

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin;
use efmca_io::read_checkpoint;
use tempfile::TempDir;

use counts::{folder_with, text};

const ITERATIONS: usize = 60;

fn folder() -> TempDir {
    folder_with(2, "scene.tif", 60)
}

/// A run of `learn` in a shell that does something before it becomes the program.
fn started(folder: &Path, out: &str, before: &str, more: &str) -> Child {
    let learn = format!(
        "{before} exec \"$0\" learn scene.tif --patch 6 --patches 1500 --causes 20 --states 10 --iterations {ITERATIONS} \
         --checkpoint-every 1 --threads 1 --out-dir {out} {more}"
    );
    let mut command = Command::new("sh");
    command.current_dir(folder).args(["-c", &learn]).arg(cargo_bin!("efmca"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Sends a signal to a run that has written a checkpoint, and waits for its end.
fn signalled(folder: &Path, out: &str, before: &str, signal: &str) -> Output {
    let child = started(folder, out, before, "");
    let start = Instant::now();
    while !folder.join(out).join("checkpoint.safetensors").exists() {
        assert!(start.elapsed() < Duration::from_secs(120), "nothing happens");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    child.wait_with_output().unwrap()
}

/// The iterations of a run that are in its checkpoint.
fn done(folder: &Path, out: &str) -> usize {
    read_checkpoint(&folder.join(out).join("checkpoint.safetensors")).unwrap().0.history.len()
}

fn model(folder: &Path, out: &str) -> Vec<u8> {
    std::fs::read(folder.join(out).join("model.safetensors")).unwrap()
}

#[test]
fn a_run_that_is_asked_to_end_is_left_in_order_and_resumed_with_the_same_bits() {
    let folder = folder();
    let path = folder.path();
    assert!(started(path, "whole", "", "").wait_with_output().unwrap().status.success());
    for (out, signal) in [("hangup", "-HUP"), ("time", "-XCPU")] {
        let output = signalled(path, out, "", signal);
        assert!(output.status.code().is_some(), "{signal} ended it: {}", text(&output.stderr));
        assert!(done(path, out) < ITERATIONS, "{signal} was not heard: {}", text(&output.stderr));
        let again = started(path, out, "", "--resume").wait_with_output().unwrap();
        assert!(again.status.success(), "{}", text(&again.stderr));
        assert!(model(path, out) == model(path, "whole"), "{signal}");
    }
}

#[test]
fn with_nohup_a_run_outlives_its_terminal() {
    let folder = folder();
    let path = folder.path();
    let output = signalled(path, "run", "trap '' HUP;", "-HUP");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(done(path, "run"), ITERATIONS);
}
