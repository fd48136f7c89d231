//! A directory's description of the pixels of a page.

use super::super::fault::{CONVERT, Fault, count_within, part};
use super::super::sample_type::SampleType;
use super::compression::Compression;
use super::directory::{Directory, File, tag};
use super::predictor::Predictor;

/// How the pixels of a page are stored.
#[derive(Clone)]
pub(super) struct Page {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Samples of a pixel as they are stored; a palette has one.
    pub(super) samples: usize,
    pub(super) bits: usize,
    /// The type of a stored sample.
    pub(super) stored: SampleType,
    pub(super) compression: Compression,
    pub(super) predictor: Predictor,
    /// Whether each channel has its own strips or tiles.
    pub(super) planar: bool,
    pub(super) reversed_bits: bool,
    pub(super) white_is_zero: bool,
    pub(super) is_rgb: bool,
    /// Whether the last sample is alpha.
    pub(super) alpha: bool,
    /// Red, then green, then blue of all colours, if samples are numbers of colours.
    pub(super) palette: Option<Vec<u64>>,
    /// The width and height of a strip or tile.
    pub(super) chunk: (usize, usize),
    /// Whether chunks at the border are full.
    pub(super) tiled: bool,
    pub(super) offsets: Vec<u64>,
    /// The bytes of each chunk, or none if they are not said.
    pub(super) lengths: Vec<u64>,
}

impl Page {
    pub(super) fn of(file: &File<'_>, directory: &Directory<'_>) -> Result<Self, Fault> {
        let need = |tag: u16, what: &str| {
            let number =
                directory.number(tag).and_then(|number| usize::try_from(number).ok()).filter(|number| *number > 0);
            number.ok_or_else(|| Fault::damaged(format!("{what} (tag {tag}) is missing or 0")))
        };
        let or = |tag: u16, default: u64| directory.number(tag).unwrap_or(default);
        let width = need(tag::IMAGE_WIDTH, "its width")?;
        let height = need(tag::IMAGE_LENGTH, "its height")?;
        let samples = usize::try_from(or(tag::SAMPLES_PER_PIXEL, 1)).unwrap_or(0);
        let bits = same(directory, tag::BITS_PER_SAMPLE, 1, "numbers of bits")?;
        let kind = same(directory, tag::SAMPLE_FORMAT, 1, "types of numbers")?;
        if samples == 0 || samples > usize::from(u16::MAX) {
            return Err(Fault::damaged(format!("it has {samples} channels")));
        }
        let stored = sample_type(kind, bits)?;
        let bits = bits as usize;
        let compression = Compression::of(or(tag::COMPRESSION, 1))?;
        let predictor = Predictor::of(or(tag::PREDICTOR, 1), bits, stored)?;
        let reversed_bits = or(tag::FILL_ORDER, 1) == 2 && bits < 8;
        if reversed_bits && compression != Compression::None {
            return Err(Fault::new("its bits are packed in reverse and compressed", CONVERT));
        }
        let photometric = or(tag::PHOTOMETRIC, 1);
        let palette = match photometric {
            0 | 1 | 2 | 32_803 | 34_892 => None,
            3 => colours(directory, samples, bits)?,
            other => {
                let name = match other {
                    4 => "a transparency mask",
                    5 => "colours for print (CMYK)",
                    6 => "colours of video (YCbCr)",
                    8..=10 => "Lab colours",
                    _ => "a kind of colours that is not known",
                };
                return Err(Fault::new(
                    format!("it has {name} (photometric interpretation {other})"),
                    "convert it to grey or RGB",
                ));
            }
        };
        let extra = directory.numbers(tag::EXTRA_SAMPLES).unwrap_or_default();
        let alpha = samples > 1 && palette.is_none() && matches!(extra.last(), Some(1 | 2));
        let planar = samples > 1 && or(tag::PLANAR_CONFIGURATION, 1) == 2;
        let tiled = directory.number(tag::TILE_WIDTH).is_some();
        let (chunk, offsets_tag, lengths_tag) = if tiled {
            let chunk =
                (need(tag::TILE_WIDTH, "the width of its tiles")?, need(tag::TILE_LENGTH, "the height of its tiles")?);
            (chunk, tag::TILE_OFFSETS, tag::TILE_BYTE_COUNTS)
        } else {
            let rows = usize::try_from(or(tag::ROWS_PER_STRIP, u64::MAX)).unwrap_or(usize::MAX).clamp(1, height);
            ((width, rows), tag::STRIP_OFFSETS, tag::STRIP_BYTE_COUNTS)
        };
        let offsets = directory
            .numbers(offsets_tag)
            .ok_or_else(|| Fault::damaged(format!("the places of its pixels (tag {offsets_tag}) are missing")))?;
        let lengths = directory.numbers(lengths_tag).unwrap_or_default();
        let mut page = Self {
            width,
            height,
            samples,
            bits,
            stored,
            compression,
            predictor,
            planar,
            reversed_bits,
            white_is_zero: photometric == 0,
            is_rgb: photometric == 2 || palette.is_some(),
            alpha,
            palette,
            chunk,
            tiled,
            offsets,
            lengths,
        };
        page.check_chunks(file)?;
        Ok(page)
    }

    /// The channels of a pixel, colours of a palette looked up.
    pub(super) fn channels(&self) -> usize {
        if self.palette.is_some() { 3 } else { self.samples }
    }

    /// The type of the numbers, colours of a palette looked up.
    pub(super) fn sample(&self) -> SampleType {
        if self.palette.is_some() { SampleType::U16 } else { self.stored }
    }

    /// The numbers of chunks across and down.
    pub(super) fn chunks(&self) -> (usize, usize) {
        (self.width.div_ceil(self.chunk.0), self.height.div_ceil(self.chunk.1))
    }

    /// The page that stands `number` pages behind this one without a directory, if the pixels are not
    /// compressed and the file has them.
    pub(super) fn following(&self, file: &File<'_>, number: u64) -> Option<Self> {
        let bits = self.bits.is_multiple_of(8) && self.compression == Compression::None && !self.tiled && !self.planar;
        let length = (self.width * self.samples * self.bits / 8 * self.height) as u64;
        let start = *self.offsets.first().filter(|_| bits)?;
        let offset = start.checked_add(length.checked_mul(number)?)?;
        part(file.bytes, offset, length)?;
        Some(Self { offsets: vec![offset], lengths: vec![length], chunk: (self.width, self.height), ..self.clone() })
    }

    /// Refuses a stack of so many pages that its numbers need more than `limit` bytes.
    pub(super) fn check_size(&self, pages: usize, limit: u64) -> Result<(), Fault> {
        count_within(&[pages, self.height, self.width, self.channels()], limit).map(|_| ())
    }

    /// Refuses a page that is not like the first.
    pub(super) fn check_same(&self, other: &Self, number: usize) -> Result<(), Fault> {
        let differ = |what: &str, theirs: String, ours: String| {
            Err(Fault::new(
                format!("page {} {what} {theirs}, but page 1 {ours}", number + 1),
                "save pages of one size and type in one file, and the others apart",
            ))
        };
        if (self.width, self.height) != (other.width, other.height) {
            let size = |page: &Self| format!("{} rows x {} columns", page.height, page.width);
            return differ("has", size(other), size(self));
        }
        if self.sample() != other.sample() {
            return differ("has numbers of type", other.sample().to_string(), self.sample().to_string());
        }
        let colours = |page: &Self| (page.channels(), page.alpha, page.is_rgb, page.white_is_zero);
        if colours(self) != colours(other) {
            let channels = |page: &Self| {
                let alpha = if page.alpha { ", the last of them alpha" } else { "" };
                let kind = if page.is_rgb {
                    "RGB"
                } else if page.white_is_zero {
                    "grey, white is 0"
                } else {
                    "grey"
                };
                format!("{} channels ({kind}{alpha})", page.channels())
            };
            return differ("has", channels(other), channels(self));
        }
        Ok(())
    }

    /// Refuses pages whose size and number of chunks contradict each other, or that the file is
    /// too small for.
    fn check_chunks(&mut self, file: &File<'_>) -> Result<(), Fault> {
        let (across, down) = self.chunks();
        let planes = if self.planar { self.samples } else { 1 };
        let needed = across.checked_mul(down).and_then(|chunks| chunks.checked_mul(planes));
        match needed {
            Some(needed) if needed <= self.offsets.len() => self.offsets.truncate(needed),
            _ => {
                return Err(Fault::damaged(format!(
                    "{} rows x {} columns need more strips or tiles than the {} it has",
                    self.height,
                    self.width,
                    self.offsets.len()
                )));
            }
        }
        let bits = self.width as u128 * self.height as u128 * self.samples as u128 * self.bits as u128;
        let bytes = u64::try_from(bits.div_ceil(8)).unwrap_or(u64::MAX);
        self.compression.check_promise(bytes, file.bytes.len() as u64)
    }
}

/// The one number that all samples have under a tag.
fn same(directory: &Directory<'_>, tag: u16, default: u64, what: &str) -> Result<u64, Fault> {
    let numbers = directory.numbers(tag).unwrap_or_default();
    let first = numbers.first().copied().unwrap_or(default);
    if numbers.iter().any(|number| *number != first) {
        return Err(Fault::new(format!("its channels have different {what}: {numbers:?}"), CONVERT));
    }
    Ok(first)
}

/// The type of samples.
fn sample_type(kind: u64, bits: u64) -> Result<SampleType, Fault> {
    // 4 is "undefined", and whole numbers in all files that have it.
    match (kind, bits) {
        (1 | 4, 1) => Ok(SampleType::U1),
        (1 | 4, 2) => Ok(SampleType::U2),
        (1 | 4, 3 | 4) => Ok(SampleType::U4),
        (1 | 4, 5..=8) => Ok(SampleType::U8),
        (1 | 4, 9..=16) => Ok(SampleType::U16),
        (1 | 4, 17..=32) => Ok(SampleType::U32),
        (1 | 4, 64) => Ok(SampleType::U64),
        (2, 8) => Ok(SampleType::I8),
        (2, 16) => Ok(SampleType::I16),
        (2, 32) => Ok(SampleType::I32),
        (2, 64) => Ok(SampleType::I64),
        (3, 16) => Ok(SampleType::F16),
        (3, 32) => Ok(SampleType::F32),
        (3, 64) => Ok(SampleType::F64),
        (5 | 6, _) => Err(Fault::new("its numbers are complex", "save the real part or the magnitude")),
        _ => Err(Fault::new(format!("its numbers have {bits} bits and are of format {kind}"), CONVERT)),
    }
}

/// The colours of a palette. Those of ImageJ are for display only, and the numbers of the colours
/// are what was measured.
fn colours(directory: &Directory<'_>, samples: usize, bits: usize) -> Result<Option<Vec<u64>>, Fault> {
    if directory.text(tag::IMAGE_DESCRIPTION).is_some_and(|text| text.starts_with("ImageJ=")) {
        return Ok(None);
    }
    let colours = directory.numbers(tag::COLOR_MAP).ok_or_else(|| Fault::damaged("its palette is missing"))?;
    if samples != 1 || bits > 16 || colours.len() != 3 << bits {
        return Err(Fault::damaged(format!("its palette has {} numbers for {samples} x {bits} bits", colours.len())));
    }
    Ok(Some(colours))
}
