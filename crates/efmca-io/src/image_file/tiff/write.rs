//! Making TIFF files: uncompressed, one strip for each page.

use super::super::content::Content;
use super::super::fault::Fault;
use super::super::metadata::{Colour, Metadata, Resolution, ResolutionUnit};
use super::super::notes;
use super::super::sample_type::{ByteOrder, SampleType, encode};
use super::directory::tag;

/// Room for directories and text, beyond which a file of the old kind could not count its bytes.
const LARGEST_CLASSIC: u64 = u32::MAX as u64 - (64 << 20);

/// The bytes of a TIFF file.
pub(crate) fn write(content: &Content<'_>, remarks: &mut Vec<String>) -> Result<Vec<u8>, Fault> {
    let bytes = content.stored.len() as u64 * content.sample.bytes() as u64;
    write_as(content, bytes > LARGEST_CLASSIC, remarks)
}

/// As [`write`], BigTIFF or not.
fn write_as(content: &Content<'_>, big: bool, remarks: &mut Vec<String>) -> Result<Vec<u8>, Fault> {
    let (pages, rows, columns, channels) = content.stored.dim();
    let page_bytes = (rows * columns * channels * content.sample.bytes()) as u64;
    let mut writer = Writer { bytes: Vec::new(), big };
    writer.header();
    let text = Texts::of(content, remarks);
    let mut link = writer.bytes.len() - writer.wide();
    writer.align();
    let start = writer.bytes.len() as u64;
    // All pixels stand before all directories: programs that know stacks of ImageJ find the pages by
    // counting bytes.
    encode(content.sample, ByteOrder::Little, content.stored.iter().copied(), &mut writer.bytes)?;
    for number in 0..pages {
        let offset = start + number as u64 * page_bytes;
        let mut entries = layout(content, rows, columns, channels, offset, page_bytes);
        if number == 0 {
            entries.extend(text.entries());
        }
        if let Some(like) = content.like {
            entries.extend(carried(like, content));
        }
        link = writer.directory(entries, link);
    }
    Ok(writer.bytes)
}

/// The value of an entry.
enum Value {
    Shorts(Vec<u16>),
    Long(u64),
    Text(String),
    Bytes(Vec<u8>),
    Rational(u32, u32),
}

/// A directory's description of the pixels.
fn layout(
    content: &Content<'_>,
    rows: usize,
    columns: usize,
    channels: usize,
    offset: u64,
    length: u64,
) -> Vec<(u16, Value)> {
    let white_is_zero = content.like.is_some_and(|like| like.white_is_zero);
    let photometric = match content.colour {
        Colour::Rgb => 2,
        _ if white_is_zero => 0,
        _ => 1,
    };
    let kind = match content.sample {
        SampleType::I8 | SampleType::I16 | SampleType::I32 | SampleType::I64 => 2,
        SampleType::F16 | SampleType::F32 | SampleType::F64 => 3,
        _ => 1,
    };
    let bits = content.sample.bits() as u16;
    let mut entries = vec![
        (tag::NEW_SUBFILE_TYPE, Value::Long(0)),
        (tag::IMAGE_WIDTH, Value::Long(columns as u64)),
        (tag::IMAGE_LENGTH, Value::Long(rows as u64)),
        (tag::BITS_PER_SAMPLE, Value::Shorts(vec![bits; channels])),
        (tag::COMPRESSION, Value::Shorts(vec![1])),
        (tag::PHOTOMETRIC, Value::Shorts(vec![photometric])),
        (tag::STRIP_OFFSETS, Value::Long(offset)),
        (tag::SAMPLES_PER_PIXEL, Value::Shorts(vec![channels as u16])),
        (tag::ROWS_PER_STRIP, Value::Long(rows as u64)),
        (tag::STRIP_BYTE_COUNTS, Value::Long(length)),
        (tag::PLANAR_CONFIGURATION, Value::Shorts(vec![1])),
        (tag::SAMPLE_FORMAT, Value::Shorts(vec![kind; channels])),
    ];
    let known = if content.colour == Colour::Rgb { 3 } else { 1 };
    if channels > known {
        let mut extra = vec![0; channels - known];
        if content.has_alpha
            && let Some(last) = extra.last_mut()
        {
            // Alpha that colours are not multiplied by.
            *last = 2;
        }
        entries.push((tag::EXTRA_SAMPLES, Value::Shorts(extra)));
    }
    entries
}

/// Resolution and profile of the file to look like.
fn carried(like: &Metadata, content: &Content<'_>) -> Vec<(u16, Value)> {
    let mut entries = Vec::new();
    if let Some(Resolution { x, y, unit }) = like.resolution {
        let (factor, number) = match unit {
            ResolutionUnit::Unknown => (1.0, 1),
            ResolutionUnit::Inch => (1.0, 2),
            ResolutionUnit::Centimetre => (1.0, 3),
            ResolutionUnit::Metre => (0.01, 3),
        };
        if let (Some(x), Some(y)) = (fraction(x * factor), fraction(y * factor)) {
            entries.push((tag::X_RESOLUTION, Value::Rational(x.0, x.1)));
            entries.push((tag::Y_RESOLUTION, Value::Rational(y.0, y.1)));
            entries.push((tag::RESOLUTION_UNIT, Value::Shorts(vec![number])));
        }
    }
    if let Some(profile) = like.icc_profile.as_ref().filter(|_| like.colour == content.colour) {
        entries.push((tag::ICC_PROFILE, Value::Bytes(profile.clone())));
    }
    entries
}

/// The simplest fraction for a positive number, by continued fractions.
fn fraction(value: f64) -> Option<(u32, u32)> {
    if !(value.is_finite() && value > 0.0 && value <= f64::from(u32::MAX)) {
        return None;
    }
    let (mut before, mut now) = ((0_u64, 1_u64), (1_u64, 0_u64));
    let mut rest = value;
    loop {
        let whole = rest.floor();
        if whole > f64::from(u32::MAX) {
            break;
        }
        let next = (whole as u64 * now.0 + before.0, whole as u64 * now.1 + before.1);
        if next.0 > u64::from(u32::MAX) || next.1 > u64::from(u32::MAX) {
            break;
        }
        (before, now) = (now, next);
        let exact = now.0 as f64 / now.1 as f64 == value;
        if exact || rest == whole {
            break;
        }
        rest = 1.0 / (rest - whole);
    }
    (now.0 > 0 && now.1 > 0).then_some((now.0 as u32, now.1 as u32))
}

/// The texts of the first page.
#[derive(Default)]
struct Texts {
    description: String,
    software: Option<String>,
    /// Notes that do not go into the description.
    apart: String,
}

impl Texts {
    fn of(content: &Content<'_>, remarks: &mut Vec<String>) -> Self {
        let mut texts = Self::default();
        let mut lines: Vec<String> = content.notes.iter().map(|(key, value)| notes::to_line(key, value)).collect();
        if let Some(like) = content.like {
            texts.software = like.text("Software").map(str::to_owned);
            let description = like.text("Description").unwrap_or_default();
            // OME-XML says the type of the numbers, tifffile the order of the axes (which is ours for
            // grey only), and all of these the number of pages.
            let says_type = description.starts_with('<');
            let says_axes = description.starts_with("{\"shape\"");
            let says_size = says_type || says_axes || description.starts_with("ImageJ=");
            let true_still = (content.same_size || !says_size)
                && (like.sample == content.sample || !says_type)
                && (content.stored.dim().3 == 1 || !says_axes);
            if true_still {
                texts.description = description.to_owned();
            } else {
                remarks.push(
                    "the description of the TIFF file is about another size or type, and was left out".to_owned(),
                );
            }
            let other = like.text.iter().filter(|(key, _)| key != "Software" && key != "Description").count();
            if other > 0 {
                remarks.push(format!("TIFF has no place for {other} of the texts in the {} file", like.format));
            }
        }
        if texts.description.starts_with(['<', '{']) {
            texts.apart = lines.join("\n");
        } else {
            if !texts.description.is_empty() && !lines.is_empty() {
                lines.insert(0, texts.description.trim_end_matches('\n').to_owned());
                texts.description.clear();
            }
            texts.description.push_str(&lines.join("\n"));
        }
        texts
    }

    fn entries(&self) -> Vec<(u16, Value)> {
        let texts = [
            (tag::IMAGE_DESCRIPTION, self.description.clone()),
            (tag::SOFTWARE, self.software.clone().unwrap_or_default()),
            (tag::EFMCA_NOTES, self.apart.clone()),
        ];
        texts.into_iter().filter(|(_, text)| !text.is_empty()).map(|(tag, text)| (tag, Value::Text(text))).collect()
    }
}

/// Bytes of a file in the making, little end first.
struct Writer {
    bytes: Vec<u8>,
    big: bool,
}

impl Writer {
    /// The bytes of an offset.
    fn wide(&self) -> usize {
        if self.big { 8 } else { 4 }
    }

    /// The header, which ends with a link to the first directory.
    fn header(&mut self) {
        if self.big {
            self.bytes.extend(b"II+\0\x08\0\0\0");
        } else {
            self.bytes.extend(b"II*\0");
        }
        self.bytes.extend(vec![0; self.wide()]);
    }

    /// A number of the width of an offset.
    fn number(&self, number: u64) -> Vec<u8> {
        number.to_le_bytes()[..self.wide()].to_vec()
    }

    /// Appends a directory, has the link lead to it, and returns its own link to the next.
    fn directory(&mut self, mut entries: Vec<(u16, Value)>, link: usize) -> usize {
        entries.sort_by_key(|(tag, _)| *tag);
        let wide = self.wide();
        let mut table = Vec::new();
        for (tag, value) in &entries {
            let (kind, count, mut bytes) = self.entry(value);
            if bytes.len() > wide {
                self.align();
                let offset = self.bytes.len() as u64;
                self.bytes.append(&mut bytes);
                bytes = self.number(offset);
            }
            bytes.resize(wide, 0);
            table.extend(tag.to_le_bytes());
            table.extend(u16::to_le_bytes(kind));
            table.extend(self.number(count));
            table.append(&mut bytes);
        }
        self.align();
        let offset = self.number(self.bytes.len() as u64);
        self.bytes[link..link + wide].copy_from_slice(&offset);
        let count = entries.len() as u64;
        let head = if self.big { 8 } else { 2 };
        self.bytes.extend(&count.to_le_bytes()[..head]);
        self.bytes.append(&mut table);
        self.bytes.extend(vec![0; wide]);
        let next = self.bytes.len() - wide;
        self.align();
        next
    }

    /// Kind, count and bytes of a value.
    fn entry(&self, value: &Value) -> (u16, u64, Vec<u8>) {
        match value {
            Value::Shorts(numbers) => {
                (3, numbers.len() as u64, numbers.iter().flat_map(|number| number.to_le_bytes()).collect())
            }
            Value::Long(number) => (if self.big { 16 } else { 4 }, 1, self.number(*number)),
            Value::Text(text) => {
                let mut bytes = text.replace('\0', " ").into_bytes();
                bytes.push(0);
                (2, bytes.len() as u64, bytes)
            }
            Value::Bytes(bytes) => (7, bytes.len() as u64, bytes.clone()),
            Value::Rational(numerator, denominator) => {
                (5, 1, [numerator.to_le_bytes(), denominator.to_le_bytes()].concat())
            }
        }
    }

    /// Offsets are even; pixels of 8 bytes like to be at multiples of 8.
    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use ndarray::Array4;

    #[test]
    fn both_kinds_of_files_are_read_back() {
        let content = Content {
            stored: Array4::from_shape_fn((3, 4, 5, 3), |(p, y, x, c)| (100 * p + 20 * y + 3 * x + c) as f64 + 0.5),
            has_alpha: false,
            sample: SampleType::F64,
            colour: Colour::Rgb,
            scale: None,
            notes: vec![("peak".into(), "2".into())],
            like: None,
            same_size: false,
            array: None,
        };
        for (big, magic) in [(false, b"II*\0"), (true, b"II+\0")] {
            let bytes = write_as(&content, big, &mut Vec::new()).unwrap();
            assert!(bytes.starts_with(magic));
            let decoded = read(&bytes, 1 << 20).unwrap();
            assert_eq!(decoded.array, content.stored.clone().into_dyn());
            assert_eq!(decoded.metadata.note("peak"), Some("2"));
        }
    }

    #[test]
    fn fractions_are_found_again() {
        for (numerator, denominator) in [(72, 1), (300, 1), (1_000_000, 117_647), (1, 3), (u32::MAX, 1), (1, u32::MAX)]
        {
            assert_eq!(fraction(f64::from(numerator) / f64::from(denominator)), Some((numerator, denominator)));
        }
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e20, 1e-20] {
            assert_eq!(fraction(value), None, "{value}");
        }
    }
}
