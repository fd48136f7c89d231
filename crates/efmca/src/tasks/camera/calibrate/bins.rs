//! Pixels of about the same brightness, and the line that their variances lie on.

use super::samples::{GROUPS, Sample};

/// Sums over the pixels of a bin in one region.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    n: f64,
    value: f64,
    companion: f64,
    square: f64,
    product: f64,
}

/// Pixels of about the same brightness.
#[derive(Debug, Clone)]
pub(super) struct Bin {
    /// Values are measured from here, which keeps their digits.
    origin: f64,
    regions: Vec<Sums>,
    /// Lower end of the first cell of the histogram, and the width of a cell.
    start: f64,
    pub(super) width: f64,
    /// Counts by region and cell.
    counts: Vec<Vec<f64>>,
}

/// A bin in short, for the fits.
#[derive(Debug, Clone)]
pub(super) struct Level {
    /// Number of pixels.
    pub(super) n: f64,
    /// Mean value.
    pub(super) mean: f64,
    /// Variance of the values: noise and scene.
    pub(super) variance: f64,
    /// Variance of the scene.
    pub(super) scene: f64,
    /// Width of a cell of the histogram.
    pub(super) width: f64,
    /// Middle of each cell and the number of pixels in it.
    pub(super) cells: Vec<(f64, f64)>,
}

impl Level {
    /// The variance of the noise.
    pub(super) fn noise(&self) -> f64 {
        self.variance - self.scene
    }

    /// Its squared error.
    pub(super) fn error2(&self) -> f64 {
        ERROR * self.variance.powi(2) / self.n
    }
}

impl Bin {
    /// A bin of these pixels. Whole numbers are counted in cells of a whole width.
    fn new(samples: &[&Sample], whole: bool) -> Bin {
        let n = samples.len().max(1) as f64;
        let origin = samples.iter().map(|sample| sample.value).sum::<f64>() / n;
        let sd = (samples.iter().map(|sample| (sample.value - origin).powi(2)).sum::<f64>() / n).sqrt();
        let width = if whole { (sd / CELLS).floor().max(1.0) } else { sd / CELLS };
        let width = if width > 0.0 { width } else { 1.0 };
        // cells of whole numbers begin and end at halves
        let half = if whole { 0.5 } else { 0.0 };
        let lowest = samples.iter().map(|sample| sample.value).fold(f64::INFINITY, f64::min);
        let highest = samples.iter().map(|sample| sample.value).fold(f64::NEG_INFINITY, f64::max);
        let start = lowest.max(origin - FARTHEST * sd).floor() - half;
        let cells = (((highest.min(origin + FARTHEST * sd) - start) / width) as usize + 1).min(MOST_CELLS);
        let mut bin = Bin {
            origin,
            regions: vec![Sums::default(); GROUPS],
            start,
            width,
            counts: vec![vec![0.0; cells]; GROUPS],
        };
        for sample in samples {
            let region = usize::from(sample.group) % GROUPS;
            let (value, companion) = (sample.value - origin, sample.companion - origin);
            let sums = &mut bin.regions[region];
            sums.n += 1.0;
            sums.value += value;
            sums.companion += companion;
            sums.square += value * value;
            sums.product += value * companion;
            let cell = ((sample.value - start) / width).max(0.0) as usize;
            bin.counts[region][cell.min(cells - 1)] += 1.0;
        }
        bin
    }

    /// The bin without one of the regions, or with all of them; none if too few pixels are left.
    pub(super) fn level(&self, without: Option<usize>) -> Option<Level> {
        let kept = |region: &usize| Some(*region) != without;
        let mut all = Sums::default();
        let mut cells = vec![0.0; self.counts[0].len()];
        for region in (0..GROUPS).filter(kept) {
            let sums = &self.regions[region];
            all.n += sums.n;
            all.value += sums.value;
            all.companion += sums.companion;
            all.square += sums.square;
            all.product += sums.product;
            cells.iter_mut().zip(&self.counts[region]).for_each(|(cell, count)| *cell += count);
        }
        if all.n < 0.5 * FEWEST as f64 {
            return None;
        }
        let (value, companion) = (all.value / all.n, all.companion / all.n);
        let middle = |cell: usize| self.start + (cell as f64 + 0.5) * self.width;
        Some(Level {
            n: all.n,
            mean: self.origin + value,
            variance: (all.square / all.n - value * value).max(f64::MIN_POSITIVE),
            scene: all.product / all.n - value * companion,
            width: self.width,
            cells: cells.into_iter().enumerate().filter(|(_, n)| *n > 0.0).map(|(cell, n)| (middle(cell), n)).collect(),
        })
    }
}

/// Cells for each standard deviation of a histogram, its farthest cell in standard deviations, and most cells.
const CELLS: f64 = 12.0;
const FARTHEST: f64 = 12.0;
const MOST_CELLS: usize = 400;
/// Fewest pixels of a bin.
pub(super) const FEWEST: usize = 400;
/// Width of a bin in standard deviations of the noise.
const BIN_WIDTH: f64 = 0.35;
/// Flatness of the surroundings, as a multiple of what noise alone gives: bins are made for each of these ranges. The last is for
/// frames of one scene only, which need not be flat.
const FLATNESS: [(f64, f64); 4] = [(-1.0, 0.6), (0.6, 1.0), (1.0, 1.6), (1.6, f64::INFINITY)];
/// Largest variance inside the parts of a ring, as a multiple of that of the noise; not for frames of one scene.
const ROUGHEST: f64 = 1.35;
/// The squared error of the variance of the noise in a bin of n pixels is this times the squared variance, over n: 2 for the
/// variance of the values, the rest for that of the scene.
pub(super) const ERROR: f64 = 4.5;

/// The photon-transfer line: variance = slope · mean + intercept.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) slope: f64,
    pub(super) intercept: f64,
    /// How much each bin counts, from 0 to 1: less where the scene is not flat, and where the variance lies above the line.
    pub(super) trust: Vec<f64>,
    /// The weighted mean square deviation from the line; 1 if the errors of the points explain it.
    pub(super) scatter: f64,
}

/// First bins, of pixels whose surroundings vary as much within as between parts.
pub(super) fn first_bins(samples: &[Sample], whole: bool) -> Vec<Bin> {
    let mut flat: Vec<&Sample> = samples.iter().filter(|sample| sample.between <= sample.within).collect();
    flat.sort_by(|a, b| a.level.total_cmp(&b.level));
    let size = (flat.len() / 40).max(FEWEST);
    flat.chunks(size).filter(|chunk| chunk.len() >= FEWEST).map(|chunk| Bin::new(chunk, whole)).collect()
}

/// Bins of equal brightness and flatness, judged by a line.
pub(super) fn bins(samples: &[Sample], line: &Line, least: f64, whole: bool, exact_scene: bool) -> Vec<Bin> {
    let expected = |sample: &Sample| (line.slope * sample.level + line.intercept).max(least);
    let mut bins = Vec::new();
    let (flatness, roughest) = if exact_scene { (&FLATNESS[..], f64::INFINITY) } else { (&FLATNESS[..3], ROUGHEST) };
    for &(low, high) in flatness {
        let chosen = |sample: &&Sample| {
            let noise = expected(sample);
            sample.between > low * noise && sample.between <= high * noise && sample.within <= roughest * noise
        };
        let mut flat: Vec<&Sample> = samples.iter().filter(chosen).collect();
        flat.sort_by(|a, b| a.level.total_cmp(&b.level));
        // in these units the standard deviation of the noise is 1 everywhere
        let stable = |sample: &Sample| 2.0 * (expected(sample) + 0.09 * line.slope * line.slope).sqrt() / line.slope;
        let mut from = 0;
        while flat.len() - from >= FEWEST {
            let end = stable(flat[from]) + BIN_WIDTH;
            let mut to = from + flat[from..].partition_point(|sample| stable(sample) < end);
            to = to.max(from + FEWEST);
            if flat.len() - to < FEWEST {
                to = flat.len();
            }
            bins.push(Bin::new(&flat[from..to], whole));
            from = to;
        }
    }
    bins
}

/// Fits the line by weighted least squares. Texture only adds to the variance of the noise: a bin that lies above the line
/// by more than its error, or whose scene varies, counts less.
pub(super) fn fit_line(levels: &[Level], exact_scene: bool) -> Option<Line> {
    let flatness: Vec<f64> = levels.iter().map(|level| trust_in_flatness(level, exact_scene)).collect();
    let mut trust = flatness.clone();
    let mut fitted: Vec<f64> = levels.iter().map(|level| level.variance).collect();
    let mut line = None;
    let mut scatter = 1.0;
    for _ in 0..ROUNDS {
        // weights from the line itself, not from the noisy variances: small ones would count too much
        let error2 = |(level, fitted): (&Level, &f64)| ERROR * (fitted + level.scene.max(0.0)).powi(2) / level.n;
        let errors: Vec<f64> = levels.iter().zip(&fitted).map(error2).collect();
        let weights: Vec<f64> = trust.iter().zip(&errors).map(|(trust, error)| trust / error).collect();
        let sum = |f: &dyn Fn(&Level) -> f64| -> f64 { levels.iter().zip(&weights).map(|(l, w)| w * f(l)).sum() };
        let total = sum(&|_| 1.0);
        let (x, y) = (sum(&|l| l.mean) / total, sum(&|l| l.noise()) / total);
        let xx = sum(&|l| (l.mean - x).powi(2));
        let slope = sum(&|l| (l.mean - x) * (l.noise() - y)) / xx;
        if !(slope.is_finite() && slope > 0.0) {
            return line.map(|(slope, intercept)| Line { slope, intercept, trust, scatter });
        }
        let intercept = y - slope * x;
        line = Some((slope, intercept));
        for (level, fitted) in levels.iter().zip(&mut fitted) {
            *fitted = (slope * level.mean + intercept).max(0.1 * level.variance);
        }
        let mut squares = 0.0;
        for (i, level) in levels.iter().enumerate() {
            let z = (level.noise() - slope * level.mean - intercept) / errors[i].sqrt();
            squares += trust[i] * z * z;
            trust[i] = flatness[i] * if z > ABOVE { (ABOVE / z).powi(2) } else { 1.0 };
        }
        scatter = squares / (trust.iter().sum::<f64>() - 2.0).max(1.0);
    }
    line.map(|(slope, intercept)| Line { slope, intercept, trust, scatter })
}

/// Rounds of reweighting, and the distance above the line, in errors, from which a bin counts less.
const ROUNDS: usize = 8;
const ABOVE: f64 = 2.0;
/// The level of a pixel is known from 40 others, and bins have a width: so much of the variance of the noise is in the scene of
/// a bin even where that is flat.
const UNAVOIDABLE: f64 = 0.04;

/// How much a bin can be believed: the variance of its scene is known with an error of about its own size, unless it
/// was measured.
fn trust_in_flatness(level: &Level, exact_scene: bool) -> f64 {
    if exact_scene {
        return 1.0;
    }
    let statistical = level.error2();
    let texture = (level.scene - UNAVOIDABLE * level.variance).max(0.0);
    statistical / (statistical + texture * texture)
}
