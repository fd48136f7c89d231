//! Long work: on threads of its own, without the interpreter's lock, ended by Ctrl-C, told about by callbacks.
//!
//! The thread that called waits, looks for signals twenty times a second and calls the callback. The work is done by a
//! crew: threads that belong to one piece of work at a time, so that cancelling one does not touch another. Crews are
//! kept for the next piece of work. After a fork only the thread that forked is left: crews of another process are
//! forgotten and never waited for.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use efmca::Observer;
use efmca::cancel::Cancel;
use efmca::em::within_memory;
use efmca_io::available_memory;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::{Fault, Stopped};

/// How long the thread that called waits before it looks for signals.
const PATIENCE: Duration = Duration::from_millis(50);
/// More threads than any machine has processors would be started one by one for minutes.
const MOST_THREADS: usize = 4096;
/// Crews that are kept for the next piece of work.
const MOST_IDLE: usize = 4;

/// How work is done.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Work {
    /// Threads; none for all processors, and negative numbers count back from them, as in joblib.
    n_jobs: Option<isize>,
    /// Is called with a [`Progress`]; what is true ends the work with the result so far.
    callback: Option<Py<PyAny>>,
    /// Is asked while there is nothing to tell; what is true ends the work at once, without a result.
    #[pyo3(default)]
    cancelled: Option<Py<PyAny>>,
    /// The names of the columns, for errors.
    names: Option<Vec<String>>,
}

/// How far the work is.
#[pyclass(frozen, get_all, module = "efmca")]
#[derive(Debug, Clone)]
pub(crate) struct Progress {
    stage: String,
    done: usize,
    total: usize,
    iteration: Option<usize>,
    bound: Option<f64>,
}

#[pymethods]
impl Progress {
    fn __repr__(&self) -> String {
        let bound = self.bound.map_or(String::new(), |bound| format!(", bound {bound:.6e}"));
        format!("<Progress: {}, {} of {}{bound}>", self.stage, self.done, self.total)
    }
}

impl From<&efmca::Progress<'_>> for Progress {
    fn from(progress: &efmca::Progress<'_>) -> Progress {
        Progress {
            stage: progress.stage.to_owned(),
            done: progress.done,
            total: progress.total,
            iteration: progress.training.map(|training| training.iteration),
            bound: progress.training.map(|training| training.bound),
        }
    }
}

/// An exception that was raised on a thread of a crew, by a family of the user's own.
type Raised = Arc<Mutex<Option<PyErr>>>;

/// Threads for one piece of work at a time.
struct Crew {
    pool: ThreadPool,
    cancel: Cancel,
    raised: Raised,
    threads: usize,
    process: u32,
}

static IDLE: Mutex<Vec<Crew>> = Mutex::new(Vec::new());

thread_local! {
    static RAISED: std::cell::RefCell<Option<(Raised, Cancel)>> = const { std::cell::RefCell::new(None) };
}

/// Keeps an exception until the work has ended, and ends it. On a thread that is not part of a crew it is given back.
pub(crate) fn raise_later(error: PyErr) -> Option<PyErr> {
    RAISED.with_borrow(|slot| match slot {
        Some((raised, cancel)) => {
            let mut raised = raised.lock().unwrap_or_else(PoisonError::into_inner);
            raised.get_or_insert(error);
            cancel.ask();
            None
        }
        None => Some(error),
    })
}

impl Crew {
    fn take(threads: usize) -> PyResult<Crew> {
        let process = std::process::id();
        // a lock that another thread held when the process was forked stays locked: then crews are made anew
        if let Ok(mut idle) = IDLE.try_lock() {
            let (own, forked) = idle.drain(..).partition(|crew| crew.process == process);
            *idle = own;
            // their threads are in another process
            Vec::<Crew>::into_iter(forked).for_each(std::mem::forget);
            if let Some(place) = idle.iter().position(|crew| crew.threads == threads) {
                return Ok(idle.swap_remove(place));
            }
        }
        let (cancel, raised) = (Cancel::default(), Raised::default());
        let (for_threads, for_errors) = (cancel.clone(), Arc::clone(&raised));
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|number| format!("efmca {number}"))
            .start_handler(move |_| {
                for_threads.watch_this_thread();
                RAISED.set(Some((Arc::clone(&for_errors), for_threads.clone())));
            })
            .build()
            .map_err(|error| PyRuntimeError::new_err(format!("threads cannot be started: {error}")))?;
        Ok(Crew { pool, cancel, raised, threads, process })
    }

    fn give_back(self) {
        self.cancel.forget();
        if let Ok(mut idle) = IDLE.try_lock()
            && idle.len() < MOST_IDLE
        {
            idle.push(self);
        }
    }
}

impl Work {
    /// The number of threads.
    fn threads(&self) -> PyResult<usize> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = match self.n_jobs {
            None => processors as isize,
            Some(0) => return Err(PyValueError::new_err("n_jobs = 0: give 1 or more, -1 for all processors, or None")),
            Some(back @ ..0) => (processors as isize).saturating_add(1).saturating_add(back).max(1),
            Some(threads) => threads,
        };
        Ok((threads as usize).min(MOST_THREADS))
    }

    /// Does `work` without the interpreter's lock, and gives it an observer that asks the callback.
    pub(crate) fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Observer<'_>) -> Result<T, Fault> + Send,
    ) -> PyResult<T> {
        let crew = Crew::take(self.threads()?)?;
        let (outcome, interrupted) = py.detach(|| {
            let (tell, heard) = channel();
            let (answer, answers) = channel();
            let mut outcome = None;
            let (callback, cancelled) = (self.callback.as_ref(), self.cancelled.as_ref());
            let mut watcher = Watcher { callback, cancelled, cancel: &crew.cancel, error: None };
            crew.pool.in_place_scope(|scope| {
                let (cancel, outcome, asks) = (&crew.cancel, &mut outcome, self.callback.is_some());
                scope.spawn(move |_| {
                    let mut observer = |progress: &efmca::Progress<'_>| ask(progress, asks, &tell, &answers);
                    // nothing that the work has touched is looked at again
                    let work = || within_memory(available_memory, || cancel.catch(|| work(&mut observer)));
                    let caught = catch_unwind(AssertUnwindSafe(work));
                    *outcome = Some(caught);
                    // the other end is there until it hears this
                    let _ = tell.send(None);
                });
                watcher.watch(&heard, &answer);
            });
            (outcome, watcher.error)
        });
        let raised = crew.raised.lock().unwrap_or_else(PoisonError::into_inner).take();
        crew.give_back();
        match (interrupted.or(raised), outcome) {
            (Some(error), _) => Err(error),
            (None, Some(Ok(Some(Ok(result))))) => Ok(result),
            (None, Some(Ok(Some(Err(fault))))) => Err(fault.into_python(self.names.as_deref())),
            (None, Some(Ok(None))) => Err(PyRuntimeError::new_err("the work was cancelled")),
            (None, Some(Err(payload))) => Err(PyRuntimeError::new_err(format!(
                "efmca has a fault, which we would like to hear about: {}",
                payload
                    .downcast_ref::<String>()
                    .map(String::as_str)
                    .or(payload.downcast_ref::<&str>().copied())
                    .unwrap_or("no message")
            ))),
            (None, None) => Err(PyRuntimeError::new_err("the work ended without a result")),
        }
    }
}

/// Asks the callback, if there is one, and waits for its answer, so that it ends the work at the step that it saw.
fn ask(
    progress: &efmca::Progress<'_>,
    asks: bool,
    tell: &Sender<Option<Progress>>,
    answers: &Receiver<ControlFlow<()>>,
) -> ControlFlow<()> {
    if !asks || tell.send(Some(progress.into())).is_err() {
        return ControlFlow::Continue(());
    }
    answers.recv().unwrap_or(ControlFlow::Break(()))
}

/// The thread that called, while others work.
struct Watcher<'a> {
    callback: Option<&'a Py<PyAny>>,
    cancelled: Option<&'a Py<PyAny>>,
    cancel: &'a Cancel,
    /// The exception that ended the work.
    error: Option<PyErr>,
}

impl Watcher<'_> {
    /// Looks for signals and calls the callback until the work has ended.
    fn watch(&mut self, heard: &Receiver<Option<Progress>>, answer: &Sender<ControlFlow<()>>) {
        loop {
            let flow = match heard.recv_timeout(PATIENCE) {
                Ok(None) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    let cancelled = self.cancelled;
                    let _ = self.attached(|py, _| {
                        py.check_signals()?;
                        // threads other than the main one hear no signals, and steps can be long
                        match cancelled.map_or(Ok(false), |asked| asked.call0(py)?.is_truthy(py))? {
                            true => Err(Stopped::new_err("the work was cancelled")),
                            false => Ok(false),
                        }
                    });
                    continue;
                }
                Ok(Some(progress)) => self.attached(|py, callback| {
                    py.check_signals()?;
                    callback.map_or(Ok(false), |callback| callback.call1(py, (progress,))?.is_truthy(py))
                }),
            };
            // the work has ended if nobody takes the answer
            let _ = answer.send(flow);
        }
    }

    /// Calls Python; an exception ends the work.
    fn attached(&mut self, call: impl FnOnce(Python<'_>, Option<&Py<PyAny>>) -> PyResult<bool>) -> ControlFlow<()> {
        if self.error.is_some() {
            return ControlFlow::Break(());
        }
        match Python::attach(|py| call(py, self.callback)) {
            Ok(false) => ControlFlow::Continue(()),
            Ok(true) => ControlFlow::Break(()),
            Err(error) => {
                self.error = Some(error);
                self.cancel.ask();
                ControlFlow::Break(())
            }
        }
    }
}
