//! The threads that do the work. Where none can be started, a library that starts them on its own panics.

use std::io::Write;

use rayon::ThreadPoolBuilder;

use crate::cluster::will_follow;
use crate::failure::Failure;

/// The variable with which rayon is told how many threads to start.
const THREADS: &str = "RAYON_NUM_THREADS";

/// An error if the environment asks for more threads than anyone means.
pub(crate) fn check_environment(most: usize) -> Result<(), Failure> {
    let typed = std::env::var(THREADS).unwrap_or_default();
    match typed.trim().parse::<usize>() {
        Ok(number) if number > most => Err(Failure::input(format!(
            "{THREADS}={number}: that is more than {most} threads; unset it, or choose fewer"
        ))),
        _ => Ok(()),
    }
}

/// From now on work is done with this many threads.
pub(crate) fn start(number: usize) -> Result<(), Failure> {
    let started = ThreadPoolBuilder::new().num_threads(number).build_global();
    started.map_err(|error| {
        Failure::work(format!(
            "cannot start {number} threads: {error}; choose fewer --threads, or raise the limit on processes (ulimit -u)"
        ))
    })
}

/// Lets the thread at hand do everything if no others can be started. Results are the same for any number of threads.
pub(crate) fn start_if_possible() {
    // those of the whole program can be started once only, so that it is tried with others
    let Err(error) = ThreadPoolBuilder::new().build() else { return };
    if ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global().is_ok() && !will_follow() {
        let _ = writeln!(
            std::io::stderr(),
            "warning: threads cannot be started ({error}); the work is done without them, and takes longer (ulimit -u)"
        );
    }
}
