//! Work of several parts that an observer can end.

use std::ops::ControlFlow;

use crate::em::{Observer, Progress};
use crate::ranks;

/// An observer that remembers whether it asked to stop, and is not asked again after that.
pub(super) struct Watch<'a, 'b> {
    observer: &'a mut Observer<'b>,
    stopped: bool,
}

impl<'a, 'b> Watch<'a, 'b> {
    pub(super) fn new(observer: &'a mut Observer<'b>) -> Watch<'a, 'b> {
        Watch { observer, stopped: false }
    }

    /// Whether the observer asked to stop; where all ranks are asked, whether one of them did.
    pub(super) fn stopped(&self) -> bool {
        self.stopped
    }

    /// Reports progress.
    pub(super) fn see(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        let ranks = ranks::current();
        if ranks.is_alone() {
            self.stopped = self.stopped || (self.observer)(progress).is_break();
        } else {
            // All ranks must go on in the same way. One of them can have been asked to stop in a job of its own, and is asked again
            // with the others: observers can talk to other ranks. A rank that cannot be heard any more ends the work as well.
            let asked = (self.observer)(progress).is_break();
            self.stopped = ranks.any(self.stopped || asked).unwrap_or(true);
        }
        if self.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
