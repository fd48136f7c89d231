//! What an estimate has missed of textures.
//!
//! Where an image has a fine texture all over, no single patch stands above the noise, and an estimate leaves it out. But the residual
//! then has more power than the noise at the frequencies of the texture, and over a region that can be measured.

use std::f64::consts::FRAC_1_SQRT_2;

use rayon::prelude::*;

use super::blur::Blur;
use super::groups::Cosines;
use super::noise_curve::NoiseCurve;

/// Rows and columns of the patches whose frequencies are looked at, and the distance between them.
const SIDE: usize = 16;
const BANDS: usize = SIDE * SIDE;
const STEP: usize = 4;
/// Patches in a row and a column of a cell, in which all have the same weights.
const CELL: usize = 4;
/// Standard deviations of the windows in which power is averaged: over cells, and over frequencies.
const CELLS: f64 = 2.5;
const FREQUENCIES: f64 = 1.5;
/// Weights that can be told from zero, in all of the image and in a region: smaller ones are mostly errors.
const SEEN_IN_ALL: f64 = 0.05;
const SEEN_IN_A_REGION: f64 = 0.1;
/// So many standard errors can be told from zero, too. Each pixel is in 16 patches, which are no 16 observations.
const STANDARD_ERRORS: f64 = 2.0;
const PATCHES_OF_A_PIXEL: f64 = ((SIDE / STEP) * (SIDE / STEP)) as f64;
/// The smallest variance that a patch is weighted by, as a share of the average one.
const SMALLEST_SHARE: f64 = 0.1;

/// One channel of one page, row by row; but for the estimate, zero where a pixel is missing.
pub(super) struct Texture<'a> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) curve: &'a NoiseCurve,
    pub(super) estimate: Vec<f32>,
    /// The noisy image less its estimate.
    pub(super) residual: Vec<f32>,
    /// What the estimate of a part of the data has more than that of the whole, and the contrast of the two parts of the data.
    pub(super) change: Vec<f32>,
    pub(super) contrast: Vec<f32>,
    /// The variance of the noise.
    pub(super) variance: Vec<f32>,
}

/// Sums over patches, for each frequency, in units of the variance of the noise.
#[derive(Clone)]
struct Power {
    /// The power of the residual.
    residual: Vec<f64>,
    /// The part of it that is not noise, and the sum of the squares of that part.
    missed: Vec<f64>,
    squares: Vec<f64>,
}

impl Power {
    fn none() -> Power {
        let zeros = || vec![0.0; BANDS];
        Power { residual: zeros(), missed: zeros(), squares: zeros() }
    }
}

impl Texture<'_> {
    /// What is to be added to the estimate. The share $w$ of the residual $r$ of a frequency that is missed texture has the least risk
    /// with
    /// $$ w = \frac{\sum r^2 - v + \mathrm{Cov}(m, y)}{\sum r^2} $$
    /// by Stein's estimate; the sums are over the patches of a region. It is negative where the estimate follows the noise.
    pub(super) fn missed(&self) -> Vec<f32> {
        if self.rows < SIDE || self.columns < SIDE {
            return vec![0.0; self.residual.len()];
        }
        let (down, across) = (lattice(self.rows), lattice(self.columns));
        let average = self.variance.iter().map(|value| f64::from(*value)).sum::<f64>() / self.variance.len() as f64;
        let smallest = (SMALLEST_SHARE * average).max(f64::MIN_POSITIVE);
        let cells: Vec<Vec<Power>> = down.par_chunks(CELL).map(|lines| self.power(lines, &across, smallest)).collect();
        let weights = weights(&cells.concat(), across.len().div_ceil(CELL));
        let lines: Vec<Vec<f32>> =
            down.par_iter().enumerate().map(|(line, y)| self.weighted(line, *y, &across, &weights)).collect();
        let (mut sums, mut counts) = (vec![0.0f32; self.residual.len()], vec![0.0f32; self.residual.len()]);
        for (y, line) in down.iter().zip(lines) {
            sums[y * self.columns..].iter_mut().zip(line).for_each(|(sum, value)| *sum += value);
            for x in &across {
                for row in *y..y + SIDE {
                    counts[row * self.columns + x..][..SIDE].iter_mut().for_each(|count| *count += 1.0);
                }
            }
        }
        sums.iter().zip(&counts).map(|(sum, count)| sum / count.max(1.0)).collect()
    }

    /// The power of the cells of some lines of patches.
    fn power(&self, lines: &[usize], across: &[usize], smallest: f64) -> Vec<Power> {
        let cosines = Cosines::new(SIDE);
        let mut patch = [0.0f32; BANDS];
        let [mut residual, mut change, mut contrast] = [[0.0f32; BANDS]; 3];
        let mut cells = Vec::new();
        for columns in across.chunks(CELL) {
            let mut power = Power::none();
            for (y, x) in lines.iter().flat_map(|y| columns.iter().map(move |x| (*y, *x))) {
                for (values, to) in
                    [(&self.residual, &mut residual), (&self.change, &mut change), (&self.contrast, &mut contrast)]
                {
                    self.copy(values, y, x, &mut patch);
                    cosines.of_patch(&patch, to);
                }
                let noise = self.noise(y, x, &mut patch);
                // bright patches have more noise, and would decide for all
                let unit = 1.0 / noise.max(smallest);
                for band in 0..BANDS {
                    let square = f64::from(residual[band]).powi(2);
                    let missed = unit * (square - noise + f64::from(change[band]) * f64::from(contrast[band]));
                    power.residual[band] += unit * square;
                    power.missed[band] += missed;
                    power.squares[band] += missed * missed;
                }
            }
            cells.push(power);
        }
        cells
    }

    /// The variance of the noise of a patch. Where the estimate is too dark or too bright for all of the patch, so is its variance; the
    /// difference would be taken for a texture of all frequencies.
    fn noise(&self, y: usize, x: usize, patch: &mut [f32; BANDS]) -> f64 {
        let [mean, residual, variance] = [&self.estimate, &self.residual, &self.variance].map(|values| {
            self.copy(values, y, x, patch);
            f64::from(patch.iter().sum::<f32>()) / BANDS as f64
        });
        (variance + self.curve.at(mean + residual) - self.curve.at(mean)).max(0.0)
    }

    /// The weighted residuals of a line of patches, added up.
    fn weighted(&self, line: usize, y: usize, across: &[usize], weights: &[Vec<f32>]) -> Vec<f32> {
        let cosines = Cosines::new(SIDE);
        let cells = across.len().div_ceil(CELL);
        let [mut patch, mut coefficients] = [[0.0f32; BANDS]; 2];
        let mut sums = vec![0.0; SIDE * self.columns];
        for (number, x) in across.iter().enumerate() {
            let weights = &weights[line / CELL * cells + number / CELL];
            if weights.iter().all(|weight| *weight == 0.0) {
                continue;
            }
            self.copy(&self.residual, y, *x, &mut patch);
            cosines.of_patch(&patch, &mut coefficients);
            coefficients.iter_mut().zip(weights).for_each(|(coefficient, weight)| *coefficient *= weight);
            cosines.back(&coefficients, &mut patch);
            for (row, values) in patch.chunks_exact(SIDE).enumerate() {
                sums[row * self.columns + x..][..SIDE].iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
        }
        sums
    }

    /// A patch of an image.
    fn copy(&self, values: &[f32], y: usize, x: usize, patch: &mut [f32; BANDS]) {
        for (row, to) in patch.chunks_exact_mut(SIDE).enumerate() {
            to.copy_from_slice(&values[(y + row) * self.columns + x..][..SIDE]);
        }
    }
}

/// Positions of patches.
fn lattice(size: usize) -> Vec<usize> {
    let last = size - SIDE;
    let mut places: Vec<usize> = (0..last).step_by(STEP).collect();
    places.push(last);
    places
}

/// The weights of each cell, of which there are `across` in a row.
fn weights(cells: &[Power], across: usize) -> Vec<Vec<f32>> {
    let mut all = Power::none();
    for cell in cells {
        for (sums, values) in
            [(&mut all.residual, &cell.residual), (&mut all.missed, &cell.missed), (&mut all.squares, &cell.squares)]
        {
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }
    let everywhere: Vec<f64> =
        all.weights().iter().map(|(weight, error)| seen(*weight, error.max(SEEN_IN_ALL))).collect();
    // one frequency after the other, over all cells; errors add up with squared weights, a window that is narrower by a root of two
    let windows = [Blur::new(CELLS), Blur::new(CELLS), Blur::new(CELLS * FRAC_1_SQRT_2)];
    let sums: [fn(&mut Power) -> &mut Vec<f64>; 3] =
        [|power| &mut power.residual, |power| &mut power.missed, |power| &mut power.squares];
    let mut regions = cells.to_vec();
    let mut page = vec![0.0; cells.len()];
    for band in 0..BANDS {
        for (of, window) in sums.iter().zip(&windows) {
            page.iter_mut().zip(&mut regions).for_each(|(value, power)| *value = of(power)[band]);
            window.page(&mut page, across);
            regions.iter_mut().zip(&page).for_each(|(power, value)| of(power)[band] = *value);
        }
    }
    let of_region = |power: &Power| {
        let weights = power.weights();
        let weights = weights.iter().zip(&everywhere);
        let weight = |((weight, error), all): (&(f64, f64), &f64)| {
            (all + seen(weight - all, error.max(SEEN_IN_A_REGION))).clamp(-1.0, 1.0) as f32
        };
        weights.map(weight).collect()
    };
    regions.par_iter().map(of_region).collect()
}

impl Power {
    /// The weight of each frequency, and what can be told from zero.
    fn weights(&self) -> Vec<(f64, f64)> {
        let smooth = |sums: &[f64], deviation: f64| {
            let mut sums = sums.to_vec();
            Blur::new(deviation).page(&mut sums, SIDE);
            sums
        };
        let [residual, missed] = [&self.residual, &self.missed].map(|sums| smooth(sums, FREQUENCIES));
        let squares = smooth(&self.squares, FREQUENCIES * FRAC_1_SQRT_2);
        let of_band = |((residual, missed), squares): ((&f64, &f64), &f64)| match *residual > 0.0 {
            true => {
                let error = STANDARD_ERRORS * (PATCHES_OF_A_PIXEL * squares).sqrt() / residual;
                ((missed / residual).clamp(-1.0, 1.0), error)
            }
            false => (0.0, 1.0),
        };
        residual.iter().zip(&missed).zip(&squares).map(of_band).collect()
    }
}

/// A weight as far as it can be told from zero: the positive part of James and Stein.
fn seen(weight: f64, error: f64) -> f64 {
    if weight == 0.0 { 0.0 } else { weight * (1.0 - (error / weight).powi(2)).max(0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::family;
    use rand::{RngExt, SeedableRng};

    /// A texture of stripes in the left half, unit noise, and an estimate that sees nothing.
    fn stripes(curve: &NoiseCurve, rows: usize, columns: usize, size: f32) -> (Texture<'_>, Vec<f32>) {
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        let truth: Vec<f32> = (0..rows * columns)
            .map(|at| if at % columns < columns / 2 { size * (1.3 * (at / columns) as f32).sin() } else { 0.0 })
            .collect();
        let residual = truth.iter().map(|value| value + 12f32.sqrt() * (random.random::<f32>() - 0.5)).collect();
        let none = vec![0.0; rows * columns];
        let (estimate, change, contrast) = (none.clone(), none.clone(), none);
        (
            Texture { rows, columns, curve, estimate, residual, change, contrast, variance: vec![1.0; rows * columns] },
            truth,
        )
    }

    /// The curve of noise.
    fn curve(spec: &str) -> NoiseCurve {
        NoiseCurve::known(&*family(spec).unwrap(), 0.0, 80.0).unwrap()
    }

    #[test]
    fn stripes_below_the_noise_are_found_where_they_are() {
        let unit = curve("gaussian:var=1");
        let (texture, truth) = stripes(&unit, 120, 200, 0.5);
        let missed = texture.missed();
        let error = |of: &dyn Fn(usize) -> bool| {
            let places = (0..truth.len()).filter(|at| of(at % 200));
            places.clone().map(|at| (missed[at] - truth[at]).powi(2)).sum::<f32>() / places.count() as f32
        };
        // an eighth of the noise's variance would be left if nothing came in
        assert!(error(&|x| x < 80) < 0.06, "{}", error(&|x| x < 80));
        assert!(error(&|x| x > 150) < 0.02, "{}", error(&|x| x > 150));
    }

    #[test]
    fn noise_is_left_alone() {
        let unit = curve("gaussian:var=1");
        let (texture, _) = stripes(&unit, 120, 200, 0.0);
        let power = texture.missed().iter().map(|value| value * value).sum::<f32>() / (120.0 * 200.0);
        assert!(power < 1e-3, "{power}");
        let (small, _) = stripes(&unit, 15, 200, 0.0);
        assert!(small.missed().iter().all(|value| *value == 0.0));
        let mut missing = stripes(&unit, 40, 41, 0.0).0;
        for values in [&mut missing.residual, &mut missing.variance] {
            values.fill(0.0);
        }
        assert!(missing.missed().iter().all(|value| *value == 0.0));
    }

    #[test]
    fn small_images_with_heavy_tails_say_nothing() {
        // speckle of one look around a brightness from 2 to 40, and an estimate that knows it
        let (rows, columns) = (48, 56);
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(3);
        let mean = |at: usize| if (at / columns / 12 + at % columns / 12).is_multiple_of(2) { 2.0 } else { 40.0 };
        let draws: Vec<f32> = (0..rows * columns).map(|_| -random.random::<f32>().max(1e-9).ln()).collect();
        let residual = draws.iter().enumerate().map(|(at, draw)| mean(at) * (draw - 1.0)).collect();
        let variance: Vec<f32> = (0..rows * columns).map(|at| mean(at) * mean(at)).collect();
        let none = vec![0.0; rows * columns];
        let (change, contrast) = (none.clone(), none);
        let (curve, estimate) = (curve("exponential"), (0..rows * columns).map(mean).collect());
        let variance_of = variance.clone();
        let texture =
            Texture { rows, columns, curve: &curve, estimate, residual, change, contrast, variance: variance_of };
        let missed = texture.missed();
        let power = missed.iter().zip(&variance).map(|(missed, v)| missed * missed / v).sum::<f32>();
        assert!(power < 0.01 * (rows * columns) as f32, "{power}");
    }

    #[test]
    fn an_estimate_that_is_too_dark_has_no_texture() {
        // counts of 0.05 where the estimate has 0.04
        let (rows, columns) = (160, 160);
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(4);
        let residual = (0..rows * columns).map(|_| if random.random::<f32>() < 0.05 { 0.96 } else { -0.04 }).collect();
        let none = vec![0.0; rows * columns];
        let (change, contrast, even) = (none.clone(), none, vec![0.04; rows * columns]);
        let curve = curve("poisson");
        let texture = Texture {
            rows,
            columns,
            curve: &curve,
            estimate: even.clone(),
            residual,
            change,
            contrast,
            variance: even,
        };
        let missed = texture.missed();
        let mean = missed.iter().sum::<f32>() / missed.len() as f32;
        let spread = missed.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / missed.len() as f32;
        assert!(spread < 0.01 * 0.05, "{spread}");
    }

    #[test]
    fn an_estimate_that_follows_the_noise_gives_it_back() {
        // a tenth of the noise is left in the estimate, and a part of the data has four fifths of it
        let unit = curve("gaussian:var=1");
        let mut texture = stripes(&unit, 160, 160, 0.0).0;
        let noise = texture.residual.clone();
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(2);
        let follows = 0.3;
        for (at, noise) in noise.iter().enumerate() {
            let other = 12f32.sqrt() * (random.random::<f32>() - 0.5);
            // given the noise, that of the part scatters with a quarter of the variance
            texture.residual[at] = (1.0 - follows) * noise;
            texture.change[at] = follows * 0.5 * other;
            texture.contrast[at] = 0.8 * (0.5 * other + 2.0 * other);
        }
        let left: f32 =
            noise.iter().zip(texture.missed()).map(|(noise, missed)| (follows * noise + missed).powi(2)).sum();
        let before: f32 = noise.iter().map(|noise| (follows * noise).powi(2)).sum();
        assert!(left < 0.2 * before, "{left} of {before}");
    }
}
