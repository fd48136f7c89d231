//! The rows of this rank, shard by shard, and a tree of sums over them that depends on the number of rows alone.

use std::ops::Range;

use crate::error::Result;
use crate::model::Model;
use crate::posterior::Moments;
use crate::posterior::truncated::sums::Effort;
use crate::posterior::truncated::task::Kept;
use crate::ranks::{Forest, Share, Sum};

/// One of so many batches.
pub(crate) type Batch = (usize, usize);

/// All rows at a time.
pub(crate) const ALL: Batch = (0, 1);

/// Goes through the rows of a batch that are here, shard by shard; `size` is the number of states of a row, and of words of a
/// state.
pub(crate) fn each_shard<T: Sum>(
    share: &Share,
    batch: Batch,
    size: (usize, usize),
    kept: Kept<'_>,
    sums: &mut Forest<T>,
    mut each: impl FnMut(Range<usize>, Kept<'_>) -> Result<T>,
) -> Result<()> {
    let (mut rest, mut at) = (kept, share.first());
    for shard in share.own() {
        let rows = share.shards.batch(shard, batch);
        let (kept, after) = rest.split(rows.start - at, size).1.split(rows.len(), size);
        (rest, at) = (after, rows.end);
        sums.push(shard, each(rows, kept)?);
    }
    Ok(())
}

/// The moments of all ranks, from the sums of the shards that are here.
pub(crate) fn finished<T: Sum>(
    share: &Share,
    own: Result<Forest<T>>,
    model: &Model,
    moments: impl FnOnce(T) -> (Moments, Effort),
) -> Result<(Moments, Effort)> {
    let ranks = &share.ranks;
    // ranks whose processors round in another way would go apart, and wait for each other for ever
    let mark = if ranks.is_alone() { 0 } else { model.mark() };
    let own = ranks.agree(own, mark)?;
    let found = ranks.sum(share.shards.count(), own)?.map(moments);
    ranks.broadcast(0, found)
}

/// Sums over `rows`: those of the two halves, in a tree whose shape depends on the number of rows alone. `size` is as for
/// [`each_shard`].
pub(crate) fn tree<T: Send>(
    rows: Range<usize>,
    chunk: usize,
    size: (usize, usize),
    kept: Kept<'_>,
    leaf: &(impl Fn(Range<usize>, Kept<'_>) -> Result<T> + Sync),
    add: &(impl Fn(T, T) -> T + Sync),
) -> Result<T> {
    if rows.len() <= chunk {
        return leaf(rows, kept);
    }
    let half = (rows.len().div_ceil(chunk) / 2).max(1) * chunk;
    let (left, right) = kept.split(half, size);
    let middle = rows.start + half;
    let (left, right) = rayon::join(
        || tree(rows.start..middle, chunk, size, left, leaf, add),
        || tree(middle..rows.end, chunk, size, right, leaf, add),
    );
    Ok(add(left?, right?))
}
