//! Reading WAV files.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use super::chunks::{Chunks, Fault, HEADER, check_kind};
use super::format::Format;
use super::{LARGEST_COUNT, Sound};
use crate::IoError;
use crate::error::hint_for_reading;
use crate::whole::unchanged;

/// Reads a WAV file: integers of 8, 16, 24 or 32 bits, or floating point numbers of 32 or 64, and
/// any number of channels, which are averaged (with a remark).
///
/// Formats with and without `WAVE_FORMAT_EXTENSIBLE` are read, compressed ones are not.
///
/// # Errors
///
/// [`IoError::Read`] if the file cannot be read, [`IoError::NotASound`] if it is damaged, cut short, of
/// a kind that is not known, empty, or has more samples than fit in 4 GiB.
pub fn read_wav(path: &Path) -> Result<Sound, IoError> {
    let failed =
        |source: std::io::Error| IoError::Read { path: path.to_path_buf(), hint: hint_for_reading(&source), source };
    let file = File::open(path).map_err(failed)?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(failed(ErrorKind::IsADirectory.into()));
    }
    let bytes = unchanged(&file, path, || bytes_of(&file, path))?;
    decode(&bytes).map_err(|fault| fault.when_reading(path))
}

fn bytes_of(mut file: &File, path: &Path) -> Result<Vec<u8>, IoError> {
    let failed =
        |source: std::io::Error| IoError::Read { path: path.to_path_buf(), hint: hint_for_reading(&source), source };
    let mut bytes = Vec::new();
    // The first bytes tell whether the rest is worth its memory.
    file.by_ref().take(HEADER as u64).read_to_end(&mut bytes).map_err(failed)?;
    check_kind(&bytes).map_err(|fault| fault.when_reading(path))?;
    // No size in a WAV file has more than 32 bits, so that all that counts lies within.
    file.take(u64::from(u32::MAX)).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// The same for a file that is in memory already; `path` is what messages call it.
///
/// # Errors
///
/// [`IoError::NotASound`] as [`read_wav`].
pub fn read_wav_bytes(bytes: &[u8], path: &Path) -> Result<Sound, IoError> {
    decode(bytes).map_err(|fault| fault.when_reading(path))
}

/// The sound in the bytes of a WAV file.
pub(super) fn decode(bytes: &[u8]) -> Result<Sound, Fault> {
    check_kind(bytes)?;
    let Chunks { format, data, mut remarks } = Chunks::find(bytes)?;
    let format = Format::parse(format)?;
    let block = format.block();
    if data.len() % block != 0 {
        return Err(Fault::damaged(format!(
            "its data chunk has {} bytes, which is no multiple of the {block} for one sample of {} channel(s)",
            data.len(),
            format.channels
        )));
    }
    let count = data.len() / block;
    if count > LARGEST_COUNT {
        return Err(Fault::new(
            format!("it has {count} samples, more than the {LARGEST_COUNT} allowed"),
            "cut it into smaller parts",
        ));
    }
    let samples: Vec<f64> = data.chunks_exact(block).map(|block| format.mean(block)).collect();
    if let Some(at) = samples.iter().position(|sample| !sample.is_finite()) {
        return Err(Fault::damaged(format!("its sample {at}, from 0, is not a finite number")));
    }
    if format.channels > 1 {
        remarks.push(format!("its {} channels were averaged", format.channels));
    }
    Ok(Sound { samples, rate: format.rate, remarks })
}

#[cfg(test)]
mod tests {
    use hound::{SampleFormat, WavSpec, WavWriter};

    use super::*;

    /// Writes a file with another program's writer and reads it back.
    fn through_a_file<S: hound::Sample + Copy>(samples: &[S], channels: u16, bits: u16, kind: SampleFormat) -> Sound {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sound.wav");
        let spec = WavSpec { channels, sample_rate: 16_000, bits_per_sample: bits, sample_format: kind };
        let mut writer = WavWriter::create(&path, spec).unwrap();
        for sample in samples {
            writer.write_sample(*sample).unwrap();
        }
        writer.finalize().unwrap();
        read_wav(&path).unwrap()
    }

    #[test]
    fn integers_of_all_widths_have_full_scale_1() {
        for bits in [8_u16, 16, 24, 32] {
            let half = 1_i32 << (bits - 2);
            let largest = half - 1 + half;
            let sound = through_a_file(&[0, half, -half, largest, -largest - 1], 1, bits, SampleFormat::Int);
            let full = 2.0 * f64::from(half);
            assert_eq!(sound.samples, [0.0, 0.5, -0.5, f64::from(largest) / full, -1.0], "{bits} bits");
            assert_eq!(sound.rate, 16_000);
            assert!(sound.remarks.is_empty());
        }
    }

    #[test]
    fn floats_are_kept() {
        let sound = through_a_file(&[0.25_f32, -1.5, 1e-9], 1, 32, SampleFormat::Float);
        assert_eq!(sound.samples, [0.25, -1.5, f64::from(1e-9_f32)]);
    }

    #[test]
    fn channels_are_averaged_with_a_remark() {
        for bits in [16, 24] {
            let sound = through_a_file(&[1_i32 << 12, 3 << 12, -(1 << 12), 0, 0, 1 << 13], 2, bits, SampleFormat::Int);
            let unit = f64::from(1 << 12) / f64::from(1_u32 << (bits - 1));
            assert_eq!(sound.samples, [2.0 * unit, -0.5 * unit, unit]);
            assert_eq!(sound.remarks, ["its 2 channels were averaged"]);
        }
        let sound = through_a_file(&[0.5_f32; 10], 5, 32, SampleFormat::Float);
        assert_eq!(sound.samples, [0.5, 0.5]);
    }

    #[test]
    fn what_the_system_says_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing.wav");
        let message = read_wav(&missing).unwrap_err().to_string();
        assert!(message.contains("missing.wav") && message.contains("check that the path is right"), "{message}");
        let message = read_wav(folder.path()).unwrap_err().to_string();
        assert!(message.contains("is a folder"), "{message}");
    }
}
