//! Running an experiment, for the tests of several of them.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// An experiment in a folder of its own.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_experiments"));
    program.args(arguments).args(["--out", "results"]).current_dir(folder).output().unwrap()
}

/// The table and the numbers that an experiment wrote.
pub(crate) fn results(folder: &Path, name: &str, arguments: &[&str]) -> (String, Value) {
    let output = run(folder, &[&[name], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |ending: &str| std::fs::read_to_string(folder.join(format!("results/{name}.{ending}"))).unwrap();
    (read("md"), serde_json::from_str(&read("json")).unwrap())
}
