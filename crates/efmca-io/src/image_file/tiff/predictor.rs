//! Undoing the differences that make pixels easier to pack.

use super::super::fault::{CONVERT, Fault};
use super::super::sample_type::{ByteOrder, SampleType};

/// The change of rows before they were packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Predictor {
    None,
    /// Whole numbers are differences to the pixel on the left.
    Differences,
    /// The bytes of floats are sorted by significance, and differences.
    FloatBytes,
}

impl Predictor {
    /// The predictor with this number, if the type of the samples allows it.
    pub(super) fn of(number: u64, bits: usize, stored: SampleType) -> Result<Self, Fault> {
        let whole = matches!(bits, 8 | 16 | 32 | 64);
        match number {
            1 => Ok(Self::None),
            2 if whole => Ok(Self::Differences),
            3 if stored.is_float() => Ok(Self::FloatBytes),
            other => Err(Fault::new(format!("its numbers of type {stored} have predictor {other}"), CONVERT)),
        }
    }

    /// The order of the bytes after [`Predictor::undo`].
    pub(super) fn order(self, order: ByteOrder) -> ByteOrder {
        if self == Self::FloatBytes { ByteOrder::Big } else { order }
    }

    /// Undoes the differences in a row of pixels with `samples` samples of `width` bytes.
    pub(super) fn undo(self, row: &mut [u8], samples: usize, width: usize, order: ByteOrder) {
        match self {
            Self::None => {}
            Self::Differences => sum_up(row, samples, width, order),
            Self::FloatBytes => {
                sum_up(row, samples, 1, order);
                let count = row.len() / width;
                let sorted = row.to_vec();
                for (index, number) in row.chunks_exact_mut(width).enumerate() {
                    for (byte, place) in number.iter_mut().enumerate() {
                        *place = sorted[byte * count + index];
                    }
                }
            }
        }
    }
}

/// Adds to every number the one `samples` before it.
fn sum_up(row: &mut [u8], samples: usize, width: usize, order: ByteOrder) {
    let stride = samples * width;
    let mut at = stride;
    while at + width <= row.len() {
        let mut carry = 0_u16;
        for byte in 0..width {
            // From the least significant byte on.
            let byte = if order == ByteOrder::Little { byte } else { width - 1 - byte };
            let sum = u16::from(row[at + byte]) + u16::from(row[at + byte - stride]) + carry;
            row[at + byte] = sum as u8;
            carry = sum >> 8;
        }
        at += width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_undone_in_both_byte_orders() {
        let numbers: [u16; 6] = [250, 10, 65_535, 3, 256, 0];
        for (order, bytes) in
            [(ByteOrder::Little, u16::to_le_bytes as fn(u16) -> [u8; 2]), (ByteOrder::Big, u16::to_be_bytes)]
        {
            let differences = (0..6)
                .map(|index| if index < 2 { numbers[index] } else { numbers[index].wrapping_sub(numbers[index - 2]) });
            let mut row: Vec<u8> = differences.flat_map(bytes).collect();
            Predictor::Differences.undo(&mut row, 2, 2, order);
            assert_eq!(row, numbers.into_iter().flat_map(bytes).collect::<Vec<u8>>());
        }
    }

    #[test]
    fn sorted_bytes_of_floats_are_undone() {
        let numbers = [1.5_f32, -2.25, 1e9];
        let sorted: Vec<u8> = (0..4).flat_map(|byte| numbers.map(|number| number.to_be_bytes()[byte])).collect();
        let mut row: Vec<u8> = (0..12)
            .map(|index| if index == 0 { sorted[0] } else { sorted[index].wrapping_sub(sorted[index - 1]) })
            .collect();
        Predictor::FloatBytes.undo(&mut row, 1, 4, ByteOrder::Little);
        assert_eq!(row, numbers.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<u8>>());
    }
}
