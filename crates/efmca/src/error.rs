//! Errors that say what is wrong, where, and what to do about it.
//!
//! Fields count rows and columns from zero, as arrays do; messages count them from one, as people do.

use std::fmt;

use thiserror::Error;

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that can be wrong with what this crate was given.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A data value that the column's family cannot produce.
    #[error(
        "row {}, column {}: the value {value} is outside the support of `{family}` ({support}); \
         choose a family that allows it, or mark it as missing with NaN",
        row + 1,
        column + 1
    )]
    OutsideSupport {
        /// Zero-based row of the value.
        row: usize,
        /// Zero-based column of the value.
        column: usize,
        /// The value itself.
        value: f64,
        /// The family of the column.
        family: String,
        /// The values that the family allows, in words.
        support: String,
    },

    /// An infinite data value.
    #[error(
        "row {}, column {}: the value is {value}; every value must be finite, and NaN marks a missing one",
        row + 1,
        column + 1
    )]
    NotFinite {
        /// Zero-based row of the value.
        row: usize,
        /// Zero-based column of the value.
        column: usize,
        /// The value itself.
        value: f64,
    },

    /// A data value whose statistics are too large to be added up and squared.
    #[error(
        "row {}, column {}: the value {value} has statistics of `{family}` beyond 1e140, which cannot be summed \
         safely; rescale the column or mark the value as missing with NaN",
        row + 1,
        column + 1
    )]
    TooExtreme {
        /// Zero-based row of the value.
        row: usize,
        /// Zero-based column of the value.
        column: usize,
        /// The value itself.
        value: f64,
        /// The family of the column.
        family: String,
    },

    /// A training whose sums left the range of numbers.
    #[error(
        "the log-likelihood of the data became {bound}: its values are too far apart for the precision of the numbers; \
         rescale the columns, mark extreme values as missing with NaN, or ask for double precision"
    )]
    OutOfRange {
        /// What became of the sum.
        bound: f64,
    },

    /// Work that needs more memory than there is, see [`within_memory`](crate::em::within_memory).
    #[error(
        "this needs about {} MB of memory, and there are {} MB; take fewer rows, causes or states, or a machine with more",
        needed.div_ceil(1_000_000),
        available / 1_000_000
    )]
    TooMuchMemory {
        /// Bytes, estimated.
        needed: u64,
        /// Bytes that there are.
        available: u64,
    },

    /// A checkpoint that does not belong to the data or the settings it is resumed with.
    #[error("the run cannot be resumed: {reason}; give what it was started with, or start a new one")]
    Resume {
        /// The setting or the data that does not fit.
        reason: String,
    },

    /// Data outside of memory that could not be read, or that changed while it was used.
    #[error("{what}: it changed while it was used: {problem}; run again when no other program writes to it")]
    Changed {
        /// The file.
        what: String,
        /// What is different.
        problem: String,
    },

    /// A rank that cannot go on, or cannot be reached.
    #[error("rank {rank}: {problem}")]
    Rank {
        /// The rank, counted from zero as launchers do.
        rank: usize,
        /// What is wrong with it.
        problem: String,
    },

    /// The observer ended the work before there was a result.
    #[error("stopped before {what}, so there is no result")]
    Stopped {
        /// The step that was not reached.
        what: String,
    },

    /// No rows, or no columns.
    #[error("the data has {rows} rows and {columns} columns; at least one of each is needed")]
    EmptyData {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        columns: usize,
    },

    /// A column in which every value is missing.
    #[error("column {}: every value is missing (NaN), so nothing can be learned about it; drop the column", column + 1)]
    EmptyColumn {
        /// Zero-based column.
        column: usize,
    },

    /// A column that cannot be used as it is asked for.
    #[error("column {}: {problem}", column + 1)]
    Column {
        /// Zero-based column.
        column: usize,
        /// The problem, and what to do.
        problem: String,
    },

    /// A column whose scatter is lost in the rounding of its mean.
    #[error(
        "column {}: the values scatter so little about {mean} that `{family}` cannot tell how much; \
         subtract a constant from the column, or drop it if all its values are equal",
        column + 1
    )]
    TooFarFromZero {
        /// Zero-based column.
        column: usize,
        /// The mean of the column, as the family sees it.
        mean: f64,
        /// The family of the column.
        family: String,
    },

    /// Two things that should have the same size do not.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// The thing whose size is wrong.
        what: String,
        /// The size it should have.
        expected: String,
        /// The size it has.
        found: String,
    },

    /// A row weight that is negative or not finite, or weights that are all zero.
    #[error(
        "row {}: the weight is {value}; weights must be finite and not negative, at least one positive, and their sum \
         between 1e-100 and 1e100",
        row + 1
    )]
    Weight {
        /// Zero-based row.
        row: usize,
        /// The weight.
        value: f64,
    },

    /// A setting that makes no sense.
    #[error("{name} = {value}: {requirement}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// The value it was given.
        value: String,
        /// The values that it can have.
        requirement: String,
    },

    /// More causes than exact inference can enumerate.
    #[error(
        "exact EM visits all 2^H states and H = {causes} is too many (at most {limit}); \
         use fewer causes or a truncated posterior"
    )]
    TooManyCauses {
        /// The number of causes asked for.
        causes: usize,
        /// The largest number that is allowed.
        limit: usize,
    },

    /// A family name that is not in the registry.
    #[error("there is no family `{name}`{suggestion}; the families are: {known}")]
    UnknownFamily {
        /// The name that was asked for.
        name: String,
        /// A near miss, ready to be printed, or nothing.
        suggestion: String,
        /// All names.
        known: String,
    },

    /// A family whose fixed parameter is missing, unknown, or out of range.
    #[error("family `{family}`: {problem}")]
    FamilyParameter {
        /// The family as it was written.
        family: String,
        /// The problem, and what to write instead.
        problem: String,
    },

    /// Mean or natural parameters outside the family's domain.
    #[error("{what} of `{family}` = {value:?} is outside its domain ({domain})")]
    OutsideDomain {
        /// Which parameters.
        what: &'static str,
        /// The family.
        family: String,
        /// The parameters.
        value: Vec<f64>,
        /// The domain, in words.
        domain: String,
    },

    /// A row that no state of the model can have produced.
    #[error(
        "row {}: its probability is zero under every state of the model; \
         move W away from the edge of its domain (pseudo_count > 0) or look at the row",
        row + 1
    )]
    ImpossibleRow {
        /// Zero-based row.
        row: usize,
    },

    /// A mean that no member of the family has, in an image that is to be made noisy.
    #[error("{place}: noise of `{family}` cannot have the mean {mean}; {problem}")]
    ImpossibleMean {
        /// The first such mean.
        place: Pixel,
        /// The mean.
        mean: f64,
        /// The family.
        family: String,
        /// Which means there are, and what to do.
        problem: String,
    },

    /// Images that do not tell the numbers of the camera.
    #[error("the camera cannot be calibrated: {problem}")]
    Calibration {
        /// What is missing, and what to do.
        problem: String,
    },

    /// A pixel that noise of the family cannot have.
    #[error(
        "{place}: the value {value} is outside the support of `{family}` ({support}); \
         choose a family that allows it, or mark it as missing with NaN"
    )]
    ImpossiblePixel {
        /// The first such pixel.
        place: Pixel,
        /// Its value.
        value: f64,
        /// The family of the noise.
        family: String,
        /// The values that the family allows, in words.
        support: String,
    },

    /// An image in which nothing is present that could be learned from.
    #[error(
        "every pixel to learn from is missing (NaN), so that there is nothing to learn; check which pixels are marked as \
         missing, or learn from other pages"
    )]
    EmptyImage,

    /// A model file or tensor set that does not describe a model.
    #[error("this is not a usable model: {problem}")]
    NotAModel {
        /// The part that is missing or contradictory.
        problem: String,
    },
}

/// The place of a pixel, counted from 0. It is written with names and counted from 1: `page 1, row 4, column 8, channel 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pixel {
    /// The page of the stack.
    pub page: usize,
    /// The row of the page.
    pub row: usize,
    /// The column of the page.
    pub column: usize,
    /// The channel.
    pub channel: usize,
}

impl From<(usize, usize, usize, usize)> for Pixel {
    fn from((page, row, column, channel): (usize, usize, usize, usize)) -> Pixel {
        Pixel { page, row, column, channel }
    }
}

impl fmt::Display for Pixel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [page, row, column, channel] = [self.page, self.row, self.column, self.channel].map(|at| at + 1);
        write!(out, "page {page}, row {row}, column {column}, channel {channel}")
    }
}

impl Error {
    /// The same fault where the data that was looked at began `rows` rows later.
    pub(crate) fn rows_later(self, rows: usize) -> Self {
        self.in_row(|row| row + rows)
    }

    /// The same fault where every `step`-th row was looked at.
    pub(crate) fn of_every_row(self, step: usize) -> Self {
        self.in_row(|row| row * step)
    }

    fn in_row(mut self, place: impl Fn(usize) -> usize) -> Self {
        match &mut self {
            Error::OutsideSupport { row, .. }
            | Error::NotFinite { row, .. }
            | Error::TooExtreme { row, .. }
            | Error::ImpossibleRow { row } => *row = place(*row),
            _ => {}
        }
        self
    }

    /// A [`Error::Setting`] in fewer words.
    pub(crate) fn setting(name: &'static str, value: impl ToString, requirement: impl Into<String>) -> Self {
        Error::Setting { name, value: value.to_string(), requirement: requirement.into() }
    }

    /// A [`Error::Shape`] in fewer words.
    pub(crate) fn shape(what: impl Into<String>, expected: impl ToString, found: impl ToString) -> Self {
        Error::Shape { what: what.into(), expected: expected.to_string(), found: found.to_string() }
    }
}
