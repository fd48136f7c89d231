//! The sets $\mathcal K^{(n)}$.

use rand::RngExt;

use crate::error::{Error, Result};
use crate::posterior::truncated::states::state::State;
use crate::posterior::truncated::states::{MANY_ACTIVE, Random, bits};
use crate::ranks::Ranks;

/// $\mathcal K^{(n)}$ for all rows: $S$ different states each, as bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sets {
    h: usize,
    s: usize,
    /// $N \times S \times$ words.
    bits: Vec<u64>,
}

impl Sets {
    /// Sets of `s` states of `h` causes for `n` rows, not filled yet; there are no more than $2^H$ states.
    pub(crate) fn empty(n: usize, h: usize, s: usize) -> Sets {
        let s = if h < 32 { s.min(1 << h) } else { s };
        Sets { h, s, bits: vec![0; n * s * bits::words(h)] }
    }

    /// $N$, the number of rows.
    pub fn n(&self) -> usize {
        self.bits.len() / (self.s * self.words()).max(1)
    }

    /// $S$, the number of states of each row.
    pub fn s(&self) -> usize {
        self.s
    }

    /// $H$.
    pub fn h(&self) -> usize {
        self.h
    }

    /// State `s` of row `n`; the first one of a row is its best.
    pub fn state(&self, n: usize, s: usize) -> State<'_> {
        let words = self.words();
        State::new(&self.bits[(n * self.s + s) * words..][..words])
    }

    /// The states of row `n`, the best first.
    pub fn states(&self, n: usize) -> impl ExactSizeIterator<Item = State<'_>> {
        self.row(n).chunks_exact(self.words()).map(State::new)
    }

    /// Words of a state.
    pub(crate) fn words(&self) -> usize {
        bits::words(self.h)
    }

    /// The states of a row, [`Sets::words`] words each: bit $h \bmod 64$ of word $\lfloor h/64\rfloor$ is set where cause $h$
    /// is active.
    pub(crate) fn row(&self, n: usize) -> &[u64] {
        let size = self.s * self.words();
        &self.bits[n * size..][..size]
    }

    /// All states one after the other, as checkpoint files hold them.
    #[doc(hidden)]
    pub fn bits(&self) -> &[u64] {
        &self.bits
    }

    /// The same sets again from [`Sets::bits`].
    #[doc(hidden)]
    pub fn from_bits(h: usize, s: usize, bits: Vec<u64>) -> Result<Sets> {
        let words = bits::words(h);
        let size = s.checked_mul(words).filter(|size| *size > 0 && bits.len().is_multiple_of(*size));
        if size.is_none() {
            return Err(Error::shape("words of the sets", format!("a multiple of {s} x {words}"), bits.len()));
        }
        let unused = if h.is_multiple_of(64) { 0 } else { !0u64 << (h % 64) };
        if bits.chunks_exact(words).any(|state| state[words - 1] & unused != 0) {
            return Err(Error::setting("sets", "damaged", format!("a state has causes beyond the {h} that there are")));
        }
        Ok(Sets { h, s, bits })
    }

    /// The sets of some rows.
    pub(crate) fn of_rows(&self, rows: std::ops::Range<usize>) -> Sets {
        let size = self.s * self.words();
        Sets { bits: self.bits[rows.start * size..rows.end * size].to_vec(), ..*self }
    }

    /// The sets of all rows, of which each rank has its own; on rank 0 only.
    pub(crate) fn gathered(&self, ranks: &Ranks) -> Result<Option<Sets>> {
        let all = ranks.gather(self.bits.clone())?;
        Ok(all.map(|all| Sets { bits: all.concat(), ..*self }))
    }

    /// The sets of all rows on all ranks.
    pub(crate) fn of_all(&self, ranks: &Ranks) -> Result<Sets> {
        let all = self.gathered(ranks)?.map(|sets| sets.bits);
        Ok(Sets { bits: ranks.broadcast(0, all)?, ..*self })
    }

    pub(crate) fn bits_mut(&mut self) -> &mut [u64] {
        &mut self.bits
    }
}

/// Fewer active causes than this are few.
const FEW_ACTIVE: f64 = 4.0;

/// Fills `states` with different states: the empty one (unless the prior expects many causes), single causes if it expects few,
/// and draws from the prior.
pub(crate) fn fill(states: &mut [u64], words: usize, pi: &[f64], random: &mut Random, hashes: &mut Vec<u64>) {
    let (h, count) = (pi.len(), states.len() / words);
    hashes.clear();
    // With few causes most draws would be there already: then all states are put in order of chance.
    if h < 16 && count * 4 > 1 << h {
        let all = 1usize << h;
        let mut order: Vec<u64> = (0..all as u64).collect();
        for index in 0..count {
            order.swap(index, random.random_range(index..all));
        }
        for (state, chosen) in states.chunks_exact_mut(words).zip(order) {
            state[0] = chosen;
        }
        return;
    }
    let largest = pi.iter().copied().fold(0.0, f64::max);
    let expected: f64 = pi.iter().sum();
    let first = random.random_range(0..h);
    for (index, state) in states.chunks_exact_mut(words).enumerate() {
        state.fill(0);
        match index {
            // where many causes are expected, no cause at all is no likely explanation
            0 if expected <= MANY_ACTIVE as f64 => {}
            // where few are, many rows soon share their best state if they do not start from rare ones
            1.. if index <= h && expected < FEW_ACTIVE => bits::flip(state, (first + index) % h),
            _ => draw(state, pi, largest, random),
        }
        // what is there already is changed until it is new
        while hashes.contains(&bits::hash(state)) {
            bits::flip(state, random.random_range(0..h));
        }
        hashes.push(bits::hash(state));
    }
}

/// Adds each cause to `state` with its probability. With small ones, causes up to the next one that is drawn are skipped at
/// once: as if all had the `largest` probability, and then some of those that are hit are left out.
fn draw(state: &mut [u64], pi: &[f64], largest: f64, random: &mut Random) {
    if largest > 0.3 {
        for (cause, pi) in pi.iter().enumerate() {
            if random.random::<f64>() < *pi {
                bits::flip(state, cause);
            }
        }
        return;
    }
    let miss = libm::log1p(-largest);
    // from (0, 1], so that its logarithm is finite; a largest probability of zero skips all
    let skip = |random: &mut Random| libm::log(1.0 - random.random::<f64>()) / miss;
    let mut at = skip(random);
    while at < pi.len() as f64 {
        let cause = at as usize;
        if pi[cause] == largest || random.random::<f64>() * largest < pi[cause] {
            bits::flip(state, cause);
        }
        at = cause as f64 + 1.0 + skip(random);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn initial_states_differ() {
        let mut hashes = Vec::new();
        for (h, count) in [(1, 2), (3, 8), (5, 7), (12, 4096), (20, 300), (100, 60)] {
            for pi in [1e-5, 0.1, 0.9] {
                let mut random = Random::seed_from_u64(1);
                let mut states = vec![0; count * bits::words(h)];
                fill(&mut states, bits::words(h), &vec![pi; h], &mut random, &mut hashes);
                let mut found: Vec<&[u64]> = states.chunks_exact(bits::words(h)).collect();
                found.sort_unstable();
                found.dedup();
                assert_eq!(found.len(), count, "{h} {count} {pi}");
            }
        }
    }
}
