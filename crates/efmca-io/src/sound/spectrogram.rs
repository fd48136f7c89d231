//! The short-time Fourier transform.

use std::f64::consts::PI;

use ndarray::Array2;
use realfft::RealFftPlanner;

use super::{LARGEST_COUNT, refuse_unfinite};
use crate::IoError;

/// The largest number of points: six minutes at 44,100 Hz, longer than any frame of use.
const LARGEST_FFT: usize = 1 << 24;

/// The absolute values of the short-time Fourier transform, bins x frames.
///
/// There are `fft / 2 + 1` bins: bin `k` is at `k * rate / fft` Hz. Frame `t` of `fft` samples, weighted
/// with a periodic Hann window, is centred on sample `t * hop`; there are `samples / hop + 1` of them
/// (rounded down). Beyond the ends of the sound there are zeros. So 2 s at 22,050 Hz with `fft` 2048 and
/// `hop` 512 give 1025 x 87 values.
///
/// The values are not scaled: a tone of amplitude `a` in the middle of a bin, neither the first nor the
/// last, gives `a * fft / 4` there.
///
/// # Errors
///
/// [`IoError::Setting`] if there is no sample or one that is not a finite number, if `fft` is below 2 or
/// above 2^24, if `hop` is 0, or if the result would need more than 4 GiB.
pub fn amplitude_spectrogram(samples: &[f64], fft: usize, hop: usize) -> Result<Array2<f64>, IoError> {
    let setting = |what, value: String, hint| Err(IoError::Setting { what, value, hint });
    if samples.is_empty() {
        return setting("the number of samples of the sound", "0".into(), "give at least one");
    }
    if !(2..=LARGEST_FFT).contains(&fft) {
        return setting("the number of points of a frame", fft.to_string(), "choose one from 2 to 16,777,216");
    }
    if hop == 0 {
        return setting("the distance of the frames", "0 samples".into(), "choose one from 1 on");
    }
    let (bins, frames) = (fft / 2 + 1, samples.len() / hop + 1);
    if bins.checked_mul(frames).is_none_or(|count| count > LARGEST_COUNT) {
        let value = format!("{bins} bins x {frames} frames");
        return setting("the size of the spectrogram", value, "choose frames further apart, or a shorter part");
    }
    refuse_unfinite(samples)?;

    let transform = RealFftPlanner::<f64>::new().plan_fft_forward(fft);
    let window = hann(fft);
    let mut input = transform.make_input_vec();
    let mut output = transform.make_output_vec();
    let mut scratch = transform.make_scratch_vec();
    let mut spectrogram = Array2::zeros((bins, frames));
    for (frame, mut column) in spectrogram.columns_mut().into_iter().enumerate() {
        fill(&mut input, samples, frame * hop, &window);
        transform.process_with_scratch(&mut input, &mut output, &mut scratch).map_err(|error| IoError::Setting {
            what: "the transform of a frame",
            value: format!("not possible ({error})"),
            hint: "please report this as a defect of efmca-io",
        })?;
        for (value, bin) in column.iter_mut().zip(&output) {
            *value = bin.norm();
        }
    }
    Ok(spectrogram)
}

/// Puts the samples around `centre` into `frame`, weighted; zeros where there are none.
fn fill(frame: &mut [f64], samples: &[f64], centre: usize, window: &[f64]) {
    let half = frame.len() / 2;
    let start = centre.saturating_sub(half);
    let missing = half.saturating_sub(centre);
    let samples = samples.get(start..).unwrap_or_default();
    frame.fill(0.0);
    for ((value, weight), sample) in frame.iter_mut().zip(window).skip(missing).zip(samples) {
        *value = weight * sample;
    }
}

/// The periodic Hann window: of `count` points, the one after the last would be the first again.
fn hann(count: usize) -> Vec<f64> {
    (0..count).map(|n| 0.5 - 0.5 * (2.0 * PI * n as f64 / count as f64).cos()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by its definition, one sum for each value.
    fn by_sums(samples: &[f64], fft: usize, hop: usize) -> Array2<f64> {
        Array2::from_shape_fn((fft / 2 + 1, samples.len() / hop + 1), |(bin, frame)| {
            let (mut re, mut im) = (0.0, 0.0);
            for n in 0..fft {
                let at = (frame * hop + n) as isize - (fft / 2) as isize;
                let sample = usize::try_from(at).ok().and_then(|at| samples.get(at)).copied().unwrap_or(0.0);
                let weight = 0.5 * (1.0 - (2.0 * PI * n as f64 / fft as f64).cos());
                let angle = 2.0 * PI * ((bin * n) % fft) as f64 / fft as f64;
                re += sample * weight * angle.cos();
                im -= sample * weight * angle.sin();
            }
            f64::hypot(re, im)
        })
    }

    fn tone(count: usize) -> Vec<f64> {
        (0..count).map(|n| 0.6 * (0.37 * n as f64 + 0.2).sin()).collect()
    }

    #[test]
    fn values_are_those_of_the_definition() {
        for (count, fft, hop) in [(300, 64, 16), (300, 64, 50), (301, 45, 7), (20, 64, 16), (1, 2, 1), (10, 4, 99)] {
            let (found, expected) =
                (amplitude_spectrogram(&tone(count), fft, hop).unwrap(), by_sums(&tone(count), fft, hop));
            assert_eq!(found.dim(), expected.dim());
            assert!((&found - &expected).iter().all(|error| error.abs() < 1e-12), "{count} {fft} {hop}");
        }
    }

    #[test]
    fn values_are_those_of_scipy() {
        // import numpy as np; from scipy.signal import get_window
        // n = np.arange(40); x = np.sin(0.7 * n) + 0.01 * n
        // p = np.pad(x, 8); w = get_window("hann", 16)
        // s = np.abs(np.array([np.fft.rfft(w * p[t:t + 16]) for t in range(0, 41, 4)])).T
        // for k, t in [(0, 0), (2, 0), (2, 5), (3, 5), (8, 5), (1, 10)]: print(k, t, s[k, t])
        let samples: Vec<f64> = (0..40).map(f64::from).map(|n| (0.7 * n).sin() + 0.01 * n).collect();
        let found = amplitude_spectrogram(&samples, 16, 4).unwrap();
        assert_eq!(found.dim(), (9, 11));
        for (bin, frame, expected) in [
            (0, 0, 2.046110092048284),
            (2, 0, 1.953787565249511),
            (2, 5, 3.899269631352558),
            (3, 5, 1.360920110907736),
            (8, 5, 0.005144634381622826),
            (1, 10, 3.071963593717138),
        ] {
            let value: f64 = found[[bin, frame]];
            assert!((value - expected).abs() < 1e-12, "{bin} {frame}: {value} {expected}");
        }
    }

    #[test]
    fn a_tone_in_the_middle_of_a_bin_has_a_quarter_of_the_points() {
        let samples: Vec<f64> = (0..44_100).map(|n| 0.5 * (2.0 * PI * 100.0 * f64::from(n) / 2048.0).sin()).collect();
        let found = amplitude_spectrogram(&samples, 2048, 512).unwrap();
        assert_eq!(found.dim(), (1025, 87));
        for frame in 2..84 {
            assert!((found[[100, frame]] - 0.5 * 2048.0 / 4.0).abs() < 1e-9);
            assert!((found[[101, frame]] - 0.5 * 2048.0 / 8.0).abs() < 1e-9);
            assert!(found[[102, frame]] < 1e-9);
        }
    }

    /// Squares of periodic Hann windows a quarter of their length apart add up to 3/2.
    #[test]
    fn the_energy_is_kept() {
        let (fft, hop) = (256, 64);
        let mut samples = tone(4_096);
        samples[..128].fill(0.0);
        samples[4_096 - 128..].fill(0.0);
        let found = amplitude_spectrogram(&samples, fft, hop).unwrap();
        let mut energy = 0.0;
        for (bin, row) in found.rows().into_iter().enumerate() {
            let times = if bin == 0 || bin == fft / 2 { 1.0 } else { 2.0 };
            energy += times * row.iter().map(|value| value * value).sum::<f64>() / fft as f64;
        }
        let expected = 1.5 * samples.iter().map(|sample| sample * sample).sum::<f64>();
        assert!((energy / expected - 1.0).abs() < 1e-12, "{energy} {expected}");
    }

    #[test]
    fn settings_without_meaning_are_refused() {
        for (count, fft, hop) in [
            (0, 64, 16),
            (9, 0, 1),
            (9, 1, 1),
            (9, usize::MAX, 1),
            (9, LARGEST_FFT + 1, 1),
            (9, 64, 0),
            (200, LARGEST_FFT, 1),
        ] {
            assert!(amplitude_spectrogram(&tone(count), fft, hop).is_err(), "{count} {fft} {hop}");
        }
        let error = amplitude_spectrogram(&[0.0, f64::INFINITY], 2, 1).unwrap_err().to_string();
        assert!(error.contains("inf (at position 1"), "{error}");
        assert_eq!(amplitude_spectrogram(&[1.0], 2, usize::MAX).unwrap().dim(), (2, 1));
    }
}
