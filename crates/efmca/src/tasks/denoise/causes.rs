//! The number of causes of the models, and how it is found from the image.

use ndarray::ArrayView4;

use crate::em::Observer;
use crate::error::Result;
use crate::family::SharedFamily;
use crate::tasks::noise::Source;
use crate::tasks::select::Select;

/// Patches that numbers of causes are compared on, at the most.
const MOST_PATCHES: usize = 8000;

/// How many causes the models have: a number, or as many as the image says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Causes {
    /// Numbers that suit the size and the brightness of the image, without any training.
    #[default]
    Suitable,
    /// The number that predicts held-out pixels best, for all models.
    Auto,
    /// This number, for all models.
    Given(usize),
}

impl From<usize> for Causes {
    fn from(causes: usize) -> Causes {
        Causes::Given(causes)
    }
}

/// The number of causes with which held-out pixels are predicted best.
pub(super) fn causes_by_held_out_pixels(
    family: &SharedFamily,
    pixels: ArrayView4<'_, f64>,
    patch: (usize, usize),
    seed: u64,
    observer: &mut Observer<'_>,
) -> Result<usize> {
    let source = Source::Images { pixels, patch, stride: stride_for(pixels.dim(), patch) };
    Ok(Select::new(family.clone()).seed(seed).run_observed(source, observer)?.best().h)
}

/// How far patches are apart so that there are about [`MOST_PATCHES`] of them.
fn stride_for(size: (usize, usize, usize, usize), patch: (usize, usize)) -> usize {
    let (pages, rows, columns, _) = size;
    let positions = pages * (rows + 1).saturating_sub(patch.0) * (columns + 1).saturating_sub(patch.1);
    ((positions as f64 / MOST_PATCHES as f64).sqrt().ceil() as usize).max(1)
}
