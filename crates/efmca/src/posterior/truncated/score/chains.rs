//! An order of states in which those that share causes follow each other.

/// States as chains of causes: first those that all have, then the most popular ones, and so on. In the order of
/// [`Chains::step`] a state begins with the longest part of a chain that it shares with the one before, so that what they
/// share has to be looked at once.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    words: usize,
    /// The causes that all states have.
    common: Vec<u64>,
    /// How many states have a cause; zero between calls.
    popularity: Vec<u32>,
    /// The causes that some states have and others do not, the most popular first.
    differing: Vec<u16>,
    /// Where a cause is in that list.
    place: Vec<u16>,
    /// For each state the places of its causes, from the highest bit down, and its index in the lowest bits.
    keys: Vec<u64>,
    index_bits: u32,
    added: Vec<u16>,
}

/// A state in the order of chains.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// Which state it is.
    pub(crate) index: usize,
    /// Causes that it shares with the state before, beside those that all have.
    pub(crate) shared: usize,
    /// Causes that it shares with the state after.
    pub(crate) kept: usize,
}

impl Chains {
    pub(crate) fn new(h: usize, words: usize) -> Chains {
        Chains { words, common: vec![0; words], popularity: vec![0; h], place: vec![0; h], ..Chains::default() }
    }

    /// The causes that all states have.
    pub(crate) fn common(&self) -> &[u64] {
        &self.common
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Calls `see` with the causes of a state that not all states have.
    #[inline]
    fn each_differing(state: &[u64], common: &[u64], mut see: impl FnMut(usize)) {
        for (index, (word, common)) in state.iter().zip(common).enumerate() {
            let mut rest = word & !common;
            while rest != 0 {
                see(index * 64 + rest.trailing_zeros() as usize);
                rest &= rest - 1;
            }
        }
    }

    /// Puts `states` in order.
    pub(crate) fn arrange(&mut self, states: &[u64]) {
        self.common.fill(u64::MAX);
        for state in states.chunks_exact(self.words) {
            for (common, word) in self.common.iter_mut().zip(state) {
                *common &= word;
            }
        }
        let Chains { common, popularity, differing, place, keys, words, .. } = self;
        differing.clear();
        for state in states.chunks_exact(*words) {
            Chains::each_differing(state, common, |cause| {
                if popularity[cause] == 0 {
                    differing.push(cause as u16);
                }
                popularity[cause] += 1;
            });
        }
        differing.sort_unstable_by_key(|cause| (u32::MAX - popularity[usize::from(*cause)], *cause));
        for (at, cause) in differing.iter().enumerate() {
            place[usize::from(*cause)] = at as u16;
            popularity[usize::from(*cause)] = 0;
        }
        let count = states.len() / *words;
        self.index_bits = 64 - (count.max(1) as u64 - 1).leading_zeros();
        let most = 64 - self.index_bits as usize;
        keys.clear();
        for (index, state) in states.chunks_exact(*words).enumerate() {
            let mut key = index as u64;
            Chains::each_differing(state, common, |cause| {
                let place = usize::from(place[cause]);
                if place < most {
                    key |= 1 << (63 - place);
                }
            });
            keys.push(key);
        }
        keys.sort_unstable_by_key(|key| u64::MAX - key);
    }

    /// The state at place `at` of the order; [`Chains::added`] then has its causes beside the shared ones.
    pub(crate) fn step(&mut self, at: usize, states: &[u64]) -> Step {
        let low = if self.index_bits == 0 { 0 } else { u64::MAX >> (64 - self.index_bits) };
        let key = self.keys[at] & !low;
        let index = (self.keys[at] & low) as usize;
        let shared = if at == 0 { 0 } else { shared_bits(key, self.keys[at - 1] & !low) };
        let kept = self.keys.get(at + 1).map_or(0, |next| shared_bits(key, next & !low));
        self.added.clear();
        let mut rest = key;
        for _ in 0..shared {
            rest &= !(1 << (63 - rest.leading_zeros()));
        }
        while rest != 0 {
            let place = rest.leading_zeros();
            rest &= !(1 << (63 - place));
            self.added.push(self.differing[place as usize]);
        }
        // causes that have no place in the key: few states have them, so that nothing is lost by not sharing
        let most = 64 - self.index_bits as usize;
        if self.differing.len() > most {
            let (added, place) = (&mut self.added, &self.place);
            let state = &states[index * self.words..][..self.words];
            Chains::each_differing(state, &self.common, |cause| {
                if usize::from(place[cause]) >= most {
                    added.push(cause as u16);
                }
            });
        }
        Step { index, shared: shared as usize, kept: kept as usize }
    }

    /// The causes to add for the last step.
    pub(crate) fn added(&self) -> &[u16] {
        &self.added
    }
}

/// The causes that two keys share from the most popular one on.
#[inline]
fn shared_bits(a: u64, b: u64) -> u32 {
    match (a ^ b).leading_zeros() {
        0 => 0,
        same => (a & !(u64::MAX.checked_shr(same).unwrap_or(0))).count_ones(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::posterior::truncated::states::bits;

    #[test]
    fn chains_lead_to_every_state_once() {
        let mut seed = 1;
        for (h, count) in [(5, 20), (70, 1), (70, 60), (200, 130), (12, 700)] {
            let words = bits::words(h);
            let mut chains = Chains::new(h, words);
            for round in 0..5 {
                let mut states = vec![0; count * words];
                for cause in 0..count * h {
                    seed = bits::hash(&[seed]);
                    if seed % 11 < round * 2 {
                        bits::flip(&mut states[cause / h * words..][..words], cause % h);
                    }
                }
                chains.arrange(&states);
                let mut path: Vec<u16> = Vec::new();
                let mut seen = vec![false; count];
                for at in 0..chains.len() {
                    let step = chains.step(at, &states);
                    assert!(step.shared <= path.len());
                    path.truncate(step.shared);
                    path.extend_from_slice(chains.added());
                    let mut state = chains.common().to_vec();
                    path.iter().for_each(|cause| bits::flip(&mut state, usize::from(*cause)));
                    assert_eq!(state, &states[step.index * words..][..words]);
                    assert!(!std::mem::replace(&mut seen[step.index], true));
                    path.truncate(step.kept);
                }
                assert!(seen.iter().all(|seen| *seen));
            }
        }
    }
}
