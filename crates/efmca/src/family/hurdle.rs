//! Many zeros, and something else above them.

use std::sync::Arc;

use rand::{Rng, RngExt};

use super::registry::{self, Entry};
use super::{Family, Measure, Parameter, Range, SharedFamily, Support, ZeroTruncatedPoisson};
use crate::error::{Error, Result};
use crate::special::{log1p_exp, logistic, logit};

/// A probability $1-\rho$ of exactly zero, and a family $X$ of positive values otherwise.
///
/// $$ \vec T = \big(\mathbb 1\lbrack y>0\rbrack ,\ \mathbb 1\lbrack y>0\rbrack  \vec T_X(y)\big),\quad \eta_0 = \operatorname{logit}\rho - A_X(\vec\eta_X),\quad A = \log\big(1 + e^{\eta_0 + A_X(\vec\eta_X)}\big) $$
/// $$ \vec\Phi: \vec\eta_X = \vec\Phi_X(\vec w_X/w_0),\qquad F = w_0 F_X(\vec w_X/w_0) $$
///
/// `hurdle-poisson` has [`ZeroTruncatedPoisson`] above zero; `hurdle-gamma`, `hurdle-log-normal`, `hurdle-beta` and
/// every other family of positive numbers can stand there.
#[derive(Debug, Clone)]
pub struct Hurdle {
    spec: String,
    positive: SharedFamily,
}

/// How close to 0 and 1 the probability of a positive value may come.
const SMALLEST_PROBABILITY: f64 = 1e-10;

pub(crate) const HURDLE: Entry = Entry {
    name: "hurdle",
    aliases: &[],
    summary: "exact zeros and another family above them: hurdle-poisson, hurdle-gamma, hurdle-log-normal, …",
    fixed: &[],
    examples: &["hurdle-poisson", "hurdle-gamma", "hurdle-log-normal", "hurdle-beta", "hurdle-gamma:k=4"],
    build: |fixed| {
        Err(fixed.refuse(
            "",
            "say what stands above the zeros: hurdle-poisson, hurdle-gamma, hurdle-log-normal, hurdle-beta",
        ))
    },
};

impl Hurdle {
    /// Zeros and, above them, the family that `inner` names.
    pub(super) fn parse(inner: &str) -> Result<SharedFamily> {
        let spec = format!("hurdle-{inner}");
        if inner.starts_with("hurdle") {
            return Err(Error::FamilyParameter {
                family: "hurdle".into(),
                problem: "a hurdle cannot stand above a hurdle; only positive values may stand there".into(),
            });
        }
        let positive: SharedFamily =
            if inner == "poisson" { Arc::new(ZeroTruncatedPoisson) } else { registry::family(inner)? };
        let support = positive.support();
        // a density has to start right above zero; counts start at one
        let starts = if support.measure == Measure::Counting { support.low == 1.0 } else { support.low == 0.0 };
        if support.contains(0.0) || !starts {
            return Err(Error::FamilyParameter {
                family: spec,
                problem: format!(
                    "`{inner}` allows {support}, but above a hurdle only positive values from zero on may stand"
                ),
            });
        }
        let spec = match positive.spec().as_str() {
            "zero-truncated-poisson" => "hurdle-poisson".into(),
            inner => format!("hurdle-{inner}"),
        };
        Ok(Arc::new(Hurdle { spec, positive }))
    }

    /// $\vec w_X / w_0$, the mean parameters of the positive part.
    fn conditional(w: &[f64]) -> Vec<f64> {
        w[1..].iter().map(|v| v / w[0]).collect()
    }
}

impl Family for Hurdle {
    fn spec(&self) -> String {
        self.spec.clone()
    }
    fn l(&self) -> usize {
        1 + self.positive.l()
    }
    fn support(&self) -> Support {
        let inner = self.positive.support();
        let measure = if inner.measure == Measure::Counting { Measure::Counting } else { Measure::AtomAtZero };
        Support { measure, low: 0.0, low_included: true, ..inner }
    }
    fn t(&self, y: f64, t: &mut [f64]) {
        if y == 0.0 {
            t.fill(0.0);
        } else {
            t[0] = 1.0;
            self.positive.t(y, &mut t[1..]);
        }
    }
    fn log_h(&self, y: f64) -> f64 {
        if y == 0.0 { 0.0 } else { self.positive.log_h(y) }
    }
    fn a(&self, eta: &[f64]) -> f64 {
        log1p_exp(eta[0] + self.positive.a(&eta[1..]))
    }
    fn grad_a(&self, eta: &[f64], w: &mut [f64]) {
        w[0] = logistic(eta[0] + self.positive.a(&eta[1..]));
        self.positive.grad_a(&eta[1..], &mut w[1..]);
        for l in 1..w.len() {
            w[l] *= w[0];
        }
    }
    fn phi(&self, w: &[f64], eta: &mut [f64]) {
        self.positive.phi(&Self::conditional(w), &mut eta[1..]);
        eta[0] = logit(w[0]) - self.positive.a(&eta[1..]);
    }
    fn f(&self, w: &[f64]) -> f64 {
        w[0] * self.positive.f(&Self::conditional(w))
    }
    fn dominance(&self, w: &[f64]) -> f64 {
        // the mean, or what stands for it where the positive part has an infinite one
        w[0] * self.positive.dominance(&Self::conditional(w))
    }
    fn inside(&self, w: &[f64]) -> bool {
        w[0] > 0.0 && w[0] < 1.0 && self.positive.inside(&Self::conditional(w))
    }
    fn domain(&self) -> String {
        format!("0 < w1 < 1 and (w2, …)/w1 as for {}: {}", self.positive.spec(), self.positive.domain())
    }
    fn natural_inside(&self, eta: &[f64]) -> bool {
        eta[0].is_finite() && self.positive.natural_inside(&eta[1..])
    }
    fn project(&self, w: &mut [f64]) {
        let mut conditional = Self::conditional(w);
        if conditional.iter().any(|v| !v.is_finite()) {
            // never positive: nothing is known of the positive part
            conditional.fill(0.0);
        }
        let rho = w[0].clamp(SMALLEST_PROBABILITY, 1.0 - SMALLEST_PROBABILITY);
        let before = conditional.clone();
        self.positive.project(&mut conditional);
        if rho == w[0] && before == conditional {
            return;
        }
        // Multiplying by rho and dividing again rounds: step further in until the point stays inside.
        w[0] = rho;
        for _ in 0..8 {
            for (w, v) in w[1..].iter_mut().zip(&conditional) {
                *w = v * rho;
            }
            let mut again = Self::conditional(w);
            let settled = again.clone();
            self.positive.project(&mut again);
            if again == settled {
                return;
            }
            conditional = again;
        }
    }
    fn sample(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        let rho = logistic(eta[0] + self.positive.a(&eta[1..]));
        if rng.random::<f64>() < rho { self.positive.sample(&eta[1..], rng) } else { 0.0 }
    }
    fn parameters(&self) -> Vec<Parameter> {
        let mut parameters = vec![Parameter::new("rho", Range::Probability)];
        parameters.extend(self.positive.parameters());
        parameters
    }
    fn conventional(&self, eta: &[f64]) -> Vec<f64> {
        let mut values = vec![logistic(eta[0] + self.positive.a(&eta[1..]))];
        values.extend(self.positive.conventional(&eta[1..]));
        values
    }
    fn natural(&self, conventional: &[f64], eta: &mut [f64]) {
        self.positive.natural(&conventional[1..], &mut eta[1..]);
        eta[0] = logit(conventional[0]) - self.positive.a(&eta[1..]);
    }
    fn log_density(&self, y: f64, eta: &[f64]) -> f64 {
        let from_odds = eta[0] + self.positive.a(&eta[1..]);
        if y == 0.0 { -log1p_exp(from_odds) } else { self.positive.log_density(y, &eta[1..]) - log1p_exp(-from_odds) }
    }
    fn update(&self, t_bar: &[f64], held: &[bool], w: &mut [f64]) {
        // the positive part is held in its own coordinates
        let mut conditional = Self::conditional(w);
        if t_bar[0] > 0.0 {
            self.positive.update(&Self::conditional(t_bar), &held[1..], &mut conditional);
        }
        if !held[0] {
            w[0] = t_bar[0].max(SMALLEST_PROBABILITY);
        }
        for l in 1..w.len() {
            w[l] = conditional[l - 1] * w[0];
        }
    }
}
