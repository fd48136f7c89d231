//! Spare causes: training with more than are asked for, until it shows which are needed.

use super::run::{Engine, Run};
use crate::error::Result;
use crate::model::Model;
use crate::posterior::Exact;

/// After this share of the iterations, the first spare causes go…
const FIRST: f64 = 0.4;
/// … and more of them after every so many iterations, in which the others take over.
const EVERY: usize = 2;

impl Run<'_> {
    /// How many causes there are more than asked for.
    pub(super) fn spare(&self) -> usize {
        self.model.h().saturating_sub(self.em.h)
    }

    /// How many of them are to go after the iterations that were done: half of those that are left, so that the last
    /// ones, which are hardest to tell from those that are needed, go one at a time.
    pub(super) fn due(&self) -> usize {
        let since = self.history.len().checked_sub((FIRST * self.em.iterations as f64) as usize);
        match since {
            Some(since) if since % EVERY == 0 => self.spare().div_ceil(2),
            _ => 0,
        }
    }

    /// Takes away the `count` causes that the bound misses least.
    pub(super) fn remove(&mut self, count: usize) -> Result<()> {
        let spare = self.spare();
        match &mut self.engine {
            Engine::Exact(statistics) => {
                for _ in 0..count {
                    let mut best: Option<(f64, Model)> = None;
                    for cause in 0..self.model.h() {
                        let without = self.model.with_causes(&others(self.model.h(), &[cause]));
                        let bound = Exact::new(&without)?.e_step(statistics, statistics, 1.0)?.bound;
                        if best.as_ref().is_none_or(|(highest, _)| bound > *highest) {
                            best = Some((bound, without));
                        }
                    }
                    self.model = best.map_or_else(|| self.model.clone(), |(_, without)| without);
                }
            }
            Engine::Truncated(truncated) => {
                let Some(substitutes) = self.training.substitutes() else { return Ok(()) };
                // half at a time, as in training, where all must go at once
                let mut left = count;
                while left > 0 {
                    let now = if count == spare { left.div_ceil(2) } else { left };
                    let spared = truncated.least_missed(&self.model, substitutes, now)?;
                    let kept = others(self.model.h(), &spared);
                    self.model = self.model.with_causes(&kept);
                    *truncated = truncated.with_causes(&kept);
                    left -= now;
                }
            }
        }
        Ok(())
    }
}

/// All causes but these.
fn others(h: usize, without: &[usize]) -> Vec<usize> {
    (0..h).filter(|cause| !without.contains(cause)).collect()
}
