//! Errors of preparing data.

use std::fmt;

use thiserror::Error as ThisError;

use crate::error::Error;

/// A pixel, counted from 1 as in viewers of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImagePixel {
    /// The number of the image.
    pub image: usize,
    /// The row in it.
    pub row: usize,
    /// The column in it.
    pub column: usize,
}

impl fmt::Display for ImagePixel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "image {}, row {}, column {}", self.image, self.row, self.column)
    }
}

/// A reason why images or rows cannot be prepared for learning. Places are counted from 1.
#[derive(Debug, Clone, PartialEq, ThisError)]
#[non_exhaustive]
pub enum PreparationError {
    /// An infinite pixel.
    #[error("{pixel}: the value is {value}; every value must be finite, and NaN marks a missing one")]
    NotFinite {
        /// The pixel.
        pixel: ImagePixel,
        /// Its value.
        value: f64,
    },
    /// An image that cannot be divided by its mean.
    #[error("image {image}: the mean of its values is {mean}, so it cannot be divided by it; do not normalise images")]
    NoMean {
        /// The image.
        image: usize,
        /// The mean of its values.
        mean: f64,
    },
    /// A pixel without a logarithm.
    #[error("{pixel}: the value {value} has no logarithm; mark it as missing with NaN, or take no logarithms")]
    NoLogarithm {
        /// The pixel.
        pixel: ImagePixel,
        /// Its value.
        value: f64,
    },
    /// A pixel that the family cannot produce, after everything that was done to it.
    #[error(
        "{pixel}: the value {value} is outside the support of `{family}` ({support}); choose a family that allows it, or \
         mark it as missing with NaN"
    )]
    OutsideSupport {
        /// The pixel.
        pixel: ImagePixel,
        /// Its value.
        value: f64,
        /// The family.
        family: String,
        /// The values that the family allows, in words.
        support: String,
    },
    /// No patch without missing pixels, where patches are to be whitened.
    #[error(
        "all patches of {} x {} pixels have missing pixels, and such patches cannot be whitened; choose smaller patches, \
         or leave whitening out", patch.0, patch.1
    )]
    NoCompletePatch {
        /// Rows and columns of a patch.
        patch: (usize, usize),
    },
    /// A missing value in rows that are to be whitened.
    #[error(
        "row {row}, column {column}: the value is missing, and rows with missing values cannot be whitened; leave those \
         rows out, or whitening"
    )]
    MissingValue {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
    },
    /// Too few rows or patches for a covariance.
    #[error("whitening needs two rows at least, and there are {rows}; give more rows, or leave whitening out")]
    TooFewRows {
        /// The number of rows.
        rows: usize,
    },
    /// Rows without any variance, or with an infinite one.
    #[error(
        "the rows cannot be whitened: all of them are the same, or their values are too large; give other data, or leave \
         whitening out"
    )]
    NoVariance,
    /// Everything else that can be wrong with data or settings.
    #[error(transparent)]
    Other(#[from] Error),
}
