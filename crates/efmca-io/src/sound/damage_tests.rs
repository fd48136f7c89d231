//! Files that are cut short, changed or lie: a sound or an error, never a panic, and no memory for
//! promises that the file cannot keep.

use proptest::prelude::*;

use super::read_wav;
use super::wav::decode;

fn chunk(id: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let mut chunk = [id.as_slice(), &(body.len() as u32).to_le_bytes(), body].concat();
    chunk.resize(chunk.len().next_multiple_of(2), 0);
    chunk
}

fn wav(chunks: &[Vec<u8>]) -> Vec<u8> {
    let body = chunks.concat();
    [b"RIFF".as_slice(), &(body.len() as u32 + 4).to_le_bytes(), b"WAVE", &body].concat()
}

/// A format chunk without an extension.
fn format(tag: u16, channels: u16, rate: u32, bits: u16) -> Vec<u8> {
    let block = channels * (bits / 8);
    let mut body = [tag.to_le_bytes(), channels.to_le_bytes()].concat();
    body.extend([rate.to_le_bytes(), (rate.wrapping_mul(u32::from(block))).to_le_bytes()].concat());
    body.extend([block.to_le_bytes(), bits.to_le_bytes()].concat());
    body
}

/// A format chunk with one.
fn extensible(tag: u16, channels: u16, bits: u16, valid: u16) -> Vec<u8> {
    let mut body = format(0xfffe, channels, 16_000, bits);
    body.extend([22_u16.to_le_bytes(), valid.to_le_bytes(), [0, 0], [0, 0], tag.to_le_bytes()].concat());
    body.extend([0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71]);
    body
}

fn valid_files() -> Vec<Vec<u8>> {
    let data: Vec<u8> = (0..48).map(|n: u8| n.wrapping_mul(37)).collect();
    let floats: Vec<u8> = (0..12).flat_map(|n: u8| (f32::from(n) / 12.0).to_le_bytes()).collect();
    let mut files = Vec::new();
    for (bits, channels) in [(8, 1), (16, 1), (16, 3), (24, 2), (32, 1)] {
        files.push(wav(&[chunk(b"fmt ", &format(1, channels, 44_100, bits)), chunk(b"data", &data)]));
        files.push(wav(&[
            chunk(b"LIST", b"odd"),
            chunk(b"fmt ", &extensible(1, channels, bits, bits)),
            chunk(b"fact", &[1, 0, 0, 0]),
            chunk(b"data", &data),
            chunk(b"id3 ", b"behind"),
        ]));
    }
    files.push(wav(&[chunk(b"fmt ", &format(3, 2, 48_000, 32)), chunk(b"data", &floats)]));
    files.push(wav(&[chunk(b"fmt ", &extensible(3, 1, 64, 64)), chunk(b"data", &[0; 16])]));
    files
}

fn problem(bytes: &[u8]) -> String {
    let fault = decode(bytes).unwrap_err();
    format!("{}; {}", fault.problem, fault.hint)
}

#[test]
fn the_files_that_are_damaged_below_are_valid() {
    for (index, file) in valid_files().iter().enumerate() {
        let sound = decode(file).unwrap_or_else(|fault| panic!("file {index}: {fault:?}"));
        assert!(!sound.samples.is_empty());
    }
}

#[test]
fn bits_that_matter_are_the_upper_ones_of_an_extensible_file() {
    // 24 bits in 32, as the format defines it: the lowest byte is 0.
    let file = wav(&[chunk(b"fmt ", &extensible(1, 1, 32, 24)), chunk(b"data", &[0, 0, 0, 0x40, 0, 0, 0, 0x80])]);
    assert_eq!(decode(&file).unwrap().samples, [0.5, -1.0]);
}

#[test]
fn every_truncation_is_an_error() {
    for file in valid_files() {
        let data = file.windows(4).position(|id| id == b"data").unwrap();
        let size = u32::from_le_bytes(*file[data + 4..].first_chunk().unwrap()) as usize;
        for length in 0..data + 8 + size {
            assert!(decode(&file[..length]).is_err());
        }
    }
}

#[test]
fn other_kinds_of_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sound.wav");
    for (bytes, expected) in [
        (b"fLaC\0\0\0\x22 and so on".as_slice(), "FLAC"),
        (b"OggS\0\x02 and so on", "OGG"),
        (b"ID3\x04\0\0 and so on", "MP3"),
        (b"\xff\xfb\x90\x64 and so on", "MP3"),
        (b"\0\0\0\x20ftypM4A ", "MP4"),
        (b"RIFF\x04\0\0\0AVI ", "RIFF file of the kind \"AVI \""),
        (b"RIFF\x04\0", "ends within"),
        (b"hello", "not those of a WAV file"),
        (b"", "it is empty"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let message = read_wav(&path).unwrap_err().to_string();
        assert!(message.contains(expected) && message.contains("sound.wav"), "{message}");
    }
}

#[test]
fn lies_of_headers_are_errors() {
    let plain = |format: Vec<u8>| wav(&[chunk(b"fmt ", &format), chunk(b"data", &[0; 24])]);
    for (file, expected) in [
        (plain(format(1, 0, 44_100, 16)), "0 channels"),
        (plain(format(1, 1, 0, 16)), "0 samples in a second"),
        (plain(format(1, 1, 44_100, 0)), "integers of 0 bits"),
        (plain(format(1, 1, 44_100, 12)), "integers of 12 bits"),
        (plain(format(1, 1, 44_100, 64)), "integers of 64 bits"),
        (plain(format(3, 1, 44_100, 16)), "floating point numbers of 16 bits"),
        (plain(format(2, 1, 44_100, 16)), "ADPCM"),
        (plain(format(7, 1, 44_100, 8)), "mu-law"),
        (plain(format(1, 1, 44_100, 16)[..15].to_vec()), "only 15 bytes"),
        (plain(extensible(1, 1, 16, 16)[..30].to_vec()), "only 30 bytes"),
        (plain(format(1, 5, 44_100, 16)), "no multiple of the 10"),
        (wav(&[chunk(b"data", &[0; 24])]), "no fmt chunk"),
        (wav(&[chunk(b"fmt ", &format(1, 1, 44_100, 16))]), "ends before its data chunk"),
        (wav(&[chunk(b"fmt ", &format(1, 1, 44_100, 16)), chunk(b"data", &[])]), "no sample"),
        (wav(&[chunk(b"fmt ", &format(3, 1, 8_000, 32)), chunk(b"data", &f32::NAN.to_le_bytes())]), "not a finite"),
    ] {
        let message = problem(&file);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn sizes_that_are_too_large_take_no_memory() {
    let file = wav(&[chunk(b"fmt ", &format(1, 1, 44_100, 16)), chunk(b"data", &[0; 24])]);
    let size = file.len() - 28;
    for (promise, expected) in [
        (26, "should have 26 bytes, but only 24 are left"),
        (0xffff_fff0, "only 24 are left"),
        (u32::MAX, "pipe"),
        (0, "pipe"),
    ] {
        let mut lie = file.clone();
        lie[size..size + 4].copy_from_slice(&promise.to_le_bytes());
        let message = problem(&lie);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_wrong_size_of_the_whole_is_a_remark() {
    let mut file = valid_files()[0].clone();
    file[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    let sound = decode(&file).unwrap();
    assert!(sound.remarks[0].contains("has 92"), "{:?}", sound.remarks);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn damage_never_panics(
        which in 0_usize..12,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        header_flips in prop::collection::vec((0_usize..60, prop::sample::select(vec![0_u8, 1, 2, 127, 255])), 0..3),
        length in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let mut file = valid_files().swap_remove(which);
        for (at, value) in flips {
            let at = at.index(file.len());
            file[at] ^= value;
        }
        for (at, value) in header_flips {
            file[at] = value;
        }
        if cut {
            file.truncate(length.index(file.len()));
        }
        if let Ok(sound) = decode(&file) {
            prop_assert!(sound.samples.iter().all(|sample| sample.is_finite()) && sound.rate > 0);
            prop_assert!(sound.samples.len() <= file.len());
        }
    }
}
