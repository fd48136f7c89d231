//! Checks of an image before any work is done on it.

use ndarray::ArrayView4;

use crate::error::{Error, Result};
use crate::family::Family;
use crate::model::Geometry;

/// The image has pixels, and `family` can have produced every one that is present.
pub(super) fn check_pixels(family: &dyn Family, noisy: ArrayView4<'_, f64>) -> Result<()> {
    if noisy.is_empty() {
        return Err(Error::EmptyData { rows: noisy.dim().1, columns: noisy.dim().2 });
    }
    let support = family.support();
    let impossible = noisy.indexed_iter().find(|(_, value)| !value.is_nan() && !support.contains(**value));
    match impossible {
        None => Ok(()),
        Some((place, value)) => Err(Error::ImpossiblePixel {
            place: place.into(),
            value: *value,
            family: family.spec(),
            support: support.to_string(),
        }),
    }
}

/// A pixel at least is present.
pub(super) fn check_learnable(noisy: ArrayView4<'_, f64>) -> Result<()> {
    if noisy.iter().all(|value| value.is_nan()) { Err(Error::EmptyImage) } else { Ok(()) }
}

/// A patch of this size and so many pages fits into the image.
pub(super) fn check_fits(patch: (usize, usize), depth: usize, noisy: ArrayView4<'_, f64>) -> Result<()> {
    Geometry::of_volume(noisy.dim(), patch, depth).map(|_| ())
}
