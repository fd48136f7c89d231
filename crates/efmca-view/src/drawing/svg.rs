//! Drawings as SVG.

use std::fmt::Write;

use super::Drawing;
use super::shapes::{Across, Ink, Shape, TextLook, drawn_width, printable};
use crate::markup::{address_of, escaped};
use crate::{Rgb, ViewError};

/// Units of the drawing a pixel: whole numbers make short files, but curves on whole pixels would show steps.
const UNITS: f64 = 4.0;

/// The text of the file.
pub(super) fn svg(drawing: &Drawing) -> Result<String, ViewError> {
    let (width, height) = (drawing.width, drawing.height);
    // The view box is in units; only the size on the page is in pixels. Round joins keep the sharp turns of noisy
    // curves from growing spikes.
    let mut text = format!(
        "<svg width=\"{width}\" height=\"{height}\" stroke-linejoin=\"round\" viewBox=\"0 0 {} {}\" \
         xmlns=\"http://www.w3.org/2000/svg\">\n",
        units(f64::from(width)),
        units(f64::from(height))
    );
    for shape in &drawing.shapes {
        push_shape(&mut text, shape)?;
    }
    text.push_str("</svg>\n");
    Ok(text)
}

fn units(pixels: f64) -> i64 {
    (pixels * UNITS).round() as i64
}

fn name(Rgb([red, green, blue]): Rgb) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

/// The opacity as an attribute, unless it is the usual one.
fn opacity(ink: Ink) -> String {
    let opacity = (ink.opacity() * 1000.0).round() / 1000.0;
    if opacity < 1.0 { format!(" opacity=\"{opacity}\"") } else { String::new() }
}

fn push_shape(text: &mut String, shape: &Shape) -> Result<(), ViewError> {
    // Writing to a string cannot fail.
    let _ = match shape {
        Shape::Rectangle { from, to, ink } => {
            let (left, top) = (units(from.0.min(to.0)), units(from.1.min(to.1)));
            let (width, height) = (units(from.0.max(to.0)) - left, units(from.1.max(to.1)) - top);
            let (fill, opacity) = (name(ink.0), opacity(*ink));
            writeln!(
                text,
                "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"{opacity}/>"
            )
        }
        Shape::Path { points, width, ink } => {
            let mut points: Vec<_> = points.iter().map(|&(x, y)| (units(x), units(y))).collect();
            // Long curves have many points in the same place; they only make the file larger.
            points.dedup();
            let points: Vec<String> = points.iter().map(|(x, y)| format!("{x},{y}")).collect();
            let (colour, width, opacity) = (name(ink.0), units(drawn_width(*width)), opacity(*ink));
            writeln!(
                text,
                "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{opacity} points=\"{}\"/>",
                points.join(" ")
            )
        }
        Shape::Disc { centre, radius, ink } => {
            let (x, y, radius) = (units(centre.0), units(centre.1), units(drawn_width(*radius)));
            writeln!(text, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{}\"{}/>", name(ink.0), opacity(*ink))
        }
        Shape::Text { text: words, at, look } => push_text(text, words, *at, *look),
        Shape::Image { left, top, picture } => {
            let (x, y) = (units(f64::from(*left)), units(f64::from(*top)));
            let (width, height) = (units(picture.width() as f64), units(picture.height() as f64));
            // Values are squares: a reader that shows them larger has to keep their edges.
            writeln!(
                text,
                "<image x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
                 style=\"image-rendering:pixelated\" href=\"{}\"/>",
                address_of(picture)?
            )
        }
    };
    Ok(())
}

fn push_text(text: &mut String, words: &str, at: (f64, f64), look: TextLook) -> std::fmt::Result {
    let words = printable(words);
    if words.trim().is_empty() {
        return Ok(());
    }
    // The height is part of the place: readers differ in how they understand the attributes for it.
    let down = look.to_baseline();
    let (x, y) = if look.upwards { (at.0 + down, at.1) } else { (at.0, at.1 + down) };
    let (x, y) = (units(x), units(y));
    let anchor = match look.across {
        Across::Left => "start",
        Across::Centre => "middle",
        Across::Right => "end",
    };
    let turn = if look.upwards { format!(" transform=\"rotate(270, {x}, {y})\"") } else { String::new() };
    let size = (look.size * UNITS * 100.0).round() / 100.0;
    let colour = name(look.colour);
    writeln!(
        text,
        "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" font-family=\"sans-serif\" font-size=\"{size}\" \
         fill=\"{colour}\"{turn}>\n{}\n</text>",
        escaped(&words)
    )
}
