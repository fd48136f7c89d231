//! States as sets of bits, 64 causes in a word.

/// Words for `h` causes.
pub(crate) fn words(h: usize) -> usize {
    h.div_ceil(64)
}

#[inline(always)]
pub(crate) fn has(state: &[u64], h: usize) -> bool {
    state[h / 64] >> (h % 64) & 1 == 1
}

#[inline(always)]
pub(crate) fn flip(state: &mut [u64], h: usize) {
    state[h / 64] ^= 1 << (h % 64);
}

/// Copies a state: one or two words without a call.
#[inline(always)]
pub(crate) fn copy(from: &[u64], to: &mut [u64]) {
    match (from, &mut *to) {
        ([a], [to]) => *to = *a,
        ([a, b], [to_a, to_b]) => (*to_a, *to_b) = (*a, *b),
        _ => to.copy_from_slice(from),
    }
}

/// The number of active causes.
#[inline(always)]
pub(crate) fn count(state: &[u64]) -> usize {
    state.iter().map(|word| word.count_ones() as usize).sum()
}

/// Calls `see` with each active cause, in ascending order.
#[inline(always)]
pub(crate) fn each(state: &[u64], mut see: impl FnMut(usize)) {
    for (index, word) in state.iter().enumerate() {
        let mut rest = *word;
        while rest != 0 {
            see(index * 64 + rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }
}

/// A number that tells states apart: two different ones share it with a probability of about $2^{-64}$.
#[inline(always)]
pub(crate) fn hash(state: &[u64]) -> u64 {
    let mut hash = 0x9e37_79b9_7f4a_7c15u64;
    for word in state {
        hash = (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash ^= hash >> 32;
    }
    hash
}

/// How far two states are apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Distance {
    None,
    /// By this cause.
    One(usize),
    More,
}

/// How far two states are apart.
#[inline(always)]
pub(crate) fn distance(a: &[u64], b: &[u64]) -> Distance {
    let mut found = Distance::None;
    for (index, (a, b)) in a.iter().zip(b).enumerate() {
        match (a ^ b, &found) {
            (0, _) => {}
            (bit, Distance::None) if bit.is_power_of_two() => {
                found = Distance::One(index * 64 + bit.trailing_zeros() as usize);
            }
            _ => return Distance::More,
        }
    }
    found
}

/// The code of a state that is neither another one nor one of its flips.
pub(crate) const OTHER: u16 = u16::MAX;

/// A state as seen from `first`, which has `h` causes: number $H$ for `first` itself, the cause for one of its flips, and
/// [`OTHER`] for all the rest.
#[inline(always)]
pub(crate) fn code(h: usize, first: &[u64], state: &[u64]) -> u16 {
    match distance(first, state) {
        Distance::None => h as u16,
        Distance::One(cause) => cause as u16,
        Distance::More => OTHER,
    }
}

/// Turns 64 rows of 64 bits into columns.
pub(crate) fn transpose(rows: &mut [u64; 64]) {
    let mut width = 32;
    let mut mask = 0x0000_0000_ffff_ffffu64;
    while width > 0 {
        let mut row = 0;
        while row < 64 {
            for low in row..row + width {
                let swap = ((rows[low] >> width) ^ rows[low + width]) & mask;
                rows[low] ^= swap << width;
                rows[low + width] ^= swap;
            }
            row += 2 * width;
        }
        width /= 2;
        mask ^= mask << width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_columns() {
        let mut seed = 1u64;
        let rows: [u64; 64] = std::array::from_fn(|_| {
            seed = hash(&[seed]);
            seed
        });
        let mut columns = rows;
        transpose(&mut columns);
        for (r, row) in rows.iter().enumerate() {
            for (c, column) in columns.iter().enumerate() {
                assert_eq!(row >> c & 1, column >> r & 1, "{r} {c}");
            }
        }
    }

    #[test]
    fn codes_name_the_state_and_its_flips() {
        let first = [5u64, 1 << 63];
        let of = |state: [u64; 2]| code(128, &first, &state);
        assert_eq!([of(first), of([4, 1 << 63]), of([5, 0]), of([5, 3 << 62])], [128, 0, 127, 126]);
        assert_eq!([of([4, 0]), of([2, 1 << 63])], [OTHER; 2]);
    }

    #[test]
    fn causes_come_in_order() {
        let mut state = [0u64; 3];
        [130, 0, 63, 64].iter().for_each(|h| flip(&mut state, *h));
        let mut found = Vec::new();
        each(&state, |h| found.push(h));
        assert_eq!(found, [0, 63, 64, 130]);
        assert!(count(&state) == 4 && has(&state, 64) && !has(&state, 65));
    }
}
