//! Grey values on the closed interval from 0 to 1.

use std::sync::Arc;

use rand::{Rng, RngExt};

use super::registry::Entry;
use super::solve::decreasing_root;
use super::{Family, Parameter, Range, Support};
use crate::special::{log_expm1, logistic, logit};

/// The continuous Bernoulli family (Loaiza-Ganem and Cunningham, 2019).
///
/// $$ p(y) \propto \lambda^y(1-\lambda)^{1-y},\ y\in\lbrack 0,1\rbrack  $$
/// $$ T = y,\ \eta = \operatorname{logit}\lambda,\ A = \log\frac{e^\eta-1}{\eta},\ F(w) = w $$
///
/// $\Phi$ solves $w = \frac{1}{1-e^{-\eta}} - \frac1\eta$. By symmetry it is enough to solve for the smaller of $w$
/// and $1-w$, called $m$, where $12(\frac12 - m) \le |\eta| \le \frac1m$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContinuousBernoulli;

/// How close to 0 and 1 the mean may come.
const SMALLEST_MEAN: f64 = 1e-10;

pub(crate) const CONTINUOUS_BERNOULLI: Entry = Entry {
    name: "continuous-bernoulli",
    aliases: &["continuousbernoulli"],
    summary: "grey values from 0 to 1, both ends included",
    fixed: &[],
    examples: &["continuous-bernoulli"],
    build: |_| Ok(Arc::new(ContinuousBernoulli)),
};

/// Below this the closed forms lose digits and the series have none to lose.
const SERIES: f64 = 0.3;

/// The distance of the mean from the nearer end, $\frac1x - \frac1{e^x-1}$ for $x = |\eta|$, and its derivative.
fn distance(x: f64) -> (f64, f64) {
    if x < SERIES {
        let r = x * x;
        let odd = 1.0 / 12.0 - r * (1.0 / 720.0 - r * (1.0 / 30240.0 - r * (1.0 / 1209600.0 - r / 47900160.0)));
        let slope = 1.0 / 12.0 - r * (3.0 / 720.0 - r * (5.0 / 30240.0 - r * (7.0 / 1209600.0 - r * 9.0 / 47900160.0)));
        return (0.5 - x * odd, -slope);
    }
    let grown = x.exp_m1();
    let slope = -1.0 / (x * x) + (1.0 + 1.0 / grown) / grown;
    (1.0 / x - 1.0 / grown, slope)
}

/// $|\eta|$ from the distance of the mean to the nearer end.
fn magnitude(m: f64) -> f64 {
    let (low, high) = (12.0 * (0.5 - m), 1.0 / m);
    if low <= 0.0 {
        return 0.0;
    }
    // the series bounds |eta| from below so closely near 1/2 that rounding may cross it
    decreasing_root(low * (1.0 - 1e-12), high, if m < 0.15 { high } else { low * (1.0 + 1e-12) }, |x| {
        let (value, slope) = distance(x);
        (value - m, slope)
    })
}

impl Family for ContinuousBernoulli {
    fn spec(&self) -> String {
        "continuous-bernoulli".into()
    }
    fn l(&self) -> usize {
        1
    }
    fn support(&self) -> Support {
        Support::closed(0.0, 1.0)
    }
    fn t(&self, y: f64, t: &mut [f64]) {
        t[0] = y;
    }
    fn log_h(&self, _: f64) -> f64 {
        0.0
    }
    fn a(&self, eta: &[f64]) -> f64 {
        let x = eta[0].abs();
        // A(-x) = A(x) - x
        let half = if x < SERIES {
            let r = x * x;
            r * (1.0 / 24.0 - r * (1.0 / 2880.0 - r * (1.0 / 181440.0 - r * (1.0 / 9676800.0 - r / 479001600.0))))
                - 0.5 * x
        } else {
            log_expm1(x) - x.ln() - x
        };
        if eta[0] > 0.0 { half + x } else { half }
    }
    fn grad_a(&self, eta: &[f64], w: &mut [f64]) {
        let (distance, _) = distance(eta[0].abs());
        w[0] = if eta[0] > 0.0 { 1.0 - distance } else { distance };
    }
    fn phi(&self, w: &[f64], eta: &mut [f64]) {
        eta[0] = if w[0] > 0.5 { magnitude(1.0 - w[0]) } else { -magnitude(w[0]) };
    }
    fn f(&self, w: &[f64]) -> f64 {
        w[0]
    }
    fn inside(&self, w: &[f64]) -> bool {
        w[0] > 0.0 && w[0] < 1.0
    }
    fn domain(&self) -> String {
        "0 < w < 1".into()
    }
    fn natural_inside(&self, eta: &[f64]) -> bool {
        eta[0].is_finite()
    }
    fn project(&self, w: &mut [f64]) {
        w[0] = w[0].clamp(SMALLEST_MEAN, 1.0 - SMALLEST_MEAN);
    }
    fn sample(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        let (u, x) = (rng.random::<f64>(), -eta[0].abs());
        let y = if x > -1e-12 { u } else { (u * x.exp_m1()).ln_1p() / x };
        let y = y.clamp(0.0, 1.0);
        if eta[0] > 0.0 { 1.0 - y } else { y }
    }
    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("lambda", Range::Probability)]
    }
    fn conventional(&self, eta: &[f64]) -> Vec<f64> {
        vec![logistic(eta[0])]
    }
    fn natural(&self, conventional: &[f64], eta: &mut [f64]) {
        eta[0] = logit(conventional[0]);
    }
}
