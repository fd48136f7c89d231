//! Cameras that count photons: their numbers, their noise, and how to find the numbers in images.

mod calibrate;

use ndarray::{Array4, ArrayView4};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Poisson, StandardNormal};
use serde::{Deserialize, Serialize};

pub use calibrate::{Calibrated, Calibration, LinePoint, Shots, StandardErrors};

use crate::error::{Error, Result};
use crate::family::CameraNoise;

/// A camera: a pixel that expects $\lambda$ photons reads $g\,k + o + r\,z$ with $k \sim \mathrm{Poisson}(\lambda)$ and
/// $z \sim \mathcal N(0, 1)$.
///
/// All three numbers are in camera units, those of the image file. The noise of an image is that of
/// [`Camera::family`]; [`Calibration`] finds the numbers in images.
///
/// ```
/// use efmca::tasks::camera::Camera;
///
/// let camera = Camera { gain: 2.1, offset: 100.0, read_noise: 1.6 };
/// camera.check()?;
/// assert_eq!(camera.variance(110.0), 2.1 * 10.0 + 1.6 * 1.6);
/// assert!(Camera { gain: -1.0, ..camera }.check().is_err());
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Camera {
    /// $g$, camera units per photon.
    pub gain: f64,
    /// $o$, the mean value of a pixel without photons.
    pub offset: f64,
    /// $r$, the standard deviation of the noise that is there without photons.
    pub read_noise: f64,
}

impl Camera {
    /// Whether this can be a camera.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] for the first number that is not finite, a gain that is not positive, and negative read
    /// noise.
    pub fn check(&self) -> Result<()> {
        if !(self.gain > 0.0 && self.gain.is_finite()) {
            return Err(Error::setting("gain", self.gain, "it must be a positive number (camera units per photon)"));
        }
        if !self.offset.is_finite() {
            return Err(Error::setting("offset", self.offset, "it must be a finite number (camera units)"));
        }
        if !(self.read_noise >= 0.0 && self.read_noise.is_finite()) {
            return Err(Error::setting("read_noise", self.read_noise, "it must be 0 or a positive number"));
        }
        Ok(())
    }

    /// The family of its noise, `camera:gain=…,offset=…,read=…`.
    ///
    /// # Errors
    ///
    /// All that [`Camera::check`] finds, and [`Error::FamilyParameter`] where the read noise is so small that values are
    /// counts: then the family is `poisson`, after (value - offset) / gain.
    pub fn family(&self) -> Result<CameraNoise> {
        self.check()?;
        CameraNoise::new(self.gain, self.offset, self.read_noise)
    }

    /// The variance of a pixel with this mean, $g(\mu - o) + r^2$; never less than that of the read noise.
    pub fn variance(&self, mean: f64) -> f64 {
        self.gain * (mean - self.offset).max(0.0) + self.read_noise * self.read_noise
    }

    /// What the camera reads where `photons` are expected: counts are drawn, multiplied by the gain, and offset and read
    /// noise are added. This is the camera itself and not its family. Every pixel has random numbers of its own; NaN stays
    /// NaN.
    ///
    /// # Errors
    ///
    /// All that [`Camera::check`] finds, and [`Error::ImpossibleMean`] for numbers of photons that are negative or too
    /// large to be drawn.
    pub fn expose(&self, photons: ArrayView4<'_, f64>, seed: u64) -> Result<Array4<f64>> {
        self.check()?;
        let mut image = photons.to_owned();
        for (pixel, (place, value)) in image.indexed_iter_mut().enumerate() {
            if value.is_nan() {
                continue;
            }
            let impossible = || Error::ImpossibleMean {
                place: place.into(),
                mean: *value,
                family: "poisson".into(),
                problem: "numbers of photons are 0 or more; scale the image".into(),
            };
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(pixel as u64);
            let count = match *value {
                0.0 => 0.0,
                rate => Poisson::new(rate).map_err(|_| impossible())?.sample(&mut rng),
            };
            let z: f64 = StandardNormal.sample(&mut rng);
            *value = self.gain * count + self.offset + self.read_noise * z;
        }
        Ok(image)
    }
}
