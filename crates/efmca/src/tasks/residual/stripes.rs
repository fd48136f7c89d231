//! Offsets that rows or columns have of their own.

use ndarray::{Array1, Array4, ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};

/// Parts of a row whose means are compared: pixels of different parts are too far from each other to be correlated for
/// any other reason.
const PARTS: usize = 4;
/// Fewer pixels in a part, or fewer rows, say nothing.
const LEAST_PIXELS: usize = 4;
const LEAST_ROWS: usize = 8;
/// The share of rows with the largest products that is left out: an edge of the scene along a whole row is no stripe.
const TRIMMED: f64 = 0.05;

/// Lines of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Rows.
    Rows,
    /// Columns.
    Columns,
}

/// Offsets of rows or columns.
///
/// A row is compared with the average of its two neighbours, in four parts. Offsets of rows are the only reason why parts
/// that are far from each other differ from their neighbours in the same direction, so that the mean product of different
/// parts is the variance of the offsets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Offsets {
    /// Whether these are rows or columns.
    pub direction: Direction,
    /// The variance of the offsets, over the variance of the residual. It is near zero, and may be negative, if there are
    /// none.
    pub variance: f64,
    /// Its standard error.
    pub error: f64,
}

impl Offsets {
    /// The standard deviation of the offsets, over that of the residual.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        self.variance.max(0.0).sqrt()
    }

    /// The offsets of the rows or columns of all pages and channels; none if the image is too small. `power` is the mean
    /// square of the residual.
    pub(super) fn new(residual: &Array4<f64>, power: f64, direction: Direction) -> Option<Offsets> {
        let mut products = Vec::new();
        for page in residual.outer_iter() {
            for channel in 0..page.len_of(Axis(2)) {
                let plane = page.slice(s![.., .., channel]);
                match direction {
                    Direction::Rows => products.extend(products_of_parts(plane)),
                    Direction::Columns => products.extend(products_of_parts(plane.reversed_axes())),
                }
            }
        }
        if products.len() < LEAST_ROWS || power.is_nan() || power <= 0.0 {
            return None;
        }
        products.sort_by(f64::total_cmp);
        products.truncate(products.len() - (TRIMMED * products.len() as f64) as usize);
        let products: Array1<f64> = products.into_iter().map(|product| product / power).collect();
        let (variance, error) = (products.mean()?, products.std(1.0) / (products.len() as f64).sqrt());
        Some(Offsets { direction, variance, error })
    }
}

/// For each row, the mean product of its parts, scaled so that its mean is the variance of offsets.
fn products_of_parts(plane: ArrayView2<'_, f64>) -> Vec<f64> {
    let (rows, columns) = plane.dim();
    let product = |row: usize| {
        let (mut sum, mut squares) = (0.0, 0.0);
        for part in 0..PARTS {
            let (mut total, mut count) = (0.0, 0);
            for column in columns * part / PARTS..columns * (part + 1) / PARTS {
                let above_the_others =
                    plane[[row, column]] - 0.5 * (plane[[row - 1, column]] + plane[[row + 1, column]]);
                if !above_the_others.is_nan() {
                    total += above_the_others;
                    count += 1;
                }
            }
            if count < LEAST_PIXELS {
                return None;
            }
            let mean = total / count as f64;
            sum += mean;
            squares += mean * mean;
        }
        // the neighbours have offsets, too: one and two quarters
        Some((sum * sum - squares) / (PARTS * (PARTS - 1)) as f64 / 1.5)
    };
    (1..rows.saturating_sub(1)).filter_map(product).collect()
}

/// Takes the mean of each row or column away.
pub(super) fn level(residual: &mut Array4<f64>, direction: Direction) {
    let axis = match direction {
        Direction::Rows => Axis(1),
        Direction::Columns => Axis(0),
    };
    for mut page in residual.outer_iter_mut() {
        for mut lane in page.lanes_mut(axis) {
            let present = lane.iter().filter(|value| !value.is_nan());
            let (sum, count) = present.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
            lane.mapv_inplace(|value| value - sum / count);
        }
    }
}
