//! The directories of a TIFF file and their entries, as slices of the file.

use super::super::fault::{Fault, part};
use super::super::sample_type::ByteOrder;

/// The numbers of tags.
pub(super) mod tag {
    pub(crate) const NEW_SUBFILE_TYPE: u16 = 254;
    pub(crate) const IMAGE_WIDTH: u16 = 256;
    pub(crate) const IMAGE_LENGTH: u16 = 257;
    pub(crate) const BITS_PER_SAMPLE: u16 = 258;
    pub(crate) const COMPRESSION: u16 = 259;
    pub(crate) const PHOTOMETRIC: u16 = 262;
    pub(crate) const FILL_ORDER: u16 = 266;
    pub(crate) const IMAGE_DESCRIPTION: u16 = 270;
    pub(crate) const STRIP_OFFSETS: u16 = 273;
    pub(crate) const SAMPLES_PER_PIXEL: u16 = 277;
    pub(crate) const ROWS_PER_STRIP: u16 = 278;
    pub(crate) const STRIP_BYTE_COUNTS: u16 = 279;
    pub(crate) const X_RESOLUTION: u16 = 282;
    pub(crate) const Y_RESOLUTION: u16 = 283;
    pub(crate) const PLANAR_CONFIGURATION: u16 = 284;
    pub(crate) const RESOLUTION_UNIT: u16 = 296;
    pub(crate) const SOFTWARE: u16 = 305;
    pub(crate) const PREDICTOR: u16 = 317;
    pub(crate) const COLOR_MAP: u16 = 320;
    pub(crate) const TILE_WIDTH: u16 = 322;
    pub(crate) const TILE_LENGTH: u16 = 323;
    pub(crate) const TILE_OFFSETS: u16 = 324;
    pub(crate) const TILE_BYTE_COUNTS: u16 = 325;
    pub(crate) const EXTRA_SAMPLES: u16 = 338;
    pub(crate) const SAMPLE_FORMAT: u16 = 339;
    pub(crate) const ICC_PROFILE: u16 = 34_675;
    /// Ours, in the range that is free for anyone, where a description is not free text.
    pub(crate) const EFMCA_NOTES: u16 = 65_111;
}

/// The bytes of a TIFF file, and how its numbers are written.
pub(super) struct File<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) order: ByteOrder,
    big: bool,
}

impl<'a> File<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Result<Self, Fault> {
        let order = if bytes.starts_with(b"MM") { ByteOrder::Big } else { ByteOrder::Little };
        let mut file = Self { bytes, order, big: false };
        let version = file.number(2, 2).ok_or_else(|| Fault::damaged("it ends within its header"))?;
        file.big = version == 43;
        if file.big && file.number(4, 2) != Some(8) {
            return Err(Fault::damaged("its header is not that of a BigTIFF file"));
        }
        Ok(file)
    }

    /// The whole number of `width` bytes at `offset`.
    pub(super) fn number(&self, offset: u64, width: u64) -> Option<u64> {
        part(self.bytes, offset, width).map(|bytes| whole_number(bytes, self.order))
    }

    /// All directories, one for each page.
    pub(super) fn directories(&self) -> Result<Vec<Directory<'a>>, Fault> {
        let cut = |number: usize| Fault::damaged(format!("it ends within the directory of page {}", number + 1));
        let (at, width) = if self.big { (8, 8) } else { (4, 4) };
        let mut offset = self.number(at, width).ok_or_else(|| cut(0))?;
        let mut seen = std::collections::BTreeSet::new();
        let mut directories = Vec::new();
        while offset != 0 {
            let number = directories.len();
            if !seen.insert(offset) {
                return Err(Fault::damaged(format!("page {} has the directory of an earlier page", number + 1)));
            }
            let (directory, next) = self.directory(offset).ok_or_else(|| cut(number))?;
            directories.push(directory);
            offset = next;
        }
        if directories.is_empty() {
            return Err(Fault::damaged("it has no page"));
        }
        Ok(directories)
    }

    /// The directory at `offset`, and where the next one is.
    fn directory(&self, offset: u64) -> Option<(Directory<'a>, u64)> {
        // The bytes of the number of entries, of an entry, of a count or offset.
        let (head, entry_width, wide) = if self.big { (8, 20, 8) } else { (2, 12, 4) };
        let count = self.number(offset, head)?;
        let start = offset.checked_add(head)?;
        let table = part(self.bytes, start, count.checked_mul(entry_width)?)?;
        let mut entries = Vec::new();
        for bytes in table.chunks_exact(entry_width as usize) {
            let number = |from: usize, width: usize| whole_number(&bytes[from..from + width], self.order);
            let wide = wide as usize;
            let (tag, kind, count) = (number(0, 2) as u16, number(2, 2) as u16, number(4, wide));
            // Entries of unknown types or beyond the end of the file are as good as missing.
            let length = kind_width(kind).and_then(|width| count.checked_mul(width));
            let value = &bytes[4 + wide..];
            let value = length.and_then(|length| match length <= value.len() as u64 {
                true => part(value, 0, length),
                false => part(self.bytes, number(4 + wide, wide), length),
            });
            if let Some(bytes) = value {
                entries.push(Entry { tag, kind, bytes });
            }
        }
        // Some writers leave the end of the chain out at the end of the file.
        let next = start.checked_add(table.len() as u64).and_then(|at| self.number(at, wide)).unwrap_or(0);
        // The bytes of the table live as long as the file.
        Some((Directory { entries, order: self.order }, next))
    }
}

/// One entry of a directory.
struct Entry<'a> {
    tag: u16,
    kind: u16,
    bytes: &'a [u8],
}

/// The description of a page.
pub(super) struct Directory<'a> {
    entries: Vec<Entry<'a>>,
    order: ByteOrder,
}

impl<'a> Directory<'a> {
    fn entry(&self, tag: u16) -> Option<&Entry<'a>> {
        self.entries.iter().find(|entry| entry.tag == tag)
    }

    /// All whole numbers under a tag.
    pub(super) fn numbers(&self, tag: u16) -> Option<Vec<u64>> {
        let entry = self.entry(tag).filter(|entry| matches!(entry.kind, 1 | 3 | 4 | 13 | 16 | 18))?;
        let width = kind_width(entry.kind)? as usize;
        Some(entry.bytes.chunks_exact(width).map(|bytes| whole_number(bytes, self.order)).collect())
    }

    /// The first whole number under a tag.
    pub(super) fn number(&self, tag: u16) -> Option<u64> {
        let entry = self.entry(tag).filter(|entry| matches!(entry.kind, 1 | 3 | 4 | 13 | 16 | 18))?;
        entry.bytes.get(..kind_width(entry.kind)? as usize).map(|bytes| whole_number(bytes, self.order))
    }

    /// The text under a tag, up to the first NUL.
    pub(super) fn text(&self, tag: u16) -> Option<String> {
        let bytes = self.entry(tag).filter(|entry| matches!(entry.kind, 1 | 2 | 7))?.bytes;
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        // ASCII is demanded, UTF-8 is common, and Latin-1 is what is left.
        let text = match std::str::from_utf8(text) {
            Ok(text) => text.to_owned(),
            Err(_) => text.iter().map(|byte| char::from(*byte)).collect(),
        };
        (!text.is_empty()).then_some(text)
    }

    /// The bytes under a tag.
    pub(super) fn bytes(&self, tag: u16) -> Option<&'a [u8]> {
        self.entry(tag).map(|entry| entry.bytes)
    }

    /// The first fraction under a tag, if it is finite and positive.
    pub(super) fn rational(&self, tag: u16) -> Option<f64> {
        let bytes = self.entry(tag).filter(|entry| entry.kind == 5)?.bytes.get(..8)?;
        let (numerator, denominator) = (whole_number(&bytes[..4], self.order), whole_number(&bytes[4..], self.order));
        let value = numerator as f64 / denominator as f64;
        (value.is_finite() && value > 0.0).then_some(value)
    }
}

/// The bytes of one value of a type of entries.
fn kind_width(kind: u16) -> Option<u64> {
    match kind {
        1 | 2 | 6 | 7 => Some(1),
        3 | 8 => Some(2),
        4 | 9 | 11 | 13 => Some(4),
        5 | 10 | 12 | 16 | 17 | 18 => Some(8),
        _ => None,
    }
}

/// The whole number in up to eight bytes.
fn whole_number(bytes: &[u8], order: ByteOrder) -> u64 {
    let add = |whole: u64, byte: &u8| whole << 8 | u64::from(*byte);
    match order {
        ByteOrder::Big => bytes.iter().fold(0, add),
        ByteOrder::Little => bytes.iter().rev().fold(0, add),
    }
}
