//! How active causes combine.

use serde::{Deserialize, Serialize};

/// The rule by which active causes combine, for each observable by itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[non_exhaustive]
pub enum Superposition {
    /// The active cause with the largest dominance $M_{dh}$ sets all parameters of the observable:
    /// $h(d, \vec s, \Theta) = \operatorname{argmax}_h\lbrace M_{dh}\rbrace $ over the active causes (Eqn. 22). Ties go to the
    /// first cause.
    ///
    /// The paper writes $\operatorname{argmax}_h\lbrace M_{dh}s_h\rbrace $, which for negative $M$ can pick an inactive cause;
    /// where $M > 0$ the two are the same.
    Max,
    /// The same with $|M_{dh}|$, for signed data.
    MaxMagnitude,
    /// The smooth maximum of the paper's appendix (C.1), for annealing. The causes share an observable with weights
    /// $$ \mathcal A\_{dh}^\rho(\vec s, \Theta) = \frac{s\_h M\_{dh}^\rho}{\sum\_{h'} s\_{h'} M\_{dh'}^\rho} $$
    /// and its mean parameters are
    /// $$ \bar W\_d^\rho = \Big(\sum\_h (W\_{dh}s\_h)^\rho\Big)^{1/\rho} $$
    /// where $M = W$ and $L = 1$ (Poisson, Bernoulli, …; moved back inside the domain where it leaves it), and
    /// $\sum\_h \mathcal A\_{dh}^\rho  \vec W\_{dh}$ for every other family, which has the same limit and never leaves
    /// the domain.
    ///
    /// A power needs something positive: a column in which some $M$ is negative is shifted until its smallest is zero.
    Smooth {
        /// $\rho > 0$; the larger, the sharper.
        rho: f64,
    },
    /// The same for the maximum magnitude, with $|M_{dh}|$.
    SmoothMagnitude {
        /// $\rho > 0$; the larger, the sharper.
        rho: f64,
    },
}

impl From<Superposition> for String {
    fn from(rule: Superposition) -> String {
        rule.name()
    }
}

impl TryFrom<String> for Superposition {
    type Error = String;

    fn try_from(name: String) -> Result<Superposition, String> {
        Superposition::from_name(&name).ok_or_else(|| format!("there is no superposition rule `{name}`"))
    }
}

impl Superposition {
    /// The number that is compared: the dominance or its magnitude.
    pub(crate) fn strength(self, dominance: f64) -> f64 {
        match self {
            Superposition::Max | Superposition::Smooth { .. } => dominance,
            Superposition::MaxMagnitude | Superposition::SmoothMagnitude { .. } => dominance.abs(),
        }
    }

    /// The smooth version with exponent `rho`, which anneals to this rule.
    pub(crate) fn smooth(self, rho: f64) -> Superposition {
        match self {
            Superposition::Max | Superposition::Smooth { .. } => Superposition::Smooth { rho },
            Superposition::MaxMagnitude | Superposition::SmoothMagnitude { .. } => {
                Superposition::SmoothMagnitude { rho }
            }
        }
    }

    /// The exponent, if this is a smooth rule.
    pub(crate) fn rho(self) -> Option<f64> {
        match self {
            Superposition::Smooth { rho } | Superposition::SmoothMagnitude { rho } => Some(rho),
            Superposition::Max | Superposition::MaxMagnitude => None,
        }
    }

    /// The name in model files.
    pub(crate) fn name(self) -> String {
        match self {
            Superposition::Max => "max".into(),
            Superposition::MaxMagnitude => "max-magnitude".into(),
            Superposition::Smooth { rho } => format!("smooth:rho={rho}"),
            Superposition::SmoothMagnitude { rho } => format!("smooth-magnitude:rho={rho}"),
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Superposition> {
        match name {
            "max" => Some(Superposition::Max),
            "max-magnitude" => Some(Superposition::MaxMagnitude),
            other => {
                let (name, rho) = other.split_once(":rho=")?;
                let rho = rho.parse().ok().filter(|rho: &f64| *rho > 0.0 && rho.is_finite())?;
                match name {
                    "smooth" => Some(Superposition::Smooth { rho }),
                    "smooth-magnitude" => Some(Superposition::SmoothMagnitude { rho }),
                    _ => None,
                }
            }
        }
    }
}
