//! The sets of states in a file: as bits, or as lists of causes where those are shorter.

use std::io::Write;

use efmca::posterior::Sets;
use safetensors::tensor::{Dtype, SafeTensors};

use super::Piece;

/// The names of the tensors.
const BITS: &str = "sets";
const COUNTS: &str = "sets_counts";
const CAUSES: &str = "sets_causes";

/// The sets in the form that takes the least space.
pub(super) fn packed(sets: &Sets) -> Vec<Piece<'_>> {
    let states = sets.n() * sets.s();
    let ones: usize = sets.bits().iter().map(|word| word.count_ones() as usize).sum();
    let (listed, as_bits) = (2 * (states + ones), size_of_val(sets.bits()));
    if listed >= as_bits {
        let write = |out: &mut dyn Write| sets.bits().iter().try_for_each(|word| out.write_all(&word.to_le_bytes()));
        let shape = vec![sets.n(), sets.s(), sets.h().div_ceil(64)];
        return vec![Piece { name: BITS.into(), dtype: Dtype::U64, shape, bytes: as_bits, write: Box::new(write) }];
    }
    let each = || (0..sets.n()).flat_map(|n| sets.states(n));
    let counts = move |out: &mut dyn Write| {
        // there are fewer than 2^16 causes
        each().try_for_each(|state| out.write_all(&(state.count() as u16).to_le_bytes()))
    };
    let causes = move |out: &mut dyn Write| {
        let mut causes = each().flat_map(|state| state.active());
        causes.try_for_each(|cause| out.write_all(&(cause as u16).to_le_bytes()))
    };
    let piece = |name: &str, length: usize, write| Piece {
        name: name.into(),
        dtype: Dtype::U16,
        shape: vec![length],
        bytes: 2 * length,
        write,
    };
    vec![piece(COUNTS, states, Box::new(counts)), piece(CAUSES, ones, Box::new(causes))]
}

/// The sets in a file.
pub(super) fn unpacked(file: &SafeTensors<'_>, h: usize, s: usize) -> Result<Sets, String> {
    let bits = match file.tensor(BITS) {
        Ok(view) => {
            let (words, _) = view.data().as_chunks::<8>();
            words.iter().map(|word| u64::from_le_bytes(*word)).collect()
        }
        Err(_) => listed(file, h)?,
    };
    Sets::from_bits(h, s, bits).map_err(|error| error.to_string())
}

fn listed(file: &SafeTensors<'_>, h: usize) -> Result<Vec<u64>, String> {
    let find = |name: &str| file.tensor(name).map_err(|_| format!("there is no tensor `{name}`"));
    let (counts, causes) = (find(COUNTS)?, find(CAUSES)?);
    let (counts, _) = counts.data().as_chunks::<2>();
    let (causes, _) = causes.data().as_chunks::<2>();
    let words = h.div_ceil(64);
    let mut bits = vec![0; counts.len().checked_mul(words).ok_or("its sets are too large")?];
    let mut causes = causes.iter().map(|cause| usize::from(u16::from_le_bytes(*cause)));
    for (state, count) in bits.chunks_exact_mut(words.max(1)).zip(counts) {
        for _ in 0..u16::from_le_bytes(*count) {
            let cause = causes.next().filter(|cause| *cause < h).ok_or("its sets of states do not add up")?;
            state[cause / 64] |= 1 << (cause % 64);
        }
    }
    Ok(bits)
}
