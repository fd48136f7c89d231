//! Yes/no answers and numbers of successes.

use std::sync::Arc;

use rand::Rng;
use rand_distr::Distribution;

use super::registry::{Entry, FixedParameter, Search};
use super::{Family, Parameter, Range, SharedFamily, Support};
use crate::special::{ln_beta, log1p_exp, logistic, logit};

/// The Binomial family with a fixed number of trials $n$; $n = 1$ is the Bernoulli family.
///
/// $$ p(y) = \binom{n}{y}  p^y (1-p)^{n-y} $$
/// $$ T = y,\ \eta = \operatorname{logit} p,\ A = n\log(1+e^\eta),\ \Phi(w) = \log\frac{w}{n-w},\ F(w) = w $$
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Binomial {
    n: f64,
}

/// How close to 0 and n the mean may come.
const SMALLEST_MEAN: f64 = 1e-10;

pub(crate) const BERNOULLI: Entry = Entry {
    name: "bernoulli",
    aliases: &["binary"],
    summary: "yes or no, 0 or 1",
    fixed: &[],
    examples: &["bernoulli"],
    build: |_| Ok(Arc::new(Binomial { n: 1.0 })),
};

pub(crate) const BINOMIAL: Entry = Entry {
    name: "binomial",
    aliases: &[],
    summary: "number of successes in n trials",
    fixed: &[FixedParameter::required("n", "number of trials")
        .found_by(Search::Integer(|values| (values.max, 30.0 * values.max)))],
    examples: &["binomial:n=12", "binomial:n=1000"],
    build: |fixed| Ok(Arc::new(Binomial { n: fixed.integer("n", 1)? as f64 })),
};

impl Binomial {
    /// The family of successes in `n` trials; `n = 0` has no members and is taken as 1.
    pub fn new(n: u32) -> Binomial {
        Binomial { n: f64::from(n.max(1)) }
    }
}

impl Family for Binomial {
    fn spec(&self) -> String {
        if self.n == 1.0 { "bernoulli".into() } else { format!("binomial:n={}", self.n) }
    }
    fn sum_of(&self, values: usize) -> Option<SharedFamily> {
        super::family(&format!("binomial:n={}", self.n * values as f64)).ok()
    }
    fn l(&self) -> usize {
        1
    }
    fn support(&self) -> Support {
        Support::integers(0.0, self.n)
    }
    fn t(&self, y: f64, t: &mut [f64]) {
        t[0] = y;
    }
    fn log_h(&self, y: f64) -> f64 {
        if y == 0.0 || y == self.n { 0.0 } else { -self.n.ln_1p() - ln_beta(y + 1.0, self.n - y + 1.0) }
    }
    fn a(&self, eta: &[f64]) -> f64 {
        self.n * log1p_exp(eta[0])
    }
    fn grad_a(&self, eta: &[f64], w: &mut [f64]) {
        w[0] = self.n * logistic(eta[0]);
    }
    fn phi(&self, w: &[f64], eta: &mut [f64]) {
        eta[0] = logit(w[0] / self.n);
    }
    fn f(&self, w: &[f64]) -> f64 {
        w[0]
    }
    fn inside(&self, w: &[f64]) -> bool {
        w[0] > 0.0 && w[0] < self.n
    }
    fn domain(&self) -> String {
        format!("0 < w < {}", self.n)
    }
    fn natural_inside(&self, eta: &[f64]) -> bool {
        eta[0].is_finite()
    }
    fn project(&self, w: &mut [f64]) {
        // above, n minus the margin must still be less than n
        let below_n = self.n - f64::max(SMALLEST_MEAN, 4.0 * f64::EPSILON * self.n);
        w[0] = w[0].clamp(SMALLEST_MEAN, below_n);
    }
    fn sample(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        match rand_distr::Binomial::new(self.n as u64, logistic(eta[0])) {
            Ok(binomial) => binomial.sample(rng) as f64,
            Err(_) => 0.0,
        }
    }
    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("probability", Range::Probability)]
    }
    fn conventional(&self, eta: &[f64]) -> Vec<f64> {
        vec![logistic(eta[0])]
    }
    fn natural(&self, conventional: &[f64], eta: &mut [f64]) {
        eta[0] = logit(conventional[0]);
    }
}
