//! Ranks of a cluster: started by a launcher such as `mpirun` or `srun`, they share the work of a command. Rank 0 talks and writes,
//! and the others follow it.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use efmca::ranks::{self, Communicator, Ranks};
use efmca_mpi::{Launcher, Mpi};

use crate::args::Command;
use crate::failure::Failure;
use crate::outputs;

/// For so long a rank that fails waits for rank 0 to say the same.
const AFTER_RANK_0: Duration = Duration::from_secs(5);

/// Whether this process follows rank 0.
static FOLLOWS: AtomicBool = AtomicBool::new(false);
/// Ranks on this machine, if there are several.
static NEIGHBOURS: AtomicUsize = AtomicUsize::new(1);

/// Whether this process is a rank that neither talks nor writes.
pub(crate) fn follows() -> bool {
    FOLLOWS.load(Ordering::SeqCst)
}

/// Whether a launcher says that this process is not rank 0, before any library is asked.
pub(crate) fn will_follow() -> bool {
    Launcher::of_environment().and_then(|launcher| launcher.rank).is_some_and(|rank| rank > 0)
}

/// The number of threads where nothing was said and several ranks share the processors of a machine.
pub(crate) fn threads() -> Option<usize> {
    let neighbours = NEIGHBOURS.load(Ordering::SeqCst);
    let here = std::thread::available_parallelism().map_or(1, usize::from);
    // a launcher that gave each rank its own processors has divided them already
    let all = std::fs::read_to_string("/proc/cpuinfo")
        .map_or(here, |text| text.lines().filter(|line| line.starts_with("processor")).count().max(1));
    (neighbours > 1 && here >= all).then(|| (here / neighbours).max(1))
}

/// The number of ranks on this machine, as launchers say it.
fn neighbours() -> usize {
    let variables = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"];
    let number = |name: &&str| std::env::var(name).ok()?.parse().ok();
    variables.iter().find_map(number).unwrap_or(1)
}

/// Whether ranks share the work of a command.
fn is_shared(command: &Command) -> bool {
    match command {
        Command::Learn(_) | Command::Fit(_) | Command::NoiseType(_) | Command::Select(_) => true,
        Command::Denoise(args) => args.is_one(),
        _ => false,
    }
}

/// Runs a command with the other ranks, if a launcher started some.
pub(crate) fn run(command: &Command, work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    let mpi = match Mpi::start() {
        Ok(None) => return work(),
        Ok(Some(mpi)) => Arc::new(mpi),
        Err(error) => return Err(Failure::work(error)),
    };
    FOLLOWS.store(mpi.rank() > 0, Ordering::SeqCst);
    NEIGHBOURS.store(neighbours(), Ordering::SeqCst);
    end_all_after_panic(&mpi);
    let shared = is_shared(command);
    let done = match (shared, mpi.rank()) {
        (true, _) => ranks::over(mpi.clone(), work),
        (false, 0) => {
            let others = mpi.ranks() - 1;
            let line = format!("this command works on one rank; the other {others} wait until it is done");
            let _ = writeln!(std::io::stderr().lock(), "{line}");
            work()
        }
        (false, _) => Ok(()),
    };
    match done {
        // nobody leaves while another may still fail
        Ok(()) => {
            let waited = ranks::over(mpi.clone(), || ranks::current().any(false));
            mpi.finish();
            waited.map(drop).map_err(Failure::work)
        }
        Err(failure) => end_all(&mpi, &failure),
    }
}

/// Ends all ranks after a failure of this one. Where all have failed in the same way rank 0 is the one to say it.
fn end_all(mpi: &Mpi, failure: &Failure) -> ! {
    let (rank, ranks) = (mpi.rank(), mpi.ranks());
    if rank > 0 {
        std::thread::sleep(AFTER_RANK_0);
    }
    let place = if rank > 0 { format!("rank {rank} of {ranks}{}: ", on_machine()) } else { String::new() };
    let _ = writeln!(std::io::stderr().lock(), "error: {place}{failure}");
    outputs::give_free();
    let code = failure.exit_code().max(1);
    mpi.abort(code);
    // some libraries return while the launcher is still on its way to end this process, which has said everything
    std::process::exit(code.into())
}

/// The name of the machine, for messages.
fn on_machine() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { String::new() } else { format!(" on {}", name.trim()) }
}

/// A rank that panics ends the others, too: they would wait for it for ever.
fn end_all_after_panic(mpi: &Arc<Mpi>) {
    let (mpi, usual) = (Arc::clone(mpi), std::panic::take_hook());
    std::panic::set_hook(Box::new(move |info| {
        usual(info);
        let _ = writeln!(std::io::stderr().lock(), "error: rank {} of {} ends here", mpi.rank(), mpi.ranks());
        mpi.abort(101);
    }));
}

/// The ranks that share the work of this thread.
pub(crate) fn ranks() -> Ranks {
    ranks::current()
}

/// The numbers of the processes of all ranks, once. All ranks must be here at a time.
pub(crate) fn processes() -> Option<Vec<u64>> {
    static TOLD: AtomicBool = AtomicBool::new(false);
    if ranks().is_alone() || TOLD.swap(true, Ordering::SeqCst) {
        return None;
    }
    let all = ranks().numbers(&[f64::from(std::process::id())]).ok()?;
    Some(all.iter().map(|number| number[0] as u64).collect())
}

/// An error if ranks do not find the same: all of them read the same files.
pub(crate) fn same(found: f64, what: &str) -> Result<(), Failure> {
    let all = ranks().numbers(&[found]).map_err(Failure::work)?;
    match all.iter().position(|other| other[0].to_bits() != all[0][0].to_bits()) {
        Some(rank) => Err(Failure::input(format!(
            "rank {rank} finds another {what} than rank 0; put it into a folder that all ranks see"
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alone_nothing_is_shared() {
        assert!(!follows() && !will_follow() && ranks().is_alone());
        assert!(threads().is_none() && same(f64::NAN, "file").is_ok());
    }
}
