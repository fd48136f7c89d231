//! Sharp-peaked scatter about a known centre.

use std::sync::Arc;

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1};

use super::registry::{Entry, FixedParameter, Search};
use super::{Family, Parameter, Range, Support};

/// The Laplace family with fixed centre $\mu$.
///
/// $$ p(y) = \frac{1}{2b} e^{-|y-\mu|/b} $$
/// $$ T = |y-\mu|,\ \eta = -\frac1b,\ A = \log\frac{2}{-\eta},\ \Phi(w) = -\frac1w,\ F(w) = \mu $$
///
/// The mean does not move, so the dominance is the spread $w = b$. With unknown centre this is no exponential family.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Laplace {
    mu: f64,
}

pub(crate) const LAPLACE: Entry = Entry {
    name: "laplace",
    aliases: &[],
    summary: "sharp-peaked scatter about a known centre (mu, default 0)",
    fixed: &[FixedParameter::optional("mu", "centre, 0 unless given").found_by(Search::Value(|values| values.median))],
    examples: &["laplace", "laplace:mu=-0.5"],
    build: |fixed| Ok(Arc::new(Laplace { mu: if fixed.has("mu") { fixed.number("mu")? } else { 0.0 } })),
};

impl Family for Laplace {
    fn spec(&self) -> String {
        if self.mu == 0.0 { "laplace".into() } else { format!("laplace:mu={}", self.mu) }
    }
    fn l(&self) -> usize {
        1
    }
    fn support(&self) -> Support {
        Support::REAL
    }
    fn t(&self, y: f64, t: &mut [f64]) {
        t[0] = (y - self.mu).abs();
    }
    fn log_h(&self, _: f64) -> f64 {
        0.0
    }
    fn a(&self, eta: &[f64]) -> f64 {
        (2.0 / -eta[0]).ln()
    }
    fn grad_a(&self, eta: &[f64], w: &mut [f64]) {
        w[0] = 1.0 / -eta[0];
    }
    fn phi(&self, w: &[f64], eta: &mut [f64]) {
        eta[0] = -1.0 / w[0];
    }
    fn f(&self, _: &[f64]) -> f64 {
        self.mu
    }
    fn dominance(&self, w: &[f64]) -> f64 {
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
        w[0] = w[0].max(1e-280);
    }
    fn sample(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        let size: f64 = Exp1.sample(rng);
        let sign = if rng.random::<bool>() { 1.0 } else { -1.0 };
        self.mu + sign * size / -eta[0]
    }
    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("b", Range::Positive(1e-6, 1e6))]
    }
    fn conventional(&self, eta: &[f64]) -> Vec<f64> {
        vec![1.0 / -eta[0]]
    }
    fn natural(&self, conventional: &[f64], eta: &mut [f64]) {
        eta[0] = -1.0 / conventional[0];
    }
}
