//! Gaussian windows over images.

/// A Gaussian window for sums around each pixel; beyond the edge there is nothing to add.
pub(super) struct Blur {
    /// Half of the window, from its middle on; the middle weighs 1.
    kernel: Vec<f64>,
}

/// A row or a column of a page, or a pixel through all pages.
struct Line {
    /// The place of its first value.
    first: usize,
    /// The number of its values.
    length: usize,
    /// The distance from one value to the next.
    step: usize,
}

impl Blur {
    /// A window with a standard deviation in pixels.
    pub(super) fn new(deviation: f64) -> Blur {
        let reach = (3.0 * deviation).ceil() as usize;
        let weight = |at: usize| (-0.5 * (at as f64 / deviation.max(1e-9)).powi(2)).exp();
        Blur { kernel: (0..=reach).map(weight).collect() }
    }

    /// Replaces each pixel by the weighted sum around it, along the rows and then along the columns.
    pub(super) fn page(&self, page: &mut [f64], columns: usize) {
        let rows = page.len() / columns.max(1);
        let mut line = Vec::new();
        for y in 0..rows {
            self.line(page, &Line { first: y * columns, length: columns, step: 1 }, &mut line);
        }
        for x in 0..columns {
            self.line(page, &Line { first: x, length: rows, step: columns }, &mut line);
        }
    }

    /// Replaces each pixel of a stack, whose pages have `size` values, by the weighted sum along the pages.
    pub(super) fn along_pages(&self, stack: &mut [f64], size: usize) {
        let length = stack.len() / size.max(1);
        let mut line = Vec::new();
        for first in 0..size {
            self.line(stack, &Line { first, length, step: size }, &mut line);
        }
    }

    /// Replaces the values of a line; `line` is room for a copy of them.
    fn line(&self, page: &mut [f64], &Line { first, length, step }: &Line, line: &mut Vec<f64>) {
        let reach = self.kernel.len() - 1;
        line.clear();
        line.resize(length + 2 * reach, 0.0);
        for (at, value) in line[reach..][..length].iter_mut().enumerate() {
            *value = page[first + at * step];
        }
        for (at, window) in line.windows(2 * reach + 1).enumerate() {
            let (before, after) = (&window[..reach], &window[reach + 1..]);
            let pairs = before.iter().rev().zip(after).map(|(before, after)| before + after);
            let sum: f64 = pairs.zip(&self.kernel[1..]).map(|(pair, weight)| pair * weight).sum();
            page[first + at * step] = window[reach] * self.kernel[0] + sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_becomes_the_window() {
        let mut page = vec![0.0; 9 * 7];
        page[4 * 7 + 2] = 2.0;
        Blur::new(1.0).page(&mut page, 7);
        for (at, value) in page.iter().enumerate() {
            let (y, x) = (at / 7, at % 7);
            let square = (y as f64 - 4.0).powi(2) + (x as f64 - 2.0).powi(2);
            let near = y.abs_diff(4) <= 3 && x.abs_diff(2) <= 3;
            let expected = if near { 2.0 * (-0.5 * square).exp() } else { 0.0 };
            assert!((value - expected).abs() < 1e-14, "{y}, {x}: {value} instead of {expected}");
        }
        // no window at all, and pages smaller than the window
        let mut page = vec![1.0, 2.0];
        Blur::new(0.0).page(&mut page, 2);
        assert_eq!(page, [1.0, 2.0]);
        Blur::new(5.0).page(&mut [], 0);
        // through pages of two pixels
        let mut stack = vec![0.0; 2 * 9];
        stack[2 * 4 + 1] = 1.0;
        Blur::new(1.0).along_pages(&mut stack, 2);
        for (at, value) in stack.iter().enumerate() {
            let distance = (at / 2).abs_diff(4);
            let expected = if at % 2 == 1 && distance <= 3 { (-0.5 * (distance as f64).powi(2)).exp() } else { 0.0 };
            assert!((value - expected).abs() < 1e-14, "{at}: {value} instead of {expected}");
        }
        Blur::new(5.0).along_pages(&mut [], 0);
    }
}
