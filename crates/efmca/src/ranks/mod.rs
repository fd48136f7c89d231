//! Processes that share the work on a data set: the ranks of a cluster, or threads that play them.
//!
//! Rows are cut into [`Shards`], whose number depends on the problem and never on who works on it. A rank owns shards that follow
//! each other, and keeps only what belongs to their rows. Sums over rows are added up in one binary tree over all shards, so that
//! the same seed gives the same model, bit for bit, for any number of ranks. Everything else (starts, M-steps, decisions) is done
//! by all ranks alike.
//!
//! Trainings that need nothing of each other and are too small to be shared, such as those of several numbers of causes, are done
//! side by side, each by one rank as if it were alone (`jobs`). Then an observer that asks for [`current`] finds a rank by itself.
//!
//! [`over`] tells the trainings of a thread which ranks there are. All ranks must do the same work in it, in the same order.
//!
//! ```
//! use std::sync::Arc;
//! use efmca::{Em, bars};
//! use efmca::ranks::{self, InProcess};
//!
//! let y = bars::model("poisson", 3, &[20.0], &[1.0], 0.2)?.sample(2000, 1).y;
//! let em = Em::new(6).family("poisson").iterations(5);
//! let alone = em.run(&y)?;
//! let bounds: Vec<f64> = std::thread::scope(|scope| {
//!     let ranks = InProcess::crew(3).into_iter().map(|rank| {
//!         scope.spawn(|| ranks::over(Arc::new(rank), || em.run(&y).map(|fit| fit.bound)))
//!     });
//!     let ranks: Vec<_> = ranks.collect();
//!     ranks.into_iter().map(|rank| rank.join().unwrap().unwrap()).collect()
//! });
//! assert!(bounds.iter().all(|bound| bound.to_bits() == alone.bound.to_bits()));
//! # Ok::<(), efmca::Error>(())
//! ```

mod code;
mod exchange;
mod in_process;
mod jobs;
mod shards;
mod share;
mod tree;

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub(crate) use code::{Decoder, Encode, encoded};
pub use in_process::InProcess;
pub(crate) use jobs::Job;
pub use shards::Shards;
pub(crate) use share::Share;
pub(crate) use tree::{Forest, Sum};

use crate::error::{Error, Result};

/// The way from one rank to the others.
///
/// What one rank sends to another arrives in the order in which it was sent. Every call waits until it is done.
pub trait Communicator: Send + Sync {
    /// The number of this rank, counted from zero.
    fn rank(&self) -> usize;

    /// How many ranks there are.
    fn ranks(&self) -> usize;

    /// Sends bytes to another rank.
    ///
    /// # Errors
    ///
    /// [`Error::Rank`] if they cannot be sent.
    fn send(&self, to: usize, bytes: &[u8]) -> Result<()>;

    /// Fills `bytes` with as many from another rank.
    ///
    /// # Errors
    ///
    /// [`Error::Rank`] if they do not arrive, or are more or fewer.
    fn receive(&self, from: usize, bytes: &mut [u8]) -> Result<()>;
}

/// Where the time of a rank went.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Times {
    /// Waiting for ranks that had not yet done their part.
    pub waiting: Duration,
    /// Passing sums up and down the tree, when all were ready.
    pub exchanging: Duration,
}

/// The ranks that share the rows of a training; a single one if nothing was said.
#[derive(Clone, Default)]
pub struct Ranks(Option<Arc<Team>>);

struct Team {
    way: Arc<dyn Communicator>,
    times: Mutex<Times>,
}

impl std::fmt::Debug for Ranks {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "rank {} of {}", self.rank(), self.count())
    }
}

thread_local! {
    static CURRENT: RefCell<Ranks> = const { RefCell::new(Ranks(None)) };
}

/// Does `work`, and shares the rows of all trainings that it does on this thread with the other ranks.
///
/// All ranks must do the same work with the same data and settings: a training waits for its other ranks.
pub fn over<T>(way: Arc<dyn Communicator>, work: impl FnOnce() -> T) -> T {
    within(Ranks(Some(Arc::new(Team { way, times: Mutex::default() }))), work)
}

/// Does `work` as if there were no other ranks.
pub fn alone<T>(work: impl FnOnce() -> T) -> T {
    within(Ranks(None), work)
}

fn within<T>(ranks: Ranks, work: impl FnOnce() -> T) -> T {
    /// Puts back what was there, also where the work panics.
    struct Before(Ranks);
    impl Drop for Before {
        fn drop(&mut self) {
            CURRENT.set(std::mem::take(&mut self.0));
        }
    }
    let _before = Before(CURRENT.replace(ranks));
    work()
}

/// The ranks that this thread works with: see [`over`].
pub fn current() -> Ranks {
    CURRENT.with_borrow(Ranks::clone)
}

impl Ranks {
    /// The number of this rank, counted from zero.
    pub fn rank(&self) -> usize {
        self.0.as_ref().map_or(0, |team| team.way.rank())
    }

    /// How many ranks there are.
    pub fn count(&self) -> usize {
        self.0.as_ref().map_or(1, |team| team.way.ranks().max(1))
    }

    /// Whether there are no others.
    pub fn is_alone(&self) -> bool {
        self.count() == 1
    }

    /// Where the time of this rank went so far.
    pub fn times(&self) -> Times {
        self.0.as_ref().map_or_else(Times::default, |team| *team.times.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The way to the others, if there are any.
    fn way(&self) -> Option<&dyn Communicator> {
        self.0.as_ref().filter(|team| team.way.ranks() > 1).map(|team| &*team.way)
    }

    /// Counts the time of `work` as waiting or as exchanging.
    fn timed<T>(&self, exchanging: bool, work: impl FnOnce() -> T) -> T {
        let Some(team) = &self.0 else { return work() };
        let started = Instant::now();
        let done = work();
        let mut times = team.times.lock().unwrap_or_else(PoisonError::into_inner);
        *(if exchanging { &mut times.exchanging } else { &mut times.waiting }) += started.elapsed();
        done
    }
}

/// An error of the way between ranks.
fn lost(rank: usize, problem: impl Into<String>) -> Error {
    Error::Rank { rank, problem: problem.into() }
}
