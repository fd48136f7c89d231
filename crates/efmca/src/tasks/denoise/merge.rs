//! From the posteriors of overlapping patches to an image.

use std::ops::Range;

use ndarray::Array4;
use rayon::prelude::*;

use crate::cancel;
use crate::model::{Geometry, Model, Tables, WinnerOrder};
use crate::posterior::Sets;

/// States with less posterior probability than this change nothing that can be seen.
const NEGLIGIBLE: f64 = 1e-6;
/// Sums that are merged at the same time, to bound the memory that they take.
const MOST_SUMS: usize = 1 << 22;
/// Lines of patches that are merged apart; the number does not depend on the threads, so that sums have one order.
const LINES: usize = 16;

/// An image (pages, rows, columns and channels) as the causes of a model explain it, and how certain that is.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// The posterior mean of the winner's mean, $\mathbb E_q\lbrack M_{d,h(d,\vec s)}\rbrack $, over all patches that have the pixel.
    pub mean: Array4<f64>,
    /// Its standard deviation, over the states of each patch and over the patches.
    pub deviation: Array4<f64>,
}

/// Sums over the patches that have a pixel.
#[derive(Debug, Clone)]
pub(super) struct Canvas {
    geometry: Geometry,
    /// Weight, mean, and square of the mean, for each pixel in the order of [`Geometry::pixel`].
    sums: Vec<[f64; 3]>,
}

impl Canvas {
    pub(super) fn new(geometry: Geometry) -> Canvas {
        Canvas { sums: vec![[0.0; 3]; geometry.pixels()], geometry }
    }

    /// Adds patches with their posteriors; `window` is the weight of each pixel of a patch, and the first pixel of
    /// `geometry` is in this page and row here.
    pub(super) fn add(
        &mut self,
        geometry: &Geometry,
        (page, row): (usize, usize),
        window: &[f64],
        posteriors: &Posteriors<'_>,
    ) {
        let (rows, columns) = self.geometry.image();
        let (first, size) = (page * geometry.pages_and_channels().1, geometry.image().0 * columns);
        let place = |pixel: usize| ((first + pixel / size) * rows + row) * columns + pixel % size;
        let bands = Band::all(geometry);
        let largest = bands.iter().map(Band::pixels).max().unwrap_or(1);
        // sums are added in the order of the bands, however many of them are merged at the same time
        for bands in bands.chunks((MOST_SUMS / largest).max(rayon::current_num_threads())) {
            let merged: Vec<Vec<[f64; 3]>> =
                bands.par_iter().map(|band| merge(geometry, band, window, posteriors)).collect();
            for (band, sums) in bands.iter().zip(merged) {
                for (local, sums) in sums.into_iter().enumerate() {
                    let to = &mut self.sums[place(band.pixel(local))];
                    (0..3).for_each(|k| to[k] += sums[k]);
                }
            }
        }
    }

    /// The image, NaN where no patch is.
    pub(super) fn estimate(&self) -> Estimate {
        let (pages, channels) = self.geometry.pages_and_channels();
        let (rows, columns) = self.geometry.image();
        let of = |read: &dyn Fn(&[f64; 3]) -> f64| {
            Array4::from_shape_fn((pages, rows, columns, channels), |(page, row, column, channel)| {
                read(&self.sums[((page * channels + channel) * rows + row) * columns + column])
            })
        };
        Estimate {
            mean: of(&|[weight, mean, _]| mean / weight),
            deviation: of(&|[weight, mean, square]| (square / weight - (mean / weight).powi(2)).max(0.0).sqrt()),
        }
    }
}

/// The posteriors of patches.
pub(super) struct Posteriors<'a> {
    sets: &'a Sets,
    q: &'a [f64],
    winners: WinnerOrder,
    /// $(H+1) \times D$: $M_{dh}$.
    means: Vec<f64>,
}

impl<'a> Posteriors<'a> {
    pub(super) fn new(model: &Model, sets: &'a Sets, q: &'a [f64]) -> Posteriors<'a> {
        let mut means = Vec::with_capacity((model.h() + 1) * model.d());
        for h in 0..=model.h() {
            let profile = model.profile(h);
            means.extend(model.columns().iter().map(|(_, family, span)| family.f(&profile[span])));
        }
        Posteriors { sets, q, winners: Tables::new(model).winners, means }
    }

    /// Calls `see` with the probability of each state of a patch and the winners' means.
    fn each_state(&self, n: usize, work: &mut Work, mut see: impl FnMut(f64, &[f64])) {
        let d = work.means.len();
        for (state, q) in self.sets.states(n).zip(&self.q[n * self.sets.s()..]) {
            if *q < NEGLIGIBLE {
                continue;
            }
            let background = self.winners.background();
            work.rank.copy_from_slice(self.winners.ranks(background));
            work.means.copy_from_slice(&self.means[background * d..]);
            for cause in state.active() {
                work.add(self.winners.ranks(cause), &self.means[cause * d..][..d]);
            }
            see(*q, &work.means);
        }
    }
}

/// The winners of a state.
struct Work {
    rank: Vec<u16>,
    means: Vec<f64>,
}

impl Work {
    fn add(&mut self, rank: &[u16], means: &[f64]) {
        for (((best, best_mean), rank), mean) in self.rank.iter_mut().zip(&mut self.means).zip(rank).zip(means) {
            let wins = rank > best;
            *best_mean = if wins { *mean } else { *best_mean };
            *best = if wins { *rank } else { *best };
        }
    }
}

/// Some lines of patches with the same pages, and the rows of pixels that they cover, in all these pages and channels.
struct Band {
    /// The patches.
    patches: Range<usize>,
    /// The first row of pixels in the first page and channel, counted through all pages and channels, and how many there are.
    first_row: usize,
    rows: usize,
    /// Rows of a channel, and columns.
    image: (usize, usize),
    /// Pages of a patch times channels.
    planes: usize,
}

impl Band {
    fn all(geometry: &Geometry) -> Vec<Band> {
        let planes = geometry.depth() * geometry.pages_and_channels().1;
        let image = geometry.image();
        let mut bands = Vec::new();
        for page in 0..geometry.along() {
            for line in (0..geometry.down()).step_by(LINES) {
                let last = (line + LINES).min(geometry.down()) - 1;
                let patch = |line: usize| (page * geometry.down() + line) * geometry.across();
                let row = |line: usize, d: usize| geometry.pixel(patch(line), d) / image.1;
                // the last pixel of the first page and channel
                let bottom = row(last, geometry.d() / planes - 1);
                let first_row = row(line, 0);
                let patches = patch(line)..patch(last) + geometry.across();
                bands.push(Band { patches, first_row, rows: bottom + 1 - first_row, image, planes });
            }
        }
        bands
    }

    /// How many pixels there are.
    fn pixels(&self) -> usize {
        self.planes * self.rows * self.image.1
    }

    /// The number here of a pixel of the image.
    fn local(&self, pixel: usize) -> usize {
        let (row, column) = (pixel / self.image.1 - self.first_row, pixel % self.image.1);
        (row / self.image.0 * self.rows + row % self.image.0) * self.image.1 + column
    }

    /// The pixel of the image that has a number here.
    fn pixel(&self, local: usize) -> usize {
        let (row, column) = (local / self.image.1, local % self.image.1);
        (self.first_row + row / self.rows * self.image.0 + row % self.rows) * self.image.1 + column
    }
}

/// The sums over the patches of a band.
fn merge(geometry: &Geometry, band: &Band, window: &[f64], posteriors: &Posteriors<'_>) -> Vec<[f64; 3]> {
    let d = geometry.d();
    let mut sums = vec![[0.0; 3]; band.pixels()];
    let mut work = Work { rank: vec![0; d], means: vec![0.0; d] };
    let (mut mean, mut square) = (vec![0.0; d], vec![0.0; d]);
    for n in band.patches.clone() {
        cancel::check();
        mean.fill(0.0);
        square.fill(0.0);
        posteriors.each_state(n, &mut work, |q, means| {
            for ((mean, square), value) in mean.iter_mut().zip(&mut square).zip(means) {
                *mean += q * value;
                *square += q * value * value;
            }
        });
        geometry.each_line(n, |columns, pixels| {
            let first = band.local(pixels.start);
            for (d, to) in columns.zip(&mut sums[first..]) {
                *to = [to[0] + window[d], to[1] + window[d] * mean[d], to[2] + window[d] * square[d]];
            }
        });
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::family;
    use crate::model::Background;
    use ndarray::array;

    #[test]
    fn a_tie_between_a_cause_and_the_background_goes_to_the_cause() {
        // two categories without order win by how decided they are, which is the same for 1/4 and 3/4; their means differ
        let nominal = family("categorical:k=2,order=nominal").unwrap();
        let model = Model::new(nominal, array![0.5], vec![array![[0.25]]], Background::fixed(&[0.75])).unwrap();
        let tables = Tables::new(&model);
        assert_eq!(tables.strength[[0, 0]], tables.strength[[1, 0]]);
        // a row whose states are the empty one and the cause
        let sets = Sets::from_bits(1, 2, vec![0, 1]).unwrap();
        let posteriors = Posteriors::new(&model, &sets, &[0.5, 0.5]);
        let mut seen = Vec::new();
        let mut work = Work { rank: vec![0; 1], means: vec![0.0; 1] };
        posteriors.each_state(0, &mut work, |_, means| seen.push(means[0]));
        let means = model.means();
        assert_ne!(seen[0], seen[1], "the cause does not win against the background: {seen:?}");
        assert_eq!(seen[1], means[[0, 0]]);
    }
}
