//! Work of several parts that an observer can end.

use std::ops::ControlFlow;

use crate::em::{Observer, Progress};

/// An observer that remembers whether it asked to stop, and is not asked again after that.
pub(super) struct Watch<'a, 'b> {
    observer: &'a mut Observer<'b>,
    stopped: bool,
}

impl<'a, 'b> Watch<'a, 'b> {
    pub(super) fn new(observer: &'a mut Observer<'b>) -> Watch<'a, 'b> {
        Watch { observer, stopped: false }
    }

    /// Whether the observer asked to stop.
    pub(super) fn stopped(&self) -> bool {
        self.stopped
    }

    /// Reports progress.
    pub(super) fn see(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        self.stopped = self.stopped || (self.observer)(progress).is_break();
        if self.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
