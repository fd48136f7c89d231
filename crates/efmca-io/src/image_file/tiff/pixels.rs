//! The numbers of a page from its strips or tiles.

use super::super::fault::{Fault, count_within, part};
use super::super::sample_type::decode;
use super::directory::File;
use super::page::Page;

/// Appends the numbers of a page by row, column and channel; returns how many lost digits.
pub(super) fn read(file: &File<'_>, page: &Page, limit: u64, values: &mut Vec<f64>) -> Result<usize, Fault> {
    let start = values.len();
    let (across, down) = page.chunks();
    let planes = if page.planar { page.samples } else { 1 };
    let samples_in_chunk = page.samples / planes;
    let row_length = page.width * page.samples;
    // The first chunk is unpacked before there is room for all, so that a file without pixels does
    // not take the memory that its header asks for.
    let mut inexact = 0;
    let mut numbers = Vec::new();
    for plane in 0..planes {
        for chunk in 0..across * down {
            let index = plane * across * down + chunk;
            let (x, y) = (chunk % across * page.chunk.0, chunk / across * page.chunk.1);
            let rows = page.chunk.1.min(page.height - y);
            let columns = page.chunk.0.min(page.width - x);
            let unpacked = Chunk { index, rows, samples: samples_in_chunk };
            // A tile may be larger than the image.
            count_within(&[rows, page.chunk.0, samples_in_chunk], limit)?;
            inexact += unpacked.read(file, page, &mut numbers).map_err(|fault| fault.at(chunk_name(page, index)))?;
            if values.len() == start {
                values.resize(start + row_length * page.height, 0.0);
            }
            let chunk_row = page.chunk.0 * samples_in_chunk;
            for (row, from) in numbers.chunks_exact(chunk_row).take(rows).enumerate() {
                let to = start + (y + row) * row_length + x * page.samples + plane;
                if planes == 1 {
                    let length = columns * page.samples;
                    values[to..to + length].copy_from_slice(&from[..length]);
                } else {
                    let places = values[to..].iter_mut().step_by(page.samples);
                    places.zip(&from[..columns]).for_each(|(place, number)| *place = *number);
                }
            }
        }
    }
    if let Some(palette) = &page.palette {
        look_up(palette, values, start)?;
    }
    Ok(inexact)
}

fn chunk_name(page: &Page, index: usize) -> String {
    format!("{} {index}", if page.tiled { "tile" } else { "strip" })
}

/// A strip or tile to unpack.
struct Chunk {
    index: usize,
    /// The rows that are within the image.
    rows: usize,
    samples: usize,
}

impl Chunk {
    /// The numbers of the chunk, row by row with full width.
    fn read(&self, file: &File<'_>, page: &Page, numbers: &mut Vec<f64>) -> Result<usize, Fault> {
        let samples_in_row = page.chunk.0.checked_mul(self.samples);
        let bits_in_row = samples_in_row.and_then(|samples| samples.checked_mul(page.bits));
        let row_bytes = bits_in_row.map(|bits| bits.div_ceil(8));
        let needed = row_bytes.and_then(|bytes| bytes.checked_mul(self.rows));
        let (Some(samples_in_row), Some(row_bytes), Some(needed)) = (samples_in_row, row_bytes, needed) else {
            return Err(Fault::damaged("it has more pixels than can be counted"));
        };
        let packed = self.packed(file, page, needed)?;
        let mut unpacked = page.compression.unpack(packed, needed)?.into_owned();
        let width = page.stored.bytes();
        for row in unpacked.chunks_exact_mut(row_bytes) {
            page.predictor.undo(row, self.samples, width, file.order);
        }
        if page.reversed_bits {
            unpacked.iter_mut().for_each(|byte| *byte = byte.reverse_bits());
        }
        numbers.clear();
        if page.bits == 8 * width {
            return Ok(decode(page.stored, page.predictor.order(file.order), &unpacked, numbers));
        }
        for row in unpacked.chunks_exact(row_bytes) {
            numbers.extend((0..samples_in_row).map(|sample| f64::from(bits_at(row, sample * page.bits, page.bits))));
        }
        Ok(0)
    }

    /// The bytes of the chunk in the file.
    fn packed<'a>(&self, file: &File<'a>, page: &Page, needed: usize) -> Result<&'a [u8], Fault> {
        let offset = page.offsets[self.index];
        // Without compression the length is known, and often wrong or missing in the file.
        let length = match (page.compression, page.lengths.get(self.index)) {
            (super::compression::Compression::None, _) => needed as u64,
            (_, Some(length)) => *length,
            (_, None) => return Err(Fault::damaged("its number of bytes is missing")),
        };
        part(file.bytes, offset, length).ok_or_else(|| {
            Fault::damaged(format!(
                "it needs bytes {offset} to {}, and the file has {}",
                offset.saturating_add(length),
                file.bytes.len()
            ))
        })
    }
}

/// The number in up to 32 bits from `start`, the most significant first.
fn bits_at(row: &[u8], start: usize, bits: usize) -> u32 {
    (start..start + bits).fold(0, |number, at| number << 1 | u32::from(row[at / 8] >> (7 - at % 8) & 1))
}

/// Replaces numbers of colours from `start` on by their colours.
fn look_up(palette: &[u64], values: &mut Vec<f64>, start: usize) -> Result<(), Fault> {
    let colours = palette.len() / 3;
    let indices = values.split_off(start);
    for index in indices {
        let index = index as usize;
        if index >= colours {
            return Err(Fault::damaged(format!("a pixel has colour {index} of a palette of {colours}")));
        }
        values.extend((0..3).map(|channel| palette[channel * colours + index] as f64));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_bits_are_found() {
        let row = [0b1010_1011, 0b1100_1101, 0b1110_1111];
        assert_eq!([0, 12].map(|start| bits_at(&row, start, 12)), [0b1010_1011_1100, 0b1101_1110_1111]);
        assert_eq!([0, 1, 2, 3].map(|start| bits_at(&row, start, 1)), [1, 0, 1, 0]);
        assert_eq!([0, 4, 8].map(|start| bits_at(&row, start, 4)), [0b1010, 0b1011, 0b1100]);
        assert_eq!(bits_at(&row, 3, 10), 0b01_0111_1001);
    }
}
