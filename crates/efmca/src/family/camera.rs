//! Camera noise: Poisson counts behind a gain, an offset and Gaussian read noise.

use std::sync::Arc;

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::part::{Part, part_of_gaussian};
use super::poisson::draw;
use super::registry::{Entry, FixedParameter};
use super::solve::decreasing_root;
use super::{Family, Parameter, Range, Support};
use crate::error::{Error, Result};
use crate::special::{HALF_LN_TWO_PI, ln_gamma, log_sum_exp};

/// The noise of a camera that counts photons: gain, offset and read noise are given, and the mean is learned.
///
/// A pixel that expects $\lambda$ photons reads
/// $$ y = g\,k + o + r\,z,\qquad k \sim \mathrm{Poisson}(\lambda),\ z \sim \mathcal N(0, 1) , $$
/// with the gain $g$, the offset $o$ and the read noise $r$ in the numbers of the file. With $T(y) = (y - o)/g$ and
/// $\sigma = r/g$ it has $\mathbb E\lbrack T\rbrack = \lambda$ and $\mathrm{Var}\lbrack T\rbrack = \lambda + \sigma^2$. These
/// distributions are not an exponential family. The nearest one is found in two steps.
///
/// - *Shifted counts.* $T + \sigma^2$ has mean and variance $\lambda + \sigma^2$, as a Poisson count of that rate has. So
///   a part $s$ of the read variance is taken for counts that are always there, and the other part
///   $\varepsilon^2 = \sigma^2 - s$ stays Gaussian: $T + s = k' + \varepsilon z$.
/// - *Tilting.* The density of $T + s$ for $k'$ of rate one, times $e^{\eta T}$, is that of a count of rate $e^\eta$ and a Gaussian
///   that moved by $\varepsilon^2\eta$.
///
/// $$ h(y) = \frac1g\sum_{k=0}^\infty \frac{1}{k!}\,\mathcal N\big(T(y) + s;\ k,\ \varepsilon^2\big),\qquad
/// A(\eta) = e^\eta + \tfrac12\varepsilon^2\eta^2 - s\,\eta $$
/// since $\int h(y)\,e^{\eta T(y)}dy = \sum_k \frac{1}{k!}e^{\eta(k-s) + \varepsilon^2\eta^2/2}$. Therefore
/// $$ w = \mathbb E\lbrack T\rbrack = e^\eta + \varepsilon^2\eta - s,\qquad
/// \mathrm{Var}\lbrack T\rbrack = e^\eta + \varepsilon^2 = w + \sigma^2 - \varepsilon^2\eta,\qquad F(w) = o + g\,w . $$
/// The variance is the camera's up to $\varepsilon^2\eta$ with $\eta \approx \log(\lambda + s)$. The smaller $\varepsilon$, the better;
/// but the density must not fall apart into separate counts where the camera's is smooth. With $\varepsilon = \frac12$
/// its ripple is $2e^{-2\pi^2\varepsilon^2} = 1.4\ \\%$; hence $\varepsilon = \min(\sigma, \frac12)$. For $\sigma \le \frac12$, $s = 0$: counts
/// are then visible as such in the camera's values, too.
///
/// Every real number is a value, and means may lie below the offset: nothing is clipped or rounded, which would make
/// dark regions brighter. $\Phi$ is found by Newton's method with a bracket.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CameraNoise {
    gain: f64,
    offset: f64,
    read: f64,
    /// $s$, the part of the read variance that is taken for counts.
    shift: f64,
    /// $\varepsilon^2$, the Gaussian part of the read variance.
    smooth: f64,
}

/// Largest Gaussian part of the read noise, in counts.
const SMOOTH: f64 = 0.5;
/// Smallest read noise, in counts: below it values are counts.
const SMALLEST_READ: f64 = 0.05;
/// Terms of $h$ further away than this many deviations from the nearest count are left out.
const REACH: f64 = 9.0;
/// Largest mean of either sign: its square is still a number.
const LARGEST_MEAN: f64 = 1e100;

pub(crate) const CAMERA: Entry = Entry {
    name: "camera",
    aliases: &["poisson-gaussian"],
    summary: "photon counts behind a gain, an offset and Gaussian read noise (all three known)",
    fixed: &[
        FixedParameter::required("gain", "camera units per photon"),
        FixedParameter::required("offset", "value of a pixel without photons"),
        FixedParameter::required("read", "standard deviation of the read noise in camera units"),
    ],
    examples: &[
        "camera:gain=2.1,offset=100,read=1.6",
        "camera:gain=0.5,offset=0,read=0.3",
        "camera:gain=4,offset=-10,read=1",
        "camera:gain=0.5,offset=1,read=3",
    ],
    build: |fixed| {
        let (gain, offset) = (fixed.positive("gain")?, fixed.number("offset")?);
        let read = fixed.number("read")?;
        CameraNoise::new(gain, offset, read).map(|camera| Arc::new(camera) as _).map_err(|error| match error {
            Error::FamilyParameter { problem, .. } => fixed.refuse("read", &problem),
            other => other,
        })
    },
};

impl CameraNoise {
    /// The noise of a camera with this gain, offset and read noise, all in the numbers of the file.
    ///
    /// # Errors
    ///
    /// [`Error::FamilyParameter`] for numbers that are not finite, a gain that is not positive, and read noise below
    /// a twentieth of the gain, where values are counts and [`super::Poisson`] is the family.
    pub fn new(gain: f64, offset: f64, read: f64) -> Result<CameraNoise> {
        let refuse = |problem: &str| {
            Err(Error::FamilyParameter {
                family: format!("camera:gain={gain},offset={offset},read={read}"),
                problem: problem.to_owned(),
            })
        };
        if !(gain > 0.0 && gain.is_finite() && offset.is_finite() && read.is_finite()) {
            return refuse("give finite numbers, and a positive gain");
        }
        let sigma = read / gain;
        if sigma < SMALLEST_READ {
            return refuse(
                "the read noise must be a twentieth of the gain or more; with less, values are counts: use poisson with the gain \
                 and the offset, as in `--noise poisson --gain 2.1 --offset 100`",
            );
        }
        let smooth = sigma.min(SMOOTH).powi(2);
        Ok(CameraNoise { gain, offset, read, shift: (sigma * sigma - smooth).max(0.0), smooth })
    }

    /// $T(y)$, in counts.
    fn counts(&self, y: f64) -> f64 {
        (y - self.offset) / self.gain
    }
}

impl Family for CameraNoise {
    fn spec(&self) -> String {
        format!("camera:gain={},offset={},read={}", self.gain, self.offset, self.read)
    }
    fn part(&self, share: f64) -> Option<Part> {
        let CameraNoise { gain, offset, read, .. } = *self;
        let family = Arc::new(CameraNoise::new(gain, share * offset, share.sqrt() * read).ok()?);
        // photons and read noise cannot be told apart; the variance around a value is right on average
        let variance = move |y: f64| (gain * (y - offset) + read * read).max(0.0);
        Some(Part::new(family, move |y, _, rng| part_of_gaussian(y, share, variance(y), rng)))
    }
    fn l(&self) -> usize {
        1
    }
    fn support(&self) -> Support {
        Support::REAL
    }
    fn t(&self, y: f64, t: &mut [f64]) {
        t[0] = self.counts(y);
    }
    fn log_h(&self, y: f64) -> f64 {
        let x = self.counts(y) + self.shift;
        let term = |k: f64| -0.5 * (x - k).powi(2) / self.smooth - ln_gamma(k + 1.0);
        // Factorials pull the largest term below x, by about eps^2 log x.
        let sd = self.smooth.sqrt();
        let middle = if x > 1.0 { x - self.smooth * x.ln() } else { x.max(0.0) };
        let first = (middle - REACH * sd - 2.0).max(0.0).floor();
        let count = (2.0 * REACH * sd) as usize + 6;
        let mut terms = [f64::NEG_INFINITY; 32];
        for (i, slot) in terms.iter_mut().enumerate().take(count) {
            *slot = term(first + i as f64);
        }
        log_sum_exp(&terms) - HALF_LN_TWO_PI - sd.ln() - self.gain.ln()
    }
    fn a(&self, eta: &[f64]) -> f64 {
        eta[0].exp() + (0.5 * self.smooth * eta[0] - self.shift) * eta[0]
    }
    fn grad_a(&self, eta: &[f64], w: &mut [f64]) {
        w[0] = eta[0].exp() + self.smooth * eta[0] - self.shift;
    }
    fn phi(&self, w: &[f64], eta: &mut [f64]) {
        // e^eta + eps^2 eta = u: both terms grow, so that each of them alone bounds the root
        let u = w[0] + self.shift;
        let (low, high, start) = if u >= 1.0 {
            (0.0, u.ln(), (u / (1.0 + self.smooth)).max(1.0).ln())
        } else {
            let low = (u - 1.0) / self.smooth;
            (low, (u / self.smooth).min(0.0), (u - 1.0) / (1.0 + self.smooth))
        };
        eta[0] = decreasing_root(low, high, start, |eta| {
            let rate = eta.exp();
            (u - rate - self.smooth * eta, -rate - self.smooth)
        });
    }
    fn f(&self, w: &[f64]) -> f64 {
        self.offset + self.gain * w[0]
    }
    fn inside(&self, w: &[f64]) -> bool {
        w[0].abs() <= LARGEST_MEAN
    }
    fn domain(&self) -> String {
        "|w| up to 1e100".into()
    }
    fn natural_inside(&self, eta: &[f64]) -> bool {
        eta[0].exp().is_finite() && eta[0] > -4.0 * LARGEST_MEAN / self.smooth
    }
    fn project(&self, w: &mut [f64]) {
        w[0] = w[0].clamp(-LARGEST_MEAN, LARGEST_MEAN);
    }
    fn sample(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        let count = draw(eta[0].exp(), rng) - self.shift;
        let z: f64 = StandardNormal.sample(rng);
        self.offset + self.gain * (count + self.smooth * eta[0] + self.smooth.sqrt() * z)
    }
    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("mean", Range::Real(-1e3, 1e5))]
    }
    fn conventional(&self, eta: &[f64]) -> Vec<f64> {
        let mut w = [0.0];
        self.grad_a(eta, &mut w);
        vec![self.f(&w)]
    }
    fn natural(&self, conventional: &[f64], eta: &mut [f64]) {
        self.phi(&[self.counts(conventional[0])], eta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{expectation, family, from_conventional};

    /// Mean and variance of the member with `photons` on average, in counts, by quadrature.
    fn moments(camera: &CameraNoise, photons: f64) -> (f64, f64) {
        let eta = from_conventional(camera, &[camera.offset + camera.gain * photons]).unwrap();
        let mean = expectation(camera, &eta, |y| camera.counts(y));
        (mean, expectation(camera, &eta, |y| (camera.counts(y) - mean).powi(2)))
    }

    #[test]
    fn the_variance_is_nearly_that_of_the_camera() {
        for read in [0.4, 1.6, 6.0, 30.0] {
            let camera = CameraNoise::new(2.1, 100.0, read).unwrap();
            let sigma2 = (read / 2.1).powi(2);
            for photons in [0.5, 1.0, 4.0, 15.0, 200.0] {
                let (mean, variance) = moments(&camera, photons);
                assert!((mean - photons).abs() < 1e-8 * photons, "{read} {photons}: {mean}");
                let exact = photons + sigma2;
                assert!((variance / exact - 1.0).abs() < 0.09, "{read} {photons}: {variance}, exact {exact}");
            }
        }
    }

    #[test]
    fn every_value_is_taken_and_no_dark_mean_is_moved() {
        let camera = family("camera:gain=2.1,offset=100,read=1.6").unwrap();
        for y in [-1e6, -3.0, 99.0, 100.0, 101.37, 1e7] {
            assert!(camera.log_h(y).is_finite(), "{y}");
        }
        let mut w = [-0.3];
        camera.project(&mut w);
        assert_eq!(w, [-0.3]);
        assert!((camera.f(&w) - 99.37).abs() < 1e-12);
    }

    #[test]
    fn nonsense_is_refused_with_what_to_do() {
        let message = |spec: &str| family(spec).unwrap_err().to_string();
        assert!(message("camera:gain=0,offset=1,read=1").contains("gain=0: it must be positive"));
        assert!(message("camera:gain=2,offset=1").contains("it needs read"));
        assert!(message("camera:gain=2,offset=nan,read=1").contains("offset=nan: it must be a finite number"));
        let tiny = message("camera:gain=2,offset=1,read=0.001");
        assert!(tiny.contains("read=0.001") && tiny.contains("--noise poisson --gain"), "{tiny}");
        assert!(message("camera:gain=2,offset=1,read=-1").contains("twentieth of the gain"));
    }
}
