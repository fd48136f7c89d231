//! What the cells of each column are.

use ndarray::ArrayView2;

use crate::model::Model;
use crate::tasks::noise::{Kind, Values};

/// A column of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnOverview {
    /// Its family.
    pub family: String,
    /// The kind of its values; `None` if there are none.
    pub kind: Option<Kind>,
    /// Cells with a value.
    pub present: usize,
    /// Cells without one.
    pub missing: usize,
    /// Different values.
    pub distinct: usize,
    /// The smallest and the largest value.
    pub range: (f64, f64),
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub sd: f64,
    /// The mean where no cause is on.
    pub background: f64,
}

pub(super) fn columns(model: &Model, table: ArrayView2<'_, f64>) -> Vec<ColumnOverview> {
    let background = model.means_with_background();
    let column = |d: usize| {
        let mut sorted: Vec<f64> = table.column(d).iter().copied().filter(|value| !value.is_nan()).collect();
        let present = sorted.len();
        let mean = sorted.iter().sum::<f64>() / present.max(1) as f64;
        let values = Values::of(sorted.iter().copied());
        sorted.sort_by(f64::total_cmp);
        sorted.dedup();
        ColumnOverview {
            family: model.columns().family(d).spec(),
            kind: values.as_ref().map(|values| values.kind),
            present,
            missing: table.nrows() - present,
            distinct: sorted.len(),
            range: (sorted.first().copied().unwrap_or(f64::NAN), sorted.last().copied().unwrap_or(f64::NAN)),
            mean: if present > 0 { mean } else { f64::NAN },
            sd: values.map_or(0.0, |values| values.summary.variance.sqrt()),
            background: background[[model.h(), d]],
        }
    };
    (0..model.d()).map(column).collect()
}
