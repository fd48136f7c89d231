//! The columns and labels of a table as a model knows them.

use std::path::Path;

use efmca_io::ModelFile;
use efmca_io::table_file::Table;
use ndarray::Array2;

use crate::failure::Failure;
use crate::names::{code, default_number, did_you_mean, listed, names_of, quoted, words};

/// The values of a table in the columns of a model.
pub(super) struct ModelRows {
    pub(super) values: Array2<f64>,
    /// Changes that the user should know about.
    pub(super) remarks: Vec<String>,
}

/// The table in the columns of the model: by name if both have names, by place otherwise.
pub(super) fn in_columns_of(file: &ModelFile, table: &Table, path: &Path) -> Result<ModelRows, Failure> {
    let wanted = names_of(file);
    let mut remarks = Vec::new();
    let all_names: Vec<&String> = table.names.iter().chain(&table.empty).collect();
    let (model_named, table_named) = (named(&file.names.iter().collect::<Vec<_>>()), named(&all_names));
    let sources = if !file.names.is_empty() && model_named == table_named {
        by_name(&wanted, table, path, model_named, &mut remarks)?
    } else {
        by_place(&wanted, table, path, table_named)?
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
    Ok(ModelRows { values, remarks })
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
        let found = table.names.iter().position(|present| present == name);
        if found.is_none() && !table.empty.contains(name) {
            let free: Vec<&String> = table.names.iter().filter(|present| !wanted.contains(present)).collect();
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
        remarks.push(format!("left out columns that the model does not have: {}", listed(&extra)));
    }
    if !sources.iter().flatten().is_sorted() {
        remarks.push("the columns were put in the order of the model by their names".to_owned());
    }
    Ok(sources)
}

fn by_place(wanted: &[String], table: &Table, path: &Path, named: bool) -> Result<Vec<Option<usize>>, Failure> {
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
        Err(wrong_count(wanted, table, path))
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
                Err((row, format!("{} is a word, and the model was learned from numbers in this column", quoted(word))))
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
            "the label {} was not in the data that the model was learned from, which had {}; correct it, or leave it \
             out with --missing \"{}\"",
            quoted(&text(value)),
            listed(known),
            text(value)
        ),
    ))
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
