//! Geometric and negative binomial counts: counts that scatter more than Poisson's.

use std::sync::Arc;

use rand::Rng;
use rand_distr::{Distribution, Exp1};

use super::part::{Part, share_of_gamma, taken};
use super::registry::{Entry, FixedParameter};
use super::{Family, Parameter, Range, SharedFamily, Support, poisson};
use crate::special::{ln_beta, log1m_exp};

/// The negative binomial family with fixed $r$; $r = 1$ is the geometric family.
///
/// $$ p(y) = \frac{\Gamma(y+r)}{y! \Gamma(r)}  p^r (1-p)^y $$
/// $$ T = y,\ \eta = \log(1-p),\ A = -r\log(1-e^\eta),\ \Phi(w) = \log\frac{w}{r+w},\ F(w) = w $$
///
/// With unknown $r$ this is no exponential family: $r$ is found by a search from outside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NegativeBinomial {
    r: f64,
}

const SMALLEST_MEAN: f64 = 1e-10;

pub(crate) const GEOMETRIC: Entry = Entry {
    name: "geometric",
    aliases: &[],
    summary: "failures before the first success",
    fixed: &[],
    examples: &["geometric"],
    build: |_| Ok(Arc::new(NegativeBinomial { r: 1.0 })),
};

pub(crate) const NEGATIVE_BINOMIAL: Entry = Entry {
    name: "negative-binomial",
    aliases: &["negbin", "nb", "negativebinomial"],
    summary: "counts that scatter more than Poisson's (r known; the variance is w + w²/r)",
    fixed: &[FixedParameter::required("r", "dispersion, a positive number").between(|_| (0.02, 1000.0))],
    examples: &["negative-binomial:r=2.5", "negative-binomial:r=0.3"],
    build: |fixed| Ok(Arc::new(NegativeBinomial { r: fixed.positive("r")? })),
};

impl Family for NegativeBinomial {
    fn spec(&self) -> String {
        if self.r == 1.0 { "geometric".into() } else { format!("negative-binomial:r={}", self.r) }
    }
    fn sum_of(&self, values: usize) -> Option<SharedFamily> {
        super::family(&format!("negative-binomial:r={}", self.r * values as f64)).ok()
    }
    fn part(&self, share: f64) -> Option<Part> {
        let (r, family) = (self.r, super::family(&format!("negative-binomial:r={}", self.r * share)).ok()?);
        // Poisson counts whose rate is a Gamma variable of shape r, which has parts of its own
        Some(Part::new(family, move |y, _, rng| taken(y, share_of_gamma(share, r, rng), rng)))
    }
    fn l(&self) -> usize {
        1
    }
    fn support(&self) -> Support {
        Support::integers(0.0, f64::INFINITY)
    }
    fn t(&self, y: f64, t: &mut [f64]) {
        t[0] = y;
    }
    fn log_h(&self, y: f64) -> f64 {
        // Gamma(y+r) / (y! Gamma(r)) = 1 / (y B(y, r))
        if y == 0.0 || self.r == 1.0 { 0.0 } else { -y.ln() - ln_beta(y, self.r) }
    }
    fn a(&self, eta: &[f64]) -> f64 {
        -self.r * log1m_exp(eta[0])
    }
    fn grad_a(&self, eta: &[f64], w: &mut [f64]) {
        w[0] = self.r / (-eta[0]).exp_m1();
    }
    fn phi(&self, w: &[f64], eta: &mut [f64]) {
        eta[0] = -(self.r / w[0]).ln_1p();
    }
    fn f(&self, w: &[f64]) -> f64 {
        w[0]
    }
    fn inside(&self, w: &[f64]) -> bool {
        w[0] > 0.0
    }
    fn domain(&self) -> String {
        "w > 0".into()
    }
    fn natural_inside(&self, eta: &[f64]) -> bool {
        eta[0] < 0.0
    }
    fn project(&self, w: &mut [f64]) {
        w[0] = w[0].max(SMALLEST_MEAN);
    }
    fn sample(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        if self.r == 1.0 {
            // P(y >= k) = e^(eta k): a rounded-down exponential
            let e: f64 = Exp1.sample(rng);
            return (e / -eta[0]).floor().min(f64::MAX);
        }
        // A Poisson count whose rate is Gamma distributed; with almost no decay the scale is beyond the range of numbers.
        match rand_distr::Gamma::new(self.r, (1.0 / (-eta[0]).exp_m1()).min(f64::MAX)) {
            Ok(gamma) => poisson::draw(gamma.sample(rng), rng),
            Err(_) => 0.0,
        }
    }
    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("probability", Range::Probability)]
    }
    fn conventional(&self, eta: &[f64]) -> Vec<f64> {
        vec![-eta[0].exp_m1()]
    }
    fn natural(&self, conventional: &[f64], eta: &mut [f64]) {
        eta[0] = (-conventional[0]).ln_1p();
    }
}
