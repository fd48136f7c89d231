//! How the states behind a row are found when a model is applied.

use serde::{Deserialize, Serialize};

use super::Model;

/// How the posterior over the states of a row is found when a model is applied to data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Inference {
    /// Exactly, over all $2^H$ states: possible for up to 16 causes, and slow for many rows with more than about 12.
    Exact,
    /// With truncated posteriors: the best states that are found, for which likelihoods are lower bounds.
    Truncated {
        /// States of each row, $S$.
        states: usize,
        /// E-steps in which they are found.
        e_steps: usize,
    },
}

/// The largest number of causes whose states can all be visited.
pub const LARGEST_EXACT_H: usize = 16;
/// States and E-steps of a row where nothing is said about them. Every row is given all E-steps: its result must not depend on
/// when others are done.
const STATES: usize = 64;
const E_STEPS: usize = 20;

impl Inference {
    /// Truncated posteriors with this many states.
    pub fn truncated(states: usize) -> Inference {
        Inference::Truncated { states, e_steps: E_STEPS }
    }

    /// The way that suits a model with `h` causes of which nothing else is known.
    pub(super) fn suitable(h: usize) -> Inference {
        if h <= LARGEST_EXACT_H { Inference::Exact } else { Inference::truncated(STATES) }
    }
}

impl Model {
    /// How this model is applied to data: in the way in which it was trained. Where that is not known, exactly for up to 16
    /// causes, and with 64 states above.
    pub fn inference(&self) -> Inference {
        match self.states {
            Some(states) => Inference::truncated(states),
            None => Inference::suitable(self.h()),
        }
    }
}
