//! Positive amounts whose logarithm is Gaussian.

use std::sync::Arc;

use rand::Rng;

use super::registry::Entry;
use super::{Family, Gaussian, Parameter, Range, Support, gaussian, representable};

/// The log-normal family: [`Gaussian`] on $\log y$.
///
/// $$ \vec T = (\log y, \log^2 y),\quad \log h = -\log y - \tfrac12\log 2\pi,\quad A, \vec\Phi \text{ as the Gaussian's},\quad F(\vec w) = e^{w_1 + (w_2-w_1^2)/2} $$
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogNormal;

pub(crate) const LOG_NORMAL: Entry = Entry {
    name: "log-normal",
    aliases: &["lognormal"],
    summary: "positive amounts that scatter by factors",
    fixed: &[],
    examples: &["log-normal"],
    build: |_| Ok(Arc::new(LogNormal)),
};

impl Family for LogNormal {
    fn spec(&self) -> String {
        "log-normal".into()
    }
    fn l(&self) -> usize {
        2
    }
    fn support(&self) -> Support {
        Support::POSITIVE
    }
    fn t(&self, y: f64, t: &mut [f64]) {
        Gaussian.t(y.ln(), t);
    }
    fn log_h(&self, y: f64) -> f64 {
        Gaussian.log_h(0.0) - y.ln()
    }
    fn a(&self, eta: &[f64]) -> f64 {
        gaussian::log_partition(eta)
    }
    fn grad_a(&self, eta: &[f64], w: &mut [f64]) {
        gaussian::grad_log_partition(eta, w);
    }
    fn phi(&self, w: &[f64], eta: &mut [f64]) {
        gaussian::phi(w, eta);
    }
    fn f(&self, w: &[f64]) -> f64 {
        (w[0] + 0.5 * (w[1] - w[0] * w[0])).exp()
    }
    fn inside(&self, w: &[f64]) -> bool {
        Gaussian.inside(w)
    }
    fn domain(&self) -> String {
        Gaussian.domain()
    }
    fn natural_inside(&self, eta: &[f64]) -> bool {
        Gaussian.natural_inside(eta)
    }
    fn project(&self, w: &mut [f64]) {
        gaussian::project(w);
    }
    fn loses_digits(&self, w: &[f64]) -> bool {
        gaussian::loses_digits(w)
    }
    fn sample(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        representable(Gaussian.sample(eta, rng).exp())
    }
    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("mu", Range::Real(-30.0, 30.0)), Parameter::new("sigma2", Range::Positive(1e-4, 1e2))]
    }
    fn conventional(&self, eta: &[f64]) -> Vec<f64> {
        Gaussian.conventional(eta)
    }
    fn natural(&self, conventional: &[f64], eta: &mut [f64]) {
        Gaussian.natural(conventional, eta);
    }
    fn log_density(&self, y: f64, eta: &[f64]) -> f64 {
        if self.support().contains(y) { Gaussian.log_density(y.ln(), eta) - y.ln() } else { f64::NEG_INFINITY }
    }
    fn update(&self, t_bar: &[f64], held: &[bool], w: &mut [f64]) {
        gaussian::update(t_bar, held, w);
    }
}
