//! One channel of one page: sums of neighbouring pixels, and the way back from them.

use ndarray::{ArrayView2, ArrayViewMut2};

use super::blur::Blur;

/// One channel of one page, row by row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plane {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) values: Vec<f64>,
}

impl Plane {
    pub(super) fn of(view: ArrayView2<'_, f64>) -> Plane {
        Plane { rows: view.nrows(), columns: view.ncols(), values: view.iter().copied().collect() }
    }

    pub(super) fn copy_to(&self, mut view: ArrayViewMut2<'_, f64>) {
        view.iter_mut().zip(&self.values).for_each(|(to, from)| *to = *from);
    }

    /// A plane of the same size.
    pub(super) fn with(&self, values: Vec<f64>) -> Plane {
        Plane { rows: self.rows, columns: self.columns, values }
    }

    pub(super) fn map(&self, of: impl Fn(f64) -> f64) -> Plane {
        self.with(self.values.iter().map(|value| of(*value)).collect())
    }

    /// The means of blocks of `side` x `side` pixels. Blocks that reach beyond the edge continue with its mirror image, so that
    /// every mean has the noise of as many pixels.
    pub(super) fn binned(&self, side: usize) -> Plane {
        if side == 1 {
            return self.clone();
        }
        let (rows, columns) = (self.rows.div_ceil(side), self.columns.div_ceil(side));
        let mut values = vec![0.0; rows * columns];
        for y in 0..rows * side {
            let from = mirrored(y, self.rows) * self.columns;
            for x in 0..columns * side {
                values[y / side * columns + x / side] += self.values[from + mirrored(x, self.columns)];
            }
        }
        let pixels = (side * side) as f64;
        values.iter_mut().for_each(|value| *value /= pixels);
        Plane { rows, columns, values }
    }

    /// A plane of `rows` x `columns` pixels whose block means these are, by cubic interpolation between the middles of blocks.
    pub(super) fn interpolated(&self, side: usize, rows: usize, columns: usize) -> Plane {
        if side == 1 {
            return self.clone();
        }
        let across: Vec<[(usize, f64); 4]> = (0..columns).map(|x| taps(x, side, self.columns)).collect();
        let mut wide = vec![0.0; self.rows * columns];
        for (line, to) in self.values.chunks_exact(self.columns).zip(wide.chunks_exact_mut(columns)) {
            for (to, taps) in to.iter_mut().zip(&across) {
                *to = taps.iter().map(|(at, weight)| weight * line[*at]).sum();
            }
        }
        let mut values = vec![0.0; rows * columns];
        for (y, to) in values.chunks_exact_mut(columns).enumerate() {
            for (at, weight) in taps(y, side, self.rows) {
                to.iter_mut().zip(&wide[at * columns..]).for_each(|(to, from)| *to += weight * from);
            }
        }
        Plane { rows, columns, values }
    }

    /// The local average in a Gaussian window.
    pub(super) fn blurred(&self, deviation: f64) -> Plane {
        let blur = Blur::new(deviation);
        let (mut values, mut weights) = (self.values.clone(), vec![1.0; self.values.len()]);
        blur.page(&mut values, self.columns);
        blur.page(&mut weights, self.columns);
        self.with(values.iter().zip(&weights).map(|(value, weight)| value / weight).collect())
    }
}

/// The place `at` of a line of `size` that is continued by its mirror image.
fn mirrored(at: usize, size: usize) -> usize {
    let within = at % (2 * size);
    if within < size { within } else { 2 * size - 1 - within }
}

/// The four blocks around a pixel and their weights, by the cubic of Catmull and Rom.
fn taps(pixel: usize, side: usize, blocks: usize) -> [(usize, f64); 4] {
    let place = (pixel as f64 + 0.5) / side as f64 - 0.5;
    let before = place.floor();
    let t = place - before;
    let weights = [
        ((2.0 - t) * t - 1.0) * t / 2.0,
        ((3.0 * t - 5.0) * t * t + 2.0) / 2.0,
        ((4.0 - 3.0 * t) * t + 1.0) * t / 2.0,
        (t - 1.0) * t * t / 2.0,
    ];
    let block = |k: usize| (before + k as f64 - 1.0).clamp(0.0, (blocks - 1) as f64) as usize;
    [0, 1, 2, 3].map(|k| (block(k), weights[k]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_keep_the_mean_and_ramps_come_back() {
        let ramp = Plane {
            rows: 24,
            columns: 30,
            values: (0..720).map(|at| (at / 30) as f64 + 0.5 * (at % 30) as f64).collect(),
        };
        for side in [1, 2, 3, 4] {
            let small = ramp.binned(side);
            assert_eq!((small.rows, small.columns), (24usize.div_ceil(side), 30usize.div_ceil(side)));
            let back = small.interpolated(side, 24, 30);
            for y in 8..16 {
                for x in 8..20 {
                    let (one, other) = (ramp.values[y * 30 + x], back.values[y * 30 + x]);
                    assert!((one - other).abs() < 1e-9, "{side}: {one} became {other} at {y}, {x}");
                }
            }
        }
    }

    #[test]
    fn blocks_beyond_the_edge_are_mirrored() {
        let line = Plane { rows: 1, columns: 5, values: vec![1.0, 2.0, 3.0, 4.0, 8.0] };
        assert_eq!(line.binned(2).values, [1.5, 3.5, 8.0]);
        // blocks much larger than the image
        assert_eq!(line.binned(7).rows, 1);
        assert!(line.binned(7).interpolated(7, 1, 5).values.iter().all(|value| value.is_finite()));
    }
}
