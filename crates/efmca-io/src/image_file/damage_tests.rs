//! Files that are cut short, changed or lie: an image or an error, never a panic, and no memory for
//! promises that the file cannot keep.

use ndarray::{Array3, Array4};
use proptest::prelude::*;

use super::content::Content;
use super::metadata::{Colour, Metadata};
use super::reading::decode;
use super::*;

/// A small image in all formats, with all that metadata can have.
fn valid_files() -> Vec<(&'static str, Vec<u8>)> {
    let mut like = Metadata::new(Format::Png, SampleType::U8);
    like.alpha = Some(Array3::from_elem((1, 4, 5), 255.0));
    like.text = vec![("Description".into(), "what it is".into()), ("Software".into(), "ours".into())];
    like.resolution = Some(Resolution { x: 300.0, y: 299.5, unit: ResolutionUnit::Inch });
    like.cards = vec![format!("{:80}", "OBJECT  = 'M31'"), format!("{:80}", "BLANK   = 3")];
    let content = |pages, channels, sample| Content {
        stored: Array4::from_shape_fn((pages, 4, 5, channels), |(p, y, x, c)| (p + 2 * y + 3 * x + 5 * c) as f64),
        has_alpha: channels == 4,
        sample,
        colour: Colour::of_channels(channels - usize::from(channels == 4)),
        scale: None,
        notes: vec![("peak".into(), "2".into()), ("long".into(), "a long value ä ".repeat(9))],
        like: Some(&like),
        same_size: true,
        array: Some("picture".into()),
    };
    let mut remarks = Vec::new();
    vec![
        ("png", png_file::write(&content(1, 4, SampleType::U8)).unwrap()),
        ("png16", png_file::write(&content(1, 1, SampleType::U16)).unwrap()),
        ("tiff", tiff::write(&content(2, 3, SampleType::F32), &mut remarks).unwrap()),
        ("npy", npy::write(&content(2, 3, SampleType::I32)).unwrap()),
        ("npz", npz::write(&content(2, 1, SampleType::F64)).unwrap()),
        ("fits", fits::write(&content(2, 1, SampleType::U16), &mut remarks).unwrap()),
    ]
}

/// Files of other programs reach the parts of the readers that our own files do not need.
fn foreign_files() -> Vec<(&'static str, Vec<u8>)> {
    let files: [(&'static str, &[u8]); 17] = [
        ("palette.png", include_bytes!("../../tests/files/palette.png")),
        ("palette_alpha.png", include_bytes!("../../tests/files/palette_alpha.png")),
        ("grey_key.png", include_bytes!("../../tests/files/grey_key.png")),
        ("grey1.png", include_bytes!("../../tests/files/grey1.png")),
        ("tiled_deflate.tif", include_bytes!("../../tests/files/tiled_deflate.tif")),
        ("lzw_predictor.tif", include_bytes!("../../tests/files/lzw_predictor.tif")),
        ("float_predictor.tif", include_bytes!("../../tests/files/float_predictor.tif")),
        ("planar.tif", include_bytes!("../../tests/files/planar.tif")),
        ("packbits.tif", include_bytes!("../../tests/files/packbits.tif")),
        ("stack_big.tif", include_bytes!("../../tests/files/stack_big.tif")),
        ("palette.tif", include_bytes!("../../tests/files/palette.tif")),
        ("imagej_one_directory.tif", include_bytes!("../../tests/files/imagej_one_directory.tif")),
        ("grey1.tif", include_bytes!("../../tests/files/grey1.tif")),
        ("big_fortran.npy", include_bytes!("../../tests/files/big_fortran.npy")),
        ("two.npz", include_bytes!("../../tests/files/two.npz")),
        ("scaled_blank.fits", include_bytes!("../../tests/files/scaled_blank.fits")),
        ("u16.fits.gz", include_bytes!("../../tests/files/u16.fits.gz")),
    ];
    files.into_iter().map(|(name, bytes)| (name, bytes.to_vec())).collect()
}

/// A limit that a lie cannot pass unnoticed.
fn options() -> ReadOptions {
    ReadOptions { axes: None, memory_limit: 1 << 20 }
}

/// An image that fits its limit, or an error with a hint.
fn look_at(bytes: &[u8]) {
    match decode(bytes, None, &options()) {
        Ok(image) => assert!(image.values.len() <= (1 << 20) / 8),
        Err(fault) => assert!(!fault.problem.is_empty() && !fault.hint.is_empty()),
    }
}

#[test]
fn files_cut_anywhere_are_refused_or_read() {
    for (name, bytes) in valid_files().into_iter().chain(foreign_files()) {
        assert!(name == "two.npz" || decode(&bytes, None, &options()).is_ok(), "{name}");
        for length in 0..bytes.len() {
            look_at(&bytes[..length]);
        }
    }
}

#[test]
fn files_without_their_last_pixels_are_refused() {
    for (name, bytes) in valid_files() {
        // FITS pads with up to a block; the directory of TIFF, the end of PNG and ZIP stand last.
        let kept = if name == "fits" { bytes.len() - super::fits::BLOCK } else { bytes.len() / 2 };
        assert!(decode(&bytes[..kept], None, &options()).is_err(), "{name}");
    }
}

#[test]
fn every_byte_can_be_wrong() {
    for (name, bytes) in valid_files().into_iter().chain(foreign_files()) {
        // All bits of small files; of larger ones all bytes of what may be a header.
        let patterns: &[u8] = if bytes.len() < 1500 { &[0x01, 0x10, 0x80, 0xff, 0x7f] } else { &[0xff, 0x01] };
        for at in 0..bytes.len().min(4000) {
            for pattern in patterns {
                let mut changed = bytes.clone();
                changed[at] ^= pattern;
                look_at(&changed);
            }
        }
        assert!(!name.is_empty());
    }
}

/// Numbers of headers at the ends of what they can be.
#[test]
fn every_number_can_be_extreme() {
    for (_, bytes) in valid_files().into_iter().chain(foreign_files()) {
        for at in 0..bytes.len().min(2000).saturating_sub(4) {
            for extreme in [0_u32, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
                let mut changed = bytes.clone();
                changed[at..at + 4].copy_from_slice(&extreme.to_le_bytes());
                look_at(&changed);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn several_changes_do_not_panic(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let files: Vec<_> = valid_files().into_iter().chain(foreign_files()).collect();
        let mut bytes = which.get(&files).1.clone();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        look_at(&bytes);
    }

    #[test]
    fn anything_behind_the_first_bytes_does_not_panic(
        magic in prop::sample::select(vec![&b"II*\0"[..], b"MM\0*", b"II+\0\x08\0\0\0", b"\x93NUMPY\x01\0", b"PK\x03\x04", b"SIMPLE  = ", b"\x89PNG\r\n\x1a\n", b"\x1f\x8b"]),
        rest in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        look_at(&[magic, &rest].concat());
    }
}

/// The problem with bytes that are read with the usual limit of 4 GiB.
fn problem(bytes: &[u8]) -> String {
    decode(bytes, None, &ReadOptions::default()).map(|_| ()).unwrap_err().problem
}

#[test]
fn promises_that_a_file_cannot_keep_are_refused() {
    let mut npy = npy::Header::to_bytes("<f8", &[20_000, 20_000]);
    npy.extend([0; 100]);
    assert!(problem(&npy).contains("needs 3200000000 bytes, and there are 100"), "{}", problem(&npy));
    let npy = npy::Header::to_bytes("<f8", &[usize::MAX, 2]);
    assert!(problem(&npy).contains("more than the 4294967296 bytes allowed"));
    let npy = npy::Header::to_bytes("<f8", &[0, 5]);
    assert!(problem(&npy).contains("no value"));

    let card = |text: &str| format!("{text:80}");
    let header =
        ["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 20000", "NAXIS2  = 20000", "END"].map(card).concat();
    let fits = format!("{header:2880}");
    assert!(problem(fits.as_bytes()).contains("need 400000000 bytes"), "{}", problem(fits.as_bytes()));

    // A PNG file whose header says 20000 x 20000, with the right checksum.
    let mut png = valid_files()[1].1.clone();
    png[16..24].copy_from_slice(&[0, 0, 0x4e, 0x20, 0, 0, 0x4e, 0x20]);
    let mut checksum = flate2::Crc::new();
    checksum.update(&png[12..29]);
    png[29..33].copy_from_slice(&checksum.sum().to_be_bytes());
    assert!(problem(&png).contains("header promises"), "{}", problem(&png));
}

#[test]
fn a_stack_whose_directories_go_in_a_circle_is_refused() {
    let (_, mut bytes) = valid_files().swap_remove(2);
    let first = bytes[4..8].to_vec();
    let at = u32::from_le_bytes([first[0], first[1], first[2], first[3]]) as usize;
    let entries = usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let link = at + 2 + 12 * entries;
    bytes[link..link + 4].copy_from_slice(&first);
    assert!(problem(&bytes).contains("directory of an earlier page"));
}
