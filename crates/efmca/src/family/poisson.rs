//! Poisson counts, and Poisson counts known to be at least one.

use std::sync::Arc;

use rand::{Rng, RngExt};
use rand_distr::Distribution;

use super::part::{Part, taken};
use super::registry::{Entry, FixedParameter};
use super::solve::decreasing_root;
use super::{Family, Parameter, Range, SharedFamily, Support};
use crate::special::{ln_gamma, log_expm1};

/// The Poisson family: counts of independent events.
///
/// $$ p(y) = \frac{\lambda^y e^{-\lambda}}{y!} $$
/// $$ T = y,\ \eta = \log\lambda,\ A = e^\eta,\ \Phi(w) = \log w,\ F(w) = w $$
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Poisson;

/// Smallest rate that `project` allows; a pixel that never counted anything gets it.
const SMALLEST_RATE: f64 = 1e-10;

pub(crate) const POISSON: Entry = Entry {
    name: "poisson",
    aliases: &[],
    summary: "counts of independent events (photons, reads, clicks)",
    fixed: &[],
    examples: &["poisson"],
    build: |_| Ok(std::sync::Arc::new(Poisson)),
};

impl Family for Poisson {
    fn spec(&self) -> String {
        "poisson".into()
    }
    fn sum_of(&self, values: usize) -> Option<SharedFamily> {
        (values > 0).then(|| Arc::new(Poisson) as SharedFamily)
    }
    fn part(&self, share: f64) -> Option<Part> {
        Some(Part::new(Arc::new(Poisson), move |y, _, rng| taken(y, share, rng)))
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
        -ln_gamma(y + 1.0)
    }
    fn a(&self, eta: &[f64]) -> f64 {
        eta[0].exp()
    }
    fn grad_a(&self, eta: &[f64], w: &mut [f64]) {
        w[0] = eta[0].exp();
    }
    fn phi(&self, w: &[f64], eta: &mut [f64]) {
        eta[0] = w[0].ln();
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
        eta[0].exp().is_finite()
    }
    fn project(&self, w: &mut [f64]) {
        w[0] = w[0].max(SMALLEST_RATE);
    }
    fn sample(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        draw(eta[0].exp(), rng)
    }
    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("rate", Range::Positive(1e-6, 1e6))]
    }
    fn conventional(&self, eta: &[f64]) -> Vec<f64> {
        vec![eta[0].exp()]
    }
    fn natural(&self, conventional: &[f64], eta: &mut [f64]) {
        eta[0] = conventional[0].ln();
    }
}

/// One Poisson count; beyond the sampler's range the count is the rounded rate, which is then exact to 1 in 10⁹, and beyond that of
/// numbers the largest there is.
pub(super) fn draw(rate: f64, rng: &mut dyn Rng) -> f64 {
    if rate <= 0.0 {
        return 0.0;
    }
    match rand_distr::Poisson::new(rate) {
        Ok(poisson) => poisson.sample(rng),
        Err(_) => rate.round().min(f64::MAX),
    }
}

/// The Poisson family restricted to $y \ge 1$; the positive part of [`super::Hurdle`] counts.
///
/// $$ p(y) = \frac{\lambda^y}{y! (e^\lambda - 1)} $$
/// $$ T = y,\ \eta = \log\lambda,\ A = \log(e^{e^\eta} - 1),\ F(w) = w $$
///
/// $w = \lambda/(1 - e^{-\lambda})$ has no closed inverse; $\lambda$ lies between $w - 1$ and
/// $\min(w, 2(w-1))$, which brackets the Newton iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ZeroTruncatedPoisson;

pub(crate) const ZERO_TRUNCATED_POISSON: Entry = Entry {
    name: "zero-truncated-poisson",
    aliases: &["ztp"],
    summary: "counts that are at least one (group sizes, events among those seen)",
    fixed: &[] as &[FixedParameter],
    examples: &["zero-truncated-poisson"],
    build: |_| Ok(std::sync::Arc::new(ZeroTruncatedPoisson)),
};

/// How close to one the mean of a truncated count may come.
const SMALLEST_EXCESS: f64 = 1e-12;

impl ZeroTruncatedPoisson {
    fn rate(w: f64) -> f64 {
        let excess = w - 1.0;
        decreasing_root(excess, w.min(2.0 * excess) * (1.0 + 1e-15), excess * (1.0 + (-excess).exp()), |x| {
            let e = (-x).exp();
            let tail = -(-x).exp_m1();
            (w - x / tail, -(tail - x * e) / (tail * tail))
        })
    }
}

impl Family for ZeroTruncatedPoisson {
    fn spec(&self) -> String {
        "zero-truncated-poisson".into()
    }
    fn l(&self) -> usize {
        1
    }
    fn support(&self) -> Support {
        Support::integers(1.0, f64::INFINITY)
    }
    fn t(&self, y: f64, t: &mut [f64]) {
        t[0] = y;
    }
    fn log_h(&self, y: f64) -> f64 {
        -ln_gamma(y + 1.0)
    }
    fn a(&self, eta: &[f64]) -> f64 {
        log_expm1(eta[0].exp())
    }
    fn grad_a(&self, eta: &[f64], w: &mut [f64]) {
        let rate = eta[0].exp();
        w[0] = rate / -(-rate).exp_m1();
    }
    fn phi(&self, w: &[f64], eta: &mut [f64]) {
        eta[0] = Self::rate(w[0]).ln();
    }
    fn f(&self, w: &[f64]) -> f64 {
        w[0]
    }
    fn inside(&self, w: &[f64]) -> bool {
        w[0] > 1.0
    }
    fn domain(&self) -> String {
        "w > 1".into()
    }
    fn natural_inside(&self, eta: &[f64]) -> bool {
        let rate = eta[0].exp();
        rate.is_finite() && rate > 0.0
    }
    fn project(&self, w: &mut [f64]) {
        if w[0] - 1.0 < SMALLEST_EXCESS {
            w[0] = 1.0 + 2.0 * SMALLEST_EXCESS;
        }
    }
    fn sample(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        let rate = eta[0].exp();
        if rate > 1.0 {
            // P(y >= 1) > 0.63: rejection ends soon
            loop {
                let y = draw(rate, rng);
                if y >= 1.0 {
                    return y;
                }
            }
        }
        // The first event falls into (0, 1) with a truncated exponential law; the rest is Poisson.
        let u: f64 = rng.random();
        let first = -(u * (-rate).exp_m1()).ln_1p();
        1.0 + draw(rate - first, rng)
    }
    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("rate", Range::Positive(1e-5, 1e6))]
    }
    fn conventional(&self, eta: &[f64]) -> Vec<f64> {
        vec![eta[0].exp()]
    }
    fn natural(&self, conventional: &[f64], eta: &mut [f64]) {
        eta[0] = conventional[0].ln();
    }
}
