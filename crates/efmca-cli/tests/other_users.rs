//! Files and folders of other users, and a limit on processes: what root does not feel.
//!
//! Only root can become somebody else; for others these tests say that they did nothing.
#![cfg(target_os = "linux")]
// tests that cannot become somebody else say so
#![allow(clippy::print_stderr)]

#[path = "common/counts.rs"]
mod counts;

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin;
use tempfile::TempDir;

use counts::{folder_with, text};

const FIT: &str = "fit table.csv --family poisson --causes 2 --iterations 5 --force";
/// The user that owns nothing.
const NOBODY: &str = "65534";

fn allow(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A folder of root with data, the program, and a folder in which everybody may write; nothing where this user is not root.
fn folder() -> Option<TempDir> {
    let folder = folder_with(200, "scene.tif", 20);
    let path = folder.path();
    let can = Command::new("setpriv")
        .args(["--reuid", NOBODY, "prlimit", "--nofile=9", "true"])
        .stderr(Stdio::null())
        .status();
    if path.metadata().unwrap().uid() != 0 || !can.is_ok_and(|status| status.success()) {
        eprintln!("not root, or no setpriv and prlimit (util-linux): nothing is tried");
        return None;
    }
    allow(path, 0o755);
    // What was built may be where others cannot look. Another process copies it: a program that one of ours has open to write, which a
    // child of another test may have for a moment, cannot be started.
    let copied = Command::new("cp").arg(cargo_bin!("efmca")).arg(path.join("efmca")).status();
    assert!(copied.unwrap().success());
    for (name, mode) in [("shared", 0o777), ("theirs", 0o755)] {
        std::fs::create_dir(path.join(name)).unwrap();
        allow(&path.join(name), mode);
    }
    Some(folder)
}

/// Runs a command as nobody, with a program that sets limits before it.
fn as_nobody(folder: &Path, limits: &str, command: &str) -> Output {
    let mut program = Command::new("setpriv");
    program.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "sh", "-c"]);
    program.arg(format!("exec {limits} ./efmca {command}")).current_dir(folder).env("TMPDIR", folder.join("shared"));
    program.stdin(Stdio::null()).output().unwrap()
}

fn refused(output: &Output, code: i32, parts: &[&str]) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.starts_with("error: ") && !said.contains("panicked"), "{said}");
    parts.iter().for_each(|part| assert!(said.contains(part), "should say {part:?}: {said}"));
}

fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_file_that_only_its_owner_may_replace_is_told_before_the_work() {
    let Some(folder) = folder() else { return };
    let path = folder.path();
    // as in /tmp
    allow(&path.join("shared"), 0o1777);
    let theirs = path.join("shared/m.model");
    std::fs::write(&theirs, "theirs").unwrap();
    allow(&theirs, 0o666);
    let output = as_nobody(path, "", &format!("{FIT} -o shared/m.model"));
    refused(&output, 2, &["shared/m.model"]);
    assert_eq!(std::fs::read_dir(path.join("shared")).unwrap().count(), 1, "something is left");
    assert_eq!(std::fs::read(&theirs).unwrap(), b"theirs");
    // what is ours can be replaced there
    for _ in 0..2 {
        let output = as_nobody(path, "", &format!("{FIT} -o shared/ours.model"));
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
}

#[test]
fn a_file_that_only_others_may_read_is_told() {
    let Some(folder) = folder() else { return };
    let path = folder.path();
    for name in ["table.csv", "scene.tif"] {
        allow(&path.join(name), 0o600);
    }
    for command in [
        &format!("{FIT} -o shared/m.model"),
        "noise-type table.csv",
        "denoise scene.tif -o shared/x.tif --noise poisson",
        "learn scene.tif --patch 4 --out-dir shared/run",
        "info scene.tif",
    ] {
        refused(&as_nobody(path, "", command), 2, &["Permission denied", "check that you may read it"]);
    }
    assert_eq!(entries(&path.join("shared")), 0);
}

#[test]
fn a_folder_that_belongs_to_another_user_is_told_before_the_work() {
    let Some(folder) = folder() else { return };
    let path = folder.path();
    let remedy = ["Permission denied", "check that you may write in that folder"];
    for command in [
        &format!("{FIT} -o theirs/m.model"),
        "learn scene.tif --patch 4 --causes 4 --patches 50 --iterations 2 --out-dir theirs",
        "learn scene.tif --patch 4 --causes 4 --patches 50 --iterations 2 --out-dir theirs/new",
    ] {
        refused(&as_nobody(path, "", command), 2, &remedy);
    }
    assert_eq!(entries(&path.join("theirs")), 0);
    // one that can be written and not be looked at: files cannot be given their names there
    allow(&path.join("theirs"), 0o333);
    let output = as_nobody(path, "", &format!("{FIT} -o theirs/m.model"));
    refused(&output, 2, &["Permission denied", "choose another one"]);
}

#[test]
fn a_run_of_another_user_in_a_shared_folder_is_seen() {
    let Some(folder) = folder() else { return };
    let path = folder.path();
    let fit = format!("{FIT} -o shared/m.model");
    let held = efmca_io::PlaceLock::take(&path.join("shared/m.model")).unwrap();
    let process = format!("(process {})", std::process::id());
    refused(&as_nobody(path, "", &fit), 2, &["another run writes there now", &process]);
    drop(held);
    assert!(as_nobody(path, "", &fit).status.success());
}

#[test]
fn where_no_threads_can_be_started_the_work_is_done_without_them() {
    let Some(folder) = folder() else { return };
    let path = folder.path();
    assert!(as_nobody(path, "", &format!("{FIT} -o shared/with.model")).status.success());
    let output = as_nobody(path, "prlimit --nproc=1:1", &format!("{FIT} -o shared/without.model"));
    let said = text(&output.stderr);
    assert!(output.status.success() && said.contains("threads cannot be started"), "{said}");
    let [with, without] =
        ["with", "without"].map(|name| std::fs::read(path.join(format!("shared/{name}.model"))).unwrap());
    assert!(with == without);
    let sample = as_nobody(path, "prlimit --nproc=1:1", "sample shared/with.model -n 3 -o shared/rows.csv");
    assert!(sample.status.success(), "{}", text(&sample.stderr));
    let output = as_nobody(path, "prlimit --nproc=1:1", &format!("{FIT} -o shared/m.model --threads 8"));
    refused(&output, 1, &["cannot start 8 threads", "--threads", "ulimit -u"]);
}
