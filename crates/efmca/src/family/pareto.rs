//! Amounts above a known threshold with a power-law tail.

use std::sync::Arc;

use rand::Rng;
use rand_distr::{Distribution, Exp1};

use super::registry::{Entry, FixedParameter, Search};
use super::{Family, Parameter, Range, Support};

/// The Pareto family with fixed threshold $x_m$.
///
/// $$ p(y) = \frac{\alpha x_m^\alpha}{y^{\alpha+1}} $$
/// $$ T = \log\frac{y}{x_m},\ \eta = -\alpha,\ \log h = -\log y,\ A = -\log(-\eta),\ \Phi(w) = -\frac1w $$
/// $$ F(w) = \frac{\alpha x_m}{\alpha - 1} \text{ for } \alpha = \tfrac1w > 1,\ \text{infinite otherwise} $$
///
/// $T$ is measured from the threshold: $\log y$ alone gives the same family, but $w - \log x_m$ would lose digits
/// for steep tails. The dominance is $w$, which orders as the mean does and is never infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pareto {
    xm: f64,
}

pub(crate) const PARETO: Entry = Entry {
    name: "pareto",
    aliases: &[],
    summary: "amounts above a threshold with a power-law tail (xm known)",
    fixed: &[
        FixedParameter::required("xm", "threshold, a positive number").found_by(Search::Value(|values| values.min))
    ],
    examples: &["pareto:xm=2"],
    build: |fixed| Ok(Arc::new(Pareto { xm: fixed.positive("xm")? })),
};

impl Family for Pareto {
    fn spec(&self) -> String {
        format!("pareto:xm={}", self.xm)
    }
    fn l(&self) -> usize {
        1
    }
    fn support(&self) -> Support {
        Support::closed(self.xm, f64::INFINITY)
    }
    fn t(&self, y: f64, t: &mut [f64]) {
        t[0] = ((y - self.xm) / self.xm).ln_1p();
    }
    fn log_h(&self, y: f64) -> f64 {
        -y.ln()
    }
    fn a(&self, eta: &[f64]) -> f64 {
        -(-eta[0]).ln()
    }
    fn grad_a(&self, eta: &[f64], w: &mut [f64]) {
        w[0] = 1.0 / -eta[0];
    }
    fn phi(&self, w: &[f64], eta: &mut [f64]) {
        eta[0] = -1.0 / w[0];
    }
    fn f(&self, w: &[f64]) -> f64 {
        if w[0] < 1.0 { self.xm / (1.0 - w[0]) } else { f64::INFINITY }
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
        let e: f64 = Exp1.sample(rng);
        (self.xm * (e / -eta[0]).exp()).min(f64::MAX)
    }
    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("alpha", Range::Positive(1e-2, 1e6))]
    }
    fn conventional(&self, eta: &[f64]) -> Vec<f64> {
        vec![-eta[0]]
    }
    fn natural(&self, conventional: &[f64], eta: &mut [f64]) {
        eta[0] = -conventional[0];
    }
}
