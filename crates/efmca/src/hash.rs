//! Numbers that tell data apart, and numbers that look random but are always the same for the same place.
//!
//! They tell apart what differs by mistake, not on purpose.

/// A hash of `words` that begins with `first`.
pub(crate) fn of_words(first: u64, words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(first, mixed)
}

/// A hash of values in which all missing ones are the same.
pub(crate) fn of_values(first: u64, values: &[f64]) -> u64 {
    of_words(first, values.iter().map(|value| bits(*value)))
}

/// A hash that two of many rows share with a probability of about $2^{-128}$.
pub(crate) fn wide(values: impl Iterator<Item = f64> + Clone) -> (u64, u64) {
    (
        of_words(0, values.clone().map(bits)),
        of_words(0x51_7cc1_b727_220a, values.map(|value| bits(value).rotate_left(32))),
    )
}

/// The bits of a value, the same for all that are missing.
fn bits(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }
}

/// One step of the hash: a product with an odd number spreads every bit upwards, the rotation brings them down again.
fn mixed(hash: u64, bits: u64) -> u64 {
    (hash ^ bits).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_add(bits)
}

/// The random number of a place: SplitMix64.
pub(crate) fn of_place(seed: u64, index: u64) -> u64 {
    let mut z = seed
        .wrapping_mul(0xd134_2543_de82_ef95)
        .wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
