//! Whitening, and undoing it.

use nalgebra::{DMatrix, SymmetricEigen};
use ndarray::{Array1, Array2, ArrayView1, Axis};
use rayon::prelude::*;

use super::PreparationError;
use crate::cancel;
use crate::error::Error;
use crate::model::{Data, Tensor};

/// Parts of the rows that are summed separately. It does not depend on the number of threads, so that no bit does.
const PARTS: usize = 8;
/// Rows of a product.
const BLOCK: usize = 512;
/// Directions with less than this share of the largest variance are empty.
const EMPTY: f64 = 1e-12;

/// The whitening that changes rows least (ZCA): $\vec y' = E\Lambda^{-1/2}E^T(\vec y - \bar{\vec y})$, where the
/// columns of $E$ are the eigenvectors of the covariance of the rows and $\Lambda$ has its eigenvalues.
///
/// The weakest directions of natural images are mostly noise, which whitening would make as strong as everything else.
/// Those that together have a small share of the variance are therefore amplified as much as the weakest of the others,
/// and no more; the whitening can be undone all the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Whitening {
    mean: Array1<f64>,
    forward: Array2<f64>,
    backward: Array2<f64>,
}

impl Whitening {
    /// The whitening of `data`. Directions are made equally strong until they have this share of the variance together;
    /// with a share of one, all of them.
    ///
    /// # Errors
    ///
    /// [`PreparationError::TooFewRows`], [`PreparationError::MissingValue`] and [`PreparationError::NoVariance`];
    /// [`Error::Setting`] if the share is not above 0 and at most 1, and [`Error::NotFinite`] for an infinite value.
    pub fn fit(data: &dyn Data, share: f64) -> Result<Whitening, PreparationError> {
        check_share(share)?;
        let (n, d) = (data.n(), data.d());
        if d == 0 {
            return Err(Error::EmptyData { rows: n, columns: d }.into());
        }
        if n < 2 {
            return Err(PreparationError::TooFewRows { rows: n });
        }
        let mean = mean(data)?;
        let covariance = covariance(data, &mean);
        let eigen = SymmetricEigen::new(DMatrix::from_iterator(d, d, covariance.iter().copied()));
        let mut values: Vec<f64> = eigen.eigenvalues.iter().map(|value| value.max(0.0)).collect();
        let vectors = Array2::from_shape_fn((d, d), |(row, column)| eigen.eigenvectors[(row, column)]);
        let largest = values.iter().copied().fold(0.0, f64::max);
        if !(largest > 0.0 && largest.is_finite()) {
            return Err(PreparationError::NoVariance);
        }
        let floor = weakest(&values, share).max(EMPTY * largest);
        values.iter_mut().for_each(|value| *value = value.max(floor).sqrt());
        // E diag(scale) E^T
        let product = |scale: &dyn Fn(f64) -> f64| {
            let mut scaled = vectors.clone();
            for (mut column, value) in scaled.axis_iter_mut(Axis(1)).zip(&values) {
                column.mapv_inplace(|entry| entry * scale(*value));
            }
            scaled.dot(&vectors.t())
        };
        Ok(Whitening { mean, forward: product(&|value| 1.0 / value), backward: product(&|value| value) })
    }

    /// $D$.
    pub fn d(&self) -> usize {
        self.mean.len()
    }

    /// The mean of the rows that it was fitted to.
    pub fn mean(&self) -> &Array1<f64> {
        &self.mean
    }

    /// A row, whitened.
    pub fn apply(&self, y: ArrayView1<'_, f64>) -> Array1<f64> {
        self.forward.dot(&(&y - &self.mean))
    }

    /// The row that a whitened one was.
    pub fn undo(&self, y: ArrayView1<'_, f64>) -> Array1<f64> {
        self.backward.dot(&y) + &self.mean
    }

    /// A difference of two rows (a learned field, which is added to nothing) before it was whitened.
    pub fn undo_field(&self, field: ArrayView1<'_, f64>) -> Array1<f64> {
        self.backward.dot(&field)
    }

    /// All rows, whitened, in single precision: rounding them is far below what patches can tell.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] if the rows have another number of columns.
    pub fn whitened(&self, data: &dyn Data) -> crate::Result<Array2<f32>> {
        if data.d() != self.d() {
            return Err(Error::shape("columns of the data", self.d(), data.d()));
        }
        let mut found = Array2::zeros((data.n(), data.d()));
        found.axis_chunks_iter_mut(Axis(0), BLOCK).into_par_iter().enumerate().for_each(|(block, mut found)| {
            cancel::check();
            let rows = centred(data, &self.mean, block * BLOCK..block * BLOCK + found.nrows());
            found.zip_mut_with(&rows.dot(&self.forward.t()), |to, from| *to = *from as f32);
        });
        Ok(found)
    }

    /// As named arrays, for a file.
    pub fn to_tensors(&self) -> Vec<Tensor> {
        let d = self.d();
        let tensor = |name: &str, shape: Vec<usize>, values: Vec<f64>| Tensor { name: name.into(), shape, values };
        vec![
            tensor(NAMES[0], vec![d], self.mean.to_vec()),
            tensor(NAMES[1], vec![d, d], self.forward.iter().copied().collect()),
            tensor(NAMES[2], vec![d, d], self.backward.iter().copied().collect()),
        ]
    }

    /// The whitening among these arrays, if there is one.
    ///
    /// # Errors
    ///
    /// [`Error::NotAModel`] if arrays have other shapes than those of a whitening.
    pub fn from_tensors(tensors: &[Tensor]) -> crate::Result<Option<Whitening>> {
        let found = |name: &str| tensors.iter().find(|tensor| tensor.name == name);
        let [Some(mean), Some(forward), Some(backward)] = NAMES.map(found) else { return Ok(None) };
        let d = mean.values.len();
        let square = |tensor: &Tensor| {
            let shape = (tensor.shape == [d, d]).then(|| Array2::from_shape_vec((d, d), tensor.values.clone()).ok());
            shape.flatten().ok_or_else(|| Error::NotAModel {
                problem: format!("tensor `{}` has shape {:?} and should have [{d}, {d}]", tensor.name, tensor.shape),
            })
        };
        let (forward, backward) = (square(forward)?, square(backward)?);
        Ok(Some(Whitening { mean: Array1::from(mean.values.clone()), forward, backward }))
    }
}

/// Whether this is a share of the variance.
pub(super) fn check_share(share: f64) -> crate::Result<()> {
    if share > 0.0 && share <= 1.0 {
        return Ok(());
    }
    let requirement = "it must be a share of the variance above 0 and at most 1, such as 0.95, or none";
    Err(Error::setting("whiten", share, requirement))
}

/// The names of the arrays in files.
const NAMES: [&str; 3] = ["whitening_mean", "whitening", "unwhitening"];

/// The smallest variance of those that together have `share` of all.
fn weakest(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let enough = share * sorted.iter().sum::<f64>();
    let mut sum = 0.0;
    for value in &sorted {
        sum += value;
        if sum >= enough {
            return *value;
        }
    }
    sorted.last().copied().unwrap_or(0.0)
}

/// Where the rows of a part begin and end.
fn part(n: usize, part: usize) -> std::ops::Range<usize> {
    n * part / PARTS..n * (part + 1) / PARTS
}

fn mean(data: &dyn Data) -> Result<Array1<f64>, PreparationError> {
    let sums: Vec<Result<Array1<f64>, PreparationError>> = (0..PARTS)
        .into_par_iter()
        .map(|at| {
            let (mut sum, mut y) = (Array1::zeros(data.d()), vec![0.0; data.d()]);
            for n in part(data.n(), at) {
                data.read_row(n, &mut y);
                if let Some(column) = y.iter().position(|value| !value.is_finite()) {
                    return Err(if y[column].is_nan() {
                        PreparationError::MissingValue { row: n + 1, column: column + 1 }
                    } else {
                        Error::NotFinite { row: n, column, value: y[column] }.into()
                    });
                }
                sum.iter_mut().zip(&y).for_each(|(sum, y)| *sum += y);
            }
            Ok(sum)
        })
        .collect();
    let mut mean = Array1::zeros(data.d());
    for sum in sums {
        mean += &sum?;
    }
    Ok(mean / data.n() as f64)
}

/// Rows without the mean.
fn centred(data: &dyn Data, mean: &Array1<f64>, rows: std::ops::Range<usize>) -> Array2<f64> {
    let mut block = Array2::zeros((rows.len(), data.d()));
    for (mut row, n) in block.rows_mut().into_iter().zip(rows) {
        if let Some(row) = row.as_slice_mut() {
            data.read_row(n, row);
        }
        row -= mean;
    }
    block
}

fn covariance(data: &dyn Data, mean: &Array1<f64>) -> Array2<f64> {
    let (n, d) = (data.n(), data.d());
    let parts: Vec<Array2<f64>> = (0..PARTS)
        .into_par_iter()
        .map(|at| {
            let (mut sum, rows) = (Array2::zeros((d, d)), part(n, at));
            for start in rows.clone().step_by(BLOCK) {
                cancel::check();
                let block = centred(data, mean, start..(start + BLOCK).min(rows.end));
                ndarray::linalg::general_mat_mul(1.0, &block.t(), &block, 1.0, &mut sum);
            }
            sum
        })
        .collect();
    let mut sum = Array2::<f64>::zeros((d, d));
    parts.iter().for_each(|part| sum += part);
    // exactly symmetric, whatever the order of additions was
    let turned = sum.t().to_owned();
    (sum + turned) / (2.0 * n as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Rows whose columns depend on each other.
    fn rows() -> Array2<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let independent = Array2::from_shape_fn((3000, 5), |_| rng.random::<f64>() - 0.5);
        let mixing =
            Array2::from_shape_fn((5, 5), |(i, j)| if i == j { 3.0 } else { 1.0 / (1.0 + i as f64 + j as f64) });
        independent.dot(&mixing) + 7.0
    }

    #[test]
    fn whitened_rows_are_white_and_come_back() -> Result<(), PreparationError> {
        let y = rows();
        let whitening = Whitening::fit(&y, 1.0)?;
        let white = whitening.whitened(&y)?.mapv(f64::from);
        let covariance = white.t().dot(&white) / 3000.0;
        for ((i, j), value) in covariance.indexed_iter() {
            assert!((value - f64::from(u8::from(i == j))).abs() < 1e-5, "{i} {j} {value}");
        }
        // of all whitenings the one that changes least: its matrix is symmetric and positive
        assert!((&whitening.forward - &whitening.forward.t()).iter().all(|gap| gap.abs() < 1e-12));
        for n in [0, 17, 2999] {
            let white = whitening.apply(y.row(n));
            let back = whitening.undo(white.view());
            assert!((&back - &y.row(n)).iter().all(|gap| gap.abs() < 1e-10));
        }
        let tensors = whitening.to_tensors();
        assert_eq!(Whitening::from_tensors(&tensors)?, Some(whitening));
        assert_eq!(Whitening::from_tensors(&tensors[1..])?, None);
        Ok(())
    }

    #[test]
    fn weak_directions_stay_weak() -> Result<(), PreparationError> {
        let mut y = rows();
        // a column that is nearly the copy of another
        let copy = y.column(0).mapv(|value| value + 1e-4 * (value * 1e3).sin());
        y.column_mut(4).assign(&copy);
        let all = Whitening::fit(&y, 1.0)?.whitened(&y)?.mapv(f64::from);
        let most = Whitening::fit(&y, 0.99)?.whitened(&y)?.mapv(f64::from);
        let total = |white: &Array2<f64>| white.iter().map(|value| value * value).sum::<f64>() / 3000.0;
        assert!((total(&all) - 5.0).abs() < 0.1, "{}", total(&all));
        assert!((total(&most) - 4.0).abs() < 0.3, "{}", total(&most));
        Ok(())
    }

    #[test]
    fn what_cannot_be_whitened_is_refused() {
        let equal = Array2::from_elem((10, 3), 2.0);
        assert_eq!(Whitening::fit(&equal, 0.9), Err(PreparationError::NoVariance));
        assert_eq!(Whitening::fit(&Array2::from_elem((1, 3), 2.0), 0.9), Err(PreparationError::TooFewRows { rows: 1 }));
        let mut y = rows();
        assert!(Whitening::fit(&y, 0.0).is_err());
        y[[5, 2]] = f64::NAN;
        assert_eq!(Whitening::fit(&y, 0.9), Err(PreparationError::MissingValue { row: 6, column: 3 }));
        y[[5, 2]] = f64::INFINITY;
        assert!(matches!(
            Whitening::fit(&y, 0.9),
            Err(PreparationError::Other(Error::NotFinite { row: 5, column: 2, .. }))
        ));
    }
}
