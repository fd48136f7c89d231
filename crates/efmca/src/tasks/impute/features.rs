//! The cells of a row as numbers for a regression.

use std::ops::Range;

use ndarray::Array2;

use super::beliefs::Beliefs;
use super::column::{CellKind, Column};
use super::regression::Choice;

/// The smallest standard deviation by which the indicator of a code is divided: rare codes would count for too much.
const SMALLEST: f64 = 0.15;

/// Where the features of each column are in a row of features.
#[derive(Debug, Clone)]
pub(super) struct Features {
    spans: Vec<Range<usize>>,
    count: usize,
}

impl Features {
    pub(super) fn of(columns: &[Column]) -> Features {
        let mut count = 0;
        let spans = columns.iter().map(|column| {
            let start = count;
            count += match column.codes.len() {
                0 => 1,
                // their number as well, since many codes are in order
                codes => codes + 1,
            };
            start..count
        });
        Features { spans: spans.collect(), count }
    }

    /// The number of features with which column `d` is predicted: those of the other columns, and what is believed of it.
    pub(super) fn width(&self, columns: &[Column], d: usize) -> usize {
        self.count - self.spans[d].len() + columns[d].codes.len().max(1)
    }

    /// All features of a row.
    pub(super) fn row(&self, columns: &[Column], cells: &[f64], beliefs: &Beliefs, n: usize) -> Vec<f64> {
        let mut found = Vec::with_capacity(self.count);
        for (d, (column, cell)) in columns.iter().zip(cells).enumerate() {
            if column.kind() == CellKind::Number {
                let value = if cell.is_nan() { beliefs.mean[[n, d]] } else { *cell };
                found.push((value - column.mean) / column.scale());
                continue;
            }
            let present = (!cell.is_nan()).then(|| column.place(*cell));
            let mut value = 0.0;
            for (place, (code, share)) in column.codes.iter().zip(&column.shares).enumerate() {
                let probability = match present {
                    Some(present) => f64::from(u8::from(present == place)),
                    None => beliefs.codes[d][[n, place]],
                };
                value += probability * code;
                found.push((probability - share) / (share * (1.0 - share)).sqrt().max(SMALLEST));
            }
            found.push((value - column.mean) / column.scale());
        }
        found
    }

    /// The features with which column `d` of a row is predicted, from all features of the row.
    pub(super) fn for_column(
        &self,
        columns: &[Column],
        all: &[f64],
        beliefs: &Beliefs,
        n: usize,
        d: usize,
    ) -> Vec<f64> {
        let own = &self.spans[d];
        let mut found: Vec<f64> = all[..own.start].iter().chain(&all[own.end..]).copied().collect();
        match columns[d].kind() {
            CellKind::Number => found.push((beliefs.mean[[n, d]] - columns[d].mean) / columns[d].scale()),
            CellKind::Code => found.extend(beliefs.codes[d].row(n).iter().map(|share| share / SMALLEST.max(0.5))),
        }
        found
    }

    /// Choices of features with which column `d` is predicted: all of them, and numbers alone, of which codes have one each. In a
    /// table of few rows a single number that says a lot drowns in the many indicators of codes. A number may also be predicted by
    /// numbers without what the causes say of it, which is the last feature.
    pub(super) fn choices(&self, columns: &[Column], d: usize) -> Vec<Choice> {
        let mut numbers = Vec::new();
        let mut place = 0;
        for (other, span) in self.spans.iter().enumerate().filter(|(other, _)| *other != d) {
            // the number of a code comes after its indicators
            numbers.push(place + columns[other].codes.len());
            place += span.len();
        }
        let width = self.width(columns, d);
        let mut choices = vec![Choice { features: (0..width).collect(), without: None }];
        if columns[d].kind() == CellKind::Number {
            choices.push(Choice { features: numbers.clone(), without: Some(place) });
        }
        numbers.extend(place..width);
        choices.push(Choice { features: numbers, without: None });
        choices
    }

    /// The features of all rows.
    pub(super) fn table(&self, columns: &[Column], rows: &Array2<f64>, beliefs: &Beliefs) -> Vec<Vec<f64>> {
        rows.outer_iter().enumerate().map(|(n, cells)| self.row(columns, &cells.to_vec(), beliefs, n)).collect()
    }
}
