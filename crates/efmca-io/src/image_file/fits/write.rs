//! Making FITS files with one image.

use super::super::content::Content;
use super::super::fault::Fault;
use super::super::notes;
use super::super::sample_type::{ByteOrder, SampleType, encode};
use super::cards::{CARD, CONTINUED};
use super::{BLOCK, with_offset};

/// The characters of a HISTORY card behind its keyword.
const HISTORY: usize = CARD - 8;

/// The bytes of a FITS file.
pub(crate) fn write(content: &Content<'_>, remarks: &mut Vec<String>) -> Result<Vec<u8>, Fault> {
    // Rows and columns have to be the fastest axes for programs to show them.
    let keeps_axes = content.like.is_some_and(|like| like.axes.ends_in_rows_and_columns());
    let array = if keeps_axes { content.array("cyx") } else { content.usual("cyx") };
    if content.has_alpha {
        remarks.push("FITS does not know alpha: it is the last plane".to_owned());
    }
    let (stored, offset) = with_offset(content.sample).unwrap_or((content.sample, 0.0));
    let bitpix = match stored {
        SampleType::U8 => 8,
        SampleType::I16 => 16,
        SampleType::I32 => 32,
        SampleType::I64 => 64,
        SampleType::F32 => -32,
        SampleType::F64 => -64,
        other => {
            return Err(Fault::new(format!("FITS does not hold numbers of type {other}"), "use u8, u16, f32 or f64"));
        }
    };
    let mut cards = vec![
        card("SIMPLE", "T", "a FITS file"),
        card("BITPIX", &bitpix.to_string(), "type of the numbers"),
        card("NAXIS", &array.ndim().to_string(), "number of axes"),
    ];
    for (axis, extent) in array.shape().iter().rev().enumerate() {
        cards.push(card(&format!("NAXIS{}", axis + 1), &extent.to_string(), ""));
    }
    // value = stored number * BSCALE + BZERO, with stored number + offset = value * factor + scale's
    // offset.
    let (scale, zero) = match content.scale {
        Some(scale) => (1.0 / scale.factor, (offset - scale.offset) / scale.factor),
        None => (1.0, offset),
    };
    if scale != 1.0 || zero != 0.0 {
        cards.push(card("BSCALE", &real(scale), "value = number * BSCALE + BZERO"));
        cards.push(card("BZERO", &real(zero), ""));
    }
    match content.like {
        Some(like) if content.same_size => cards.extend(like.cards.iter().filter(|card| card.len() == CARD).cloned()),
        Some(like) if !like.cards.is_empty() => {
            remarks.push("the size is another one, so that the header of the FITS file was left out".to_owned());
        }
        _ => {}
    }
    for (key, value) in &content.notes {
        cards.extend(history(&notes::to_ascii_line(key, value)));
    }
    cards.push(format!("{:CARD$}", "END"));
    let mut bytes: Vec<u8> = cards.concat().into_bytes();
    bytes.resize(bytes.len().next_multiple_of(BLOCK), b' ');
    encode_with_offset(content.sample, stored, offset, array.iter().copied(), &mut bytes)?;
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    Ok(bytes)
}

fn encode_with_offset(
    sample: SampleType,
    stored: SampleType,
    offset: f64,
    values: impl Iterator<Item = f64>,
    bytes: &mut Vec<u8>,
) -> Result<(), Fault> {
    if sample != SampleType::U64 {
        return encode(stored, ByteOrder::Big, values.map(|value| value - offset), bytes);
    }
    // A difference of such large numbers would be rounded; turning the highest bit is exact.
    let start = bytes.len();
    encode(SampleType::U64, ByteOrder::Big, values, bytes)?;
    bytes[start..].iter_mut().step_by(8).for_each(|byte| *byte ^= 0x80);
    Ok(())
}

/// A card with a number or a truth value.
fn card(keyword: &str, value: &str, comment: &str) -> String {
    let text = format!("{keyword:8}= {value:>20}{}{comment}", if comment.is_empty() { "" } else { " / " });
    format!("{text:CARD$}").chars().take(CARD).collect()
}

/// A number as FITS wants it, with all digits, and whole where it can be: offsets of unsigned types
/// have to be.
fn real(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e19 {
        return format!("{value:.0}");
    }
    let text = format!("{value:?}").replace('e', "E");
    match text.split_once('E') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
        _ => text,
    }
}

/// A line as cards of HISTORY, broken where no space would be lost.
fn history(line: &str) -> Vec<String> {
    let mut cards = Vec::new();
    let mut rest = line;
    let mut prefix = "";
    while !rest.is_empty() {
        let mut length = rest.len().min(HISTORY - prefix.len());
        // There are no two spaces side by side, and the line is ASCII.
        if length < rest.len() && rest[..length].ends_with(' ') {
            length -= 1;
        }
        let text = format!("HISTORY {prefix}{}", &rest[..length]);
        cards.push(format!("{text:CARD$}"));
        rest = &rest[length..];
        prefix = CONTINUED;
    }
    cards
}
