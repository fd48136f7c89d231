//! What fields of natural images look like: Gabor functions, globular fields, or neither.
//!
//! A field is a picture of one cause, p x p. Two forms are fitted to it by least squares, without any random numbers: a Gabor
//! function ([`gabor`]) and a globular field ([`globular`]). [`shape`] tells from the two fits what the field is, and
//! [`summary`] counts over many fields.
//!
//! The column is x and the row is y, both in pixels from the middle of the first pixel, so angles run from the x axis towards
//! the rows below.

pub(crate) mod field;
pub(crate) mod gabor;
pub(crate) mod globular;
mod least_squares;
#[cfg(test)]
mod planted;
pub(crate) mod shape;
pub(crate) mod summary;
mod waves;
