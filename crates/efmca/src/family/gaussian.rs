//! Gaussian noise, with mean and variance learned or one of them fixed.

use std::sync::Arc;

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::part::{Noise, Part, part_of_gaussian};
use super::registry::{Entry, FixedParameter, Search};
use super::{Family, Parameter, Range, SharedFamily, Support};
use crate::error::Error;
use crate::special::HALF_LN_TWO_PI;

/// The Gaussian family with mean and variance both learned.
///
/// $$ p(y) = \frac{1}{\sqrt{2\pi\sigma^2}}  e^{-(y-\mu)^2/2\sigma^2} $$
/// $$ \vec T = (y, y^2),\ \vec\eta = \Big(\frac{\mu}{\sigma^2}, \frac{-1}{2\sigma^2}\Big),\ A = -\frac{\eta_1^2}{4\eta_2} - \tfrac12\log(-2\eta_2) $$
/// $$ \vec\Phi(\vec w) = \frac{1}{2(w_2-w_1^2)} (2w_1, -1)^T \ \text{(Eqn. 13)}, \qquad F(\vec w) = w_1 $$
///
/// The variance is $w_2 - w_1^2$ (appendix B.1), so a column whose mean is $10^k$ standard deviations away from zero
/// loses $2k$ of its 16 digits; training refuses a column with fewer than six left.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gaussian;

/// Smallest variance, relative to $\mathbb E\lbrack y^2\rbrack $, that `project` allows.
const SMALLEST_RELATIVE_VARIANCE: f64 = 1e-12;
const SMALLEST_SECOND_MOMENT: f64 = 1e-280;
/// Largest mean whose square is still a number.
const LARGEST_MEAN: f64 = 1e150;

pub(crate) const GAUSSIAN: Entry = Entry {
    name: "gaussian",
    aliases: &["normal"],
    summary: "real numbers with symmetric scatter; mean and variance learned, unless one is given",
    fixed: &[
        FixedParameter::optional("var", "variance, if it is known")
            .between(|values| (1e-4 * values.variance, values.variance)),
        FixedParameter::optional("mean", "mean, if it is known").found_by(Search::Value(|values| values.median)),
    ],
    examples: &["gaussian", "gaussian:var=2.25", "gaussian:mean=1.5"],
    build: |fixed| match (fixed.has("var"), fixed.has("mean")) {
        (false, false) => Ok(Arc::new(Gaussian)),
        (true, false) => Ok(Arc::new(GaussianFixedVariance { var: fixed.positive("var")? })),
        (false, true) => Ok(Arc::new(GaussianFixedMean { mean: fixed.number("mean")? })),
        (true, true) => Err(Error::FamilyParameter {
            family: "gaussian".into(),
            problem: "with both var and mean given nothing is left to learn; give one of them".into(),
        }),
    },
};

/// $\vec\Phi$ of the two-parameter Gaussian.
pub(super) fn phi(w: &[f64], eta: &mut [f64]) {
    let variance = w[1] - w[0] * w[0];
    eta[0] = w[0] / variance;
    eta[1] = -0.5 / variance;
}

/// $A$ of the two-parameter Gaussian.
pub(super) fn log_partition(eta: &[f64]) -> f64 {
    -eta[0] * eta[0] / (4.0 * eta[1]) - 0.5 * (-2.0 * eta[1]).ln()
}

/// $\nabla A$ of the two-parameter Gaussian.
pub(super) fn grad_log_partition(eta: &[f64], w: &mut [f64]) {
    let variance = -0.5 / eta[1];
    let mean = eta[0] * variance;
    w[0] = mean;
    w[1] = mean * mean + variance;
}

/// Keeps the variance positive.
pub(super) fn project(w: &mut [f64]) {
    w[0] = w[0].clamp(-LARGEST_MEAN, LARGEST_MEAN);
    w[1] = w[1].clamp(SMALLEST_SECOND_MOMENT, LARGEST_MEAN * LARGEST_MEAN * 2.0);
    if w[1] - w[0] * w[0] < SMALLEST_RELATIVE_VARIANCE * w[1] {
        w[1] = (w[0] * w[0] / (1.0 - 4.0 * SMALLEST_RELATIVE_VARIANCE)).max(SMALLEST_SECOND_MOMENT);
    }
}

/// Whether fewer than six digits of the variance are left: the mean is more than 30,000 standard deviations from zero.
pub(super) fn loses_digits(w: &[f64]) -> bool {
    w[1] - w[0] * w[0] < 1e-9 * w[1]
}

/// Holds the mean (first dictionary) or the variance (second) rather than $\mathbb E\lbrack y\rbrack $ and $\mathbb E\lbrack y^2\rbrack $: with
/// the mean held the best variance is the mean square deviation from it, and with the variance held
/// $w_2 = \sigma^2 + w_1^2$ follows the new mean.
pub(super) fn update(t_bar: &[f64], held: &[bool], w: &mut [f64]) {
    let variance = w[1] - w[0] * w[0];
    match (held[0], held[1]) {
        (false, false) => w.copy_from_slice(t_bar),
        (false, true) => {
            w[0] = t_bar[0];
            w[1] = variance + w[0] * w[0];
        }
        (true, false) => w[1] = t_bar[1] - 2.0 * w[0] * t_bar[0] + 2.0 * w[0] * w[0],
        (true, true) => {}
    }
}

impl Family for Gaussian {
    fn spec(&self) -> String {
        "gaussian".into()
    }
    fn sum_of(&self, values: usize) -> Option<SharedFamily> {
        (values > 0).then(|| Arc::new(Gaussian) as SharedFamily)
    }
    fn part(&self, share: f64) -> Option<Part> {
        let draw = move |y, noise: Noise, rng: &mut dyn Rng| part_of_gaussian(y, share, noise.variance, rng);
        Some(Part::new(Arc::new(Gaussian), draw))
    }
    fn l(&self) -> usize {
        2
    }
    fn support(&self) -> Support {
        Support::REAL
    }
    fn t(&self, y: f64, t: &mut [f64]) {
        t[0] = y;
        t[1] = y * y;
    }
    fn log_h(&self, _: f64) -> f64 {
        -HALF_LN_TWO_PI
    }
    fn a(&self, eta: &[f64]) -> f64 {
        log_partition(eta)
    }
    fn grad_a(&self, eta: &[f64], w: &mut [f64]) {
        grad_log_partition(eta, w);
    }
    fn phi(&self, w: &[f64], eta: &mut [f64]) {
        phi(w, eta);
    }
    fn f(&self, w: &[f64]) -> f64 {
        w[0]
    }
    fn inside(&self, w: &[f64]) -> bool {
        w[1] - w[0] * w[0] > 0.0
    }
    fn domain(&self) -> String {
        "w2 > w1²".into()
    }
    fn natural_inside(&self, eta: &[f64]) -> bool {
        eta[1] < 0.0
    }
    fn project(&self, w: &mut [f64]) {
        project(w);
    }
    fn loses_digits(&self, w: &[f64]) -> bool {
        loses_digits(w)
    }
    fn sample(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        let variance = -0.5 / eta[1];
        let z: f64 = StandardNormal.sample(rng);
        eta[0] * variance + variance.sqrt() * z
    }
    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("mean", Range::Real(-1e3, 1e3)), Parameter::new("variance", Range::Positive(1e-6, 1e6))]
    }
    fn conventional(&self, eta: &[f64]) -> Vec<f64> {
        let variance = -0.5 / eta[1];
        vec![eta[0] * variance, variance]
    }
    fn natural(&self, conventional: &[f64], eta: &mut [f64]) {
        eta[0] = conventional[0] / conventional[1];
        eta[1] = -0.5 / conventional[1];
    }
    fn log_density(&self, y: f64, eta: &[f64]) -> f64 {
        if !y.is_finite() {
            return f64::NEG_INFINITY;
        }
        // (y - mean)^2 instead of its three parts
        let variance = -0.5 / eta[1];
        let deviation = y - eta[0] * variance;
        -0.5 * (deviation * deviation / variance + variance.ln()) - HALF_LN_TWO_PI
    }
    fn update(&self, t_bar: &[f64], held: &[bool], w: &mut [f64]) {
        update(t_bar, held, w);
    }
    fn spread(&self, w: &[f64]) -> Option<f64> {
        Some((w[1] - w[0] * w[0]).max(0.0).sqrt())
    }
    fn move_to(&self, t_bar: &[f64], spread: f64, w: &mut [f64]) {
        w[1] = w[0] * w[0] + (w[1] - w[0] * w[0]) * spread * spread;
        update(t_bar, &[false, true], w);
    }
}

/// The Gaussian family with fixed variance $\sigma^2$: the classical noise model of sparse coding.
///
/// $$ T = y,\ \eta = \frac{\mu}{\sigma^2},\ A = \frac{\sigma^2\eta^2}{2},\ \Phi(w) = \frac{w}{\sigma^2},\ F(w) = w $$
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaussianFixedVariance {
    var: f64,
}

impl Family for GaussianFixedVariance {
    fn spec(&self) -> String {
        format!("gaussian:var={}", self.var)
    }
    fn sum_of(&self, values: usize) -> Option<SharedFamily> {
        super::family(&format!("gaussian:var={}", self.var * values as f64)).ok()
    }
    fn part(&self, share: f64) -> Option<Part> {
        let (var, family) = (self.var, super::family(&format!("gaussian:var={}", self.var * share)).ok()?);
        Some(Part::new(family, move |y, _, rng| part_of_gaussian(y, share, var, rng)))
    }
    fn l(&self) -> usize {
        1
    }
    fn support(&self) -> Support {
        Support::REAL
    }
    fn t(&self, y: f64, t: &mut [f64]) {
        t[0] = y;
    }
    fn log_h(&self, y: f64) -> f64 {
        -0.5 * (y * y / self.var + self.var.ln()) - HALF_LN_TWO_PI
    }
    fn a(&self, eta: &[f64]) -> f64 {
        0.5 * self.var * eta[0] * eta[0]
    }
    fn grad_a(&self, eta: &[f64], w: &mut [f64]) {
        w[0] = self.var * eta[0];
    }
    fn phi(&self, w: &[f64], eta: &mut [f64]) {
        eta[0] = w[0] / self.var;
    }
    fn f(&self, w: &[f64]) -> f64 {
        w[0]
    }
    fn inside(&self, w: &[f64]) -> bool {
        w[0].is_finite()
    }
    fn domain(&self) -> String {
        "any finite w".into()
    }
    fn natural_inside(&self, eta: &[f64]) -> bool {
        eta[0].is_finite()
    }
    fn project(&self, w: &mut [f64]) {
        w[0] = w[0].clamp(-LARGEST_MEAN, LARGEST_MEAN);
    }
    fn sample(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        let z: f64 = StandardNormal.sample(rng);
        self.var * eta[0] + self.var.sqrt() * z
    }
    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("mean", Range::Real(-1e3, 1e3))]
    }
    fn conventional(&self, eta: &[f64]) -> Vec<f64> {
        vec![self.var * eta[0]]
    }
    fn natural(&self, conventional: &[f64], eta: &mut [f64]) {
        eta[0] = conventional[0] / self.var;
    }
    fn log_density(&self, y: f64, eta: &[f64]) -> f64 {
        if !y.is_finite() {
            return f64::NEG_INFINITY;
        }
        let deviation = y - self.var * eta[0];
        -0.5 * (deviation * deviation / self.var + self.var.ln()) - HALF_LN_TWO_PI
    }
}

/// The Gaussian family with fixed mean: causes differ in how far values scatter about it.
///
/// $$ T = (y-\mu)^2,\ \eta = \frac{-1}{2\sigma^2},\ A = -\tfrac12\log(-2\eta),\ \Phi(w) = \frac{-1}{2w},\ F(w) = \mu $$
///
/// The mean does not move, so the dominance is the variance $w$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaussianFixedMean {
    mean: f64,
}

impl Family for GaussianFixedMean {
    fn spec(&self) -> String {
        format!("gaussian:mean={}", self.mean)
    }
    fn l(&self) -> usize {
        1
    }
    fn support(&self) -> Support {
        Support::REAL
    }
    fn t(&self, y: f64, t: &mut [f64]) {
        t[0] = (y - self.mean).powi(2);
    }
    fn log_h(&self, _: f64) -> f64 {
        -HALF_LN_TWO_PI
    }
    fn a(&self, eta: &[f64]) -> f64 {
        -0.5 * (-2.0 * eta[0]).ln()
    }
    fn grad_a(&self, eta: &[f64], w: &mut [f64]) {
        w[0] = -0.5 / eta[0];
    }
    fn phi(&self, w: &[f64], eta: &mut [f64]) {
        eta[0] = -0.5 / w[0];
    }
    fn f(&self, _: &[f64]) -> f64 {
        self.mean
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
        w[0] = w[0].max(SMALLEST_SECOND_MOMENT);
    }
    fn sample(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        let z: f64 = StandardNormal.sample(rng);
        self.mean + (-0.5 / eta[0]).sqrt() * z
    }
    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("variance", Range::Positive(1e-6, 1e6))]
    }
    fn conventional(&self, eta: &[f64]) -> Vec<f64> {
        vec![-0.5 / eta[0]]
    }
    fn natural(&self, conventional: &[f64], eta: &mut [f64]) {
        eta[0] = -0.5 / conventional[0];
    }
}
