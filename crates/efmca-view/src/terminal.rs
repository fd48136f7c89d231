//! Fields (learned causes) drawn with characters, for a look without leaving the terminal.

use std::fmt::Write;

use ndarray::ArrayView2;

use crate::Field;
use crate::colours::{Colours, ValueRange};
use crate::field::range_of;

/// Characters from the lowest value to the highest.
const RAMP: &[u8; 10] = b" .:-=+*#%@";

/// The character for a value that is not a number.
const NOT_A_NUMBER: char = '?';

/// The two pixels of a character cell.
type Cell = (Option<[u8; 3]>, Option<[u8; 3]>);

/// Draws fields as text, `per_row` beside each other (0: all of them) and a blank line between rows
/// of fields.
///
/// With `colour` every character cell holds two pixels, one above the other, in 24-bit colours from
/// black to white; values that are not numbers are violet. Without it every pixel is two characters
/// from the ramp `" .:-=+*#%@"` and the text has no control sequences; values that are not numbers
/// are `??`. One range of values holds for all fields, and a blank column of a pixel's width is
/// between neighbours. Fields may differ in size.
pub fn fields_as_text(fields: &[ArrayView2<f64>], per_row: usize, colour: bool) -> String {
    let range = range_of(fields.iter().map(|field| Field::Plain(field.view())));
    let per_row = match per_row {
        0 => fields.len().max(1),
        given => given,
    };
    let pixels_a_line = if colour { 2 } else { 1 };
    let mut text = String::new();
    for (index, row) in fields.chunks(per_row).enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let height = row.iter().map(|field| field.nrows()).max().unwrap_or(0);
        for top in (0..height).step_by(pixels_a_line) {
            for (place, field) in row.iter().enumerate() {
                if place > 0 {
                    text.push_str(if colour { " " } else { "  " });
                }
                if colour {
                    push_cells(&mut text, field, top, range);
                } else {
                    push_characters(&mut text, field, top, range);
                }
            }
            text.push('\n');
        }
    }
    text
}

/// Two characters for every pixel of one line of a field.
fn push_characters(text: &mut String, field: &ArrayView2<f64>, y: usize, range: ValueRange) {
    for x in 0..field.ncols() {
        let character = match field.get((y, x)) {
            None => ' ',
            Some(value) if value.is_nan() => NOT_A_NUMBER,
            Some(&value) => {
                let place = range.place(value) * RAMP.len() as f64;
                char::from(RAMP[(place as usize).min(RAMP.len() - 1)])
            }
        };
        text.push(character);
        text.push(character);
    }
}

/// One character for every two pixels, one above the other, of two lines of a field.
fn push_cells(text: &mut String, field: &ArrayView2<f64>, y: usize, range: ValueRange) {
    let colour_at = |y, x| {
        let value = field.get((y, x));
        value.map(|&value| Colours::Grey.colour(value, range))
    };
    let mut current: Cell = (None, None);
    for x in 0..field.ncols() {
        let cell = (colour_at(y, x), colour_at(y + 1, x));
        // Cells of the same colours as their neighbour need no new control sequence.
        if cell != current {
            push_colours(text, cell);
            current = cell;
        }
        text.push(if cell.0.is_some() { '▀' } else { ' ' });
    }
    if current != (None, None) {
        text.push_str("\x1b[0m");
    }
}

/// The control sequence for the colours of a cell; a pixel that does not exist keeps the colour of
/// the terminal.
fn push_colours(text: &mut String, (upper, lower): Cell) {
    text.push_str("\x1b[0");
    for (kind, colour) in [(38, upper), (48, lower)] {
        if let Some([red, green, blue]) = colour {
            // Writing to a string cannot fail.
            let _ = write!(text, ";{kind};2;{red};{green};{blue}");
        }
    }
    text.push('m');
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, arr2};

    #[test]
    fn characters_follow_the_ramp() {
        let field = Array2::from_shape_fn((1, 10), |(_, x)| x as f64);
        let text = fields_as_text(&[field.view()], 1, false);
        assert_eq!(text, "  ..::--==++**##%%@@\n");
    }

    #[test]
    fn fields_stand_in_rows_with_gaps() {
        let fields = [arr2(&[[1.0], [0.0]]), arr2(&[[0.0], [1.0]]), arr2(&[[1.0], [1.0]])];
        let views = fields.each_ref().map(|field| field.view());
        let text = fields_as_text(&views, 2, false);
        assert_eq!(text, "@@    \n    @@\n\n@@\n@@\n");
        assert_eq!(fields_as_text(&views, 0, false).lines().count(), 2);
    }

    #[test]
    fn colours_hold_two_pixels_a_cell() {
        let field = arr2(&[[0.0, 0.0], [1.0, 1.0], [1.0, f64::NAN]]);
        let text = fields_as_text(&[field.view()], 1, true);
        let expected = "\x1b[0;38;2;0;0;0;48;2;255;255;255m▀▀\x1b[0m\n\
             \x1b[0;38;2;255;255;255m▀\x1b[0;38;2;148;87;200m▀\x1b[0m\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn fields_of_different_sizes_stay_in_line() {
        let fields = [arr2(&[[1.0]]), arr2(&[[1.0], [0.0], [1.0]])];
        let views = fields.each_ref().map(|field| field.view());
        assert_eq!(fields_as_text(&views, 2, false), "@@  @@\n      \n    @@\n");
        let coloured = fields_as_text(&views, 2, true);
        assert!(coloured.ends_with("  \x1b[0;38;2;255;255;255m▀\x1b[0m\n"));
    }

    #[test]
    fn without_colour_there_are_no_control_sequences() {
        let field = arr2(&[[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.0, 2.0]]);
        let text = fields_as_text(&[field.view()], 3, false);
        assert_eq!(text, "??@@    @@\n");
        assert_eq!(fields_as_text(&[], 3, true), "");
    }
}
