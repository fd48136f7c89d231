//! Tables beside models: which column is which, what words stand for, and what is wrong in words about tables.

use std::path::Path;

use efmca::Error;
use efmca_io::ModelFile;
use efmca_io::table_file::{Kind, Table};
use ndarray::Array2;

use crate::failure::Failure;

/// Names in a message, at the most.
const MOST_NAMES: usize = 12;

/// A table in the columns of a model.
pub(crate) struct Matched {
    pub(crate) values: Array2<f64>,
    /// What was done to it.
    pub(crate) remarks: Vec<String>,
}

/// Where values came from, for messages.
pub(crate) struct Place<'a> {
    pub(crate) path: &'a Path,
    pub(crate) names: &'a [String],
    pub(crate) labels: &'a [Option<Vec<String>>],
    /// Whether families can be chosen.
    pub(crate) learning: bool,
}

impl Place<'_> {
    /// What is wrong with the values of a table: rows are counted from 1, columns have names.
    pub(crate) fn describe(&self, error: &Error) -> Failure {
        let column = |d: usize| format!("column {}", self.name(d));
        let cell = |row: usize, d: usize| format!("row {} of the data, {}", row + 1, column(d));
        let choose = |d: usize| match self.learning {
            true => format!("choose another family with --family \"{}=FAMILY\"", self.plain_name(d)),
            false => "correct it".to_owned(),
        };
        let problem = match error {
            Error::OutsideSupport { row, column: d, value, family, support } => {
                let shown = match self.label(*d, *value) {
                    Some(label) => format!("the label {} (coded as {value})", quoted(label)),
                    None => format!("the value {value}"),
                };
                let mark = self.label(*d, *value).map_or_else(|| value.to_string(), |label| format!("\"{label}\""));
                format!(
                    "{}: {shown} cannot come from `{family}`, which has {support}; {}, or leave it out with \
                     --missing {mark}",
                    cell(*row, *d),
                    choose(*d)
                )
            }
            Error::TooExtreme { row, column: d, value, family } => format!(
                "{}: the value {value} is too extreme for `{family}`; {}, or rescale the column",
                cell(*row, *d),
                choose(*d)
            ),
            Error::EmptyColumn { column: d } => {
                format!("{}: every value is missing, so nothing can be learned; leave it out", column(*d))
            }
            Error::TooFarFromZero { column: d, mean, family } => format!(
                "{}: the values scatter so little about {mean} that `{family}` cannot tell how much; subtract a \
                 constant from the column, or leave it out if all its values are equal",
                column(*d)
            ),
            Error::ImpossibleRow { row } => format!(
                "row {} of the data: the model gives it no probability at all; look at the row, or leave it out",
                row + 1
            ),
            Error::Column { column: d, problem } => format!("{}: {problem}", column(*d)),
            other => other.to_string(),
        };
        let message = format!("{}: {problem}", self.path.display());
        // nothing is wrong with the table of someone who did not want to wait
        if matches!(error, Error::Stopped { .. }) { Failure::work(message) } else { Failure::input(message) }
    }

    fn plain_name(&self, d: usize) -> String {
        self.names.get(d).cloned().unwrap_or_else(|| (d + 1).to_string())
    }

    fn name(&self, d: usize) -> String {
        self.names.get(d).map_or_else(|| (d + 1).to_string(), |name| quoted(name))
    }

    fn label(&self, d: usize, value: f64) -> Option<&String> {
        self.labels.get(d)?.as_ref()?.get(code(value)?)
    }
}

/// The words of each column of a table.
pub(crate) fn labels_of(table: &Table) -> Vec<Option<Vec<String>>> {
    let labels: Vec<Option<Vec<String>>> = table.kinds.iter().map(|kind| words(kind).map(<[String]>::to_vec)).collect();
    if labels.iter().all(Option::is_none) { Vec::new() } else { labels }
}

/// The names of a model's columns, or their numbers if it has none.
pub(crate) fn names_of(file: &ModelFile) -> Vec<String> {
    match file.names.is_empty() {
        true => (1..=file.model.d()).map(|number| format!("column {number}")).collect(),
        false => file.names.clone(),
    }
}

/// The table in the columns of the model: by name if both have names, by place otherwise.
pub(crate) fn matched(file: &ModelFile, table: &Table, path: &Path) -> Result<Matched, Failure> {
    let wanted = names_of(file);
    let mut remarks = Vec::new();
    let all_names: Vec<&String> = table.names.iter().chain(&table.empty).collect();
    let (model_named, table_named) = (named(&file.names.iter().collect::<Vec<_>>()), named(&all_names));
    let sources = match !file.names.is_empty() && model_named == table_named {
        true => by_name(&wanted, table, path, model_named, &mut remarks)?,
        false => by_place(&wanted, table, path, table_named)?,
    };
    let mut values = Array2::from_elem((table.values.nrows(), wanted.len()), f64::NAN);
    for (d, (source, mut column)) in sources.iter().zip(values.columns_mut()).enumerate() {
        let Some(source) = *source else { continue };
        column.assign(&table.values.column(source));
        let coded = coded(file.labels_of(d), words(&table.kinds[source]), column.iter().copied());
        match coded {
            Ok(None) => {}
            Ok(Some(codes)) => column.iter_mut().zip(codes).for_each(|(value, code)| *value = code),
            Err((row, problem)) => {
                let place = format!("row {} of the data, column {}", row + 1, quoted(&wanted[d]));
                return Err(Failure::input(format!("{}: {place}: {problem}", path.display())));
            }
        }
    }
    Ok(Matched { values, remarks })
}

/// Where each column of the model is in the table; nowhere if the table has no value for it.
fn by_name(
    wanted: &[String],
    table: &Table,
    path: &Path,
    named: bool,
    remarks: &mut Vec<String>,
) -> Result<Vec<Option<usize>>, Failure> {
    let mut sources = Vec::with_capacity(wanted.len());
    for name in wanted {
        let found = table.names.iter().position(|there| there == name);
        if found.is_none() && !table.empty.contains(name) {
            let free: Vec<&String> = table.names.iter().filter(|there| !wanted.contains(there)).collect();
            return Err(Failure::input(format!(
                "{}: it has no column {}{}, which the model needs; its columns are {}",
                path.display(),
                quoted(name),
                did_you_mean(name, free.into_iter()),
                listed(&table.names)
            )));
        }
        sources.push(found);
    }
    let extra: Vec<String> = table.names.iter().filter(|name| !wanted.contains(name)).cloned().collect();
    if !extra.is_empty() {
        if !named {
            return Err(wrong_count(wanted, table, path));
        }
        remarks.push(format!("left out what the model does not know: {}", listed(&extra)));
    }
    if !sources.iter().flatten().is_sorted() {
        remarks.push("the columns were put in the order of the model by their names".to_owned());
    }
    Ok(sources)
}

fn by_place(wanted: &[String], table: &Table, path: &Path, named: bool) -> Result<Vec<Option<usize>>, Failure> {
    // columns without names have their number instead, also those that were left out
    let number = |name: &String| default_number(name).unwrap_or(0);
    let mut sources: Vec<(usize, Option<usize>)> = match named {
        true => (0..table.names.len()).map(|source| (source, Some(source))).collect(),
        false => {
            let there = table.names.iter().enumerate().map(|(source, name)| (number(name), Some(source)));
            there.chain(table.empty.iter().map(|name| (number(name), None))).collect()
        }
    };
    sources.sort_by_key(|(number, _)| *number);
    match sources.len() == wanted.len() {
        true => Ok(sources.into_iter().map(|(_, source)| source).collect()),
        false => Err(wrong_count(wanted, table, path)),
    }
}

fn wrong_count(wanted: &[String], table: &Table, path: &Path) -> Failure {
    Failure::input(format!(
        "{}: it has {} columns ({}), and the model has {} ({}); give a table with the columns of the model",
        path.display(),
        table.names.len(),
        listed(&table.names),
        wanted.len(),
        listed(wanted)
    ))
}

/// The values in the code of the model (none if they stay as they are), or the row of a wrong one and what is wrong.
fn coded(
    known: Option<&[String]>,
    words: Option<&[String]>,
    values: impl Iterator<Item = f64> + Clone,
) -> Result<Option<Vec<f64>>, (usize, String)> {
    let mut there = values.clone().enumerate().filter(|(_, value)| !value.is_nan());
    let Some(known) = known else {
        let word = |value: f64| words.and_then(|words| words.get(code(value)?));
        return match there.find_map(|(row, value)| word(value).map(|word| (row, word))) {
            None => Ok(None),
            Some((row, word)) => {
                Err((row, format!("{} is a word, and the model was learned from numbers in this column", quoted(word))))
            }
        };
    };
    let text = |value: f64| match words {
        Some(words) => code(value).and_then(|code| words.get(code)).cloned().unwrap_or_default(),
        None => value.to_string(),
    };
    let position = |value: f64| known.iter().position(|label| *label == text(value));
    let Some((row, value)) = there.find(|(_, value)| position(*value).is_none()) else {
        let coded = |value: f64| position(value).map_or(f64::NAN, |code| code as f64);
        return Ok(Some(values.map(|value| if value.is_nan() { value } else { coded(value) }).collect()));
    };
    // arrays of numbers have no words, and hold the codes that the model uses
    let is_code = |value: f64| value.is_nan() || code(value).is_some_and(|code| code < known.len());
    if words.is_none() && values.clone().all(is_code) {
        return Ok(None);
    }
    Err((
        row,
        format!(
            "the label {} was not in the data that the model was learned from, which had {}; correct it, or leave it \
             out with --missing \"{}\"",
            quoted(&text(value)),
            listed(known),
            text(value)
        ),
    ))
}

/// A value as the position of a label.
fn code(value: f64) -> Option<usize> {
    (value >= 0.0 && value.fract() == 0.0 && value < 1e9).then_some(value as usize)
}

fn words(kind: &Kind) -> Option<&[String]> {
    match kind {
        Kind::Labels(labels) => Some(labels),
        _ => None,
    }
}

/// Whether there is a name that is more than the number of its column.
fn named(names: &[&String]) -> bool {
    names.iter().any(|name| default_number(name).is_none())
}

/// The number of a column that has no name of its own.
fn default_number(name: &str) -> Option<usize> {
    name.strip_prefix("column ")?.parse().ok()
}

/// The name nearest to one that is not there, ready to be printed.
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

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn words_get_the_codes_of_the_model() {
        let (known, words) = (texts(&["a", "b", "c"]), texts(&["b", "c"]));
        let values = [0.0, f64::NAN, 1.0];
        let found = coded(Some(&known), Some(&words), values.into_iter()).unwrap().unwrap();
        assert!(found[0] == 1.0 && found[1].is_nan() && found[2] == 2.0);
        let (row, problem) = coded(Some(&known), Some(&texts(&["b", "d"])), values.into_iter()).unwrap_err();
        assert!(row == 2 && problem.contains("`d`") && problem.contains("`a`, `b`, `c`"), "{problem}");
        let (row, problem) = coded(None, Some(&words), values.into_iter()).unwrap_err();
        assert!(row == 0 && problem.contains("`b` is a word"), "{problem}");
    }

    #[test]
    fn numbers_are_labels_or_codes() {
        let known = texts(&["7", "9", "x"]);
        assert_eq!(coded(Some(&known), None, [9.0, 7.0].into_iter()).unwrap(), Some(vec![1.0, 0.0]));
        assert_eq!(coded(Some(&known), None, [2.0, 0.0].into_iter()).unwrap(), None);
        assert!(coded(Some(&known), None, [3.0].into_iter()).unwrap_err().1.contains("`3`"));
        assert_eq!(coded(None, None, [3.5].into_iter()).unwrap(), None);
    }

    #[test]
    fn near_names_are_found() {
        let names = texts(&["visits", "income"]);
        assert_eq!(did_you_mean("Visit", names.iter()), " (did you mean `visits`?)");
        assert_eq!(did_you_mean("zzz", names.iter()), "");
    }
}
