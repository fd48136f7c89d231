//! Where the scene is flat, and where it is busy.

use ndarray::{Array2, Array4, ArrayView2, ArrayView4, Axis, Zip, s};

/// The share of the pixels that counts as flat, and the share that counts as busy.
const SHARE: f64 = 0.25;
/// Pixels on each side over which the changes of the estimate are averaged.
const REACH: usize = 2;

/// A mask for each region: 1 for pixels that belong to it and are present, 0 for others.
pub(super) struct Regions {
    pub(super) flat: Array4<f64>,
    pub(super) busy: Array4<f64>,
}

impl Regions {
    /// Pixels by how much the estimate changes around them in units of the noise. Pixels that are missing (NaN in
    /// `residual`) belong nowhere.
    pub(super) fn new(estimate: ArrayView4<'_, f64>, variance: &Array4<f64>, residual: &Array4<f64>) -> Regions {
        let mut change = Array4::zeros(estimate.raw_dim());
        for ((from, variance), mut to) in estimate.outer_iter().zip(variance.outer_iter()).zip(change.outer_iter_mut())
        {
            for channel in 0..from.len_of(Axis(2)) {
                let at = s![.., .., channel];
                to.slice_mut(at).assign(&changes(from.slice(at), variance.slice(at)));
            }
        }
        let mut sorted: Vec<f64> =
            change.iter().zip(residual).filter(|(_, r)| !r.is_nan()).map(|(c, _)| *c).filter(|c| !c.is_nan()).collect();
        sorted.sort_by(f64::total_cmp);
        let quantile = |share: f64| sorted.get(((sorted.len().saturating_sub(1)) as f64 * share) as usize).copied();
        let (low, high) = (quantile(SHARE).unwrap_or(f64::NAN), quantile(1.0 - SHARE).unwrap_or(f64::NAN));
        let mask = |belongs: &dyn Fn(f64) -> bool| {
            Zip::from(&change)
                .and(residual)
                .map_collect(|change, residual| f64::from(u8::from(!residual.is_nan() && belongs(*change))))
        };
        // an image without any change is flat, and nowhere busy
        Regions { flat: mask(&|change| change <= low), busy: mask(&|change| change >= high && change > low) }
    }
}

/// The mean squared gradient around each pixel of a page, over the variance of the noise; NaN where nothing is known.
fn changes(page: ArrayView2<'_, f64>, variance: ArrayView2<'_, f64>) -> Array2<f64> {
    let (rows, columns) = page.dim();
    let slope = |before: f64, here: f64, after: f64| match (before.is_nan(), after.is_nan()) {
        (false, false) => 0.5 * (after - before),
        (true, false) => after - here,
        (false, true) => here - before,
        (true, true) => 0.0,
    };
    let value = |y: Option<usize>, x: Option<usize>| match (y, x) {
        (Some(y), Some(x)) => page.get((y, x)).copied().unwrap_or(f64::NAN),
        _ => f64::NAN,
    };
    let squares = Array2::from_shape_fn((rows, columns), |(y, x)| {
        let here = page[[y, x]];
        let down = slope(value(y.checked_sub(1), Some(x)), here, value(Some(y + 1), Some(x)));
        let across = slope(value(Some(y), x.checked_sub(1)), here, value(Some(y), Some(x + 1)));
        let square = (down * down + across * across) / variance[[y, x]];
        if square.is_finite() { square } else { f64::NAN }
    });
    averaged(&averaged(&squares, Axis(0)), Axis(1))
}

/// The mean over the pixels near along an axis that have a value.
fn averaged(values: &Array2<f64>, axis: Axis) -> Array2<f64> {
    let mut result = values.clone();
    for (from, mut to) in values.lanes(axis).into_iter().zip(result.lanes_mut(axis)) {
        for (place, value) in to.iter_mut().enumerate() {
            let near = place.saturating_sub(REACH)..(place + REACH + 1).min(from.len());
            let (sum, count) =
                near.map(|at| from[at]).filter(|v| !v.is_nan()).fold((0.0, 0.0), |(s, n), v| (s + v, n + 1.0));
            *value = sum / count;
        }
    }
    result
}
