//! The header of an NPY file: a Python dictionary with the type, the order and the shape.

use super::super::fault::{Fault, part};
use super::super::sample_type::{ByteOrder, SampleType};

/// Longer headers are those of arrays of records; NumPy itself asks before it reads them.
const LONGEST: u64 = 64 * 1024;

/// The header of an NPY file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The type as NumPy writes it, `<f8`.
    pub(crate) descr: String,
    /// Whether the first axis is the fastest.
    pub(crate) fortran: bool,
    pub(crate) shape: Vec<usize>,
    /// Where the numbers start.
    pub(crate) start: usize,
}

impl Header {
    pub(crate) fn of(bytes: &[u8]) -> Result<Self, Fault> {
        let cut = || Fault::damaged("it ends within its header");
        let version = *bytes.get(6).ok_or_else(cut)?;
        let (at, length) = match version {
            1 => (10, part(bytes, 8, 2).map(|n| u64::from(u16::from_le_bytes([n[0], n[1]])))),
            2 | 3 => (12, part(bytes, 8, 4).map(|n| u64::from(u32::from_le_bytes([n[0], n[1], n[2], n[3]])))),
            other => return Err(Fault::damaged(format!("its header is of version {other}, and 1 to 3 are known"))),
        };
        let length = length.ok_or_else(cut)?;
        if length > LONGEST {
            return Err(Fault::damaged(format!("its header of {length} bytes is too long for an array of numbers")));
        }
        let text = String::from_utf8_lossy(part(bytes, at, length).ok_or_else(cut)?).into_owned();
        let (descr, fortran, shape) = dictionary(&text).ok_or_else(|| {
            let shown: String = text.trim().chars().take(100).collect();
            Fault::damaged(format!("its header is not that of an array of numbers: `{}`", shown.escape_debug()))
        })?;
        Ok(Self { descr, fortran, shape, start: (at + length) as usize })
    }

    /// The type of the numbers.
    pub(crate) fn sample(&self) -> Result<(SampleType, ByteOrder), Fault> {
        let refuse = || {
            let problem = match self.descr.get(1..2) {
                Some("c") => format!("its numbers are complex (`{}`)", self.descr),
                _ => format!("its type `{}` is not one of whole or real numbers", self.descr.escape_debug()),
            };
            Fault::new(problem, "convert it in NumPy, for example with abs() or astype('f4')")
        };
        let order = match self.descr.get(..1) {
            Some("<" | "|" | "=") => ByteOrder::Little,
            Some(">") => ByteOrder::Big,
            _ => return Err(refuse()),
        };
        let sample = match self.descr.get(1..).unwrap_or_default() {
            "b1" => SampleType::Bool,
            "u1" => SampleType::U8,
            "u2" => SampleType::U16,
            "u4" => SampleType::U32,
            "u8" => SampleType::U64,
            "i1" => SampleType::I8,
            "i2" => SampleType::I16,
            "i4" => SampleType::I32,
            "i8" => SampleType::I64,
            "f2" => SampleType::F16,
            "f4" => SampleType::F32,
            "f8" => SampleType::F64,
            _ => return Err(refuse()),
        };
        Ok((sample, order))
    }

    /// The header of a file with an array in C order, padded as NumPy does it.
    pub(crate) fn to_bytes(descr: &str, shape: &[usize]) -> Vec<u8> {
        const ALIGNMENT: usize = 64;
        const BEFORE: usize = 10;
        let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
        let comma = if shape.len() == 1 { "," } else { "" };
        let mut text =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}{comma}), }}", extents.join(", "));
        let padded = (BEFORE + text.len() + 1).next_multiple_of(ALIGNMENT) - BEFORE;
        text.extend(std::iter::repeat_n(' ', padded - 1 - text.len()));
        text.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        // The shapes we write have few axes, and the text stays far below 64 KiB.
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes
    }
}

/// Type, order and shape in the text of the dictionary.
fn dictionary(text: &str) -> Option<(String, bool, Vec<usize>)> {
    let mut rest = text.trim().strip_prefix('{')?.trim_start();
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    while !rest.starts_with('}') {
        let (key, after) = string(rest)?;
        let value = after.trim_start().strip_prefix(':')?.trim_start();
        rest = match key {
            "descr" => {
                let (text, after) = string(value)?;
                descr = Some(text.to_owned());
                after
            }
            "fortran_order" => {
                fortran = Some(value.starts_with("True"));
                value.strip_prefix("True").or_else(|| value.strip_prefix("False"))?
            }
            "shape" => {
                let (extents, after) = value.strip_prefix('(')?.split_once(')')?;
                shape = Some(tuple(extents)?);
                after
            }
            _ => return None,
        };
        rest = rest.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    Some((descr?, fortran?, shape?))
}

/// A string in quotes at the start, and what follows.
fn string(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|letter| matches!(letter, '\'' | '"'))?;
    text[1..].split_once(quote)
}

/// Whole numbers with commas between them; Python 2 wrote `3L` for some.
fn tuple(text: &str) -> Option<Vec<usize>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(Vec::new());
    }
    let text = text.strip_suffix(',').unwrap_or(text);
    text.split(',').map(|extent| extent.trim().trim_end_matches('L').parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_numpy_are_read() {
        let read = |text: &str| dictionary(text).unwrap();
        let plain = read("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }          \n");
        assert_eq!(plain, ("<f8".to_owned(), false, vec![3, 4]));
        assert_eq!(read("{'shape': (), 'fortran_order': True, 'descr': '|u1'}").2, Vec::<usize>::new());
        assert_eq!(read("{'descr': '>i2', 'fortran_order': False, 'shape': (7L,)}").2, [7]);
        for text in [
            "",
            "{",
            "{}",
            "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), }",
            "{'shape': (-1,)}",
            "{'",
        ] {
            assert_eq!(dictionary(text), None, "{text}");
        }
    }

    #[test]
    fn our_headers_are_aligned_and_read_back() {
        for shape in [vec![], vec![5], vec![3, 4], vec![1000, 1000, 1000, 1000]] {
            let bytes = Header::to_bytes("<f4", &shape);
            assert_eq!(bytes.len() % 64, 0);
            let header = Header::of(&bytes).unwrap();
            assert_eq!((header.shape, header.start), (shape, bytes.len()));
        }
    }
}
