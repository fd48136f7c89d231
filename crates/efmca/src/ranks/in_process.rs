//! Ranks that are threads of one process, for tests and for trying things out.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use super::{Communicator, lost};
use crate::error::Result;

/// A rank that is a thread of this process; see [`super::over`].
#[derive(Debug)]
pub struct InProcess {
    rank: usize,
    /// To each rank.
    to: Vec<Sender<Vec<u8>>>,
    /// From each rank.
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
}

impl InProcess {
    /// So many ranks, each for a thread of its own.
    pub fn crew(ranks: usize) -> Vec<InProcess> {
        let (mut to, mut from): (Vec<Vec<_>>, Vec<Vec<_>>) = (Vec::new(), Vec::new());
        to.resize_with(ranks, Vec::new);
        from.resize_with(ranks, Vec::new);
        for sender in &mut to {
            for receiver in &mut from {
                let (send, receive) = channel();
                sender.push(send);
                receiver.push(Mutex::new(receive));
            }
        }
        to.into_iter().zip(from).enumerate().map(|(rank, (to, from))| InProcess { rank, to, from }).collect()
    }
}

impl Communicator for InProcess {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.to.len()
    }

    fn send(&self, to: usize, bytes: &[u8]) -> Result<()> {
        let way = self.to.get(to).ok_or_else(|| lost(to, "there is no such rank"))?;
        way.send(bytes.to_vec()).map_err(|_| lost(to, "its thread has ended"))
    }

    fn receive(&self, from: usize, bytes: &mut [u8]) -> Result<()> {
        let way = self.from.get(from).ok_or_else(|| lost(from, "there is no such rank"))?;
        let way = way.lock().unwrap_or_else(PoisonError::into_inner);
        let found = way.recv().map_err(|_| lost(from, "its thread has ended"))?;
        if found.len() != bytes.len() {
            return Err(lost(from, format!("it sent {} bytes where {} were expected", found.len(), bytes.len())));
        }
        bytes.copy_from_slice(&found);
        Ok(())
    }
}
