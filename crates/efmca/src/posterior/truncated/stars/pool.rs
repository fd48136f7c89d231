//! The numbers of states that are not flips of a star's state, and things that belong to them.

use crate::posterior::truncated::states::bits;

/// Different states, numbered in the order in which they came.
#[derive(Debug)]
pub(super) struct Pool {
    words: usize,
    states: Vec<u64>,
    hashes: Vec<u64>,
    /// Numbers of states: a hash table with open addressing and linear probing, whose length is a power of two.
    table: Vec<u32>,
}

/// An empty place of the table.
const FREE: u32 = u32::MAX;
/// The first length of a table.
const FEWEST: usize = 1024;

impl Pool {
    pub(super) fn new(words: usize) -> Pool {
        Pool { words, states: Vec::new(), hashes: Vec::new(), table: vec![FREE; FEWEST] }
    }

    /// Forgets all states.
    pub(super) fn clear(&mut self) {
        self.states.clear();
        self.hashes.clear();
        self.table.fill(FREE);
    }

    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }

    #[inline(always)]
    pub(super) fn state(&self, number: u32) -> &[u64] {
        &self.states[number as usize * self.words..][..self.words]
    }

    /// The number of a state, a new one if it was not there.
    #[inline(always)]
    pub(super) fn number(&mut self, state: &[u64]) -> u32 {
        let hash = bits::hash(state);
        let mask = self.table.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            let number = self.table[place];
            if number == FREE {
                return self.insert(state, hash, place);
            }
            // word by word: a state is too short for a call that compares memory
            if self.hashes[number as usize] == hash && self.state(number).iter().zip(state).all(|(a, b)| a == b) {
                return number;
            }
            place = (place + 1) & mask;
        }
    }

    fn insert(&mut self, state: &[u64], hash: u64, place: usize) -> u32 {
        let number = self.hashes.len() as u32;
        self.states.extend_from_slice(state);
        self.hashes.push(hash);
        self.table[place] = number;
        if 2 * self.hashes.len() > self.table.len() {
            self.grow();
        }
        number
    }

    /// Makes the table twice as large.
    fn grow(&mut self) {
        let size = 2 * self.table.len();
        self.table.clear();
        self.table.resize(size, FREE);
        for (number, hash) in self.hashes.iter().enumerate() {
            let mut place = *hash as usize & (size - 1);
            while self.table[place] != FREE {
                place = (place + 1) & (size - 1);
            }
            self.table[place] = number as u32;
        }
    }
}

/// Things that belong to numbered states, gone through state by state.
#[derive(Debug)]
pub(super) struct ByState<T> {
    /// Where those of each state begin; while they are put in order, where the next of them goes.
    starts: Vec<u32>,
    sorted: Vec<T>,
}

impl<T: Copy> ByState<T> {
    pub(super) fn new() -> ByState<T> {
        ByState { starts: Vec::new(), sorted: Vec::new() }
    }

    /// Puts `things` in the order of their states, of which there are `states`; those of one state stay in their order.
    pub(super) fn arrange(&mut self, states: usize, things: &[T], state: impl Fn(&T) -> u32) {
        self.sorted.clear();
        let Some(any) = things.first() else { return };
        self.starts.clear();
        self.starts.resize(states + 1, 0);
        for thing in things {
            self.starts[state(thing) as usize + 1] += 1;
        }
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start;
            *start = sum;
        }
        self.sorted.resize(things.len(), *any);
        for thing in things {
            let next = &mut self.starts[state(thing) as usize];
            self.sorted[*next as usize] = *thing;
            *next += 1;
        }
    }

    /// Those of one state after the other.
    pub(super) fn runs(&self, state: impl Fn(&T) -> u32) -> impl Iterator<Item = &[T]> {
        self.sorted.chunk_by(move |a, b| state(a) == state(b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_keep_their_numbers() {
        let mut pool = Pool::new(2);
        for round in 0..2 {
            let states: Vec<[u64; 2]> = (0..5 * FEWEST as u64).map(|n| [n / 7, n % 7]).collect();
            for pass in 0..2 {
                for (number, state) in states.iter().enumerate() {
                    assert_eq!(pool.number(state), number as u32, "{round} {pass}");
                    assert_eq!(pool.state(number as u32), state);
                }
            }
            assert_eq!(pool.len(), states.len());
            pool.clear();
            assert_eq!(pool.len(), 0);
        }
    }

    #[test]
    fn things_come_state_by_state() {
        let mut by_state = ByState::new();
        for things in [vec![(3u32, 'a'), (0, 'b'), (3, 'c'), (1, 'd'), (0, 'e')], vec![], vec![(0, 'x')]] {
            by_state.arrange(5, &things, |thing| thing.0);
            let found: Vec<Vec<(u32, char)>> = by_state.runs(|thing| thing.0).map(<[_]>::to_vec).collect();
            let mut expected = things.clone();
            expected.sort_by_key(|thing| thing.0);
            assert_eq!(found.concat(), expected);
            assert!(found.windows(2).all(|pair| pair[0][0].0 < pair[1][0].0));
        }
    }
}
