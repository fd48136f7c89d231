//! What the cells of a column are: numbers, or codes of which one is right.

use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};

use crate::family::{Family, Measure};
use crate::model::Resolution;

/// Different values up to which a column is one of codes, where nothing is said about it.
const MOST_CODES: usize = 10;
/// Values of a family beyond which they are no codes, whatever is said.
const MOST_VALUES: f64 = 4096.0;
/// Cells for each code, at the least: ten different values in twenty cells are numbers.
const CELLS_OF_A_CODE: usize = 5;

/// Whether a column has numbers, which can be nearly right, or codes, of which one is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CellKind {
    /// Filled in with a mean; its error is a distance.
    Number,
    /// Filled in with the most probable code; it is right or wrong.
    Code,
}

/// A column of the table that was learned from.
#[derive(Debug, Clone)]
pub(super) struct Column {
    /// The codes in ascending order; empty for numbers.
    pub(super) codes: Vec<f64>,
    /// The share of each code.
    pub(super) shares: Vec<f64>,
    pub(super) mean: f64,
    pub(super) sd: f64,
    /// The smallest and the largest value: nothing beyond them is filled in.
    pub(super) low: f64,
    pub(super) high: f64,
    /// The distance between neighbouring values, if they lie on a grid of whole numbers or of up to six decimals.
    pub(super) step: Option<f64>,
    /// How finely values were written down, for their probabilities.
    pub(super) resolution: Resolution,
}

impl Column {
    /// The column with these cells, of which one at least is present.
    pub(super) fn of(cells: ArrayView1<'_, f64>, family: &dyn Family, kind: Option<CellKind>) -> Column {
        let mut sorted: Vec<f64> = cells.iter().copied().filter(|value| !value.is_nan()).collect();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len().max(1) as f64;
        let mean = sorted.iter().sum::<f64>() / count;
        let sd = (sorted.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
        let (low, high) = (sorted.first().copied().unwrap_or(0.0), sorted.last().copied().unwrap_or(0.0));
        let (step, resolution) = (step_of(&sorted), Resolution::of_sorted(&sorted));
        let present = sorted.len();
        let mut codes: Vec<(f64, f64)> = Vec::new();
        for value in sorted {
            match codes.last_mut() {
                Some((code, times)) if *code == value => *times += 1.0,
                _ => codes.push((value, 1.0)),
            }
        }
        let are_codes = match kind {
            Some(kind) => kind == CellKind::Code,
            None => is_nominal(family) || codes.len() <= MOST_CODES.min(present / CELLS_OF_A_CODE).max(2),
        };
        if !are_codes {
            codes.clear();
        }
        let (codes, times): (Vec<f64>, Vec<f64>) = codes.into_iter().unzip();
        let shares = times.into_iter().map(|times| times / count).collect();
        Column { codes, shares, mean, sd, low, high, step, resolution }
    }

    /// The column as a model knows it, whatever the cells of a later table are: the values and the range of its family, and
    /// the mean and scatter that the model gives it.
    pub(super) fn of_family(
        family: &dyn Family,
        known: &Resolution,
        kind: Option<CellKind>,
        (mean, sd): (f64, f64),
    ) -> Column {
        let support = family.support();
        let counting = support.measure == Measure::Counting;
        if let Some(codes) = support.codes.filter(|_| kind != Some(CellKind::Number)) {
            let shares = vec![1.0 / codes.len() as f64; codes.len()];
            let (low, high, resolution) = (support.low, support.high, Resolution::Codes(codes.to_vec()));
            return Column { codes: codes.to_vec(), shares, mean, sd, low, high, step: None, resolution };
        }
        let values = support.high - support.low;
        let finite = counting && values.is_finite() && values < MOST_VALUES;
        let are_codes = match kind {
            Some(kind) => kind == CellKind::Code,
            None => is_nominal(family) || values < MOST_CODES as f64,
        };
        let codes: Vec<f64> = match finite && are_codes {
            true => (0..=values as usize).map(|place| support.low + place as f64).collect(),
            false => Vec::new(),
        };
        let shares = vec![1.0 / codes.len().max(1) as f64; codes.len()];
        let resolution = if counting { Resolution::WHOLE } else { known.clone() };
        let step = match resolution {
            Resolution::Step { step, offset: 0.0 } => Some(step),
            _ => None,
        };
        let (low, high) = (support.low, support.high);
        Column { codes, shares, mean, sd, low, high, step, resolution }
    }

    pub(super) fn kind(&self) -> CellKind {
        if self.codes.is_empty() { CellKind::Number } else { CellKind::Code }
    }

    /// The place of a value among the codes: itself, or the nearest where a later table has another.
    pub(super) fn place(&self, value: f64) -> usize {
        let far = |place: &usize| (self.codes[*place] - value).abs();
        (0..self.codes.len()).min_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(0)
    }

    /// The most frequent code.
    pub(super) fn mode(&self) -> usize {
        largest(&self.shares)
    }

    /// A scale for differences that is never zero.
    pub(super) fn scale(&self) -> f64 {
        if self.sd > 0.0 { self.sd } else { 1.0 }
    }

    /// The interval from `low` to `high`, extended to values that the column could have: between two whole numbers there is none.
    pub(super) fn outward(&self, low: f64, high: f64) -> (f64, f64) {
        let Some(step) = self.step else { return (low, high) };
        let steps = 1.0 / step;
        // a value that is on the grid but for its rounding stays
        let (low, high) = ((low * steps + 1e-9).floor() / steps, (high * steps - 1e-9).ceil() / steps);
        (low.clamp(self.low, self.high), high.clamp(self.low, self.high))
    }

    /// The nearest value that the column could have: on its grid and between its ends.
    pub(super) fn on_grid(&self, value: f64) -> f64 {
        let value = match self.step {
            // dividing by the number of steps in one keeps 0.1 * 3 at 0.3
            Some(step) => {
                let steps = (1.0 / step).round();
                if steps >= 1.0 { (value * steps).round() / steps } else { (value / step).round() * step }
            }
            None => value,
        };
        value.clamp(self.low, self.high)
    }
}

/// The place of the largest number, the first of equals.
pub(super) fn largest(values: &[f64]) -> usize {
    (1..values.len()).fold(0, |best, place| if values[place] > values[best] { place } else { best })
}

/// Whether the values of a family are names without an order.
fn is_nominal(family: &dyn Family) -> bool {
    family.spec().starts_with("categorical")
}

/// One, a tenth, a hundredth, …: the largest of which all values are multiples.
fn step_of(sorted: &[f64]) -> Option<f64> {
    (0..=6).map(|decimals| 10f64.powi(decimals)).find_map(|steps| {
        let on_grid = |value: &f64| {
            let scaled = value * steps;
            scaled.abs() < 1e15 && (scaled - scaled.round()).abs() <= 1e-9 * scaled.abs().max(1.0)
        };
        sorted.iter().all(on_grid).then_some(1.0 / steps)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::family;
    use ndarray::Array1;

    fn column(values: &[f64], spec: &str, kind: Option<CellKind>) -> Column {
        Column::of(Array1::from(values.to_vec()).view(), &*family(spec).unwrap(), kind)
    }

    #[test]
    fn few_values_are_codes_and_many_are_numbers() {
        let codes: Vec<f64> = (0..60).map(|n| f64::from(n % 6) * 2.5).collect();
        let found = column(&codes, "gaussian", None);
        assert_eq!((found.kind(), found.codes.len(), found.place(7.6)), (CellKind::Code, 6, 3));
        assert_eq!(column(&codes, "gaussian", Some(CellKind::Number)).kind(), CellKind::Number);
        let numbers: Vec<f64> = (0..60).map(f64::from).collect();
        assert_eq!(column(&numbers, "poisson", None).kind(), CellKind::Number);
        // eight values in eight cells
        assert_eq!(column(&numbers[..8], "poisson", None).kind(), CellKind::Number);
        // names are codes however many there are
        assert_eq!(column(&numbers, "categorical:k=60,order=nominal", None).kind(), CellKind::Code);
    }

    #[test]
    fn values_return_to_the_grid_of_their_column() {
        let found = column(&[0.1, 0.4, 2.0, 3.3], "gaussian", Some(CellKind::Number));
        assert_eq!([0.31, 9.0, -1.0].map(|value| found.on_grid(value)), [0.3, 3.3, 0.1]);
        let whole = column(&[1.0, 5.0, 7.0], "poisson", Some(CellKind::Number));
        assert_eq!([1.4, 5.6].map(|value| whole.on_grid(value)), [1.0, 6.0]);
        assert_eq!((whole.outward(2.3, 4.1), whole.outward(3.0, 3.0)), ((2.0, 5.0), (3.0, 3.0)));
        let free = column(&[0.123_456_789, 0.5], "gaussian", Some(CellKind::Number));
        assert_eq!((free.step, free.on_grid(0.2)), (None, 0.2));
    }
}
