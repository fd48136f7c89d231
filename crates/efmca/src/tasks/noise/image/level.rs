//! How the variance of noise depends on brightness.

use super::tiles::Tile;

/// The tiles that a law is judged on, at the least.
const FEWEST: usize = 12;
/// The squared distance of a line must be smaller than that of all other laws by this factor, and by as much as this many nats of
/// a Gaussian say.
const NEARER: f64 = 1.3;
const EVIDENCE: f64 = 4.0;
/// A line is near if it is this far from the tiles on average, in the logarithm, and no tile counts as further away than the
/// second: it may have an edge.
const NEAR: f64 = 0.45;
const FURTHEST: f64 = 1.0;
/// A law is possible whose squared distance is at most this many times that of a line and that of no change at all.
const POSSIBLE: f64 = 2.0;
/// The variance of the brighter half of the tiles must be this many times that of the darker half.
const RISES: f64 = 1.3;

/// Noise that looks like that of a camera: counts times a gain, above an offset.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct CameraNoise {
    /// By how much the variance grows with the mean.
    pub gain: f64,
    /// The mean at which there would be no variance. What the camera adds when it is read makes it smaller than the true offset.
    pub offset: f64,
}

/// The variance as a multiple of the one that is expected at that mean, in the middle of the tiles; nothing if no tile is bright.
pub(super) fn dispersion(tiles: &[Tile], expected: impl Fn(f64) -> f64) -> Option<f64> {
    let ratios = tiles.iter().filter(|tile| tile.mean > 0.0).map(|tile| tile.variance / expected(tile.mean));
    median(ratios.filter(|ratio| ratio.is_finite()).collect())
}

/// The camera that the tiles look like: their variance rises with the mean along a line, and none of the laws of the families does
/// as well (the same variance everywhere, that of counts, a multiple of the squared mean, and both together).
pub(super) fn camera(tiles: &[Tile]) -> Option<CameraNoise> {
    if tiles.len() < FEWEST {
        return None;
    }
    let (zero, slope) = line(tiles)?;
    let (dark, bright) = halves(tiles)?;
    if !(slope > 0.0 && slope.is_finite() && bright > RISES * dark) {
        return None;
    }
    let line = distance(tiles, |mean| zero + slope * mean);
    let excess = |tile: &Tile| (tile.variance - tile.mean) / (tile.mean * tile.mean);
    let shape = median(tiles.iter().map(excess).collect()).unwrap_or(0.0).max(0.0);
    let others = [
        distance_of_multiple(tiles, |_| 1.0),
        distance_of_multiple(tiles, |mean| mean * mean),
        distance(tiles, |mean| mean),
        distance(tiles, |mean| mean + shape * mean * mean),
    ];
    let nearest = others.into_iter().filter(|far| !far.is_nan()).fold(f64::INFINITY, f64::min);
    let (nearer, tiles) = (nearest / line, tiles.len() as f64);
    let sure = nearer > NEARER && 0.5 * tiles * nearer.ln() > EVIDENCE;
    (line < NEAR * NEAR && sure).then_some(CameraNoise { gain: slope, offset: -zero / slope })
}

/// Whether the variance may be a multiple of the squared mean, as it is for speckle.
pub(super) fn grows_with_the_square(tiles: &[Tile]) -> bool {
    tiles.len() < FEWEST || distance_of_multiple(tiles, |mean| mean * mean) <= POSSIBLE * of_any_noise(tiles)
}

/// Whether the variance is surely a multiple of the mean, as it is for counts.
pub(super) fn grows_with_the_mean(tiles: &[Tile]) -> bool {
    tiles.len() >= FEWEST && distance_of_multiple(tiles, |mean| mean) <= POSSIBLE * of_any_noise(tiles)
}

/// How far the variances are from a line or from no change at all, which any noise is near to.
fn of_any_noise(tiles: &[Tile]) -> f64 {
    let straight = line(tiles).map_or(f64::INFINITY, |(zero, slope)| distance(tiles, |mean| zero + slope * mean));
    straight.min(distance_of_multiple(tiles, |_| 1.0))
}

/// The line through the tiles that half of them lie above: where it begins, and its slope.
fn line(tiles: &[Tile]) -> Option<(f64, f64)> {
    let slope = median(pairs(tiles).collect())?;
    Some((median(tiles.iter().map(|tile| tile.variance - slope * tile.mean).collect())?, slope))
}

/// The slopes between all pairs of tiles that are not equally bright (Theil and Sen).
fn pairs(tiles: &[Tile]) -> impl Iterator<Item = f64> + '_ {
    let slope = |a: &Tile, b: &Tile| (b.variance - a.variance) / (b.mean - a.mean);
    tiles
        .iter()
        .enumerate()
        .flat_map(move |(index, a)| tiles[..index].iter().map(move |b| slope(a, b)))
        .filter(|slope| slope.is_finite())
}

/// The variances in the middle of the darker and of the brighter half of the tiles.
fn halves(tiles: &[Tile]) -> Option<(f64, f64)> {
    let mut sorted = tiles.to_vec();
    sorted.sort_by(|a, b| a.mean.total_cmp(&b.mean));
    let (dark, bright) = sorted.split_at(sorted.len() / 2);
    let middle = |tiles: &[Tile]| median(tiles.iter().map(|tile| tile.variance).collect());
    Some((middle(dark)?, middle(bright)?))
}

/// How far the variances are from a law, squared and on average, in the logarithm.
fn distance(tiles: &[Tile], law: impl Fn(f64) -> f64) -> f64 {
    let far = |tile: &Tile| {
        let expected = law(tile.mean);
        // a law that has no variance there is as wrong as can be
        if expected > 0.0 { (tile.variance / expected).ln().abs().min(FURTHEST).powi(2) } else { FURTHEST }
    };
    tiles.iter().map(far).sum::<f64>() / tiles.len() as f64
}

/// The same for the multiple of a law that is right in the middle of the tiles.
fn distance_of_multiple(tiles: &[Tile], law: impl Fn(f64) -> f64) -> f64 {
    dispersion(tiles, &law).map_or(f64::INFINITY, |factor| distance(tiles, |mean| factor * law(mean)))
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
