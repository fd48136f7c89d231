//! How much the residuals of near pixels have in common.

use ndarray::{Array4, ArrayView4, Zip, s};
use serde::{Deserialize, Serialize};

/// The farthest neighbours along rows and columns that are looked at.
const FARTHEST: isize = 4;

/// The correlation of pixels that are so many rows and columns apart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Lag {
    /// Rows between the pixels.
    pub rows: isize,
    /// Columns between the pixels.
    pub columns: isize,
    /// The correlation over all pairs.
    pub all: f64,
    /// The correlation where the scene is flat; NaN if there is no such pair.
    pub flat: f64,
    /// The standard error of `all` for noise without correlation.
    pub error: f64,
    /// The standard error of `flat` for noise without correlation.
    pub flat_error: f64,
}

/// The correlation of near pixels; offsets of rows or columns, where there are any, are taken away first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Correlations {
    /// Pairs along rows, along columns, and along both diagonals, from near to far; those that the image is too small for
    /// are left out.
    pub lags: Vec<Lag>,
    /// The mean correlation of neighbours in a row and in a column where the scene is busy; NaN if it is nowhere.
    pub busy: f64,
}

impl Correlations {
    /// The correlation at a distance, if the image is large enough for it.
    #[must_use]
    pub fn at(&self, rows: isize, columns: isize) -> Option<&Lag> {
        self.lags.iter().find(|lag| (lag.rows, lag.columns) == (rows, columns))
    }

    pub(super) fn new(residual: &Array4<f64>, flat: &Array4<f64>, busy: &Array4<f64>) -> Correlations {
        let present = residual.mapv(|value| f64::from(u8::from(!value.is_nan())));
        let zeroed = residual.mapv(|value| if value.is_nan() { 0.0 } else { value });
        let [all, flat, busy] = [&present, flat, busy].map(|mask| Masked::new(&zeroed, mask));
        let along_rows = (1..=FARTHEST).map(|lag| (0, lag));
        let along_columns = (1..=FARTHEST).map(|lag| (lag, 0));
        let places = along_rows.chain(along_columns).chain([(1, 1), (1, -1)]);
        let lags = places.filter_map(|(rows, columns)| {
            let (value, error) = all.correlation(rows, columns)?;
            let (near, near_error) = flat.correlation(rows, columns).unwrap_or((f64::NAN, f64::NAN));
            Some(Lag { rows, columns, all: value, flat: near, error, flat_error: near_error })
        });
        let lags = lags.collect();
        let mean = |a: Option<(f64, f64)>, b: Option<(f64, f64)>| Some(0.5 * (a?.0 + b?.0));
        let busy = mean(busy.correlation(0, 1), busy.correlation(1, 0)).unwrap_or(f64::NAN);
        Correlations { lags, busy }
    }
}

/// Residuals in a region, their mean taken away; zero outside.
struct Masked<'a> {
    values: Array4<f64>,
    mask: &'a Array4<f64>,
    /// The mean square in the region.
    power: f64,
}

impl<'a> Masked<'a> {
    fn new(values: &Array4<f64>, mask: &'a Array4<f64>) -> Masked<'a> {
        let count = mask.sum();
        let mean = Zip::from(values).and(mask).fold(0.0, |sum, value, mask| sum + value * mask) / count;
        let values = Zip::from(values).and(mask).map_collect(|value, mask| mask * (value - mean));
        let power = values.iter().map(|value| value * value).sum::<f64>() / count;
        Masked { values, mask, power }
    }

    /// The correlation of pairs in the region and its standard error; none without pairs or without any variation.
    fn correlation(&self, rows: isize, columns: isize) -> Option<(f64, f64)> {
        let product = |array: &Array4<f64>| {
            let (one, other) = shifted(array.view(), rows, columns)?;
            Some(Zip::from(one).and(other).fold(0.0, |sum, a, b| sum + a * b))
        };
        let pairs = product(self.mask)?;
        let value = product(&self.values)? / pairs / self.power;
        (pairs >= 2.0 && value.is_finite()).then_some((value, 1.0 / pairs.sqrt()))
    }
}

/// An array without its last rows and columns, and without its first ones; `columns` may be negative.
fn shifted(
    array: ArrayView4<'_, f64>,
    rows: isize,
    columns: isize,
) -> Option<(ArrayView4<'_, f64>, ArrayView4<'_, f64>)> {
    let (_, height, width, _) = array.dim();
    let (down, across) = (rows.unsigned_abs(), columns.unsigned_abs());
    if height <= down || width <= across {
        return None;
    }
    let (top, bottom) = (s![.., ..height - down, .., ..], s![.., down.., .., ..]);
    let (left, right) = (s![.., .., ..width - across, ..], s![.., .., across.., ..]);
    let (first, second) = if columns < 0 { (right, left) } else { (left, right) };
    Some((array.slice_move(top).slice_move(first), array.slice_move(bottom).slice_move(second)))
}
