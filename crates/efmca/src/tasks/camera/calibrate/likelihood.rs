//! The likelihood of gain, offset and read noise.
//!
//! Means and variances fix a line, and a line is two numbers: a larger offset with more read noise is the same line. What
//! tells them apart is the shape of the noise. The third cumulant is that of the photons alone, $g^2(\mu - o)$, and all
//! higher ones follow; the density of counts behind Gaussian noise has all of it. It tells most where fewer than three
//! photons are expected. Where there are many, the shape of the scene says more than that of the noise, and only the variance
//! is used.

use super::bins::{ERROR, Level, Line};
use crate::special::ln_gamma;
use crate::tasks::camera::Camera;

/// What is known beforehand.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Known {
    pub(super) offset: Option<f64>,
    pub(super) read_noise: Option<f64>,
}

/// A bin counts if it is trusted more than this.
const LEAST_TRUST: f64 = 0.02;
/// Gaussian terms further away than this are left out, in standard deviations.
const REACH: f64 = 6.5;
/// A value that the noise cannot explain has this density: a dead pixel is no reason to change the camera.
const OUTLIER: f64 = 1e-9;
/// The shape of the noise is used up to this many photons, counting those that the read noise is worth...
const SHAPED: f64 = 12.0;
/// ...and where the variance of the scene is at most this part of that of the noise.
const FLAT: f64 = 0.25;
/// Read noise is a photon, up to a factor of e; this decides only where the data do not.
const USUAL_READ: f64 = 1.0;
/// Smallest read noise that is considered, as a part of the gain.
const SMALLEST_READ: f64 = 0.02;

/// The camera that makes the values most likely, from a first guess or from the line.
pub(super) fn fit(levels: &[Level], line: &Line, known: Known, from: Option<Camera>) -> Camera {
    let objective = |camera: &Camera| objective(levels, line, camera);
    let begin = from.unwrap_or_else(|| {
        let starts = starts(levels, line, known);
        let best = starts.into_iter().map(|camera| (objective(&camera), camera)).min_by(|a, b| a.0.total_cmp(&b.0));
        best.map_or(Camera { gain: line.slope, offset: 0.0, read_noise: line.slope }, |(_, camera)| camera)
    });
    let point = |camera: &Camera| [camera.gain.ln(), camera.offset / begin.gain, camera.read_noise.ln()];
    let camera = |x: &[f64; 3]| Camera {
        gain: x[0].exp(),
        offset: known.offset.unwrap_or(x[1] * begin.gain),
        read_noise: known.read_noise.unwrap_or(x[2].exp().max(SMALLEST_READ * x[0].exp())),
    };
    let mut best = point(&begin);
    // a second round with a fresh simplex, which the first may have lost on the long ridge of equal lines
    let rounds: &[f64] = if from.is_some() { &[0.3] } else { &[1.0, 0.3] };
    for scale in rounds {
        let free = |given: Option<f64>, step: f64| if given.is_some() { 0.0 } else { step * scale };
        let steps = [0.05 * scale, free(known.offset, 0.5), free(known.read_noise, 0.2)];
        best = nelder_mead(best, steps, |x| objective(&camera(x)));
    }
    camera(&best)
}

/// Cameras on the line, from an offset just below the darkest bin downwards.
fn starts(levels: &[Level], line: &Line, known: Known) -> Vec<Camera> {
    let darkest = levels.iter().map(|level| level.mean).fold(f64::INFINITY, f64::min);
    let gain = line.slope;
    let least = (0.1 * gain).powi(2);
    let on_line = |offset: f64| (line.intercept + gain * offset).max(least).sqrt();
    let offsets: Vec<f64> = match (known.offset, known.read_noise) {
        (Some(offset), _) => vec![offset],
        (None, Some(read)) => vec![(read * read - line.intercept) / gain],
        (None, None) => {
            let below = [0.0, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0].map(|photons| darkest - photons * gain);
            let zero = -line.intercept / gain;
            let above = [0.1, 0.3, 1.0, 4.0].map(|variance: f64| zero + variance * gain);
            below.into_iter().chain(above).filter(|offset| line.intercept + gain * offset >= least).collect()
        }
    };
    let camera = |offset| Camera { gain, offset, read_noise: known.read_noise.unwrap_or(on_line(offset)) };
    offsets.into_iter().map(camera).collect()
}

/// With the assumption about read noise.
fn objective(levels: &[Level], line: &Line, camera: &Camera) -> f64 {
    let usual = (camera.read_noise / camera.gain / USUAL_READ).ln();
    negative_log_likelihood(levels, line, camera) + 0.5 * usual * usual
}

fn negative_log_likelihood(levels: &[Level], line: &Line, camera: &Camera) -> f64 {
    if camera.check().is_err() {
        return f64::INFINITY;
    }
    let trusted = levels.iter().zip(&line.trust).filter(|(_, trust)| **trust > LEAST_TRUST);
    -trusted
        .map(|(level, trust)| {
            let fitted = line.slope * level.mean + line.intercept;
            let shaped = fitted <= SHAPED * line.slope * line.slope && level.scene <= FLAT * level.noise();
            trust * if shaped { log_likelihood(level, camera) } else { of_variance(level, fitted, camera) }
        })
        .sum::<f64>()
}

/// The relative error of the read noise along cameras that have the same line, from how the likelihood falls.
pub(super) fn error_along_the_line(levels: &[Level], line: &Line, camera: &Camera) -> f64 {
    let least = negative_log_likelihood(levels, line, camera);
    let worse = |factor: f64| {
        let read_noise = camera.read_noise * factor;
        let offset = camera.offset + (read_noise.powi(2) - camera.read_noise.powi(2)) / camera.gain;
        let known = Known { offset: None, read_noise: Some(read_noise) };
        let other = fit(levels, line, known, Some(Camera { offset, read_noise, ..*camera }));
        (negative_log_likelihood(levels, line, &other) - least).max(0.0)
    };
    // for a parabola the likelihood falls by half at one standard error
    let falls = 0.5 * (worse(ALONG.exp()) + worse((-ALONG).exp()));
    (ALONG / (2.0 * falls).sqrt()).min(1.0)
}

/// Step of the logarithm of the read noise.
const ALONG: f64 = 0.2;

/// The log-likelihood of the variance of a bin, whose expected value is `fitted` by the line.
fn of_variance(level: &Level, fitted: f64, camera: &Camera) -> f64 {
    let Camera { gain, offset, read_noise } = *camera;
    let variance = gain * (level.mean - offset) + read_noise * read_noise;
    if variance <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let fitted = fitted.max(0.1 * level.variance);
    let counts = fitted * fitted / (ERROR * (fitted + level.scene.max(0.0)).powi(2)) * level.n;
    -counts * (variance.ln() + level.noise() / variance)
}

/// The log-likelihood of a bin whose photons vary as its scene does.
fn log_likelihood(level: &Level, camera: &Camera) -> f64 {
    let Camera { gain, offset, read_noise } = *camera;
    let photons = ((level.mean - offset) / gain).max(1e-4);
    // a histogram adds the variance of its cells
    let mut read2 = read_noise * read_noise + level.width * level.width / 12.0;
    let scene = level.scene.min(0.8 * level.variance);
    if scene < 0.0 {
        read2 = (read2 + scene).max(0.3 * read2);
    }
    let (rates, count) = mixture(photons, scene.max(0.0).sqrt() / gain);
    let sd = read2.sqrt();
    let (Some(first), Some(last)) = (level.cells.first(), level.cells.last()) else { return 0.0 };
    let low = ((first.0 - offset - REACH * sd) / gain).max(0.0).floor();
    let high = ((last.0 - offset + REACH * sd) / gain).ceil().max(low + 1.0);
    let counts: Vec<f64> = (0..=(high - low) as usize)
        .map(|i| {
            let k = low + i as f64;
            let factorial = ln_gamma(k + 1.0);
            rates[..count].iter().map(|(weight, rate)| weight * (k * rate.ln() - rate - factorial).exp()).sum()
        })
        .collect();
    let norm = 1.0 / (sd * (2.0 * std::f64::consts::PI).sqrt());
    let density = |value: f64| {
        let middle = (value - offset) / gain;
        let reach = REACH * sd / gain;
        let from = ((middle - reach - low).max(0.0)) as usize;
        let to = ((middle + reach - low).max(0.0) as usize + 1).min(counts.len());
        let terms = counts.get(from..to).unwrap_or(&[]);
        let at = |i: usize| (value - offset - gain * (low + i as f64)) / sd;
        norm * terms.iter().enumerate().map(|(i, p)| p * (-0.5 * at(from + i).powi(2)).exp()).sum::<f64>()
    };
    level.cells.iter().map(|(value, n)| n * (density(*value) + OUTLIER * norm).ln()).sum()
}

/// Rates with the given mean and standard deviation: three points where they stay positive, two otherwise.
fn mixture(mean: f64, sd: f64) -> ([(f64, f64); 3], usize) {
    let wide = 3f64.sqrt() * sd;
    if sd <= 1e-6 * mean {
        ([(1.0, mean), (0.0, mean), (0.0, mean)], 1)
    } else if mean > 1.01 * wide {
        ([(1.0 / 6.0, mean - wide), (2.0 / 3.0, mean), (1.0 / 6.0, mean + wide)], 3)
    } else {
        // nearly dark with this probability, and brighter otherwise
        let bright = mean + sd * sd / mean;
        let share = mean / bright;
        ([(1.0 - share, 1e-9), (share, bright), (0.0, mean)], 2)
    }
}

/// The minimum by the simplex of Nelder and Mead. A step of 0 holds a coordinate.
fn nelder_mead(start: [f64; 3], steps: [f64; 3], f: impl Fn(&[f64; 3]) -> f64) -> [f64; 3] {
    let free: Vec<usize> = (0..3).filter(|i| steps[*i] != 0.0).collect();
    let mut simplex = vec![(f(&start), start)];
    for &i in &free {
        let mut corner = start;
        corner[i] += steps[i];
        simplex.push((f(&corner), corner));
    }
    let count = free.len() as f64;
    for _ in 0..MOST_STEPS {
        simplex.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (best, worst) = (simplex[0], simplex[free.len()]);
        let size = free.iter().map(|i| (worst.1[*i] - best.1[*i]).abs()).fold(0.0, f64::max);
        if size < 1e-4 && (worst.0 - best.0).abs() < 1e-3 {
            break;
        }
        let mut centre = [0.0; 3];
        for (_, corner) in &simplex[..free.len()] {
            centre.iter_mut().zip(corner).for_each(|(c, x)| *c += x / count);
        }
        let at = |t: f64| {
            let mut x = worst.1;
            x.iter_mut().zip(&centre).for_each(|(x, c)| *x = c + t * (*x - c));
            (f(&x), x)
        };
        let reflected = at(-1.0);
        let last = free.len();
        if reflected.0 < best.0 {
            let further = at(-2.0);
            simplex[last] = if further.0 < reflected.0 { further } else { reflected };
        } else if reflected.0 < simplex[last - 1].0 {
            simplex[last] = reflected;
        } else {
            let nearer = if reflected.0 < worst.0 { at(-0.5) } else { at(0.5) };
            if nearer.0 < worst.0.min(reflected.0) {
                simplex[last] = nearer;
            } else {
                for corner in &mut simplex[1..] {
                    corner.1.iter_mut().zip(&best.1).for_each(|(x, b)| *x = 0.5 * (*x + b));
                    corner.0 = f(&corner.1);
                }
            }
        }
    }
    simplex.sort_by(|a, b| a.0.total_cmp(&b.0));
    simplex[0].1
}

const MOST_STEPS: usize = 200;
