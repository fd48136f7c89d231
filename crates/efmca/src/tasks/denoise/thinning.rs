//! The same scene with fewer counts: what a second run on a part of the data says about the first one.

use ndarray::{Array4, ArrayView4, Zip};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::merge::Estimate;
use super::noise_curve::NoiseCurve;
use crate::family::{Family, Noise, SharedFamily};
use crate::hash::of_place;

/// The share of the data that the second run sees. It has hardly less to learn from; how well the rest is predicted does not
/// matter, because the two runs are compared.
pub(super) const SHARE: f64 = 0.8;
/// Seeds of the parts, beside those of the models.
const SEED: u64 = 0x7468_696e;

/// A noisy image as the sum of two independent ones, of which the first is seen by a second run.
///
/// With $y = y_1 + y_2$ and a share $\varrho$, both $y_1/\varrho$ and $y_2/(1-\varrho)$ have the mean of $y$, and given $y$ their
/// difference $t$ has mean zero. An estimator that gives $m$ for $y$ and $m_1$ (in units of $y$) for $y_1$ therefore has
/// $$ \mathrm{Cov}(m, y) \approx \varrho\,\mathbb E\big\lbrack (m_1 - m)\, t\big\rbrack , $$
/// summed over any part of the image: how much it follows the noise, whatever it is made of and whatever it has learned. That is what
/// Stein's estimate of its risk needs. ($m$ itself changes nothing on average, but $m_1 - m$ is small, and so is the error.)
pub(super) struct Thinned {
    /// The family of the part.
    pub(super) family: SharedFamily,
    /// The part that is seen, missing where a pixel is.
    pub(super) seen: Array4<f64>,
    /// $\varrho\, t$, zero where a pixel is missing.
    pub(super) contrast: Array4<f64>,
}

impl Thinned {
    /// A part of an image, given an estimate of it and its noise; `None` if the family has no parts.
    pub(super) fn of(
        family: &dyn Family,
        noisy: ArrayView4<'_, f64>,
        estimate: &Estimate,
        curve: &NoiseCurve,
        seed: u64,
    ) -> Option<Thinned> {
        let part = family.part(SHARE)?;
        let mut random = ChaCha8Rng::seed_from_u64(of_place(SEED, seed));
        let mut seen = noisy.to_owned();
        let mut contrast = Array4::zeros(noisy.dim());
        // one after the other, because each draws from the same numbers
        Zip::from(&mut seen).and(&mut contrast).and(&estimate.mean).for_each(|seen, contrast, mean| {
            let y = *seen;
            if y.is_nan() {
                return;
            }
            let one = part.draw(y, Noise { mean: *mean, variance: curve.at(*mean) }, &mut random);
            *seen = one;
            *contrast = one - SHARE * (y - one) / (1.0 - SHARE);
        });
        Some(Thinned { family: part.family, seen, contrast })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::family;
    use crate::tasks::corrupt::Corruption;

    #[test]
    fn the_contrast_measures_how_much_an_estimate_follows_the_noise() {
        for spec in ["poisson", "gamma:k=4", "gaussian:var=5", "gaussian", "negative-binomial:r=3"] {
            let clean = Array4::from_elem((1, 200, 200, 1), 5.0);
            let noise = if spec == "gaussian" { "gaussian:var=5" } else { spec };
            let mut noisy = Corruption::new(noise).seed(2).run(clean.view()).unwrap().noisy;
            noisy[[0, 3, 4, 0]] = f64::NAN;
            let whole = Estimate { mean: clean.clone(), deviation: clean.mapv(|_| 0.0) };
            let curve = NoiseCurve::measured(noisy.view(), clean.view());
            let noise = family(spec).unwrap();
            let thinned = Thinned::of(&*noise, noisy.view(), &whole, &curve, 1).unwrap();
            assert!(thinned.seen[[0, 3, 4, 0]].is_nan() && thinned.contrast[[0, 3, 4, 0]] == 0.0);
            // an estimator that follows the noise by a tenth
            let follower = |y: f64, share: f64| if y.is_nan() { 5.0 } else { 5.0 + 0.1 * (y / share - 5.0) };
            let covariance: f64 = noisy
                .iter()
                .zip(&thinned.seen)
                .zip(&thinned.contrast)
                .map(|((y, seen), contrast)| (follower(*seen, SHARE) - follower(*y, 1.0)) * contrast)
                .sum();
            let expected: f64 = 0.1 * curve.at(5.0) * noisy.len() as f64;
            assert!((covariance / expected - 1.0).abs() < 0.1, "{spec}: {covariance} instead of {expected}");
        }
        let clean = Array4::from_elem((1, 9, 9, 1), 1.0);
        let whole = Estimate { mean: clean.clone(), deviation: clean.clone() };
        let curve = NoiseCurve::measured(clean.view(), clean.view());
        assert!(Thinned::of(&*family("laplace").unwrap(), clean.view(), &whole, &curve, 1).is_none());
    }
}
