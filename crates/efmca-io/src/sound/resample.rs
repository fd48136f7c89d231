//! Resampling by a windowed sinc, in exact steps: sample `n` of the result lies at `n * from / to`
//! samples of the source, which is a whole number and a fraction of `to`, never a rounded sum.

use std::f64::consts::PI;

use super::{LARGEST_COUNT, refuse_unfinite};
use crate::IoError;

/// How far the filter reaches to each side, in samples of the lower rate.
const REACH: f64 = 64.0;

/// The shape of the Kaiser window: 0.1102 (A - 8.7) for a damping of A = 100 dB.
const BETA: f64 = 10.06;

/// The middle of the filter's edge, of half the lower rate. With 100 dB and the reach above the edge is
/// 0.1 wide, from 0.9 to 1, so that nothing above half the lower rate gets through.
const EDGE: f64 = 0.95;

/// The largest ratio of two rates: beyond it the filter would be longer than any use of it.
const LARGEST_RATIO: u64 = 256;

pub(super) fn resample(samples: &[f64], from: u32, to: u32) -> Result<Vec<f64>, IoError> {
    let setting = |value: String, hint| Err(IoError::Setting { what: "the new rate of the sound", value, hint });
    let far = |a: u32, b: u32| u64::from(a) > LARGEST_RATIO * u64::from(b);
    if from == 0 || to == 0 || far(from, to) || far(to, from) {
        return setting(
            format!("{to} samples in a second, and the old one {from}"),
            "give rates above 0 of which none is more than 256 times the other",
        );
    }
    refuse_unfinite(samples)?;
    if from == to {
        return Ok(samples.to_vec());
    }
    let common = greatest_common_divisor(from, to);
    let (step, phases) = ((from / common) as usize, (to / common) as usize);
    let count = samples.len().checked_mul(phases).map(|product| product.div_ceil(step));
    let Some(count) = count.filter(|count| *count <= LARGEST_COUNT) else {
        return setting(
            format!("{to} samples in a second, which makes more than {LARGEST_COUNT} in all"),
            "choose a lower rate, or cut the sound into smaller parts",
        );
    };
    let mut resampled = vec![0.0; count];
    // Samples that are `phases` apart lie at the same fraction, and have the same filter.
    for first in 0..phases.min(count) {
        let numerator = first as u64 * step as u64;
        let fraction = (numerator % phases as u64) as f64 / phases as f64;
        let filter = Filter::new(fraction, f64::from(from), f64::from(to));
        let mut centre = (numerator / phases as u64) as usize;
        for sample in resampled.iter_mut().skip(first).step_by(phases) {
            *sample = filter.apply(samples, centre);
            centre += step;
        }
    }
    Ok(resampled)
}

/// The weights of the samples around a place, from `before` samples before it on.
struct Filter {
    weights: Vec<f64>,
    before: usize,
}

impl Filter {
    /// The filter for the place at `fraction` of a sample, from 0 to 1.
    fn new(fraction: f64, from: f64, to: f64) -> Self {
        let scale = (to / from).min(1.0);
        let before = (REACH / scale).floor();
        let length = 2 * before as usize + 2;
        let mut weights: Vec<f64> = (0..length)
            .map(|k| {
                let distance = (k as f64 - before - fraction) * scale;
                sinc(EDGE * distance) * kaiser(distance / REACH)
            })
            .collect();
        // A constant stays the same constant at all fractions.
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= sum);
        Self { weights, before: before as usize }
    }

    /// The weighted sum around `centre`, with zeros beyond the ends.
    fn apply(&self, samples: &[f64], centre: usize) -> f64 {
        let start = centre.saturating_sub(self.before);
        let skipped = self.before.saturating_sub(centre);
        let samples = samples.get(start..).unwrap_or_default();
        self.weights.iter().skip(skipped).zip(samples).map(|(weight, sample)| weight * sample).sum()
    }
}

fn sinc(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) }
}

/// The Kaiser window, without its constant factor, from -1 to 1.
fn kaiser(x: f64) -> f64 {
    let inside = 1.0 - x * x;
    if inside < 0.0 { 0.0 } else { bessel_i0(BETA * inside.sqrt()) }
}

/// The modified Bessel function of order 0 by its series, all of whose terms are positive.
fn bessel_i0(x: f64) -> f64 {
    let quarter = x * x / 4.0;
    let (mut term, mut sum, mut k) = (1.0, 1.0, 1.0);
    while term > 1e-17 * sum {
        term *= quarter / (k * k);
        sum += term;
        k += 1.0;
    }
    sum
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: [(u32, u32); 5] =
        [(44_100, 22_050), (48_000, 22_050), (16_000, 22_050), (22_050, 44_100), (44_100, 16_000)];

    fn tone(hertz: f64, rate: u32, count: usize) -> Vec<f64> {
        (0..count).map(|n| 0.8 * (2.0 * PI * hertz * n as f64 / f64::from(rate) + 0.3).sin()).collect()
    }

    /// The largest difference, but for the 2 % at each end where the tone begins and ends.
    fn difference(found: &[f64], expected: &[f64]) -> f64 {
        assert_eq!(found.len(), expected.len());
        let margin = found.len() / 50;
        let inner = margin..found.len() - margin;
        found[inner.clone()].iter().zip(&expected[inner]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn a_tone_keeps_frequency_amplitude_and_phase() {
        for (from, to) in RATES {
            let half = f64::from(from.min(to)) / 2.0;
            for hertz in [50.0, 440.0, 0.5 * half, 0.9 * half] {
                let found = resample(&tone(hertz, from, from as usize), from, to).unwrap();
                let error = difference(&found, &tone(hertz, to, to as usize));
                assert!(error < 1e-4, "{from} to {to}, {hertz} Hz: {error:e}");
            }
        }
    }

    #[test]
    fn a_tone_above_half_the_new_rate_is_damped() {
        for (from, to) in [(44_100, 22_050), (48_000, 22_050), (44_100, 16_000)] {
            for above in [1.01, 1.1, 1.3] {
                let hertz = above * f64::from(to) / 2.0;
                let found = resample(&tone(hertz, from, from as usize), from, to).unwrap();
                let left = difference(&found, &vec![0.0; to as usize]) / 0.8;
                assert!(left < 1e-4, "{from} to {to}, {hertz} Hz: {left:e}");
            }
        }
    }

    #[test]
    fn numbers_of_samples_are_rounded_up_and_constants_kept() {
        for (count, from, to, expected) in [
            (88_200, 44_100, 22_050, 44_100),
            (96_000, 48_000, 22_050, 44_100),
            (32_000, 16_000, 22_050, 44_100),
            (5, 44_100, 22_050, 3),
            (1, 48_000, 22_050, 1),
            (0, 48_000, 22_050, 0),
            (3, 7, 1_009, 433),
        ] {
            assert_eq!(resample(&vec![1.0; count], from, to).unwrap().len(), expected, "{count} {from} {to}");
        }
        let found = resample(&vec![0.75; 5_000], 48_000, 22_050).unwrap();
        assert!(difference(&found[100..2_100], &[0.75; 2_000]) < 1e-14);
    }

    #[test]
    fn the_same_rate_gives_the_same_samples() {
        assert_eq!(resample(&[1.0, -0.3], 44_100, 44_100).unwrap(), [1.0, -0.3]);
    }

    #[test]
    fn rates_without_meaning_are_refused() {
        for (from, to) in [(0, 1), (1, 0), (0, 0), (1, u32::MAX), (u32::MAX, 1), (1_000, 3), (3, 1_000)] {
            let error = resample(&[1.0; 9], from, to).unwrap_err().to_string();
            assert!(error.contains("256 times"), "{error}");
        }
        assert!(resample(&[1.0, f64::NAN], 2, 1).unwrap_err().to_string().contains("position 1"));
        // Rates without a common divisor, as large as they can be, take no memory.
        assert_eq!(resample(&[1.0; 9], u32::MAX, u32::MAX - 1).unwrap().len(), 9);
    }

    #[test]
    fn the_window_is_that_of_scipy() {
        // from scipy.special import i0; [i0(x) for x in (0.5, 10.06)]
        for (x, expected) in [(0.5, 1.0634833707413234), (10.06, 2980.652664652709)] {
            assert!((bessel_i0(x) / expected - 1.0).abs() < 1e-14, "{x} {}", bessel_i0(x));
        }
    }
}
