//! From images and rows as they are in files to rows that features are learned from.

use std::sync::Arc;

use ndarray::Array3;
use serde::{Deserialize, Serialize};

use super::whiten::check_share;
use super::{Drawing, DrawnPatches, ImagePixel, PreparationError, SharedRows, WhitenedRows, Whitening};
use crate::error::Error;
use crate::family::Family;
use crate::model::Data;

/// The function that is applied to each pixel of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transform {
    /// Values stay as they are.
    #[default]
    None,
    /// The natural logarithm, for positive values: contrasts of light are ratios.
    Log,
}

/// The steps between images and the rows that features are learned from: each image is divided by its mean, its values
/// are transformed, patches are drawn, and these are whitened. Each of the steps can be left out.
///
/// ```
/// use efmca::family::family;
/// use efmca::tasks::learn::{Drawing, FeatureLearner, Preparation, Transform};
/// use ndarray::Array3;
///
/// let stripes = |(y, x, _): (usize, usize, usize)| 1.0 + ((x + y) / 3 % 2) as f64 + (7 * x * y % 5) as f64 / 5.0;
/// let images = vec![Array3::from_shape_fn((30, 40, 1), stripes)];
///
/// let gaussian = family("gaussian")?;
/// let preparation = Preparation { transform: Transform::Log, ..Preparation::of(&*gaussian) };
/// let images = preparation.images(images, &*gaussian)?;
/// let rows = preparation.patches(images, Drawing { patch: (6, 6), count: 300, seed: 1 })?;
/// let fit = FeatureLearner::new(gaussian, 4).iterations(5).states(8).run(&*rows.data)?;
/// assert_eq!(fit.model.d(), 36);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Preparation {
    /// The function of each value.
    pub transform: Transform,
    /// Whether each image is divided by the mean of its values first, for images with different exposures or bit
    /// depths.
    pub normalise: bool,
    /// The share of the variance that is whitened; see [`Whitening::fit`].
    pub whiten: Option<f64>,
}

/// Rows that features can be learned from.
pub struct PreparedRows {
    /// The rows.
    pub data: Box<dyn Data + Send>,
    /// The whitening that was applied to them, if any.
    pub whitening: Option<Whitening>,
    /// The number of patches that were left out because a pixel is missing.
    pub incomplete: usize,
}

impl Preparation {
    /// The share of the variance that is whitened where nothing else is said. The rest of natural images is mostly
    /// noise.
    pub const WHITENED_SHARE: f64 = 0.95;

    /// The usual preparation for a family: values as they are, whitened if the family is one of all real numbers.
    #[must_use]
    pub fn of(family: &dyn Family) -> Preparation {
        let whiten = allows_whitening(family).then_some(Preparation::WHITENED_SHARE);
        Preparation { transform: Transform::None, normalise: false, whiten }
    }

    /// Checks the settings before any image is read.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] if the share of the variance is not above 0 and at most 1, or if the family is not one of all
    /// real numbers, which whitened values are.
    pub fn check(&self, family: &dyn Family) -> crate::Result<()> {
        let Some(share) = self.whiten else { return Ok(()) };
        check_share(share)?;
        if allows_whitening(family) {
            return Ok(());
        }
        let requirement = format!(
            "whitened values have both signs, and `{}` is for {}; leave whitening out, or choose a family of all real \
             numbers such as gaussian",
            family.spec(),
            family.support()
        );
        Err(Error::setting("whiten", share, requirement))
    }

    /// All images by row, column and channel, each divided by its mean and transformed where that is set.
    ///
    /// # Errors
    ///
    /// As [`Preparation::image`].
    pub fn images(&self, images: Vec<Array3<f64>>, family: &dyn Family) -> Result<Vec<Array3<f64>>, PreparationError> {
        images.into_iter().zip(1..).map(|(image, number)| self.image(image, number, family)).collect()
    }

    /// One image of many, where they are read one after another; `number` counts from 1 and is only used in errors.
    ///
    /// # Errors
    ///
    /// A [`PreparationError`] with the first pixel that is infinite, has no logarithm, or is not in the support of the
    /// family in the end; or with the mean of the image, if that is not positive and should be.
    pub fn image(
        &self,
        mut image: Array3<f64>,
        number: usize,
        family: &dyn Family,
    ) -> Result<Array3<f64>, PreparationError> {
        let first = |image: &Array3<f64>, is_wrong: &dyn Fn(f64) -> bool| {
            let ((row, column, _), value) = image.indexed_iter().find(|(_, value)| is_wrong(**value))?;
            Some((ImagePixel { image: number, row: row + 1, column: column + 1 }, *value))
        };
        if let Some((pixel, value)) = first(&image, &f64::is_infinite) {
            return Err(PreparationError::NotFinite { pixel, value });
        }
        if self.normalise {
            let present = || image.iter().copied().filter(|value| !value.is_nan());
            let mean = present().sum::<f64>() / present().count().max(1) as f64;
            if !(mean > 0.0 && mean.is_finite()) {
                return Err(PreparationError::NoMean { image: number, mean });
            }
            image.mapv_inplace(|value| value / mean);
        }
        if self.transform == Transform::Log {
            if let Some((pixel, value)) = first(&image, &|value| value <= 0.0) {
                return Err(PreparationError::NoLogarithm { pixel, value });
            }
            image.mapv_inplace(f64::ln);
        }
        let support = family.support();
        if let Some((pixel, value)) = first(&image, &|value| !value.is_nan() && !support.contains(value)) {
            let (family, support) = (family.spec(), support.to_string());
            return Err(PreparationError::OutsideSupport { pixel, value, family, support });
        }
        Ok(image)
    }

    /// Patches at random places of prepared images, whitened where that is set. Patches with missing pixels are left
    /// out then: they cannot be whitened.
    ///
    /// # Errors
    ///
    /// As [`DrawnPatches::new`] and [`Whitening::fit`], and [`PreparationError::NoCompletePatch`] if all patches have
    /// missing pixels and are to be whitened.
    pub fn patches(&self, images: Vec<Array3<f64>>, drawing: Drawing) -> Result<PreparedRows, PreparationError> {
        let some = !images.is_empty();
        let drawn = DrawnPatches::new(images, drawing, self.whiten.is_some()).map_err(|error| match error {
            Error::EmptyData { .. } if some => PreparationError::NoCompletePatch { patch: drawing.patch },
            other => other.into(),
        })?;
        let incomplete = drawn.incomplete();
        let Some(share) = self.whiten else {
            return Ok(PreparedRows { data: Box::new(drawn), whitening: None, incomplete });
        };
        let whitening = Whitening::fit(&drawn, share)?;
        let data = Box::new(SharedRows(Arc::new(whitening.whitened(&drawn)?)));
        Ok(PreparedRows { data, whitening: Some(whitening), incomplete })
    }

    /// Rows that are not patches, whitened each time they are read where that is set.
    ///
    /// # Errors
    ///
    /// As [`Whitening::fit`], and [`Error::Setting`] if rows are to be normalised or transformed: they are taken as
    /// they are.
    pub fn rows(&self, rows: impl Data + Send + 'static) -> Result<PreparedRows, PreparationError> {
        if self.normalise || self.transform != Transform::None {
            let name = if self.normalise { "normalise" } else { "transform" };
            return Err(Error::setting(name, "set", "it is for images; rows are taken as they are").into());
        }
        let Some(share) = self.whiten else {
            return Ok(PreparedRows { data: Box::new(rows), whitening: None, incomplete: 0 });
        };
        let whitening = Whitening::fit(&rows, share)?;
        let data = Box::new(WhitenedRows::new(rows, whitening.clone())?);
        Ok(PreparedRows { data, whitening: Some(whitening), incomplete: 0 })
    }
}

/// Whether a family has all real numbers, which whitened values are.
fn allows_whitening(family: &dyn Family) -> bool {
    let support = family.support();
    support.low == f64::NEG_INFINITY && support.high == f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::family;

    /// Stripes with something like noise, all values positive integers.
    fn image() -> Array3<f64> {
        Array3::from_shape_fn((20, 16, 1), |(y, x, _)| ((x + y / 3) / 4 % 2 * 50 + (x * 31 + y * 17) % 13 + 1) as f64)
    }

    fn with(value: f64) -> Array3<f64> {
        let mut image = image();
        image[[12, 9, 0]] = value;
        image
    }

    const PIXEL: ImagePixel = ImagePixel { image: 2, row: 13, column: 10 };
    const PLAIN: Preparation = Preparation { transform: Transform::None, normalise: false, whiten: None };
    const DRAWING: Drawing = Drawing { patch: (5, 4), count: 100, seed: 3 };

    #[test]
    fn only_families_of_all_real_numbers_are_whitened() {
        for (spec, share) in [("gaussian", Some(0.95)), ("poisson", None), ("bernoulli", None), ("gamma:k=4", None)] {
            let family = family(spec).unwrap();
            let usual = Preparation::of(&*family);
            assert_eq!(usual, Preparation { whiten: share, ..PLAIN }, "{spec}");
            usual.check(&*family).unwrap();
            let asked = Preparation { whiten: Some(0.9), ..PLAIN }.check(&*family);
            assert_eq!(asked.is_ok(), share.is_some(), "{spec}: {asked:?}");
        }
        let gaussian = family("gaussian").unwrap();
        for share in [0.0, -1.0, 1.1, f64::NAN, f64::INFINITY] {
            let refused = Preparation { whiten: Some(share), ..PLAIN }.check(&*gaussian);
            assert!(matches!(refused, Err(Error::Setting { name: "whiten", .. })), "{share}: {refused:?}");
        }
    }

    #[test]
    fn images_are_divided_by_their_mean_and_then_transformed() {
        let gaussian = family("gaussian").unwrap();
        let both = Preparation { transform: Transform::Log, normalise: true, whiten: None };
        let found = both.images(vec![image(), with(f64::NAN)], &*gaussian).unwrap();
        let mean = image().mean().unwrap();
        assert!(found[0].iter().zip(&image()).all(|(found, value)| (found - (value / mean).ln()).abs() < 1e-12));
        // a missing pixel stays missing and does not count
        let present: Vec<f64> = with(f64::NAN).into_iter().filter(|value| !value.is_nan()).collect();
        let mean = present.iter().sum::<f64>() / present.len() as f64;
        assert!(found[1][[12, 9, 0]].is_nan());
        assert!((found[1][[0, 0, 0]] - (image()[[0, 0, 0]] / mean).ln()).abs() < 1e-12);
        assert_eq!(PLAIN.images(vec![image()], &*gaussian).unwrap(), [image()]);
    }

    #[test]
    fn values_that_do_not_fit_are_errors_with_their_pixel() {
        let (gaussian, poisson) = (family("gaussian").unwrap(), family("poisson").unwrap());
        let log = Preparation { transform: Transform::Log, ..PLAIN };
        let normalised = Preparation { normalise: true, ..PLAIN };
        let refused = |preparation: Preparation, value: f64, family: &dyn Family| {
            preparation.images(vec![image(), with(value)], family).unwrap_err()
        };
        let value = f64::INFINITY;
        assert_eq!(refused(PLAIN, value, &*gaussian), PreparationError::NotFinite { pixel: PIXEL, value });
        assert_eq!(refused(log, 0.0, &*gaussian), PreparationError::NoLogarithm { pixel: PIXEL, value: 0.0 });
        assert!(
            matches!(refused(normalised, -1e6, &*gaussian), PreparationError::NoMean { image: 2, mean } if mean < 0.0)
        );
        let half = refused(PLAIN, 3.5, &*poisson);
        assert!(matches!(half, PreparationError::OutsideSupport { pixel: PIXEL, .. }), "{half}");
        assert!(half.to_string().starts_with("image 2, row 13, column 10: the value 3.5"), "{half}");
        let first = ImagePixel { image: 1, row: 1, column: 1 };
        let fractions = refused(normalised, 1.0, &*poisson);
        assert!(matches!(fractions, PreparationError::OutsideSupport { pixel, .. } if pixel == first), "{fractions}");
    }

    #[test]
    fn patches_are_drawn_and_whitened() {
        let white = Preparation { whiten: Some(0.9), ..PLAIN };
        let drawn = DrawnPatches::new(vec![image()], DRAWING, true).unwrap();
        let whitening = Whitening::fit(&drawn, 0.9).unwrap();
        let expected = whitening.whitened(&drawn).unwrap();
        let found = white.patches(vec![image()], DRAWING).unwrap();
        assert_eq!((found.data.n(), found.data.d(), found.incomplete), (100, 20, 0));
        let (mut y, mut plain) = (vec![0.0; 20], vec![0.0; 20]);
        let unchanged = PLAIN.patches(vec![image()], DRAWING).unwrap();
        for n in 0..100 {
            found.data.read_row(n, &mut y);
            assert!(y.iter().zip(expected.row(n)).all(|(found, expected)| *found == f64::from(*expected)));
            unchanged.data.read_row(n, &mut y);
            drawn.read_row(n, &mut plain);
            assert_eq!(y, plain);
        }
        assert_eq!((found.whitening, unchanged.whitening), (Some(whitening), None));

        let all = Drawing { count: 1000, ..DRAWING };
        let holes = white.patches(vec![with(f64::NAN)], all).unwrap();
        assert_eq!((holes.data.n(), holes.incomplete), (16 * 13 - 20, 20));
        let kept = PLAIN.patches(vec![with(f64::NAN)], all).unwrap();
        assert_eq!((kept.data.n(), kept.incomplete), (16 * 13, 0));
    }

    #[test]
    fn patches_that_cannot_be_whitened_are_refused() {
        let white = Preparation { whiten: Some(0.9), ..PLAIN };
        let refused = |image: Array3<f64>, drawing: Drawing| white.patches(vec![image], drawing).err().unwrap();
        let missing = refused(Array3::from_elem((8, 8, 1), f64::NAN), DRAWING);
        assert_eq!(missing, PreparationError::NoCompletePatch { patch: (5, 4) });
        let one = Drawing { count: 1, ..DRAWING };
        assert_eq!(refused(image(), one), PreparationError::TooFewRows { rows: 1 });
        assert_eq!(refused(Array3::from_elem((8, 8, 1), 7.0), DRAWING), PreparationError::NoVariance);
        let large = refused(image(), Drawing { patch: (21, 4), ..DRAWING });
        assert!(matches!(large, PreparationError::Other(Error::Shape { .. })), "{large}");
        let none = white.patches(Vec::new(), DRAWING).err().unwrap();
        assert!(matches!(none, PreparationError::Other(Error::EmptyData { .. })), "{none}");
    }

    #[test]
    fn rows_are_taken_as_they_are_or_whitened() {
        let rows = image().into_shape_with_order((80, 4)).unwrap();
        let found = Preparation { whiten: Some(1.0), ..PLAIN }.rows(rows.clone()).unwrap();
        let whitening = found.whitening.unwrap();
        let mut y = vec![0.0; 4];
        for n in 0..80 {
            found.data.read_row(n, &mut y);
            assert_eq!(y, whitening.apply(rows.row(n)).to_vec());
        }
        assert!(PLAIN.rows(rows.clone()).unwrap().whitening.is_none());
        assert!(Preparation { normalise: true, ..PLAIN }.rows(rows.clone()).is_err());
        assert!(Preparation { transform: Transform::Log, ..PLAIN }.rows(rows).is_err());
    }
}
