//! The legend of a figure.

use super::canvas::{Canvas, look};
use super::layout::{LINE_HEIGHT, Plot, TICK_SIZE};
use crate::Rgb;
use crate::drawing::{Across, Ink, Upright, text_width};

const INSET: f64 = 8.0;
const PADDING: f64 = 6.0;
const SAMPLE: f64 = 18.0;
const ROW: f64 = TICK_SIZE * LINE_HEIGHT + 2.0;

/// Where the legend stands. It has an entry for every label of curves and points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LegendPlace {
    /// The corner with the least drawn in it.
    #[default]
    Auto,
    /// Nowhere.
    Hidden,
    /// The upper left corner of the frame.
    UpperLeft,
    /// The upper right corner of the frame.
    UpperRight,
    /// The lower left corner of the frame.
    LowerLeft,
    /// The lower right corner of the frame.
    LowerRight,
}

/// The sample beside the text of an entry.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sample {
    /// A piece of a curve.
    Stroke { width: f64 },
    /// A disc.
    Disc { radius: f64 },
}

/// A line of the legend.
#[derive(Debug, Clone)]
pub(super) struct Entry<'a> {
    pub(super) text: &'a str,
    pub(super) colour: Rgb,
    pub(super) sample: Sample,
}

/// Draws the legend; `drawn` are pixels along what the figure shows, to find a free corner.
pub(super) fn draw(canvas: &mut Canvas, plot: &Plot, place: LegendPlace, entries: &[Entry], drawn: &[(f64, f64)]) {
    if entries.is_empty() || place == LegendPlace::Hidden {
        return;
    }
    let widths = entries.iter().map(|entry| text_width(entry.text, TICK_SIZE));
    let width = widths.fold(0.0, f64::max) + SAMPLE + 3.0 * PADDING;
    let height = ROW * entries.len() as f64 + 2.0 * PADDING - 2.0;
    let (left, top) = match place {
        LegendPlace::UpperLeft => corner(plot, width, height, false, false),
        LegendPlace::UpperRight => corner(plot, width, height, true, false),
        LegendPlace::LowerLeft => corner(plot, width, height, false, true),
        LegendPlace::LowerRight => corner(plot, width, height, true, true),
        LegendPlace::Auto | LegendPlace::Hidden => free_corner(plot, width, height, drawn),
    };
    let ends = ((left, top), (left + width, top + height));
    canvas.rectangle(ends.0, ends.1, Ink(Rgb([255; 3]), 0.88));
    let outline = [ends.0, (ends.1.0, top), ends.1, (left, ends.1.1), ends.0];
    canvas.path(&outline, 0.75, Ink(Rgb([205; 3]), 1.0));
    for (index, entry) in entries.iter().enumerate() {
        let middle = top + PADDING + ROW * (index as f64 + 0.5) - 1.0;
        let start = left + PADDING;
        // Entries are opaque even if the curves are not: faint colours are hard to tell apart.
        let ink = Ink(entry.colour, 1.0);
        match entry.sample {
            Sample::Stroke { width } => {
                let ends = [(start, middle), (start + SAMPLE, middle)];
                canvas.path(&ends, width.max(2.0), ink);
            }
            Sample::Disc { radius } => {
                canvas.disc((start + SAMPLE / 2.0, middle), radius.min(6.0), ink);
            }
        }
        let look = look(TICK_SIZE, Rgb([40; 3]), Across::Left, Upright::Centre);
        canvas.text(entry.text, (start + SAMPLE + PADDING, middle), look);
    }
}

fn corner(plot: &Plot, width: f64, height: f64, right: bool, lower: bool) -> (f64, f64) {
    let left = if right { plot.right - INSET - width } else { plot.left + INSET };
    let top = if lower { plot.bottom - INSET - height } else { plot.top + INSET };
    (left, top)
}

/// The upper left point of a legend in the corner that covers the fewest pixels of `drawn`.
fn free_corner(plot: &Plot, width: f64, height: f64, drawn: &[(f64, f64)]) -> (f64, f64) {
    let covered = |&(left, top): &(f64, f64)| {
        let in_box = |&&(x, y): &&(f64, f64)| (left..=left + width).contains(&x) && (top..=top + height).contains(&y);
        drawn.iter().filter(in_box).count()
    };
    let corners = [(true, false), (true, true), (false, false), (false, true)]
        .map(|(right, lower)| corner(plot, width, height, right, lower));
    let best = corners.into_iter().min_by_key(covered);
    best.unwrap_or(corners[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_free_corner_is_chosen() {
        let plot = Plot { left: 0.0, right: 100.0, top: 0.0, bottom: 100.0, x_range: (0.0, 1.0), y_range: (0.0, 1.0) };
        let drawn = [(80.0, 20.0), (80.0, 80.0), (20.0, 20.0)];
        assert_eq!(free_corner(&plot, 30.0, 30.0, &drawn), (8.0, 62.0));
        assert_eq!(free_corner(&plot, 30.0, 30.0, &[]), (62.0, 8.0));
    }
}
