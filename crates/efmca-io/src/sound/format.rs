//! The format chunk of a WAV file: how its bytes become samples.

use super::chunks::{CONVERT, Fault};

/// The content of the format chunk, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) channels: usize,
    pub(super) rate: u32,
    /// The bytes of one sample of one channel.
    pub(super) width: usize,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integer,
    Float,
}

/// The last 14 bytes of the long name of a format, whose first two are the short one.
const LONG_NAME: [u8; 14] = [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71];

/// The format tag that says that the format stands further behind.
const EXTENSIBLE: u16 = 0xfffe;

impl Format {
    pub(super) fn parse(chunk: &[u8]) -> Result<Self, Fault> {
        let short = || Fault::damaged(format!("its fmt chunk has only {} bytes", chunk.len()));
        let number = |at: usize| {
            let bytes = chunk.get(at..).and_then(|rest| rest.first_chunk::<2>());
            bytes.map(|bytes| u16::from_le_bytes(*bytes)).ok_or_else(short)
        };
        let (channels, block, bits) = (number(2)?, number(12)?, number(14)?);
        let rate = u32::from(number(4)?) | u32::from(number(6)?) << 16;
        let mut tag = number(0)?;
        if tag == EXTENSIBLE {
            // The number of bits that matter, which also stands here, is not needed: they are the
            // upper ones, and the others are 0.
            tag = number(24)?;
            let long = chunk.get(26..40).ok_or_else(short)?;
            if long != LONG_NAME {
                return Err(Fault::new("its samples are of a kind that is not known", CONVERT));
            }
        }
        if channels == 0 {
            return Err(Fault::damaged("it has 0 channels"));
        }
        if rate == 0 {
            return Err(Fault::damaged("it has 0 samples in a second"));
        }
        let kind = match tag {
            1 => Kind::Integer,
            3 => Kind::Float,
            _ => return Err(Fault::new(format!("its samples are compressed ({})", codec(tag)), CONVERT)),
        };
        let width = block / channels;
        let known = match kind {
            Kind::Integer => matches!(bits, 8 | 16 | 24 | 32),
            Kind::Float => matches!(bits, 32 | 64),
        };
        if !known || bits / 8 != width || block % channels != 0 {
            let kind = if kind == Kind::Integer { "integers" } else { "floating point numbers" };
            return Err(Fault::new(
                format!("its samples are {kind} of {bits} bits, with {block} bytes for {channels} channel(s)"),
                CONVERT,
            ));
        }
        Ok(Self { channels: usize::from(channels), rate, width: usize::from(width), kind })
    }

    /// The bytes of one sample of all channels.
    pub(super) fn block(&self) -> usize {
        self.channels * self.width
    }

    /// The mean over the channels of one block.
    pub(super) fn mean(&self, block: &[u8]) -> f64 {
        let sum: f64 = block.chunks_exact(self.width).map(|sample| self.value(sample)).sum();
        sum / self.channels as f64
    }

    fn value(&self, sample: &[u8]) -> f64 {
        const FULL: f64 = 2_147_483_648.0;
        match (self.kind, sample) {
            // Bytes are the only integers without a sign.
            (Kind::Integer, &[a]) => (f64::from(a) - 128.0) / 128.0,
            (Kind::Integer, &[a, b]) => f64::from(i16::from_le_bytes([a, b])) / 32_768.0,
            (Kind::Integer, &[a, b, c]) => f64::from(i32::from_le_bytes([0, a, b, c])) / FULL,
            (Kind::Integer, &[a, b, c, d]) => f64::from(i32::from_le_bytes([a, b, c, d])) / FULL,
            (Kind::Float, &[a, b, c, d]) => f64::from(f32::from_le_bytes([a, b, c, d])),
            (Kind::Float, &[a, b, c, d, e, f, g, h]) => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
            // `parse` lets no other width through.
            _ => f64::NAN,
        }
    }
}

/// The name of a format that we do not read.
fn codec(tag: u16) -> String {
    match tag {
        0x02 | 0x11 => "ADPCM".into(),
        0x06 => "A-law".into(),
        0x07 => "mu-law".into(),
        0x31 => "GSM".into(),
        0x50 | 0x55 => "MPEG".into(),
        _ => format!("format {tag:#06x}"),
    }
}
