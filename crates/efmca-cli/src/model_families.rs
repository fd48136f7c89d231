//! Which columns of a table have which family.

use efmca::family::registry::entry;
use efmca::tasks::noise::{Candidate, Values};
use efmca_io::table_file::{Kind, Table};

use crate::failure::Failure;
use crate::model_table::{did_you_mean, listed, quoted};

/// The families that are given before anything is learned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    /// For each column what was said about it, if anything was.
    pub(crate) specs: Vec<Option<String>>,
    /// Where that comes from: the user, or what the column holds.
    pub(crate) origins: Vec<&'static str>,
}

impl Plan {
    /// Reads what the user wrote, and checks it against the table.
    pub(crate) fn new(written: &[String], table: &Table) -> Result<Self, Failure> {
        let mut all: Option<&str> = None;
        let mut single: Vec<Option<&str>> = vec![None; table.names.len()];
        for text in written {
            let wrong = |problem: String| Failure::input(format!("--family {text}: {problem}"));
            match split(text, &table.names) {
                Some((d, spec)) => {
                    check(spec, table, d).map_err(wrong)?;
                    if single[d].replace(spec).is_some() {
                        return Err(wrong(format!("column {} has a family already", quoted(&table.names[d]))));
                    }
                }
                None => {
                    if let Some(column) = meant_column(text) {
                        return Err(wrong(format!(
                            "there is no column {}{}; the columns are {}",
                            quoted(column),
                            did_you_mean(column, table.names.iter()),
                            listed(&table.names)
                        )));
                    }
                    entry(text).map_err(|error| wrong(error.to_string()))?;
                    if let Some(before) = all.replace(text) {
                        return Err(wrong(format!(
                            "all columns have the family {before} already; write --family COLUMN=FAMILY for single ones"
                        )));
                    }
                }
            }
        }
        for d in (0..single.len()).filter(|d| single[*d].is_none()) {
            if let Some(text) = all {
                check(text, table, d).map_err(|problem| Failure::input(format!("--family {text}: {problem}")))?;
            }
        }
        let mut plan = Self { specs: Vec::new(), origins: Vec::new() };
        for (d, spec) in single.into_iter().enumerate() {
            let (spec, origin) = match (spec.or(all), &table.kinds[d]) {
                (Some(spec), _) => (Some(spec.to_owned()), "given"),
                (None, Kind::Labels(labels)) => (Some(for_labels(labels.len())), "for labels"),
                (None, _) => (None, "found"),
            };
            plan.specs.push(spec);
            plan.origins.push(origin);
        }
        Ok(plan)
    }
}

/// The family of a column of words, which have no order.
fn for_labels(count: usize) -> String {
    if count <= 2 { "bernoulli".to_owned() } else { format!("categorical:k={count},order=nominal") }
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

/// What stands where a column would, if it can be nothing else: fixed parameters stand behind a colon.
fn meant_column(text: &str) -> Option<&str> {
    text.split_once('=').map(|(column, _)| column.trim()).filter(|column| !column.contains(':'))
}

/// What is wrong with a family in a column.
fn check(spec: &str, table: &Table, d: usize) -> Result<(), String> {
    match Values::of(table.values.column(d).iter().copied()) {
        Some(values) => Candidate::parse(spec, &values).map(|_| ()).map_err(|error| error.to_string()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_split_off_only_if_they_are_there() {
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

    #[test]
    fn words_are_yes_or_no_or_one_of_many() {
        for count in [1, 2, 3, 50] {
            assert!(efmca::family::family(&for_labels(count)).is_ok());
        }
    }
}
