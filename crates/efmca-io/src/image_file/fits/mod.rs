//! FITS: images of astronomy.
//!
//! The first row of the file is row 0, though programs show it at the bottom.

mod cards;
mod write;

use ndarray::{ArrayD, IxDyn};

use super::axes::Axes;
use super::content::Decoded;
use super::fault::{CONVERT, Fault, count_within};
use super::format::Format;
use super::metadata::Metadata;
use super::npy::digits_lost;
use super::sample_type::{ByteOrder, SampleType, decode};
use cards::Header;
pub(crate) use write::write;

/// Headers and data fill blocks of this many bytes.
pub(crate) const BLOCK: usize = 2880;

/// The first image in the bytes of a FITS file.
pub(crate) fn read(bytes: &[u8], limit: u64) -> Result<Decoded, Fault> {
    let mut at = 0;
    let mut number = 0;
    let mut primary: Option<Header> = None;
    loop {
        let place = if number == 0 { "primary header".to_owned() } else { format!("header of extension {number}") };
        let header = Header::of(bytes.get(at..).unwrap_or_default()).map_err(|fault| fault.at(place))?;
        let start = at + header.length;
        let is_image = number == 0 || header.text("XTENSION").as_deref() == Some("IMAGE");
        if is_image && header.shape()?.len() >= 2 {
            let mut decoded = image(&header, bytes.get(start..).unwrap_or_default(), limit)?;
            decoded.metadata.cards = header.cards_beside(primary.as_ref());
            decoded.metadata.notes = header.notes();
            let end = header.data_length()?.and_then(|length| start.checked_add(length.next_multiple_of(BLOCK)));
            if end.is_some_and(|end| end < bytes.len()) {
                decoded
                    .remarks
                    .push("the file has further parts behind the first image, which were not read".to_owned());
            }
            return Ok(decoded);
        }
        if header.flag("ZIMAGE") {
            return Err(Fault::new("its image is in compressed tiles", "unpack it with funpack first"));
        }
        let next = header.data_length()?.and_then(|length| start.checked_add(length.checked_next_multiple_of(BLOCK)?));
        at = next.filter(|next| *next < bytes.len()).ok_or_else(|| {
            Fault::new(format!("it has no image of two or more axes in its {} parts", number + 1), CONVERT)
        })?;
        primary = primary.or(Some(header));
        number += 1;
    }
}

/// The image behind a header.
fn image(header: &Header, data: &[u8], limit: u64) -> Result<Decoded, Fault> {
    let shape = header.shape()?;
    let stored = header.stored_type()?;
    let count = count_within(&shape, limit)?;
    let needed = count.saturating_mul(stored.bytes());
    let data = data.get(..needed).ok_or_else(|| {
        Fault::damaged(format!("its axes {shape:?} of {stored} need {needed} bytes, and there are {}", data.len()))
    })?;
    let mut values = Vec::with_capacity(count);
    let mut inexact = decode(stored, ByteOrder::Big, data, &mut values);
    let scale = header.number("BSCALE")?.unwrap_or(1.0);
    let zero = header.number("BZERO")?.unwrap_or(0.0);
    let mut remarks = Vec::new();
    if !stored.is_float()
        && let Some(blank) = header.integer("BLANK")?
    {
        blank_out(&mut values, blank, &mut remarks);
    }
    let sample = match unsigned(stored, scale, zero) {
        Some(SampleType::U64) => {
            // The sum of a large number and 2^63 would be rounded twice.
            let before = std::mem::take(&mut values);
            let flipped: Vec<u8> =
                data.iter().enumerate().map(|(index, byte)| if index % 8 == 0 { byte ^ 0x80 } else { *byte }).collect();
            inexact = decode(SampleType::U64, ByteOrder::Big, &flipped, &mut values);
            let blank = before.iter().map(|value| value.is_nan());
            values.iter_mut().zip(blank).filter(|(_, blank)| *blank).for_each(|(value, _)| *value = f64::NAN);
            SampleType::U64
        }
        Some(sample) => {
            values.iter_mut().for_each(|value| *value += zero);
            sample
        }
        None if scale == 1.0 && zero == 0.0 => stored,
        None => {
            values.iter_mut().for_each(|value| *value = *value * scale + zero);
            remarks.push(format!("its numbers of type {stored} are scaled by BSCALE {scale} and BZERO {zero}"));
            if stored.bytes() <= 2 || stored == SampleType::F32 { SampleType::F32 } else { SampleType::F64 }
        }
    };
    if inexact > 0 {
        remarks.push(digits_lost(inexact));
    }
    let axes = Axes::with_pages(shape.len() - 2, "yx");
    let array = ArrayD::from_shape_vec(IxDyn(&shape), values).map_err(|error| Fault::damaged(error.to_string()))?;
    Ok(Decoded { array, axes: Some(axes), colour: None, metadata: Metadata::new(Format::Fits, sample), remarks })
}

/// Makes undefined pixels NaN.
fn blank_out(values: &mut [f64], blank: i64, remarks: &mut Vec<String>) {
    let blank = blank as f64;
    let mut count = 0;
    for value in values.iter_mut().filter(|value| **value == blank) {
        *value = f64::NAN;
        count += 1;
    }
    if count > 0 {
        remarks.push(format!("{count} pixels are undefined (BLANK) and count as missing"));
    }
}

/// The type that FITS lacks and stores with an offset (section 4.4.2.5 of the standard).
fn unsigned(stored: SampleType, scale: f64, zero: f64) -> Option<SampleType> {
    let pairs = [SampleType::I8, SampleType::U16, SampleType::U32, SampleType::U64];
    pairs.into_iter().find(|sample| scale == 1.0 && Some((stored, zero)) == with_offset(*sample))
}

/// How such a type is stored.
pub(crate) fn with_offset(sample: SampleType) -> Option<(SampleType, f64)> {
    match sample {
        SampleType::I8 => Some((SampleType::U8, -128.0)),
        SampleType::U16 => Some((SampleType::I16, 32_768.0)),
        SampleType::U32 => Some((SampleType::I32, 2_147_483_648.0)),
        SampleType::U64 => Some((SampleType::I64, 9_223_372_036_854_775_808.0)),
        _ => None,
    }
}
