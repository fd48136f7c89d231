//! Jobs that need nothing of each other, such as the trainings of several numbers of causes.
//!
//! A small training has nothing to share: its rows are one shard, and its steps are over before ranks have told each other their sums.
//! Several of them can be done side by side, each by one rank. A training gives the same bits however many ranks share it, one alone
//! included, so that it does not matter for a single bit what is shared and what is done apart.

use super::{Encode, Ranks, alone};
use crate::error::{Error, Result};

/// What a job takes, for choosing who does it. All ranks must come to the same numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Job {
    /// Steps after which ranks that share it add up their sums.
    pub(crate) steps: f64,
    /// The work of a step: evaluations of one entry in one state.
    pub(crate) work: f64,
    /// Ranks that can share a step, at the most.
    pub(crate) parts: usize,
    /// Whether its data should not be held by one rank if several can share them.
    pub(crate) large: bool,
}

/// How much longer the work of a step takes if it is shared (docs/CLUSTER.md has 4 to 12 % for 2 to 8 ranks).
const SHARING: f64 = 1.1;
/// Evaluations that are made in the time in which ranks tell each other what they have to in a step.
const MESSAGES: f64 = 1e6;

impl Job {
    /// The time that one rank needs for it.
    fn apart(&self) -> f64 {
        self.steps * self.work
    }

    /// The time that all ranks need for it together.
    fn shared(&self, ranks: usize) -> f64 {
        self.steps * (SHARING * self.work / ranks.min(self.parts).max(1) as f64 + MESSAGES)
    }

    fn must_be_shared(&self, ranks: usize) -> bool {
        self.large && self.parts >= ranks
    }
}

impl Ranks {
    /// For each job the rank that does it alone; nothing if all ranks share it. Those that take longest are shared, as many as it is
    /// worth: what one rank does should not take longer than everything that the others do.
    pub(crate) fn plan(&self, jobs: &[Job]) -> Vec<Option<usize>> {
        let ranks = self.count();
        let mut owners = vec![None; jobs.len()];
        if ranks == 1 {
            return owners;
        }
        let mut order: Vec<usize> = (0..jobs.len()).filter(|job| !jobs[*job].must_be_shared(ranks)).collect();
        order.sort_by(|a, b| jobs[*b].apart().total_cmp(&jobs[*a].apart()));
        let mut best: Option<(f64, usize)> = None;
        for count in 0..=order.len() {
            let (shared, apart) = order.split_at(count);
            let together: f64 = shared.iter().map(|job| jobs[*job].shared(ranks)).sum();
            let longest = divided(jobs, apart, ranks).1;
            if best.is_none_or(|(time, _)| together + longest < time) {
                best = Some((together + longest, count));
            }
        }
        let apart = &order[best.map_or(0, |(_, count)| count)..];
        for (job, owner) in apart.iter().zip(divided(jobs, apart, ranks).0) {
            owners[*job] = Some(owner);
        }
        owners
    }

    /// Does each job that has an owner on that rank, as if there were no other ranks, and gives what came out to all of them, in the
    /// order of jobs. `work` says nothing for a job that was asked to stop; then its rank does none of its other jobs.
    ///
    /// # Errors
    ///
    /// The error of the first job that failed, on all ranks: as [`Error::Rank`], unless all of them failed with the same words.
    pub(crate) fn apart<T: Encode>(
        &self,
        owners: &[Option<usize>],
        mut work: impl FnMut(usize) -> Result<Option<T>>,
    ) -> Result<Vec<Option<T>>> {
        let mut done: Vec<(usize, T)> = Vec::new();
        let mut failed: Option<(usize, Error)> = None;
        let own = (0..owners.len()).filter(|job| owners[*job] == Some(self.rank()));
        alone(|| {
            for job in own {
                match work(job) {
                    Ok(Some(found)) => done.push((job, found)),
                    Ok(None) => break,
                    Err(error) => {
                        failed = Some((job, error));
                        break;
                    }
                }
            }
        });
        let words = failed.as_ref().map(|(job, error)| (*job, error.to_string()));
        let all = self.gather_all((words, done))?;
        let problems = all.iter().enumerate().filter_map(|(rank, (failed, _))| Some((rank, failed.as_ref()?)));
        if let Some((rank, (_, problem))) = problems.min_by_key(|(_, (job, _))| *job) {
            let same = all.iter().all(|(failed, _)| failed.as_ref().is_some_and(|(_, other)| other == problem));
            let common = failed.map(|(_, error)| error).filter(|_| same);
            return Err(common.unwrap_or_else(|| Error::Rank { rank, problem: problem.clone() }));
        }
        let mut found: Vec<Option<T>> = owners.iter().map(|_| None).collect();
        for (job, value) in all.into_iter().flat_map(|(_, done)| done) {
            if let Some(place) = found.get_mut(job) {
                *place = Some(value);
            }
        }
        Ok(found)
    }
}

/// The rank that does each of these jobs, the longest of which come first, and the time of the rank that is busy longest.
fn divided(jobs: &[Job], apart: &[usize], ranks: usize) -> (Vec<usize>, f64) {
    let mut busy: Vec<f64> = vec![0.0; ranks];
    let mut owner = |job: &usize| {
        // the first of equals
        let least = (0..ranks).min_by(|a, b| busy[*a].total_cmp(&busy[*b])).unwrap_or(0);
        busy[least] += jobs[*job].apart();
        least
    };
    let owners = apart.iter().map(&mut owner).collect();
    (owners, busy.into_iter().fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ranks::{InProcess, current, over};

    fn job(work: f64, parts: usize) -> Job {
        Job { steps: 60.0, work, parts, large: false }
    }

    fn on_ranks<T: Send>(count: usize, work: impl Fn() -> T + Sync) -> Vec<T> {
        std::thread::scope(|scope| {
            let work = &work;
            let start = |rank: InProcess| scope.spawn(move || over(Arc::new(rank), work));
            let ranks: Vec<_> = InProcess::crew(count).into_iter().map(start).collect();
            ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
        })
    }

    fn planned(ranks: usize, jobs: &[Job]) -> Vec<Option<usize>> {
        let all = on_ranks(ranks, || current().plan(jobs));
        assert!(all.iter().all(|plan| *plan == all[0]));
        all[0].clone()
    }

    #[test]
    fn small_jobs_are_done_apart_and_large_ones_are_shared() {
        // one process has nobody to share with
        assert_eq!(planned(1, &[job(1e4, 1), job(1e4, 1)]), [None, None]);
        // the longest first, and each to the rank that has least to do
        let small = [job(1e4, 1), job(2e4, 1), job(4e4, 1)];
        assert_eq!(planned(2, &small), [Some(1), Some(1), Some(0)]);
        assert_eq!(planned(5, &small), [Some(2), Some(1), Some(0)]);
        // one that takes longer than all others together is shared if it has parts to share
        assert_eq!(planned(2, &[job(2e8, 16), job(2e8, 16), job(2e9, 16)]), [Some(0), Some(1), None]);
        assert_eq!(planned(2, &[job(1e8, 1), job(2e8, 1), job(2e9, 1)]), [Some(1), Some(1), Some(0)]);
        // and one that takes too much memory, whatever else
        let large = Job { large: true, ..job(1e9, 4) };
        assert_eq!(planned(4, &[large; 4]), [None; 4]);
        assert_eq!(planned(8, &[large; 8]), [0, 1, 2, 3, 4, 5, 6, 7].map(Some));
    }

    #[test]
    fn results_come_in_the_order_of_jobs_on_all_ranks() {
        let owners = [Some(1), None, Some(0), Some(1), Some(2)];
        let all = on_ranks(3, || {
            let ranks = current();
            let work = |job: usize| {
                assert!(current().is_alone() && owners[job] == Some(ranks.rank()));
                Ok((job != 4).then_some(job * 10))
            };
            ranks.apart(&owners, work).unwrap()
        });
        assert!(all.iter().all(|found| *found == [Some(0), None, Some(20), Some(30), None]));
    }

    #[test]
    fn a_failed_job_is_the_same_error_on_all_ranks() {
        let error = |column: usize| Error::EmptyColumn { column };
        let tried = |fails: fn(usize) -> bool, same: bool| {
            let owners = [Some(2), Some(1), Some(0), Some(1)];
            on_ranks(3, || {
                let work = |job: usize| {
                    if fails(job) { Err(error(if same { 7 } else { job })) } else { Ok(Some(job)) }
                };
                current().apart(&owners, work).map(drop).unwrap_err()
            })
        };
        // the first of the jobs, and who did it
        let found = tried(|job| job > 1, false);
        assert!(found.iter().all(|one| one.to_string().starts_with("rank 0: column 3")), "{found:?}");
        let found = tried(|job| job == 3, false);
        assert!(found.iter().all(|one| one.to_string().starts_with("rank 1: column 4")), "{found:?}");
        // what all ranks find needs no rank
        assert!(tried(|_| true, true).iter().all(|found| *found == error(7)));
    }
}
