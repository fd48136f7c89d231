//! Waves to start a fit from: the peaks of the Fourier spectrum of a field, and a grid of orientations and wavelengths.

use std::f64::consts::{PI, TAU};

use super::field::Field;

/// Peaks of the spectrum that are taken.
const PEAKS: usize = 5;
/// Orientations of the grid, and its wavelengths as shares of the longer side.
const ORIENTATIONS: usize = 6;
const WAVELENGTHS: [f64; 4] = [1.5, 0.9, 0.55, 0.33];

/// Orientations and frequencies (cycles per pixel) within the two bounds.
pub(super) fn waves(field: &Field, lowest: f64, highest: f64) -> Vec<(f64, f64)> {
    let mut waves = peaks(field, lowest, highest);
    for step in 0..ORIENTATIONS {
        let theta = PI * step as f64 / ORIENTATIONS as f64;
        waves.extend(WAVELENGTHS.map(|share| (theta, (1.0 / (share * field.side())).clamp(lowest, highest))));
    }
    waves
}

/// The highest peaks of the power of the field without its mean, at half of the spacing of frequencies that the patch resolves.
fn peaks(field: &Field, lowest: f64, highest: f64) -> Vec<(f64, f64)> {
    let n = 2 * field.rows.max(field.columns);
    let turn: Vec<(f64, f64)> = (0..n).map(|at| (TAU * at as f64 / n as f64).sin_cos()).collect();
    let half = n / 2;
    // along the rows, for the frequencies i / n from 0 to one half: the other half plane is its mirror image
    let mut along = vec![(0.0, 0.0); field.rows * (half + 1)];
    for row in 0..field.rows {
        for i in 0..=half {
            let sum = &mut along[row * (half + 1) + i];
            for (column, value) in field.row(row).iter().enumerate() {
                let (sin, cos) = turn[(i * column) % n];
                sum.0 += (value - field.mean) * cos;
                sum.1 -= (value - field.mean) * sin;
            }
        }
    }
    let mut power = Vec::with_capacity((half + 1) * n);
    for i in 0..=half {
        for j in 0..n {
            let fx = i as f64 / n as f64;
            let fy = if j <= half { j as f64 } else { j as f64 - n as f64 } / n as f64;
            if !(lowest..=highest).contains(&fx.hypot(fy)) {
                continue;
            }
            let (mut real, mut imaginary) = (0.0, 0.0);
            for row in 0..field.rows {
                let (a, b) = along[row * (half + 1) + i];
                let (sin, cos) = turn[(j * row) % n];
                real += a * cos + b * sin;
                imaginary += b * cos - a * sin;
            }
            power.push((real * real + imaginary * imaginary, fx, fy));
        }
    }
    power.sort_by(|a, b| b.0.total_cmp(&a.0));
    let apart = 1.5 / field.side();
    let mut peaks: Vec<(f64, f64)> = Vec::new();
    for (_, fx, fy) in power {
        let new = |(x, y): &(f64, f64)| (fx - x).hypot(fy - y) >= apart && (fx + x).hypot(fy + y) >= apart;
        if peaks.len() < PEAKS && peaks.iter().all(new) {
            peaks.push((fx, fy));
        }
    }
    peaks.into_iter().map(|(fx, fy)| (fy.atan2(fx), fx.hypot(fy))).collect()
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    #[test]
    fn the_highest_peak_is_the_wave_of_a_grating() {
        for (theta, f) in [(0.3_f64, 0.2_f64), (2.0, 0.35), (1.2, 0.12)] {
            let wave = |(row, column): (usize, usize)| {
                (TAU * f * (column as f64 * theta.cos() + row as f64 * theta.sin()) + 0.7).cos()
            };
            let field = Field::new(Array2::from_shape_fn((14, 12), wave).view()).expect("a field");
            let found = peaks(&field, 0.05, 0.5)[0];
            let apart = |sign: f64| {
                (found.1 * found.0.cos() - sign * f * theta.cos())
                    .hypot(found.1 * found.0.sin() - sign * f * theta.sin())
            };
            assert!(apart(1.0).min(apart(-1.0)) < 0.04, "{found:?} for {theta} {f}");
        }
    }
}
