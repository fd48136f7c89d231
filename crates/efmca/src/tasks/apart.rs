//! Trainings that need nothing of each other, side by side on ranks, and an observer that sees them.

use std::ops::ControlFlow;

use crate::em::{Observer, Progress};
use crate::error::Result;
use crate::ranks::{self, Encode};

/// Jobs in the order of a list, as far as they are done.
pub(super) struct Apart<'a, 'b> {
    /// The rank that does each of them alone, if it is one: see `Ranks::plan`.
    pub(super) owners: &'a [Option<usize>],
    /// The steps that were done before, and that there are in all; each job is one.
    pub(super) done: usize,
    pub(super) total: usize,
    pub(super) observer: &'a mut Observer<'b>,
    /// Whether jobs are reported when they are done.
    pub(super) counted: bool,
}

impl Apart<'_, '_> {
    /// What came out of the jobs that are done apart, in their order, and whether somebody asked to stop: then it is nothing for
    /// those that were not done. `work` does one of them with an observer, and says nothing if that asked to stop.
    ///
    /// A rank that is asked to stop leaves its own jobs at once; the others hear of it when theirs are done.
    ///
    /// # Errors
    ///
    /// The error of the first job that failed, on all ranks.
    pub(super) fn run<T: Encode>(
        self,
        name: impl Fn(usize) -> String,
        mut work: impl FnMut(usize, &mut Observer<'_>) -> Result<Option<T>>,
    ) -> Result<(Vec<Option<T>>, ControlFlow<()>)> {
        let Apart { owners, mut done, total, observer, counted } = self;
        let Some(last) = owners.iter().rposition(Option::is_some) else {
            return Ok((owners.iter().map(|_| None).collect(), ControlFlow::Continue(())));
        };
        let (ranks, mut stopped) = (ranks::current(), false);
        let found = ranks.apart(owners, |job| {
            if stopped {
                return Ok(None);
            }
            let name = name(job);
            let result = work(job, &mut |_| {
                stopped = stopped || observer(&Progress::of_stage(&name, done, total)).is_break();
                if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            done += usize::from(counted && result.is_some());
            stopped = stopped || observer(&Progress::of_stage(&name, done, total)).is_break();
            Ok(result)
        })?;
        ranks::alone(|| {
            let others = (0..owners.len()).filter(|job| owners[*job].is_some_and(|owner| owner != ranks.rank()));
            for job in others.filter(|job| counted && found[*job].is_some()) {
                done += 1;
                stopped = stopped || observer(&Progress::of_stage(&name(job), done, total)).is_break();
            }
        });
        // observers can talk to other ranks, so that they are asked once more where all are here
        let asked = observer(&Progress::of_stage(&name(last), done, total)).is_break();
        let flow = if ranks.any(stopped || asked)? { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        Ok((found, flow))
    }
}
