//! Parts of pictures, and the parts that are worth a look.

use ndarray::{Array2, ArrayView2, s};

use super::Picture;
use crate::ViewError;

impl Picture {
    /// The part with this upper left corner (row and column), at most so many rows and columns; it ends where the picture
    /// ends.
    ///
    /// # Errors
    ///
    /// [`ViewError::Setting`] if nothing of the picture is in it.
    pub fn part(&self, corner: (usize, usize), size: (usize, usize)) -> Result<Self, ViewError> {
        let (top, left) = corner;
        let height = size.0.min(self.height.saturating_sub(top));
        let width = size.1.min(self.width.saturating_sub(left));
        let mut part = Self::filled(width, height, [0; 3])?;
        for (y, row) in part.rgb.chunks_exact_mut(3 * width).enumerate() {
            let from = 3 * ((top + y) * self.width + left);
            row.copy_from_slice(&self.rgb[from..from + row.len()]);
        }
        Ok(part)
    }

    /// A field by row and column around zero: `most` and above is red, `-most` and below blue, zero white, NaN violet.
    ///
    /// # Errors
    ///
    /// As [`Picture::grey`].
    pub fn signed(field: ArrayView2<f64>, most: f64) -> Result<Self, ViewError> {
        let range = crate::colours::ValueRange::between(-most, most)?;
        Self::painted(crate::Field::Plain(field), crate::Colours::Diverging, range)
    }
}

/// The upper left corners (row and column) of at most `count` squares of `side` pixels with the largest sums of `change`, the
/// largest first. They do not overlap. Values that are not finite count as zero; an image that is smaller than a square
/// has none.
pub fn most_changed(change: ArrayView2<f64>, side: usize, count: usize) -> Vec<(usize, usize)> {
    let (rows, columns) = change.dim();
    if side == 0 || rows < side || columns < side {
        return Vec::new();
    }
    // corners on a lattice of half a square, and at the far ends
    let along = |length: usize| {
        let mut places: Vec<usize> = (0..=length - side).step_by((side / 2).max(1)).collect();
        if places.last() != Some(&(length - side)) {
            places.push(length - side);
        }
        places
    };
    let sums = summed(change);
    let mut squares = Vec::new();
    for &top in &along(rows) {
        for &left in &along(columns) {
            let (bottom, right) = (top + side, left + side);
            let sum = sums[[bottom, right]] - sums[[top, right]] - sums[[bottom, left]] + sums[[top, left]];
            squares.push((sum, (top, left)));
        }
    }
    squares.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut chosen: Vec<(usize, usize)> = Vec::new();
    for (_, (top, left)) in squares {
        let apart = |other: &(usize, usize)| top.abs_diff(other.0) >= side || left.abs_diff(other.1) >= side;
        if chosen.len() < count && chosen.iter().all(apart) {
            chosen.push((top, left));
        }
    }
    chosen
}

/// Sums over all rows above and columns before each place.
fn summed(values: ArrayView2<f64>) -> Array2<f64> {
    let (rows, columns) = values.dim();
    let mut sums = Array2::zeros((rows + 1, columns + 1));
    for ((y, x), value) in values.indexed_iter() {
        let value = if value.is_finite() { *value } else { 0.0 };
        sums[[y + 1, x + 1]] = value + sums[[y, x + 1]] + sums[[y + 1, x]] - sums[[y, x]];
    }
    debug_assert!(sums.slice(s![0, ..]).iter().all(|sum| *sum == 0.0));
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::arr2;

    #[test]
    fn the_most_changed_squares_are_found() {
        let mut change = Array2::zeros((100, 150));
        change.slice_mut(s![80..100, 130..150]).fill(3.0);
        change.slice_mut(s![0..20, 0..20]).fill(2.0);
        change[[50, 70]] = f64::NAN;
        change[[50, 71]] = f64::INFINITY;
        assert_eq!(most_changed(change.view(), 20, 2), [(80, 130), (0, 0)]);
        let many = most_changed(change.view(), 30, 100);
        assert!(many.len() >= 9 && many.iter().all(|(y, x)| y + 30 <= 100 && x + 30 <= 150), "{many:?}");
        for (index, one) in many.iter().enumerate() {
            assert!(many[..index].iter().all(|o| one.0.abs_diff(o.0) >= 30 || one.1.abs_diff(o.1) >= 30));
        }
    }

    #[test]
    fn small_images_have_no_parts() {
        for (rows, columns, side) in [(0, 0, 4), (3, 9, 4), (9, 3, 4), (4, 4, 0)] {
            assert!(most_changed(Array2::zeros((rows, columns)).view(), side, 3).is_empty());
        }
        assert_eq!(most_changed(Array2::zeros((1, 1)).view(), 1, 3), [(0, 0)]);
    }

    #[test]
    fn parts_end_with_the_picture() {
        let picture = Picture::grey(arr2(&[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]).view(), 0.0, 255.0).unwrap();
        let part = picture.part((0, 1), (9, 9)).unwrap();
        assert_eq!((part.width(), part.height()), (2, 2));
        assert_eq!(part.rgb(), [1, 1, 1, 2, 2, 2, 4, 4, 4, 5, 5, 5]);
        assert!(picture.part((2, 0), (1, 1)).is_err());
    }

    #[test]
    fn signs_have_colours() {
        let picture = Picture::signed(arr2(&[[0.0, 3.0, -9.0]]).view(), 3.0).unwrap();
        assert_eq!(picture.rgb(), [255, 255, 255, 178, 24, 43, 33, 82, 163]);
        assert!(Picture::signed(arr2(&[[1.0]]).view(), f64::NAN).is_err());
    }
}
