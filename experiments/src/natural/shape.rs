//! What a field looks like.

use ndarray::ArrayView2;
use serde::Serialize;

use super::field::{Field, Unfit};
use super::gabor::Gabor;
use super::globular::Globular;

/// The share of the variance that a form has to explain to name a field.
///
/// Noise has a shape, too, if it is smooth. This is what 200 fields of Gaussian noise of 12 x 12 pixels get, under a
/// Gaussian blur of a width in pixels: the share of the variance that the better form explains, and the share of the
/// fields that are then named a Gabor function or globular, at four thresholds.
///
/// | blur | median | 95 % | named at 0.6 | at 0.7 | at 0.8 | at 0.9 |
/// | --- | --- | --- | --- | --- | --- | --- |
/// | none | 0.140 | 0.187 | 0 | 0 | 0 | 0 |
/// | 1.0 | 0.474 | 0.637 | 0.055 | 0.010 | 0 | 0 |
/// | 1.5 | 0.637 | 0.814 | 0.270 | 0.125 | 0.030 | 0 |
/// | 2.0 | 0.750 | 0.902 | 0.275 | 0.210 | 0.090 | 0.015 |
///
/// At 0.8 noise is rarely named unless it is so smooth that a patch has room for one or two lumps only; no threshold
/// tells fields as smooth as that from noise by one field, so a share of Gabor functions should stand beside that of
/// noise of the same smoothness. (The test `noise_is_named_as_rarely_as_documented` makes this table.)
pub(crate) const THRESHOLD: f64 = 0.8;
/// A field is globular rather than a Gabor function if it explains at most this much less of the variance: the Gabor
/// function contains blobs (as waves far longer than its envelope) and is freer than they are, so it is rarely below. A
/// blob with half as much noise as it has energy itself stays within the margin.
pub(crate) const GLOBULAR_MARGIN: f64 = 0.03;
/// A field is localised if it covers at most this share of its picture.
pub(crate) const LOCALISED: f64 = 0.5;

/// The kind of form that a field looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Kind {
    /// A Gabor function: localised, oriented.
    Gabor,
    /// A blob, or a centre with a surround: localised, not oriented.
    Globular,
    /// Neither fits well enough, or what fits is not localised (a grating).
    Other,
    /// Nothing was fitted.
    Unfit(Unfit),
}

/// A field's two fits.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Fits {
    pub(crate) gabor: Gabor,
    pub(crate) globular: Globular,
    /// The shares of the picture that the two cover: where the envelope is within one and a half widths of its centre.
    pub(crate) gabor_cover: f64,
    pub(crate) globular_cover: f64,
}

/// The form of a field, with the fits that tell.
///
/// The field is taken as it is: fields on top of a base level (those of Poisson noise, say) should come without it,
/// because the forms have no offset.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Shape {
    pub(crate) fits: Result<Fits, Unfit>,
    /// The kind of the field at [`THRESHOLD`].
    pub(crate) kind: Kind,
    /// The share of the variance that the better of the two forms explains; zero if nothing was fitted.
    pub(crate) r2: f64,
    /// Whether the form that is the better account of the field covers at most [`LOCALISED`] of it.
    pub(crate) localised: bool,
}

impl Shape {
    /// Fits both forms. Fields that are flat, too small or not finite get a kind that says so.
    pub(crate) fn of(field: ArrayView2<f64>) -> Self {
        let fits = Field::new(field).and_then(|field| {
            // a field without pixels would be small: there is always a start
            let (gabor, globular) = Gabor::fit(&field).zip(Globular::fit(&field)).ok_or(Unfit::Small)?;
            let (rows, columns) = (field.rows, field.columns);
            let (gabor_cover, globular_cover) = (gabor.cover(rows, columns), globular.cover(rows, columns));
            Ok(Fits { gabor, globular, gabor_cover, globular_cover })
        });
        let r2 = fits.map_or(0.0, |fits| fits.gabor.r2.max(fits.globular.r2));
        let localised = fits.is_ok_and(|fits| fits.cover() <= LOCALISED);
        let shape = Self { fits, kind: Kind::Other, r2, localised };
        Self { kind: shape.kind_at(THRESHOLD), ..shape }
    }

    /// The kind of the field if a form has to explain this share of the variance.
    pub(crate) fn kind_at(&self, threshold: f64) -> Kind {
        match self.fits {
            Err(why) => Kind::Unfit(why),
            Ok(fits) if !self.localised || fits.chosen_r2() < threshold => Kind::Other,
            Ok(fits) if fits.is_globular() => Kind::Globular,
            Ok(_) => Kind::Gabor,
        }
    }

    /// Whether a form explains this share of the variance but is not localised.
    pub(crate) fn extended_at(&self, threshold: f64) -> bool {
        self.fits.is_ok_and(|fits| !self.localised && fits.chosen_r2() >= threshold)
    }
}

impl Fits {
    /// Whether the globular field is the better account of the two, whatever it explains.
    fn is_globular(&self) -> bool {
        self.globular.r2 >= self.gabor.r2 - GLOBULAR_MARGIN
    }

    fn chosen_r2(&self) -> f64 {
        if self.is_globular() { self.globular.r2 } else { self.gabor.r2 }
    }

    fn cover(&self) -> f64 {
        if self.is_globular() { self.globular_cover } else { self.gabor_cover }
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use ndarray::Array2;

    use super::*;
    use crate::natural::planted::{Noise, gabor, picture};

    #[test]
    fn gabor_functions_and_blobs_are_told_apart() {
        let mut noise = Noise::new(4);
        let (mut right, mut all) = (0, 0);
        for step in 0..20 {
            let turn = f64::from(step) * 0.15;
            let wave = gabor([5.0, 6.0, turn, 0.15 + 0.01 * turn, 1.8, 2.2, 1.0, 2.0 * turn]);
            let blob = |x: f64, y: f64| (-0.5 * ((x - 5.0 - turn).powi(2) + (y - 6.0).powi(2)) / 2.0).exp();
            let ring = |x: f64, y: f64| {
                let m = ((x - 6.0).powi(2) + (y - 5.0 - turn).powi(2)) / 1.5;
                (-0.5 * m).exp() - 0.35 * (-0.5 * m / 2.5).exp()
            };
            for (field, kind) in [
                (picture(12, 12, |x, y| wave.at(x, y)), Kind::Gabor),
                (picture(12, 12, blob), Kind::Globular),
                (picture(12, 12, ring), Kind::Globular),
            ] {
                assert_eq!(Shape::of(field.view()).kind, kind);
                // noise of a tenth of the energy
                let size = (field.iter().map(|value| value * value).sum::<f64>() / 144.0 / 9.0).sqrt();
                let shape = Shape::of((field + noise.white(12, 12) * size).view());
                right += usize::from(shape.kind == kind);
                all += 1;
            }
        }
        assert!(right * 20 >= all * 19, "{right} of {all}");
    }

    #[test]
    fn noise_on_blobs_stays_within_the_margin() {
        let mut noise = Noise::new(9);
        for step in 0..60 {
            let x0 = 4.0 + 0.05 * f64::from(step);
            let blob = picture(12, 12, |x, y| (-0.25 * ((x - x0).powi(2) + (y - 6.0).powi(2))).exp());
            // half as much energy as the blob has
            let size = (blob.iter().map(|value| value * value).sum::<f64>() / 144.0 / 2.0).sqrt();
            let fits = Shape::of((blob + noise.white(12, 12) * size).view()).fits.expect("a fit");
            assert!(fits.is_globular(), "{fits:?}");
        }
    }

    #[test]
    fn a_grating_is_not_localised() {
        for theta in [0.0_f64, 0.6, 2.0] {
            let grating = picture(12, 12, |x, y| (TAU * 0.2 * (x * theta.cos() + y * theta.sin())).cos());
            let shape = Shape::of(grating.view());
            assert!(shape.r2 > 0.95, "{shape:?}");
            assert!(!shape.localised && shape.kind == Kind::Other && shape.extended_at(THRESHOLD), "{shape:?}");
        }
    }

    #[test]
    fn fields_without_a_shape_say_so() {
        let kind = |field: Array2<f64>| Shape::of(field.view()).kind;
        assert_eq!(kind(Array2::zeros((12, 12))), Kind::Unfit(Unfit::Flat));
        assert_eq!(kind(Array2::from_elem((12, 12), 0.1)), Kind::Unfit(Unfit::Flat));
        for dim in [(0, 0), (1, 1), (2, 3), (4, 30)] {
            assert_eq!(kind(Array2::ones(dim)), Kind::Unfit(Unfit::Small));
        }
        for value in [f64::NAN, f64::INFINITY] {
            let mut field = Noise::new(5).white(8, 8);
            field[[3, 4]] = value;
            assert_eq!(kind(field), Kind::Unfit(Unfit::NotFinite));
        }
    }

    #[test]
    fn extreme_fields_are_fitted_without_harm() {
        let mut one_pixel = Array2::zeros((12, 12));
        one_pixel[[0, 11]] = 1e300;
        let checks = picture(12, 12, |x, y| if (x + y) % 2.0 == 0.0 { 1e-300 } else { -1e-300 });
        let ramp = picture(5, 30, |x, _| 1e9 + x);
        assert_eq!(Shape::of(one_pixel.view()).kind, Kind::Globular);
        for field in [checks, ramp] {
            let shape = Shape::of(field.view());
            let fits = shape.fits.expect("a fit");
            assert!(fits.gabor.r2.is_finite() && fits.globular.r2.is_finite(), "{shape:?}");
            assert_eq!(shape.kind, Kind::Other, "{shape:?}");
        }
    }
}
