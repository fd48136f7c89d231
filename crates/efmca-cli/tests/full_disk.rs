//! Disks that are full, or become read-only, while each kind of result is written: models, images, reports, tables, figures,
//! checkpoints and kept trainings.
//!
//! A limit on the size of files makes a write fail in the middle of a file, at many places. A small file system that is made for the
//! test, where that is allowed, is full in earnest.
#![cfg(target_os = "linux")]
// tests that cannot mount say so
#![allow(clippy::print_stderr)]

#[path = "common/counts.rs"]
mod counts;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin;

use counts::{folder_with, text};

/// Commands whose results are in `out`, of each kind.
const COMMANDS: [(&str, &str); 7] = [
    (
        "model, page, numbers",
        "fit table.csv -o out/m.model --family poisson --causes 2 --iterations 3 --report out/m.html --json out/m.json --force",
    ),
    ("images", "denoise noisy.tif -o out/c.tif --uncertainty out/std.npy --noise poisson --quality fast --force"),
    ("table", "encode given.model table.csv -o out/codes.csv --force"),
    ("rows", "sample given.model -n 3000 -o out/rows.csv --force"),
    ("figure", "select table.csv --family poisson --causes 1,2 --curve out/curve.svg --force"),
    ("noisy image", "corrupt noisy.tif -o out/noisy.tif --noise poisson --force"),
    (
        "checkpoint, pictures",
        "learn noisy.tif --patch 4 --causes 4 --patches 200 --iterations 3 --checkpoint-every 1 --out-dir out/run --force",
    ),
];

/// A table, an image, a model, and folders for results and for temporary files.
fn folder() -> tempfile::TempDir {
    let folder = folder_with(300, "noisy.tif", 24);
    let path = folder.path();
    for name in ["out", "tmp"] {
        std::fs::create_dir(path.join(name)).unwrap();
    }
    let given = "fit table.csv -o given.model --family poisson --causes 2 --iterations 3";
    assert!(shell(path, &format!("exec \"$0\" {given}")).status.success());
    folder
}

/// Runs a script in which `"$0"` is the program.
fn shell(folder: &Path, script: &str) -> Output {
    let mut command = Command::new("sh");
    command.current_dir(folder).env("TMPDIR", folder.join("tmp")).env("RAYON_NUM_THREADS", "1").stdin(Stdio::null());
    command.args(["-c", script]).arg(cargo_bin!("efmca")).output().unwrap()
}

/// The files below a folder, with what is in them.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                let name = entry.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, std::fs::read(&entry).unwrap());
            }
        }
    }
    found
}

/// Empties a folder.
fn clear(folder: &Path) {
    std::fs::remove_dir_all(folder).unwrap();
    std::fs::create_dir(folder).unwrap();
}

/// An error of this program, and no signal and no panic.
fn is_told(output: &Output, what: &str) -> String {
    let said = text(&output.stderr);
    assert!(matches!(output.status.code(), Some(0..=2)), "{what}: {:?} {said}", output.status);
    assert!(!said.contains("panicked"), "{what}: {said}");
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(lines.len(), usize::from(!output.status.success()), "{what}: {said}");
    said
}

/// Every file in `out` is one of the complete ones.
fn are_complete(found: &BTreeMap<String, Vec<u8>>, complete: &BTreeMap<String, Vec<u8>>, what: &str) {
    for (name, bytes) in found {
        let whole = complete.get(name).unwrap_or_else(|| panic!("{what}: {name} should not be there"));
        // checkpoints replace each other, and pages say how long something took
        let same = name.ends_with("checkpoint.safetensors") || name.ends_with(".html") || bytes == whole;
        assert!(same && !bytes.is_empty(), "{what}: {name} has {} of {} bytes", bytes.len(), whole.len());
        if name.ends_with("checkpoint.safetensors") {
            assert!(efmca_io::decode_checkpoint(bytes).is_ok(), "{what}: {name}");
        }
        if name.ends_with(".html") {
            assert!(text(bytes).trim_end().ends_with("</html>"), "{what}: {name} is cut");
        }
    }
}

#[test]
fn a_write_that_fails_in_the_middle_leaves_complete_files_only() {
    let folder = folder();
    let path = folder.path();
    let (out, tmp) = (path.join("out"), path.join("tmp"));
    let (mut failed, mut written) = (0, 0);
    for (kind, command) in COMMANDS {
        clear(&out);
        let whole = shell(path, &format!("exec \"$0\" {command}"));
        assert!(whole.status.success(), "{kind}: {}", text(&whole.stderr));
        let complete = files(&out);
        let largest = complete.values().map(Vec::len).max().unwrap_or(0);
        // blocks of 512 bytes: from none to all that the largest file needs
        let limits = [0, 1, 2, 5, 12, 40, 130].into_iter().filter(|blocks| blocks * 512 < largest);
        for limit in limits.chain([largest.div_ceil(512) + 1]) {
            clear(&out);
            clear(&tmp);
            let what = format!("{kind}, {limit} blocks");
            let output = shell(path, &format!("ulimit -f {limit}; exec \"$0\" {command}"));
            let said = is_told(&output, &what);
            are_complete(&files(&out), &complete, &what);
            if limit * 512 >= largest {
                assert!(output.status.success(), "{what}: {said}");
                written += 1;
            } else if !output.status.success() {
                assert!(said.contains("ulimit -f"), "{what}: {said}");
                failed += 1;
            }
            // what was rescued is whole as well, and nothing else is left
            for (name, bytes) in files(&tmp) {
                assert!(name.starts_with("rescued-") && !bytes.is_empty(), "{what}: {name} is left");
            }
            let left = files(path).into_keys().filter(|name| !name.contains('/'));
            let left: Vec<String> =
                left.filter(|name| !["table.csv", "noisy.tif", "given.model"].contains(&&**name)).collect();
            for name in &left {
                assert!(name.starts_with("rescued-"), "{what}: {name} is left");
                std::fs::remove_file(path.join(name)).unwrap();
            }
        }
    }
    assert!(failed > 20 && written == COMMANDS.len(), "{failed} writes failed, {written} went well");
}

/// Whether file systems can be mounted here, in a space of names that ends with the shell.
fn can_mount(folder: &Path) -> bool {
    let script = "unshare -m sh -c 'mount -t tmpfs -o size=64k none out'";
    let can = shell(folder, script).status.success();
    if !can {
        eprintln!("skipped: no file system can be mounted here (it takes root, and a system that allows it)");
    }
    can
}

/// Runs a script beside a small file system at `out`; what is in there in the end is copied to `kept`.
fn mounted(folder: &Path, size: &str, script: &str) -> Output {
    let _ = std::fs::remove_dir_all(folder.join("kept"));
    let script = format!(
        "exec unshare -m sh -c 'mount -t tmpfs -o size={size} none out; {script}; code=$?; cp -a out kept; exit $code' \"$0\""
    );
    shell(folder, &script)
}

#[test]
fn a_disk_that_is_full_leaves_complete_files_and_results_go_elsewhere() {
    let folder = folder();
    let path = folder.path();
    if !can_mount(path) {
        return;
    }
    let mut failed = 0;
    for (kind, command) in COMMANDS {
        let whole = mounted(path, "4m", &format!("\"$0\" {command}"));
        assert!(whole.status.success(), "{kind}: {}", text(&whole.stderr));
        let complete = files(&path.join("kept"));
        let elsewhere: Vec<String> =
            complete.keys().map(|name| format!("rescued-{}", name.replace("run/", ""))).collect();
        // pages of 4 kB; the folder itself has one
        for size in ["4k", "8k", "16k", "48k"] {
            let what = format!("{kind}, {size}");
            let output = mounted(path, size, &format!("\"$0\" {command}"));
            let said = is_told(&output, &what);
            are_complete(&files(&path.join("kept")), &complete, &what);
            if !output.status.success() {
                assert!(said.contains("No space left"), "{what}: {said}");
                failed += 1;
            }
            let left = files(path).into_keys().filter(|name| name.starts_with("rescued-")).collect::<Vec<String>>();
            for name in left {
                assert!(elsewhere.contains(&name), "{what}: {name} is left");
                assert!(said.contains(&name), "{what}: {name} is not told: {said}");
                std::fs::remove_file(path.join(name)).unwrap();
            }
        }
    }
    assert!(failed > 8, "{failed} commands had too little room");
}

#[test]
fn a_disk_that_becomes_read_only_midway_costs_no_result() {
    let folder = folder();
    let path = folder.path();
    if !can_mount(path) {
        return;
    }
    // When the first training is kept, a read-only disk takes the place of the other: that one cannot change while its lock is open.
    let script = "\"$0\" denoise noisy.tif -o out/c.tif --noise poisson --checkpoint trained --checkpoint-seconds 0 & \
                  until ls trained/*.safetensors >/dev/null 2>&1; do sleep 0.01; done; mount -t tmpfs -o ro none out; wait $!";
    let output = mounted(path, "4m", script);
    let said = is_told(&output, "read-only");
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("Read-only file system") && said.contains("rescued-c.tif instead"), "{said}");
    let rescued = efmca_io::image_file::read(&path.join("rescued-c.tif"), &Default::default()).unwrap();
    assert_eq!(rescued.values.dim(), (1, 24, 24, 1));
}

#[test]
fn a_full_disk_under_kept_trainings_costs_no_result() {
    let folder = folder();
    let path = folder.path();
    if !can_mount(path) {
        return;
    }
    let script = "\"$0\" fit table.csv -o m.model --family poisson --causes 2 --iterations 3 --checkpoint out/trained";
    let output = mounted(path, "4k", script);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("the work goes on without this training") && said.contains("No space left"), "{said}");
    assert!(efmca_io::read_model_file(&path.join("m.model")).is_ok());
    assert_eq!(std::fs::read(path.join("m.model")).unwrap(), std::fs::read(path.join("given.model")).unwrap());
}
