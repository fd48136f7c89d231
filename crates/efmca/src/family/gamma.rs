//! Positive amounts with a learned shape.

use std::sync::Arc;

use rand::Rng;
use rand_distr::Distribution;

use super::gen_gamma::gamma_fixed_shape;
use super::part::{Noise, Part, share_of_gamma};
use super::registry::{Entry, FixedParameter};
use super::solve::decreasing_root;
use super::{Family, Parameter, Range, SharedFamily, Support, representable};
use crate::special::{digamma, ln_gamma, log_minus_digamma, trigamma};

/// The Gamma family with shape $\alpha$ and rate $\beta$ both learned.
///
/// $$ p(y) = \frac{\beta^\alpha}{\Gamma(\alpha)} y^{\alpha-1}e^{-\beta y} $$
/// $$ \vec T = (y, \log y),\ \vec\eta = (-\beta, \alpha-1),\ A = \log\Gamma(\eta_2+1) - (\eta_2+1)\log(-\eta_1),\ F(\vec w) = w_1 $$
///
/// $\vec\Phi$ solves $\log\alpha - \psi(\alpha) = \log w_1 - w_2$ by Newton's method inside the bracket
/// $\frac1{2s} < \alpha < \frac1s$, $s$ the right-hand side. (The paper's two-term digamma, Eqn. 77, is 13 % off at
/// shape 1.) At shape $\alpha$ the difference $s \approx 1/2\alpha$ is small, so $\alpha$ is known to about
/// $2\alpha |w_2| \varepsilon$ relative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gamma;

/// Smallest $\log w_1 - w_2$ that `project` allows: a shape of about $5\cdot10^{10}$.
const SMALLEST_LOG_GAP: f64 = 1e-11;

/// Largest one: a shape of about $10^{-8}$, below which $\alpha - 1$ would lose it.
const LARGEST_LOG_GAP: f64 = 1e8;

pub(crate) const GAMMA: Entry = Entry {
    name: "gamma",
    aliases: &[],
    summary: "positive amounts; speckle intensity (k = number of looks, if known)",
    fixed: &[FixedParameter::optional("k", "shape, if it is known").between(|_| (0.05, 500.0))],
    examples: &["gamma", "gamma:k=4", "gamma:k=0.5"],
    build: |fixed| if fixed.has("k") { gamma_fixed_shape(fixed.positive("k")?) } else { Ok(Arc::new(Gamma)) },
};

/// Solves $\log\alpha - \psi(\alpha) = s$ for $s > 0$.
fn shape(s: f64) -> f64 {
    // Minka's start is within 1.5 % of the root everywhere.
    let start = (3.0 - s + ((s - 3.0).powi(2) + 24.0 * s).sqrt()) / (12.0 * s);
    decreasing_root(0.5 / s, 1.0 / s, start, |a| (log_minus_digamma(a) - s, 1.0 / a - trigamma(a)))
}

impl Family for Gamma {
    fn spec(&self) -> String {
        "gamma".into()
    }
    fn sum_of(&self, values: usize) -> Option<SharedFamily> {
        (values > 0).then(|| Arc::new(Gamma) as SharedFamily)
    }
    fn part(&self, share: f64) -> Option<Part> {
        let draw = move |y: f64, noise: Noise, rng: &mut dyn Rng| {
            representable(y * share_of_gamma(share, noise.mean * noise.mean / noise.variance, rng))
        };
        Some(Part::new(Arc::new(Gamma), draw))
    }
    fn l(&self) -> usize {
        2
    }
    fn support(&self) -> Support {
        Support::POSITIVE
    }
    fn t(&self, y: f64, t: &mut [f64]) {
        t[0] = y;
        t[1] = y.ln();
    }
    fn log_h(&self, _: f64) -> f64 {
        0.0
    }
    fn a(&self, eta: &[f64]) -> f64 {
        let shape = eta[1] + 1.0;
        ln_gamma(shape) - shape * (-eta[0]).ln()
    }
    fn grad_a(&self, eta: &[f64], w: &mut [f64]) {
        let shape = eta[1] + 1.0;
        w[0] = shape / -eta[0];
        w[1] = digamma(shape) - (-eta[0]).ln();
    }
    fn phi(&self, w: &[f64], eta: &mut [f64]) {
        let shape = shape(w[0].ln() - w[1]);
        eta[0] = -shape / w[0];
        eta[1] = shape - 1.0;
    }
    fn f(&self, w: &[f64]) -> f64 {
        w[0]
    }
    fn inside(&self, w: &[f64]) -> bool {
        w[0] > 0.0 && w[0].ln() - w[1] > 0.0
    }
    fn domain(&self) -> String {
        "w1 > 0 and w2 < log w1".into()
    }
    fn natural_inside(&self, eta: &[f64]) -> bool {
        eta[0] < 0.0 && eta[1] > -1.0
    }
    fn project(&self, w: &mut [f64]) {
        w[0] = w[0].max(1e-280);
        let log_mean = w[0].ln();
        // rounding of log w1 must not undo the margin
        let margin = SMALLEST_LOG_GAP.max(8.0 * f64::EPSILON * log_mean.abs());
        if log_mean - w[1] < margin {
            w[1] = log_mean - 2.0 * margin;
        } else if log_mean - w[1] > 2.0 * LARGEST_LOG_GAP {
            w[1] = log_mean - LARGEST_LOG_GAP;
        }
    }
    fn sample(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        match rand_distr::Gamma::new(eta[1] + 1.0, 1.0 / -eta[0]) {
            Ok(gamma) => representable(gamma.sample(rng)),
            Err(_) => 1.0,
        }
    }
    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("shape", Range::Positive(1e-3, 1e6)), Parameter::new("rate", Range::Positive(1e-3, 1e6))]
    }
    fn conventional(&self, eta: &[f64]) -> Vec<f64> {
        vec![eta[1] + 1.0, -eta[0]]
    }
    fn natural(&self, conventional: &[f64], eta: &mut [f64]) {
        eta[0] = -conventional[1];
        eta[1] = conventional[0] - 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_is_exact_where_the_two_term_digamma_is_13_percent_off() {
        let s = 0.577_215_664_901_532_9; // log 1 - psi(1)
        assert!((shape(s) - 1.0).abs() < 1e-15);
        let paper = 0.5 / s;
        assert!((paper - 1.0).abs() > 0.13);
    }
}
