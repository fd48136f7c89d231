//! Every command that the README and the guide show is run.

use assert_cmd::Command;

/// The lines of all `sh` blocks.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for block in text.split("```sh\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        found.extend(block.lines().filter(|line| !line.trim().is_empty()).map(String::from));
    }
    found
}

#[test]
fn every_command_of_the_readme_runs() {
    run_all("/../../README.md", 6);
}

#[test]
fn every_command_of_the_guide_runs() {
    run_all("/../../docs/GUIDE.md", 6);
}

#[test]
fn every_command_of_the_page_of_cameras_runs() {
    run_all("/../../docs/CAMERAS.md", 4);
}

#[test]
fn every_command_of_the_page_of_tables_runs() {
    run_all("/../../docs/TABLES.md", 6);
}

fn run_all(page: &str, at_least: usize) {
    let text = std::fs::read_to_string(format!("{}{page}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let commands = commands(&text);
    assert!(commands.len() >= at_least, "{commands:?}");
    let folder = tempfile::tempdir().unwrap();
    for command in commands {
        let efmca = command.strip_prefix("cargo run --release -- ").or(command.strip_prefix("efmca "));
        match (efmca, command.as_str()) {
            (Some(arguments), _) => {
                let mut program = Command::cargo_bin("efmca").unwrap();
                program.current_dir(folder.path()).args(arguments.split_whitespace()).assert().success();
            }
            // this is the test command, and `.ci/run` runs the set-up
            (None, "cargo test --workspace") => {}
            (None, "cargo build" | "cargo install --path crates/efmca-cli") => {
                let ci = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.ci/run")).unwrap();
                assert!(ci.contains(&command), "{command} is not run by .ci/run");
            }
            (None, other) => panic!("a page shows a command that no test runs: {other}"),
        }
    }
}

#[test]
fn the_page_of_families_is_up_to_date() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/FAMILIES.md")).unwrap();
    let listed = Command::cargo_bin("efmca").unwrap().arg("families").output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(page.contains(listed.trim()), "put the output of `efmca families` into docs/FAMILIES.md:\n{listed}");
}

/// The counts that README gives in words are those of the results.
#[test]
fn the_readme_has_the_numbers_of_the_results() {
    let read = |path: &str| std::fs::read_to_string(format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let (readme, images) = (read("README.md"), read("experiments/results/noise-images.md"));
    let named = images.split("**").nth(1).and_then(|text| text.split(" of 18").next()).unwrap();
    assert!(named.parse::<usize>().is_ok(), "{named}");
    assert!(readme.contains(&format!("18 noisy images, {named} are named correctly")), "{named} of 18");
}
