//! Values as bytes, on their way from one rank to another. Bits stay as they are.

/// A value that can travel.
pub(crate) trait Encode: Sized {
    fn encode(&self, out: &mut Vec<u8>);

    /// Nothing if the bytes are not those of such a value.
    fn decode(from: &mut Decoder<'_>) -> Option<Self>;
}

/// Bytes that are read from the front.
pub(crate) struct Decoder<'a>(pub(crate) &'a [u8]);

impl<'a> Decoder<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }
}

/// The bytes of a value.
pub(crate) fn encoded(value: &impl Encode) -> Vec<u8> {
    let mut out = Vec::new();
    value.encode(&mut out);
    out
}

impl Encode for u64 {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn decode(from: &mut Decoder<'_>) -> Option<u64> {
        Some(u64::from_le_bytes(from.take(8)?.try_into().ok()?))
    }
}

impl Encode for usize {
    fn encode(&self, out: &mut Vec<u8>) {
        (*self as u64).encode(out);
    }

    fn decode(from: &mut Decoder<'_>) -> Option<usize> {
        usize::try_from(u64::decode(from)?).ok()
    }
}

impl Encode for bool {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn decode(from: &mut Decoder<'_>) -> Option<bool> {
        Some(from.take(1)? != [0])
    }
}

impl Encode for f64 {
    fn encode(&self, out: &mut Vec<u8>) {
        self.to_bits().encode(out);
    }

    fn decode(from: &mut Decoder<'_>) -> Option<f64> {
        Some(f64::from_bits(u64::decode(from)?))
    }
}

impl Encode for String {
    fn encode(&self, out: &mut Vec<u8>) {
        self.len().encode(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn decode(from: &mut Decoder<'_>) -> Option<String> {
        let length = usize::decode(from)?;
        Some(String::from_utf8_lossy(from.take(length)?).into_owned())
    }
}

impl<T: Encode> Encode for Option<T> {
    fn encode(&self, out: &mut Vec<u8>) {
        self.is_some().encode(out);
        self.iter().for_each(|value| value.encode(out));
    }

    fn decode(from: &mut Decoder<'_>) -> Option<Option<T>> {
        if bool::decode(from)? { Some(Some(T::decode(from)?)) } else { Some(None) }
    }
}

/// A value, or the words for what is wrong.
impl<T: Encode> Encode for Result<T, String> {
    fn encode(&self, out: &mut Vec<u8>) {
        self.is_ok().encode(out);
        match self {
            Ok(value) => value.encode(out),
            Err(words) => words.encode(out),
        }
    }

    fn decode(from: &mut Decoder<'_>) -> Option<Result<T, String>> {
        if bool::decode(from)? { Some(Ok(T::decode(from)?)) } else { Some(Err(String::decode(from)?)) }
    }
}

impl<T: Encode> Encode for Vec<T> {
    fn encode(&self, out: &mut Vec<u8>) {
        self.len().encode(out);
        out.reserve(self.len() * size_of::<T>());
        self.iter().for_each(|value| value.encode(out));
    }

    fn decode(from: &mut Decoder<'_>) -> Option<Vec<T>> {
        let length = usize::decode(from)?;
        // one byte for each at the least, so that no length can ask for more memory than there are bytes
        if length > from.0.len() {
            return None;
        }
        (0..length).map(|_| T::decode(from)).collect()
    }
}

impl<A: Encode, B: Encode> Encode for (A, B) {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
        self.1.encode(out);
    }

    fn decode(from: &mut Decoder<'_>) -> Option<(A, B)> {
        Some((A::decode(from)?, B::decode(from)?))
    }
}

impl<A: Encode, B: Encode, C: Encode> Encode for (A, B, C) {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
        self.1.encode(out);
        self.2.encode(out);
    }

    fn decode(from: &mut Decoder<'_>) -> Option<(A, B, C)> {
        Some((A::decode(from)?, B::decode(from)?, C::decode(from)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_arrive_with_all_their_bits_and_cut_bytes_are_refused() {
        let value = (vec![1.5, -0.0, f64::NAN], (Some("row".to_owned()), vec![true, false]), 7u64);
        let bytes = encoded(&value);
        let found: (Vec<f64>, (Option<String>, Vec<bool>), u64) = Encode::decode(&mut Decoder(&bytes)).unwrap();
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!((bits(&found.0), found.1, found.2), (bits(&value.0), value.1, 7));
        for length in 0..bytes.len() {
            let cut = <(Vec<f64>, (Option<String>, Vec<bool>), u64)>::decode(&mut Decoder(&bytes[..length]));
            assert!(cut.is_none(), "{length}");
        }
    }
}
