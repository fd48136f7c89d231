//! The calls into the library.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{ThreadId, current, sleep, yield_now};
use std::time::{Duration, Instant};

use efmca::Error;
use efmca::ranks::Communicator;
use libloading::os::unix::{Library, Symbol};

use crate::abi::{self, Handles, Request, Status};
use crate::library::{Loaded, find};
use crate::{Launcher, MpiError};

/// Bytes of a message, at the most: lengths have 31 bits.
const LONGEST: usize = 1 << 30;
/// The tag of all messages.
const TAG: c_int = 0;
/// For so long a rank that waits looks again and again; after that it sleeps in between, so that others have its processor.
const EAGER: Duration = Duration::from_micros(200);
const NAP: Duration = Duration::from_micros(50);

/// The ranks of an MPI job, this process being one of them.
///
/// Only the thread that started it may call it.
pub struct Mpi {
    calls: Calls,
    handles: Handles,
    rank: usize,
    ranks: usize,
    thread: ThreadId,
    over: AtomicBool,
    library: String,
}

/// The functions of the library. It is never unloaded: parts of it may still run when the program ends.
struct Calls {
    isend: Symbol<abi::Isend>,
    irecv: Symbol<abi::Irecv>,
    test: Symbol<abi::Test>,
    get_count: Symbol<abi::GetCount>,
    abort: Symbol<abi::Abort>,
    finalize: Symbol<abi::Finalize>,
}

impl std::fmt::Debug for Mpi {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "rank {} of {} by {}", self.rank, self.ranks, self.library)
    }
}

fn symbol<T>(library: &Library, name: &str) -> Result<Symbol<T>, String> {
    // SAFETY: every MPI library has this function with the type that `abi.rs` gives it: all handles are passed as numbers of
    // the size of a pointer, of which a library with smaller handles uses the lower half of a register.
    #[allow(unsafe_code)]
    let found = unsafe { library.get(name.as_bytes()) };
    found.map_err(|error| format!("it has no {name} ({error})"))
}

impl Mpi {
    /// Joins the other ranks, if a launcher started this process as one of several. Nothing is loaded if not.
    ///
    /// # Errors
    ///
    /// [`MpiError`] if there is no library, or none that belongs to the launcher.
    pub fn start() -> Result<Option<Mpi>, MpiError> {
        let Some(launcher) = Launcher::of_environment() else { return Ok(None) };
        let Loaded { library, name, handles } = find(&launcher)?;
        let mpi = Mpi::join(library, &name, handles).map_err(|problem| MpiError::Library { library: name, problem })?;
        if mpi.ranks != launcher.size {
            mpi.finish();
            return Err(MpiError::NotTogether {
                launcher: launcher.name,
                size: launcher.size,
                library: mpi.library.clone(),
                found: mpi.ranks,
            });
        }
        Ok(Some(mpi))
    }

    fn join(library: Library, name: &str, handles: Handles) -> Result<Mpi, String> {
        let init: Symbol<abi::InitThread> = symbol(&library, "MPI_Init_thread")?;
        let rank: Symbol<abi::OfCommunicator> = symbol(&library, "MPI_Comm_rank")?;
        let size: Symbol<abi::OfCommunicator> = symbol(&library, "MPI_Comm_size")?;
        let calls = Calls {
            isend: symbol(&library, "MPI_Isend")?,
            irecv: symbol(&library, "MPI_Irecv")?,
            test: symbol(&library, "MPI_Test")?,
            get_count: symbol(&library, "MPI_Get_count")?,
            abort: symbol(&library, "MPI_Abort")?,
            finalize: symbol(&library, "MPI_Finalize")?,
        };
        let mut numbers = [0; 3];
        let [provided, own, all] = &mut numbers;
        // SAFETY: MPI is started once, since a process is one rank and this is called once; null for both arguments is allowed
        // since MPI 2. The other pointers are to numbers that live until the calls return, and the communicator is the one of
        // this library.
        #[allow(unsafe_code)]
        let failed = unsafe {
            init(std::ptr::null_mut(), std::ptr::null_mut(), handles.one_thread, provided) != 0
                || rank(handles.world, own) != 0
                || size(handles.world, all) != 0
        };
        // what it has made stays until the process ends
        std::mem::forget(library);
        let [_, own, all] = numbers.map(usize::try_from);
        match (failed, own, all) {
            (false, Ok(rank), Ok(ranks)) if rank < ranks => {
                let (thread, over) = (current().id(), AtomicBool::new(false));
                Ok(Mpi { calls, handles, rank, ranks, thread, over, library: name.to_owned() })
            }
            _ => Err("it cannot be started".to_owned()),
        }
    }

    /// The library that was loaded.
    pub fn library(&self) -> &str {
        &self.library
    }

    /// Leaves the other ranks, which have done their work as well.
    pub fn finish(&self) {
        if current().id() == self.thread && !self.over.swap(true, Ordering::SeqCst) {
            // SAFETY: this is the thread that started MPI, and it is the last call.
            #[allow(unsafe_code)]
            unsafe {
                (self.calls.finalize)();
            }
        }
    }

    /// Ends all ranks of the job, because this one cannot go on.
    pub fn abort(&self, code: u8) {
        if !self.over.swap(true, Ordering::SeqCst) {
            // SAFETY: MPI was started and is not over; the call may be made at any time.
            #[allow(unsafe_code)]
            unsafe {
                (self.calls.abort)(self.handles.world, c_int::from(code));
            }
        }
    }

    fn lost(&self, other: usize, problem: impl Into<String>) -> Error {
        Error::Rank { rank: other, problem: problem.into() }
    }

    /// The number of another rank as the library wants it.
    fn number(&self, other: usize) -> Result<c_int, Error> {
        if current().id() != self.thread {
            return Err(self.lost(self.rank, "it was called by a thread that does not talk to other ranks"));
        }
        if self.over.load(Ordering::SeqCst) {
            return Err(self.lost(self.rank, "it has left the other ranks already"));
        }
        c_int::try_from(other)
            .ok()
            .filter(|_| other < self.ranks)
            .ok_or_else(|| self.lost(other, format!("there is no such rank, only {}", self.ranks)))
    }

    /// Waits until a message has gone or come, and says how long it was.
    fn wait(&self, request: &mut Request) -> Option<c_int> {
        let (started, mut status): (Instant, Status) = (Instant::now(), [0; 16]);
        let (mut done, mut count) = (0, 0);
        loop {
            // SAFETY: the request was made by this library and is not over; all three pointers are to values that live until
            // the call returns, with room for what the library writes.
            #[allow(unsafe_code)]
            let failed = unsafe { (self.calls.test)(request, &mut done, &mut status) != 0 };
            if failed {
                return None;
            }
            if done != 0 {
                break;
            }
            if started.elapsed() < EAGER { yield_now() } else { sleep(NAP) }
        }
        // SAFETY: the status was filled by the call before, and both pointers are to values that live until it returns.
        #[allow(unsafe_code)]
        let failed = unsafe { (self.calls.get_count)(&status, self.handles.byte, &mut count) != 0 };
        (!failed).then_some(count)
    }
}

impl Communicator for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn send(&self, to: usize, bytes: &[u8]) -> efmca::Result<()> {
        let number = self.number(to)?;
        for piece in pieces(bytes.len()) {
            let (piece, mut request): (&[u8], Request) = (&bytes[piece], [0; 2]);
            // SAFETY: the bytes stay where they are until `wait` has seen that they were sent; their number is below 2^31; the
            // handles are those of this library; the request has room for its kind.
            #[allow(unsafe_code)]
            let failed = unsafe {
                let (start, count) = (piece.as_ptr().cast::<c_void>(), piece.len() as c_int);
                (self.calls.isend)(start, count, self.handles.byte, number, TAG, self.handles.world, &mut request) != 0
            };
            if failed || self.wait(&mut request).is_none() {
                return Err(self.lost(to, "nothing can be sent to it"));
            }
        }
        Ok(())
    }

    fn receive(&self, from: usize, bytes: &mut [u8]) -> efmca::Result<()> {
        let number = self.number(from)?;
        for piece in pieces(bytes.len()) {
            let (piece, mut request): (&mut [u8], Request) = (&mut bytes[piece], [0; 2]);
            // SAFETY: as for sending; nothing else looks at the bytes until `wait` has seen that all of them are there.
            #[allow(unsafe_code)]
            let failed = unsafe {
                let (start, count) = (piece.as_mut_ptr().cast::<c_void>(), piece.len() as c_int);
                (self.calls.irecv)(start, count, self.handles.byte, number, TAG, self.handles.world, &mut request) != 0
            };
            let expected = piece.len();
            match if failed { None } else { self.wait(&mut request) } {
                Some(count) if usize::try_from(count) == Ok(expected) => {}
                Some(count) => {
                    return Err(self.lost(from, format!("it sent {count} bytes where {expected} were expected")));
                }
                None => return Err(self.lost(from, "nothing can be received from it")),
            }
        }
        Ok(())
    }
}

/// Pieces of a message that are short enough; an empty one has one piece.
fn pieces(length: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..length.max(1)).step_by(LONGEST).map(move |start| start..(start + LONGEST).min(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_go_in_pieces() {
        assert!(pieces(0).eq(std::iter::once(0..0)));
        assert!(pieces(10).eq(std::iter::once(0..10)));
        let long: Vec<_> = pieces(2 * LONGEST + 1).collect();
        assert_eq!((long.len(), long[2].clone()), (3, 2 * LONGEST..2 * LONGEST + 1));
    }
}
