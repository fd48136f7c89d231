//! Drawing a figure on a canvas.

use super::Figure;
use super::axis::{Tick, is_drawable, range_of, ticks};
use super::canvas::{Canvas, look};
use super::content::{extent, margin_labels, marks, references, texts_in_frame};
use super::layout::{LABEL_SIZE, LINE_HEIGHT, Plot, TICK_SIZE, TITLE_SIZE, fitting_size, rows_without_overlap};
use super::legend;
use super::marks::Annotation;
use crate::Rgb;
use crate::drawing::{Across, Ink, TextLook, Upright, text_width};

const MARGIN: f64 = 12.0;
const TICK_GAP: f64 = 6.0;
const Y_TICK_SPACING: f64 = 34.0;
pub(super) const TEXT: Rgb = Rgb([40; 3]);
const FAINT: Rgb = Rgb([228; 3]);
const FRAME: Rgb = Rgb([90; 3]);

/// Draws a figure.
pub(super) fn figure(figure: &Figure, canvas: &mut Canvas) {
    let (x_range, y_range) = ranges(figure);
    let margin_labels = margin_labels(figure, y_range, canvas.width);
    let label_widths = margin_labels.iter().flat_map(|label| &label.lines);
    let label_width = label_widths.map(|line| text_width(line, TICK_SIZE)).fold(0.0, f64::max);

    let title_height = if figure.title.trim().is_empty() { 0.0 } else { TITLE_SIZE + 10.0 };
    let axis_height = |label: &str| {
        if label.trim().is_empty() { 0.0 } else { LABEL_SIZE + 8.0 }
    };
    let mut plot = Plot {
        left: MARGIN,
        right: canvas.width - MARGIN - if label_width > 0.0 { label_width + 4.0 } else { 6.0 },
        top: MARGIN + title_height,
        bottom: canvas.height - MARGIN - TICK_SIZE - TICK_GAP - axis_height(&figure.x_label),
        x_range,
        y_range,
    };
    // The labels of the vertical ticks decide where the frame begins on the left; that and the
    // texts above it decide the rest.
    let most = ((plot.bottom - plot.top) / Y_TICK_SPACING).clamp(2.0, 10.0) as usize;
    let y_ticks = ticks(y_range.0, y_range.1, most, false);
    let widest = widest_label(&y_ticks);
    plot.left += axis_height(&figure.y_label) + widest + TICK_GAP;
    plot.right = plot.right.max(plot.left + 10.0);
    let above: Vec<&Annotation> = (figure.annotations.iter())
        .filter(|text| text.y.is_none() && plot.contains((plot.x(text.x), plot.top)))
        .collect();
    let extents: Vec<_> = above.iter().map(|text| extent(&plot, text)).collect();
    let rows = rows_without_overlap(&extents, 5.0);
    let row_height = TICK_SIZE * LINE_HEIGHT;
    let row_count = rows.iter().max().map_or(0, |row| row + 1);
    plot.top += row_height * row_count as f64;
    plot.bottom = plot.bottom.max(plot.top + 10.0);

    axes(figure, canvas, &plot, &y_ticks, widest);
    for ((text, extent), row) in above.iter().zip(&extents).zip(&rows) {
        let at = ((extent.0 + extent.1) / 2.0, plot.top - 5.0 - row_height * *row as f64);
        canvas.text(&text.text, at, look(TICK_SIZE, TEXT, Across::Centre, Upright::Baseline));
    }
    let drawn = marks(figure, canvas, &plot);
    references(figure, canvas, &plot, &margin_labels);
    texts_in_frame(figure, canvas, &plot);
    legend::draw(canvas, &plot, figure.legend, &drawn.entries, &drawn.pixels);
}

/// The ranges of the two axes.
fn ranges(figure: &Figure) -> ((f64, f64), (f64, f64)) {
    let in_lines = figure.lines.iter().flat_map(|line| &line.points);
    let in_points = figure.points.iter().flat_map(|points| &points.points);
    // A point counts only if both of its values can be drawn.
    let all = || {
        let both = in_lines.clone().chain(in_points.clone()).copied();
        both.filter(|&(x, y)| is_drawable(x) && is_drawable(y))
    };
    let texts = figure.annotations.iter().map(|text| text.x);
    let levels = figure.references.iter().map(|reference| reference.y);
    // Curves may touch the sides of the frame, discs and texts should not.
    let side = if figure.points.is_empty() && figure.annotations.is_empty() { 0.0 } else { 0.04 };
    let x_range = range_of(all().map(|(x, _)| x).chain(texts), side);
    let y_range = range_of(all().map(|(_, y)| y).chain(levels), 0.05);
    (figure.x_range.unwrap_or(x_range), figure.y_range.unwrap_or(y_range))
}

fn widest_label(ticks: &[Tick]) -> f64 {
    let widths = ticks.iter().map(|tick| text_width(&tick.label, TICK_SIZE));
    widths.fold(0.0, f64::max)
}

/// Title, grid, frame, ticks and labels.
fn axes(figure: &Figure, canvas: &mut Canvas, plot: &Plot, y_ticks: &[Tick], y_label_width: f64) {
    let x_ticks = x_ticks(figure, plot);
    for tick in &x_ticks {
        let x = plot.x(tick.value);
        canvas.path(&[(x, plot.top), (x, plot.bottom)], 0.75, Ink(FAINT, 1.0));
        canvas.path(&[(x, plot.bottom), (x, plot.bottom + 4.0)], 1.0, Ink(FRAME, 1.0));
        let at = (x, plot.bottom + TICK_GAP);
        canvas.text(&tick.label, at, look(TICK_SIZE, TEXT, Across::Centre, Upright::Top));
    }
    for tick in y_ticks {
        let y = plot.y(tick.value);
        canvas.path(&[(plot.left, y), (plot.right, y)], 0.75, Ink(FAINT, 1.0));
        canvas.path(&[(plot.left - 4.0, y), (plot.left, y)], 1.0, Ink(FRAME, 1.0));
        let at = (plot.left - TICK_GAP, y);
        canvas.text(&tick.label, at, look(TICK_SIZE, TEXT, Across::Right, Upright::Centre));
    }
    let corners = [(plot.left, plot.top), (plot.left, plot.bottom), (plot.right, plot.bottom)];
    canvas.path(&corners, 1.0, Ink(FRAME, 1.0));

    let middle = (plot.left + plot.right) / 2.0;
    let size = fitting_size(&figure.title, TITLE_SIZE, canvas.width - 2.0 * MARGIN);
    // A title too wide to be centred over the frame is moved so that it stays on the page.
    let half = text_width(&figure.title, size) / 2.0 + MARGIN;
    let title_middle = middle.min(canvas.width - half).max(half);
    let at = (title_middle, MARGIN);
    canvas.text(&figure.title, at, look(size, Rgb::BLACK, Across::Centre, Upright::Top));

    let size = fitting_size(&figure.x_label, LABEL_SIZE, plot.right - plot.left);
    let at = (middle, canvas.height - MARGIN);
    canvas.text(&figure.x_label, at, look(size, TEXT, Across::Centre, Upright::Baseline));

    let size = fitting_size(&figure.y_label, LABEL_SIZE, plot.bottom - plot.top);
    let upwards = TextLook { upwards: true, ..look(size, TEXT, Across::Centre, Upright::Baseline) };
    let at = (plot.left - TICK_GAP - y_label_width - 6.0, (plot.top + plot.bottom) / 2.0);
    canvas.text(&figure.y_label, at, upwards);
}

/// As many horizontal ticks as have room for their labels.
fn x_ticks(figure: &Figure, plot: &Plot) -> Vec<Tick> {
    let in_lines = figure.lines.iter().flat_map(|line| &line.points);
    let mut xs = in_lines.chain(figure.points.iter().flat_map(|points| &points.points)).peekable();
    // Iterations and counts have no values between integers.
    let integer = xs.peek().is_some() && xs.all(|(x, _)| !x.is_finite() || x.fract() == 0.0);
    let (lo, hi) = plot.x_range;
    let at_most = |most| ticks(lo, hi, most, integer);
    let fits = |ticks: &Vec<Tick>| {
        let spacing = (plot.right - plot.left) / (hi - lo);
        let needed = widest_label(ticks) + 14.0;
        ticks.windows(2).all(|pair| (pair[1].value - pair[0].value) * spacing >= needed)
    };
    let mut choices = (2..=10).rev().map(at_most);
    choices.find(fits).unwrap_or_else(|| at_most(1).into_iter().take(1).collect())
}
