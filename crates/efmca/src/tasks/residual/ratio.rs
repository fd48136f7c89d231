//! Speckle: the noisy image over its estimate, and the number of looks.

use ndarray::{Array4, ArrayView4, Axis, s};
use serde::{Deserialize, Serialize};

use super::noise::Noise;
use crate::family::{Family, Measure, Member, expectation};

/// Side of the blocks in which the looks of an image are measured.
const BLOCK: usize = 8;

/// The ratio of the noisy image and its estimate, for noise that multiplies (`exponential`, `gamma:k=4`, `rayleigh`, …). It
/// has mean 1 and the variance of the family if the estimate is right.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The mean of the ratio.
    pub mean: f64,
    /// Its variance.
    pub variance: f64,
    /// The variance that the family has: 1 over the number of looks of intensities.
    pub expected_variance: f64,
    /// The equivalent number of looks of the noisy image: squared mean over variance of the ratio.
    pub looks: f64,
    /// The equivalent number of looks of the noisy image by itself, mean² / variance, as the median over blocks of 8 x 8
    /// pixels in which the scene is flat; NaN if there are none.
    pub looks_before: f64,
    /// The same of the estimate: how smooth it is there. Infinite if most such blocks are constant.
    pub looks_after: f64,
}

impl Ratio {
    /// The ratio, if the family's standard deviation is in proportion to the mean.
    pub(super) fn new(
        family: &dyn Family,
        noise: &Noise<'_>,
        noisy: ArrayView4<'_, f64>,
        estimate: ArrayView4<'_, f64>,
        flat: &Array4<f64>,
    ) -> Option<Ratio> {
        let expected_variance = constant_variation(family, noise)?;
        let ratios: Vec<f64> =
            noisy.iter().zip(estimate).map(|(y, m)| y / m).filter(|ratio| ratio.is_finite()).collect();
        let count = ratios.len() as f64;
        let mean = ratios.iter().sum::<f64>() / count;
        let variance = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>() / count;
        let [looks_before, looks_after] = [noisy, estimate].map(|image| looks_of(image, flat));
        (count > 1.0).then_some(Ratio {
            mean,
            variance,
            expected_variance,
            looks: mean * mean / variance,
            looks_before,
            looks_after,
        })
    }
}

/// Variance over squared mean, if that is the same for all means.
fn constant_variation(family: &dyn Family, noise: &Noise<'_>) -> Option<f64> {
    let support = family.support();
    if !matches!(noise, Noise::Known(_)) || support.measure != Measure::Lebesgue || support.low != 0.0 {
        return None;
    }
    let at = |mean: f64| match noise.member(mean, f64::NAN)? {
        Member::Constant(_) => None,
        Member::Natural(eta) => Some(expectation(family, &eta, |y| (y / mean - 1.0).powi(2))),
    };
    let (low, high) = (at(0.5)?, at(8.0)?);
    (low.is_finite() && (low - high).abs() < 1e-6 * low).then_some(low)
}

/// The median number of looks of flat blocks.
fn looks_of(image: ArrayView4<'_, f64>, flat: &Array4<f64>) -> f64 {
    let mut looks = Vec::new();
    for (page, flat) in image.outer_iter().zip(flat.outer_iter()) {
        for channel in 0..page.len_of(Axis(2)) {
            let (plane, flat) = (page.slice(s![.., .., channel]), flat.slice(s![.., .., channel]));
            for (block, flat) in plane.exact_chunks((BLOCK, BLOCK)).into_iter().zip(flat.exact_chunks((BLOCK, BLOCK))) {
                if flat.iter().all(|inside| *inside > 0.0) {
                    let mean = block.mean().unwrap_or(f64::NAN);
                    looks.push(mean * mean / block.var(1.0));
                }
            }
        }
    }
    looks.retain(|value| !value.is_nan());
    let middle = looks.len() / 2;
    if looks.is_empty() { f64::NAN } else { *looks.select_nth_unstable_by(middle, f64::total_cmp).1 }
}
