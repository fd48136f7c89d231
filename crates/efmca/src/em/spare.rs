//! Removal: training with more than are asked for, until it shows which are needed.

use super::run::Run;
use crate::error::Result;

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
    fn due(&self) -> usize {
        let since = self.history.len().checked_sub((FIRST * self.em.iterations as f64) as usize);
        match since {
            Some(since) if since % EVERY == 0 => self.spare().div_ceil(2),
            _ => 0,
        }
    }

    /// Takes away the spare causes that are due, those that the bound misses least. Returns how many.
    pub(super) fn remove_spare(&mut self) -> Result<usize> {
        let due = self.due();
        self.remove(due)?;
        Ok(due)
    }

    /// Takes away the `count` causes that the bound misses least.
    pub(super) fn remove(&mut self, count: usize) -> Result<()> {
        if count > 0 {
            self.model = self.posteriors.without_least_missed(&self.model, count, count == self.spare())?;
        }
        Ok(())
    }
}
