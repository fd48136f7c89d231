//! Names of columns and labels in messages.

use efmca_io::ModelFile;
use efmca_io::table_file::{Kind, Table};

/// Names in a message, at the most.
const MOST_NAMES: usize = 12;

/// The labels of each column, as model files keep them: none at all if no column has any.
pub(crate) fn labels_of(table: &Table) -> Vec<Option<Vec<String>>> {
    let labels: Vec<Option<Vec<String>>> = table.kinds.iter().map(|kind| words(kind).map(<[String]>::to_vec)).collect();
    if labels.iter().all(Option::is_none) { Vec::new() } else { labels }
}

/// The labels of a column, if it has any.
pub(crate) fn words(kind: &Kind) -> Option<&[String]> {
    match kind {
        Kind::Labels(labels) => Some(labels),
        _ => None,
    }
}

/// A value as the position of a label.
pub(crate) fn code(value: f64) -> Option<usize> {
    (value >= 0.0 && value.fract() == 0.0 && value < 1e9).then_some(value as usize)
}

/// The names of a model's columns, or their numbers if it has none.
pub(crate) fn names_of(file: &ModelFile) -> Vec<String> {
    if file.names.is_empty() {
        (1..=file.model.d()).map(|number| format!("column {number}")).collect()
    } else {
        file.names.clone()
    }
}

/// The number of a column that has no name of its own.
pub(crate) fn default_number(name: &str) -> Option<usize> {
    name.strip_prefix("column ")?.parse().ok()
}

/// The name nearest to one that does not exist, ready to be printed.
pub(crate) fn did_you_mean<'a>(name: &str, names: impl Iterator<Item = &'a String>) -> String {
    let lower = name.to_lowercase();
    let near = names.map(|known| (strsim::jaro_winkler(&lower, &known.to_lowercase()), known));
    match near.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((similarity, known)) if similarity > 0.8 => format!(" (did you mean {}?)", quoted(known)),
        _ => String::new(),
    }
}

/// Names one after another, the first few if there are many.
pub(crate) fn listed(names: &[String]) -> String {
    let mut list: Vec<String> = names.iter().take(MOST_NAMES).map(|name| quoted(name)).collect();
    if names.len() > MOST_NAMES {
        list.push(format!("… ({} in all)", names.len()));
    }
    list.join(", ")
}

/// Text of a file as it can stand in a message: in quotes and on one line.
pub(crate) fn quoted(text: &str) -> String {
    format!("`{}`", text.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        let names = ["visits", "income"].map(str::to_owned);
        assert_eq!(did_you_mean("Visit", names.iter()), " (did you mean `visits`?)");
        assert_eq!(did_you_mean("zzz", names.iter()), "");
    }
}
