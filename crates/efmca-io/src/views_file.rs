//! Groups of columns (views), as a CSV file: a line for each column, with its name and that of its view.

use std::path::Path;

use crate::IoError;
use crate::signs_file::{line_of, records_of, without_mark};
use crate::table_file::{did_you_mean, listed, shown};
use crate::whole::whole;

/// Reads the views of a table with the columns `names`: their names, in the order in which they come first, and their columns,
/// counted from zero. Columns that the file does not name are in no view.
///
/// # Errors
///
/// [`IoError::Views`] with the line, the column and what to do; [`IoError::Read`] if there is no such file.
///
/// ```
/// use efmca_io::read_views;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("views.csv");
/// std::fs::write(&path, "column,view\nage,person\nvisits,care\nincome,person\n")?;
/// let names = ["visits", "age", "income", "doctor"].map(str::to_owned);
/// let views = read_views(&path, &names)?;
/// assert_eq!(views, [("person".to_owned(), vec![1, 2]), ("care".to_owned(), vec![0])]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_views(path: &Path, names: &[String]) -> Result<Vec<(String, Vec<usize>)>, IoError> {
    decode_views(&whole(path)?, names).map_err(|problem| IoError::Views { path: path.to_path_buf(), problem })
}

/// The views in the bytes of a file, for a table with the columns `names`.
///
/// # Errors
///
/// What is wrong with them, with the line, the column and what to do.
pub fn decode_views(text: &[u8], names: &[String]) -> Result<Vec<(String, Vec<usize>)>, String> {
    let text = without_mark(text);
    let mut reader = records_of(text);
    let form = "write a line `column,view`, then a line for each column with its name and that of its view";
    let mut views: Vec<(String, Vec<usize>)> = Vec::new();
    // where each column was named
    let mut lines: Vec<Option<usize>> = vec![None; names.len()];
    let mut empty = true;
    for record in reader.records() {
        let record = record.map_err(|error| format!("{error}; {form}"))?;
        let line = line_of(text, &record);
        if record.iter().all(str::is_empty) {
            continue;
        }
        let [Some(column), Some(view), None] = [record.get(0), record.get(1), record.get(2)] else {
            return Err(format!("line {line} has {} fields and should have 2; {form}", record.len()));
        };
        if std::mem::take(&mut empty) {
            if [column, view] != ["column", "view"] {
                let found = format!("{} and {}", shown(column), shown(view));
                return Err(format!("line {line} begins with {found} instead of `column` and `view`; {form}"));
            }
            continue;
        }
        let Some(place) = names.iter().position(|known| known == column) else {
            return Err(format!(
                "line {line}, field 1: the table has no column {}{}; its columns are {}",
                shown(column),
                did_you_mean(column, names),
                listed(names)
            ));
        };
        if view.is_empty() {
            let column = shown(column);
            return Err(format!("line {line}, field 2: column {column} has no view; name one, or leave out the line"));
        }
        if let Some(before) = lines[place].replace(line) {
            let column = shown(column);
            return Err(format!("line {line}: column {column} is in line {before} already; a column has one view"));
        }
        match views.iter_mut().find(|(name, _)| name == view) {
            Some((_, columns)) => columns.push(place),
            None => views.push((view.to_owned(), vec![place])),
        }
    }
    match (empty, views.is_empty()) {
        (true, _) => Err(format!("it is empty; {form}")),
        (false, true) => Err(format!("it names no column; {form}")),
        (false, false) => Ok(views),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_may_be_cut_at_semicolons_or_tabs() {
        let names = ["age", "visits"].map(str::to_owned);
        let expected = [("a".to_owned(), vec![1])];
        for text in ["column,view\nvisits,a\n", "column;view\r\nvisits;a\r\n", "\ncolumn\tview\nvisits\ta\n"] {
            assert_eq!(decode_views(text.as_bytes(), &names).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let names = ["age", "visits", "income"].map(str::to_owned);
        for (text, expected) in [
            ("", "it is empty"),
            ("\n\n", "it is empty"),
            ("column,view\n", "names no column"),
            ("age,person\n", "line 1 begins with `age` and `person` instead of `column` and `view`"),
            ("column,view\nage\n", "line 2 has 1 fields and should have 2"),
            ("column,view\nage,person,1\n", "line 2 has 3 fields and should have 2"),
            ("column,view\n\nagee,person\n", "line 3, field 1: the table has no column `agee` (did you mean `age`?)"),
            ("column,view\nage,\n", "line 2, field 2: column `age` has no view"),
            ("column,view\nage,a\nvisits,a\nage,b\n", "line 4: column `age` is in line 2 already"),
        ] {
            let problem = decode_views(text.as_bytes(), &names).unwrap_err();
            assert!(problem.contains(expected), "{text:?}: {problem}");
        }
    }
}
