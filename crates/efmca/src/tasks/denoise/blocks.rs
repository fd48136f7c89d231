//! An image in blocks of pixels: the way to see it from further away, with less noise.

use ndarray::{Array4, ArrayView4, s};

use super::merge::Estimate;
use super::plane::Plane;

/// The sums of blocks of `side` x `side` pixels, missing where a pixel of a block is.
pub(super) fn block_sums(noisy: ArrayView4<'_, f64>, side: usize) -> Array4<f64> {
    let pixels = (side * side) as f64;
    // sums of integers are integers again
    let whole = noisy.iter().all(|value| value.is_nan() || value.fract() == 0.0);
    of_planes(noisy, (noisy.dim().1.div_ceil(side), noisy.dim().2.div_ceil(side)), |plane| {
        plane.binned(side).map(|mean| if whole { (mean * pixels).round() } else { mean * pixels })
    })
}

impl Estimate {
    /// An estimate of single pixels, from one of the sums of blocks.
    pub(super) fn of_pixels(&self, side: usize, (rows, columns): (usize, usize)) -> Estimate {
        let pixels = (side * side) as f64;
        let each = |image: &Array4<f64>| {
            of_planes(image.view(), (rows, columns), |plane| {
                plane.interpolated(side, rows, columns).map(|sum| sum / pixels)
            })
        };
        // the cubic can overshoot
        let (low, high) =
            self.mean.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), m| (low.min(*m), high.max(*m)));
        Estimate {
            mean: each(&self.mean)
                .mapv(|mean| if low <= high { mean.clamp(low / pixels, high / pixels) } else { mean }),
            deviation: each(&self.deviation).mapv(|deviation| deviation.max(0.0)),
        }
    }
}

/// An image of another size whose planes are functions of those of `image`.
fn of_planes(image: ArrayView4<'_, f64>, (rows, columns): (usize, usize), of: impl Fn(Plane) -> Plane) -> Array4<f64> {
    let (pages, _, _, channels) = image.dim();
    let mut result = Array4::zeros((pages, rows, columns, channels));
    for (page, channel) in (0..pages).flat_map(|page| (0..channels).map(move |channel| (page, channel))) {
        let at = s![page, .., .., channel];
        of(Plane::of(image.slice(at))).copy_to(result.slice_mut(at));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_counts_are_counts_and_missing_pixels_hide_their_block() {
        let mut counts = Array4::from_shape_fn((2, 7, 9, 2), |(page, y, x, channel)| (page + y * x + channel) as f64);
        counts[[1, 4, 4, 0]] = f64::NAN;
        let sums = block_sums(counts.view(), 3);
        assert_eq!(sums.dim(), (2, 3, 3, 2));
        assert_eq!(sums[[0, 1, 1, 0]], counts.slice(s![0, 3..6, 3..6, 0]).sum());
        assert!(sums.iter().all(|sum| sum.is_nan() || sum.fract() == 0.0));
        assert_eq!(sums.iter().filter(|sum| sum.is_nan()).count(), 1);
        assert!(sums[[1, 1, 1, 0]].is_nan());
    }

    #[test]
    fn estimates_of_blocks_become_estimates_of_pixels() {
        let flat = |value: f64| Array4::from_elem((1, 4, 5, 1), value);
        let pixels = Estimate { mean: flat(18.0), deviation: flat(9.0) }.of_pixels(3, (11, 13));
        assert_eq!(pixels.mean.dim(), (1, 11, 13, 1));
        assert!(pixels.mean.iter().all(|mean| (mean - 2.0).abs() < 1e-12));
        assert!(pixels.deviation.iter().all(|deviation| (deviation - 1.0).abs() < 1e-12));
    }
}
