//! Sharpness: what an average over squared errors does not see.

use ndarray::{Array2, ArrayView2, Axis};

use super::check;
use crate::error::Result;

/// The constant of the similarity, relative to the square of the peak: 170 for values up to 255.
const SIMILARITY: f64 = 170.0 / (255.0 * 255.0);
/// Pixels over which [`blur_effect`] blurs.
const BLUR: usize = 11;

/// The gradient magnitude similarity deviation (Xue, Zhang, Mou and Bovik, 2014): 0 for equal images, and larger the
/// more edges were lost or made up.
///
/// Both images are reduced to means of 2 x 2 pixels. With the magnitudes $a$ and $b$ of their gradients (Prewitt), the
/// result is the standard deviation over all pixels of
/// $$ \frac{2ab + c}{a^2 + b^2 + c}, \quad c = \frac{170}{255^2} \text{peak}^2. $$
/// Where a gradient needs a pixel that is missing or beyond the edge, it is left out; with fewer than two of them the
/// result is NaN.
///
/// # Errors
///
/// As [`psnr`](super::psnr).
pub fn gmsd(estimate: ArrayView2<f64>, clean: ArrayView2<f64>, peak: f64) -> Result<f64> {
    check(&estimate, &clean, peak)?;
    let (a, b) = (magnitudes(estimate, peak), magnitudes(clean, peak));
    let similar = a.iter().zip(&b).map(|(a, b)| (2.0 * a * b + SIMILARITY) / (a * a + b * b + SIMILARITY));
    let similar: Vec<f64> = similar.filter(|value| value.is_finite()).collect();
    if similar.len() < 2 {
        return Ok(f64::NAN);
    }
    let count = similar.len() as f64;
    let mean = similar.iter().sum::<f64>() / count;
    let squares: f64 = similar.iter().map(|value| (value - mean).powi(2)).sum();
    Ok((squares / (count - 1.0)).sqrt())
}

/// The gradients of an image that was halved, relative to the peak, without those at the edge.
fn magnitudes(image: ArrayView2<f64>, peak: f64) -> Array2<f64> {
    let (rows, columns) = (image.nrows() / 2, image.ncols() / 2);
    let half = Array2::from_shape_fn((rows, columns), |(y, x)| {
        let four = [[0, 0], [0, 1], [1, 0], [1, 1]].map(|[down, right]| image[[2 * y + down, 2 * x + right]] / peak);
        four.iter().sum::<f64>() / 4.0
    });
    Array2::from_shape_fn((rows.saturating_sub(2), columns.saturating_sub(2)), |(y, x)| {
        let across: f64 = (0..3).map(|row| half[[y + row, x + 2]] - half[[y + row, x]]).sum();
        let down: f64 = (0..3).map(|column| half[[y + 2, x + column]] - half[[y, x + column]]).sum();
        (across / 3.0).hypot(down / 3.0)
    })
}

/// How blurred an image looks, from 0 (sharp) to 1 (Crete, Dolmiere, Ladret and Nicolas, 2007), without a clean image
/// to compare with.
///
/// A sharp image loses most of its differences between neighbours if it is blurred once more, and a blurred one few.
/// The result is the share of the differences (Sobel) that survives a mean over 11 pixels along the same axis, for the
/// axis with the larger share. Noise counts as sharpness, so that only clean images are to be compared: two estimates
/// of one image, or an estimate and its reference. It is that of scikit-image; missing pixels are left out, and an image
/// without any difference has none (NaN).
#[must_use]
pub fn blur_effect(image: ArrayView2<f64>) -> f64 {
    let share = |axis: Axis| {
        let sharp = differences(&image.to_owned(), axis);
        let blurred = differences(&blurred(image, axis), axis);
        let (mut all, mut kept) = (0.0, 0.0);
        let (rows, columns) = image.dim();
        for y in 2..rows.saturating_sub(1) {
            for x in 2..columns.saturating_sub(1) {
                let (sharp, blurred) = (sharp[[y, x]].abs(), blurred[[y, x]].abs());
                if sharp.is_finite() && blurred.is_finite() {
                    all += sharp;
                    kept += sharp.min(blurred);
                }
            }
        }
        kept / all
    };
    let (down, across) = (share(Axis(0)), share(Axis(1)));
    if down.is_nan() || across.is_nan() { down + across } else { down.max(across) }
}

/// The place of a pixel beyond the edge, where the image is mirrored.
fn mirrored(place: isize, length: usize) -> usize {
    let place = place.rem_euclid(2 * length as isize) as usize;
    if place < length { place } else { 2 * length - 1 - place }
}

/// The mean over pixels along an axis.
fn blurred(image: ArrayView2<f64>, axis: Axis) -> Array2<f64> {
    let mut result = image.to_owned();
    let reach = (BLUR / 2) as isize;
    for (from, mut to) in image.lanes(axis).into_iter().zip(result.lanes_mut(axis)) {
        for (place, value) in to.iter_mut().enumerate() {
            let near = (-reach..=reach).map(|shift| from[mirrored(place as isize + shift, from.len())]);
            *value = near.sum::<f64>() / BLUR as f64;
        }
    }
    result
}

/// Differences along an axis, averaged with weights 1, 2, 1 along the other one (Sobel).
fn differences(image: &Array2<f64>, axis: Axis) -> Array2<f64> {
    let (rows, columns) = image.dim();
    let at = |y: usize, x: usize, down: isize, right: isize| {
        image[[mirrored(y as isize + down, rows), mirrored(x as isize + right, columns)]]
    };
    Array2::from_shape_fn((rows, columns), |(y, x)| {
        let slope = |side: isize| match axis {
            Axis(0) => at(y, x, 1, side) - at(y, x, -1, side),
            _ => at(y, x, side, 1) - at(y, x, side, -1),
        };
        (slope(-1) + 2.0 * slope(0) + slope(1)) / 8.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(rows: usize, columns: usize) -> (Array2<f64>, Array2<f64>) {
        let clean = Array2::from_shape_fn((rows, columns), |(r, c)| {
            100.0 + 80.0 * (0.3 * r as f64).sin() * (0.2 * c as f64).cos()
        });
        let noise = |r: usize, c: usize| 3.0 * (((7 * r + 13 * c) % 17) as f64 - 8.0);
        let noisy = Array2::from_shape_fn((rows, columns), |(r, c)| clean[[r, c]] + noise(r, c));
        (clean, noisy)
    }

    /// The blur effect is that of scikit-image 0.26 (`skimage.measure.blur_effect`), the deviation from NumPy:
    ///
    /// ```python
    /// def magnitudes(x):                          # of x / peak
    ///     x = x[:h//2*2, :w//2*2].reshape(h//2, 2, w//2, 2).mean((1, 3))
    ///     s = lambda dy, dx: x[1+dy:x.shape[0]-1+dy, 1+dx:x.shape[1]-1+dx]
    ///     return np.hypot(sum(s(d, 1) - s(d, -1) for d in (-1, 0, 1)) / 3, sum(s(1, d) - s(-1, d) for d in (-1, 0, 1)) / 3)
    /// ((2*m*n + 170/255**2) / (m*m + n*n + 170/255**2)).std(ddof=1)
    /// ```
    #[test]
    fn values_are_those_of_scikit_image_and_numpy() {
        for (rows, columns, deviation, blur, noisy_blur) in [
            (32, 40, 0.004560579842951598, 0.7434286590162221, 0.6272758117325115),
            (11, 25, 0.003918496979476066, 0.7023420590418965, 0.6310339734866772),
            (9, 8, 0.0006456186444844187, 0.33696913289031827, 0.2981214403603251),
        ] {
            let (clean, noisy) = pair(rows, columns);
            let found = gmsd(noisy.view(), clean.view(), 200.0).unwrap();
            assert!((found - deviation).abs() < 1e-12, "{rows} x {columns}: {found}");
            assert!((blur_effect(clean.view()) - blur).abs() < 1e-10, "{}", blur_effect(clean.view()));
            assert!((blur_effect(noisy.view()) - noisy_blur).abs() < 1e-10, "{}", blur_effect(noisy.view()));
        }
    }

    #[test]
    fn lost_edges_are_seen() {
        let clean = Array2::from_shape_fn((96, 96), |(y, x)| if (x / 32 + y / 32) % 2 == 0 { 200.0 } else { 20.0 });
        let soft = blurred(blurred(clean.view(), Axis(0)).view(), Axis(1));
        let little = 0.7 * &clean + 0.3 * &soft;
        let worse = |image: &Array2<f64>| gmsd(image.view(), clean.view(), 200.0).unwrap();
        assert!(worse(&clean) == 0.0 && worse(&little) > 0.01 && worse(&soft) > worse(&little));
        assert!(blur_effect(soft.view()) > blur_effect(little.view()));
        assert!(blur_effect(little.view()) > blur_effect(clean.view()));
    }

    #[test]
    fn missing_pixels_and_small_images() {
        let (clean, mut noisy) = pair(30, 30);
        noisy[[4, 4]] = f64::NAN;
        assert!(gmsd(noisy.view(), clean.view(), 200.0).unwrap().is_finite() && blur_effect(noisy.view()).is_finite());
        for shape in [(0, 0), (1, 1), (3, 2), (0, 9), (30, 30)] {
            let flat = Array2::from_elem(shape, 3.0);
            assert!(blur_effect(flat.view()).is_nan(), "{shape:?}");
            assert!(gmsd(flat.view(), flat.view(), 1.0).unwrap().is_nan() == (shape.0 < 30), "{shape:?}");
        }
        assert!(gmsd(clean.view(), noisy.slice(ndarray::s![..20, ..]), 1.0).is_err());
        assert!(gmsd(clean.view(), clean.view(), 0.0).unwrap_err().to_string().contains("positive"));
    }
}
