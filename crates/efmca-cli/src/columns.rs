//! The families of columns, typed as `FAMILY` for all or `COLUMN=FAMILY` for one.

use efmca::family::registry::entry;
use efmca::model::Resolution;
use efmca::tasks::noise::{Candidate, Values};
use efmca_io::table_file::{Table, did_you_mean, listed, shown};

use crate::failure::Failure;

/// The families that were given, which have been checked against the table.
pub(crate) struct ColumnFamilies<'a> {
    /// The family of all columns without one of their own.
    pub(crate) all: Option<&'a str>,
    single: Vec<Option<&'a str>>,
    /// The number of labels of each column of words.
    labels: Vec<Option<usize>>,
}

impl<'a> ColumnFamilies<'a> {
    /// Reads the families that the user typed.
    pub(crate) fn resolve(typed: &'a [String], table: &Table) -> Result<Self, Failure> {
        let labels = table.kinds.iter().map(|kind| kind.labels().map(<[String]>::len)).collect();
        let mut given = Self { all: None, single: vec![None; table.names.len()], labels };
        for text in typed {
            given.add(text, table).map_err(|problem| Failure::input(format!("--family {text}: {problem}")))?;
        }
        if let Some(text) = given.all {
            for d in (0..given.single.len()).filter(|d| given.single[*d].is_none()) {
                check(text, table, d).map_err(|problem| Failure::input(format!("--family {text}: {problem}")))?;
            }
        }
        Ok(given)
    }

    /// The columns for which a family was given, and these families.
    pub(crate) fn of_columns(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.single.iter().enumerate().filter_map(|(d, spec)| Some((d, spec.or(self.all)?)))
    }

    /// The columns of words without a family, and how many labels they have.
    pub(crate) fn of_labels(&self) -> impl Iterator<Item = (usize, usize)> {
        self.labels.iter().enumerate().filter(|(d, _)| !self.has(*d)).filter_map(|(d, count)| Some((d, (*count)?)))
    }

    /// Whether a family was given for column `d`.
    pub(crate) fn has(&self, d: usize) -> bool {
        self.all.is_some() || self.single.get(d).is_some_and(Option::is_some)
    }

    fn add(&mut self, text: &'a str, table: &Table) -> Result<(), String> {
        if let Some((d, spec)) = split(text, &table.names) {
            check(spec, table, d)?;
            return match self.single[d].replace(spec) {
                Some(_) => Err(format!("column {} has a family already", shown(&table.names[d]))),
                None => Ok(()),
            };
        }
        if let Some(column) = meant_column(text) {
            return Err(format!(
                "there is no column {}{}; the columns are {}",
                shown(column),
                did_you_mean(column, &table.names),
                listed(&table.names)
            ));
        }
        entry(text).map_err(|error| error.to_string())?;
        match self.all.replace(text) {
            Some(before) => Err(format!(
                "all columns have the family {before} already; write --family COLUMN=FAMILY for single ones"
            )),
            None => Ok(()),
        }
    }
}

/// Reads what was typed about the steps of columns, as `COLUMN=0.5` or `COLUMN=continuous`.
pub(crate) fn steps(typed: &[String], table: &Table) -> Result<Vec<(usize, Resolution)>, Failure> {
    let mut found: Vec<(usize, Resolution)> = Vec::new();
    for text in typed {
        let wrong = |problem: String| Failure::input(format!("--step {text}: {problem}"));
        let Some((d, step)) = split(text, &table.names) else {
            let column = text.split_once('=').map_or(text.as_str(), |(column, _)| column.trim());
            return Err(wrong(format!(
                "there is no column {}{}; write COLUMN=STEP, such as age=1, with one of the columns {}",
                shown(column),
                did_you_mean(column, &table.names),
                listed(&table.names)
            )));
        };
        if found.iter().any(|(column, _)| *column == d) {
            return Err(wrong(format!("column {} has a step already", shown(&table.names[d]))));
        }
        found.push((d, step.parse().map_err(|error: efmca::Error| wrong(error.to_string()))?));
    }
    Ok(found)
}

/// The column and the family in `COLUMN=FAMILY`; nothing if there is no such column before any of the signs.
fn split<'a>(text: &'a str, names: &[String]) -> Option<(usize, &'a str)> {
    let at = |(place, _): (usize, &'a str)| (text[..place].trim(), text[place + 1..].trim());
    let parts: Vec<(&str, &str)> = text.match_indices('=').map(at).collect();
    let by_name = |(column, spec): &(&str, &'a str)| Some((names.iter().position(|name| name == column)?, *spec));
    if let Some(found) = parts.iter().find_map(by_name) {
        return Some(found);
    }
    let (column, spec) = *parts.first()?;
    let number = column.parse::<usize>().ok().filter(|number| (1..=names.len()).contains(number))?;
    Some((number - 1, spec))
}

/// The text before the first sign, if it can only be meant as a column: fixed parameters stand behind a colon.
fn meant_column(text: &str) -> Option<&str> {
    text.split_once('=').map(|(column, _)| column.trim()).filter(|column| !column.contains(':'))
}

/// Values of a column that are looked at before the training looks at all of them.
const LOOKED_AT: usize = 100_000;

/// The problem with a family in a column, if there is one.
fn check(spec: &str, table: &Table, d: usize) -> Result<(), String> {
    match Values::of(table.values.column(d).iter().copied().take(LOOKED_AT)) {
        Some(values) => Candidate::parse(spec, &values).map(|_| ()).map_err(|error| error.to_string()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_split_off_only_if_they_exist() {
        let names: Vec<String> = ["age", "a=b", "7"].map(str::to_owned).to_vec();
        assert_eq!(split("age=gamma:k=4", &names), Some((0, "gamma:k=4")));
        assert_eq!(split("a=b=poisson", &names), Some((1, "poisson")));
        assert_eq!(split("7=poisson", &names), Some((2, "poisson")));
        assert_eq!(split("2=poisson", &names), Some((1, "poisson")));
        assert_eq!(split("4=poisson", &names), None);
        assert_eq!(split("gamma:k=4", &names), None);
        assert_eq!(meant_column("agee=poisson"), Some("agee"));
        assert_eq!(meant_column("gamma:k=4"), None);
        assert_eq!(meant_column("poisson"), None);
    }
}
