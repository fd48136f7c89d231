//! The plan of the crate, kept by reading its imports: family <- model <- posterior <- em <- tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The rooms from the ground up. A room may use itself and the rooms in the lines before its own.
const LINE: [&[&str]; 7] = [
    &["error", "hash", "special", "cancel"],
    &["dual", "ranks"],
    &["family"],
    &["model"],
    &["posterior", "bars"],
    &["em"],
    &["tasks"],
];

fn level(room: &str) -> Option<usize> {
    LINE.iter().position(|rooms| rooms.contains(&room))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The lines of code without comments, and without unit tests at the end of the file.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The names that follow `prefix` in `text`, also those in braces.
fn named_after(text: &str, prefix: &str) -> BTreeSet<String> {
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut found = BTreeSet::new();
    for rest in text.split(prefix).skip(1) {
        match rest.strip_prefix('{') {
            Some(list) => {
                let mut depth = 0;
                let mut name = String::new();
                for c in list.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => found.extend([word(std::mem::take(&mut name).trim())]),
                        c if depth == 0 => name.push(c),
                        _ => {}
                    }
                }
                found.insert(word(name.trim()));
            }
            None => found.extend([word(rest)]),
        }
    }
    found
}

#[test]
fn no_room_uses_one_above_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut seen = 0;
    for path in files(&source) {
        let inside = path.strip_prefix(&source).unwrap();
        let first = inside.components().next().unwrap().as_os_str().to_string_lossy();
        let room = first.strip_suffix(".rs").unwrap_or(&first).to_owned();
        if room == "lib" {
            continue;
        }
        let own = level(&room).unwrap_or_else(|| panic!("{room} has no place in the plan (tests/layers.rs)"));
        for other in named_after(&code(&path), "crate::") {
            // names at the root of the crate are re-exports; they would hide where something comes from
            let place = match other.as_str() {
                "Error" | "Result" => 0,
                other => level(other).unwrap_or_else(|| panic!("{}: say where crate::{other} is", inside.display())),
            };
            let allowed = place < own || other == room || place == 0;
            assert!(allowed, "{}: {room} uses {other}, which does not stand below it", inside.display());
            seen += 1;
        }
    }
    assert!(seen > 200, "only {seen} imports were found");
}

/// The rooms of truncated posteriors. A room may use itself and the rooms in the lines before its own.
const ROOMS: [&[&str]; 11] = [
    &["states"],
    &["kernel", "avx2"],
    &["data"],
    &["sums"],
    &["score"],
    &["proposals"],
    &["truncation", "task", "places"],
    &["stars"],
    &["row"],
    &["shards"],
    // what is done with all rows: these use the module itself, too
    &["sparse", "removal", "bench"],
];

#[test]
fn rooms_of_truncated_posteriors_stand_in_a_line_and_the_map_names_every_file() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/posterior/truncated");
    let map = std::fs::read_to_string(source.join("mod.rs")).unwrap();
    let level = |room: &str| ROOMS.iter().position(|rooms| rooms.contains(&room));
    let mut seen = 0;
    for path in files(&source) {
        let inside = path.strip_prefix(&source).unwrap();
        let first = inside.components().next().unwrap().as_os_str().to_string_lossy();
        let room = first.strip_suffix(".rs").unwrap_or(&first);
        let name = path.file_stem().unwrap().to_string_lossy();
        if room == "mod" {
            continue;
        }
        let named = name == "mod" || name == "tests" || map.contains(&format!("`{name}`"));
        assert!(named, "{} is not on the map in mod.rs", inside.display());
        let own = level(room).unwrap_or_else(|| panic!("{room} has no place among the rooms (tests/layers.rs)"));
        for other in named_after(&code(&path), "crate::posterior::truncated::") {
            let Some(place) = level(&other) else {
                assert_eq!(own, ROOMS.len() - 1, "{} uses {other} of the module", inside.display());
                continue;
            };
            let twins = [room, other.as_str()].iter().all(|room| ["kernel", "avx2"].contains(room));
            assert!(place < own || other == room || twins, "{}: {room} uses {other}", inside.display());
            seen += 1;
        }
    }
    assert!(seen > 80, "only {seen} imports were found");
}

#[test]
fn tasks_use_each_other_without_a_cycle() {
    let tasks = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tasks");
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in files(&tasks) {
        let inside = path.strip_prefix(&tasks).unwrap();
        let depth = inside.components().count();
        let first = inside.components().next().unwrap().as_os_str().to_string_lossy();
        let task = first.strip_suffix(".rs").unwrap_or(&first).to_owned();
        if task == "mod" {
            continue;
        }
        // a file `tasks/a.rs` names its neighbours `super::b`, one in `tasks/a/` names them `super::super::b`
        let is_module_file = inside.file_name().is_some_and(|name| name == "mod.rs");
        let up = "super::".repeat(depth - usize::from(is_module_file));
        let text = code(&path);
        let mut others = named_after(&text, "crate::tasks::");
        if up == "super::" {
            others.extend(named_after(&text, "super::"));
        } else {
            others.extend(named_after(&text, &up));
        }
        uses.entry(task).or_default().extend(others);
    }
    let names: BTreeSet<String> = uses.keys().cloned().collect();
    let mut left: BTreeMap<String, BTreeSet<String>> = uses
        .into_iter()
        .map(|(task, others)| (task.clone(), others.into_iter().filter(|o| *o != task && names.contains(o)).collect()))
        .collect();
    assert!(left.values().any(|others| !others.is_empty()), "no task uses another: is this test still right?");
    while !left.is_empty() {
        let free: Vec<String> =
            left.iter().filter(|(_, others)| others.is_empty()).map(|(task, _)| task.clone()).collect();
        assert!(!free.is_empty(), "a cycle among {left:?}");
        for task in &free {
            left.remove(task);
            left.values_mut().for_each(|others| {
                others.remove(task);
            });
        }
    }
}
