//! Fractions strictly between 0 and 1.

use std::sync::Arc;

use rand::Rng;
use rand_distr::Distribution;

use super::registry::Entry;
use super::{Family, Parameter, Range, Support};
use crate::special::{digamma_difference, ln_beta, trigamma};

/// The Beta family with both shapes learned.
///
/// $$ p(y) = \frac{y^{a-1}(1-y)^{b-1}}{B(a,b)} $$
/// $$ \vec T = (\log y, \log(1-y)),\ \vec\eta = (a-1, b-1),\ A = \log B(a,b) $$
/// $$ \vec w = \big(\psi(a)-\psi(a+b),\ \psi(b)-\psi(a+b)\big), \qquad F(\vec w) = \frac{a}{a+b} $$
///
/// $\vec\Phi$ is a damped Newton iteration in $(\log a, \log b)$ on the relative residuals; the differences of
/// digamma functions are evaluated without cancellation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beta;

/// Smallest $1 - e^{w_1} - e^{w_2}$ that `project` allows.
const SMALLEST_SLACK: f64 = 1e-13;
/// Most negative statistic that `project` allows; a shape of about $10^{-8}$.
const LOWEST_LOG: f64 = -1e8;

pub(crate) const BETA: Entry = Entry {
    name: "beta",
    aliases: &[],
    summary: "fractions strictly between 0 and 1",
    fixed: &[],
    examples: &["beta"],
    build: |_| Ok(Arc::new(Beta)),
};

/// $1 - e^{w_1} - e^{w_2}$, positive inside the domain.
fn slack(w: &[f64]) -> f64 {
    // expm1 of the statistic nearer to zero keeps the digits of a very uneven pair
    let (near, far) = if w[0] > w[1] { (w[0], w[1]) } else { (w[1], w[0]) };
    -near.exp_m1() - far.exp()
}

/// Relative residuals of $\nabla A(a, b) = \vec w$.
fn residuals(a: f64, b: f64, w: &[f64]) -> [f64; 2] {
    [digamma_difference(a, b) / w[0] - 1.0, digamma_difference(b, a) / w[1] - 1.0]
}

/// Solves $\nabla A(a, b) = \vec w$ for the two shapes.
fn shapes(w: &[f64]) -> (f64, f64) {
    // psi(x) ~ log(x - 1/2) turns the equations into linear ones.
    let room = 2.0 * slack(w).max(f64::MIN_POSITIVE);
    let (mut a, mut b) = (0.5 + w[0].exp() / room, 0.5 + w[1].exp() / room);
    let mut r = residuals(a, b, w);
    let norm = |r: [f64; 2]| r[0].hypot(r[1]);
    for _ in 0..200 {
        // Newton in (log a, log b); the Jacobian of the relative residuals
        let both = trigamma(a + b);
        let j =
            [[(trigamma(a) - both) * a / w[0], -both * b / w[0]], [-both * a / w[1], (trigamma(b) - both) * b / w[1]]];
        let determinant = j[0][0] * j[1][1] - j[0][1] * j[1][0];
        let step = [(-r[0] * j[1][1] + r[1] * j[0][1]) / determinant, (-r[1] * j[0][0] + r[0] * j[1][0]) / determinant];
        let size = step[0].abs().max(step[1].abs());
        if !size.is_finite() {
            break;
        }
        let mut damping = if size > 2.0 { 2.0 / size } else { 1.0 };
        let before = norm(r);
        loop {
            let (a_new, b_new) = (a * (damping * step[0]).exp(), b * (damping * step[1]).exp());
            let r_new = residuals(a_new, b_new, w);
            if norm(r_new) < before {
                (a, b, r) = (a_new, b_new, r_new);
                break;
            }
            damping *= 0.5;
            if damping * size < 1e-16 {
                // No descent is left: the residual is as small as rounding lets it be.
                return (a, b);
            }
        }
        if size < 1e-15 {
            break;
        }
    }
    (a, b)
}

impl Family for Beta {
    fn spec(&self) -> String {
        "beta".into()
    }
    fn l(&self) -> usize {
        2
    }
    fn support(&self) -> Support {
        Support::open(0.0, 1.0)
    }
    fn t(&self, y: f64, t: &mut [f64]) {
        t[0] = y.ln();
        t[1] = (-y).ln_1p();
    }
    fn log_h(&self, _: f64) -> f64 {
        0.0
    }
    fn a(&self, eta: &[f64]) -> f64 {
        ln_beta(eta[0] + 1.0, eta[1] + 1.0)
    }
    fn grad_a(&self, eta: &[f64], w: &mut [f64]) {
        let (a, b) = (eta[0] + 1.0, eta[1] + 1.0);
        w[0] = digamma_difference(a, b);
        w[1] = digamma_difference(b, a);
    }
    fn phi(&self, w: &[f64], eta: &mut [f64]) {
        let (a, b) = shapes(w);
        eta[0] = a - 1.0;
        eta[1] = b - 1.0;
    }
    fn f(&self, w: &[f64]) -> f64 {
        let (a, b) = shapes(w);
        a / (a + b)
    }
    fn inside(&self, w: &[f64]) -> bool {
        w[0] < 0.0 && w[1] < 0.0 && slack(w) > 0.0
    }
    fn domain(&self) -> String {
        "exp(w1) + exp(w2) < 1".into()
    }
    fn natural_inside(&self, eta: &[f64]) -> bool {
        eta[0] > -1.0 && eta[1] > -1.0
    }
    fn project(&self, w: &mut [f64]) {
        // A positive statistic says only that the point is outside; the edge of the domain is below zero.
        w[0] = w[0].clamp(LOWEST_LOG, 0.0);
        w[1] = w[1].clamp(LOWEST_LOG, 0.0);
        if slack(w) < SMALLEST_SLACK {
            let shift = (-4.0 * SMALLEST_SLACK).ln_1p() - (w[0].exp() + w[1].exp()).ln();
            w[0] += shift;
            w[1] = (w[1] + shift).max(LOWEST_LOG);
            w[0] = w[0].max(LOWEST_LOG);
        }
    }
    fn sample(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        match rand_distr::Beta::new(eta[0] + 1.0, eta[1] + 1.0) {
            Ok(beta) => {
                let y = beta.sample(rng);
                if y.is_nan() { 0.5 } else { y.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON / 2.0) }
            }
            Err(_) => 0.5,
        }
    }
    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("a", Range::Positive(1e-3, 1e6)), Parameter::new("b", Range::Positive(1e-3, 1e6))]
    }
    fn conventional(&self, eta: &[f64]) -> Vec<f64> {
        vec![eta[0] + 1.0, eta[1] + 1.0]
    }
    fn natural(&self, conventional: &[f64], eta: &mut [f64]) {
        eta[0] = conventional[0] - 1.0;
        eta[1] = conventional[1] - 1.0;
    }
}
