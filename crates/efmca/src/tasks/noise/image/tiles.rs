//! A small part of an image in which there is little but noise.
//!
//! Structure that a few causes do not explain looks like more noise. So families are compared on tiles whose structure is weak.
//! Whether it is weak is asked of the coarse half of a tile (the means of its blocks) and not of the noise itself: tiles with
//! little noise must not be preferred.

use ndarray::{Array4, ArrayView2, ArrayView4, s};

use crate::hash;

/// Rows and columns of a tile, and of the blocks whose means show its structure.
const SIDE: usize = 16;
const BLOCK: usize = 4;
/// Tiles that are looked at, and that are kept: at the most, and at the least even if they are not flat.
const LOOKED_AT: usize = 4096;
const MOST: usize = 72;
const FEWEST: usize = 12;
/// Tiles are kept evenly from so many steps of brightness.
const STEPS: usize = 8;
/// Up to this many times the variance that noise alone gives to the means of blocks, a tile is flat.
const FLAT: f64 = 1.6;
/// Differences that the variance of a tile must come from, at the least, and pixels that must be present.
const FEWEST_DIFFERENCES: usize = 16;
const FEWEST_PRESENT: usize = 40;

/// A tile: where it is, and what is in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tile {
    page: usize,
    row: usize,
    column: usize,
    channel: usize,
    pub(super) mean: f64,
    /// The variance of the noise, from second differences: slopes do not count.
    pub(super) variance: f64,
    /// The variance of the means of blocks, as a multiple of what the noise gives them.
    structure: f64,
}

/// The tiles that families are compared on.
pub(super) struct Tiles {
    /// Rows and columns of each.
    side: (usize, usize),
    pub(super) found: Vec<Tile>,
}

impl Tiles {
    /// Flat tiles from all brightnesses and many places of the image; where there are few, those with the least structure.
    pub(super) fn of(pixels: ArrayView4<'_, f64>, seed: u64) -> Tiles {
        let (pages, rows, columns, channels) = pixels.dim();
        let side = (SIDE.min(rows), SIDE.min(columns));
        let lattice = (rows / side.0.max(1), columns / side.1.max(1));
        let all = pages * channels * lattice.0 * lattice.1;
        let share = LOOKED_AT as f64 / all.max(1) as f64;
        // a hash of the place has no rhythm that pages or patterns could share
        let looked_at =
            |index: &usize| all <= LOOKED_AT || (hash::of_place(seed, *index as u64) as f64) < share * u64::MAX as f64;
        let described = |index: usize| {
            let (rest, column) = (index / lattice.1, index % lattice.1 * side.1);
            let (rest, row) = (rest / lattice.0, rest % lattice.0 * side.0);
            let (page, channel) = (rest / channels, rest % channels);
            let tile = pixels.slice(s![page, row..row + side.0, column..column + side.1, channel]);
            let (mean, variance, structure) = described(tile)?;
            Some(Tile { page, row, column, channel, mean, variance, structure })
        };
        let found = (0..all).filter(looked_at).filter_map(described).collect();
        Tiles { side, found: evenly(found, seed) }
    }

    /// The tiles as pages of a stack.
    pub(super) fn stack(&self, pixels: ArrayView4<'_, f64>) -> Array4<f64> {
        let mut stack = Array4::zeros((self.found.len(), self.side.0, self.side.1, 1));
        for (mut page, tile) in stack.outer_iter_mut().zip(&self.found) {
            let (rows, columns) = (tile.row..tile.row + self.side.0, tile.column..tile.column + self.side.1);
            page.slice_mut(s![.., .., 0]).assign(&pixels.slice(s![tile.page, rows, columns, tile.channel]));
        }
        stack
    }
}

/// The flat tiles, about as many from each step of brightness.
fn evenly(mut tiles: Vec<Tile>, seed: u64) -> Vec<Tile> {
    tiles.sort_by(|a, b| a.structure.total_cmp(&b.structure));
    let flat = tiles.iter().take_while(|tile| tile.structure <= FLAT).count();
    tiles.truncate(flat.max(FEWEST));
    let low = tiles.iter().map(|tile| tile.mean).fold(f64::INFINITY, f64::min);
    let high = tiles.iter().map(|tile| tile.mean).fold(f64::NEG_INFINITY, f64::max);
    let step = |tile: &Tile| (((tile.mean - low) / (high - low) * STEPS as f64) as usize).min(STEPS - 1);
    let mut steps: Vec<Vec<(u64, Tile)>> = vec![Vec::new(); STEPS];
    for (index, tile) in tiles.into_iter().enumerate() {
        steps[step(&tile)].push((hash::of_place(seed, index as u64), tile));
    }
    steps.iter_mut().for_each(|step| step.sort_by_key(|(number, _)| *number));
    let mut kept: Vec<Tile> = Vec::new();
    let deepest = steps.iter().map(Vec::len).max().unwrap_or(0);
    let in_turn = (0..deepest).flat_map(|depth| steps.iter().filter_map(move |step| step.get(depth)));
    kept.extend(in_turn.take(MOST).map(|(_, tile)| *tile));
    kept
}

/// Mean, variance of the noise and structure of a tile; nothing if too little of it is present, or if there is no noise.
fn described(tile: ArrayView2<'_, f64>) -> Option<(f64, f64, f64)> {
    let (mean, _, count) = mean_and_variance(tile.iter().copied())?;
    let variance = noise_variance(tile)?;
    if !(variance > 0.0 && variance.is_finite()) || count < FEWEST_PRESENT {
        return None;
    }
    let block = (BLOCK.min(tile.nrows()), BLOCK.min(tile.ncols()));
    let (mut means, mut expected) = (Vec::new(), 0.0);
    for block in tile.exact_chunks(block) {
        if let Some((mean, _, count)) = mean_and_variance(block.iter().copied()) {
            means.push(mean);
            expected += variance / count as f64;
        }
    }
    let expected = expected / means.len().max(1) as f64;
    let (_, scatter, count) = mean_and_variance(means.into_iter())?;
    let structure = if count > 1 { scatter * count as f64 / (count - 1) as f64 / expected } else { 1.0 };
    Some((mean, variance, structure))
}

/// The variance of noise that neighbours do not share, from second differences along rows and columns at once, which planes do
/// not change; where many pixels are missing, from second differences along one of them, or from those of neighbours.
fn noise_variance(tile: ArrayView2<'_, f64>) -> Option<f64> {
    let both: &[((usize, usize), &[f64])] = &[((3, 3), &[1.0, -2.0, 1.0, -2.0, 4.0, -2.0, 1.0, -2.0, 1.0])];
    let one: &[((usize, usize), &[f64])] = &[((3, 1), &[1.0, -2.0, 1.0]), ((1, 3), &[1.0, -2.0, 1.0])];
    let neighbours: &[((usize, usize), &[f64])] = &[((2, 1), &[1.0, -1.0]), ((1, 2), &[1.0, -1.0])];
    [both, one, neighbours].into_iter().find_map(|masks| {
        let (mut sum, mut count) = (0.0, 0);
        for (size, weights) in masks.iter().filter(|(size, _)| size.0 <= tile.nrows() && size.1 <= tile.ncols()) {
            let power: f64 = weights.iter().map(|weight| weight * weight).sum();
            for window in tile.windows(*size) {
                let difference: f64 = window.iter().zip(*weights).map(|(value, weight)| value * weight).sum();
                if !difference.is_nan() {
                    sum += difference * difference / power;
                    count += 1;
                }
            }
        }
        (count >= FEWEST_DIFFERENCES).then(|| sum / count as f64)
    })
}

/// Mean, variance and number of the values that are present.
fn mean_and_variance(values: impl Iterator<Item = f64> + Clone) -> Option<(f64, f64, usize)> {
    let present = values.filter(|value| !value.is_nan());
    let count = present.clone().count();
    let mean = present.clone().sum::<f64>() / count as f64;
    let variance = present.map(|value| (value - mean).powi(2)).sum::<f64>() / count as f64;
    (count > 0).then_some((mean, variance, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    /// Noise of the variance 4 on a slope, above which a bright square stands.
    fn image(missing: f64) -> Array4<f64> {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(2);
        Array4::from_shape_fn((1, 128, 128, 1), |(_, y, x, _)| {
            let noise = 12f64.sqrt() * 2.0 * (rng.random::<f64>() - 0.5);
            let square = if (40..60).contains(&y) && (40..60).contains(&x) { 50.0 } else { 0.0 };
            if rng.random::<f64>() < missing { f64::NAN } else { 0.01 * x as f64 + square + noise }
        })
    }

    #[test]
    fn the_variance_is_that_of_the_noise_whatever_is_missing() {
        for missing in [0.0, 0.4, 0.75] {
            let tiles = Tiles::of(image(missing).view(), 0);
            assert!(tiles.found.len() >= FEWEST, "{missing}");
            let variance = tiles.found.iter().map(|tile| tile.variance).sum::<f64>() / tiles.found.len() as f64;
            assert!((variance / 4.0 - 1.0).abs() < 0.1, "{missing} {variance}");
        }
    }

    #[test]
    fn tiles_with_edges_are_left_out() {
        let pixels = image(0.0);
        let tiles = Tiles::of(pixels.view(), 0);
        // the square is in 4 of the 64 tiles
        let edges = |tile: &&Tile| (32..64).contains(&tile.row) && (32..64).contains(&tile.column);
        assert_eq!((tiles.found.iter().filter(edges).count(), tiles.found.len() > 40), (0, true));
        let stack = tiles.stack(pixels.view());
        assert_eq!(stack.dim(), (tiles.found.len(), SIDE, SIDE, 1));
        let tile = &tiles.found[3];
        assert_eq!(stack[[3, 2, 5, 0]], pixels[[0, tile.row + 2, tile.column + 5, 0]]);
    }

    #[test]
    fn images_smaller_than_a_tile_are_one() {
        let pixels = image(0.0);
        let small = Tiles::of(pixels.slice(s![.., ..9, ..70, ..]), 0);
        assert_eq!((small.side, small.found.len()), ((9, 16), 4));
        assert!(Tiles::of(pixels.slice(s![.., ..2, ..2, ..]), 0).found.is_empty());
        assert!(Tiles::of(pixels.slice(s![.., ..0, ..5, ..]), 0).found.is_empty());
    }
}
