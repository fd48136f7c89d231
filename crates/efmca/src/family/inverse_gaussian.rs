//! First-passage times.

use std::sync::Arc;

use rand::Rng;
use rand_distr::Distribution;

use super::registry::Entry;
use super::{Family, Parameter, Range, Support, representable};
use crate::special::HALF_LN_TWO_PI;

/// The inverse Gaussian family with mean $\mu$ and shape $\lambda$ learned.
///
/// $$ p(y) = \sqrt{\frac{\lambda}{2\pi y^3}}  e^{-\lambda(y-\mu)^2/2\mu^2 y} $$
/// $$ \vec T = \Big(y, \frac1y\Big),\ \vec\eta = \Big(\frac{-\lambda}{2\mu^2}, \frac{-\lambda}{2}\Big),\ A = -2\sqrt{\eta_1\eta_2} - \tfrac12\log(-2\eta_2) $$
/// $$ \vec w = \Big(\mu, \frac1\mu + \frac1\lambda\Big) $$
/// $$ \lambda = \frac{w_1}{w_1 w_2 - 1}, \qquad F(\vec w) = w_1 $$
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InverseGaussian;

/// Smallest $w_1 w_2 - 1 = \mu/\lambda$ that `project` allows.
const SMALLEST_EXCESS: f64 = 1e-12;

pub(crate) const INVERSE_GAUSSIAN: Entry = Entry {
    name: "inverse-gaussian",
    aliases: &["inversegaussian", "wald"],
    summary: "first-passage times, skewed positive amounts",
    fixed: &[],
    examples: &["inverse-gaussian"],
    build: |_| Ok(Arc::new(InverseGaussian)),
};

/// $w_1 w_2 - 1$ with one rounding instead of two.
fn excess(w: &[f64]) -> f64 {
    w[0].mul_add(w[1], -1.0)
}

impl Family for InverseGaussian {
    fn spec(&self) -> String {
        "inverse-gaussian".into()
    }
    fn l(&self) -> usize {
        2
    }
    fn support(&self) -> Support {
        Support::POSITIVE
    }
    fn t(&self, y: f64, t: &mut [f64]) {
        t[0] = y;
        t[1] = 1.0 / y;
    }
    fn log_h(&self, y: f64) -> f64 {
        -HALF_LN_TWO_PI - 1.5 * y.ln()
    }
    fn a(&self, eta: &[f64]) -> f64 {
        -2.0 * (eta[0] * eta[1]).sqrt() - 0.5 * (-2.0 * eta[1]).ln()
    }
    fn grad_a(&self, eta: &[f64], w: &mut [f64]) {
        let mean = (eta[1] / eta[0]).sqrt();
        w[0] = mean;
        w[1] = 1.0 / mean + 0.5 / -eta[1];
    }
    fn phi(&self, w: &[f64], eta: &mut [f64]) {
        let lambda = w[0] / excess(w);
        eta[0] = -lambda / (2.0 * w[0] * w[0]);
        eta[1] = -lambda / 2.0;
    }
    fn f(&self, w: &[f64]) -> f64 {
        w[0]
    }
    fn inside(&self, w: &[f64]) -> bool {
        w[0] > 0.0 && excess(w) > 0.0
    }
    fn domain(&self) -> String {
        "w1 > 0 and w2 > 1/w1".into()
    }
    fn natural_inside(&self, eta: &[f64]) -> bool {
        eta[0] < 0.0 && eta[1] < 0.0
    }
    fn project(&self, w: &mut [f64]) {
        w[0] = w[0].max(1e-140);
        if excess(w) < SMALLEST_EXCESS {
            w[1] = (1.0 + 2.0 * SMALLEST_EXCESS) / w[0];
        }
    }
    fn sample(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        let [mean, shape] = self.conventional(eta)[..] else { return 1.0 };
        match rand_distr::InverseGaussian::new(mean, shape) {
            Ok(inverse_gaussian) => representable(inverse_gaussian.sample(rng)),
            Err(_) => mean,
        }
    }
    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("mu", Range::Positive(1e-3, 1e3)), Parameter::new("lambda", Range::Positive(1e-2, 1e4))]
    }
    fn conventional(&self, eta: &[f64]) -> Vec<f64> {
        vec![(eta[1] / eta[0]).sqrt(), -2.0 * eta[1]]
    }
    fn natural(&self, conventional: &[f64], eta: &mut [f64]) {
        let [mean, lambda] = [conventional[0], conventional[1]];
        eta[0] = -lambda / (2.0 * mean * mean);
        eta[1] = -lambda / 2.0;
    }
    fn log_density(&self, y: f64, eta: &[f64]) -> f64 {
        if !self.support().contains(y) {
            return f64::NEG_INFINITY;
        }
        // (y - mu)^2 instead of its three parts
        let [mean, lambda] = [(eta[1] / eta[0]).sqrt(), -2.0 * eta[1]];
        let deviation = (y - mean) / mean;
        self.log_h(y) + 0.5 * (lambda.ln() - lambda * deviation * deviation / y)
    }
}
