//! Where there is no way to load an MPI library.

use efmca::Error;
use efmca::ranks::Communicator;

use crate::{Launcher, MpiError};

/// Ranks of an MPI job; there are none on this system.
#[derive(Debug)]
pub struct Mpi(());

impl Mpi {
    /// Joins the other ranks, which cannot be done on this system.
    ///
    /// # Errors
    ///
    /// [`MpiError::NotFound`] if a launcher started several.
    pub fn start() -> Result<Option<Mpi>, MpiError> {
        match Launcher::of_environment() {
            None => Ok(None),
            Some(Launcher { name, size, .. }) => {
                Err(MpiError::NotFound { launcher: name, size, tried: "none: this system has no support".to_owned() })
            }
        }
    }

    /// The library that was loaded.
    pub fn library(&self) -> &str {
        ""
    }

    /// Leaves the other ranks.
    pub fn finish(&self) {}

    /// Ends all ranks of the job.
    pub fn abort(&self, _: u8) {}
}

impl Communicator for Mpi {
    fn rank(&self) -> usize {
        0
    }

    fn ranks(&self) -> usize {
        1
    }

    fn send(&self, to: usize, _: &[u8]) -> efmca::Result<()> {
        Err(Error::Rank { rank: to, problem: "there is no way to it".to_owned() })
    }

    fn receive(&self, from: usize, _: &mut [u8]) -> efmca::Result<()> {
        Err(Error::Rank { rank: from, problem: "there is no way to it".to_owned() })
    }
}
