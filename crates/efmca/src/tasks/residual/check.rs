//! The check of a residual: what is measured, in which order.

use ndarray::{Array4, ArrayView4, Zip};
use serde::{Deserialize, Serialize};

use super::correlation::Correlations;
use super::dispersion::{Dispersion, dispersion, raised};
use super::finding::{Finding, Measured};
use super::noise::{Curve, Noise};
use super::quantiles::Quantiles;
use super::ratio::Ratio;
use super::regions::Regions;
use super::stripes::{Direction, Offsets, level};
use crate::error::{Error, Result};
use crate::family::FamilySpec;

/// Residuals beyond so many of their own deviations are taken for this many where products are summed: a hot pixel must
/// not decide about an image.
const CLIPPED: f64 = 6.0;
/// The median of the absolute value of a Gaussian variable with standard deviation 1.
const GAUSSIAN_MEDIAN: f64 = 0.674_489_750_196_081_7;
/// Fewer pixels of flat scene do not say what spread they have.
const LEAST_FLAT: f64 = 200.0;

/// Says whether what was taken away from an image looks like noise of a family.
///
/// ```
/// use efmca::tasks::corrupt::Corruption;
/// use efmca::tasks::residual::{FindingKind, ResidualCheck};
/// use ndarray::Array4;
///
/// let clean = Array4::from_shape_fn((1, 60, 60, 1), |(_, y, x, _)| 9.0 + 8.0 * (0.1 * (x + 2 * y) as f64).sin());
/// let noisy = Corruption::new("poisson").seed(1).run(clean.view())?.noisy;
/// let good = ResidualCheck::new("poisson").run(noisy.view(), clean.view())?;
/// assert!(good.findings.is_empty());
///
/// // the same photons in the units of a camera that counts each twice
/// let doubled = ResidualCheck::new("poisson").run((&noisy * 2.0).view(), (&clean * 2.0).view())?;
/// assert_eq!(doubled.findings[0].kind, FindingKind::VariesTooMuch);
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResidualCheck {
    family: FamilySpec,
    seed: u64,
}

/// What a residual looks like. Without a finding it looks like the noise that was assumed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Residual {
    /// The family that was assumed.
    pub family: String,
    /// The number of pixels that are in both images.
    pub pixels: usize,
    /// How much it varies; none where the residual or the variance is zero everywhere.
    pub dispersion: Option<Dispersion>,
    /// Whether the variance is that of the family. Families with a spread of their own have it measured, so that only its
    /// differences within the image say something.
    pub variance_known: bool,
    /// Its distribution; none for a family that mean and variance do not fix.
    pub quantiles: Option<Quantiles>,
    /// What near pixels have in common.
    pub correlations: Correlations,
    /// Offsets of rows and of columns, where the image is large enough.
    pub offsets: Vec<Offsets>,
    /// The ratio of the two images, if the noise multiplies.
    pub ratio: Option<Ratio>,
    /// The residual over the standard deviation of the noise; NaN where a pixel is missing.
    pub standardised: Array4<f64>,
    /// All in which it differs from noise of the family, the gravest first.
    pub findings: Vec<Finding>,
}

impl Residual {
    /// The fewest pixels that anything can be found with.
    pub const LEAST_PIXELS: usize = 400;

    /// Whether there are pixels enough to say something.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        self.pixels >= Self::LEAST_PIXELS
    }
}

impl ResidualCheck {
    /// A check for noise of a family.
    pub fn new(family: impl Into<FamilySpec>) -> ResidualCheck {
        ResidualCheck { family: family.into(), seed: 0 }
    }

    /// The seed of the values that pixels are compared with (default: 0).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> ResidualCheck {
        self.seed = seed;
        self
    }

    /// Whether the settings can be used.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownFamily`] or [`Error::FamilyParameter`] for a family that does not exist.
    pub fn check(&self) -> Result<()> {
        self.family.resolve().map(|_| ())
    }

    /// Compares a noisy image with its estimate, both by page, row, column and channel. Pixels that are NaN or infinite in
    /// either are left out.
    ///
    /// # Errors
    ///
    /// All that [`ResidualCheck::check`] finds, and [`Error::Shape`] if the images differ in shape.
    pub fn run(&self, noisy: ArrayView4<'_, f64>, estimate: ArrayView4<'_, f64>) -> Result<Residual> {
        let family = self.family.resolve()?;
        if noisy.dim() != estimate.dim() {
            let shape = |image: ArrayView4<'_, f64>| format!("{:?}", image.shape());
            return Err(Error::shape("the estimate against the noisy image", shape(noisy), shape(estimate)));
        }
        let finite = |value: f64| if value.is_finite() { value } else { f64::NAN };
        let residual = Zip::from(noisy).and(estimate).map_collect(|y, m| finite(y - m));
        let pixels = residual.iter().filter(|value| !value.is_nan()).count();
        let noise = Noise::new(&*family);
        let mut means: Vec<f64> =
            estimate.iter().zip(&residual).filter(|(_, r)| !r.is_nan()).map(|(m, _)| *m).collect();
        means.sort_by(f64::total_cmp);
        let known = noise.known_curve(&*family, &means);
        let variance_known = known.is_some();
        let measured = |mask: Option<&Array4<f64>>| {
            let present = estimate.iter().zip(&residual).filter(|(_, r)| !r.is_nan()).map(|(m, r)| (*m, *r));
            Curve::measured(match mask {
                None => present.collect(),
                Some(mask) => {
                    let inside = estimate.iter().zip(&residual).zip(mask).filter(|(_, inside)| **inside > 0.0);
                    inside.map(|((m, r), _)| (*m, *r)).collect()
                }
            })
        };
        let variances = |curve: Option<&Curve>| estimate.mapv(|mean| curve.map_or(f64::NAN, |curve| curve.at(mean)));
        let mut variance = match known {
            Some(curve) => variances(Some(&curve)),
            None => variances(measured(None).as_ref()),
        };
        let floored = raised(&variance, &residual);
        // where there is hardly any noise, there is nothing to learn about it
        let noisy_enough = Zip::from(&residual)
            .and(&variance)
            .and(&floored)
            .map_collect(|r, v, floor| if v < floor { f64::NAN } else { *r });
        let regions = Regions::new(estimate, &floored, &noisy_enough);
        if !variance_known && regions.flat.sum() >= LEAST_FLAT {
            variance = variances(measured(Some(&regions.flat)).as_ref());
        }
        let floored = raised(&variance, &residual);
        let standardised = Zip::from(&residual).and(&floored).map_collect(|r, v| finite(r / v.sqrt()));
        let squares = standardised.mapv(|r| r * r);
        let expected = &variance / &floored;
        let over = |mask: Option<&Array4<f64>>| dispersion(&squares, &expected, mask);
        let dispersion =
            over(None).map(|all| Dispersion { all, flat: over(Some(&regions.flat)), busy: over(Some(&regions.busy)) });

        let mut clipped = clipped(&standardised);
        let power = power(&clipped);
        let offsets: Vec<Offsets> = [Direction::Rows, Direction::Columns]
            .into_iter()
            .filter_map(|direction| Offsets::new(&clipped, power, direction))
            .collect();
        for stripes in offsets.iter().filter(|offsets| Finding::is_striped(offsets)) {
            level(&mut clipped, stripes.direction);
        }
        let correlations = Correlations::new(&clipped, &regions.flat, &regions.busy);
        let quantiles = Quantiles::new(&*family, &noise, noisy, estimate, &variance, &regions.flat, self.seed);
        let ratio = Ratio::new(&*family, &noise, noisy, estimate, &regions.flat);
        let mut found = Residual {
            family: family.spec(),
            pixels,
            dispersion,
            variance_known,
            quantiles,
            correlations,
            offsets,
            ratio,
            standardised,
            findings: Vec::new(),
        };
        if found.is_judged() {
            found.findings = Measured { residual: &found, support: family.support() }.findings();
        }
        Ok(found)
    }
}

/// Residuals with those that are far from all others drawn in.
fn clipped(standardised: &Array4<f64>) -> Array4<f64> {
    let mut sizes: Vec<f64> = standardised.iter().filter(|r| !r.is_nan()).map(|r| r.abs()).collect();
    let middle = sizes.len() / 2;
    let median = if sizes.is_empty() { 0.0 } else { *sizes.select_nth_unstable_by(middle, f64::total_cmp).1 };
    let most = CLIPPED * (median / GAUSSIAN_MEDIAN).max(1.0);
    standardised.mapv(|r| if r.is_nan() { r } else { r.clamp(-most, most) })
}

/// The mean square of the pixels that are present.
fn power(values: &Array4<f64>) -> f64 {
    let present = values.iter().filter(|value| !value.is_nan());
    let (sum, count) = present.fold((0.0, 0.0), |(sum, count), value| (sum + value * value, count + 1.0));
    sum / count
}
