//! Where the parts of a figure stand.

use crate::drawing::text_width;

/// Sizes of texts in pixels.
pub(super) const TITLE_SIZE: f64 = 15.0;
pub(super) const LABEL_SIZE: f64 = 12.5;
pub(super) const TICK_SIZE: f64 = 11.0;

/// The height of a line of text in parts of its size.
pub(super) const LINE_HEIGHT: f64 = 1.3;

/// The inner frame of a figure with the ranges of its axes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plot {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) x_range: (f64, f64),
    pub(super) y_range: (f64, f64),
}

impl Plot {
    /// The pixel of a horizontal value.
    pub(super) fn x(&self, value: f64) -> f64 {
        let (lo, hi) = self.x_range;
        self.left + (value - lo) / (hi - lo) * (self.right - self.left)
    }

    /// The pixel of a vertical value.
    pub(super) fn y(&self, value: f64) -> f64 {
        let (lo, hi) = self.y_range;
        self.bottom - (value - lo) / (hi - lo) * (self.bottom - self.top)
    }

    /// Whether a pixel is in the frame, with some slack for rounding at its border.
    pub(super) fn contains(&self, (x, y): (f64, f64)) -> bool {
        let slack = 0.5;
        (self.left - slack..=self.right + slack).contains(&x) && (self.top - slack..=self.bottom + slack).contains(&y)
    }

    /// The part in the frame of the line from `from` to `to`, all in pixels.
    pub(super) fn clip(&self, from: (f64, f64), to: (f64, f64)) -> Option<[(f64, f64); 2]> {
        let (along_x, along_y) = (to.0 - from.0, to.1 - from.1);
        let (mut start, mut end) = (0.0_f64, 1.0_f64);
        // For every border: how fast the line leaves through it, and how far inside it starts.
        let borders = [
            (-along_x, from.0 - self.left),
            (along_x, self.right - from.0),
            (-along_y, from.1 - self.top),
            (along_y, self.bottom - from.1),
        ];
        for (speed, inside) in borders {
            if speed > 0.0 {
                end = end.min(inside / speed);
            } else if speed < 0.0 {
                start = start.max(inside / speed);
            } else if inside < 0.0 {
                return None;
            }
        }
        let at = |part: f64| (from.0 + part * along_x, from.1 + part * along_y);
        (start <= end).then(|| [at(start), at(end)])
    }
}

/// The size at which a text fits into `room` pixels, at most `size` and at least half of it.
pub(super) fn fitting_size(text: &str, size: f64, room: f64) -> f64 {
    let needed = text_width(text, size).max(1.0);
    (size * (room / needed).min(1.0)).max(size / 2.0)
}

/// Breaks a text between words into lines of at most `room` pixels where that is possible.
pub(super) fn wrap(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(&format!("{line} {word}"), size) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Moves blocks of the given (middle, height) so that they do not overlap and stay between `top`
/// and `bottom` if there is room; gives the new middles in the same order.
pub(super) fn spread(blocks: &[(f64, f64)], top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    order.sort_by(|&one, &other| blocks[one].0.total_cmp(&blocks[other].0));
    let mut middles: Vec<f64> = blocks.iter().map(|block| block.0).collect();
    // Push down from the top, then what passed the bottom up again.
    let mut free_from = top;
    for &index in &order {
        let half = blocks[index].1 / 2.0;
        middles[index] = middles[index].max(free_from + half);
        free_from = middles[index] + half;
    }
    let mut free_to = bottom;
    for &index in order.iter().rev() {
        let half = blocks[index].1 / 2.0;
        middles[index] = middles[index].min(free_to - half);
        free_to = middles[index] - half;
    }
    middles
}

/// Puts texts of the given (left, right) ends into rows so that none overlap in a row; gives the
/// row of each, from 0.
pub(super) fn rows_without_overlap(extents: &[(f64, f64)], gap: f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..extents.len()).collect();
    order.sort_by(|&one, &other| extents[one].0.total_cmp(&extents[other].0));
    let mut taken_to: Vec<f64> = Vec::new();
    let mut rows = vec![0; extents.len()];
    for index in order {
        let (left, right) = extents[index];
        let free = taken_to.iter().position(|&taken| taken + gap <= left);
        let row = free.unwrap_or(taken_to.len());
        match taken_to.get_mut(row) {
            Some(taken) => *taken = right,
            None => taken_to.push(right),
        }
        rows[index] = row;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLOT: Plot =
        Plot { left: 0.0, right: 10.0, top: 0.0, bottom: 10.0, x_range: (0.0, 1.0), y_range: (0.0, 1.0) };

    #[test]
    fn values_have_their_pixels() {
        assert_eq!((PLOT.x(0.5), PLOT.y(0.0), PLOT.y(1.0)), (5.0, 10.0, 0.0));
    }

    #[test]
    fn lines_are_cut_at_the_frame() {
        assert_eq!(PLOT.clip((5.0, -5.0), (5.0, 5.0)), Some([(5.0, 0.0), (5.0, 5.0)]));
        assert_eq!(PLOT.clip((1.0, 1.0), (2.0, 2.0)), Some([(1.0, 1.0), (2.0, 2.0)]));
        assert_eq!(PLOT.clip((-5.0, 4.0), (-1.0, 4.0)), None);
        assert_eq!(PLOT.clip((11.0, 1.0), (11.0, 2.0)), None);
        assert_eq!(PLOT.clip((-3.0, 2.0), (2.0, -3.0)), None);
    }

    #[test]
    fn blocks_are_spread_within_the_frame() {
        assert_eq!(spread(&[(5.0, 2.0), (5.0, 2.0)], 0.0, 10.0), [5.0, 7.0]);
        assert_eq!(spread(&[(9.9, 2.0), (9.5, 2.0)], 0.0, 10.0), [9.0, 7.0]);
        assert_eq!(spread(&[(-3.0, 2.0)], 0.0, 10.0), [1.0]);
    }

    #[test]
    fn texts_move_to_another_row_when_they_overlap() {
        let rows = rows_without_overlap(&[(0.0, 10.0), (5.0, 15.0), (12.0, 20.0)], 1.0);
        assert_eq!(rows, [0, 1, 0]);
    }

    #[test]
    fn texts_are_wrapped_and_fitted() {
        assert_eq!(wrap("ab cd ef", 10.0, 40.0), ["ab cd", "ef"]);
        assert_eq!(wrap("", 10.0, 40.0), [""; 0]);
        assert!(fitting_size("a long title", 10.0, 40.0) < 10.0);
        assert_eq!(fitting_size("x", 10.0, 60.0), 10.0);
    }
}
