//! The Gabor function that is nearest to a field.

use std::f64::consts::{LN_2, PI, TAU};

use serde::Serialize;

use super::field::{Field, share_of_pixels};
use super::least_squares::{Bounds, Form, search};
use super::waves::waves;

/// The smallest width of an envelope in pixels: the neighbours of a pixel in the middle of one have 4 % of its height.
pub(super) const NARROWEST: f64 = 0.4;
/// The shortest wave in pixels. Diagonal waves could be shorter without being mistaken for others; they are not fitted.
const SHORTEST: f64 = 2.0;
/// The longest wave, in longer sides of the field.
const LONGEST: f64 = 2.0;
/// Widths and lengths of the envelopes that a fit starts from, as shares of the longer side.
const ENVELOPES: [(f64, f64); 5] = [(0.1, 0.1), (0.17, 0.17), (0.29, 0.29), (0.1, 0.3), (0.3, 0.06)];
/// A field is where its envelope is above this share of its peak, exp(-1.5^2 / 2): within one and a half widths.
pub(super) const EDGE: f64 = 0.324_652_467_358_349_74;

/// A Gabor function with widths of its own along and across the wave,
/// ```math
/// g(x, y) = a \exp\left(-\frac{u^2}{2 \sigma_u^2} - \frac{v^2}{2 \sigma_v^2}\right) \cos(2 \pi f u + \varphi),
/// ```
/// with $`u = (x - x_0) \cos\theta + (y - y_0) \sin\theta`$ and $`v = -(x - x_0) \sin\theta + (y - y_0) \cos\theta`$.
///
/// Of the functions that are the same, the one with $`a \ge 0`$, $`0 \le \theta < \pi`$, $`f > 0`$ and
/// $`-\pi < \varphi \le \pi`$ is given. A fit stays within bounds: its centre in the picture, its widths between
/// 0.4 pixels and the longer side, its wavelength between 2 pixels and two longer sides. A field
/// without a wave (a bar, a step, a blob) ends at or near the longest wavelength, so $`f`$ means little there, and $`a`$ is not
/// its height if the phase is near $`\pm\pi/2`$ ([`Gabor::cycles`] tells: far less than a half).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Gabor {
    /// The column of the centre.
    pub(crate) x: f64,
    /// The row of the centre.
    pub(crate) y: f64,
    /// The direction of the wave, across its stripes, from the x axis towards the rows below.
    pub(crate) theta: f64,
    /// Cycles per pixel.
    pub(crate) frequency: f64,
    /// The width (standard deviation) in the direction of the wave.
    pub(crate) width: f64,
    /// The width (standard deviation) along the stripes.
    pub(crate) length: f64,
    pub(crate) amplitude: f64,
    pub(crate) phase: f64,
    /// The share of the variance that is explained, about the mean of the field.
    pub(crate) r2: f64,
    /// Whether a width, the centre or the wavelength ended at a bound.
    pub(crate) at_bound: bool,
}

impl Gabor {
    /// The least-squares fit; `None` only if a field has no pixels to start from, which [`Field`] rules out.
    pub(crate) fn fit(field: &Field) -> Option<Self> {
        let side = field.side();
        let (lowest, highest) = (1.0 / (LONGEST * side), 1.0 / SHORTEST);
        let bounds = Bounds {
            low: [-0.5, -0.5, f64::NEG_INFINITY, lowest, NARROWEST.ln(), NARROWEST.ln()],
            high: [field.columns as f64 - 0.5, field.rows as f64 - 0.5, f64::INFINITY, highest, side.ln(), side.ln()],
        };
        let (mut starts, centres) = (Vec::new(), field.centres());
        for (wave, (theta, f)) in waves(field, lowest, highest).into_iter().enumerate() {
            for (centre, (x, y)) in centres.into_iter().enumerate() {
                let label = 3 * wave + centre;
                starts.extend(
                    ENVELOPES
                        .map(|(width, length)| (label, [x, y, theta, f, (width * side).ln(), (length * side).ln()])),
                );
            }
        }
        let best = search::<Wave, 2, 6>(field, &starts, &bounds)?;
        let [x, y, turned, frequency, width, length] = best.q;
        let mut half_turns = (turned / PI).floor();
        if turned - half_turns * PI >= PI {
            // an angle just below zero, to which rounding adds a whole half turn
            half_turns += 1.0;
        }
        let theta = (turned - half_turns * PI).max(0.0);
        // half a turn reverses the wave, and with it the sign of its odd part
        let odd = if half_turns.rem_euclid(2.0) == 0.0 { best.c[1] } else { -best.c[1] };
        let at_bound = (0..6).any(|k| best.q[k] <= bounds.low[k] || best.q[k] >= bounds.high[k]);
        Some(Self {
            x,
            y,
            theta,
            frequency,
            width: width.exp(),
            length: length.exp(),
            amplitude: best.c[0].hypot(odd) * field.scale,
            phase: (-odd).atan2(best.c[0]),
            r2: field.r2(best.sse),
            at_bound,
        })
    }

    #[cfg(test)]
    /// The function at a pixel.
    pub(crate) fn at(&self, x: f64, y: f64) -> f64 {
        let (u, _) = self.turned(x, y);
        self.amplitude * self.envelope(x, y) * (TAU * self.frequency * u + self.phase).cos()
    }

    fn turned(&self, x: f64, y: f64) -> (f64, f64) {
        let (sin, cos) = self.theta.sin_cos();
        ((x - self.x) * cos + (y - self.y) * sin, (y - self.y) * cos - (x - self.x) * sin)
    }

    fn envelope(&self, x: f64, y: f64) -> f64 {
        let (u, v) = self.turned(x, y);
        (-0.5 * ((u / self.width).powi(2) + (v / self.length).powi(2))).exp()
    }

    /// The share of a picture that is within one and a half widths of the centre.
    pub(crate) fn cover(&self, rows: usize, columns: usize) -> f64 {
        share_of_pixels(rows, columns, |x, y| self.envelope(x, y) >= EDGE)
    }

    /// How much longer the envelope is along the stripes than across them.
    pub(crate) fn aspect(&self) -> f64 {
        self.length / self.width
    }

    /// Cycles of the wave in one width along it and along the stripes, $`(\sigma_u f, \sigma_v f)`$.
    pub(crate) fn cycles(&self) -> (f64, f64) {
        (self.width * self.frequency, self.length * self.frequency)
    }

    /// The octaves between the frequencies of half response,
    /// ```math
    /// b = \log_2 \frac{\pi \sigma_u f + \sqrt{\ln 2 / 2}}{\pi \sigma_u f - \sqrt{\ln 2 / 2}},
    /// ```
    /// and infinite where the lower one is zero: such a field responds to any low frequency.
    pub(crate) fn bandwidth(&self) -> f64 {
        let (centre, half) = (PI * self.width * self.frequency, (LN_2 / 2.0).sqrt());
        if centre > half { ((centre + half) / (centre - half)).log2() } else { f64::INFINITY }
    }
}

/// The even and the odd part of a Gabor function, with (x, y, theta, f, ln width, ln length).
struct Wave;

impl Form<2, 6> for Wave {
    fn at(&[x0, y0, theta, f, width, length]: &[f64; 6]) -> impl Fn(f64, f64) -> ([f64; 2], [[f64; 6]; 2]) {
        let (sin, cos) = theta.sin_cos();
        let (per_width, per_length) = ((-2.0 * width).exp(), (-2.0 * length).exp());
        move |x, y| {
            let u = (x - x0) * cos + (y - y0) * sin;
            let v = (y - y0) * cos - (x - x0) * sin;
            let (uu, vv) = (u * per_width, v * per_length);
            let envelope = (-0.5 * (u * uu + v * vv)).exp();
            let (s, c) = (TAU * f * u).sin_cos();
            let (even, odd) = (envelope * c, envelope * s);
            // `turn` is the part of the derivative by u that comes from the wave, without 2 pi f
            let slopes = |value: f64, turn: f64| {
                let (by_u, by_v) = (TAU * f * turn - value * uu, -value * vv);
                [
                    by_v * sin - by_u * cos,
                    -by_u * sin - by_v * cos,
                    by_u * v - by_v * u,
                    TAU * u * turn,
                    value * u * uu,
                    value * v * vv,
                ]
            };
            ([even, odd], [slopes(even, -odd), slopes(odd, even)])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::natural::planted::{Noise, gabor, picture};

    /// Gabor functions of many kinds that fit into 12 x 12.
    fn planted() -> Vec<Gabor> {
        let mut planted = Vec::new();
        for (i, theta) in [0.0, 0.4, 1.1, 1.6, 2.3, 3.1].into_iter().enumerate() {
            for (j, (frequency, width, length)) in
                [(0.12, 2.2, 3.0), (0.2, 1.6, 2.4), (0.3, 1.5, 1.6), (0.24, 2.6, 1.8)].into_iter().enumerate()
            {
                let (x, y) = (4.6 + 0.5 * i as f64, 7.0 - 0.6 * j as f64);
                let phase = -3.0 + (i * 4 + j) as f64 * 0.26;
                planted.push(gabor([x, y, theta, frequency, width, length, 0.3, phase]));
            }
        }
        planted
    }

    /// The distance of two angles of which `period` is a turn.
    fn apart(a: f64, b: f64, period: f64) -> f64 {
        let turn = (a - b).rem_euclid(period);
        turn.min(period - turn)
    }

    #[test]
    fn derivatives_are_those_of_the_functions() {
        let q = [3.2, 4.1, 0.8, 0.17, 0.6, 0.9];
        let (_, slopes) = Wave::at(&q)(5.0, 3.0);
        for k in 0..6 {
            let moved = |step: f64| {
                let mut q = q;
                q[k] += step;
                Wave::at(&q)(5.0, 3.0).0
            };
            let (up, down) = (moved(1e-5), moved(-1e-5));
            for l in 0..2 {
                assert!(((up[l] - down[l]) / 2e-5 - slopes[l][k]).abs() < 1e-8, "part {l}, parameter {k}");
            }
        }
    }

    #[test]
    fn planted_functions_are_found_exactly() {
        for truth in planted() {
            let field = Field::new(picture(12, 12, |x, y| truth.at(x, y)).view()).expect("a field");
            let fit = Gabor::fit(&field).expect("a fit");
            assert!(fit.r2 > 1.0 - 1e-8, "{fit:?} for {truth:?}");
            // at theta = 0 half a turn may have been taken, which reverses the phase
            let reversed = (fit.theta - truth.theta).cos() < 0.0;
            assert!(apart(fit.theta, truth.theta, PI) < 1e-3, "{fit:?} for {truth:?}");
            assert!(
                apart(if reversed { -fit.phase } else { fit.phase }, truth.phase, TAU) < 1e-2,
                "{fit:?} for {truth:?}"
            );
            for (a, b) in [
                (fit.x, truth.x),
                (fit.y, truth.y),
                (fit.frequency, truth.frequency),
                (fit.width, truth.width),
                (fit.length, truth.length),
                (fit.amplitude, truth.amplitude),
            ] {
                assert!((a - b).abs() < 5e-3, "{fit:?} for {truth:?}");
            }
        }
    }

    #[test]
    fn noise_costs_what_it_must() {
        let mut noise = Noise::new(1);
        for truth in planted() {
            let clean = picture(12, 12, |x, y| truth.at(x, y));
            let size = (clean.iter().map(|value| value * value).sum::<f64>() / 144.0).sqrt();
            // a fifth of the energy is noise
            let noisy = &clean + &(noise.white(12, 12) * (0.5 * size));
            let field = Field::new(noisy.view()).expect("a field");
            let fit = Gabor::fit(&field).expect("a fit");
            let error = (&noisy - &clean).iter().map(|value| value * value).sum::<f64>() / field.scale.powi(2);
            let truth_r2 = field.r2(error);
            assert!(fit.r2 >= truth_r2 - 1e-9, "the truth fits better: {truth_r2} for {fit:?}");
            assert!(fit.r2 < truth_r2 + 0.6 * (1.0 - truth_r2), "{fit:?}");
            assert!(apart(fit.theta, truth.theta, PI) < 0.35, "{fit:?} for {truth:?}");
            assert!((fit.frequency - truth.frequency).abs() < 0.06, "{fit:?} for {truth:?}");
            assert!((fit.x - truth.x).hypot(fit.y - truth.y) < 1.5, "{fit:?} for {truth:?}");
        }
    }

    #[test]
    fn what_is_given_is_what_was_fitted() {
        let field = Noise::new(2).low_pass(12, 10, 1.0) * 1e-200;
        let fit = Gabor::fit(&Field::new(field.view()).expect("a field")).expect("a fit");
        let mean = field.sum() / 120.0;
        let (mut error, mut spread) = (0.0, 0.0);
        for ((row, column), value) in field.indexed_iter() {
            error += ((value - fit.at(column as f64, row as f64)) * 1e200).powi(2);
            spread += ((value - mean) * 1e200).powi(2);
        }
        assert!((1.0 - error / spread - fit.r2).abs() < 1e-9, "{fit:?}");
        assert!((0.0..PI).contains(&fit.theta));
    }

    #[test]
    fn bandwidth_is_in_octaves() {
        // a width of 0.5 cycles: about 1.14 octaves
        let function = gabor([0.0, 0.0, 0.0, 0.25, 2.0, 3.0, 1.0, 0.0]);
        let (centre, half) = (PI * 0.5, (LN_2 / 2.0).sqrt());
        assert!((function.bandwidth().exp2() * (centre - half) - (centre + half)).abs() < 1e-12);
        assert!((1.1..1.2).contains(&function.bandwidth()));
        assert_eq!(gabor([0.0, 0.0, 0.0, 0.05, 1.0, 1.0, 1.0, 0.0]).bandwidth(), f64::INFINITY);
    }
}
