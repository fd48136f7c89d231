//! The types of numbers that image files are made of.

use std::cell::Cell;
use std::fmt;
use std::str::FromStr;

use super::fault::Fault;

/// The type of the numbers in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SampleType {
    /// False and true (NPY), as 0 and 1.
    Bool,
    /// 1 bit (PNG, TIFF).
    U1,
    /// 2 bits (PNG, TIFF).
    U2,
    /// 4 bits (PNG, TIFF).
    U4,
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits. Numbers above 2⁵³ are rounded when they are read.
    U64,
    /// Signed, 8 bits.
    I8,
    /// Signed, 16 bits.
    I16,
    /// Signed, 32 bits.
    I32,
    /// Signed, 64 bits. Numbers beyond ±2⁵³ are rounded when they are read.
    I64,
    /// Half precision; it is read but not written.
    F16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

/// All types, with the names that [`SampleType::from_str`] knows.
const NAMES: [(SampleType, &str); 15] = [
    (SampleType::Bool, "bool"),
    (SampleType::U1, "u1"),
    (SampleType::U2, "u2"),
    (SampleType::U4, "u4"),
    (SampleType::U8, "u8"),
    (SampleType::U16, "u16"),
    (SampleType::U32, "u32"),
    (SampleType::U64, "u64"),
    (SampleType::I8, "i8"),
    (SampleType::I16, "i16"),
    (SampleType::I32, "i32"),
    (SampleType::I64, "i64"),
    (SampleType::F16, "f16"),
    (SampleType::F32, "f32"),
    (SampleType::F64, "f64"),
];

impl SampleType {
    /// The name, as `u16` or `f32`.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(sample, _)| *sample == self).map_or("?", |(_, name)| name)
    }

    /// Whether the numbers have a fraction.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// The smallest and the largest finite value that can be stored.
    ///
    /// For 64 bits the largest is the largest double that does not exceed the true limit.
    pub fn range(self) -> (f64, f64) {
        match self {
            Self::Bool | Self::U1 => (0.0, 1.0),
            Self::U2 => (0.0, 3.0),
            Self::U4 => (0.0, 15.0),
            Self::U8 => (0.0, f64::from(u8::MAX)),
            Self::U16 => (0.0, f64::from(u16::MAX)),
            Self::U32 => (0.0, f64::from(u32::MAX)),
            Self::U64 => (0.0, 18_446_744_073_709_549_568.0),
            Self::I8 => (f64::from(i8::MIN), f64::from(i8::MAX)),
            Self::I16 => (f64::from(i16::MIN), f64::from(i16::MAX)),
            Self::I32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
            Self::I64 => (i64::MIN as f64, 9_223_372_036_854_774_784.0),
            Self::F16 => (-65504.0, 65504.0),
            Self::F32 => (f64::from(f32::MIN), f64::from(f32::MAX)),
            Self::F64 => (f64::MIN, f64::MAX),
        }
    }

    /// The bits of a number.
    pub fn bits(self) -> usize {
        match self {
            Self::U1 => 1,
            Self::U2 => 2,
            Self::U4 => 4,
            Self::Bool | Self::U8 | Self::I8 => 8,
            Self::U16 | Self::I16 | Self::F16 => 16,
            Self::U32 | Self::I32 | Self::F32 => 32,
            Self::U64 | Self::I64 | Self::F64 => 64,
        }
    }

    /// The bytes of a number, and 1 where several share a byte.
    pub(crate) fn bytes(self) -> usize {
        self.bits().div_ceil(8)
    }
}

impl fmt::Display for SampleType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for SampleType {
    type Err = crate::IoError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wanted = text.trim().to_ascii_lowercase();
        NAMES.iter().find(|(_, name)| *name == wanted).map(|(sample, _)| *sample).ok_or_else(|| {
            crate::IoError::Setting {
                what: "the type of the numbers",
                value: format!("`{text}`"),
                hint: "use u8, u16, u32, u64, i8, i16, i32, i64, f32 or f64 (and bool, u1, u2, u4 where the format has them)",
            }
        })
    }
}

/// Which byte of a number comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

/// Appends the numbers in `bytes` to `values`; a part of a number at the end is left out. Returns
/// how many had more digits than a double.
pub(crate) fn decode(sample: SampleType, order: ByteOrder, bytes: &[u8], values: &mut Vec<f64>) -> usize {
    let inexact = Cell::new(0);
    let count = |exact: bool| inexact.set(inexact.get() + usize::from(!exact));
    macro_rules! numbers {
        ($number:ty, $convert:expr) => {{
            let (chunks, _) = bytes.as_chunks::<{ size_of::<$number>() }>();
            match order {
                ByteOrder::Little => values.extend(chunks.iter().map(|at| $convert(<$number>::from_le_bytes(*at)))),
                ByteOrder::Big => values.extend(chunks.iter().map(|at| $convert(<$number>::from_be_bytes(*at)))),
            }
        }};
    }
    let unsigned = |number: u64| {
        count(u128::from(number) == number as f64 as u128);
        number as f64
    };
    let signed = |number: i64| {
        count(i128::from(number) == number as f64 as i128);
        number as f64
    };
    match sample {
        SampleType::Bool => values.extend(bytes.iter().map(|byte| f64::from(u8::from(*byte != 0)))),
        SampleType::U1 | SampleType::U2 | SampleType::U4 | SampleType::U8 => numbers!(u8, f64::from),
        SampleType::I8 => numbers!(i8, f64::from),
        SampleType::U16 => numbers!(u16, f64::from),
        SampleType::I16 => numbers!(i16, f64::from),
        SampleType::U32 => numbers!(u32, f64::from),
        SampleType::I32 => numbers!(i32, f64::from),
        SampleType::U64 => numbers!(u64, unsigned),
        SampleType::I64 => numbers!(i64, signed),
        SampleType::F16 => numbers!(u16, from_half),
        SampleType::F32 => numbers!(f32, f64::from),
        SampleType::F64 => numbers!(f64, f64::from),
    }
    inexact.get()
}

/// The bytes of numbers that are already whole and in the range of `sample`; anything else is cut
/// off as `as` does it.
pub(crate) fn encode(
    sample: SampleType,
    order: ByteOrder,
    values: impl Iterator<Item = f64>,
    bytes: &mut Vec<u8>,
) -> Result<(), Fault> {
    macro_rules! numbers {
        ($number:ty) => {
            match order {
                ByteOrder::Little => values.for_each(|value| bytes.extend((value as $number).to_le_bytes())),
                ByteOrder::Big => values.for_each(|value| bytes.extend((value as $number).to_be_bytes())),
            }
        };
    }
    bytes.reserve(values.size_hint().0.saturating_mul(sample.bytes()));
    match sample {
        SampleType::Bool | SampleType::U1 | SampleType::U2 | SampleType::U4 | SampleType::U8 => numbers!(u8),
        SampleType::I8 => numbers!(i8),
        SampleType::U16 => numbers!(u16),
        SampleType::I16 => numbers!(i16),
        SampleType::U32 => numbers!(u32),
        SampleType::I32 => numbers!(i32),
        SampleType::U64 => numbers!(u64),
        SampleType::I64 => numbers!(i64),
        SampleType::F32 => numbers!(f32),
        SampleType::F64 => numbers!(f64),
        SampleType::F16 => return Err(Fault::new("numbers of half precision are read but not written", "use f32")),
    }
    Ok(())
}

/// A number of half precision from its bits.
fn from_half(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from((bits >> 10) & 0x1f);
    let fraction = f64::from(bits & 0x3ff) / 1024.0;
    sign * match exponent {
        0 => fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction) * 2f64.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_is_decoded() {
        let cases =
            [(0x3c00, 1.0), (0xc000, -2.0), (0x7bff, 65504.0), (0x0001, 2f64.powi(-24)), (0x3555, 0.333_251_953_125)];
        for (bits, value) in cases {
            assert_eq!(from_half(bits), value);
        }
        assert_eq!(from_half(0xfc00), f64::NEG_INFINITY);
        assert!(from_half(0x7e00).is_nan());
    }

    #[test]
    fn extreme_numbers_survive_both_byte_orders() {
        for (sample, _) in NAMES {
            if sample == SampleType::F16 {
                continue;
            }
            let (low, high) = sample.range();
            for order in [ByteOrder::Little, ByteOrder::Big] {
                let mut bytes = Vec::new();
                encode(sample, order, [low, 1.0, high].into_iter(), &mut bytes).unwrap();
                assert_eq!(bytes.len(), 3 * sample.bytes());
                let mut values = Vec::new();
                assert_eq!(decode(sample, order, &bytes, &mut values), 0);
                assert_eq!(values, [low, 1.0, high], "{sample}");
            }
        }
    }

    #[test]
    fn integers_that_a_double_cannot_hold_are_counted() {
        let mut values = Vec::new();
        let bytes: Vec<u8> = [u64::MAX, 1 << 53, (1 << 53) + 1].iter().flat_map(|n| n.to_be_bytes()).collect();
        assert_eq!(decode(SampleType::U64, ByteOrder::Big, &bytes, &mut values), 2);
    }

    #[test]
    fn names_are_read_back() {
        for (sample, name) in NAMES {
            assert_eq!(name.parse::<SampleType>().unwrap(), sample);
        }
        assert!("uint16".parse::<SampleType>().unwrap_err().to_string().contains("u16"));
    }
}
