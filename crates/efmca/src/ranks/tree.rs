//! One binary tree of sums over all shards.
//!
//! A node at level $k$ with number $i$ is the sum of shards $i2^k$ to $(i+1)2^k$, as far as there are so many: its left half plus its
//! right half, or its left half where there is no right one. The tree depends on the number of shards alone. A rank adds up what is
//! its own, and a node that belongs to several ranks is added where its first shard is: the other rank sends one sum. So that sums
//! of powers of two of ranks with as many shards each go one by one up a tree of ranks.

use std::ops::Range;

use super::{Encode, Ranks, Shards};
use crate::error::Result;

/// A sum over rows.
pub(crate) trait Sum: Encode {
    /// Adds the sum of other rows.
    fn add(&mut self, other: Self);
}

impl Sum for Vec<f64> {
    fn add(&mut self, other: Self) {
        self.iter_mut().zip(other).for_each(|(mine, theirs)| *mine += theirs);
    }
}

/// A node of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Node {
    level: u32,
    index: usize,
}

impl Node {
    /// Whether this is the left half of the node that it is in together with `right`.
    fn precedes(self, right: Node) -> bool {
        self.level == right.level && self.index.is_multiple_of(2) && self.index + 1 == right.index
    }

    fn parent(self) -> Node {
        Node { level: self.level + 1, index: self.index / 2 }
    }
}

/// The sums of shards that follow each other, added up as far as the tree says.
#[derive(Debug)]
pub(crate) struct Forest<T> {
    trees: Vec<(Node, T)>,
}

impl<T: Sum> Forest<T> {
    pub(crate) fn new() -> Forest<T> {
        Forest { trees: Vec::new() }
    }

    /// Adds the sum of the next shard.
    pub(crate) fn push(&mut self, shard: usize, sum: T) {
        let (mut node, mut sum) = (Node { level: 0, index: shard }, sum);
        while let Some((mut left, first)) =
            self.trees.pop_if(|(left, _)| left.precedes(node)).map(|(left, sum)| (sum, left))
        {
            left.add(sum);
            (node, sum) = (first.parent(), left);
        }
        self.trees.push((node, sum));
    }
}

impl Ranks {
    /// The shards that belong to a rank. Rank 0 has one at the least.
    pub(crate) fn shards_of(&self, rank: usize, shards: usize) -> Range<usize> {
        let start = |rank: usize| (shards * rank).div_ceil(self.count());
        start(rank)..start(rank + 1)
    }

    /// The shards that belong to this rank.
    pub(crate) fn own(&self, shards: usize) -> Range<usize> {
        self.shards_of(self.rank(), shards)
    }

    /// The rows that belong to this rank.
    pub(crate) fn own_rows(&self, shards: &Shards) -> Range<usize> {
        shards.rows_of(&self.own(shards.count()))
    }

    /// The sum over all shards, on rank 0; `own` has those of this rank. Nothing on other ranks.
    pub(crate) fn sum<T: Sum>(&self, shards: usize, own: Forest<T>) -> Result<Option<T>> {
        self.timed(true, || self.sum_up(shards, own))
    }

    fn sum_up<T: Sum>(&self, shards: usize, own: Forest<T>) -> Result<Option<T>> {
        // the trees of all ranks; this one has the sums of its own
        let mut trees: Vec<(Node, usize)> = Vec::new();
        for rank in 0..self.count() {
            let first = trees.len();
            for shard in self.shards_of(rank, shards) {
                let mut node = Node { level: 0, index: shard };
                while trees.len() > first && trees.last().is_some_and(|(left, _)| left.precedes(node)) {
                    trees.pop();
                    node = node.parent();
                }
                trees.push((node, rank));
            }
        }
        let mut sums: Vec<(Node, T)> = own.trees;
        let mut level = 0;
        while trees.len() > 1 || trees.first().is_some_and(|(node, _)| shards > 1usize << node.level.min(63)) {
            let mut next = Vec::with_capacity(trees.len());
            let mut at = 0;
            while let Some((node, owner)) = trees.get(at).copied() {
                at += 1;
                let right = trees.get(at).copied().filter(|(right, _)| node.level == level && node.precedes(*right));
                if node.level > level {
                    next.push((node, owner));
                    continue;
                }
                next.push((node.parent(), owner));
                if let Some((right, other)) = right {
                    at += 1;
                    self.join((node, owner), (right, other), &mut sums)?;
                }
                if owner == self.rank()
                    && let Some((mine, _)) = sums.iter_mut().find(|(mine, _)| *mine == node)
                {
                    *mine = node.parent();
                }
            }
            trees = next;
            level += 1;
        }
        Ok(sums.pop().map(|(_, sum)| sum))
    }

    /// Adds a right half to its left one, which is on the rank that keeps it.
    fn join<T: Sum>(
        &self,
        (left, owner): (Node, usize),
        (right, other): (Node, usize),
        sums: &mut Vec<(Node, T)>,
    ) -> Result<()> {
        let taken = |sums: &mut Vec<(Node, T)>| {
            let at = sums.iter().position(|(node, _)| *node == right)?;
            Some(sums.remove(at).1)
        };
        let found = if other == self.rank() { taken(sums) } else { None };
        if other == self.rank() && owner != self.rank() {
            return found.map_or(Ok(()), |sum| self.send(owner, &sum));
        }
        if owner == self.rank() {
            let more = if other == owner { found } else { Some(self.receive(other)?) };
            if let (Some((_, sum)), Some(more)) = (sums.iter_mut().find(|(node, _)| *node == left), more) {
                sum.add(more);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ranks::{InProcess, current, over};

    /// Numbers whose sum depends on the order of additions.
    fn number(shard: usize) -> Vec<f64> {
        vec![(shard as f64 * 12.9898).sin() * 10f64.powi(shard as i32 % 9), 1.0]
    }

    fn summed(ranks: usize, shards: usize) -> Vec<u64> {
        std::thread::scope(|scope| {
            let all = InProcess::crew(ranks).into_iter().map(|rank| {
                scope.spawn(move || {
                    over(Arc::new(rank), || {
                        let ranks = current();
                        let mut own = Forest::new();
                        for shard in ranks.own(shards) {
                            own.push(shard, number(shard));
                        }
                        let sum = ranks.sum(shards, own).unwrap();
                        assert_eq!(sum.is_some(), ranks.rank() == 0);
                        ranks.broadcast(0, sum).unwrap()
                    })
                })
            });
            let all: Vec<_> = all.collect();
            let found: Vec<Vec<u64>> =
                all.into_iter().map(|rank| rank.join().unwrap().iter().map(|sum| sum.to_bits()).collect()).collect();
            assert!(found.iter().all(|one| *one == found[0]));
            found[0].clone()
        })
    }

    /// The tree as it is defined.
    fn node(level: u32, index: usize, shards: usize) -> Option<f64> {
        if level == 0 {
            return (index < shards).then(|| number(index)[0]);
        }
        let left = node(level - 1, 2 * index, shards)?;
        Some(node(level - 1, 2 * index + 1, shards).map_or(left, |right| left + right))
    }

    #[test]
    fn sums_are_those_of_one_tree_for_any_number_of_ranks() {
        for shards in [1, 2, 3, 5, 8, 13, 16, 31, 64] {
            let expected = node(7, 0, shards).unwrap().to_bits();
            for ranks in [1, 2, 3, 4, 7, 8] {
                assert_eq!(summed(ranks, shards), [expected, (shards as f64).to_bits()], "{ranks} {shards}");
            }
        }
    }

    #[test]
    fn a_failure_and_another_mark_are_told_to_all() {
        let tried = |failing: Option<usize>, other: Option<usize>| -> Vec<String> {
            std::thread::scope(|scope| {
                let all = InProcess::crew(3).into_iter().map(|rank| {
                    scope.spawn(move || {
                        over(Arc::new(rank), || {
                            let ranks = current();
                            assert!(ranks.any(ranks.rank() == 2).unwrap() && !ranks.any(false).unwrap());
                            let found = match failing == Some(ranks.rank()) {
                                true => Err(crate::Error::EmptyColumn { column: 4 }),
                                false => Ok(ranks.rank()),
                            };
                            let mark = if other == Some(ranks.rank()) { 8 } else { 7 };
                            ranks.agree(found, mark).map_or_else(|error| error.to_string(), |rank| rank.to_string())
                        })
                    })
                });
                all.collect::<Vec<_>>().into_iter().map(|rank| rank.join().unwrap()).collect()
            })
        };
        assert_eq!(tried(None, None), ["0", "1", "2"]);
        let failed = tried(Some(1), Some(2));
        assert!(failed[0].contains("rank 1") && failed[0].contains("column 5"), "{failed:?}");
        assert!(failed[1].starts_with("column 5") && failed[2] == failed[0], "{failed:?}");
        assert!(tried(None, Some(2)).iter().all(|found| found.contains("rank 2") && found.contains("same program")));
    }
}
