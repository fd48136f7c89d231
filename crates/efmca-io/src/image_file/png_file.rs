//! PNG.

use std::borrow::Cow;
use std::io::Cursor;

use ndarray::{ArrayD, IxDyn};
use png::{BitDepth, ColorType, PixelDimensions, Transformations, Unit};

use super::axes::Axes;
use super::content::{Content, Decoded};
use super::fault::{Fault, count_within, plausible};
use super::format::Format;
use super::metadata::{Colour, Metadata, PngColour, Resolution, ResolutionUnit};
use super::notes::PREFIX;
use super::sample_type::{ByteOrder, SampleType, decode, encode};

/// The most that text, profiles and the decoder's own buffers may take besides the pixels.
const BESIDES_PIXELS: u64 = 64 << 20;

/// The image in the bytes of a PNG file.
pub(crate) fn read(bytes: &[u8], limit: u64) -> Result<Decoded, Fault> {
    let broken = |error: png::DecodingError| Fault::damaged(error.to_string());
    let allowed = usize::try_from(limit.saturating_add(BESIDES_PIXELS)).unwrap_or(usize::MAX);
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), png::Limits { bytes: allowed });
    decoder.set_transformations(Transformations::IDENTITY);
    let mut reader = decoder.read_info().map_err(broken)?;
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    if let Some(animation) = reader.info().animation_control.filter(|animation| animation.num_frames > 1) {
        return Err(Fault::new(
            format!("it is an animation of {} pictures", animation.num_frames),
            "save them as pages of a TIFF file",
        ));
    }
    let stored_channels = reader.info().color_type.samples();
    // Palettes become at most four channels.
    count_within(&[height, width, stored_channels.max(if reader.info().palette.is_some() { 4 } else { 1 })], limit)?;
    let size = reader.output_buffer_size().ok_or_else(|| Fault::damaged("it has more pixels than can be counted"))?;
    plausible(size as u64, bytes.len() as u64)?;
    let mut buffer = vec![0; size];
    reader.next_frame(&mut buffer).map_err(broken)?;
    // Text may also stand behind the pixels.
    let finished = reader.finish();
    let info = reader.info();

    let samples = unpack(&buffer, width * stored_channels, height, info.bit_depth);
    let pixels = Pixels::of(info, samples)?;
    let mut metadata = Metadata::new(Format::Png, pixels.sample);
    describe(info, &mut metadata);
    let mut remarks = Vec::new();
    if let Err(error) = finished {
        remarks.push(format!("the file is damaged behind its pixels ({error})"));
    }
    if info.color_type == ColorType::Indexed {
        remarks.push("its colours come from a palette and are written as red, green and blue".to_owned());
    }
    let array = ArrayD::from_shape_vec(IxDyn(&[height, width, pixels.channels]), pixels.values)
        .map_err(|_| Fault::damaged("its pixels do not fill its size"))?;
    let (array, axes) = match (pixels.channels, pixels.alpha) {
        (1, _) => (array.index_axis_move(ndarray::Axis(2), 0), Axes::with_pages(0, "yx")),
        (_, true) => (array, Axes::with_pages(0, "yxa")),
        (_, false) => (array, Axes::with_pages(0, "yxc")),
    };
    let colour = if pixels.channels < 3 { Colour::Grey } else { Colour::Rgb };
    Ok(Decoded { array, axes: Some(axes), colour: Some(colour), metadata, remarks })
}

/// Rows of packed samples as one byte or two for each sample, big end first.
fn unpack(buffer: &[u8], samples_in_row: usize, rows: usize, depth: BitDepth) -> Vec<u8> {
    let bits = depth as usize;
    if bits >= 8 {
        return buffer.to_vec();
    }
    let stride = (samples_in_row * bits).div_ceil(8);
    let mut unpacked = Vec::with_capacity(samples_in_row * rows);
    for row in buffer.chunks_exact(stride).take(rows) {
        unpacked.extend((0..samples_in_row).map(|index| {
            let shift = 8 - bits - (index * bits) % 8;
            (row[index * bits / 8] >> shift) & ((1 << bits) - 1)
        }));
    }
    unpacked
}

/// The numbers of all pixels, palettes looked up.
struct Pixels {
    values: Vec<f64>,
    channels: usize,
    alpha: bool,
    sample: SampleType,
}

impl Pixels {
    fn of(info: &png::Info<'_>, samples: Vec<u8>) -> Result<Self, Fault> {
        let transparent = info.trns.as_deref();
        if info.color_type == ColorType::Indexed {
            let palette = info.palette.as_deref().ok_or_else(|| Fault::damaged("its palette is missing"))?;
            return Self::looked_up(palette, transparent, &samples);
        }
        let sample = match info.bit_depth {
            BitDepth::One => SampleType::U1,
            BitDepth::Two => SampleType::U2,
            BitDepth::Four => SampleType::U4,
            BitDepth::Eight => SampleType::U8,
            BitDepth::Sixteen => SampleType::U16,
        };
        let mut values = Vec::with_capacity(samples.len() / sample.bytes());
        decode(sample, ByteOrder::Big, &samples, &mut values);
        let channels = info.color_type.samples();
        let pixels = Self { values, channels, alpha: matches!(channels, 2 | 4), sample };
        match transparent {
            Some(key) if !pixels.alpha => Ok(pixels.keyed(key)),
            _ => Ok(pixels),
        }
    }

    fn looked_up(palette: &[u8], transparent: Option<&[u8]>, samples: &[u8]) -> Result<Self, Fault> {
        let (colours, _) = palette.as_chunks::<3>();
        let channels = if transparent.is_some() { 4 } else { 3 };
        let mut values = Vec::with_capacity(samples.len() * channels);
        for index in samples {
            let colour = colours.get(usize::from(*index)).ok_or_else(|| {
                Fault::damaged(format!("a pixel has colour {index} of a palette of {}", colours.len()))
            })?;
            values.extend(colour.iter().map(|value| f64::from(*value)));
            if let Some(alpha) = transparent {
                values.push(f64::from(*alpha.get(usize::from(*index)).unwrap_or(&u8::MAX)));
            }
        }
        Ok(Self { values, channels, alpha: channels == 4, sample: SampleType::U8 })
    }

    /// Alpha from the one colour that is transparent, of which the library gives one byte for each
    /// channel, or two where there are 16 bits.
    fn keyed(self, key: &[u8]) -> Self {
        let mut colour = Vec::new();
        decode(self.sample, ByteOrder::Big, key, &mut colour);
        let opaque = self.sample.range().1;
        let pixels = self.values.chunks_exact(self.channels);
        let values = pixels
            .flat_map(|pixel| pixel.iter().copied().chain([if pixel == colour { 0.0 } else { opaque }]))
            .collect();
        Self { values, channels: self.channels + 1, alpha: true, sample: self.sample }
    }
}

/// The metadata of a file.
fn describe(info: &png::Info<'_>, metadata: &mut Metadata) {
    let mut text: Vec<(String, String)> = Vec::new();
    text.extend(info.uncompressed_latin1_text.iter().map(|chunk| (chunk.keyword.clone(), chunk.text.clone())));
    text.extend(
        info.compressed_latin1_text.iter().filter_map(|chunk| Some((chunk.keyword.clone(), chunk.get_text().ok()?))),
    );
    text.extend(info.utf8_text.iter().filter_map(|chunk| Some((chunk.keyword.clone(), chunk.get_text().ok()?))));
    for (key, value) in text {
        match key.strip_prefix(PREFIX) {
            Some(key) => metadata.notes.push((key.to_owned(), value)),
            None => metadata.text.push((key, value)),
        }
    }
    metadata.resolution = info.pixel_dims.map(|dims| Resolution {
        x: f64::from(dims.xppu),
        y: f64::from(dims.yppu),
        unit: if dims.unit == Unit::Meter { ResolutionUnit::Metre } else { ResolutionUnit::Unknown },
    });
    metadata.icc_profile = info.icc_profile.as_deref().map(<[u8]>::to_vec);
    metadata.png = PngColour { gamma: info.gama_chunk, chromaticities: info.chrm_chunk, srgb: info.srgb };
}

/// The bytes of a PNG file.
pub(crate) fn write(content: &Content<'_>) -> Result<Vec<u8>, Fault> {
    let failed = |error: png::EncodingError| Fault::new(format!("the PNG file cannot be made ({error})"), "use TIFF");
    let (_, rows, columns, channels) = content.stored.dim();
    let side = |side: usize| {
        u32::try_from(side).map_err(|_| Fault::new(format!("a side of {side} is too long for PNG"), "use NPY"))
    };
    let mut info = png::Info::with_size(side(columns)?, side(rows)?);
    info.color_type = match channels {
        1 => ColorType::Grayscale,
        2 => ColorType::GrayscaleAlpha,
        3 => ColorType::Rgb,
        _ => ColorType::Rgba,
    };
    let (depth, bits) = match content.sample {
        SampleType::U1 => (BitDepth::One, 1),
        SampleType::U2 => (BitDepth::Two, 2),
        SampleType::U4 => (BitDepth::Four, 4),
        SampleType::U8 => (BitDepth::Eight, 8),
        _ => (BitDepth::Sixteen, 16),
    };
    info.bit_depth = depth;
    if let Some(like) = content.like {
        carry_over(like, channels, &mut info);
    }
    let mut png = Vec::new();
    let mut encoder = png::Encoder::with_info(&mut png, info).map_err(failed)?;
    let carried = content.like.iter().flat_map(|like| &like.text).map(|(key, value)| (key.clone(), value.clone()));
    let ours = content.notes.iter().map(|(key, value)| (format!("{PREFIX}{key}"), value.clone()));
    for (key, value) in carried.chain(ours).filter(|(key, _)| is_keyword(key)) {
        // tEXt is for Latin-1 without control characters, and read by all programs.
        if value.chars().all(|letter| letter == '\n' || (letter <= '\u{ff}' && !letter.is_control())) {
            encoder.add_text_chunk(key, value).map_err(failed)?;
        } else {
            encoder.add_itxt_chunk(key, value.replace('\0', "\u{fffd}")).map_err(failed)?;
        }
    }
    let mut bytes = Vec::new();
    encode(content.sample, ByteOrder::Big, content.stored.iter().copied(), &mut bytes)?;
    let bytes = if bits < 8 { pack(&bytes, columns, bits) } else { bytes };
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(&bytes).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(png)
}

/// Whether PNG allows this keyword: a damaged one must not keep a result from being written.
fn is_keyword(key: &str) -> bool {
    (1..=79).contains(&key.chars().count()) && key.chars().all(|letter| letter <= '\u{ff}' && !letter.is_control())
}

/// Resolution and colour space of the file to look like.
fn carry_over(like: &Metadata, channels: usize, info: &mut png::Info<'_>) {
    info.pixel_dims = like.resolution.and_then(|resolution| {
        let factor = resolution.to_metre().unwrap_or(1.0);
        let pixels = |value: f64| {
            let rounded = (value * factor).round();
            (1.0..=f64::from(i32::MAX)).contains(&rounded).then_some(rounded as u32)
        };
        let unit = if resolution.unit == ResolutionUnit::Unknown { Unit::Unspecified } else { Unit::Meter };
        Some(PixelDimensions { xppu: pixels(resolution.x)?, yppu: pixels(resolution.y)?, unit })
    });
    info.srgb = like.png.srgb;
    info.source_gamma = like.png.gamma;
    info.source_chromaticities = like.png.chromaticities;
    // A profile for colours is wrong for grey and the other way round.
    let grey_before = like.colour == Colour::Grey;
    if grey_before == (channels < 3) {
        info.icc_profile = like.icc_profile.clone().map(Cow::Owned);
    }
}

/// One byte for each sample as rows of packed samples.
fn pack(samples: &[u8], samples_in_row: usize, bits: usize) -> Vec<u8> {
    let mut packed = Vec::new();
    for row in samples.chunks(samples_in_row) {
        for byte in row.chunks(8 / bits) {
            packed.push(
                byte.iter().enumerate().fold(0, |whole, (index, sample)| whole | sample << (8 - bits * (index + 1))),
            );
        }
    }
    packed
}
