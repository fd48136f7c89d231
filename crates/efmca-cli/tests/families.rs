//! `efmca families` and the rest of the command line as a user runs it.

use std::process::Command;

use assert_cmd::assert::OutputAssertExt;
use assert_cmd::cargo::cargo_bin;

/// Runs the program and gives what it wrote to stdout and stderr.
fn efmca(arguments: &[&str], code: i32) -> (String, String) {
    let output = Command::new(cargo_bin!("efmca")).args(arguments).assert().code(code).get_output().clone();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_table_lists_all_families() {
    let (table, _) = efmca(&["families"], 0);
    for entry in efmca::family::registry::entries() {
        assert!(table.contains(entry.name), "{}", entry.name);
    }
    assert!(table.contains("photons"));
    assert!(!table.contains('\x1b'));
}

#[test]
fn one_family_is_shown_in_detail() {
    let (details, _) = efmca(&["families", "gamma"], 0);
    for expected in ["positive amounts", "positive numbers", "shape", "rate", "gamma:k=4"] {
        assert!(details.contains(expected), "{details}");
    }
    // what was written decides what is left to learn
    let (details, _) = efmca(&["families", "gaussian:var=1"], 0);
    assert!(details.contains("mean (any number)\n") && details.contains("normal"), "{details}");
    // a name alone is enough to ask which known parameters there are
    let (details, _) = efmca(&["families", "binomial"], 0);
    assert!(details.contains("n: number of trials (needed)"), "{details}");
}

#[test]
fn a_wrong_name_gets_a_suggestion() {
    let (shown, message) = efmca(&["families", "gama"], 2);
    assert!(shown.is_empty());
    assert!(message.starts_with("error: ") && message.contains("did you mean `gamma`?"), "{message}");
    let (_, message) = efmca(&["families", "student-t"], 2);
    assert!(message.contains("not an exponential family"), "{message}");
}

#[test]
fn wrong_usage_is_explained() {
    let (_, message) = efmca(&["demoo"], 2);
    assert!(message.contains("'demo'"), "{message}");
    let (_, message) = efmca(&["demo", "--seed", "-1"], 2);
    assert!(message.contains("error:"), "{message}");
    let (_, message) = efmca(&[], 2);
    assert!(message.contains("Usage"), "{message}");
}

#[test]
fn help_and_version_are_there() {
    assert_eq!(efmca(&["--version"], 0).0, format!("efmca {}\n", env!("CARGO_PKG_VERSION")));
    let (help, _) = efmca(&["--help"], 0);
    assert!(help.contains("demo") && help.contains("families") && help.contains("Examples:"), "{help}");
    let (help, _) = efmca(&["demo", "--help"], 0);
    assert!(help.contains("--peak") && help.contains("--seed") && help.contains("--out"), "{help}");
    let (help, _) = efmca(&["bars", "--help"], 0);
    assert!(help.contains("--family") && help.contains("--seed") && help.contains("--out"), "{help}");
}
