//! Two runs in one place, and files of another version.

#[path = "common/counts.rs"]
mod counts;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use assert_cmd::cargo::cargo_bin;

use counts::{folder_with, text};

fn folder() -> tempfile::TempDir {
    folder_with(200, "scene.tif", 20)
}

fn run(folder: &Path, arguments: &str) -> Output {
    let mut command = Command::new(cargo_bin!("efmca"));
    command.current_dir(folder).args(arguments.split_whitespace()).args(["--threads", "1"]);
    command.stdin(Stdio::null()).output().unwrap()
}

/// A checkpoint as the next version of efmca may write it: with another number, and with the right checksum.
fn as_of_a_newer_version(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let (now, then) = (br#"\"version\":2"#, br#"\"version\":3"#);
    let at = bytes.windows(now.len()).position(|part| part == now).expect("the version stands in the header");
    bytes[at..at + then.len()].copy_from_slice(then);
    let (content, sum) = bytes.split_last_chunk_mut::<8>().unwrap();
    *sum = efmca_io::checksum(content).to_le_bytes();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_checkpoint_of_a_newer_version_is_refused_with_both_versions() {
    let folder = folder();
    let path = folder.path();
    let learn = "learn scene.tif --patch 4 --causes 4 --patches 50 --out-dir run --checkpoint-every 1 --iterations";
    let output = run(path, &format!("{learn} 2"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let checkpoint = path.join("run/checkpoint.safetensors");
    as_of_a_newer_version(&checkpoint);
    let before = std::fs::read(&checkpoint).unwrap();
    let refused = run(path, &format!("{learn} 3 --resume"));
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    for part in ["a newer efmca", "version 3 of checkpoints", "this one reads 2", "--out-dir"] {
        assert!(said.contains(part), "should say {part:?}: {said}");
    }
    assert_eq!(std::fs::read(&checkpoint).unwrap(), before, "it is left as it was");
}

#[test]
fn a_kept_training_of_a_newer_version_is_told_and_trained_again() {
    let folder = folder();
    let path = folder.path();
    let fit = "fit table.csv --family poisson --causes 2 --iterations 4";
    let whole = run(path, &format!("{fit} -o whole.model"));
    assert!(whole.status.success(), "{}", text(&whole.stderr));
    // a kill leaves a training in the folder
    let name = kept_name(path, fit);
    as_of_a_newer_version(&path.join("kept").join(&name));
    let again = run(path, &format!("{fit} -o m.model --force --checkpoint kept"));
    let said = text(&again.stderr);
    assert!(again.status.success(), "{said}");
    assert!(said.contains("a newer efmca") && said.contains("this one reads 2"), "{said}");
    assert_eq!(std::fs::read(path.join("m.model")).unwrap(), std::fs::read(path.join("whole.model")).unwrap());
}

/// Starts the command and kills it when it has kept a training; the name of that file.
fn kept_name(path: &Path, fit: &str) -> String {
    loop {
        let mut command = Command::new(cargo_bin!("efmca"));
        command.current_dir(path).args(fit.split_whitespace());
        command.args(["-o", "m.model", "--force", "--checkpoint", "kept", "--checkpoint-seconds", "0"]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let found = loop {
            let entries = std::fs::read_dir(path.join("kept")).into_iter().flatten().flatten();
            let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            if let Some(name) = names.find(|name| name.len() == 28 && name.ends_with(".safetensors")) {
                break Some(name);
            }
            if child.try_wait().unwrap().is_some() {
                break None;
            }
        };
        let _ = child.kill();
        let _ = child.wait();
        match found {
            Some(name) if path.join("kept").join(&name).exists() => return name,
            // it was quicker than the kill
            _ => {}
        }
    }
}

#[test]
fn a_run_that_reads_what_another_writes_sees_a_whole_file() {
    let folder = folder();
    let path = folder.path();
    let fit = "fit table.csv -o m.model --family poisson --causes 2 --iterations 2 --force --seed";
    assert!(run(path, &format!("{fit} 1")).status.success());
    let done = AtomicBool::new(false);
    let (mut read, mut seen) = (0, std::collections::BTreeSet::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for seed in 0..12 {
                let output = run(path, &format!("{fit} {seed}"));
                assert!(output.status.success(), "{}", text(&output.stderr));
            }
            done.store(true, Ordering::Release);
        });
        while !done.load(Ordering::Acquire) {
            let output = run(path, "score m.model table.csv");
            assert!(output.status.success(), "{}", text(&output.stderr));
            seen.insert(text(&output.stdout));
            read += 1;
        }
    });
    assert!(read > 1 && !seen.is_empty(), "{read} readings, {} models", seen.len());
}
