//! How much memory a training needs, before it begins.

use super::Em;
use crate::error::Result;
use crate::model::Data;
use crate::posterior::truncated::Precision;
use crate::ranks;

/// Bits of a word of a state.
const WORD: usize = 64;

impl Em {
    /// About how many bytes a training with these settings on `y` needs beside the data itself: the statistics of the rows
    /// (unless rows stay outside of memory, [`Data::outside`]), the sets of states and their probabilities, and the parameters.
    /// It grows with the number of rows; what a thread needs for the row at hand is not counted.
    ///
    /// ```
    /// use efmca::Em;
    /// use efmca::posterior::Truncation;
    /// use ndarray::Array2;
    ///
    /// let y = Array2::<f32>::zeros((1000, 20));
    /// let em = Em::new(100).family("poisson").truncated(Truncation::new(30));
    /// let states = 1000 * 30 * 16;
    /// assert!((states..10 * states).contains(&em.memory(&y)?));
    /// # Ok::<(), efmca::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A family that does not exist.
    pub fn memory(&self, y: &dyn Data) -> Result<u64> {
        // each rank has its part of the rows
        let (n, d) = ((y.n() as u64).div_ceil(ranks::current().count() as u64), y.d() as u64);
        let mut l = 1;
        for family in &self.families {
            l = l.max(family.resolve()?.l() as u64);
        }
        let h = self.first_h() as u64;
        let parameters = 8 * (h + 1) * d.saturating_mul(4 * l + 2);
        let rows = match self.posterior_settings() {
            // all states of the rows that threads work on at a time are small beside the statistics
            None => d.saturating_mul(8 * l + 1),
            Some(truncation) => {
                let number = if truncation.precision == Precision::Double { 8 } else { 4 };
                let values = if y.outside().is_some() || y.geometry().is_some() { 0 } else { number * l * d };
                let state = 8 * h.div_ceil(WORD as u64) + 8 + 8;
                values.saturating_add(truncation.states as u64 * state)
            }
        };
        Ok(n.saturating_mul(rows).saturating_add(parameters))
    }
}
