//! The number of causes that an image says.

use ndarray::ArrayView4;

use crate::em::Observer;
use crate::error::Result;
use crate::family::SharedFamily;
use crate::tasks::Source;
use crate::tasks::select::CauseSearch;

/// The number of causes with which held-out pixels are predicted best.
pub(super) fn causes_by_held_out_pixels(
    family: &SharedFamily,
    pixels: ArrayView4<'_, f64>,
    (patch, depth): ((usize, usize), usize),
    seed: u64,
    observer: &mut Observer<'_>,
) -> Result<usize> {
    let source = Source::volume(pixels, patch, depth, Source::MOST_PATCHES);
    Ok(CauseSearch::new(family.clone()).seed(seed).run_observed(source, observer)?.best().h)
}
