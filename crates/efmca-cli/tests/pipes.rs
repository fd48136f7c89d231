//! Inputs that are no files: what comes through a pipe can be read once, and a device may never end.
#![cfg(target_os = "linux")]

#[path = "common/counts.rs"]
mod counts;

use std::fs::File;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin;

use counts::{folder_with, text};

/// Runs a command whose input is `INPUT`, with a file in its place or with the same bytes through a pipe.
fn run(folder: &Path, command: &str, input: &str, piped: bool) -> Output {
    let mut program = Command::new("sh");
    let script = if piped { format!("cat {input} | \"$0\" ") } else { "\"$0\" ".to_owned() };
    let command = command.replace("INPUT", if piped { "/dev/stdin" } else { input });
    program.current_dir(folder).args(["-c", &(script + &command)]).arg(cargo_bin!("efmca"));
    program.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn what_comes_through_a_pipe_is_read_as_a_file() {
    let folder = folder_with(200, "noisy.tif", 24);
    let path = folder.path();
    let fit = "fit INPUT -o RESULT --family poisson --causes 2 --iterations 3 --force";
    assert!(run(path, &fit.replace("RESULT", "given.model"), "table.csv", false).status.success());
    let rows = ndarray::Array2::from_shape_fn((150, 3), |(n, d)| ((n * (d + 3)) % 7) as f64);
    let names = ["a", "b", "c"].map(str::to_owned);
    efmca_io::table_file::write_table(&path.join("rows.npy"), &names, rows.view(), false).unwrap();
    for (command, input) in [
        (fit, "table.csv"),
        ("noise-type INPUT --families poisson,gaussian --json > RESULT", "table.csv"),
        ("noise-type INPUT --families poisson,gaussian --json > RESULT", "rows.npy"),
        ("noise-type INPUT --families poisson,gaussian --patch 4 --json > RESULT", "noisy.tif"),
        ("select INPUT --family poisson --causes 1,2 --json > RESULT", "table.csv"),
        ("denoise INPUT -o RESULT --noise poisson --quality fast --force", "noisy.tif"),
        ("corrupt INPUT -o RESULT --noise poisson --force", "noisy.tif"),
        ("encode given.model INPUT -o RESULT --force", "table.csv"),
        ("encode INPUT table.csv -o RESULT --force", "given.model"),
    ] {
        let ending = command.contains("denoise") || command.contains("corrupt");
        let (whole, piped) = if ending { ("whole.tif", "piped.tif") } else { ("whole.csv", "piped.csv") };
        let ends = [(whole, false), (piped, true)].map(|(name, through)| {
            let output = run(path, &command.replace("RESULT", name), input, through);
            assert!(output.status.success(), "{command} of {input}: {}", text(&output.stderr));
            std::fs::read_to_string(path.join(name)).map_or_else(
                |_| std::fs::read(path.join(name)).unwrap(),
                |result| result.replace("/dev/stdin", input).into_bytes(),
            )
        });
        assert!(ends[0] == ends[1], "{command} of {input}");
    }
}

#[test]
fn a_device_that_never_ends_is_refused() {
    let folder = folder_with(20, "noisy.tif", 12);
    let path = folder.path();
    let fit = "fit table.csv -o given.model --family poisson --causes 2 --iterations 3";
    assert!(run(path, fit, "", false).status.success());
    // the limit keeps the test small: half of what there is may be read
    let limited = |command: &str| {
        let mut program = Command::new("sh");
        program.args(["-c", &format!("ulimit -v 600000; exec \"$0\" {command}")]).arg(cargo_bin!("efmca"));
        program.current_dir(path).stdin(File::open("/dev/zero").unwrap()).output().unwrap()
    };
    for command in [
        "info /dev/zero",
        "score /dev/zero table.csv",
        "encode given.model /dev/zero -o x.csv",
        "fit table.csv -o x.model --views /dev/zero",
        "fit /dev/zero -o x.model --family poisson",
        "denoise /dev/stdin -o x.tif --noise poisson",
        "denoise noisy.tif -o x.tif --camera /dev/zero",
        "noise-type /dev/stdin",
        "learn /dev/zero --out-dir out",
    ] {
        let output = limited(command);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command}: {said}");
        assert!(said.starts_with("error: ") && !said.contains("panicked"), "{command}: {said}");
    }
}
