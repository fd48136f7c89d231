//! Unpacking strips and tiles.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::ZlibDecoder;
use weezl::BitOrder;
use weezl::decode::Configuration;

use super::super::fault::{CONVERT, Fault, plausible};

/// How the bytes of a chunk are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Lzw,
    Deflate,
    PackBits,
}

impl Compression {
    /// The compression with this number.
    pub(super) fn of(number: u64) -> Result<Self, Fault> {
        let name = match number {
            1 => return Ok(Self::None),
            5 => return Ok(Self::Lzw),
            8 | 32_946 => return Ok(Self::Deflate),
            32_773 => return Ok(Self::PackBits),
            2..=4 => "as a fax",
            6 | 7 => "with JPEG, which has changed its noise",
            34_712 | 33_003 | 33_005 => "with JPEG 2000",
            34_887 => "with LERC",
            34_925 => "with LZMA",
            50_000 => "with Zstandard",
            50_001 => "with WebP",
            _ => "in a way that is not known",
        };
        Err(Fault::new(format!("its pixels are packed {name} (compression {number})"), CONVERT))
    }

    /// Refuses a header that promises `bytes` of pixels which a file of `length` bytes cannot have.
    pub(super) fn check_promise(self, bytes: u64, length: u64) -> Result<(), Fault> {
        match self {
            Self::None if bytes > length => {
                Err(Fault::damaged(format!("its pixels need {bytes} bytes, and the whole file has {length}")))
            }
            Self::None => Ok(()),
            _ => plausible(bytes, length),
        }
    }

    /// The first `needed` bytes of what is packed in `packed`.
    pub(super) fn unpack(self, packed: &[u8], needed: usize) -> Result<Cow<'_, [u8]>, Fault> {
        let short = |found: usize| Fault::damaged(format!("it unpacks to {found} bytes, and {needed} are needed"));
        if self == Self::None {
            return packed.get(..needed).map(Cow::Borrowed).ok_or_else(|| short(packed.len()));
        }
        plausible(needed as u64, packed.len() as u64)?;
        let unpacked = match self {
            Self::Deflate => {
                let mut unpacked = Vec::with_capacity(needed);
                // What was unpacked before an error may be enough: the checksum at the end is often wrong.
                let result = ZlibDecoder::new(packed).take(needed as u64).read_to_end(&mut unpacked);
                result.map_err(|error| Fault::damaged(format!("it cannot be unpacked ({error})")))?;
                unpacked
            }
            Self::Lzw => lzw(packed, needed)?,
            Self::None | Self::PackBits => pack_bits(packed, needed),
        };
        if unpacked.len() < needed {
            return Err(short(unpacked.len()));
        }
        Ok(Cow::Owned(unpacked))
    }
}

fn lzw(packed: &[u8], needed: usize) -> Result<Vec<u8>, Fault> {
    // Files from before TIFF 6 have the bits in reverse, and begin with 0 and an odd byte.
    if packed.len() >= 2 && packed[0] == 0 && packed[1] & 1 == 1 {
        return Err(Fault::new("it is packed with an old kind of LZW", CONVERT));
    }
    let mut decoder = Configuration::with_tiff_size_switch(BitOrder::Msb, 8).with_yield_on_full_buffer(true).build();
    let mut unpacked = vec![0; needed];
    let (mut from, mut to) = (0, 0);
    while to < needed && from <= packed.len() {
        let result = decoder.decode_bytes(&packed[from..], &mut unpacked[to..]);
        from += result.consumed_in;
        to += result.consumed_out;
        match result.status {
            Ok(weezl::LzwStatus::Ok) if result.consumed_in + result.consumed_out > 0 => {}
            Ok(_) => break,
            Err(error) => return Err(Fault::damaged(format!("it cannot be unpacked ({error})"))),
        }
    }
    unpacked.truncate(to);
    Ok(unpacked)
}

/// Runs of bytes: 0 to 127 is followed by one more byte than that, 129 to 255 by a byte that is
/// repeated 257 minus that often.
fn pack_bits(packed: &[u8], needed: usize) -> Vec<u8> {
    let mut unpacked = Vec::with_capacity(needed);
    let mut rest = packed;
    while let [head, after @ ..] = rest {
        if unpacked.len() >= needed {
            break;
        }
        rest = match *head {
            count @ 0..=127 => {
                let count = (usize::from(count) + 1).min(after.len());
                unpacked.extend(&after[..count]);
                &after[count..]
            }
            128 => after,
            count => {
                let [byte, after @ ..] = after else { break };
                unpacked.extend(std::iter::repeat_n(*byte, 257 - usize::from(count)));
                after
            }
        };
    }
    unpacked.truncate(needed);
    unpacked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_standard_is_unpacked() {
        let packed = [0xfe, 0xaa, 0x02, 0x80, 0x00, 0x2a, 0xfd, 0xaa, 0x03, 0x80, 0x00, 0x2a, 0x22, 0xf7, 0xaa];
        let expected = [
            0xaa, 0xaa, 0xaa, 0x80, 0x00, 0x2a, 0xaa, 0xaa, 0xaa, 0xaa, 0x80, 0x00, 0x2a, 0x22, 0xaa, 0xaa, 0xaa, 0xaa,
            0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa,
        ];
        assert_eq!(pack_bits(&packed, 24), expected);
    }

    #[test]
    fn lzw_is_unpacked_at_any_length() {
        let bytes: Vec<u8> = (0..20_000_u32).map(|n| (n * n / 7) as u8).collect();
        let packed = weezl::encode::Encoder::with_tiff_size_switch(BitOrder::Msb, 8).encode(&bytes).unwrap();
        for needed in [1, 255, 4097, 20_000] {
            assert_eq!(lzw(&packed, needed).unwrap(), bytes[..needed]);
        }
        assert!(Compression::Lzw.unpack(&packed[..100], 20_000).is_err());
    }
}
