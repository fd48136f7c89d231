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
/// Tiles that are looked at, and that are kept.
const LOOKED_AT: usize = 4096;
const KEPT: usize = 96;
/// Tiles are kept evenly from so many steps of brightness.
const STEPS: usize = 8;
/// Up to this many times the variance that noise alone gives to the means of blocks, a tile is flat.
const FLAT: f64 = 1.6;
/// Places in a tile that its variance must come from, at the least.
const FEWEST_PLACES: usize = 16;

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
    tiles.truncate(flat.max(KEPT));
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
    kept.extend(in_turn.take(KEPT).map(|(_, tile)| *tile));
    kept
}

/// Mean, variance of the noise and structure of a tile; nothing if too little of it is present, or if there is no noise.
fn described(tile: ArrayView2<'_, f64>) -> Option<(f64, f64, f64)> {
    let (mean, _, count) = mean_and_variance(tile.iter().copied())?;
    let variance = noise_variance(tile)?;
    if !(variance > 0.0 && variance.is_finite()) || 2 * count < tile.len() {
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
/// not change.
fn noise_variance(tile: ArrayView2<'_, f64>) -> Option<f64> {
    const MASK: [f64; 9] = [1.0, -2.0, 1.0, -2.0, 4.0, -2.0, 1.0, -2.0, 1.0];
    let squares = tile.windows((3, 3)).into_iter().filter_map(|window| {
        let difference: f64 = window.iter().zip(MASK).map(|(value, weight)| value * weight).sum();
        (!difference.is_nan()).then_some(difference * difference / 36.0)
    });
    let (sum, count) = squares.fold((0.0, 0), |(sum, count), square| (sum + square, count + 1));
    (count >= FEWEST_PLACES).then(|| sum / count as f64)
}

/// Mean, variance and number of the values that are present.
fn mean_and_variance(values: impl Iterator<Item = f64> + Clone) -> Option<(f64, f64, usize)> {
    let present = values.filter(|value| !value.is_nan());
    let count = present.clone().count();
    let mean = present.clone().sum::<f64>() / count as f64;
    let variance = present.map(|value| (value - mean).powi(2)).sum::<f64>() / count as f64;
    (count > 0).then_some((mean, variance, count))
}
