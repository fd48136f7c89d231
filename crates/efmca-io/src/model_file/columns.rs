//! The rows of a table in the columns and labels of a model.

use std::fmt;

use ndarray::Array2;

use super::ModelFile;
use crate::table_file::{Table, did_you_mean, listed, shown};

/// The rows of a table in the columns of a model.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ModelRows {
    /// The values in the columns and codes of the model; NaN where the table has none.
    pub values: Array2<f64>,
    /// Changes that the user should know about.
    pub changes: Vec<ColumnChange>,
}

/// A change that brought a table into the columns of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnChange {
    /// These columns were left out because the model does not have them.
    LeftOut(Vec<String>),
    /// The columns were put in another order.
    Reordered,
}

impl fmt::Display for ColumnChange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeftOut(names) => write!(out, "left out columns that the model does not have: {}", listed(names)),
            Self::Reordered => out.write_str("the columns were put in the order of the model by their names"),
        }
    }
}

impl ModelFile {
    /// The names of the columns, or `column 1`, `column 2`, … if they have none.
    pub fn column_names(&self) -> Vec<String> {
        if self.names.is_empty() {
            (1..=self.model.d()).map(|number| format!("column {number}")).collect()
        } else {
            self.names.clone()
        }
    }

    /// The rows of a table in the columns of the model: by name if both have names, by place otherwise. Labels get the
    /// codes that the model was learned with.
    ///
    /// # Errors
    ///
    /// A sentence about a column that is missing, or about a label that the model does not know, with its row counted
    /// from 1.
    pub fn rows_of(&self, table: &Table) -> Result<ModelRows, String> {
        let wanted = self.column_names();
        let mut changes = Vec::new();
        let all_names: Vec<&String> = table.names.iter().chain(&table.empty).collect();
        let (model_named, table_named) = (named(&self.names.iter().collect::<Vec<_>>()), named(&all_names));
        let sources = if !self.names.is_empty() && model_named == table_named {
            by_name(&wanted, table, model_named, &mut changes)?
        } else {
            by_place(&wanted, table, table_named)?
        };
        let mut values = Array2::from_elem((table.values.nrows(), wanted.len()), f64::NAN);
        for (d, (source, mut column)) in sources.iter().zip(values.columns_mut()).enumerate() {
            let Some(source) = *source else { continue };
            column.assign(&table.values.column(source));
            let coded = coded(self.labels_of(d), table.kinds[source].labels(), column.iter().copied());
            let place = |row: usize| format!("row {} of the data, column {}", row + 1, shown(&wanted[d]));
            if let Some(codes) = coded.map_err(|(row, problem)| format!("{}: {problem}", place(row)))? {
                column.iter_mut().zip(codes).for_each(|(value, code)| *value = code);
            }
        }
        Ok(ModelRows { values, changes })
    }
}

/// Where each column of the model is in the table; nowhere if the table has no value for it.
fn by_name(
    wanted: &[String],
    table: &Table,
    named: bool,
    changes: &mut Vec<ColumnChange>,
) -> Result<Vec<Option<usize>>, String> {
    let mut sources = Vec::with_capacity(wanted.len());
    for name in wanted {
        let found = table.names.iter().position(|present| present == name);
        if found.is_none() && !table.empty.contains(name) {
            let free: Vec<&String> = table.names.iter().filter(|present| !wanted.contains(present)).collect();
            return Err(format!(
                "it has no column {}{}, which the model needs; its columns are {}",
                shown(name),
                did_you_mean(name, free),
                listed(&table.names)
            ));
        }
        sources.push(found);
    }
    let extra: Vec<String> = table.names.iter().filter(|name| !wanted.contains(name)).cloned().collect();
    if !extra.is_empty() {
        if !named {
            return Err(wrong_count(wanted, table));
        }
        changes.push(ColumnChange::LeftOut(extra));
    }
    if !sources.iter().flatten().is_sorted() {
        changes.push(ColumnChange::Reordered);
    }
    Ok(sources)
}

fn by_place(wanted: &[String], table: &Table, named: bool) -> Result<Vec<Option<usize>>, String> {
    // columns without names have their number instead, also those that were left out
    let number = |name: &String| default_number(name).unwrap_or(0);
    let mut sources: Vec<(usize, Option<usize>)> = if named {
        (0..table.names.len()).map(|source| (source, Some(source))).collect()
    } else {
        let present = table.names.iter().enumerate().map(|(source, name)| (number(name), Some(source)));
        present.chain(table.empty.iter().map(|name| (number(name), None))).collect()
    };
    sources.sort_by_key(|(number, _)| *number);
    if sources.len() == wanted.len() {
        Ok(sources.into_iter().map(|(_, source)| source).collect())
    } else {
        Err(wrong_count(wanted, table))
    }
}

fn wrong_count(wanted: &[String], table: &Table) -> String {
    format!(
        "it has {} columns ({}), and the model has {} ({}); give a table with the columns of the model",
        table.names.len(),
        listed(&table.names),
        wanted.len(),
        listed(wanted)
    )
}

/// The values in the code of the model (none if they stay as they are), or the row of a wrong value and the problem.
fn coded(
    known: Option<&[String]>,
    words: Option<&[String]>,
    values: impl Iterator<Item = f64> + Clone,
) -> Result<Option<Vec<f64>>, (usize, String)> {
    let mut present = values.clone().enumerate().filter(|(_, value)| !value.is_nan());
    let Some(known) = known else {
        let word = |value: f64| words.and_then(|words| words.get(code(value)?));
        return match present.find_map(|(row, value)| word(value).map(|word| (row, word))) {
            None => Ok(None),
            Some((row, word)) => {
                Err((row, format!("{} is a word, and the model was learned from numbers in this column", shown(word))))
            }
        };
    };
    let text = |value: f64| match words {
        Some(words) => code(value).and_then(|code| words.get(code)).cloned().unwrap_or_default(),
        None => value.to_string(),
    };
    let position = |value: f64| known.iter().position(|label| *label == text(value));
    let Some((row, value)) = present.find(|(_, value)| position(*value).is_none()) else {
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
            "the label {} was not in the data that the model was learned from, which had {}; correct it, or mark it as missing",
            shown(&text(value)),
            listed(known)
        ),
    ))
}

/// A value as the position of a label.
fn code(value: f64) -> Option<usize> {
    (value >= 0.0 && value.fract() == 0.0 && value < 1e9).then_some(value as usize)
}

/// The number of a column that has no name of its own.
fn default_number(name: &str) -> Option<usize> {
    name.strip_prefix("column ")?.parse().ok()
}

/// Whether there is a name that is more than the number of its column.
fn named(names: &[&String]) -> bool {
    names.iter().any(|name| default_number(name).is_none())
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
}
