//! Sounds: read, cut, at another rate, and as a spectrogram.

use std::path::Path;

use efmca_io::sound::{amplitude_spectrogram, read_wav_bytes};

use crate::said;

pub(crate) fn wav(bytes: &[u8]) {
    let Some(sound) = said(read_wav_bytes(bytes, Path::new("sound.wav"))) else { return };
    assert!(!sound.samples.is_empty() && sound.samples.iter().all(|sample| sample.is_finite()));
    // what costs time is tried with the beginning
    let seconds = 24.0 / f64::from(sound.rate.max(1));
    let Some(part) = said(sound.cut(0.0, seconds)) else { return };
    if part.rate < 200_000 {
        said(part.resampled(part.rate / 2 + 1));
    }
    if let Some(amplitudes) = said(amplitude_spectrogram(&part.samples, 16, 5)) {
        assert!(amplitudes.iter().all(|amplitude| !amplitude.is_nan()));
    }
}
