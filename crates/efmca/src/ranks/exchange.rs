//! What ranks say to each other.

use super::{Decoder, Encode, Ranks, encoded, lost};
use crate::error::{Error, Result};

impl Ranks {
    /// Sends a value to another rank.
    pub(super) fn send(&self, to: usize, value: &impl Encode) -> Result<()> {
        self.way().map_or(Ok(()), |_| self.send_bytes(to, &encoded(value)))
    }

    fn send_bytes(&self, to: usize, bytes: &[u8]) -> Result<()> {
        let Some(way) = self.way() else { return Ok(()) };
        way.send(to, &(bytes.len() as u64).to_le_bytes())?;
        way.send(to, bytes)
    }

    /// A value that another rank sends.
    pub(super) fn receive<T: Encode>(&self, from: usize) -> Result<T> {
        decoded(from, &self.receive_bytes(from)?)
    }

    fn receive_bytes(&self, from: usize) -> Result<Vec<u8>> {
        let Some(way) = self.way() else { return Err(lost(from, "there is no way to it")) };
        let mut length = [0; 8];
        way.receive(from, &mut length)?;
        let mut bytes = vec![0; u64::from_le_bytes(length) as usize];
        way.receive(from, &mut bytes)?;
        Ok(bytes)
    }

    /// The value of one rank on all of them. Those that have it pass it on, so that it takes as many turns as the number of ranks
    /// can be halved.
    pub(crate) fn broadcast<T: Encode>(&self, from: usize, value: Option<T>) -> Result<T> {
        self.timed(true, || self.pass_on(from, value))
    }

    fn pass_on<T: Encode>(&self, from: usize, value: Option<T>) -> Result<T> {
        if self.is_alone() {
            return value.ok_or_else(|| lost(from, "it has nothing to say"));
        }
        let count = self.count();
        // counted from the rank that begins
        let place = (self.rank() + count - from) % count;
        let rank = |place: usize| (place + from) % count;
        let mut bytes = value.as_ref().map(encoded).unwrap_or_default();
        let mut reach = 1;
        while reach < count {
            if place < reach && place + reach < count {
                self.send_bytes(rank(place + reach), &bytes)?;
            } else if (reach..2 * reach).contains(&place) {
                bytes = self.receive_bytes(rank(place - reach))?;
            }
            reach *= 2;
        }
        value.map_or_else(|| decoded(from, &bytes), Ok)
    }

    /// The values of all ranks in their order, on rank 0; nothing on others.
    pub(crate) fn gather<T: Encode>(&self, own: T) -> Result<Option<Vec<T>>> {
        if self.rank() > 0 {
            self.send(0, &own)?;
            return Ok(None);
        }
        let mut all = vec![own];
        for rank in 1..self.count() {
            all.push(self.receive(rank)?);
        }
        Ok(Some(all))
    }

    /// The values of all ranks in their order.
    pub(crate) fn gather_all<T: Encode>(&self, own: T) -> Result<Vec<T>> {
        self.timed(false, || {
            let all = self.gather(own)?;
            self.pass_on(0, all)
        })
    }

    /// All parts added up in the order of ranks, from the first of rank 0 to the last of the last rank, on all of them.
    pub(crate) fn in_turn<T: Encode>(&self, own: Vec<T>, add: impl Fn(T, T) -> T) -> Result<Option<T>> {
        if self.is_alone() {
            return Ok(own.into_iter().reduce(add));
        }
        let (rank, last) = (self.rank(), self.count() - 1);
        let sum = self.timed(true, || {
            let before: Option<T> = if rank > 0 { self.receive(rank - 1)? } else { None };
            let sum = before.into_iter().chain(own).reduce(add);
            if rank < last {
                self.send(rank + 1, &sum)?;
            }
            Ok(sum)
        })?;
        self.broadcast(last, (rank == last).then_some(sum))
    }

    /// Whether one rank at the least says yes.
    ///
    /// # Errors
    ///
    /// [`Error::Rank`] if another rank cannot be heard.
    pub fn any(&self, yes: bool) -> Result<bool> {
        if self.is_alone() {
            return Ok(yes);
        }
        self.timed(false, || {
            let all = self.gather(yes)?;
            self.pass_on(0, all.map(|all| all.contains(&true)))
        })
    }

    /// The numbers of all ranks in their order, each with as many as it likes.
    ///
    /// # Errors
    ///
    /// [`Error::Rank`] if another rank cannot be heard.
    pub fn numbers(&self, own: &[f64]) -> Result<Vec<Vec<f64>>> {
        self.gather_all(own.to_vec())
    }

    /// What was found, if all ranks found something and came to it with the same `mark`; the error of the first that did not, if not.
    pub(crate) fn agree<T>(&self, found: Result<T>, mark: u64) -> Result<T> {
        if self.is_alone() {
            return found;
        }
        let own = (found.as_ref().err().map(ToString::to_string), mark);
        let verdict = self.timed(false, || {
            let verdict = self.gather(own)?.map(|all| {
                let failed = all.iter().enumerate().find_map(|(rank, (failed, _))| Some((rank, failed.clone()?)));
                let other = || all.iter().position(|(_, other)| *other != mark).map(|rank| (rank, OTHER.to_owned()));
                failed.or_else(other)
            });
            self.pass_on(0, verdict)
        });
        match verdict? {
            None => found,
            Some((rank, _)) if rank == self.rank() && found.is_err() => found,
            Some((rank, problem)) => Err(Error::Rank { rank, problem }),
        }
    }
}

/// The problem of a rank that came to another result.
const OTHER: &str = "it has come to another model than rank 0, or has other data or settings; all ranks need the same program and \
                     files, and processors of the same kind";

fn decoded<T: Encode>(from: usize, bytes: &[u8]) -> Result<T> {
    let mut decoder = Decoder(bytes);
    let value = T::decode(&mut decoder).filter(|_| decoder.0.is_empty());
    value.ok_or_else(|| lost(from, "it sent something else than was expected; all ranks must do the same work"))
}
