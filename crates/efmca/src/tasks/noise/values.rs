//! The values of a data set or of a column: their kind, their resolution, and whether they may be codes.

use crate::family::registry::Summary;
use crate::model::{MOST_CODES, Resolution};

/// Codes that are told apart by a word where a column of them is given a density.
const FEW_CODES: std::ops::RangeInclusive<usize> = 3..=10;
/// Rows for each code, at the least: three numbers in three rows are no codes.
const ROWS_PER_CODE: usize = 4;
/// Exact zeros of an otherwise positive column are a part of it (and no accident) from this share on.
const ZERO_SHARE: f64 = 0.01;

/// The kind of numbers that values are, which decides how families are compared on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Zeros and ones only.
    YesNo,
    /// Integers: probabilities are compared, those of densities over the intervals that integers stand for.
    Integer,
    /// Exact zeros and positive numbers with fractions: a probability and a density.
    ZeroOrPositive,
    /// Numbers with fractions: densities are compared, or probabilities of the intervals that rounded numbers stand for.
    Real,
}

impl Kind {
    /// The kind in words, for messages.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Kind::YesNo => "zeros and ones",
            Kind::Integer => "whole numbers",
            Kind::ZeroOrPositive => "exact zeros and positive numbers",
            Kind::Real => "numbers with fractions",
        }
    }
}

/// A kind and a resolution in words.
pub(super) fn described(kind: Kind, resolution: &Resolution) -> String {
    match (kind, resolution) {
        (Kind::YesNo, _) | (_, Resolution::Continuous) => kind.words().to_owned(),
        (Kind::ZeroOrPositive, rounded) => format!("exact zeros and {}", rounded.words()),
        (_, rounded) => rounded.words(),
    }
}

/// A summary of the values of a data set or of one of its columns.
#[derive(Debug, Clone)]
pub struct Values {
    /// Their kind.
    pub kind: Kind,
    /// Smallest, largest, middle and scatter.
    pub summary: Summary,
    /// How finely they were written down.
    pub resolution: Resolution,
    /// The values without repeats, in ascending order, and how many there are with repeats.
    pub(super) sorted: Vec<f64>,
    count: usize,
    /// How many of them occur once.
    single: usize,
}

impl Values {
    /// Summarises all values but NaN; `None` if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Values> {
        let mut sorted: Vec<f64> = values.into_iter().filter(|value| !value.is_nan()).collect();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let median = 0.5 * (sorted[(count - 1) / 2] + sorted[count / 2]);
        let mean = sorted.iter().sum::<f64>() / count as f64;
        let variance = sorted.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count as f64;
        let integer = sorted.iter().all(|value| value.fract() == 0.0);
        let zeros = sorted.iter().filter(|value| **value == 0.0).count();
        let kind = if sorted.iter().all(|value| *value == 0.0 || *value == 1.0) {
            Kind::YesNo
        } else if integer {
            Kind::Integer
        } else if min == 0.0 && zeros > 1 && zeros as f64 >= ZERO_SHARE * count as f64 {
            Kind::ZeroOrPositive
        } else {
            Kind::Real
        };
        let resolution = Resolution::of_sorted(&sorted);
        let single = sorted.chunk_by(|a, b| a == b).filter(|equal| equal.len() == 1).count();
        sorted.dedup();
        Some(Values { kind, summary: Summary { min, max, median, variance }, resolution, sorted, count, single })
    }

    /// The same values with a resolution that is known.
    #[must_use]
    pub fn with_resolution(mut self, resolution: Resolution) -> Values {
        self.resolution = resolution;
        self
    }

    /// The kind and the resolution in words, for messages.
    #[must_use]
    pub fn words(&self) -> String {
        described(self.kind, &self.resolution)
    }

    /// The number of different values.
    #[must_use]
    pub fn distinct(&self) -> usize {
        self.sorted.len()
    }

    /// The different values, if they are few and repeat, so that they can be codes. Where some occur once, others have not occurred
    /// yet (Good and Turing: a share of all values to come that is as large), and would be impossible.
    pub(super) fn codes(&self) -> Option<&[f64]> {
        (self.are_few() && self.single == 0).then_some(&self.sorted[..])
    }

    fn are_few(&self) -> bool {
        (3..=MOST_CODES).contains(&self.sorted.len()) && self.count >= ROWS_PER_CODE * self.sorted.len()
    }

    /// Whether they are so few codes that a density for them needs a word.
    pub(super) fn few_codes(&self) -> Option<usize> {
        Some(self.sorted.len()).filter(|codes| self.are_few() && FEW_CODES.contains(codes))
    }

    /// Whether all values are the same.
    #[must_use]
    pub fn constant(&self) -> bool {
        self.sorted.len() == 1
    }
}
