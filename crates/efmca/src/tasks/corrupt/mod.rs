//! Noisy images to test with: every pixel drawn from a family with the mean that a clean image gives it.

use std::collections::HashMap;

use ndarray::{Array4, ArrayView4};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::quality::psnr;
use crate::error::{Error, Result};
use crate::family::{FamilySpec, Member, Members, SharedFamily};

/// Images of integers have few different values, and their parameters are worked out once; this many at most.
const REMEMBERED: usize = 1 << 16;

/// Settings for making a clean image noisy.
///
/// ```
/// use efmca::tasks::corrupt::Corruption;
/// use ndarray::Array4;
///
/// let clean = Array4::from_shape_fn((1, 8, 8, 1), |(_, row, _, _)| 10.0 * row as f64); // page, row, column, channel
/// let dim = Corruption::new("poisson").peak(2.0).seed(1).run(clean.view())?;
/// assert_eq!(dim.means[[0, 7, 0, 0]], 2.0);
/// assert_eq!(dim.scale, 35.0); // means times scale are the clean values again
/// assert_eq!(dim.noisy[[0, 0, 3, 0]], 0.0); // no photons where it is dark
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Corruption {
    family: FamilySpec,
    peak: Option<f64>,
    sd: Option<f64>,
    floor: Option<f64>,
    #[serde(default)]
    offset: Option<f64>,
    seed: u64,
}

/// A noisy image with the means that it was drawn from.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Corrupted {
    /// The drawn values; NaN where the clean image has NaN.
    pub noisy: Array4<f64>,
    /// The mean of every value.
    pub means: Array4<f64>,
    /// The factor from means (and estimates of them), less the offset, back to the unit of the clean image: its largest value
    /// divided by the peak, and 1 without a peak.
    pub scale: f64,
    /// How many means were below the floor and were raised to it.
    pub raised: usize,
    /// The largest mean, which is the peak if one was given and no offset; NaN if every pixel is missing.
    pub largest_mean: f64,
    /// The PSNR of the noisy image against the means, with the largest mean as peak; none if that is not positive.
    pub psnr: Option<f64>,
}

impl Corruption {
    /// Noise of a family, with the values of the clean image as its means.
    ///
    /// The mean decides on everything for families with one parameter. Those with two (`gaussian`, `gamma`, `beta`,
    /// `log-normal`, `inverse-gaussian`) need [`Corruption::sd`], too, or a fixed parameter (`gaussian:var=25`,
    /// `gamma:k=4`).
    pub fn new(family: impl Into<FamilySpec>) -> Corruption {
        Corruption { family: family.into(), peak: None, sd: None, floor: None, offset: None, seed: 0 }
    }

    /// Scales the image so that its largest value becomes `peak`: mean = value / largest value · peak.
    #[must_use]
    pub fn peak(mut self, peak: f64) -> Corruption {
        self.peak = Some(peak);
        self
    }

    /// The standard deviation of every pixel, in the unit of the means.
    #[must_use]
    pub fn sd(mut self, sd: f64) -> Corruption {
        self.sd = Some(sd);
        self
    }

    /// Raises means below `floor` to it, for families that have no mean of zero.
    #[must_use]
    pub fn floor(mut self, floor: f64) -> Corruption {
        self.floor = Some(floor);
        self
    }

    /// Adds `offset` to every mean, after scaling: what a camera reads without light.
    #[must_use]
    pub fn offset(mut self, offset: f64) -> Corruption {
        self.offset = Some(offset);
        self
    }

    /// The same seed gives the same values, bit for bit. Every pixel has random numbers of its own.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Corruption {
        self.seed = seed;
        self
    }

    /// Whether the settings can be used; any image may come.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownFamily`] for a family that does not exist, [`Error::Setting`] for a peak, floor or standard deviation
    /// without meaning, [`Error::FamilyParameter`] for a family whose noise is not fixed by them.
    pub fn check(&self) -> Result<()> {
        self.check_numbers()?;
        Members::new(&*self.family.resolve()?, self.sd)?;
        Ok(())
    }

    /// Draws a noisy image from a clean one by page, row, column and channel.
    ///
    /// Families of integers allow a mean at an end of their values (0 for counts) and then always give that value.
    /// NaN stays NaN.
    ///
    /// # Errors
    ///
    /// All that [`Corruption::check`] finds; [`Error::Setting`] for an image that cannot be scaled to the peak, and
    /// [`Error::ImpossibleMean`] for the first mean that the family does not have.
    pub fn run(&self, clean: ArrayView4<f64>) -> Result<Corrupted> {
        self.check_numbers()?;
        let family = self.family.resolve()?;
        let members = Members::new(&*family, self.sd)?;
        let (mut means, scale) = self.means(clean)?;
        means += self.offset.unwrap_or(0.0);
        let raised = self.raise(&mut means);
        let noisy = self.draw(&family, &members, &means)?;
        let largest_mean = means.iter().copied().fold(f64::NAN, f64::max);
        let psnr = if largest_mean > 0.0 { Some(psnr(noisy.view(), means.view(), largest_mean)?) } else { None };
        Ok(Corrupted { noisy, means, scale, raised, largest_mean, psnr })
    }

    fn check_numbers(&self) -> Result<()> {
        for (name, value) in [("peak", self.peak), ("sd", self.sd)] {
            if let Some(value) = value.filter(|value| !(value.is_finite() && *value > 0.0)) {
                return Err(Error::setting(name, value, "it must be a positive number"));
            }
        }
        for (name, value) in [("floor", self.floor), ("offset", self.offset)] {
            if let Some(value) = value.filter(|value| !value.is_finite()) {
                return Err(Error::setting(name, value, "it must be a finite number"));
            }
        }
        Ok(())
    }

    /// The means before the floor, and the factor that brings them back.
    fn means(&self, clean: ArrayView4<f64>) -> Result<(Array4<f64>, f64)> {
        if let Some((place, value)) = clean.indexed_iter().find(|(_, value)| value.is_infinite()) {
            return Err(self.impossible(place, *value, "every value must be finite, and NaN marks a missing one"));
        }
        let Some(peak) = self.peak else {
            return Ok((clean.to_owned(), 1.0));
        };
        let largest = clean.iter().copied().fold(f64::NAN, f64::max);
        let scale = largest / peak;
        if !(scale > 0.0 && scale.is_finite()) {
            let requirement = format!("the largest value of the image is {largest}, which cannot be scaled to a peak");
            return Err(Error::setting("peak", peak, requirement));
        }
        Ok((clean.mapv(|value| value / largest * peak), scale))
    }

    /// Raises means to the floor and counts them.
    fn raise(&self, means: &mut Array4<f64>) -> usize {
        let Some(floor) = self.floor else {
            return 0;
        };
        let mut raised = 0;
        for mean in means.iter_mut().filter(|mean| **mean < floor) {
            *mean = floor;
            raised += 1;
        }
        raised
    }

    fn draw(&self, family: &SharedFamily, members: &Members<'_>, means: &Array4<f64>) -> Result<Array4<f64>> {
        let mut noisy = means.clone();
        let mut remembered: HashMap<u64, Member> = HashMap::new();
        for (pixel, ((place, value), mean)) in noisy.indexed_iter_mut().zip(means).enumerate() {
            if mean.is_nan() {
                continue;
            }
            if remembered.len() >= REMEMBERED {
                remembered.clear();
            }
            let member = match remembered.entry(mean.to_bits()) {
                std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::hash_map::Entry::Vacant(entry) => {
                    entry.insert(members.with_mean(*mean).map_err(|why| self.impossible(place, *mean, why))?)
                }
            };
            *value = match member {
                Member::Constant(value) => *value,
                Member::Natural(eta) => {
                    let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
                    rng.set_stream(pixel as u64);
                    let drawn = family.sample(eta, &mut rng);
                    if !drawn.is_finite() {
                        let why = "a value drawn with it is too large to be written as a number; scale the image";
                        return Err(self.impossible(place, *mean, why));
                    }
                    drawn
                }
            };
        }
        Ok(noisy)
    }

    fn impossible(&self, place: (usize, usize, usize, usize), mean: f64, problem: impl Into<String>) -> Error {
        Error::ImpossibleMean { place: place.into(), mean, family: self.family.spec(), problem: problem.into() }
    }
}

#[cfg(test)]
mod tests;
