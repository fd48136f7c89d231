//! Rows cut into shards.

use std::ops::Range;

/// The rows of a data set, cut into shards of about as many rows each that follow each other.
///
/// Random numbers, neighbours and groups of rows with the same best state never reach from one shard into another, and sums over
/// shards are added in one binary tree. So it does not matter for a single bit which rank works on which of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shards {
    n: usize,
    count: usize,
}

/// Chunks that shards together have about; a shard has [`FEWEST_CHUNKS`] at the least.
const CHUNKS: usize = 32;
/// Chunks of a shard at the least, for as many threads.
const FEWEST_CHUNKS: usize = 8;
/// Rows of a chunk, at the least.
const SMALLEST_CHUNK: usize = 32;
/// Rows of a shard that are gone through together where nothing was said: rows with the same best state are looked for among them.
const USUAL_ROWS: usize = 8192;
/// Shards where nothing was said, at the most.
const MOST_USUAL: usize = 16;

impl Shards {
    /// `n` rows in `count` shards; in fewer if there are not as many rows.
    pub fn new(n: usize, count: usize) -> Shards {
        Shards { n, count: count.clamp(1, n.max(1)) }
    }

    /// The usual number of shards of `n` rows that are gone through in so many batches.
    pub fn usual(n: usize, batches: usize) -> Shards {
        Shards::new(n, (n / batches.max(1)).div_ceil(USUAL_ROWS).clamp(1, MOST_USUAL))
    }

    /// All rows.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The number of shards.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The first row of a shard; all rows for the one after the last.
    fn start(&self, shard: usize) -> usize {
        // in 128 bits, since both can be large
        (self.n as u128 * shard as u128 / self.count as u128) as usize
    }

    /// The rows of a shard.
    pub fn rows(&self, shard: usize) -> Range<usize> {
        self.start(shard)..self.start(shard + 1)
    }

    /// The rows of shards that follow each other.
    pub fn rows_of(&self, shards: &Range<usize>) -> Range<usize> {
        self.start(shards.start)..self.start(shards.end)
    }

    /// The rows of a shard that belong to one of several batches.
    pub(crate) fn batch(&self, shard: usize, (batch, batches): (usize, usize)) -> Range<usize> {
        let rows = self.rows(shard);
        let at = |batch: usize| rows.start + rows.len() * batch / batches.max(1);
        at(batch)..at(batch + 1)
    }

    /// Rows that one thread works on, one after the other. Of these, rows that share no state have their neighbours only among them.
    pub(crate) fn chunk(&self) -> usize {
        let rows = self.n.div_ceil(self.count);
        rows.div_ceil((CHUNKS / self.count).max(FEWEST_CHUNKS)).max(SMALLEST_CHUNK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_one_shard_and_one_batch() {
        for (n, count, batches) in [(10, 3, 2), (1000, 7, 4), (5, 9, 1), (1, 1, 3)] {
            let shards = Shards::new(n, count);
            let rows = (0..shards.count())
                .flat_map(|shard| (0..batches).flat_map(move |batch| shards.batch(shard, (batch, batches))));
            assert_eq!(rows.collect::<Vec<_>>(), (0..n).collect::<Vec<_>>());
            assert_eq!(shards.rows_of(&(0..shards.count())), 0..n);
        }
    }

    #[test]
    fn small_problems_have_one_shard() {
        assert_eq!(Shards::usual(8192, 1).count(), 1);
        assert_eq!(Shards::usual(100_000, 1).count(), 13);
        assert_eq!(Shards::usual(100_000, 4).count(), 4);
        assert_eq!(Shards::usual(10_000_000, 1).count(), MOST_USUAL);
        assert_eq!((Shards::new(8192, 1).chunk(), Shards::new(100, 1).chunk()), (256, 32));
    }
}
