//! How much memory a training needs, before it begins.

use std::cell::Cell;

use super::Em;
use crate::error::{Error, Result};
use crate::model::{Data, Inference, Model, is_sparse};
use crate::posterior::truncated::Precision;
use crate::ranks;

/// Bits of a word of a state.
const WORD: usize = 64;

/// How many bytes there are, if that is known.
type Available = fn() -> Option<u64>;

thread_local! {
    static AVAILABLE: Cell<Option<Available>> = const { Cell::new(None) };
}

/// Does `work`, and refuses every training and every explanation of rows on this thread that needs more memory than `available`
/// says there is at that moment, in bytes, with both numbers. The system would end the program without a word.
///
/// ```
/// use efmca::em::within_memory;
/// use efmca::{Em, Error};
/// use ndarray::Array2;
///
/// let (y, em) = (Array2::<f64>::zeros((1000, 100)), Em::new(2).family("poisson").iterations(1));
/// assert!(em.memory(&y)? > 100_000);
/// let refused = within_memory(|| Some(100_000), || em.run(&y)).unwrap_err();
/// assert!(matches!(refused, Error::TooMuchMemory { available: 100_000, .. }));
/// assert!(within_memory(|| None, || em.run(&y)).is_ok());
/// # Ok::<(), Error>(())
/// ```
pub fn within_memory<T>(available: fn() -> Option<u64>, work: impl FnOnce() -> T) -> T {
    /// Puts back what was there, also where the work panics.
    struct Before(Option<Available>);
    impl Drop for Before {
        fn drop(&mut self) {
            AVAILABLE.set(self.0);
        }
    }
    let _before = Before(AVAILABLE.replace(Some(available)));
    work()
}

/// An error if there is less memory than `needed`, as far as it is known.
pub(crate) fn check_memory(needed: u64) -> Result<()> {
    match AVAILABLE.get().and_then(|available| available()) {
        Some(available) if needed > available => Err(Error::TooMuchMemory { needed, available }),
        _ => Ok(()),
    }
}

impl Model {
    /// About how many bytes it takes to explain the rows of `y`, beside the data itself: the probabilities of all causes, the
    /// statistics of rows, and with truncated posteriors the sets of states.
    pub fn memory(&self, y: &dyn Data, inference: Inference) -> u64 {
        let (n, h) = (y.n() as u64, self.h() as u64);
        let statistics = (self.columns().k() + self.d()) as u64 * 8;
        let row = match inference {
            Inference::Exact => statistics + 8 * h,
            Inference::Truncated { states, .. } => {
                let sets = (states as u64).saturating_mul(8 * h.div_ceil(64) + 16);
                sets.saturating_add(statistics + 8 * h)
            }
        };
        n.saturating_mul(row)
    }
}

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
                let values =
                    if y.outside().is_some() || y.geometry().is_some() || is_sparse(y) { 0 } else { number * l * d };
                let state = 8 * h.div_ceil(WORD as u64) + 8 + 8;
                values.saturating_add((truncation.states as u64).saturating_mul(state))
            }
        };
        Ok(n.saturating_mul(rows).saturating_add(parameters))
    }
}
