//! How near an estimate is to the clean image: PSNR and SSIM; and how sharp it is: GMSD and the blur effect.

mod sharpness;

pub use sharpness::{blur_effect, gmsd};

use ndarray::{Array2, ArrayView, ArrayView2, Dimension, Zip};

use crate::error::{Error, Result};

/// Side of the window that [`ssim`] looks through, its spread, and the two constants of Wang et al. (2004).
const WINDOW: usize = 11;
const SIGMA: f64 = 1.5;
const K1: f64 = 0.01;
const K2: f64 = 0.03;

/// The peak signal-to-noise ratio in decibels, $10\log_{10}(\text{peak}^2/\text{MSE})$.
///
/// Pixels that are NaN in either image are left out of the mean square error. Equal images have an infinite ratio;
/// images without a common pixel have none (NaN).
///
/// The number depends on `peak` as much as on the images, so that only ratios with the same convention can be
/// compared: 255 for 8-bit images, the largest mean for images that were scaled to a peak (the paper's Sec. 7).
///
/// ```
/// use efmca::tasks::quality::psnr;
/// use ndarray::array;
///
/// let clean = array![[0.0, 10.0], [20.0, f64::NAN]];
/// let estimate = array![[1.0, 10.0], [20.0, 3.0]];
/// let expected = 10.0 * f64::log10(20.0 * 20.0 / (1.0 / 3.0));
/// assert!((psnr(estimate.view(), clean.view(), 20.0)? - expected).abs() < 1e-12);
/// # Ok::<(), efmca::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Shape`] if the images differ in shape, [`Error::Setting`] if the peak is not positive and finite.
pub fn psnr<D: Dimension>(estimate: ArrayView<f64, D>, clean: ArrayView<f64, D>, peak: f64) -> Result<f64> {
    check(&estimate, &clean, peak)?;
    let (mut sum, mut count) = (0.0, 0_usize);
    Zip::from(&estimate).and(&clean).for_each(|estimate, clean| {
        let error = (estimate - clean) / peak;
        // Two infinities of one sign are equal, although their difference is not a number.
        if estimate == clean {
            count += 1;
        } else if !estimate.is_nan() && !clean.is_nan() {
            sum += error * error;
            count += 1;
        }
    });
    Ok(-10.0 * (sum / count as f64).log10())
}

/// The structural similarity of two images (Wang et al., 2004), 1 for equal ones.
///
/// A Gaussian window of 11 x 11 pixels with $\sigma = 1.5$ and sum 1 goes over all positions at which it fits, with
/// $K_1 = 0.01$, $K_2 = 0.03$ and the window's own (population) variances; the mean over the positions is the result.
/// An image with a side below 11 has the largest odd window that fits, with the same $\sigma$: values of such images
/// compare with each other only. Positions whose window holds a value that is NaN or infinite are left out; if none is
/// left the result is NaN.
///
/// # Errors
///
/// As [`psnr`].
pub fn ssim(estimate: ArrayView2<f64>, clean: ArrayView2<f64>, peak: f64) -> Result<f64> {
    check(&estimate, &clean, peak)?;
    let window = gaussian_window(estimate.nrows().min(estimate.ncols()));
    if window.is_empty() {
        return Ok(f64::NAN);
    }
    // Relative to the peak, so that squares stay numbers however large the values are.
    let x = estimate.mapv(|value| value / peak);
    let y = clean.mapv(|value| value / peak);
    let mean_x = blurred(&x, &window);
    let mean_y = blurred(&y, &window);
    let square_x = blurred(&(&x * &x), &window);
    let square_y = blurred(&(&y * &y), &window);
    let product = blurred(&(&x * &y), &window);
    let (c1, c2) = (K1 * K1, K2 * K2);
    let (mut sum, mut count) = (0.0, 0_usize);
    for (position, &mean_x) in mean_x.indexed_iter() {
        let mean_y = mean_y[position];
        let variances = square_x[position] - mean_x * mean_x + square_y[position] - mean_y * mean_y;
        let covariance = product[position] - mean_x * mean_y;
        let luminance = (2.0 * mean_x * mean_y + c1) / (mean_x * mean_x + mean_y * mean_y + c1);
        let value = luminance * (2.0 * covariance + c2) / (variances + c2);
        if value.is_finite() {
            sum += value;
            count += 1;
        }
    }
    Ok(sum / count as f64)
}

fn check<D: Dimension>(estimate: &ArrayView<f64, D>, clean: &ArrayView<f64, D>, peak: f64) -> Result<()> {
    if estimate.shape() != clean.shape() {
        let shape = |image: &ArrayView<f64, D>| format!("{:?}", image.shape());
        return Err(Error::shape("the estimate against the clean image", shape(clean), shape(estimate)));
    }
    if !(peak.is_finite() && peak > 0.0) {
        return Err(Error::setting("peak", peak, "it must be a positive number: the largest value of the clean image"));
    }
    Ok(())
}

/// The weights of the largest window that fits a side of this length, along one axis; they sum to 1.
fn gaussian_window(side: usize) -> Vec<f64> {
    let largest_odd = if side.is_multiple_of(2) { side.saturating_sub(1) } else { side };
    let length = largest_odd.min(WINDOW);
    let weights: Vec<f64> = (0..length)
        .map(|i| i as f64 - (length / 2) as f64)
        .map(|distance| (-distance * distance / (2.0 * SIGMA * SIGMA)).exp())
        .collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

/// The weighted mean in every window that fits: along the rows, then along the columns.
fn blurred(image: &Array2<f64>, window: &[f64]) -> Array2<f64> {
    let (rows, columns) = (image.nrows() + 1 - window.len(), image.ncols() + 1 - window.len());
    let mut along = Array2::zeros((image.nrows(), columns));
    for (shift, &weight) in window.iter().enumerate() {
        along.scaled_add(weight, &image.slice(ndarray::s![.., shift..shift + columns]));
    }
    let mut both = Array2::zeros((rows, columns));
    for (shift, &weight) in window.iter().enumerate() {
        both.scaled_add(weight, &along.slice(ndarray::s![shift..shift + rows, ..]));
    }
    both
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    /// The images of the reference values.
    fn pair(rows: usize, columns: usize) -> (Array2<f64>, Array2<f64>) {
        let clean = Array2::from_shape_fn((rows, columns), |(r, c)| {
            100.0 + 80.0 * (0.3 * r as f64).sin() * (0.2 * c as f64).cos()
        });
        let noise = |r: usize, c: usize| 3.0 * (((7 * r + 13 * c) % 17) as f64 - 8.0);
        let noisy = Array2::from_shape_fn((rows, columns), |(r, c)| clean[[r, c]] + noise(r, c));
        (clean, noisy)
    }

    /// Values of scikit-image 0.26, which filters with reflected borders but leaves out all positions that the border
    /// reaches, so that it averages over the same positions as we do. It refuses images smaller than the window.
    ///
    /// ```python
    /// import numpy as np
    /// from skimage.metrics import structural_similarity, peak_signal_noise_ratio
    /// r, c = np.mgrid[0:rows, 0:columns].astype(float)
    /// clean = 100 + 80*np.sin(0.3*r)*np.cos(0.2*c)
    /// noisy = clean + 3*((7*r + 13*c) % 17 - 8)
    /// peak_signal_noise_ratio(clean, noisy, data_range=peak)
    /// structural_similarity(clean, noisy, gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=peak)
    /// ```
    #[test]
    fn psnr_and_ssim_are_those_of_scikit_image() {
        for (rows, columns, peak, expected_psnr, expected_ssim) in [
            (32, 40, 200.0, 22.676062401770313, 0.7638271324172158),
            (11, 11, 255.0, 24.725379226219154, 0.7879706149499169),
            (11, 25, 50.0, 10.636178818536504, 0.6932091940480591),
        ] {
            let (clean, noisy) = pair(rows, columns);
            let (psnr, ssim) = (psnr(noisy.view(), clean.view(), peak), ssim(noisy.view(), clean.view(), peak));
            assert!((psnr.unwrap() - expected_psnr).abs() < 1e-10);
            assert!((ssim.unwrap() - expected_ssim).abs() < 1e-10);
        }
    }

    /// Smaller than the window, from sums over every window in NumPy with centred variances:
    ///
    /// ```python
    /// x = np.arange(win) - win//2
    /// g = np.exp(-x*x/(2*1.5**2)); g /= g.sum(); w = np.outer(g, g)
    /// # for each a, b = clean[i:i+win, j:j+win], noisy[i:i+win, j:j+win]
    /// ma, mb = (w*a).sum(), (w*b).sum()
    /// va, vb, cov = (w*(a-ma)**2).sum(), (w*(b-mb)**2).sum(), (w*(a-ma)*(b-mb)).sum()
    /// (2*ma*mb+C1)*(2*cov+C2) / ((ma*ma+mb*mb+C1)*(va+vb+C2))   # C1, C2 = (.01*peak)**2, (.03*peak)**2
    /// ```
    #[test]
    fn small_images_have_a_small_window() {
        for (rows, columns, expected) in
            [(6, 9, 0.729561840661914), (7, 7, 0.7767167573106205), (1, 4, 0.9872363631243868)]
        {
            let (clean, noisy) = pair(rows, columns);
            assert!((ssim(noisy.view(), clean.view(), 200.0).unwrap() - expected).abs() < 1e-10);
        }
        let none = Array2::zeros((0, 5));
        assert!(ssim(none.view(), none.view(), 1.0).unwrap().is_nan());
        assert!(psnr(none.view(), none.view(), 1.0).unwrap().is_nan());
    }

    #[test]
    fn equal_images_are_perfect() {
        let (clean, _) = pair(20, 20);
        assert_eq!(psnr(clean.view(), clean.view(), 200.0).unwrap(), f64::INFINITY);
        assert!((ssim(clean.view(), clean.view(), 200.0).unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn missing_pixels_are_left_out() {
        let clean = array![[1.0, 2.0], [f64::NAN, 4.0]];
        let estimate = array![[2.0, f64::NAN], [0.0, 4.0]];
        let expected = 10.0 * (16.0_f64 / 0.5).log10();
        assert!((psnr(estimate.view(), clean.view(), 4.0).unwrap() - expected).abs() < 1e-12);
        // Of the 30 x 30 positions those whose window holds the corner are one.
        let (clean, noisy) = pair(40, 40);
        let mut holed = noisy.clone();
        holed[[0, 0]] = f64::NAN;
        let whole = ssim(noisy.view(), clean.view(), 200.0).unwrap() * 900.0;
        let corner = ndarray::s![..11, ..11];
        let lost = ssim(noisy.slice(corner), clean.slice(corner), 200.0).unwrap();
        assert!((ssim(holed.view(), clean.view(), 200.0).unwrap() - (whole - lost) / 899.0).abs() < 1e-12);
        let nothing = Array2::from_elem((12, 12), f64::NAN);
        assert!(ssim(nothing.view(), nothing.view(), 1.0).unwrap().is_nan());
        assert!(psnr(nothing.view(), nothing.view(), 1.0).unwrap().is_nan());
    }

    #[test]
    fn other_shapes_and_peaks_are_refused() {
        let (small, large) = (Array2::zeros((2, 3)), Array2::zeros((3, 2)));
        let message = psnr(small.view(), large.view(), 1.0).unwrap_err().to_string();
        assert!(message.contains("expected [3, 2], found [2, 3]"), "{message}");
        for peak in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(ssim(small.view(), small.view(), peak).unwrap_err().to_string().contains("positive"), "{peak}");
        }
    }
}
