//! Names of columns.

use std::collections::HashSet;

use super::Remark;

/// The name of a column that has none; `index` is from 0.
pub(crate) fn default_name(index: usize) -> String {
    format!("column {}", index + 1)
}

/// Names that differ: the second column called `x` is `x (2)`. Empty names are filled in.
pub(crate) fn distinct(mut names: Vec<String>, remarks: &mut Vec<Remark>) -> Vec<String> {
    let mut given: HashSet<String> = names.iter().cloned().collect();
    let mut seen: HashSet<String> = HashSet::with_capacity(names.len());
    for (index, name) in names.iter_mut().enumerate() {
        let unnamed = name.is_empty();
        if unnamed {
            *name = default_name(index);
        }
        if seen.contains(name) || (unnamed && given.contains(name)) {
            let mut count = 2_usize;
            let mut candidate = format!("{name} ({count})");
            while given.contains(&candidate) {
                count += 1;
                candidate = format!("{name} ({count})");
            }
            if !unnamed {
                remarks.push(Remark::Renamed { column: index + 1, from: name.clone(), to: candidate.clone() });
            }
            *name = candidate;
        }
        given.insert(name.clone());
        seen.insert(name.clone());
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_names_become_distinct() {
        let names = |given: &[&str]| {
            let mut remarks = Vec::new();
            let names = distinct(given.iter().map(|name| (*name).to_owned()).collect(), &mut remarks);
            (names, remarks)
        };
        let (found, remarks) = names(&["x", "x", "y", "x"]);
        assert_eq!(found, ["x", "x (2)", "y", "x (3)"]);
        assert_eq!(remarks.len(), 2);
        assert!(remarks[0].to_string().contains("column 2 is `x (2)`"), "{remarks:?}");
        assert_eq!(names(&["x", "x (2)", "x"]).0, ["x", "x (2)", "x (3)"]);
        let (found, remarks) = names(&["", "column 1", ""]);
        assert_eq!(found, ["column 1 (2)", "column 1", "column 3"]);
        assert_eq!(remarks.len(), 0);
    }
}
