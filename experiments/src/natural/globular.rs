//! The globular field that is nearest to a field: a Gaussian blob, or a centre with a surround.

use std::f64::consts::{FRAC_PI_4, LN_2, PI};

use serde::Serialize;

use super::field::{Field, share_of_pixels};
use super::gabor::{EDGE, NARROWEST};
use super::least_squares::{Bounds, Form, search};

/// The surround is wider than the centre by a factor in this range.
const WIDER: (f64, f64) = (1.25, 4.0);
/// The surround is taken only if it explains this much more of the variance than a blob.
const SURROUND_GAIN: f64 = 0.02;
/// Widths, ratios of widths and turned aspects that a fit starts from.
const WIDTHS: [f64; 4] = [0.07, 0.12, 0.2, 0.33];
const RATIOS: [f64; 2] = [1.6, 2.6];
const TURNS: [f64; 2] = [0.0, FRAC_PI_4];
/// Places of the grid of centres, as shares of each side.
const GRID: [f64; 3] = [0.15, 0.5, 0.85];

/// A Gaussian, or the sum of two with one centre, of which the second is $`k`$ times as wide:
/// ```math
/// g(x, y) = a_c e^{-m/2} + a_s e^{-m/(2 k^2)}, \qquad m = \frac{u^2}{\sigma_u^2} + \frac{v^2}{\sigma_v^2},
/// ```
/// with $`u`$ and $`v`$ as in a [`Gabor`](super::gabor::Gabor). It is round, or mildly elongated:
/// $`1 \le \sigma_u / \sigma_v \le 2`$.
///
/// A fit stays within bounds: its centre in the picture, the width of its centre between 0.4 pixels and the longer
/// side (half of it with a surround), $`1.25 \le k \le 4`$. The two amplitudes may have the same sign: that is a blob with long tails.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Globular {
    /// The column of the centre.
    pub(crate) x: f64,
    /// The row of the centre.
    pub(crate) y: f64,
    /// The geometric mean of the two widths of the centre.
    pub(crate) width: f64,
    /// The longer width by the shorter one.
    pub(crate) aspect: f64,
    /// The direction of the longer width, from 0 to pi.
    pub(crate) theta: f64,
    /// The amplitude of the centre.
    pub(crate) centre: f64,
    /// The surround, if there is one.
    pub(crate) surround: Option<Surround>,
    /// The share of the variance that is explained, about the mean of the field.
    pub(crate) r2: f64,
}

/// The second Gaussian of a globular field.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Surround {
    pub(crate) amplitude: f64,
    /// How much wider it is than the centre.
    pub(crate) ratio: f64,
}

impl Globular {
    /// The least-squares fit; `None` only if a field has no pixels to start from, which [`Field`] rules out.
    pub(crate) fn fit(field: &Field) -> Option<Self> {
        let (side, x, y) = (field.side(), field.columns as f64 - 0.5, field.rows as f64 - 0.5);
        let narrow = NARROWEST.ln();
        let mut blobs = Vec::new();
        // rings have their energy away from their centres, so those are looked for on a grid, too
        let grid = GRID.iter().flat_map(|row| GRID.map(|column| (column * x, row * y)));
        for (centre, (x, y)) in field.centres().into_iter().chain(grid).enumerate() {
            for (at, width) in WIDTHS.map(|share| (share * side).ln()).into_iter().enumerate() {
                blobs.extend(TURNS.map(|theta| (centre * WIDTHS.len() + at, [x, y, theta, width, 0.2])));
            }
        }
        let rings: Vec<_> = (blobs.iter())
            .flat_map(|(label, [x, y, theta, width, r])| {
                RATIOS.map(|ratio| (*label, [*x, *y, *theta, *width, *r, ratio.ln()]))
            })
            .collect();
        let blob = search::<Blob, 1, 5>(
            field,
            &blobs,
            &Bounds {
                low: [-0.5, -0.5, f64::NEG_INFINITY, narrow, -LN_2],
                high: [x, y, f64::INFINITY, side.ln(), LN_2],
            },
        )?;
        let ring = search::<Ring, 2, 6>(
            field,
            &rings,
            &Bounds {
                low: [-0.5, -0.5, f64::NEG_INFINITY, narrow, -LN_2, WIDER.0.ln()],
                high: [x, y, f64::INFINITY, (side / 2.0).ln(), LN_2, WIDER.1.ln()],
            },
        )?;
        let given = |[x, y, theta, width, r]: [f64; 5], centre: f64, surround, sse| {
            // a negative aspect is a positive one a quarter turn further
            let theta = (if r >= 0.0 { theta } else { theta + PI / 2.0 }).rem_euclid(PI);
            let (width, aspect, theta) = (width.exp(), r.abs().exp(), if theta < PI { theta } else { 0.0 });
            Self { x, y, width, aspect, theta, centre: centre * field.scale, surround, r2: field.r2(sse) }
        };
        if field.r2(ring.sse) <= field.r2(blob.sse) + SURROUND_GAIN {
            return Some(given(blob.q, blob.c[0], None, blob.sse));
        }
        let [x, y, theta, width, r, ratio] = ring.q;
        let surround = Surround { amplitude: ring.c[1] * field.scale, ratio: ratio.exp() };
        Some(given([x, y, theta, width, r], ring.c[0], Some(surround), ring.sse))
    }

    /// The field at a pixel.
    pub(crate) fn at(&self, x: f64, y: f64) -> f64 {
        let (sin, cos) = self.theta.sin_cos();
        let (u, v) = ((x - self.x) * cos + (y - self.y) * sin, (y - self.y) * cos - (x - self.x) * sin);
        let m = (u * u / self.aspect + v * v * self.aspect) / (self.width * self.width);
        let surround = self.surround.map_or(0.0, |s| s.amplitude * (-0.5 * m / (s.ratio * s.ratio)).exp());
        self.centre * (-0.5 * m).exp() + surround
    }

    /// The share of a picture in which the magnitude is above exp(-1.5^2 / 2) of the largest one: for a blob, all that is
    /// within one and a half widths.
    pub(crate) fn cover(&self, rows: usize, columns: usize) -> f64 {
        let pixels = (0..rows * columns).map(|at| self.at((at % columns) as f64, (at / columns) as f64).abs());
        let most = pixels.fold(0.0, f64::max);
        share_of_pixels(rows, columns, |x, y| self.at(x, y).abs() >= EDGE * most)
    }
}

/// The distance from the centre in widths, squared, and its derivatives by (x, y, theta, ln width, ln aspect).
fn distance([x0, y0, theta, width, r]: [f64; 5]) -> impl Fn(f64, f64) -> (f64, [f64; 5]) {
    let (sin, cos) = theta.sin_cos();
    let (per_u, per_v) = ((-2.0 * width - r).exp(), (-2.0 * width + r).exp());
    move |x, y| {
        let u = (x - x0) * cos + (y - y0) * sin;
        let v = (y - y0) * cos - (x - x0) * sin;
        let (uu, vv) = (u * per_u, v * per_v);
        let m = u * uu + v * vv;
        let slopes = [
            2.0 * (vv * sin - uu * cos),
            -2.0 * (uu * sin + vv * cos),
            2.0 * (uu * v - vv * u),
            -2.0 * m,
            v * vv - u * uu,
        ];
        (m, slopes)
    }
}

/// One Gaussian, with (x, y, theta, ln width, ln aspect).
struct Blob;

impl Form<1, 5> for Blob {
    fn at(q: &[f64; 5]) -> impl Fn(f64, f64) -> ([f64; 1], [[f64; 5]; 1]) {
        let distance = distance(*q);
        move |x, y| {
            let (m, slopes) = distance(x, y);
            let value = (-0.5 * m).exp();
            ([value], [slopes.map(|slope| -0.5 * value * slope)])
        }
    }
}

/// Two Gaussians, with (x, y, theta, ln width, ln aspect, ln ratio).
struct Ring;

impl Form<2, 6> for Ring {
    fn at(&[x, y, theta, width, r, ratio]: &[f64; 6]) -> impl Fn(f64, f64) -> ([f64; 2], [[f64; 6]; 2]) {
        let distance = distance([x, y, theta, width, r]);
        let wider = (-2.0 * ratio).exp();
        move |x, y| {
            let (m, [a, b, c, d, e]) = distance(x, y);
            let (centre, surround) = ((-0.5 * m).exp(), (-0.5 * m * wider).exp());
            let inner = [a, b, c, d, e, 0.0].map(|slope| -0.5 * centre * slope);
            let outer = [a, b, c, d, e, -2.0 * m].map(|slope| -0.5 * surround * wider * slope);
            ([centre, surround], [inner, outer])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::natural::planted::{Noise, picture};

    #[test]
    fn derivatives_are_those_of_the_functions() {
        let q = [3.2, 4.1, 0.8, 0.7, 0.4, 0.5];
        let (_, slopes) = Ring::at(&q)(5.0, 3.0);
        let blob = Blob::at(&[q[0], q[1], q[2], q[3], q[4]])(5.0, 3.0);
        assert_eq!(blob.1[0], slopes[0][..5]);
        for k in 0..6 {
            let moved = |step: f64| {
                let mut q = q;
                q[k] += step;
                Ring::at(&q)(5.0, 3.0).0
            };
            let (up, down) = (moved(1e-5), moved(-1e-5));
            for l in 0..2 {
                assert!(((up[l] - down[l]) / 2e-5 - slopes[l][k]).abs() < 1e-8, "part {l}, parameter {k}");
            }
        }
    }

    fn planted(surround: Option<Surround>) -> Vec<Globular> {
        let mut planted = Vec::new();
        for (i, theta) in [0.2, 1.3, 2.9].into_iter().enumerate() {
            for (width, aspect) in [(1.0, 1.0), (1.4, 1.3), (1.2, 1.8)] {
                let (x, y) = (4.2 + i as f64, 6.3 - 0.8 * i as f64);
                planted.push(Globular { x, y, width, aspect, theta, centre: -3.0, surround, r2: 1.0 });
            }
        }
        planted
    }

    #[test]
    fn planted_fields_are_found() {
        for surround in [None, Some(Surround { amplitude: 1.2, ratio: 1.8 })] {
            for truth in planted(surround) {
                let field = picture(12, 12, |x, y| truth.at(x, y));
                let fit = Globular::fit(&Field::new(field.view()).expect("a field")).expect("a fit");
                assert!(fit.r2 > 1.0 - 1e-6, "{fit:?} for {truth:?}");
                assert_eq!(fit.surround.is_some(), surround.is_some(), "{fit:?} for {truth:?}");
                assert!((fit.x - truth.x).hypot(fit.y - truth.y) < 1e-2, "{fit:?} for {truth:?}");
                assert!((fit.width - truth.width).abs() < 2e-2, "{fit:?} for {truth:?}");
                assert!((fit.aspect - truth.aspect).abs() < 2e-2, "{fit:?} for {truth:?}");
                let turn = (fit.theta - truth.theta).sin().abs();
                assert!(truth.aspect < 1.1 || turn < 2e-2, "{fit:?} for {truth:?}");
            }
        }
    }

    #[test]
    fn what_is_given_is_what_was_fitted() {
        let mut noise = Noise::new(3);
        for _ in 0..5 {
            let field = noise.low_pass(9, 12, 1.2) * 1e100;
            let fit = Globular::fit(&Field::new(field.view()).expect("a field")).expect("a fit");
            let mean = field.sum() / 108.0;
            let (mut error, mut spread) = (0.0, 0.0);
            for ((row, column), value) in field.indexed_iter() {
                error += (value - fit.at(column as f64, row as f64)).powi(2);
                spread += (value - mean).powi(2);
            }
            assert!((1.0 - error / spread - fit.r2).abs() < 1e-9, "{fit:?}");
            assert!((1.0..=2.0 + 1e-12).contains(&fit.aspect));
        }
    }

    #[test]
    fn an_elongated_blob_is_not_globular() {
        let bar = picture(12, 12, |x, y| (-0.5 * (((x - 6.0) / 1.0).powi(2) + ((y - 5.5) / 4.0).powi(2))).exp());
        let fit = Globular::fit(&Field::new(bar.view()).expect("a field")).expect("a fit");
        assert!(fit.r2 < 0.9, "{fit:?}");
        assert!((fit.aspect - 2.0).abs() < 1e-9);
    }
}
