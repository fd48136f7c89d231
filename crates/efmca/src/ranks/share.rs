//! The part of a data set that belongs to a rank.

use std::ops::Range;

use super::{Ranks, Shards};

/// Shards, and the ranks that they belong to.
#[derive(Debug, Clone)]
pub(crate) struct Share {
    pub(crate) ranks: Ranks,
    pub(crate) shards: Shards,
}

impl Share {
    /// All rows are here.
    pub(crate) fn all(n: usize) -> Share {
        Share { ranks: Ranks::default(), shards: Shards::usual(n, 1) }
    }

    /// The shards that are here.
    pub(crate) fn own(&self) -> Range<usize> {
        self.ranks.own(self.shards.count())
    }

    /// The rows that are here.
    pub(crate) fn rows(&self) -> Range<usize> {
        self.ranks.own_rows(&self.shards)
    }

    /// The first row that is here.
    pub(crate) fn first(&self) -> usize {
        self.rows().start
    }

    /// All rows, wherever they are.
    pub(crate) fn n(&self) -> usize {
        self.shards.n()
    }
}
