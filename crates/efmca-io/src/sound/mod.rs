//! Sounds as data: WAV files become samples of one channel ([`read_wav`]), at another rate if needed
//! ([`Sound::resampled`]), and these an amplitude spectrogram ([`amplitude_spectrogram`]).
//!
//! ```
//! use efmca_io::sound::{Sound, amplitude_spectrogram};
//!
//! # fn main() -> Result<(), efmca_io::IoError> {
//! let tone = (0..96_000).map(|n| (0.1 * f64::from(n)).sin()).collect();
//! let sound = Sound::new(tone, 48_000).cut(0.0, 2.0)?.resampled(22_050)?;
//! assert_eq!(amplitude_spectrogram(&sound.samples, 2048, 512)?.dim(), (1025, 87));
//! # Ok(())
//! # }
//! ```

mod chunks;
#[cfg(test)]
mod damage_tests;
mod format;
mod resample;
mod spectrogram;
mod wav;

pub use spectrogram::amplitude_spectrogram;
pub use wav::{read_wav, read_wav_bytes};

use ndarray::{Array2, s};

use crate::IoError;

/// The largest number of samples, or of values of a spectrogram: 4 GiB of doubles.
const LARGEST_COUNT: usize = 1 << 29;

/// The spectrograms of the EF-MCA paper: samples a second, points of the transform, samples between frames.
pub const PAPER_SPECTROGRAM: (u32, usize, usize) = (22_050, 2048, 512);

/// A sound of one channel.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Sound {
    /// The samples; full scale is 1.
    pub samples: Vec<f64>,
    /// How many samples there are in a second.
    pub rate: u32,
    /// Notes for the user: channels that were averaged, sizes that are not right.
    pub remarks: Vec<String>,
}

impl Sound {
    /// A sound of these samples, `rate` of them in a second.
    pub fn new(samples: Vec<f64>, rate: u32) -> Self {
        Self { samples, rate, remarks: Vec::new() }
    }

    /// How long it is, in seconds.
    fn seconds(&self) -> f64 {
        self.samples.len() as f64 / f64::from(self.rate)
    }

    /// The part of `seconds` from `start` (in seconds, too) on, both to the nearest sample.
    ///
    /// # Errors
    ///
    /// [`IoError::Setting`] if the part has no sample or is not within the sound.
    pub fn cut(&self, start: f64, seconds: f64) -> Result<Self, IoError> {
        let setting = |what, value: String, hint| Err(IoError::Setting { what, value, hint });
        if !(start.is_finite() && start >= 0.0) {
            return setting("the start of the part", format!("{start} s"), "give a number of seconds from 0 on");
        }
        if !seconds.is_finite() {
            return setting("the length of the part", format!("{seconds} s"), "give a number of seconds above 0");
        }
        let rate = f64::from(self.rate);
        // Casts of floats saturate, so that a part from far beyond the end is found to be outside.
        let (first, count) = ((start * rate).round() as usize, (seconds * rate).round() as usize);
        if count == 0 {
            let value = format!("{seconds} s, which is no sample at {} in a second", self.rate);
            return setting("the length of the part", value, "give a larger number of seconds");
        }
        let part = first.checked_add(count).and_then(|end| self.samples.get(first..end));
        let Some(part) = part else {
            let value = format!("{} s, but the sound ends at {} s", start + seconds, self.seconds());
            return setting("the end of the part", value, "choose an earlier start or a shorter part");
        };
        Ok(Self { samples: part.to_vec(), rate: self.rate, remarks: self.remarks.clone() })
    }

    /// The amplitudes of the paper's spectrogram (frequencies x frames), up to the highest frequency that was recorded and with NaN
    /// where they are exactly zero; with remarks on what was left out.
    ///
    /// # Errors
    ///
    /// Those of [`Sound::resampled`] and [`amplitude_spectrogram`].
    pub fn recorded_amplitudes(&self) -> Result<(Array2<f64>, Vec<String>), IoError> {
        let mut remarks = self.remarks.clone();
        let (rate, fft, hop) = PAPER_SPECTROGRAM;
        let mut amplitudes = amplitude_spectrogram(&self.resampled(rate)?.samples, fft, hop)?;
        if self.rate < rate {
            remarks.push(format!(
                "it has {} samples per second, so frequencies above {} Hz are empty and are left out",
                self.rate,
                self.rate / 2
            ));
            // above the recorded frequencies there is only what the resampling left
            let top = fft as u64 / 2 * u64::from(self.rate) * 9 / 10 / u64::from(rate);
            amplitudes = amplitudes.slice(s![..=top as usize, ..]).to_owned();
        }
        let zeros = amplitudes.iter().filter(|value| **value == 0.0).count();
        if zeros > 0 {
            remarks.push(format!("{zeros} amplitudes are exactly zero (digital silence) and are left out"));
            amplitudes.mapv_inplace(|value| if value == 0.0 { f64::NAN } else { value });
        }
        Ok((amplitudes, remarks))
    }

    /// The same sound at `rate` samples in a second, or a copy if that is its rate.
    ///
    /// Sample `n` of the result is the sound at `n / rate` seconds: nothing is delayed. There are
    /// `samples * rate / self.rate` of them, rounded up. Beyond the ends of the sound there are zeros.
    /// Frequencies up to 90 % of half the lower rate are kept to 1 part in 10,000; what is above half of
    /// it, and would come back as other frequencies, is damped by about 100 dB.
    ///
    /// # Errors
    ///
    /// [`IoError::Setting`] if one of the rates is 0 or more than 256 times the other, if a sample is
    /// not a finite number, or if the result would need more than 4 GiB.
    pub fn resampled(&self, rate: u32) -> Result<Self, IoError> {
        let samples = resample::resample(&self.samples, self.rate, rate)?;
        Ok(Self { samples, rate, remarks: self.remarks.clone() })
    }
}

/// Refuses NaN and infinities: they would spread over all that is made of the samples.
fn refuse_unfinite(samples: &[f64]) -> Result<(), IoError> {
    match samples.iter().position(|sample| !sample.is_finite()) {
        None => Ok(()),
        Some(at) => Err(IoError::Setting {
            what: "a sample of the sound",
            value: format!("{} (at position {at}, from 0)", samples[at]),
            hint: "give samples that are finite numbers",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting() -> Sound {
        Sound::new((0..100).map(f64::from).collect(), 10)
    }

    #[test]
    fn a_part_begins_and_ends_at_the_nearest_samples() {
        let part = counting().cut(1.24, 0.5).unwrap();
        assert_eq!(part.samples, [12.0, 13.0, 14.0, 15.0, 16.0]);
        assert_eq!(part.rate, 10);
        assert_eq!(counting().cut(0.0, 10.0).unwrap(), counting());
    }

    #[test]
    fn a_part_outside_is_refused_with_the_end_of_the_sound() {
        let message = counting().cut(8.0, 3.0).unwrap_err().to_string();
        assert_eq!(
            message,
            "the end of the part is 11 s, but the sound ends at 10 s; choose an earlier start or a shorter part"
        );
        for (start, seconds) in [(10.0, 0.1), (1e300, 1.0), (1.0, 1e300), (f64::MAX, f64::MAX)] {
            assert!(counting().cut(start, seconds).is_err(), "{start} {seconds}");
        }
    }

    #[test]
    fn a_part_of_nothing_is_refused() {
        for (start, seconds) in [(0.0, 0.0), (0.0, 0.01), (0.0, -1.0), (-1.0, 2.0), (f64::NAN, 1.0), (0.0, f64::NAN)] {
            assert!(counting().cut(start, seconds).is_err(), "{start} {seconds}");
        }
        assert!(Sound::new(vec![1.0], 0).cut(0.0, 1.0).is_err());
    }
}
