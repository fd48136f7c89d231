//! `efmca bars` as a user runs it.

use std::path::Path;
use std::process::{Command, Stdio};

use assert_cmd::assert::OutputAssertExt;
use assert_cmd::cargo::cargo_bin;

const FILES: [&str; 3] = ["bars.png", "bars-log-likelihood.svg", "bars-model.safetensors"];

/// The program in an empty folder of its own.
fn efmca(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin!("efmca"));
    command.current_dir(folder).args(arguments);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn all_bars_are_found_and_three_files_written() {
    let folder = tempfile::tempdir().unwrap();
    let output = efmca(folder.path(), &["bars"]).assert().success().get_output().clone();
    let shown = text(&output.stdout);
    assert!(shown.contains("all 10 bars were found"), "{shown}");
    assert!(shown.contains("log-likelihood"), "{shown}");
    assert!(!shown.contains('\x1b'), "control sequences in a pipe: {shown:?}");
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    let read = |name: &str| std::fs::read(folder.path().join("efmca-bars").join(name)).unwrap();
    for name in FILES {
        assert!(shown.contains(name), "{shown}");
        assert!(!read(name).is_empty());
    }
    assert!(read(FILES[0]).starts_with(b"\x89PNG\r\n\x1a\n"));
    assert!(text(&read(FILES[1])).contains("model that"));
    let model = efmca_io::read_model(&folder.path().join("efmca-bars").join(FILES[2])).unwrap();
    assert_eq!((model.h(), model.d()), (10, 25));
    // nothing else is left behind
    assert_eq!(std::fs::read_dir(folder.path().join("efmca-bars")).unwrap().count(), FILES.len());
}

#[test]
fn the_same_seed_gives_the_same_files_with_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let files = |out: &str, seed: &str, threads: &str| {
        let mut command = efmca(folder.path(), &["bars", "--family", "bernoulli", "--seed", seed, "--out", out]);
        command.env("RAYON_NUM_THREADS", threads).assert().success();
        FILES.map(|name| std::fs::read(folder.path().join(out).join(name)).unwrap())
    };
    let first = files("a", "3", "2");
    assert!(first == files("b", "3", "2"), "two runs differ");
    assert!(first == files("c", "3", "1"), "one thread and two differ");
    assert!(first != files("d", "4", "2"), "another seed changes nothing");
}

#[test]
fn a_folder_that_cannot_be_written_is_known_before_training() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("taken"), "mine").unwrap();
    for out in ["taken", "taken/below"] {
        let output = efmca(folder.path(), &["bars", "--out", out]).assert().code(2).get_output().clone();
        let message = text(&output.stderr);
        assert!(message.starts_with("error: --out taken") && message.contains("not a folder"), "{message}");
        assert!(output.stdout.is_empty(), "it began: {}", text(&output.stdout));
    }
    assert_eq!(std::fs::read(folder.path().join("taken")).unwrap(), b"mine");
}

#[test]
fn families_without_a_demo_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (family, expected) in [
        ("weibull:k=2", "choose exponential, poisson, bernoulli, gaussian or gamma"),
        ("poison", "did you mean `poisson`?"),
        ("gamma:k=-1", "must be positive"),
    ] {
        let output = efmca(folder.path(), &["bars", "--family", family]).assert().code(2).get_output().clone();
        let message = text(&output.stderr);
        assert!(message.starts_with("error: ") && message.contains(expected), "{message}");
    }
    // a refused demo leaves no folder
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["bars", "--family", "bernoulli"][..], &["families"], &["families", "gamma"], &["--help"]] {
        let mut command = efmca(folder.path(), arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    }
}
