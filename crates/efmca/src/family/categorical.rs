//! One of K categories.

use std::sync::Arc;

use rand::{Rng, RngExt};

use super::registry::{Entry, FixedParameter};
use super::{Family, Parameter, Range, Support};
use crate::error::{Error, Result};

/// The categorical family over $0, \ldots, K-1$, with a score $v_k$ for each category.
///
/// $$ p(y = k) = p_k $$
/// $$ \vec T = \text{one-hot of the first } K-1,\ \eta_k = \log\frac{p_k}{p_{K-1}},\ A = \log\Big(1 + \sum_{k<K-1} e^{\eta_k}\Big),\ F(\vec w) = \sum_k v_k p_k $$
///
/// The scores are $v_k = k$ unless given, and they order the causes. For categories without an order
/// (`order=nominal`) the dominance is the information $\log K + \sum_k p_k\log p_k$: the more decided cause wins.
#[derive(Debug, Clone, PartialEq)]
pub struct Categorical {
    /// The values themselves, if they are not 0, 1, …
    codes: Option<Support>,
    scores: Vec<f64>,
    default_scores: bool,
    nominal: bool,
}

const SMALLEST_PROBABILITY: f64 = 1e-10;
const LARGEST_K: usize = 1 << 12;

pub(crate) const CATEGORICAL: Entry = Entry {
    name: "categorical",
    aliases: &["multinoulli"],
    summary: "one of k categories, written 0 to k-1, or as codes",
    fixed: &[
        FixedParameter::optional("k", "number of categories, 2 or more, if they are written 0 to k-1"),
        FixedParameter::optional("codes", "the categories as they are written, if not 0 to k-1: 1/2/5"),
        FixedParameter::optional("scores", "a number for each category, as 0/1/4; 0/1/2/… unless given"),
        FixedParameter::optional("order", "`nominal` if the categories have no order"),
    ],
    examples: &[
        "categorical:k=2",
        "categorical:k=5",
        "categorical:k=3,scores=0/1/4",
        "categorical:k=4,order=nominal",
        "categorical:codes=-2/3/7.5",
    ],
    build: |fixed| {
        let codes = fixed.codes(LARGEST_K)?;
        let k = codes.len();
        let scores = match fixed.text("scores") {
            None => codes.clone(),
            Some(text) => parse_scores(text, k)?,
        };
        let nominal = match fixed.text("order") {
            None => false,
            Some("nominal") => true,
            Some(_) => return Err(fixed.refuse("order", "only `nominal` can be written here")),
        };
        let codes = written(&codes);
        Ok(Arc::new(Categorical { codes, scores, default_scores: !fixed.has("scores"), nominal }))
    },
};

/// The support of codes that are not 0, 1, …
pub(super) fn written(codes: &[f64]) -> Option<Support> {
    let plain = codes.iter().enumerate().all(|(k, code)| *code == k as f64);
    (!plain).then(|| Support::of_codes(codes))
}

/// The position of a value among the codes.
pub(super) fn position(codes: Option<Support>, y: f64) -> usize {
    match codes.and_then(|support| support.codes) {
        Some(codes) => codes.partition_point(|code| *code < y),
        None => y as usize,
    }
}

/// The value at a position among the codes.
pub(super) fn value(codes: Option<Support>, position: usize) -> f64 {
    codes.and_then(|support| support.codes?.get(position).copied()).unwrap_or(position as f64)
}

/// Codes as a fixed parameter: their number, or a list.
pub(super) fn code_text(codes: Option<Support>, k: usize) -> String {
    match codes.and_then(|support| support.codes) {
        Some(codes) => format!("codes={}", codes.iter().map(f64::to_string).collect::<Vec<String>>().join("/")),
        None => format!("k={k}"),
    }
}

fn parse_scores(text: &str, k: usize) -> Result<Vec<f64>> {
    let scores: Vec<f64> = text.split('/').filter_map(|v| v.parse().ok()).filter(|v: &f64| v.is_finite()).collect();
    if scores.len() == k && text.split('/').count() == k {
        return Ok(scores);
    }
    Err(Error::FamilyParameter {
        family: "categorical".into(),
        problem: format!("scores={text}: write {k} numbers with slashes between them"),
    })
}

impl Categorical {
    /// The probabilities of all $K$ categories.
    fn probabilities<'a>(&self, w: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        let last = 1.0 - w.iter().sum::<f64>();
        w.iter().copied().chain(std::iter::once(last))
    }
}

impl Family for Categorical {
    fn spec(&self) -> String {
        let mut spec = format!("categorical:{}", code_text(self.codes, self.scores.len()));
        if !self.default_scores {
            let scores: Vec<String> = self.scores.iter().map(f64::to_string).collect();
            spec += &format!(",scores={}", scores.join("/"));
        }
        if self.nominal {
            spec += ",order=nominal";
        }
        spec
    }
    fn l(&self) -> usize {
        self.scores.len() - 1
    }
    fn support(&self) -> Support {
        self.codes.unwrap_or(Support::integers(0.0, (self.scores.len() - 1) as f64))
    }
    fn t(&self, y: f64, t: &mut [f64]) {
        t.fill(0.0);
        if let Some(one) = t.get_mut(position(self.codes, y)) {
            *one = 1.0;
        }
    }
    fn log_h(&self, _: f64) -> f64 {
        0.0
    }
    fn a(&self, eta: &[f64]) -> f64 {
        let max = eta.iter().copied().fold(0.0, f64::max);
        max + ((-max).exp() + eta.iter().map(|e| (e - max).exp()).sum::<f64>()).ln()
    }
    fn grad_a(&self, eta: &[f64], w: &mut [f64]) {
        let a = self.a(eta);
        for (w, e) in w.iter_mut().zip(eta) {
            *w = (e - a).exp();
        }
    }
    fn phi(&self, w: &[f64], eta: &mut [f64]) {
        let last = 1.0 - w.iter().sum::<f64>();
        for (eta, w) in eta.iter_mut().zip(w) {
            *eta = (w / last).ln();
        }
    }
    fn f(&self, w: &[f64]) -> f64 {
        self.probabilities(w).zip(&self.scores).map(|(p, v)| p * v).sum()
    }
    fn score(&self, y: f64) -> f64 {
        self.scores.get(position(self.codes, y)).copied().unwrap_or(f64::NAN)
    }
    fn dominance(&self, w: &[f64]) -> f64 {
        if !self.nominal {
            return self.f(w);
        }
        let negative_entropy: f64 = self.probabilities(w).map(|p| p * p.ln()).sum();
        (self.scores.len() as f64).ln() + negative_entropy
    }
    fn inside(&self, w: &[f64]) -> bool {
        self.probabilities(w).all(|p| p > 0.0 && p < 1.0)
    }
    fn domain(&self) -> String {
        "every w > 0 and their sum below 1".into()
    }
    fn natural_inside(&self, eta: &[f64]) -> bool {
        self.a(eta).is_finite()
    }
    fn project(&self, w: &mut [f64]) {
        if self.probabilities(w).all(|p| p >= SMALLEST_PROBABILITY) {
            return;
        }
        let positive: f64 = self.probabilities(w).map(|p| p.max(0.0)).sum();
        let raise = |p: f64| (p.max(0.0) / positive).max(2.0 * SMALLEST_PROBABILITY);
        let total: f64 = self.probabilities(w).map(raise).sum();
        for w in w.iter_mut() {
            *w = raise(*w) / total;
        }
    }
    fn sample(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        let mut w = vec![0.0; self.l()];
        self.grad_a(eta, &mut w);
        let mut u: f64 = rng.random();
        for (k, p) in w.iter().enumerate() {
            if u < *p {
                return value(self.codes, k);
            }
            u -= p;
        }
        value(self.codes, self.l())
    }
    fn parameters(&self) -> Vec<Parameter> {
        (0..self.scores.len()).map(|k| Parameter::new(format!("p{k}"), Range::Share)).collect()
    }
    fn conventional(&self, eta: &[f64]) -> Vec<f64> {
        let a = self.a(eta);
        eta.iter().map(|e| (e - a).exp()).chain(std::iter::once((-a).exp())).collect()
    }
    fn natural(&self, conventional: &[f64], eta: &mut [f64]) {
        let last = conventional[self.l()];
        for (eta, p) in eta.iter_mut().zip(conventional) {
            *eta = (p / last).ln();
        }
    }
}
