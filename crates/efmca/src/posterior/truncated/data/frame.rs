//! Coordinates in which single precision is enough.

use crate::model::{Columns, Tables};

/// An affine change of the sufficient statistics of each column, $\vec T' = C^{-1}(\vec T - \vec c)$.
///
/// With $\vec\eta' = C^T\vec\eta$ and $A' = A - \vec\eta^T\vec c$ the log-terms stay what they were:
/// $\vec\eta'^T\vec T' - A' = \vec\eta^T\vec T - A$. With $\vec c$ the mean of $\vec T$ and $CC^T$ its covariance, the new
/// statistics are of the order of one and do not repeat each other ($y$ and $y^2$ of a Gaussian far from zero do), so
/// that rounding them to `f32` loses nothing but the eighth digit.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    /// $\vec c$, one after the other, $K$ in all.
    centre: Vec<f64>,
    /// For each column its lower triangular $C$, row by row, $L_d^2$ entries.
    factor: Vec<Vec<f64>>,
}

impl Frame {
    /// Statistics as they are.
    pub(crate) fn identity(columns: &Columns) -> Frame {
        let unit = |l: usize| (0..l * l).map(|i| if i % (l + 1) == 0 { 1.0 } else { 0.0 }).collect();
        Frame {
            centre: vec![0.0; columns.k()],
            factor: columns.iter().map(|(_, family, _)| unit(family.l())).collect(),
        }
    }

    /// The frame of statistics with these means ($K$) and, for each column, these second moments about them
    /// ($L_d \times L_d$, row by row).
    pub(crate) fn new(columns: &Columns, means: Vec<f64>, covariances: &[Vec<f64>]) -> Frame {
        let factor = columns.iter().map(|(d, family, _)| cholesky(family.l(), &covariances[d])).collect();
        Frame { centre: means, factor }
    }

    /// $\vec T'$ from $\vec T$ of column `d`, in place; `k` is where its statistics begin.
    pub(crate) fn enter(&self, d: usize, k: usize, t: &mut [f64]) {
        let (l, factor) = (t.len(), &self.factor[d]);
        for i in 0..l {
            let known: f64 = (0..i).map(|j| factor[i * l + j] * t[j]).sum();
            t[i] = (t[i] - self.centre[k + i] - known) / factor[i * l + i];
        }
    }

    /// $\sum\vec T$ from $\sum\vec T'$ over statistics of total weight `count`, in place.
    pub(crate) fn leave(&self, d: usize, k: usize, count: f64, sums: &mut [f64]) {
        let (l, factor) = (sums.len(), &self.factor[d]);
        for i in (0..l).rev() {
            sums[i] = (0..=i).map(|j| factor[i * l + j] * sums[j]).sum::<f64>() + count * self.centre[k + i];
        }
    }

    /// $\vec\eta'$ and $A'$ of cause `h` in column `d`.
    pub(crate) fn parameters(&self, columns: &Columns, tables: &Tables, h: usize, d: usize, eta: &mut [f64]) -> f64 {
        let (span, factor) = (columns.span(d), &self.factor[d]);
        let l = span.len();
        let mut a = tables.a[[h, d]];
        for (i, k) in span.clone().enumerate() {
            a -= tables.eta[[h, k]] * self.centre[k];
            eta[i] = (i..l).map(|j| factor[j * l + i] * tables.eta[[h, span.start + j]]).sum();
        }
        a
    }
}

/// The lower triangular $C$ with $CC^T$ = `covariance`; directions without scatter get a scale of their own.
fn cholesky(l: usize, covariance: &[f64]) -> Vec<f64> {
    let mut factor = vec![0.0; l * l];
    for i in 0..l {
        for j in 0..=i {
            let known: f64 = (0..j).map(|m| factor[i * l + m] * factor[j * l + m]).sum();
            let rest = covariance[i * l + j] - known;
            factor[i * l + j] = if i != j {
                rest / factor[j * l + j]
            } else if rest > 1e-12 * covariance[i * l + i] {
                rest.sqrt()
            } else {
                // nothing is left of this statistic but rounding
                (1e-12 * covariance[i * l + i]).sqrt().max(1e-6)
            };
        }
    }
    factor
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::family;
    use crate::model::{Background, Model};
    use ndarray::{Array1, Array2};

    #[test]
    fn log_terms_do_not_change() -> crate::Result<()> {
        let w = Array2::from_shape_vec((1, 2), vec![1000.0, 1_000_004.0])
            .map_err(|_| crate::Error::EmptyColumn { column: 0 })?;
        let columns = Columns::same(family("gaussian")?, 1)?;
        let model = Model::from_parts(columns, Array1::from_elem(1, 0.5), w, Background::fixed(&[999.0, 998_002.0]))?;
        let tables = Tables::new(&model);
        let frame = Frame::new(model.columns(), vec![1000.5, 1_001_003.0], &[vec![2.0, 4000.0, 4000.0, 8_000_100.0]]);
        let mut t = [1001.0, 1_002_001.0];
        let direct = tables.eta[[0, 0]] * t[0] + tables.eta[[0, 1]] * t[1] - tables.a[[0, 0]];
        frame.enter(0, 0, &mut t);
        assert!(t.iter().all(|t| t.abs() < 10.0), "{t:?}");
        let mut eta = [0.0; 2];
        let a = frame.parameters(model.columns(), &tables, 0, 0, &mut eta);
        let changed = eta[0] * t[0] + eta[1] * t[1] - a;
        assert!((changed - direct).abs() < 1e-9, "{changed} {direct}");
        frame.leave(0, 0, 1.0, &mut t);
        assert!((t[0] - 1001.0).abs() < 1e-12 && (t[1] - 1_002_001.0).abs() < 1e-8, "{t:?}");
        Ok(())
    }
}
