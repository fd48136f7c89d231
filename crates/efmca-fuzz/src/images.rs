//! Images: what can be read can be written as the same kind of file, and is then the same.

use std::path::Path;

use efmca_io::image_file::{Axes, Format, ImageFile, ReadOptions, WriteOptions, mask_of, read_bytes, to_bytes};
use efmca_io::table_file::{TableOptions, read_table_bytes};

use crate::{Choices, said, same};

/// Memory for the values of a file: a small file that asks for more is refused.
const LIMIT: u64 = 1 << 18;

fn options() -> ReadOptions {
    ReadOptions { axes: None, memory_limit: LIMIT }
}

/// A PNG file whose checksums are made right, so that what stands behind them is looked at.
pub(crate) fn png(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    let mut at = 8;
    while let Some(length) = bytes.get(at..at + 4).and_then(|length| length.try_into().ok().map(u32::from_be_bytes)) {
        let Some(end) = usize::try_from(length).ok().and_then(|length| (at + 8).checked_add(length)) else { break };
        if bytes.len() < 4 || end > bytes.len() - 4 {
            break;
        }
        let mut checksum = flate2::Crc::new();
        checksum.update(&bytes[at + 4..end]);
        bytes[end..end + 4].copy_from_slice(&checksum.sum().to_be_bytes());
        at = end + 4;
    }
    of_format(&bytes, Format::Png, "image.png");
}

pub(crate) fn tiff(bytes: &[u8]) {
    of_format(bytes, Format::Tiff, "image.tif");
}

pub(crate) fn fits(bytes: &[u8]) {
    of_format(bytes, Format::Fits, "image.fits");
}

/// An array as an image and as a table.
pub(crate) fn npy(bytes: &[u8]) {
    of_format(bytes, Format::Npy, "image.npy");
    table(bytes, "table.npy");
}

pub(crate) fn npz(bytes: &[u8]) {
    of_format(bytes, Format::Npz, "image.npz");
    table(bytes, "table.npz");
    said(read_bytes(bytes, Path::new("image.npz:a"), &options()));
}

pub(crate) fn gzip(bytes: &[u8]) {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        said(read_bytes(bytes, Path::new("image.fits.gz"), &options()));
        table(bytes, "table.csv.gz");
    }
}

fn table(bytes: &[u8], name: &str) {
    for keep_rows in [false, true] {
        let options = TableOptions { memory_limit: LIMIT, keep_rows, ..TableOptions::default() };
        if let Some(table) = said(read_table_bytes(bytes, Path::new(name), &options)) {
            assert!(table.values.len() as u64 * 8 <= LIMIT);
            assert_eq!(table.names.len(), table.data().d());
        }
    }
}

/// Bytes that begin as a format does, so that files of one format stay in one corpus.
fn of_format(bytes: &[u8], format: Format, name: &str) {
    if Format::of_bytes(bytes) != Some(format) {
        return;
    }
    let Some(image) = said(read_bytes(bytes, Path::new(name), &options())) else { return };
    let (pages, rows, columns, channels) = image.values.dim();
    assert!(pages > 0 && rows > 0 && columns > 0 && channels > 0);
    assert!((image.values.len() as u64) * 8 <= LIMIT);
    assert_eq!(
        image.metadata.alpha.as_ref().map_or((pages, rows, columns), |alpha| alpha.dim()),
        (pages, rows, columns)
    );
    again(&image, name);
}

/// Writes an image as a file of the same kind, and reads it again.
fn again(image: &ImageFile, name: &str) {
    let path = Path::new(name);
    let options = WriteOptions {
        dtype: Some(image.metadata.sample),
        like: Some(&image.metadata),
        notes: vec![("peak".into(), "2".into())],
        ..WriteOptions::default()
    };
    // some types are read and not written, and infinite values have no place in some formats
    let Some((bytes, written)) = said(to_bytes(path, image.values.view(), &options)) else { return };
    let limit = ReadOptions { axes: Some(image.metadata.axes.clone()), memory_limit: 16 * LIMIT };
    let back = read_bytes(&bytes, path, &limit).or_else(|_| read_bytes(&bytes, path, &ReadOptions::default()));
    let back = back.unwrap_or_else(|error| panic!("what was written is not read: {error}"));
    assert_eq!(back.values.dim(), image.values.dim(), "{:?}", written.remarks);
    // scaled integers of FITS can be fractions, which integers are not: they are rounded, and that is said
    if written.rounded > 0 {
        return;
    }
    let equal = back.values.iter().zip(&image.values).all(|(now, then)| same(*now, *then) || now == then);
    assert!(equal, "{:?} became {:?}", image.values, back.values);
}

/// Axes as they are typed, with an array of a shape that may fit or not, and the same as a mask.
pub(crate) fn axes(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let count = choices.below(6);
    let shape: Vec<usize> = (0..count).map(|_| choices.below(6)).collect();
    let needed = (choices.below(4), choices.below(6), choices.below(6));
    let Ok(text) = std::str::from_utf8(choices.rest()) else { return };
    let Some(axes) = said(text.parse::<Axes>()) else { return };
    assert_eq!(axes.to_string().parse::<Axes>().ok().as_ref(), Some(&axes));
    let listed: String = shape.iter().map(|side| format!("{side},")).collect();
    let mut header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({listed}), }}");
    header.push_str(&" ".repeat((64 - (11 + header.len()) % 64) % 64));
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(header.len()).unwrap_or(u16::MAX).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend((0..shape.iter().product::<usize>()).map(|place| (place % 3) as u8));
    let path = Path::new("mask.npy");
    let options = ReadOptions { axes: Some(axes), memory_limit: LIMIT };
    if let Some(image) = said(read_bytes(&file, path, &options)) {
        let alpha = image.metadata.alpha.as_ref().map_or(0, |alpha| alpha.len());
        assert_eq!(image.values.len() + alpha, shape.iter().product::<usize>());
        if let Some(mask) = said(mask_of(&image, path, needed)) {
            assert_eq!(mask.dim(), needed);
        }
    }
}
