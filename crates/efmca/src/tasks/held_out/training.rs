//! The settings of all trainings whose predictions are compared.

use serde::{Deserialize, Serialize};

use super::{Source, Split};
use crate::em::{Em, Fingerprint};
use crate::error::{Error, Result};
use crate::model::Data;
use crate::posterior::truncated::Precision;
use crate::posterior::{LARGEST_EXACT_H, Truncation};
use crate::ranks;

/// Rows of average data in each entry of the dictionaries, so that a cause with one value of its own has no zero variance.
pub(crate) const PSEUDO_COUNT: f64 = 1.0;
/// Trainings end when the bound changes by less than this, relatively.
const TOLERANCE: f64 = 1e-6;
/// Starts that are given a short run, where posteriors are exact, and the iterations of that.
const STARTS: usize = 6;
const SHORT_ITERATIONS: usize = 10;
/// Entries times states above which half of these starts have to do, and above which states are truncated.
const FEW_STARTS_ABOVE: usize = 1 << 23;
const TRUNCATED_ABOVE: usize = 1 << 27;
/// States of a row where there are too many for all.
const STATES: usize = 16;

/// Settings that all comparisons by held-out entries share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Comparison {
    /// The share of the entries that is held out.
    pub(crate) share: f64,
    /// EM iterations of each training, at the most.
    pub(crate) iterations: usize,
    /// Trainings of each candidate.
    pub(crate) restarts: usize,
    pub(crate) seed: u64,
}

impl Comparison {
    /// The usual settings.
    pub(crate) fn new(restarts: usize) -> Comparison {
        Comparison { share: 0.1, iterations: 60, restarts, seed: 0 }
    }

    pub(crate) fn check(&self) -> Result<()> {
        if !(self.share > 0.0 && self.share < 0.9) {
            return Err(Error::setting("held-out share", self.share, "it must lie between 0 and 0.9"));
        }
        if self.restarts == 0 {
            return Err(Error::setting("restarts", 0, "it must be 1 or more"));
        }
        Ok(())
    }

    /// The data with the same entries held out for all candidates.
    pub(crate) fn split<'a>(&self, source: Source<'a>) -> Result<Split<'a>> {
        let split = source.split(self.share, self.seed)?;
        if !ranks::current().is_alone() {
            // a rank that trains by itself does not find out that others have other data
            Fingerprint::over_ranks(&*split.seen)?;
        }
        Ok(split)
    }

    /// The seed of one of the trainings of a candidate.
    pub(crate) fn seed_of(&self, training: usize) -> u64 {
        self.seed.wrapping_add((training as u64) << 32)
    }

    /// A training with `h` causes on `data`; families and seed are still to be set.
    pub(crate) fn em(&self, h: usize, data: &dyn Data) -> Em {
        let em = Em::new(h).iterations(self.iterations).pseudo_count(PSEUDO_COUNT).tolerance(TOLERANCE);
        let work = data.n().saturating_mul(data.d()).saturating_mul(1 << h.min(20));
        let starts = if work > FEW_STARTS_ABOVE { STARTS / 2 } else { STARTS };
        let em = em.starts(starts).short_iterations(SHORT_ITERATIONS);
        // all states of all rows would take longer than a few good ones
        if h > LARGEST_EXACT_H || work > TRUNCATED_ABOVE {
            em.truncated(Truncation::new(STATES).precision(Precision::Single)).starts(1)
        } else {
            em
        }
    }
}
