//! Decisions of the reader that a user should know about.

use std::fmt;

use super::trouble::shown;

/// Labels that a remark lists, at the most.
const MOST_LISTED: usize = 6;

/// A decision that was made when a table was read. It is written as a sentence for people, without a full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remark {
    /// A column had the name of another one, and was given a name of its own.
    Renamed {
        /// The column, counted from 1.
        column: usize,
        /// Its name in the file.
        from: String,
        /// Its name in the table.
        to: String,
    },
    /// The first line of a CSV file was taken for values.
    NoHeader {
        /// The number of the line.
        line: u64,
        /// The name that the first column was given.
        first: String,
    },
    /// The numbers of a CSV file have decimal commas.
    DecimalCommas,
    /// A column of dates was left out.
    Dates {
        /// The name of the column.
        column: String,
        /// The first of them, and the number of its line.
        example: (String, u64),
    },
    /// Text that is not UTF-8 was taken for Latin-1.
    NotUtf8 {
        /// The first line with such text.
        line: u64,
        /// The name of its column.
        column: String,
    },
    /// Whole numbers of a CSV file have more digits than a double holds: numbers of accounts, for example.
    Rounded {
        /// How many of them changed.
        count: u64,
        /// The line of the first one.
        line: u64,
        /// The name of its column.
        column: String,
    },
    /// Some rows hold no value.
    EmptyRows {
        /// How many.
        empty: usize,
        /// How many rows there are.
        rows: usize,
    },
    /// A column without values was left out.
    EmptyColumn {
        /// Its name, or its number if it has none.
        column: String,
    },
    /// A column of text was left out because it has too many labels.
    TooManyLabels {
        /// The name of the column.
        column: String,
        /// More labels than this are too many.
        most: usize,
        /// The first text in it, and the number of its line.
        example: (String, u64),
        /// How many of its cells with a value are numbers.
        numbers: u64,
        /// How many cells have a value.
        cells: u64,
    },
    /// The words of a column were coded as integers from 0.
    Labels {
        /// The name of the column.
        column: String,
        /// The words in the order of their codes.
        labels: Vec<String>,
        /// Whether that order is the sorted one, and not that of answers such as `no` and `yes`.
        sorted: bool,
    },
    /// The axes of an array after the first one were put together.
    Axes {
        /// The shape of the array.
        shape: Vec<usize>,
        /// The number of columns that it made.
        columns: usize,
    },
    /// Something about the array in an NPY or NPZ file.
    Array(String),
}

impl fmt::Display for Remark {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Renamed { column, from, to } => {
                write!(out, "several columns are called {}; column {column} is {} here", shown(from), shown(to))
            }
            Self::NoHeader { line, first } => write!(
                out,
                "line {line} was taken for values and not for the names of the columns, which are called `{first}` and so on"
            ),
            Self::DecimalCommas => out.write_str("commas in its numbers were taken for decimal points: 3,14 is 3.14"),
            Self::Dates { column, example: (text, line) } => write!(
                out,
                "column {} holds dates, such as {} on line {line}, and was left out; to use it, write numbers, such as days \
                 since the first of them",
                shown(column),
                shown(text)
            ),
            Self::NotUtf8 { line, column } => write!(
                out,
                "line {line}, column {}: there are bytes that are not UTF-8; such text was taken for Latin-1",
                shown(column)
            ),
            Self::Rounded { count, line, column } => write!(
                out,
                "{count} whole numbers beyond 2^53 were rounded to the nearest double, the first in line {line}, column {}; if they are names, \
                 put a letter before them, and they are words",
                shown(column)
            ),
            Self::EmptyRows { empty, rows } => write!(out, "{empty} of {rows} rows hold no value at all"),
            Self::EmptyColumn { column } => write!(out, "{column} holds no value and was left out"),
            Self::TooManyLabels { column, most, example: (text, line), numbers, cells } => {
                write!(
                    out,
                    "column {} holds text with more than {most} labels, such as {} on line {line}, and was left out",
                    shown(column),
                    shown(text)
                )?;
                match numbers {
                    0 => Ok(()),
                    numbers => write!(out, "; {numbers} of its {cells} cells with a value are numbers"),
                }
            }
            Self::Labels { column, labels, sorted } => {
                let coded = if *sorted { "coded in sorted order" } else { "coded" };
                write!(out, "column {} holds {} labels, {coded}: ", shown(column), labels.len())?;
                for (code, label) in labels.iter().enumerate().take(MOST_LISTED) {
                    let comma = if code == 0 { "" } else { ", " };
                    write!(out, "{comma}{} = {code}", shown(label))?;
                }
                if labels.len() > MOST_LISTED { out.write_str(", …") } else { Ok(()) }
            }
            Self::Axes { shape, columns } => write!(
                out,
                "its shape is {shape:?}: the first axis was taken for the rows, and the others were put together to \
                 {columns} columns"
            ),
            Self::Array(text) => out.write_str(text),
        }
    }
}
