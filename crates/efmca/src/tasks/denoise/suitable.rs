//! Settings that suit an image.

use ndarray::{ArrayView4, Axis};

/// Pixels on a side of the blocks whose variance is mostly noise, and of those whose means are mostly signal.
const SMALL_BLOCK: usize = 4;
const LARGE_BLOCK: usize = 8;
/// The share of blocks whose means are the dark and the bright end of the image.
const ENDS: f64 = 0.05;

/// Settings that follow from how far the signal stands above the noise: the more noise, the larger patches must be to
/// see anything, and the fewer causes can be told apart. The constants were fitted to six images with 0.1 to 1 photon a
/// pixel (`experiments/results/poisson-fast.md`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SuitableSettings {
    /// How far the signal stands above the noise, in units of a photograph with two photons in its brightest pixel.
    pub(super) relative: f64,
    /// Rows and columns of a patch.
    pub(super) patch: f64,
    /// The number of causes that a single model needs at least.
    pub(super) causes: f64,
    /// The standard deviation of the blur of the start.
    pub(super) blur: f64,
}

impl SuitableSettings {
    pub(super) fn of(noisy: ArrayView4<'_, f64>) -> SuitableSettings {
        // 1.6 is that photograph
        let relative = signal_to_noise(noisy).clamp(0.02, 200.0) / 1.6;
        SuitableSettings {
            relative,
            patch: (18.0 * relative.powf(-0.25)).clamp(8.0, 36.0),
            causes: (110.0 * relative.sqrt()).clamp(20.0, 150.0),
            blur: (2.0 * relative.powf(-0.25)).clamp(1.0, 4.0),
        }
    }
}

/// The square of the range of the image, over the variance of the noise where it is bright.
pub(super) fn signal_to_noise(noisy: ArrayView4<'_, f64>) -> f64 {
    let mut large = blocks(noisy, LARGE_BLOCK);
    large.sort_by(|a, b| a.0.total_cmp(&b.0));
    let end = ((large.len() as f64 * ENDS).ceil() as usize).min(large.len());
    let mean = |ends: &[(f64, f64)]| ends.iter().map(|block| block.0).sum::<f64>() / ends.len() as f64;
    let range = mean(&large[large.len() - end..]) - mean(&large[..end]);
    let small = blocks(noisy, SMALL_BLOCK);
    let low = small.iter().map(|block| block.0).fold(f64::INFINITY, f64::min);
    // weighted by brightness, because much noise depends on it
    let (mut noise, mut weight) = (0.0, 0.0);
    for (mean, variance) in &small {
        noise += (mean - low) * variance;
        weight += mean - low;
    }
    let noise = noise / weight;
    // part of the range is noise of the means
    let range = (range * range - 4.0 * noise / (LARGE_BLOCK * LARGE_BLOCK) as f64).max(0.0);
    if noise > 0.0 && range.is_finite() { range / noise } else { 1.0 }
}

/// Mean and variance of square blocks of the image, without the pixels that are missing.
fn blocks(noisy: ArrayView4<'_, f64>, side: usize) -> Vec<(f64, f64)> {
    let mut found = Vec::new();
    for page in noisy.axis_iter(Axis(0)) {
        for channel in page.axis_iter(Axis(2)) {
            let size = (side.min(channel.nrows()), side.min(channel.ncols()));
            for block in channel.exact_chunks(size) {
                let present: Vec<f64> = block.iter().copied().filter(|value| value.is_finite()).collect();
                if present.len() > 1 {
                    let mean = present.iter().sum::<f64>() / present.len() as f64;
                    let squares: f64 = present.iter().map(|value| (value - mean).powi(2)).sum();
                    found.push((mean, squares / (present.len() - 1) as f64));
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array4;

    #[test]
    fn more_noise_asks_for_larger_patches_and_fewer_causes() {
        let image = |noise: f64| {
            Array4::from_shape_fn((1, 64, 64, 1), |(_, y, x, _)| {
                let wiggle = ((y * 37 + x * 101) % 17) as f64 / 8.0 - 1.0;
                f64::from(u8::from(x > 32)) * 10.0 + noise * wiggle
            })
        };
        let (quiet, loud) = (SuitableSettings::of(image(1.0).view()), SuitableSettings::of(image(20.0).view()));
        assert!(quiet.patch < loud.patch && quiet.causes > loud.causes, "{quiet:?} {loud:?}");
        // images without noise, without signal, or without pixels have settings, too
        for image in [image(0.0), Array4::zeros((1, 3, 2, 1)), Array4::from_elem((1, 9, 9, 1), f64::NAN)] {
            assert!(SuitableSettings::of(image.view()).patch >= 8.0);
        }
    }
}
