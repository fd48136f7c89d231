//! Guesses from the first lines of a CSV file: the delimiter, and whether there is a header.

use std::collections::HashSet;

use super::cell::{Cell, Markers, Oddity, classify, text_of};
use super::records::Records;

/// Only so many records are looked at.
const SAMPLE: usize = 1000;

/// Records of this size are enough for a guess.
const LIMIT: u64 = 64 << 20;

/// The first lines of a file.
pub(crate) struct Head<'a> {
    pub(crate) bytes: &'a [u8],
    /// Whether this is the whole file, so that the last record is whole, too.
    pub(crate) whole: bool,
}

impl Head<'_> {
    /// The first records, as what `of` makes of them.
    fn records<T>(&self, delimiter: u8, of: impl Fn(&Records<&[u8]>) -> T) -> Vec<T> {
        let mut records = Records::new(self.bytes, delimiter, LIMIT);
        let mut found = Vec::new();
        // What is wrong here is found again, and told, when the file is read.
        while found.len() <= SAMPLE && records.advance().unwrap_or(false) {
            found.push(of(&records));
        }
        if !self.whole && found.len() > 1 && found.len() <= SAMPLE {
            found.pop();
        }
        found
    }

    /// The delimiter that cuts all records into the same number of fields, more than one; else the one
    /// that cuts the first record into most.
    ///
    /// The comma comes last, as with it numbers with decimal commas are cut, too, and evenly.
    pub(crate) fn delimiter(&self) -> u8 {
        const CANDIDATES: [u8; 3] = [b'\t', b';', b','];
        let counts = CANDIDATES.map(|delimiter| (delimiter, self.records(delimiter, |record| record.len())));
        let even = |counts: &[usize]| {
            counts.first().is_some_and(|first| *first > 1 && counts.iter().all(|count| count == first))
        };
        if let Some((delimiter, _)) = counts.iter().find(|(_, counts)| even(counts)) {
            return *delimiter;
        }
        let first = |counts: &[usize]| counts.first().copied().unwrap_or(0);
        // The last of equals is taken: the comma.
        counts.iter().max_by_key(|(_, counts)| first(counts)).map_or(b',', |(delimiter, _)| *delimiter)
    }

    /// Whether numbers have decimal commas: some have, none has a decimal point, and fields are not cut at commas.
    pub(crate) fn has_decimal_commas(&self, delimiter: u8, markers: &Markers) -> bool {
        let kinds = |field: &[u8]| match classify(field, markers) {
            Cell::Odd(Oddity::DecimalComma, _) => (true, false),
            Cell::Number(_) => (false, field.contains(&b'.')),
            _ => (false, false),
        };
        let either = |sum: (bool, bool), one: (bool, bool)| (sum.0 | one.0, sum.1 | one.1);
        let records = self.records(delimiter, |record| record.iter().map(kinds).fold((false, false), either));
        delimiter != b',' && records.into_iter().fold((false, false), either) == (true, false)
    }

    /// Whether the first record holds names: it has text in a column that holds numbers below, or it is
    /// all text without repetition.
    pub(crate) fn has_header(&self, delimiter: u8, markers: &Markers) -> bool {
        #[derive(PartialEq, Clone, Copy)]
        enum Sort {
            Missing,
            Number,
            Text,
        }
        let sort = |field: &[u8]| match classify(field, markers) {
            Cell::Missing => Sort::Missing,
            Cell::Number(_) => Sort::Number,
            Cell::Odd(oddity, _) if oddity.is_numeric() => Sort::Number,
            Cell::Odd(..) => Sort::Text,
        };
        let records = self.records(delimiter, |record| record.iter().map(sort).collect::<Vec<_>>());
        let Some((first, below)) = records.split_first() else {
            return false;
        };
        let numeric_below = |column: usize| {
            let cells = below.iter().filter_map(|record| record.get(column));
            let (numbers, all) = cells
                .filter(|sort| **sort != Sort::Missing)
                .fold((0_usize, 0_usize), |sum, sort| (sum.0 + usize::from(*sort == Sort::Number), sum.1 + 1));
            all > 0 && numbers * 5 >= all * 4
        };
        if first.iter().enumerate().any(|(column, sort)| *sort == Sort::Text && numeric_below(column)) {
            return true;
        }
        // pandas leaves the name of the index, the first, empty.
        let all_text = first.contains(&Sort::Text)
            && first.iter().enumerate().all(|(column, sort)| {
                *sort == Sort::Text || (column == 0 && *sort == Sort::Missing && first.len() > 1)
            });
        all_text && {
            let mut records = Records::new(self.bytes, delimiter, LIMIT);
            let mut seen = HashSet::new();
            records.advance().unwrap_or(false) && records.iter().all(|field| seen.insert(text_of(field).into_owned()))
        }
    }

    /// About how many records a file of this many bytes has; rather more than less.
    pub(crate) fn estimated_records(&self, delimiter: u8, file: u64) -> usize {
        let mut records = Records::new(self.bytes, delimiter, LIMIT);
        let (mut count, mut bytes) = (0_usize, 0_usize);
        while count < SAMPLE && records.advance().unwrap_or(false) {
            count += 1;
            bytes += records.iter().map(|field| field.len() + 1).sum::<usize>();
        }
        (file as f64 / bytes.max(1) as f64 * count as f64 * 1.03) as usize + 1
    }
}
