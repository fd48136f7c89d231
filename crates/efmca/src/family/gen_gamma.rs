//! The generalised Gamma row: one struct, many names.

use std::sync::Arc;

use rand::Rng;
use rand_distr::Distribution;

use super::part::{Part, share_of_gamma};
use super::registry::{Entry, FixedParameter};
use super::{Family, Parameter, Range, SharedFamily, Support, representable};
use crate::error::{Error, Result};
use crate::special::ln_gamma;

/// The generalised Gamma family with fixed exponents $d$ and $p$ ($d/p > 0$), and its scale as the one parameter.
///
/// $$ p(y) = \frac{|p|}{\Gamma(d/p)} \frac{y^{d-1}}{a^d}  e^{-(y/a)^p} $$
/// $$ T = y^p,\ \eta = -a^{-p},\ A = -\tfrac dp\log(-\eta),\ \Phi(w) = -\frac{d/p}{w} $$
/// $$ F(w) = \Big(\frac{w}{d/p}\Big)^{1/p} \frac{\Gamma((d+1)/p)}{\Gamma(d/p)} $$
///
/// Exponential ($d=p=1$), Gamma with fixed shape ($d=k$, $p=1$; $k$ looks of SAR speckle), Rayleigh ($2,2$), Maxwell
/// ($3,2$), half-normal ($1,2$), Nakagami ($2m,2$), Weibull ($k,k$) and inverse Gamma ($-\alpha,-1$) are this row
/// with their own names and their own conventional parameter $\theta$, $\eta = -c \theta^e$.
#[derive(Debug, Clone, PartialEq)]
pub struct GenGamma {
    spec: String,
    d: f64,
    p: f64,
    /// $\kappa = d/p$.
    kappa: f64,
    /// $\log(|p|/\Gamma(\kappa))$.
    log_norm: f64,
    /// $\mathbb E\lbrack y\rbrack /a$; infinite where the mean is.
    mean_factor: f64,
    parameter: &'static str,
    c: f64,
    e: f64,
}

/// The conventional parameter of a named member: its name, and $c$, $e$ of $\eta = -c \theta^e$.
struct Scale(&'static str, f64, f64);

impl GenGamma {
    fn named(spec: String, d: f64, p: f64, Scale(parameter, c, e): Scale) -> Result<Arc<dyn Family>> {
        let kappa = d / p;
        if !(kappa > 0.0 && kappa.is_finite()) {
            return Err(Error::FamilyParameter {
                family: spec,
                problem: format!("d/p = {d}/{p} must be positive, or the density cannot be normalised"),
            });
        }
        let mean_kappa = (d + 1.0) / p;
        let mean_factor = if mean_kappa > 0.0 { (ln_gamma(mean_kappa) - ln_gamma(kappa)).exp() } else { f64::INFINITY };
        let log_norm = p.abs().ln() - ln_gamma(kappa);
        Ok(Arc::new(GenGamma { spec, d, p, kappa, log_norm, mean_factor, parameter, c, e }))
    }

    /// The scale $a = (w/\kappa)^{1/p}$.
    fn scale(&self, w: f64) -> f64 {
        (w / self.kappa).powf(1.0 / self.p)
    }
}

pub(crate) const EXPONENTIAL: Entry = Entry {
    name: "exponential",
    aliases: &["exp"],
    summary: "waiting times, single-look speckle intensity",
    fixed: &[],
    examples: &["exponential"],
    build: |_| GenGamma::named("exponential".into(), 1.0, 1.0, Scale("rate", 1.0, 1.0)),
};

/// Gamma with fixed shape, which the entry of `gamma` builds when it is given `k`.
pub(super) fn gamma_fixed_shape(k: f64) -> Result<Arc<dyn Family>> {
    GenGamma::named(format!("gamma:k={k}"), k, 1.0, Scale("rate", 1.0, 1.0))
}

pub(crate) const RAYLEIGH: Entry = Entry {
    name: "rayleigh",
    aliases: &[],
    summary: "amplitude of two equal Gaussian parts (speckle and MRI amplitude)",
    fixed: &[],
    examples: &["rayleigh"],
    build: |_| GenGamma::named("rayleigh".into(), 2.0, 2.0, Scale("sigma", 0.5, -2.0)),
};

pub(crate) const MAXWELL: Entry = Entry {
    name: "maxwell",
    aliases: &[],
    summary: "length of three equal Gaussian parts (speeds)",
    fixed: &[],
    examples: &["maxwell"],
    build: |_| GenGamma::named("maxwell".into(), 3.0, 2.0, Scale("a", 0.5, -2.0)),
};

pub(crate) const HALF_NORMAL: Entry = Entry {
    name: "half-normal",
    aliases: &["halfnormal"],
    summary: "magnitude of a Gaussian",
    fixed: &[],
    examples: &["half-normal"],
    build: |_| GenGamma::named("half-normal".into(), 1.0, 2.0, Scale("sigma", 0.5, -2.0)),
};

pub(crate) const NAKAGAMI: Entry = Entry {
    name: "nakagami",
    aliases: &[],
    summary: "fading amplitude; multi-look speckle amplitude (m looks)",
    fixed: &[FixedParameter::required("m", "shape, a positive number").between(|_| (0.05, 200.0))],
    examples: &["nakagami:m=0.8", "nakagami:m=4"],
    build: |fixed| {
        let m = fixed.positive("m")?;
        GenGamma::named(format!("nakagami:m={m}"), 2.0 * m, 2.0, Scale("omega", m, -1.0))
    },
};

pub(crate) const WEIBULL: Entry = Entry {
    name: "weibull",
    aliases: &[],
    summary: "life times, wind speeds (shape known)",
    fixed: &[FixedParameter::required("k", "shape, a positive number").between(|_| (0.1, 50.0))],
    examples: &["weibull:k=1.7", "weibull:k=0.6"],
    build: |fixed| {
        let k = fixed.positive("k")?;
        GenGamma::named(format!("weibull:k={k}"), k, k, Scale("lambda", 1.0, -k))
    },
};

pub(crate) const INVERSE_GAMMA: Entry = Entry {
    name: "inverse-gamma",
    aliases: &["inversegamma"],
    summary: "heavy-tailed positive amounts (shape known)",
    fixed: &[FixedParameter::required("alpha", "shape, a positive number; the mean is infinite up to 1")
        .between(|_| (0.1, 500.0))],
    examples: &["inverse-gamma:alpha=3", "inverse-gamma:alpha=0.7"],
    build: |fixed| {
        let alpha = fixed.positive("alpha")?;
        GenGamma::named(format!("inverse-gamma:alpha={alpha}"), -alpha, -1.0, Scale("beta", 1.0, 1.0))
    },
};

pub(crate) const GEN_GAMMA: Entry = Entry {
    name: "gen-gamma",
    aliases: &["gengamma", "generalised-gamma", "generalized-gamma"],
    summary: "the row that exponential, gamma:k, rayleigh, weibull and others belong to",
    fixed: &[
        FixedParameter::required("d", "exponent of y, plus one").between(|_| (0.1, 50.0)),
        FixedParameter::required("p", "exponent inside exp; d/p must be positive").between(|_| (0.1, 20.0)),
    ],
    examples: &["gen-gamma:d=2.2,p=1.3"],
    build: |fixed| {
        let (d, p) = (fixed.number("d")?, fixed.number("p")?);
        GenGamma::named(format!("gen-gamma:d={d},p={p}"), d, p, Scale("a", 1.0, -p))
    },
};

impl Family for GenGamma {
    fn spec(&self) -> String {
        self.spec.clone()
    }
    fn sum_of(&self, values: usize) -> Option<SharedFamily> {
        // of the families with this form only Gamma is closed under sums
        (self.p == 1.0).then(|| super::family(&format!("gamma:k={}", self.d * values as f64)).ok())?
    }
    fn part(&self, share: f64) -> Option<Part> {
        let k = self.d;
        let family = (self.p == 1.0).then(|| super::family(&format!("gamma:k={}", share * k)).ok())??;
        Some(Part::new(family, move |y, _, rng| representable(y * share_of_gamma(share, k, rng))))
    }
    fn l(&self) -> usize {
        1
    }
    fn support(&self) -> Support {
        Support::POSITIVE
    }
    fn t(&self, y: f64, t: &mut [f64]) {
        t[0] = match self.p {
            1.0 => y,
            2.0 => y * y,
            p => y.powf(p),
        };
    }
    fn log_h(&self, y: f64) -> f64 {
        // 0 * log(y) is 0 here, also for the smallest y
        if self.d == 1.0 { self.log_norm } else { (self.d - 1.0) * y.ln() + self.log_norm }
    }
    fn a(&self, eta: &[f64]) -> f64 {
        -self.kappa * (-eta[0]).ln()
    }
    fn grad_a(&self, eta: &[f64], w: &mut [f64]) {
        w[0] = self.kappa / -eta[0];
    }
    fn phi(&self, w: &[f64], eta: &mut [f64]) {
        eta[0] = -self.kappa / w[0];
    }
    fn f(&self, w: &[f64]) -> f64 {
        if self.p == 1.0 { w[0] } else { self.scale(w[0]) * self.mean_factor }
    }
    fn dominance(&self, w: &[f64]) -> f64 {
        // Where the mean is infinite the scale still has an order.
        if self.mean_factor.is_finite() { self.f(w) } else { self.scale(w[0]) }
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
        w[0] = w[0].max(1e-280);
    }
    fn sample(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        match rand_distr::Gamma::new(self.kappa, 1.0) {
            Ok(gamma) => representable((gamma.sample(rng) / -eta[0]).powf(1.0 / self.p)),
            Err(_) => 1.0,
        }
    }
    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new(self.parameter, Range::Positive(1e-6, 1e6))]
    }
    fn conventional(&self, eta: &[f64]) -> Vec<f64> {
        let value = -eta[0] / self.c;
        vec![match self.e {
            1.0 => value,
            -2.0 => 1.0 / value.sqrt(),
            e => value.powf(1.0 / e),
        }]
    }
    fn natural(&self, conventional: &[f64], eta: &mut [f64]) {
        eta[0] = -self.c * conventional[0].powf(self.e);
    }
}
