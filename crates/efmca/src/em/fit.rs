//! The outcome of a training.

use crate::model::Model;
use crate::posterior::Sets;
use crate::posterior::truncated::Effort;

/// One iteration of a training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Iteration {
    /// $\mathcal F(q, \Theta)$ before the M-step; the log-likelihood where the temperature is one.
    pub bound: f64,
    /// The temperature of the posteriors.
    pub temperature: f64,
    /// The exponent of the smooth maximum, if it was used.
    pub rho: Option<f64>,
    /// Causes that were started again after the M-step.
    pub revived: usize,
    /// Spare causes that were taken away after the M-step.
    pub removed: usize,
    /// The work of the E-step, if posteriors are truncated.
    pub effort: Effort,
}

impl Iteration {
    /// Whether the causes after it are those before it.
    pub(super) fn kept_causes(&self) -> bool {
        self.revived == 0 && self.removed == 0
    }
}

/// Why training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// All iterations were done.
    Iterations,
    /// The log-likelihood no longer changed.
    Converged,
    /// The observer ended it.
    Interrupted,
}

/// A trained model and how it came about.
#[derive(Debug, Clone)]
pub struct Fit {
    /// The model.
    pub model: Model,
    /// $\mathcal F(q, \Theta)$ of the model on the training data, the ELBO or free energy (Eqn. 26). With exact posteriors it is the
    /// log-likelihood $\mathcal L(\Theta)$; see [`Fit::is_exact`].
    pub bound: f64,
    /// One entry for each iteration.
    pub history: Vec<Iteration>,
    /// Why training ended.
    pub stop: StopReason,
    /// Rows of the data, or the sum of their weights.
    pub weight: f64,
    /// The sets $\mathcal K^{(n)}$ of the training data, if posteriors were truncated.
    pub sets: Option<Sets>,
    /// $q$ of each of their states, if it was asked for.
    pub(crate) q: Option<Vec<f64>>,
}

impl Fit {
    /// Whether posteriors were exact, so that [`Fit::bound`] is the log-likelihood itself.
    pub fn is_exact(&self) -> bool {
        self.sets.is_none()
    }

    /// How often the log-likelihood fell from one iteration to the next, and the largest fall relative to its size.
    /// Annealed iterations, and those after which a cause was revived, do not count: there it may fall.
    pub fn dips(&self) -> (usize, f64) {
        let last = Iteration {
            bound: self.bound,
            temperature: 1.0,
            rho: None,
            revived: 0,
            removed: 0,
            effort: Effort::default(),
        };
        let steps: Vec<Iteration> = self.history.iter().copied().chain(std::iter::once(last)).collect();
        let plain = |step: &Iteration| step.temperature == 1.0 && step.rho.is_none();
        let falls = steps.windows(2).filter(|pair| plain(&pair[0]) && plain(&pair[1]) && pair[0].kept_causes());
        let sizes = falls.map(|pair| (pair[0].bound - pair[1].bound) / pair[0].bound.abs());
        // below this a fall is rounding
        let dips: Vec<f64> = sizes.filter(|size| *size > 1e-13).collect();
        (dips.len(), dips.iter().copied().fold(0.0, f64::max))
    }

    /// The Bayesian information criterion, $-2\mathcal L + \text{parameters}\cdot\log N$; smaller is better.
    pub fn bic(&self) -> f64 {
        -2.0 * self.bound + self.model.parameter_count() as f64 * self.weight.ln()
    }
}
