//! Running the program, for the tests of all commands.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin;

/// The program in a folder of its own.
pub(crate) fn efmca(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(cargo_bin!("efmca")).current_dir(folder).args(arguments).output().unwrap()
}

/// What the program wrote.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a command that must succeed shows.
pub(crate) fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    let output = efmca(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// The message of a command that is refused because of its input.
pub(crate) fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = efmca(folder, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
    let message = text(&output.stderr);
    assert!(message.starts_with("error: "), "{message}");
    message
}

/// Presses Ctrl-C after the first line of the log. Returns that line, the rest of standard error, and what the program left.
#[allow(dead_code)] // not every test file interrupts something
pub(crate) fn interrupted(folder: &Path, arguments: &[&str]) -> (String, String, Output) {
    let mut child = Command::new(cargo_bin!("efmca"))
        .current_dir(folder)
        .args(arguments)
        .args(["--log-format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut messages = BufReader::new(child.stderr.take().unwrap());
    let (mut first, mut rest) = (String::new(), String::new());
    messages.read_line(&mut first).unwrap();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    messages.read_to_string(&mut rest).unwrap();
    (first, rest, child.wait_with_output().unwrap())
}
