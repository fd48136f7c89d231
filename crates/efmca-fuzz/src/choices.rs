//! Choices from bytes: the same bytes always choose the same, and where they end, zeros follow.

/// Bytes that are read one after the other.
#[derive(Debug, Clone)]
pub struct Choices<'a> {
    rest: &'a [u8],
}

impl<'a> Choices<'a> {
    /// Choices from `bytes`.
    pub fn new(bytes: &'a [u8]) -> Choices<'a> {
        Choices { rest: bytes }
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        self.bytes::<1>()[0]
    }

    /// The next `N` bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut found = [0; N];
        let (head, rest) = self.rest.split_at(N.min(self.rest.len()));
        found[..head.len()].copy_from_slice(head);
        self.rest = rest;
        found
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    /// One of several.
    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Any number of 64 bits: one that hurts, a small one, or any bits.
    pub fn number(&mut self) -> f64 {
        const HURT: [f64; 24] = [
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            f64::MIN_POSITIVE,
            5e-324,
            1e-308,
            1e-300,
            1e-16,
            1e-8,
            1.0 - f64::EPSILON / 2.0,
            1.0 + f64::EPSILON,
            1e8,
            1e15,
            9_007_199_254_740_993.0,
            1e100,
            1e139,
            1e154,
            1e300,
            f64::MAX,
        ];
        match self.byte() {
            kind @ 0..=47 => HURT[usize::from(kind) % HURT.len()],
            48..=111 => f64::from(self.byte()),
            112..=159 => f64::from(i16::from_le_bytes(self.bytes())) / 256.0,
            160..=191 => f64::from(f32::from_le_bytes(self.bytes())),
            _ => f64::from_le_bytes(self.bytes()),
        }
    }

    /// All that is left.
    pub fn rest(self) -> &'a [u8] {
        self.rest
    }
}
