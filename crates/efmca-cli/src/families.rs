//! `efmca families`: what kinds of noise there are.

use std::fmt::Write;

use efmca::family::registry::{Entry, FixedParameter, entries, entry};
use efmca::family::{Parameter, Range, SharedFamily, family};

use crate::args::FamiliesArgs;
use crate::failure::Failure;
use crate::show::{Screen, wrapped};

/// The one entry whose families are written with a dash after its name: `hurdle-gamma`.
const HURDLE: &str = "hurdle";

/// Lines are not longer than this.
const WIDTH: usize = 100;

/// Lists all families, or shows the one that was asked for.
pub(crate) fn run(args: &FamiliesArgs) -> Result<(), Failure> {
    let text = match &args.family {
        None => table(),
        Some(spec) => {
            let (entry, family) = find(spec)?;
            details(entry, &family)
        }
    };
    Ok(Screen::new().say(text.trim_end())?)
}

/// All families, one under the other.
fn table() -> String {
    let rows: Vec<[String; 3]> = entries()
        .iter()
        .map(|entry| {
            let known: Vec<String> = entry.fixed.iter().map(short).collect();
            [entry.name.to_owned(), known.join(" "), entry.summary.to_owned()]
        })
        .collect();
    let heads = ["FAMILY", "KNOWN", "FOR"].map(str::to_owned);
    let width = |column: usize| {
        let cells = rows.iter().chain([&heads]).map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let (first, second) = (width(0), width(1));
    let mut text = String::new();
    for [name, known, summary] in [&heads].into_iter().chain(&rows) {
        let mut lines = wrapped(summary, WIDTH - first - second - 4).into_iter();
        push_line(&mut text, &format!("{name:first$}  {known:second$}  {}", lines.next().unwrap_or_default()));
        for line in lines {
            push_line(&mut text, &format!("{:indent$}{line}", "", indent = first + second + 4));
        }
    }
    text.push_str(
        "\nKNOWN are parameters that are given with the family and not learned: write gamma:k=4.\n\
         Those in brackets can be left out. `efmca families gamma` shows one family in detail.\n",
    );
    text
}

/// A fixed parameter in the table.
fn short(fixed: &FixedParameter) -> String {
    if fixed.required { fixed.key.to_owned() } else { format!("[{}]", fixed.key) }
}

/// The entry that a specification belongs to, and a family of that entry to look at: the one that was written or, if
/// only the name was, possibly an example.
fn find(spec: &str) -> Result<(&'static Entry, SharedFamily), Failure> {
    let entry = entry(spec).map_err(Failure::input)?;
    match family(spec) {
        Ok(family) => Ok((entry, family)),
        // Just a name that needs known parameters: whoever asks wants to learn which.
        Err(error) => {
            let example = entry.examples.first().filter(|_| !spec.contains(':') && !spec.trim().starts_with("hurdle-"));
            let example = example.and_then(|example| family(example).ok());
            example.map(|example| (entry, example)).ok_or_else(|| Failure::input(error))
        }
    }
}

/// One family.
fn details(entry: &Entry, family: &SharedFamily) -> String {
    let mut text = String::new();
    push_line(&mut text, &family.spec());
    push_item(&mut text, "for", entry.summary);
    if !entry.aliases.is_empty() {
        push_item(&mut text, "also called", &entry.aliases.join(", "));
    }
    push_item(&mut text, "values", &family.support().to_string());
    let learned: Vec<String> = family.parameters().iter().map(described).collect();
    push_item(&mut text, "learned", &learned.join(", "));
    let mut known: Vec<String> = entry.fixed.iter().map(long).collect();
    if known.is_empty() {
        known.push(if entry.name == HURDLE { "those of the family above the zeros" } else { "none" }.to_owned());
    }
    push_list(&mut text, "known", known.iter().map(String::as_str));
    push_list(&mut text, "write", entry.examples.iter().copied());
    text
}

/// A learned parameter with its range.
fn described(parameter: &Parameter) -> String {
    let range = match parameter.range {
        Range::Positive(..) => "positive",
        Range::Real(..) => "any number",
        Range::Probability => "between 0 and 1",
        Range::Share => "a share of 1",
    };
    format!("{} ({range})", parameter.name)
}

/// A fixed parameter with its meaning.
fn long(fixed: &FixedParameter) -> String {
    let needed = if fixed.required { "needed" } else { "can be left out" };
    format!("{}: {} ({needed})", fixed.key, fixed.meaning)
}

fn push_list<'a>(text: &mut String, head: &str, lines: impl Iterator<Item = &'a str>) {
    for (index, line) in lines.enumerate() {
        push_item(text, if index == 0 { head } else { "" }, line);
    }
}

fn push_item(text: &mut String, head: &str, body: &str) {
    const INDENT: usize = 15;
    for (index, line) in wrapped(body, WIDTH - INDENT).iter().enumerate() {
        let head = if index == 0 { head } else { "" };
        push_line(text, &format!("  {head:rest$}{line}", rest = INDENT - 2));
    }
}

fn push_line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}", line.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_has_a_line_and_details() {
        let table = table();
        for entry in entries() {
            assert!(table.lines().any(|line| line.starts_with(&format!("{} ", entry.name))), "{}", entry.name);
            for spec in [&[entry.name], entry.aliases, entry.examples].into_iter().flatten() {
                let (found, family) = find(spec).unwrap();
                assert_eq!(found.name, entry.name);
                assert!(details(found, &family).contains("learned"), "{spec}");
            }
        }
        assert!(table.lines().all(|line| line.chars().count() <= WIDTH));
    }

    #[test]
    fn wrong_specifications_keep_the_message_of_the_library() {
        let message = |spec: &str| find(spec).map(|_| ()).unwrap_err().to_string();
        assert!(message("gama").contains("did you mean `gamma`?"));
        assert!(message("gamma:k=-1").contains("must be positive"));
        assert!(message("binomial:n=0").contains("whole number"));
        assert!(message("hurdle-gaussian").contains("only positive"));
        assert!(message("").contains("there is no family"));
    }
}
