//! Drawings as pixels.

use super::Drawing;
use super::letters::Letters;
use super::shapes::{Ink, Shape, TextLook, drawn_width};
use crate::{Picture, Rgb, ViewError};

/// Paths are drawn in pieces of at most this many pixels, so that a long one does not visit the whole page.
const PIECE: f64 = 32.0;

/// A picture that is being drawn.
pub(super) struct Raster {
    picture: Picture,
}

/// The complete drawing, `zoom` times as large.
pub(super) fn picture(drawing: &Drawing, zoom: usize) -> Result<Picture, ViewError> {
    if zoom == 0 {
        return Err(ViewError::Setting { what: "the zoom", value: "0".to_owned(), hint: "it has to be at least 1" });
    }
    let side = |pixels: u32| usize::try_from(pixels).unwrap_or(usize::MAX).saturating_mul(zoom);
    let picture = Picture::filled(side(drawing.width), side(drawing.height), [255; 3])?;
    let mut raster = Raster { picture };
    let letters = Letters::new()?;
    let larger = zoom as f64;
    let place = |(x, y): (f64, f64)| (x * larger, y * larger);
    for shape in &drawing.shapes {
        match shape {
            Shape::Rectangle { from, to, ink } => raster.rectangle(place(*from), place(*to), *ink),
            Shape::Path { points, width, ink } => {
                let points: Vec<_> = points.iter().map(|&point| place(point)).collect();
                raster.path(&points, drawn_width(*width) * larger, *ink);
            }
            Shape::Disc { centre, radius, ink } => {
                raster.path(&[place(*centre)], 2.0 * drawn_width(*radius) * larger, *ink)
            }
            Shape::Text { text, at, look } => {
                let look = TextLook { size: look.size * larger, ..*look };
                letters.write(&mut raster, text, place(*at), look);
            }
            Shape::Image { left, top, picture } => {
                raster.picture.paste(&picture.scaled(zoom)?, side(*left), side(*top));
            }
        }
    }
    Ok(raster.picture)
}

impl Raster {
    /// Lets a part of a colour cover a pixel; pixels outside are left out.
    pub(super) fn blend(&mut self, (x, y): (f64, f64), Rgb(colour): Rgb, part: f64) {
        if x < 0.0 || y < 0.0 || part <= 0.0 {
            return;
        }
        let part = part.min(1.0);
        if let Some(pixel) = self.picture.pixel_mut(x as usize, y as usize) {
            for (byte, &to) in pixel.iter_mut().zip(&colour) {
                let from = f64::from(*byte);
                *byte = (from + part * (f64::from(to) - from)).round() as u8;
            }
        }
    }

    fn rectangle(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink) {
        let (left, right) = (from.0.min(to.0), from.0.max(to.0));
        let (top, bottom) = (from.1.min(to.1), from.1.max(to.1));
        for y in pixels(top, bottom, self.picture.height()) {
            let high = (bottom.min(y + 1.0) - top.max(y)).max(0.0);
            for x in pixels(left, right, self.picture.width()) {
                let wide = (right.min(x + 1.0) - left.max(x)).max(0.0);
                self.blend((x, y), ink.0, ink.opacity() * wide * high);
            }
        }
    }

    /// A path with round ends; one point is a disc.
    fn path(&mut self, points: &[(f64, f64)], width: f64, ink: Ink) {
        let (points, width) = snapped(points, width);
        // What is thinner than a pixel is faint instead.
        let half = width.max(1.0) / 2.0;
        let strength = ink.opacity() * width.min(1.0);
        let ends = |of: fn(&(f64, f64)) -> f64| {
            let all = points.iter().map(of);
            (all.clone().fold(f64::INFINITY, f64::min) - half - 1.0, all.fold(f64::NEG_INFINITY, f64::max) + half + 1.0)
        };
        let ((left, right), (top, bottom)) = (ends(|point| point.0), ends(|point| point.1));
        let columns = pixels(left, right, self.picture.width());
        let rows = pixels(top, bottom, self.picture.height());
        let (Some(first_column), Some(first_row)) = (columns.clone().next(), rows.clone().next()) else {
            return;
        };
        // A path covers a pixel once where it crosses itself: coverage is collected before it is drawn.
        let across = columns.len();
        let mut coverage = vec![0.0_f32; across * rows.len()];
        let mut cover = |from: (f64, f64), to: (f64, f64)| {
            let reach = half + 1.0;
            for y in pixels(from.1.min(to.1) - reach, from.1.max(to.1) + reach, self.picture.height()) {
                for x in pixels(from.0.min(to.0) - reach, from.0.max(to.0) + reach, self.picture.width()) {
                    let part = (half + 0.5 - distance((x + 0.5, y + 0.5), from, to)).clamp(0.0, 1.0) as f32;
                    let at = (y - first_row) as usize * across + (x - first_column) as usize;
                    if let Some(pixel) = coverage.get_mut(at) {
                        *pixel = pixel.max(part);
                    }
                }
            }
        };
        if let [alone] = points[..] {
            cover(alone, alone);
        }
        for pair in points.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            let along = (to.0 - from.0, to.1 - from.1);
            let count = (along.0.hypot(along.1) / PIECE).ceil().clamp(1.0, 10_000.0);
            let at = |part: f64| (from.0 + along.0 * part / count, from.1 + along.1 * part / count);
            for piece in 0..count as usize {
                cover(at(piece as f64), at(piece as f64 + 1.0));
            }
        }
        for (y, row) in rows.zip(coverage.chunks_exact(across)) {
            for (x, &part) in columns.clone().zip(row) {
                self.blend((x, y), ink.0, strength * f64::from(part));
            }
        }
    }
}

/// The pixels that a length from `from` to `to` touches, of `count`.
fn pixels(from: f64, to: f64, count: usize) -> impl ExactSizeIterator<Item = f64> + Clone + use<> {
    let last = to.ceil().clamp(0.0, count as f64) as u32;
    let first = (from.floor().clamp(0.0, count as f64) as u32).min(last);
    (first..last).map(f64::from)
}

/// Paths of upright and level pieces only, such as the lines of axes, are moved to whole pixels, where they are sharp.
fn snapped(points: &[(f64, f64)], width: f64) -> (Vec<(f64, f64)>, f64) {
    let straight = |pair: &[(f64, f64)]| pair[0].0 == pair[1].0 || pair[0].1 == pair[1].1;
    if points.len() < 2 || !points.windows(2).all(straight) {
        return (points.to_vec(), width);
    }
    let rounded = width.round().max(1.0);
    let snap = |value: f64| if rounded % 2.0 == 0.0 { value.round() } else { value.floor() + 0.5 };
    (points.iter().map(|&(x, y)| (snap(x), snap(y))).collect(), rounded)
}

/// How far a point is from the piece of a line between two others.
fn distance(point: (f64, f64), from: (f64, f64), to: (f64, f64)) -> f64 {
    let along = (to.0 - from.0, to.1 - from.1);
    let offset = (point.0 - from.0, point.1 - from.1);
    let length = along.0 * along.0 + along.1 * along.1;
    let part = if length > 0.0 { ((offset.0 * along.0 + offset.1 * along.1) / length).clamp(0.0, 1.0) } else { 0.0 };
    (offset.0 - part * along.0).hypot(offset.1 - part * along.1)
}
