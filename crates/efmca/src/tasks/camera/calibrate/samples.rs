//! What the pixels of an image tell about its noise.
//!
//! Around each pixel there is a ring: 7 x 7 pixels without the inner 3 x 3. The ring says how bright the pixel should be
//! and whether its surroundings are flat. Its noise is independent of that of the pixel, so that neither choosing
//! pixels by their ring nor grouping them by it distorts their noise.

use ndarray::ArrayView2;

/// One pixel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    /// Its value.
    pub(super) value: f64,
    /// A number whose covariance with the value, over many pixels, is the variance of their means: neighbours in one image,
    /// the same pixel in other frames of a stack.
    pub(super) companion: f64,
    /// The mean of the ring.
    pub(super) level: f64,
    /// How much the eight parts of the ring differ; the variance of the noise where the scene is flat.
    pub(super) between: f64,
    /// The variance inside these parts.
    pub(super) within: f64,
    /// The region of the image that it is in: errors are estimated by leaving out regions.
    pub(super) group: u8,
}

/// Number of regions for the errors.
pub(super) const GROUPS: usize = 16;
/// Rows and columns of a tile; tiles are dealt out to the regions.
const TILE: usize = 32;
/// Pixels on each side that have no ring.
const MARGIN: usize = 3;
/// Degrees of freedom between the parts of a ring and within them.
const BETWEEN: f64 = 7.0;
const WITHIN: f64 = 32.0;

/// Offsets of the first row or column of each third of the 7 x 7 square, and their sizes.
const THIRDS: [(usize, usize); 3] = [(0, 2), (2, 3), (5, 2)];

/// The level and flatness around the pixel at `(row, column)`; none if a value is missing there.
fn ring(image: &ArrayView2<'_, f64>, row: usize, column: usize) -> Option<(f64, f64, f64)> {
    let (mut sums, mut squares, mut total) = ([(0.0, 0.0); 8], 0.0, 0.0);
    let mut part = 0;
    for (i, (top, height)) in THIRDS.into_iter().enumerate() {
        for (j, (left, width)) in THIRDS.into_iter().enumerate() {
            if i == 1 && j == 1 {
                continue;
            }
            let mut sum = 0.0;
            for y in row + top - MARGIN..row + top + height - MARGIN {
                for x in column + left - MARGIN..column + left + width - MARGIN {
                    let value = image[[y, x]];
                    sum += value;
                    squares += value * value;
                }
            }
            sums[part] = (sum, (height * width) as f64);
            total += sum;
            part += 1;
        }
    }
    let level = total / 40.0;
    let between: f64 = sums.iter().map(|(sum, n)| n * (sum / n - level).powi(2)).sum();
    let within = (squares - 40.0 * level * level - between).max(0.0);
    level.is_finite().then_some((level, between / BETWEEN, within / WITHIN))
}

/// How far the covariance with neighbours is extended to distance 0, as a multiple of the step from √2 to 1: once for a smooth
/// scene, whose covariance falls with the square of the distance; 1 + √2 times for one of edges, whose covariance falls with the
/// distance. Scenes are neither; this is the middle.
const EXTENDED: f64 = 1.0 + std::f64::consts::FRAC_1_SQRT_2;

/// Neighbours at distance 1 and √2, put together so that the scene has about the same covariance with them as with itself.
fn neighbours(image: &ArrayView2<'_, f64>, row: usize, column: usize) -> f64 {
    let near =
        image[[row - 1, column]] + image[[row + 1, column]] + image[[row, column - 1]] + image[[row, column + 1]];
    let diagonal = image[[row - 1, column - 1]]
        + image[[row - 1, column + 1]]
        + image[[row + 1, column - 1]]
        + image[[row + 1, column + 1]];
    0.25 * ((1.0 + EXTENDED) * near - EXTENDED * diagonal)
}

fn group(row: usize, column: usize) -> u8 {
    ((row / TILE * 5 + column / TILE * 7 + row / TILE / 3) % GROUPS) as u8
}

/// The places with a ring, every `stride`-th of them.
fn places((rows, columns): (usize, usize), stride: usize) -> impl Iterator<Item = (usize, usize)> {
    let inside = move |side: usize| MARGIN..side.saturating_sub(MARGIN);
    inside(rows).flat_map(move |row| inside(columns).map(move |column| (row, column))).step_by(stride.max(1))
}

/// The pixels of one image.
pub(super) fn of_image(image: &ArrayView2<'_, f64>, stride: usize, samples: &mut Vec<Sample>) {
    for (row, column) in places(image.dim(), stride) {
        let (value, companion) = (image[[row, column]], neighbours(image, row, column));
        if !(value.is_finite() && companion.is_finite()) {
            continue;
        }
        if let Some((level, between, within)) = ring(image, row, column) {
            samples.push(Sample { value, companion, level, between, within, group: group(row, column) });
        }
    }
}

/// The pixels of frames of one scene, whose mean is `mean`.
pub(super) fn of_frames(
    frames: &[ArrayView2<'_, f64>],
    mean: &ArrayView2<'_, f64>,
    stride: usize,
    samples: &mut Vec<Sample>,
) {
    let count = frames.len() as f64;
    for (row, column) in places(mean.dim(), stride) {
        let at = mean[[row, column]];
        let Some((level, between, within)) = ring(mean, row, column).filter(|_| at.is_finite()) else { continue };
        for frame in frames {
            let value = frame[[row, column]];
            let companion = (at * count - value) / (count - 1.0);
            // the ring of an average has less noise than one of a frame
            let (between, within) = (between * count, within * count);
            samples.push(Sample { value, companion, level, between, within, group: group(row, column) });
        }
    }
}
