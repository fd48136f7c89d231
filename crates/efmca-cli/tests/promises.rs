//! What docs/RELIABILITY.md says about the sources: which of them are unsafe, and what the crates of others are.

// crates in several versions are shown
#![allow(clippy::print_stderr)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All sources of the repository, without what was built.
fn sources() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        ["crates", "experiments", "benches", "fuzz/src", "fuzz/fuzz_targets"].map(|name| root().join(name)).to_vec();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() && !entry.ends_with("target") {
                folders.push(entry);
            } else if entry.extension().is_some_and(|end| end == "rs") {
                found.push(entry);
            }
        }
    }
    found
}

#[test]
fn unsafe_code_is_where_the_document_says() {
    let document = std::fs::read_to_string(root().join("docs/RELIABILITY.md")).unwrap();
    let section = document.split("## Unsafe code").nth(1).unwrap().split("\n## ").next().unwrap();
    // in two parts, so that this file is none of them
    let (block, function) = (concat!("unsafe", " {"), concat!("unsafe", " fn"));
    let mut listed = BTreeMap::new();
    for line in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        listed.insert(cells[1].trim_matches('`').to_owned(), cells[2].parse::<usize>().unwrap());
    }
    let mut found = BTreeMap::new();
    for path in sources() {
        let source = std::fs::read_to_string(&path).unwrap();
        // the types of functions of a library do nothing
        let code =
            source.lines().filter(|line| !line.trim_start().starts_with("//") && !line.contains("extern \"C\" fn("));
        let blocks = code.clone().filter(|line| line.contains(block) || line.contains(function)).count();
        let word = code.clone().any(|line| line.contains(concat!("unsafe", " ")));
        if blocks > 0 || word {
            let name = path.strip_prefix(root()).unwrap().display().to_string();
            let excepted = ["crates/efmca/src/posterior/truncated/avx2/", "crates/efmca-mpi/src/"];
            assert!(excepted.iter().any(|folder| name.starts_with(folder)), "{name} is unsafe");
            let reasons = source.matches("SAFETY").count() + source.matches("# Safety").count();
            assert!(reasons > 0, "{name} gives no reason");
            found.insert(name, blocks);
        }
    }
    assert_eq!(found, listed, "docs/RELIABILITY.md lists other files, or other numbers of lines");
}

/// The licences that deny.toml allows.
fn allowed() -> BTreeSet<String> {
    let text = std::fs::read_to_string(root().join("deny.toml")).unwrap();
    let list = text.split("allow = [").nth(1).unwrap().split(']').next().unwrap();
    list.split(',').map(|name| name.trim().trim_matches('"').to_owned()).filter(|name| !name.is_empty()).collect()
}

/// Whether a licence, as crates write it, can be chosen from those that are allowed.
fn is_allowed(licence: &str, allowed: &BTreeSet<String>) -> bool {
    let licence = licence.replace('/', " OR ").replace(['(', ')'], "");
    // `AND` binds closer than `OR`; the brackets that crates write are always around an `OR` that is a part of an `AND`
    if licence.contains(" AND ") {
        return licence.split(" AND ").all(|part| is_allowed(part, allowed));
    }
    licence.split(" OR ").any(|one| allowed.contains(one.trim()))
}

#[test]
fn licences_are_read_as_they_are_written() {
    let allowed: BTreeSet<String> = ["MIT", "Zlib", "Unicode-3.0"].map(str::to_owned).into();
    for good in ["MIT", "MIT OR GPL-3.0", "GPL-3.0/MIT", "(MIT OR Apache-2.0) AND Unicode-3.0", "Zlib OR LGPL-2.1"] {
        assert!(is_allowed(good, &allowed), "{good}");
    }
    for bad in ["GPL-3.0", "", "MIT AND GPL-3.0", "(GPL-3.0 OR LGPL-2.1) AND MIT"] {
        assert!(!is_allowed(bad, &allowed), "{bad}");
    }
}

#[test]
fn crates_of_others_have_licences_that_are_allowed_and_come_from_the_registry() {
    // what is for other systems is not there
    let version = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let output = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["metadata", "--offline", "--locked", "--format-version", "1", "--filter-platform", host])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (allowed, packages) = (allowed(), metadata["packages"].as_array().unwrap());
    let mut others = 0;
    for package in packages.iter().filter(|package| !package["source"].is_null()) {
        let name = format!("{} {}", package["name"], package["version"]);
        let licence = package["license"].as_str().unwrap_or_default();
        assert!(is_allowed(licence, &allowed), "{name}: {licence:?} is not in deny.toml");
        let source = package["source"].as_str().unwrap_or_default();
        assert!(source.starts_with("registry+"), "{name} comes from {source}");
        others += 1;
    }
    assert!(others > 50, "{others} crates");
}

#[test]
fn the_lock_file_has_checksums_and_few_crates_twice() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let (mut versions, mut others) = (BTreeMap::<String, usize>::new(), 0);
    for package in lock.split("[[package]]").skip(1) {
        let field = |name: &str| {
            package
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "))
                .map(|value| value.trim_matches('"'))
        };
        *versions.entry(field("name").unwrap_or_default().to_owned()).or_default() += 1;
        if let Some(source) = field("source") {
            others += 1;
            assert!(source.starts_with("registry+") && field("checksum").is_some(), "{package}");
        }
    }
    let twice: Vec<&String> = versions.iter().filter(|(_, count)| **count > 1).map(|(name, _)| name).collect();
    eprintln!("{others} crates of others; in two versions or more: {twice:?}");
    assert!(twice.len() <= 25, "more crates than before are there twice: {twice:?}");
}
