//! The numbers and names in which MPI libraries differ.
//!
//! | | communicator of all ranks, type of bytes | calls by one thread |
//! | --- | --- | --- |
//! | Open MPI | addresses of `ompi_mpi_comm_world`, `ompi_mpi_byte` | 1 |
//! | MPICH, Intel MPI | 0x44000000, 0x4c00010d, of which 32 bits count | 1 |
//! | standard ABI (MPI 5) | 0x101, 0x247 | 1024 |
//!
//! Handles travel as numbers of the size of a pointer: where a library takes 32 bits it does not look at the others. Statuses
//! and requests get more room than any of them needs.

use std::ffi::{c_int, c_void};

/// A communicator, a type of data or a request.
pub(crate) type Handle = usize;
/// Room for a request.
pub(crate) type Request = [u64; 2];
/// Room for a status: 20 bytes in MPICH, 24 in Open MPI, 32 in the standard ABI.
pub(crate) type Status = [u64; 16];

pub(crate) type InitThread = unsafe extern "C" fn(*mut c_int, *mut c_void, c_int, *mut c_int) -> c_int;
pub(crate) type OfCommunicator = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
pub(crate) type Isend = unsafe extern "C" fn(*const c_void, c_int, Handle, c_int, c_int, Handle, *mut Request) -> c_int;
pub(crate) type Irecv = unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut Request) -> c_int;
pub(crate) type Test = unsafe extern "C" fn(*mut Request, *mut c_int, *mut Status) -> c_int;
pub(crate) type GetCount = unsafe extern "C" fn(*const Status, Handle, *mut c_int) -> c_int;
pub(crate) type Abort = unsafe extern "C" fn(Handle, c_int) -> c_int;
pub(crate) type Finalize = unsafe extern "C" fn() -> c_int;

/// What a library calls its handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Handles {
    pub(crate) world: Handle,
    pub(crate) byte: Handle,
    /// The level of threads at which one thread makes all calls.
    pub(crate) one_thread: c_int,
}

/// MPICH and what descends from it.
pub(crate) const MPICH: Handles = Handles { world: 0x4400_0000, byte: 0x4c00_010d, one_thread: 1 };
/// The standard ABI of MPI 5.
pub(crate) const STANDARD: Handles = Handles { world: 0x101, byte: 0x247, one_thread: 1024 };

/// Handles of Open MPI, which are the addresses of these.
pub(crate) const OPEN_MPI_WORLD: &[u8] = b"ompi_mpi_comm_world\0";
pub(crate) const OPEN_MPI_BYTE: &[u8] = b"ompi_mpi_byte\0";
/// Open MPI's level of threads at which one thread makes all calls.
pub(crate) const OPEN_MPI_ONE_THREAD: c_int = 1;
