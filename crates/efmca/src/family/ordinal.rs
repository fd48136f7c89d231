//! Ordered codes.

use std::sync::Arc;

use rand::{Rng, RngExt};

use super::categorical::{code_text, value, written};
use super::registry::{Entry, FixedParameter};
use super::{Family, Parameter, Range, Support};

/// Ordered codes, whose logarithms of probabilities are a parabola over the ranks: answers from *never* to *always*, grades, classes of
/// age.
///
/// With the rank $u_k = \frac{2k}{K-1} - 1$ of code $k$, between -1 and 1,
/// $$ p(y = c_k) = \frac{e^{\eta_1 u_k + \eta_2 u_k^2}}{\sum_j e^{\eta_1 u_j + \eta_2 u_j^2}}, \qquad \vec T = (u, u^2),\ A = \log\sum_k e^{\eta_1 u_k + \eta_2 u_k^2},\ F(\vec w) = \sum_k c_k p_k. $$
///
/// A positive slope $\eta_1$ prefers high codes; a negative curvature $\eta_2$ gathers values around a code, a positive one drives them
/// to both ends. Two parameters do for any number of codes, where [`Categorical`](super::Categorical) has one for each; it is the
/// log-linear model of an ordered category with its quadratic term. $\vec\Phi$ is Newton's method on the convex
/// $A(\vec\eta) - \vec\eta^T\vec w$. The dominance is the mean rank.
#[derive(Debug, Clone, PartialEq)]
pub struct Ordinal {
    /// The values themselves, if they are not 0, 1, …
    codes: Option<Support>,
    /// $u_k$.
    ranks: Vec<f64>,
}

const LARGEST_K: usize = 256;
/// The smallest distance to the edge of the mean domain that `project` allows, as a share of the squared distance of two ranks.
const SMALLEST_SLACK: f64 = 1e-8;

pub(crate) const ORDINAL: Entry = Entry {
    name: "ordinal",
    aliases: &["ordered"],
    summary: "ordered codes, such as answers from never to always",
    fixed: &[
        FixedParameter::optional("k", "number of codes, 3 or more, if they are written 0 to k-1"),
        FixedParameter::optional("codes", "the codes as they are written, if not 0 to k-1: 17.5/22/27"),
    ],
    examples: &["ordinal:k=3", "ordinal:k=7", "ordinal:codes=17.5/22/27/32/37/42"],
    build: |fixed| {
        let codes = fixed.codes(LARGEST_K)?;
        if codes.len() < 3 {
            return Err(fixed.refuse("k", "an order needs three codes; take bernoulli for two"));
        }
        let last = (codes.len() - 1) as f64;
        let ranks = (0..codes.len()).map(|k| 2.0 * k as f64 / last - 1.0).collect();
        Ok(Arc::new(Ordinal { codes: written(&codes), ranks }))
    },
};

impl Ordinal {
    /// The probabilities of all codes.
    fn probabilities(&self, eta: &[f64]) -> Vec<f64> {
        let a = self.a(eta);
        self.ranks.iter().map(|u| ((eta[0] + eta[1] * u) * u - a).exp()).collect()
    }

    /// The distance of neighbouring ranks.
    fn spacing(&self) -> f64 {
        2.0 / (self.ranks.len() - 1) as f64
    }

    /// How far `w` is inside of the polygon of all $(u_k, u_k^2)$: below its upper edge, and above its lower edges.
    fn slack(&self, w: &[f64]) -> f64 {
        let place = (((w[0] + 1.0) / self.spacing()).floor() as usize).min(self.ranks.len() - 2);
        let (left, right) = (self.ranks[place], self.ranks[place + 1]);
        let lowest = (left + right) * w[0] - left * right;
        (1.0 - w[1]).min(w[1] - lowest)
    }

    fn rank(&self, y: f64) -> f64 {
        self.ranks.get(super::categorical::position(self.codes, y)).copied().unwrap_or(1.0)
    }
}

impl Family for Ordinal {
    fn spec(&self) -> String {
        format!("ordinal:{}", code_text(self.codes, self.ranks.len()))
    }
    fn l(&self) -> usize {
        2
    }
    fn support(&self) -> Support {
        self.codes.unwrap_or(Support::integers(0.0, (self.ranks.len() - 1) as f64))
    }
    fn t(&self, y: f64, t: &mut [f64]) {
        let u = self.rank(y);
        t[0] = u;
        t[1] = u * u;
    }
    fn log_h(&self, _: f64) -> f64 {
        0.0
    }
    fn a(&self, eta: &[f64]) -> f64 {
        let exponent = |u: &f64| (eta[0] + eta[1] * u) * u;
        let max = self.ranks.iter().map(exponent).fold(f64::NEG_INFINITY, f64::max);
        max + self.ranks.iter().map(|u| (exponent(u) - max).exp()).sum::<f64>().ln()
    }
    fn grad_a(&self, eta: &[f64], w: &mut [f64]) {
        let p = self.probabilities(eta);
        w[0] = self.ranks.iter().zip(&p).map(|(u, p)| u * p).sum();
        w[1] = self.ranks.iter().zip(&p).map(|(u, p)| u * u * p).sum();
    }
    fn phi(&self, w: &[f64], eta: &mut [f64]) {
        let height = |eta: &[f64; 2]| self.a(eta) - eta[0] * w[0] - eta[1] * w[1];
        let mut at = [0.0, 0.0];
        let mut low = height(&at);
        for _ in 0..500 {
            let p = self.probabilities(&at);
            // deviations from w itself, so that nothing cancels near the edge
            let (mut r, mut c) = ([0.0; 2], [0.0; 3]);
            for (u, p) in self.ranks.iter().zip(&p) {
                let d = [u - w[0], u * u - w[1]];
                r[0] -= p * d[0];
                r[1] -= p * d[1];
                c[0] += p * d[0] * d[0];
                c[1] += p * d[0] * d[1];
                c[2] += p * d[1] * d[1];
            }
            let (a, b, d) = (c[0] - r[0] * r[0], c[1] - r[0] * r[1], c[2] - r[1] * r[1]);
            let determinant = a * d - b * b;
            let step = [(r[0] * d - r[1] * b) / determinant, (r[1] * a - r[0] * b) / determinant];
            if !(step[0].is_finite() && step[1].is_finite()) {
                break;
            }
            let mut damping = 1.0;
            let mut moved = false;
            for _ in 0..60 {
                let next = [at[0] + damping * step[0], at[1] + damping * step[1]];
                let height = height(&next);
                if height <= low + 1e-14 * (1.0 + low.abs()) {
                    moved = next != at;
                    (at, low) = (next, height);
                    break;
                }
                damping *= 0.5;
            }
            let size = step[0].abs().max(step[1].abs());
            if !moved || size <= 1e-15 * (1.0 + at[0].abs() + at[1].abs()) {
                break;
            }
        }
        eta.copy_from_slice(&at);
    }
    fn f(&self, w: &[f64]) -> f64 {
        let Some(codes) = self.codes.and_then(|support| support.codes) else {
            return (w[0] + 1.0) / self.spacing();
        };
        let mut eta = [0.0; 2];
        self.phi(w, &mut eta);
        self.probabilities(&eta).iter().zip(codes).map(|(p, code)| p * code).sum()
    }
    fn dominance(&self, w: &[f64]) -> f64 {
        w[0]
    }
    fn inside(&self, w: &[f64]) -> bool {
        w[0] > -1.0 && w[0] < 1.0 && self.slack(w) > 0.0
    }
    fn domain(&self) -> String {
        "inside of the polygon of the ranks and their squares".into()
    }
    fn natural_inside(&self, eta: &[f64]) -> bool {
        self.a(eta).is_finite()
    }
    fn project(&self, w: &mut [f64]) {
        let least = SMALLEST_SLACK * self.spacing() * self.spacing();
        if self.inside(w) && self.slack(w) >= least {
            return;
        }
        w[0] = w[0].clamp(-1.0, 1.0);
        // the squares of ranks are between the lower edges and 1
        let below = self.slack(&[w[0], 0.0]).min(0.0);
        w[1] = w[1].clamp(-below, 1.0);
        let centre: f64 = self.ranks.iter().map(|u| u * u).sum::<f64>() / self.ranks.len() as f64;
        let share = 4.0 * least / self.slack(&[0.0, centre]);
        w[0] -= share * w[0];
        w[1] += share * (centre - w[1]);
    }
    fn sample(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        let mut u: f64 = rng.random();
        for (k, p) in self.probabilities(eta).iter().enumerate() {
            if u < *p {
                return value(self.codes, k);
            }
            u -= p;
        }
        value(self.codes, self.ranks.len() - 1)
    }
    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("slope", Range::Real(-12.0, 12.0)), Parameter::new("curvature", Range::Real(-12.0, 12.0))]
    }
    fn conventional(&self, eta: &[f64]) -> Vec<f64> {
        eta.to_vec()
    }
    fn natural(&self, conventional: &[f64], eta: &mut [f64]) {
        eta.copy_from_slice(conventional);
    }
}
