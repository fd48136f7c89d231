//! The inside of a figure: curves, points, reference lines and texts.

use super::Figure;
use super::axis::is_drawable;
use super::canvas::{Canvas, look};
use super::draw::TEXT;
use super::layout::{LINE_HEIGHT, Plot, TICK_SIZE, spread, wrap};
use super::legend::{Entry, Sample};
use super::marks::{Annotation, Line, Reference};
use crate::Rgb;
use crate::drawing::{Across, Ink, Upright, text_width};

/// The lengths of a dash and the gap after it in pixels.
const DASH: (f64, f64) = (6.0, 4.0);

/// The opacity of points: where they overlap, it shows.
const POINT_OPACITY: f64 = 0.85;

/// The left and right end of a text centred over its place, kept inside the frame.
pub(super) fn extent(plot: &Plot, text: &Annotation) -> (f64, f64) {
    let half = text_width(&text.text, TICK_SIZE) / 2.0;
    let middle = plot.x(text.x).min(plot.right - half).max(plot.left + half);
    (middle - half, middle + half)
}

/// A reference line's label, broken into lines.
pub(super) struct MarginLabel<'a> {
    pub(super) reference: &'a Reference,
    pub(super) lines: Vec<String>,
}

/// The labels of the reference lines in the frame, in lines short enough for the margin.
pub(super) fn margin_labels(figure: &Figure, y_range: (f64, f64), width: f64) -> Vec<MarginLabel<'_>> {
    let room = (width * 0.22).min(110.0);
    let shown = figure.references.iter();
    shown
        .filter(|reference| (y_range.0..=y_range.1).contains(&reference.y))
        .filter_map(|reference| {
            let lines = wrap(reference.label.as_deref()?, TICK_SIZE, room);
            Some(MarginLabel { reference, lines })
        })
        .collect()
}

/// Width and opacity that keep this many curves readable.
fn style_for(count: usize) -> (f64, f64) {
    match count {
        0..=8 => (1.75, 1.0),
        9..=30 => (1.25, 0.7),
        31..=150 => (1.0, 0.4),
        _ => (0.75, 0.25),
    }
}

/// The curves and points as the legend sees them.
pub(super) struct Drawn<'a> {
    /// The entries of the legend.
    pub(super) entries: Vec<Entry<'a>>,
    /// Pixels along all that was drawn, to find a free corner.
    pub(super) pixels: Vec<(f64, f64)>,
}

/// Draws curves and points.
pub(super) fn marks<'a>(figure: &'a Figure, canvas: &mut Canvas, plot: &Plot) -> Drawn<'a> {
    let (usual_width, usual_opacity) = style_for(figure.lines.len());
    let mut palette = (0..).map(Rgb::palette);
    let mut next_colour = |given: Option<Rgb>| given.or_else(|| palette.next()).unwrap_or(TEXT);
    let mut entries: Vec<Entry> = Vec::new();
    let mut drawn = Vec::new();
    for line in &figure.lines {
        let same = |entry: &&Entry| Some(entry.text) == line.label.as_deref();
        let entry = entries.iter().find(same);
        // Curves with one entry in the legend have one colour.
        let colour = line.colour.or(entry.map(|entry| entry.colour));
        let listed = entry.is_some();
        let colour = next_colour(colour);
        let width = line.shape.width.unwrap_or(usual_width);
        let ink = Ink(colour, line.opacity.unwrap_or(usual_opacity));
        for run in runs(line, plot) {
            match run.as_slice() {
                [alone] => canvas.disc(*alone, width, ink),
                run => canvas.path(run, width, ink),
            }
            drawn.extend(run.windows(2).flat_map(|pair| between(pair[0], pair[1])));
        }
        if let (Some(text), false) = (line.label.as_deref(), listed) {
            let sample = Sample::Stroke { width };
            entries.push(Entry { text, colour, sample });
        }
    }
    for points in &figure.points {
        let colour = next_colour(points.colour);
        let ink = Ink(colour, points.opacity.unwrap_or(POINT_OPACITY));
        let pixels = points.points.iter().map(|&(x, y)| (plot.x(x), plot.y(y)));
        for pixel in pixels.filter(|&pixel| plot.contains(pixel)) {
            canvas.disc(pixel, points.shape.radius, ink);
            drawn.push(pixel);
        }
        if let Some(text) = points.label.as_deref() {
            let sample = Sample::Disc { radius: points.shape.radius };
            entries.push(Entry { text, colour, sample });
        }
    }
    for reference in &figure.references {
        let y = plot.y(reference.y);
        drawn.extend((0..=40).map(|part| (plot.left + (plot.right - plot.left) * f64::from(part) / 40.0, y)));
    }
    Drawn { entries, pixels: drawn }
}

/// Pixels along a piece of a curve, so that long pieces count in the search for a free corner.
fn between(from: (f64, f64), to: (f64, f64)) -> impl Iterator<Item = (f64, f64)> {
    let length = (to.0 - from.0).hypot(to.1 - from.1);
    let parts = (length / 8.0).clamp(1.0, 500.0) as u32;
    (0..parts).map(move |part| {
        let part = f64::from(part) / f64::from(parts);
        (from.0 + part * (to.0 - from.0), from.1 + part * (to.1 - from.1))
    })
}

/// The pieces of a curve that are in the frame, in pixels, broken where values are not finite.
fn runs(line: &Line, plot: &Plot) -> Vec<Vec<(f64, f64)>> {
    let drawable = |&(x, y): &(f64, f64)| is_drawable(x) && is_drawable(y);
    let mut runs: Vec<Vec<(f64, f64)>> = Vec::new();
    for piece in line.points.split(|point| !drawable(point)) {
        let pixels: Vec<_> = piece.iter().map(|&(x, y)| (plot.x(x), plot.y(y))).collect();
        if let [alone] = pixels[..]
            && plot.contains(alone)
        {
            runs.push(vec![alone]);
        }
        let mut joined = false;
        for pair in pixels.windows(2) {
            let Some([from, to]) = plot.clip(pair[0], pair[1]) else {
                joined = false;
                continue;
            };
            match runs.last_mut() {
                Some(run) if joined => run.push(to),
                _ => runs.push(vec![from, to]),
            }
            joined = to == pair[1];
        }
    }
    runs
}

/// Reference lines, with their labels in the right margin.
pub(super) fn references(figure: &Figure, canvas: &mut Canvas, plot: &Plot, labels: &[MarginLabel]) {
    for reference in &figure.references {
        let y = plot.y(reference.y);
        if !plot.contains((plot.left, y)) {
            continue;
        }
        let ink = Ink(reference.colour, 0.95);
        let (dash, period) =
            if reference.dashed { (DASH.0, DASH.0 + DASH.1) } else { (plot.right - plot.left, plot.right - plot.left) };
        let mut from = plot.left;
        while from < plot.right {
            let to = (from + dash).min(plot.right);
            canvas.path(&[(from, y), (to, y)], reference.width(), ink);
            from += period;
        }
    }
    let row = TICK_SIZE * LINE_HEIGHT;
    let blocks: Vec<_> =
        (labels.iter()).map(|label| (plot.y(label.reference.y), row * label.lines.len() as f64)).collect();
    let middles = spread(&blocks, plot.top - row / 2.0, plot.bottom + row / 2.0);
    for ((label, block), middle) in labels.iter().zip(&blocks).zip(middles) {
        for (index, line) in label.lines.iter().enumerate() {
            let y = middle - block.1 / 2.0 + row * (index as f64 + 0.5);
            let style = look(TICK_SIZE, label.reference.colour, Across::Left, Upright::Centre);
            canvas.text(line, (plot.right + 6.0, y), style);
        }
    }
}

/// Texts at points in the frame.
pub(super) fn texts_in_frame(figure: &Figure, canvas: &mut Canvas, plot: &Plot) {
    for text in &figure.annotations {
        let Some(y) = text.y.map(|y| plot.y(y)) else {
            continue;
        };
        if plot.contains((plot.x(text.x), y)) {
            let (left, right) = extent(plot, text);
            let at = ((left + right) / 2.0, y - 5.0);
            canvas.text(&text.text, at, look(TICK_SIZE, TEXT, Across::Centre, Upright::Baseline));
        }
    }
}
