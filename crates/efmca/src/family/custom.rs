//! A family of your own from $\vec T(y)$, $\log h(y)$ and $A(\vec\eta)$.
//!
//! Nothing is derived by hand: $\nabla A$ and its Hessian come from automatic differentiation, $\vec\Phi$ from a
//! safeguarded Newton iteration on the convex dual $A(\vec\eta) - \vec\eta^{ T}\vec w$, and $F$, unless you give it,
//! from $T_1(y) = y$ where that holds and from quadrature where it does not.
//!
//! # Example: the logarithmic series
//!
//! Fisher's law for the number of individuals seen of a species, $p(y) = -\frac{1}{\log(1-\theta)}\frac{\theta^y}{y}$
//! for $y = 1, 2, \ldots$, is an exponential family with $T = y$, $\eta = \log\theta$, $\log h = -\log y$ and
//! $A = \log(-\log(1 - e^\eta))$. Its $\Phi$ has no closed form; none is needed.
//!
//! ```
//! use std::sync::Arc;
//! use efmca::family::custom::Real;
//! use efmca::family::{Family, Support, checked_phi};
//! use efmca::family::custom::{Custom, Definition};
//! use efmca::{Background, Em, Model};
//!
//! #[derive(Debug)]
//! struct Logarithmic;
//!
//! impl Definition<1> for Logarithmic {
//!     fn name(&self) -> String {
//!         "logarithmic".into()
//!     }
//!     fn support(&self) -> Support {
//!         Support::integers(1.0, f64::INFINITY)
//!     }
//!     fn t(&self, y: f64) -> [f64; 1] {
//!         [y]
//!     }
//!     fn log_h(&self, y: f64) -> f64 {
//!         -y.ln()
//!     }
//!     fn a<R: Real>(&self, [eta]: [R; 1]) -> R {
//!         // log(-log(1 - e^eta)); exp_m1 keeps the digits near eta = 0
//!         let one_minus_theta = -eta.exp_m1();
//!         (-one_minus_theta.ln()).ln()
//!     }
//!     fn some_eta(&self) -> [f64; 1] {
//!         [-1.0]
//!     }
//! }
//!
//! let family = Arc::new(Custom::new(Logarithmic));
//! // theta = 0.9 has mean -theta / ((1 - theta) log(1 - theta)) = 3.9087
//! let eta = checked_phi(&*family, &[3.908_650_337_129_266])?;
//! assert!((eta[0].exp() - 0.9).abs() < 1e-12);
//!
//! // It can be used like any other: draw from a model of two species groups over six sites, and learn it back.
//! let truth = Model::new(
//!     family.clone(),
//!     ndarray::array![0.4, 0.4],
//!     vec![ndarray::array![[9.0, 9.0, 9.0, 1.2, 1.2, 1.2], [1.2, 1.2, 1.2, 9.0, 9.0, 9.0]]],
//!     Background::fixed(&[1.1]),
//! )?;
//! let data = truth.sample(2000, 1);
//! let fit = Em::new(2).family(family).background(Background::fixed(&[1.1])).seed(3).starts(4).run(&data.y)?;
//! let w = fit.model.w(0);
//! assert!(w.iter().all(|w| (w - 9.0).abs() < 1.5 || (w - 1.2).abs() < 0.3));
//! # Ok::<(), efmca::Error>(())
//! ```

use std::fmt::Debug;

use rand::{Rng, RngExt};

use super::expectation::{Panels, discrete_mode, expectation};
use super::{Family, Measure, Parameter, Range, Support};
use crate::dual::Dual;
pub use crate::dual::Real;
pub use crate::special::ln_gamma;

/// The parts of a family that only you know, with $L$ sufficient statistics.
pub trait Definition<const L: usize>: Debug + Send + Sync {
    /// A name for messages and model files.
    fn name(&self) -> String;
    /// $\mathcal Y$, the values the family can produce.
    fn support(&self) -> Support;
    /// $\vec T(y)$. If one of the statistics is $y$ itself, put it first.
    fn t(&self, y: f64) -> [f64; L];
    /// $\log h(y)$.
    fn log_h(&self, _y: f64) -> f64 {
        0.0
    }
    /// $A(\vec\eta)$, for plain and for dual numbers. Outside the natural domain it should give infinity or NaN.
    fn a<R: Real>(&self, eta: [R; L]) -> R;
    /// $A(\vec\eta)$ with its gradient and its Hessian. By itself they come from [`Definition::a`]; where that cannot be
    /// written for dual numbers, they are given here.
    fn a_with_derivatives(&self, eta: &[f64; L]) -> Derivatives<L> {
        let Dual { value, gradient, hessian } = self.a(Dual::variables(eta));
        Derivatives { value, gradient, hessian }
    }
    /// Any natural parameter well inside the domain; Newton's method starts here.
    fn some_eta(&self) -> [f64; L];
    /// $\mathbb E\lbrack y\rbrack $ as a function of $\vec\eta$, if you know it.
    fn mean(&self, _eta: &[f64; L]) -> Option<f64> {
        None
    }
    /// The dominance, which decides which cause wins, if it is not the mean.
    fn dominance(&self, _eta: &[f64; L]) -> Option<f64> {
        None
    }
}

/// A function of $\vec\eta$ at one place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Derivatives<const L: usize> {
    /// Its value.
    pub value: f64,
    /// Its first derivatives.
    pub gradient: [f64; L],
    /// Its second derivatives.
    pub hessian: [[f64; L]; L],
}

/// A [`Family`] made from a [`Definition`].
#[derive(Debug, Clone)]
pub struct Custom<D, const L: usize> {
    definition: D,
    /// Whether $T_1(y) = y$, so that $F(\vec w) = w_1$.
    mean_is_first: bool,
    /// $\nabla A$ at [`Definition::some_eta`]: a point inside the mean domain.
    centre: [f64; L],
}

/// Newton steps before a mean parameter counts as outside the domain.
const MOST_STEPS: usize = 300;

impl<D: Definition<L>, const L: usize> Custom<D, L> {
    /// Completes `definition` to a family.
    pub fn new(definition: D) -> Custom<D, L> {
        let support = definition.support();
        let probes = [-7.0, -2.5, 0.0, 0.25, 0.5, 0.75, 1.0, 2.0, 3.0, 7.5, 11.0, 100.0];
        let inside: Vec<f64> = probes.into_iter().filter(|y| support.contains(*y)).collect();
        let mean_is_first = inside.len() >= 2 && inside.iter().all(|y| definition.t(*y)[0] == *y);
        let centre = definition.a_with_derivatives(&definition.some_eta()).gradient;
        Custom { definition, mean_is_first, centre }
    }

    fn point(v: &[f64]) -> [f64; L] {
        std::array::from_fn(|l| v[l])
    }

    /// Minimises the convex dual $A(\vec\eta) - \vec\eta^{ T}\vec w$; `None` where it has no minimum.
    ///
    /// Invariant: the dual never rises by more than its own rounding. A step that leaves the domain or raises it is
    /// halved.
    fn solve(&self, w: &[f64]) -> Option<[f64; L]> {
        let target = Self::point(w);
        let mut eta = self.definition.some_eta();
        let mut at = self.definition.a_with_derivatives(&eta);
        let dual = |a: f64, eta: &[f64; L]| a - dot(eta, &target);
        for _ in 0..MOST_STEPS {
            let residual: [f64; L] = std::array::from_fn(|l| target[l] - at.gradient[l]);
            let step = cholesky_solve(at.hessian, residual)?;
            let decrement = dot(&residual, &step);
            let small = (0..L).all(|l| step[l].abs() <= 4.0 * f64::EPSILON * eta[l].abs());
            let exact = (0..L).all(|l| residual[l].abs() <= f64::EPSILON * target[l].abs());
            if small || exact {
                return Some(eta);
            }
            let before = dual(at.value, &eta);
            let rounding = 8.0 * f64::EPSILON * (at.value.abs() + dot_abs(&eta, &target));
            let mut length = 1.0;
            let moved = loop {
                let candidate: [f64; L] = std::array::from_fn(|l| eta[l] + length * step[l]);
                if candidate == eta {
                    break None;
                }
                let there = self.definition.a_with_derivatives(&candidate);
                let finite = there.value.is_finite() && there.gradient.iter().all(|g| g.is_finite());
                if finite && dual(there.value, &candidate) <= before - 0.25 * length * decrement + rounding {
                    break Some((candidate, there));
                }
                length *= 0.5;
            };
            let Some((candidate, there)) = moved else {
                return Some(eta);
            };
            // Below the dual's own rounding only the residual can tell whether a step still helps.
            if decrement < rounding {
                let next: [f64; L] = std::array::from_fn(|l| target[l] - there.gradient[l]);
                if dot_abs(&next, &[1.0; L]) >= dot_abs(&residual, &[1.0; L]) {
                    return Some(eta);
                }
            }
            (eta, at) = (candidate, there);
        }
        None
    }
}

fn dot<const L: usize>(a: &[f64; L], b: &[f64; L]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn dot_abs<const L: usize>(a: &[f64; L], b: &[f64; L]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a * b).abs()).sum()
}

/// Solves $H x = b$ for a symmetric positive definite $H$; `None` if it is not.
fn cholesky_solve<const L: usize>(h: [[f64; L]; L], b: [f64; L]) -> Option<[f64; L]> {
    let mut c = [[0.0; L]; L];
    for i in 0..L {
        for j in 0..=i {
            let sum = h[i][j] - (0..j).map(|k| c[i][k] * c[j][k]).sum::<f64>();
            if i == j {
                if sum.is_nan() || sum <= 0.0 {
                    return None;
                }
                c[i][i] = sum.sqrt();
            } else {
                c[i][j] = sum / c[j][j];
            }
        }
    }
    let mut x = b;
    for i in 0..L {
        x[i] = (x[i] - (0..i).map(|k| c[i][k] * x[k]).sum::<f64>()) / c[i][i];
    }
    for i in (0..L).rev() {
        x[i] = (x[i] - (i + 1..L).map(|k| c[k][i] * x[k]).sum::<f64>()) / c[i][i];
    }
    Some(x)
}

impl<D: Definition<L>, const L: usize> Family for Custom<D, L> {
    fn spec(&self) -> String {
        self.definition.name()
    }
    fn l(&self) -> usize {
        L
    }
    fn support(&self) -> Support {
        self.definition.support()
    }
    fn t(&self, y: f64, t: &mut [f64]) {
        t.copy_from_slice(&self.definition.t(y));
    }
    fn log_h(&self, y: f64) -> f64 {
        self.definition.log_h(y)
    }
    fn a(&self, eta: &[f64]) -> f64 {
        self.definition.a(Self::point(eta))
    }
    fn grad_a(&self, eta: &[f64], w: &mut [f64]) {
        w.copy_from_slice(&self.definition.a_with_derivatives(&Self::point(eta)).gradient);
    }
    fn phi(&self, w: &[f64], eta: &mut [f64]) {
        eta.copy_from_slice(&self.solve(w).unwrap_or([f64::NAN; L]));
    }
    fn f(&self, w: &[f64]) -> f64 {
        if self.mean_is_first {
            return w[0];
        }
        let Some(eta) = self.solve(w) else { return f64::NAN };
        self.definition.mean(&eta).unwrap_or_else(|| expectation(self, &eta, |y| y))
    }
    fn dominance(&self, w: &[f64]) -> f64 {
        let own = self.solve(w).and_then(|eta| self.definition.dominance(&eta));
        own.unwrap_or_else(|| self.f(w))
    }
    fn inside(&self, w: &[f64]) -> bool {
        self.solve(w).is_some()
    }
    fn domain(&self) -> String {
        "where A(η) - η·w has a minimum".into()
    }
    fn natural_inside(&self, eta: &[f64]) -> bool {
        self.a(eta).is_finite()
    }
    fn project(&self, w: &mut [f64]) {
        // The domain is convex and holds the centre: walk towards it until inside.
        let outside = Self::point(w);
        let mut pull = 1e-10;
        while !w.iter().all(|v| v.is_finite()) || self.solve(w).is_none() {
            pull = f64::min(pull * 10.0, 1.0);
            for l in 0..L {
                w[l] = self.centre[l];
                if pull < 1.0 {
                    w[l] += (1.0 - pull) * (outside[l] - self.centre[l]);
                }
            }
            if pull >= 1.0 {
                return;
            }
        }
    }
    fn sample(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        let log_density = |y: f64| self.log_density(y, eta);
        let support = self.support();
        let mut u: f64 = rng.random();
        match support.measure {
            Measure::Counting => {
                // from the lower end, or from where the mass begins, upwards until it is used up
                let mut y = support.low;
                if !y.is_finite() {
                    let mode = discrete_mode(&support, &log_density);
                    let mut step = 1.0;
                    while log_density(mode - step) > log_density(mode) - 45.0 && step < 1e9 {
                        step *= 2.0;
                    }
                    y = mode - step;
                }
                let start = y;
                while y < support.high && y - start < 1e7 {
                    u -= log_density(y).exp();
                    if u <= 0.0 {
                        break;
                    }
                    y += 1.0;
                }
                y
            }
            Measure::AtomAtZero if u < log_density(0.0).exp() => 0.0,
            _ => {
                let continuous = Support { measure: Measure::Lebesgue, ..support };
                Panels::new(&continuous, &log_density).quantile(rng.random())
            }
        }
    }
    fn parameters(&self) -> Vec<Parameter> {
        (1..=L).map(|l| Parameter::new(format!("eta{l}"), Range::Real(-1.0, 1.0))).collect()
    }
    fn conventional(&self, eta: &[f64]) -> Vec<f64> {
        eta.to_vec()
    }
    fn natural(&self, conventional: &[f64], eta: &mut [f64]) {
        eta.copy_from_slice(conventional);
    }
}
