//! NPY: one array of NumPy.

mod header;

use ndarray::{ArrayD, IxDyn, ShapeBuilder};

use super::content::{Content, Decoded};
use super::fault::{Fault, count_within};
use super::format::Format;
use super::metadata::Metadata;
use super::sample_type::{ByteOrder, SampleType, decode, encode};
pub(crate) use header::Header;

/// The array in the bytes of an NPY file.
pub(crate) fn read(bytes: &[u8], limit: u64) -> Result<Decoded, Fault> {
    let header = Header::of(bytes)?;
    let (sample, order) = header.sample()?;
    let count = count_within(&header.shape, limit)?;
    let data = bytes.get(header.start..).unwrap_or_default();
    let needed = count.saturating_mul(sample.bytes());
    let data = data.get(..needed).ok_or_else(|| {
        Fault::damaged(format!(
            "its shape {:?} of {sample} needs {needed} bytes, and there are {}",
            header.shape,
            data.len()
        ))
    })?;
    let mut values = Vec::with_capacity(count);
    let inexact = decode(sample, order, data, &mut values);
    let shape = IxDyn(&header.shape).set_f(header.fortran);
    let array = ArrayD::from_shape_vec(shape, values).map_err(|error| Fault::damaged(error.to_string()))?;
    let remarks = if inexact == 0 { Vec::new() } else { vec![digits_lost(inexact)] };
    Ok(Decoded { array, axes: None, colour: None, metadata: Metadata::new(Format::Npy, sample), remarks })
}

/// The remark about integers that a double cannot hold.
pub(crate) fn digits_lost(count: usize) -> String {
    format!("{count} whole numbers beyond 2^53 were rounded to the nearest double")
}

/// The bytes of an NPY file.
pub(crate) fn write(content: &Content<'_>) -> Result<Vec<u8>, Fault> {
    let array = content.array("yxc");
    let descr = match content.sample {
        SampleType::Bool => "|b1",
        SampleType::U8 => "|u1",
        SampleType::U16 => "<u2",
        SampleType::U32 => "<u4",
        SampleType::U64 => "<u8",
        SampleType::I8 => "|i1",
        SampleType::I16 => "<i2",
        SampleType::I32 => "<i4",
        SampleType::I64 => "<i8",
        SampleType::F32 => "<f4",
        SampleType::F64 => "<f8",
        other => return Err(Fault::new(format!("NPY does not hold numbers of type {other} here"), "use u8 or f32")),
    };
    let mut bytes = Header::to_bytes(descr, array.shape());
    encode(content.sample, ByteOrder::Little, array.iter().copied(), &mut bytes)?;
    Ok(bytes)
}

/// The bytes of an NPY file with a line of text for each entry.
pub(crate) fn write_strings(lines: &[String]) -> Vec<u8> {
    let length = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0).max(1);
    let mut bytes = Header::to_bytes(&format!("<U{length}"), &[lines.len()]);
    for line in lines {
        let letters = line.chars().map(u32::from).chain(std::iter::repeat(0)).take(length);
        bytes.extend(letters.flat_map(u32::to_le_bytes));
    }
    bytes
}

/// The lines of such a file, and none if it is something else.
pub(crate) fn read_strings(bytes: &[u8]) -> Vec<String> {
    let Ok(header) = Header::of(bytes) else {
        return Vec::new();
    };
    let length =
        header.descr.strip_prefix("<U").and_then(|length| length.parse::<usize>().ok()).filter(|length| *length > 0);
    let Some(width) = length.and_then(|length| length.checked_mul(4)) else {
        return Vec::new();
    };
    let data = bytes.get(header.start..).unwrap_or_default();
    let line = |entry: &[u8]| {
        let (letters, _) = entry.as_chunks::<4>();
        let letters = letters.iter().map(|letter| u32::from_le_bytes(*letter)).take_while(|letter| *letter != 0);
        letters.map(|letter| char::from_u32(letter).unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    data.chunks_exact(width).map(line).collect()
}
