//! Exponential families: one distribution a file, one trait, one registry.
//!
//! A family is
//! $$ p(y; \vec\eta) = h(y) \exp\big(\vec\eta^{ T}\vec T(y) - A(\vec\eta)\big), \quad y \in \mathcal Y $$
//! (paper, Eqn. 3). Everything the method asks of it stands in [`Family`], under the paper's names. A family knows
//! nothing of causes, states or data sets.
//!
//! Families are found by name: `family("gamma")`, `family("gamma:k=4")`, `family("categorical:k=5")`; see
//! [`registry`]. A family that is not there needs $\vec T$, $\log h$ and $A$ only; see [`custom`].

pub mod custom;
pub mod registry;

mod beta;
mod binomial;
mod camera;
mod categorical;
pub(crate) mod cell;
mod continuous_bernoulli;
mod expectation;
mod gamma;
mod gaussian;
mod gen_gamma;
mod geometric;
mod hurdle;
mod inverse_gaussian;
mod laplace;
mod log_normal;
mod member;
mod ordinal;
mod pareto;
mod part;
mod poisson;
mod solve;
mod spec;
mod support;

pub use beta::Beta;
pub use binomial::Binomial;
pub use camera::CameraNoise;
pub use categorical::Categorical;
pub use continuous_bernoulli::ContinuousBernoulli;
pub(crate) use expectation::cumulative;
pub use expectation::expectation;
pub use gamma::Gamma;
pub use gaussian::{Gaussian, GaussianFixedMean, GaussianFixedVariance};
pub use gen_gamma::GenGamma;
pub use geometric::NegativeBinomial;
pub use hurdle::Hurdle;
pub use inverse_gaussian::InverseGaussian;
pub use laplace::Laplace;
pub use log_normal::LogNormal;
pub(crate) use member::{Member, Members, natural_with_mean};
pub use ordinal::Ordinal;
pub use pareto::Pareto;
pub use part::{Noise, Part};
pub use poisson::{Poisson, ZeroTruncatedPoisson};
pub use registry::family;
pub use spec::FamilySpec;
pub use support::{Measure, Support};

use std::fmt::Debug;
use std::sync::Arc;

use rand::Rng;

use crate::error::{Error, Result};

/// A family that can be shared between columns, models and threads.
pub type SharedFamily = Arc<dyn Family>;

/// A learned parameter as people know it (a shape, a rate, a mean), with the range over which the family is
/// tested.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its usual name.
    pub name: String,
    /// Its usable range.
    pub range: Range,
}

/// The usable range of a [`Parameter`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Range {
    /// Positive, over many orders of magnitude.
    Positive(f64, f64),
    /// Any sign.
    Real(f64, f64),
    /// Strictly between 0 and 1.
    Probability,
    /// Positive, and summing to one with its neighbours of the same kind.
    Share,
}

impl Parameter {
    pub(crate) fn new(name: impl Into<String>, range: Range) -> Parameter {
        Parameter { name: name.into(), range }
    }
}

impl Range {
    fn allows(self, value: f64) -> bool {
        value.is_finite()
            && match self {
                Range::Positive(..) => value > 0.0,
                Range::Real(..) => true,
                Range::Probability | Range::Share => value > 0.0 && value < 1.0,
            }
    }

    fn words(self) -> &'static str {
        match self {
            Range::Positive(..) => "a positive number",
            Range::Real(..) => "a finite number",
            Range::Probability => "strictly between 0 and 1",
            Range::Share => "strictly between 0 and 1, summing to 1 with the others",
        }
    }
}

/// One exponential family with $L$ parameters.
///
/// The slices `t`, `eta` and `w` always have length $L$ = [`Family::l`]. The methods of this trait trust their
/// arguments (they are called in inner loops); [`check`], [`checked_phi`], [`checked_a`] and
/// [`from_conventional`] do not, and are the ones to call with values from outside.
///
/// Two coordinate systems describe a member of the family: the natural parameters $\vec\eta$ and the mean value
/// parameters $\vec w = \mathbb E\lbrack \vec T(y)\rbrack  = \nabla A(\vec\eta)$ (Eqns. 5 and 6). The dictionaries $W^{(l)}$ of
/// the model hold $\vec w$.
pub trait Family: Debug + Send + Sync {
    /// The name with its fixed parameters, as [`family`] reads it: `gamma:k=4`.
    fn spec(&self) -> String;

    /// $L$, the number of sufficient statistics.
    fn l(&self) -> usize;

    /// $\mathcal Y$, the values the family can produce.
    fn support(&self) -> Support;

    /// The sufficient statistics $\vec T(y)$.
    fn t(&self, y: f64, t: &mut [f64]);

    /// The logarithm of the base measure, $\log h(y)$.
    fn log_h(&self, y: f64) -> f64;

    /// The log-partition function $A(\vec\eta)$ (Eqn. 4).
    fn a(&self, eta: &[f64]) -> f64;

    /// $\vec w = \nabla A(\vec\eta) = \mathbb E\lbrack \vec T(y)\rbrack $ (Eqn. 5).
    fn grad_a(&self, eta: &[f64], w: &mut [f64]);

    /// $\vec\eta = \vec\Phi(\vec w)$, the inverse of [`Family::grad_a`] (Eqn. 7).
    fn phi(&self, w: &[f64], eta: &mut [f64]);

    /// $F(\vec w) = \mathbb E\lbrack y\rbrack $, the mean of the observable (Eqn. 21); it may be infinite.
    fn f(&self, w: &[f64]) -> f64;

    /// The number that $F$ is the mean of: $y$ itself, unless the values are names (categories) with scores.
    fn score(&self, y: f64) -> f64 {
        y
    }

    /// The dominance, which decides which cause wins: $M_{dh} = F(\vec w)$ unless the mean does not move or has no order.
    fn dominance(&self, w: &[f64]) -> f64 {
        self.f(w)
    }

    /// Whether `w` is strictly inside the domain of [`Family::phi`].
    fn inside(&self, w: &[f64]) -> bool;

    /// The domain of [`Family::phi`], in words.
    fn domain(&self) -> String;

    /// Whether `eta` is a natural parameter: $A(\vec\eta) < \infty$.
    fn natural_inside(&self, eta: &[f64]) -> bool;

    /// Moves `w` to a nearby point strictly inside the domain, and leaves it alone if it is there already.
    ///
    /// Only values that no finite data set of more than one value gives are moved.
    fn project(&self, w: &mut [f64]);

    /// Whether the statistics of a column with average `w` have lost what the family wants to know of it to rounding.
    fn loses_digits(&self, _w: &[f64]) -> bool {
        false
    }

    /// Draws one value. It always lies in the support, also where the exact value would underflow.
    fn sample(&self, eta: &[f64], rng: &mut dyn Rng) -> f64;

    /// The family of the sum of several independent values with the same parameters, if that is one that is known. With it an image
    /// can be looked at in blocks of pixels.
    fn sum_of(&self, _values: usize) -> Option<SharedFamily> {
        None
    }

    /// Values as sums of two independent parts, of which the first has this share of the mean; `None` if the family has no such parts.
    /// With it the same scene can be seen twice in one noisy image (data thinning; Neufeld, Dharamshi, Gao and Witten, *Data Thinning
    /// for Convolution-Closed Distributions*, JMLR 2024).
    fn part(&self, _share: f64) -> Option<Part> {
        None
    }

    /// The learned parameters as people know them.
    fn parameters(&self) -> Vec<Parameter>;

    /// Values of [`Family::parameters`] for natural parameters `eta`.
    fn conventional(&self, eta: &[f64]) -> Vec<f64>;

    /// Natural parameters for values of [`Family::parameters`].
    fn natural(&self, conventional: &[f64], eta: &mut [f64]);

    /// $\log p(y; \vec\eta)$; $-\infty$ outside the support.
    fn log_density(&self, y: f64, eta: &[f64]) -> f64 {
        if !self.support().contains(y) {
            return f64::NEG_INFINITY;
        }
        let mut t = vec![0.0; self.l()];
        self.t(y, &mut t);
        let inner: f64 = eta.iter().zip(&t).map(|(e, t)| e * t).sum();
        self.log_h(y) + (inner - self.a(eta))
    }

    /// The standard deviation, for families whose second dictionary is a spread of its own that can be held and learned apart
    /// from the mean.
    fn spread(&self, _w: &[f64]) -> Option<f64> {
        None
    }

    /// Moves the member `w`, that of all data, to a group of values with averaged statistics `t_bar`: where causes start.
    /// Families with a spread of their own keep this share of it, since few values say little about it.
    fn move_to(&self, t_bar: &[f64], _spread: f64, w: &mut [f64]) {
        w.copy_from_slice(t_bar);
    }

    /// The M-step for one entry of the dictionaries when some of them are held: `w` becomes the averaged statistics
    /// `t_bar` where `held` is false and stays where it is true.
    ///
    /// Families whose parameters are commonly held in other coordinates say so (the Gaussian holds its mean or its
    /// variance).
    fn update(&self, t_bar: &[f64], held: &[bool], w: &mut [f64]) {
        for ((w, &t), &held) in w.iter_mut().zip(t_bar).zip(held) {
            if !held {
                *w = t;
            }
        }
    }
}

/// Whether `y` is in the support of `family`; `row` and `column` go into the error.
///
/// # Errors
///
/// [`Error::OutsideSupport`] with `row` and `column`, which are the caller's.
pub fn check(family: &dyn Family, y: f64, row: usize, column: usize) -> Result<()> {
    let support = family.support();
    if support.contains(y) {
        return Ok(());
    }
    Err(Error::OutsideSupport { row, column, value: y, family: family.spec(), support: support.to_string() })
}

/// $\vec\Phi(\vec w)$, or an error if `w` is not in its domain or so near its edge that $\vec\eta$ cannot be written as
/// f64.
///
/// # Errors
///
/// [`Error::OutsideDomain`] if no member of the family has these mean parameters.
pub fn checked_phi(family: &dyn Family, w: &[f64]) -> Result<Vec<f64>> {
    check_mean_parameters(family, w)?;
    let mut eta = vec![0.0; family.l()];
    family.phi(w, &mut eta);
    // at the far ends of f64 the natural parameters underflow
    check_natural_parameters(family, &eta)?;
    Ok(eta)
}

/// $A(\vec\eta)$, or an error if `eta` is not a natural parameter.
///
/// # Errors
///
/// [`Error::OutsideDomain`] if these are not natural parameters of the family.
pub fn checked_a(family: &dyn Family, eta: &[f64]) -> Result<f64> {
    check_natural_parameters(family, eta)?;
    Ok(family.a(eta))
}

/// Natural parameters from the values people use, in the order of [`Family::parameters`].
///
/// # Errors
///
/// [`Error::FamilyParameter`] for a wrong number of parameters or one that is out of its range.
pub fn from_conventional(family: &dyn Family, values: &[f64]) -> Result<Vec<f64>> {
    let parameters = family.parameters();
    if values.len() != parameters.len() {
        return Err(Error::shape(format!("parameters of `{}`", family.spec()), parameters.len(), values.len()));
    }
    for (parameter, &value) in parameters.iter().zip(values) {
        if !parameter.range.allows(value) {
            return Err(Error::FamilyParameter {
                family: family.spec(),
                problem: format!("{} = {value}, but it must be {}", parameter.name, parameter.range.words()),
            });
        }
    }
    let shares: Vec<f64> = parameters
        .iter()
        .zip(values)
        .filter(|(parameter, _)| parameter.range == Range::Share)
        .map(|(_, &value)| value)
        .collect();
    let total: f64 = shares.iter().sum();
    if !shares.is_empty() && (total - 1.0).abs() > 1e-9 {
        return Err(Error::FamilyParameter {
            family: family.spec(),
            problem: format!("the probabilities sum to {total}, not to 1"),
        });
    }
    let mut eta = vec![0.0; family.l()];
    family.natural(values, &mut eta);
    check_natural_parameters(family, &eta)?;
    Ok(eta)
}

/// Whether `w` has length $L$ and lies in the family's mean domain.
///
/// # Errors
///
/// [`Error::OutsideDomain`] if no member of the family has these mean parameters.
pub fn check_mean_parameters(family: &dyn Family, w: &[f64]) -> Result<()> {
    if w.len() != family.l() {
        return Err(Error::shape(format!("mean parameters of `{}`", family.spec()), family.l(), w.len()));
    }
    if w.iter().all(|v| v.is_finite()) && family.inside(w) {
        return Ok(());
    }
    Err(Error::OutsideDomain {
        what: "mean parameter",
        family: family.spec(),
        value: w.to_vec(),
        domain: family.domain(),
    })
}

/// Whether `eta` has length $L$ and $A(\vec\eta) < \infty$.
///
/// # Errors
///
/// [`Error::OutsideDomain`] if these are not natural parameters of the family.
pub fn check_natural_parameters(family: &dyn Family, eta: &[f64]) -> Result<()> {
    if eta.len() != family.l() {
        return Err(Error::shape(format!("natural parameters of `{}`", family.spec()), family.l(), eta.len()));
    }
    if eta.iter().all(|v| v.is_finite()) && family.natural_inside(eta) {
        return Ok(());
    }
    Err(Error::OutsideDomain {
        what: "natural parameter",
        family: family.spec(),
        value: eta.to_vec(),
        domain: "where the log-partition function is finite".into(),
    })
}

/// A positive finite number at or next to `y`: samplers use it where the exact draw underflows or overflows.
pub(crate) fn representable(y: f64) -> f64 {
    if y.is_nan() { 1.0 } else { y.clamp(f64::MIN_POSITIVE, f64::MAX) }
}
