//! How large the sets of states are, and how they are improved.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::posterior::truncated::kernel::Instructions;
use crate::posterior::truncated::proposals::{Evolution, Neighbours, OneFlips, Propose};

/// Settings of truncated posteriors.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Truncation {
    pub(crate) states: usize,
    pub(crate) generations: usize,
    #[serde(with = "crate::posterior::truncated::proposals::specs")]
    pub(crate) proposals: Vec<Arc<dyn Propose>>,
    pub(crate) precision: Precision,
    /// It has no influence on results.
    #[serde(skip)]
    pub(crate) portable: bool,
}

impl PartialEq for Truncation {
    fn eq(&self, other: &Truncation) -> bool {
        let specs = |one: &Truncation| one.proposals.iter().map(|proposal| proposal.spec()).collect::<Vec<_>>();
        (self.states, self.generations, self.precision) == (other.states, other.generations, other.precision)
            && specs(self) == specs(other)
    }
}

/// The precision of data and tables in the E-step. Everything that is summed over rows is always in `f64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// Double where the statistics then take 64 MB at most, else single.
    #[default]
    Automatic,
    /// `f32`: half the memory, log-joints to about six digits; double where a row weighs more than 10¹², or none more than 10⁻¹².
    Single,
    /// `f64`.
    Double,
}

/// Numbers that [`Precision::Automatic`] keeps in double precision.
const FEW: usize = 1 << 23;

impl Precision {
    pub(super) fn is_double(self, numbers: usize) -> bool {
        match self {
            Precision::Automatic => numbers <= FEW,
            Precision::Single => false,
            Precision::Double => true,
        }
    }
}

impl Truncation {
    /// Sets of `states` states ($S$ of the paper), improved in the way that buys the highest bound for its CPU time
    /// (`experiments/results/speed.md`): all flips of the best state, and a few states of neighbouring rows.
    pub fn new(states: usize) -> Truncation {
        Truncation {
            states,
            generations: 1,
            proposals: vec![Arc::new(OneFlips { parents: 1 }), Arc::new(Neighbours { each: 3 })],
            precision: Precision::Automatic,
            portable: false,
        }
    }

    /// Sets that are improved by evolution as in the EVO papers.
    pub fn evolution(states: usize, evolution: Evolution, generations: usize) -> Truncation {
        Truncation::new(states).proposals(vec![Arc::new(evolution)]).generations(generations)
    }

    /// The ways in which states are proposed, all of them in each generation.
    pub fn proposals(mut self, proposals: Vec<Arc<dyn Propose>>) -> Truncation {
        self.proposals = proposals;
        self
    }

    /// How often states are proposed in an E-step; later generations start from the children of the one before.
    pub fn generations(mut self, generations: usize) -> Truncation {
        self.generations = generations;
        self
    }

    /// The precision of data and tables.
    pub fn precision(mut self, precision: Precision) -> Truncation {
        self.precision = precision;
        self
    }

    /// Uses the safe kernel that runs on any processor, even where there is a faster one. The results are the same,
    /// bit for bit.
    pub fn portable(mut self, portable: bool) -> Truncation {
        self.portable = portable;
        self
    }

    pub(crate) fn instructions(&self) -> Instructions {
        Instructions::new(self.portable)
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.states == 0 {
            return Err(Error::setting("states", 0, "a truncated posterior needs one state at least"));
        }
        Ok(())
    }
}
