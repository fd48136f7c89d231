//! Offset and read noise from frames without light.

use ndarray::{ArrayView2, ArrayView4};

use super::planes as planes_of;
use crate::error::{Error, Result};

/// What dark frames tell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Dark {
    pub(super) offset: f64,
    pub(super) offset_error: f64,
    pub(super) read_noise: f64,
    pub(super) read_noise_error: f64,
}

/// Differences larger than this many of their typical size are hot pixels or edges of the sensor.
const HOT: f64 = 8.0;
/// Fewest differences.
const FEWEST: usize = 100;

/// Measures dark frames; none without any.
///
/// The read noise comes from differences of one pixel between two frames, or, with one frame, of neighbouring pixels, so
/// that a pattern that is always there is no noise.
pub(super) fn measure(darks: &[ArrayView4<'_, f64>]) -> Result<Option<Dark>> {
    if darks.is_empty() {
        return Ok(None);
    }
    let planes: Vec<ArrayView2<'_, f64>> = darks.iter().flat_map(planes_of).collect();
    for plane in &planes {
        if planes.len() > 1 && plane.dim() != planes[0].dim() {
            let size = |(rows, columns): (usize, usize)| format!("{rows} x {columns} pixels");
            return Err(Error::shape("dark frames", size(planes[0].dim()), size(plane.dim())));
        }
    }
    let mut differences: Vec<f64> = if let [alone] = &planes[..] {
        alone
            .rows()
            .into_iter()
            .flat_map(|row| row.to_vec().windows(2).map(|w| w[1] - w[0]).collect::<Vec<_>>())
            .collect()
    } else {
        planes.windows(2).flat_map(|pair| pair[0].iter().zip(pair[1]).map(|(a, b)| a - b).collect::<Vec<_>>()).collect()
    };
    differences.retain(|difference| difference.is_finite());
    if differences.len() < FEWEST {
        return Err(Error::Calibration {
            problem: "a dark frame has fewer than 100 pixels; give a complete one".into(),
        });
    }
    let mut sizes: Vec<f64> = differences.iter().map(|difference| difference.abs()).collect();
    let middle = sizes.len() / 2;
    let typical = *sizes.select_nth_unstable_by(middle, f64::total_cmp).1;
    let limit = if typical > 0.0 { HOT * typical } else { f64::INFINITY };
    differences.retain(|difference| difference.abs() <= limit);
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let mut variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / n / 2.0;
    let values = || planes.iter().flat_map(|plane| plane.iter().copied()).filter(|value| value.is_finite());
    if values().all(|value| value == value.round()) {
        // rounding to whole numbers is no read noise
        variance = (variance - 1.0 / 12.0).max(0.0);
    }
    let mut sorted: Vec<f64> = values().collect();
    let count = sorted.len() as f64;
    let middle = sorted.len() / 2;
    let median = *sorted.select_nth_unstable_by(middle, f64::total_cmp).1;
    // hot pixels are left out of the mean, too
    let reach = if typical > 0.0 { HOT * typical } else { f64::INFINITY };
    let (sum, kept) = values()
        .filter(|value| (value - median).abs() <= reach)
        .fold((0.0, 0.0), |(sum, kept), value| (sum + value - median, kept + 1.0));
    let read_noise = variance.sqrt();
    Ok(Some(Dark {
        offset: median + sum / kept,
        offset_error: (variance / count).sqrt(),
        read_noise,
        read_noise_error: read_noise / (2.0 * n).sqrt(),
    }))
}
