//! A column while its cells are read, and its kind in the end.

use std::collections::{BTreeSet, HashMap};

use super::cell::{Cell, Oddity};
use super::trouble::shown;
use super::{Kind, Remark};
use crate::image_file::fault::Fault;

/// Columns of text with more labels are names, ids or remarks, and have no place in a table of numbers.
const MOST_LABELS: usize = 50;

/// The beginning of a NaN that stands for a label; its number follows. Arithmetic makes no such NaN.
const LABEL: u64 = 0x7ffc_0000_0000_0000;

/// A second line of names or units is above this line.
const SECOND_HEADER: u64 = 3;

/// A column, while the file is read.
///
/// Whether a column holds numbers or labels is only known at its last cell, so that a label goes to
/// the array of values as a NaN with the number of the label in it. Of labels only as many are kept as
/// a column may have.
#[derive(Default)]
pub(crate) struct Column {
    numbers: u64,
    /// Cells that were meant as numbers, but cannot be read as such.
    odd_numbers: u64,
    texts: u64,
    /// How many of these are dates.
    dates: u64,
    first_odd: Option<Odd>,
    labels: Vec<String>,
    positions: HashMap<String, u64>,
    too_many: bool,
}

struct Odd {
    line: u64,
    oddity: Oddity,
    text: String,
}

/// The kind that a column is found to have.
pub(crate) enum Fate {
    Kept {
        kind: Kind,
        codes: Codes,
        remark: Option<Remark>,
    },
    /// With the reason.
    LeftOut(Remark),
    /// Left out because it holds no value.
    Empty(Remark),
}

impl Column {
    /// The value for a cell on this line.
    pub(crate) fn push(&mut self, cell: Cell<'_>, line: u64) -> f64 {
        let (oddity, text) = match cell {
            Cell::Missing => return f64::NAN,
            Cell::Number(number) => {
                self.numbers += 1;
                return number;
            }
            Cell::Odd(oddity, text) => (oddity, text),
        };
        match oddity.is_numeric() {
            true => self.odd_numbers += 1,
            false => self.texts += 1,
        }
        self.dates += u64::from(oddity == Oddity::Date);
        if self.first_odd.is_none() {
            self.first_odd = Some(Odd { line, oddity, text: text.clone().into_owned() });
        }
        if self.too_many {
            return f64::NAN;
        }
        if let Some(position) = self.positions.get(text.as_ref()) {
            return f64::from_bits(LABEL | position);
        }
        if self.labels.len() == MOST_LABELS {
            self.too_many = true;
            self.labels = Vec::new();
            self.positions = HashMap::new();
            return f64::NAN;
        }
        let position = self.labels.len() as u64;
        self.labels.push(text.clone().into_owned());
        self.positions.insert(text.into_owned(), position);
        f64::from_bits(LABEL | position)
    }

    /// The kind of the column; `cells` are its values as [`Self::push`] made them.
    pub(crate) fn finish(&self, name: &str, cells: impl Iterator<Item = f64>) -> Result<Fate, Fault> {
        let odd = self.odd_numbers + self.texts;
        let all = self.numbers + odd;
        if all == 0 {
            return Ok(Fate::Empty(Remark::EmptyColumn { column: format!("column {}", shown(name)) }));
        }
        let Some(first) = &self.first_odd else {
            return Ok(Fate::Kept { kind: Kind::Number, codes: Codes::default(), remark: None });
        };
        // Four of five cells that are numbers, or were meant as such, make a column of numbers.
        if (self.numbers + self.odd_numbers) * 5 >= all * 4 {
            let (problem, mut hint) = first.oddity.explained();
            if self.texts == 1 && first.oddity == Oddity::Text && first.line <= SECOND_HEADER {
                hint = "delete the line if it holds names or units for a second time, or correct the cell";
            }
            let text = shown(&first.text);
            return Err(Fault::new(
                format!(
                    "line {}, column {}: {text} {problem} ({} of the {all} cells with a value are numbers)",
                    first.line,
                    shown(name),
                    self.numbers
                ),
                hint,
            ));
        }
        let left_out = || {
            Fate::LeftOut(Remark::TooManyLabels {
                column: name.to_owned(),
                most: MOST_LABELS,
                example: (first.text.clone(), first.line),
                numbers: self.numbers,
                cells: all,
            })
        };
        if self.dates * 5 >= all * 4 {
            let example = (first.text.clone(), first.line);
            return Ok(Fate::LeftOut(Remark::Dates { column: name.to_owned(), example }));
        }
        if self.too_many {
            return Ok(left_out());
        }
        let mut numbers = BTreeSet::new();
        if self.numbers > 0 {
            for number in cells.filter(|value| !value.is_nan()) {
                numbers.insert(key_of(number));
                if numbers.len() + self.labels.len() > MOST_LABELS {
                    return Ok(left_out());
                }
            }
        } else if let Some((labels, of_labels)) = answers(&self.labels) {
            let codes = Codes { of_labels, of_numbers: HashMap::new() };
            return Ok(Fate::labels(name, labels, codes, false));
        }
        // Numbers among labels are labels, too: their shortest text.
        let label_of = |key: u64| f64::from_bits(key).to_string();
        let mut labels: Vec<String> =
            self.labels.iter().cloned().chain(numbers.iter().copied().map(label_of)).collect();
        labels.sort_unstable();
        let code = |label: &String| labels.binary_search(label).map_or(f64::NAN, |position| position as f64);
        let codes = Codes {
            of_labels: self.labels.iter().map(code).collect(),
            of_numbers: numbers.iter().map(|key| (*key, code(&label_of(*key)))).collect(),
        };
        Ok(Fate::labels(name, labels, codes, true))
    }
}

impl Fate {
    fn labels(column: &str, labels: Vec<String>, codes: Codes, sorted: bool) -> Self {
        let remark = Remark::Labels { column: column.to_owned(), labels: labels.clone(), sorted };
        Self::Kept { kind: Kind::Labels(labels), codes, remark: Some(remark) }
    }
}

/// A key that tells numbers apart: 0 and -0 are the same.
fn key_of(number: f64) -> u64 {
    (number + 0.0).to_bits()
}

/// The values of the cells of a column.
#[derive(Default)]
pub(crate) struct Codes {
    /// By the position of the label; empty in a column of numbers.
    of_labels: Vec<f64>,
    /// Where there are numbers among labels.
    of_numbers: HashMap<u64, f64>,
}

impl Codes {
    /// Whether all values stay as they are.
    pub(crate) fn is_identity(&self) -> bool {
        self.of_labels.is_empty()
    }

    /// The value that stays in the table.
    pub(crate) fn apply(&self, value: f64) -> f64 {
        if self.is_identity() {
            return value;
        }
        if !value.is_nan() {
            return self.of_numbers.get(&key_of(value)).copied().unwrap_or(f64::NAN);
        }
        let bits = value.to_bits();
        let position = usize::try_from(bits ^ LABEL).ok().filter(|_| bits & LABEL == LABEL);
        position.and_then(|position| self.of_labels.get(position)).copied().unwrap_or(f64::NAN)
    }
}

/// The two answers and the value of each label, if all labels are answers of one sort.
fn answers(labels: &[String]) -> Option<(Vec<String>, Vec<f64>)> {
    const SORTS: [[[&str; 2]; 2]; 2] = [[["no", "n"], ["yes", "y"]], [["false", "f"], ["true", "t"]]];
    SORTS.iter().find_map(|[negative, positive]| {
        let value = |label: &String| {
            let is = |words: &[&str; 2]| words.iter().any(|word| word.eq_ignore_ascii_case(label));
            if is(positive) { Some(1.0) } else { is(negative).then_some(0.0) }
        };
        let values = labels.iter().map(value).collect::<Option<Vec<f64>>>()?;
        let short = labels.iter().all(|label| label.len() == 1);
        let word = |words: &[&str; 2]| words[usize::from(short)].to_owned();
        Some((vec![word(negative), word(positive)], values))
    })
}
