//! What is known of causes, as a CSV file: a row for each cause, a column for each column of the table, and `+`, `-`, `0` or nothing
//! in each cell.

use std::path::Path;

use crate::IoError;
use crate::table_file::{did_you_mean, listed, shown};
use crate::whole::whole;

/// What a file of signs says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signs {
    /// The names of the causes.
    pub causes: Vec<String>,
    /// Cause and column, counted from zero, with what stands there: `+`, `-` or `0`.
    pub cells: Vec<(usize, usize, char)>,
}

/// Reads a file of signs for a table with the columns `names`. Columns that the file does not have are unknown.
///
/// # Errors
///
/// [`IoError::Signs`] with the line, the column and what to do; [`IoError::Read`] if there is no such file.
///
/// ```
/// use efmca_io::read_signs;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("signs.csv");
/// std::fs::write(&path, "cause,age,visits\nillness,+,+\nyouth,,0\n")?;
/// let names = ["visits", "age", "income"].map(str::to_owned);
/// let signs = read_signs(&path, &names)?;
/// assert_eq!(signs.causes, ["illness", "youth"]);
/// assert_eq!(signs.cells, [(0, 1, '+'), (0, 0, '+'), (1, 0, '0')]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_signs(path: &Path, names: &[String]) -> Result<Signs, IoError> {
    decode_signs(&whole(path)?, names).map_err(|problem| IoError::Signs { path: path.to_path_buf(), problem })
}

/// A text without the mark that some programs begin it with.
pub(crate) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text)
}

/// The records of a small file, cut at commas or, as spreadsheets with decimal commas write them, at semicolons or tabs.
pub(crate) fn records_of(text: &[u8]) -> csv::Reader<&[u8]> {
    let head = text.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    let delimiter = [b',', b';', b'\t'].into_iter().find(|delimiter| head.contains(delimiter)).unwrap_or(b',');
    let mut builder = csv::ReaderBuilder::new();
    builder.has_headers(false).flexible(true).trim(csv::Trim::All).delimiter(delimiter).from_reader(text)
}

/// The line of a record, counted from 1. The reader's own count is that of the blank lines before it.
pub(crate) fn line_of(text: &[u8], record: &csv::StringRecord) -> usize {
    let start = record.position().map_or(0, |position| position.byte() as usize).min(text.len());
    let blank = text[start..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    1 + text[..start + blank].iter().filter(|byte| **byte == b'\n').count()
}

/// What the bytes of a file of signs say, for a table with the columns `names`.
///
/// # Errors
///
/// What is wrong with them, with the line, the column and what to do.
pub fn decode_signs(text: &[u8], names: &[String]) -> Result<Signs, String> {
    let text = without_mark(text);
    let mut reader = records_of(text);
    let mut records = reader.records();
    let form = "write a line with `cause` and names of columns, then a line for each cause with its name and +, -, 0 or nothing";
    let head = match records.next() {
        Some(head) => head.map_err(|error| format!("{error}; {form}"))?,
        None => return Err(format!("it is empty; {form}")),
    };
    let mut columns: Vec<usize> = Vec::new();
    for (place, name) in head.iter().enumerate().skip(1) {
        let found = names.iter().position(|known| known == name);
        let Some(found) = found else {
            return Err(format!(
                "line 1, field {}: the table has no column {}{}; its columns are {}",
                place + 1,
                shown(name),
                did_you_mean(name, names),
                listed(names)
            ));
        };
        if columns.contains(&found) {
            return Err(format!(
                "line 1, field {}: column {} stands there twice; leave one out",
                place + 1,
                shown(name)
            ));
        }
        columns.push(found);
    }
    if columns.is_empty() {
        return Err(format!("line 1 names no column; {form}"));
    }
    let mut signs = Signs { causes: Vec::new(), cells: Vec::new() };
    for record in records {
        let record = record.map_err(|error| format!("{error}; {form}"))?;
        let line = line_of(text, &record);
        if record.iter().all(str::is_empty) {
            continue;
        }
        if record.len() != head.len() {
            return Err(format!(
                "line {line} has {} fields, and line 1 has {}; give a field for each, empty where nothing is known",
                record.len(),
                head.len()
            ));
        }
        let name = record.get(0).unwrap_or_default().to_owned();
        if signs.causes.contains(&name) {
            return Err(format!("line {line}: cause {} is there twice; give each cause one line", shown(&name)));
        }
        for ((field, column), place) in record.iter().skip(1).zip(&columns).zip(2..) {
            let sign = match field {
                "" => continue,
                "+" | "-" | "0" => field.chars().next().unwrap_or('0'),
                // as people and spreadsheets write them
                "1" | "+1" => '+',
                "-1" | "\u{2212}" | "\u{2013}" => '-',
                other => {
                    return Err(format!(
                        "line {line}, field {place} (column {}): {} is none of +, -, 0 or nothing",
                        shown(&names[*column]),
                        shown(other)
                    ));
                }
            };
            signs.cells.push((signs.causes.len(), *column, sign));
        }
        signs.causes.push(name);
    }
    match signs.causes.is_empty() {
        true => Err(format!("it names no cause; {form}")),
        false => Ok(signs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        ["age", "visits", "income"].map(str::to_owned).to_vec()
    }

    #[test]
    fn signs_are_read_as_they_are_written() {
        let signs = decode_signs(b"cause,income,age\nfirst,+,0\n\nsecond,,-1\n", &names()).unwrap();
        assert_eq!(signs.causes, ["first", "second"]);
        assert_eq!(signs.cells, [(0, 2, '+'), (0, 0, '0'), (1, 0, '-')]);
        assert_eq!(decode_signs(b"cause;income;age\nfirst;+;0\nsecond;;-1\n", &names()).unwrap(), signs);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, expected) in [
            ("", "it is empty"),
            ("cause\n", "names no column"),
            ("cause,age\n", "names no cause"),
            ("cause,agee\nx,+\n", "line 1, field 2: the table has no column `agee`"),
            ("cause,age,age\nx,+,+\n", "stands there twice"),
            ("cause,age,visits\nx,+\n", "line 2 has 2 fields, and line 1 has 3"),
            ("cause,age\nx,+\ny,yes\n", "line 3, field 2 (column `age`): `yes` is none of +, -, 0 or nothing"),
            ("cause,age\nx,+\nx,0\n", "line 3: cause `x` is there twice"),
            ("cause,age\r\n\r\n\r\nx,yes\r\n", "line 4, field 2"),
        ] {
            let problem = decode_signs(text.as_bytes(), &names()).unwrap_err();
            assert!(problem.contains(expected), "{text:?}: {problem}");
        }
        assert!(decode_signs(b"cause,agee\nx,+\n", &names()).unwrap_err().contains("did you mean"));
    }
}
