//! Ending work at once, wherever it is.
//!
//! An [`Observer`](crate::em::Observer) ends work between its steps, with the result so far. That is not enough where
//! nobody wants the result any more and a step takes minutes: a program with a window, or an interpreter whose user
//! pressed Ctrl-C. There the threads that work are told about a [`Cancel`], and the inner loops look at it after every few
//! rows. Work that is cancelled unwinds to [`Cancel::catch`]; nothing is printed and nothing comes of it.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A way to end work at once.
///
/// ```
/// use efmca::cancel::Cancel;
/// use efmca::{Em, bars};
///
/// let cancel = Cancel::default();
/// let for_threads = cancel.clone();
/// let pool = rayon::ThreadPoolBuilder::new().start_handler(move |_| for_threads.watch_this_thread()).build()?;
/// let pictures = bars::model("poisson", 3, &[20.0], &[1.0], 0.2)?.sample(100, 1).y;
/// let em = Em::new(6).family("poisson");
/// assert!(cancel.catch(|| pool.install(|| em.run(&pictures))).is_some());
/// cancel.ask();
/// assert!(cancel.catch(|| pool.install(|| em.run(&pictures))).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

/// What work that is cancelled unwinds with.
struct Cancelled;

thread_local! {
    static WATCHED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

impl Cancel {
    /// From now on work on this thread ends when it is asked to.
    pub fn watch_this_thread(&self) {
        WATCHED.set(Some(Arc::clone(&self.0)));
    }

    /// Asks all threads that watch this to end their work.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether they were asked.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Forgets that they were asked: the threads are free for other work.
    pub fn forget(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// The result of `work`, or nothing if it was cancelled. Any other panic goes on.
    pub fn catch<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        // nothing that the work has touched is looked at again
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(result) => Some(result),
            Err(payload) if payload.is::<Cancelled>() => None,
            Err(payload) => resume_unwind(payload),
        }
    }
}

/// Ends the work of this thread if that was asked for. Inner loops call it after every few rows; so can a family or a proposal
/// of your own.
pub fn check() {
    let asked = WATCHED.with_borrow(|watched| watched.as_ref().is_some_and(|asked| asked.load(Ordering::Relaxed)));
    if asked {
        // no panic: there is no message, and no hook is called
        resume_unwind(Box::new(Cancelled));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_threads_that_watch_are_ended() {
        let (one, other) = (Cancel::default(), Cancel::default());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                one.watch_this_thread();
                other.ask();
                assert_eq!(one.catch(check), Some(()));
                one.ask();
                assert!(one.asked() && one.catch(check).is_none());
                one.forget();
                assert_eq!(one.catch(check), Some(()));
            });
        });
        one.ask();
        // this thread watches nothing
        check();
    }

    #[test]
    fn other_panics_go_on() {
        let found = catch_unwind(|| Cancel::default().catch(|| resume_unwind(Box::new("other"))));
        assert_eq!(found.err().and_then(|payload| payload.downcast_ref::<&str>().copied()), Some("other"));
    }
}
