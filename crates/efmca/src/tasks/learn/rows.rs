//! Rows that are not copied into memory a second time.

use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayView1};

use super::Whitening;
use crate::error::{Error, Result};
use crate::model::Data;

/// Rows in single precision that are shared and not copied.
#[derive(Debug, Clone)]
pub struct SharedRows(pub Arc<Array2<f32>>);

impl Data for SharedRows {
    fn n(&self) -> usize {
        self.0.nrows()
    }

    fn d(&self) -> usize {
        self.0.ncols()
    }

    fn read_row(&self, n: usize, y: &mut [f64]) {
        self.0.read_row(n, y);
    }

    fn outside(&self) -> Option<Arc<dyn Data + Send>> {
        Some(Arc::new(self.clone()))
    }
}

/// Rows that are whitened each time they are read, so that rows outside of memory stay there.
#[derive(Debug, Clone)]
pub struct WhitenedRows<D> {
    rows: D,
    whitening: Arc<Whitening>,
}

impl<D: Data> WhitenedRows<D> {
    /// `rows`, whitened by `whitening`. All columns of a row with a missing value are missing.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] if the whitening is one of rows with another number of columns.
    pub fn new(rows: D, whitening: impl Into<Arc<Whitening>>) -> Result<WhitenedRows<D>> {
        let whitening = whitening.into();
        if rows.d() != whitening.d() {
            return Err(Error::shape("columns of the data", whitening.d(), rows.d()));
        }
        Ok(WhitenedRows { rows, whitening })
    }
}

// There is no geometry: whitened pixels of overlapping patches are not the same numbers.
impl<D: Data> Data for WhitenedRows<D> {
    fn n(&self) -> usize {
        self.rows.n()
    }

    fn d(&self) -> usize {
        self.rows.d()
    }

    fn read_row(&self, n: usize, y: &mut [f64]) {
        self.rows.read_row(n, y);
        let white = self.whitening.apply(ArrayView1::from(&*y));
        y.iter_mut().zip(&white).for_each(|(y, white)| *y = *white);
    }

    fn weights(&self) -> Option<&Array1<f64>> {
        self.rows.weights()
    }

    fn check_unchanged(&self) -> Result<()> {
        self.rows.check_unchanged()
    }

    fn outside(&self) -> Option<Arc<dyn Data + Send>> {
        let rows = OutsideRows(self.rows.outside()?);
        Some(Arc::new(WhitenedRows { rows, whitening: Arc::clone(&self.whitening) }))
    }
}

/// Rows outside of memory, as data that can be wrapped.
struct OutsideRows(Arc<dyn Data + Send>);

impl Data for OutsideRows {
    fn n(&self) -> usize {
        self.0.n()
    }

    fn d(&self) -> usize {
        self.0.d()
    }

    fn read_row(&self, n: usize, y: &mut [f64]) {
        self.0.read_row(n, y);
    }

    fn weights(&self) -> Option<&Array1<f64>> {
        self.0.weights()
    }

    fn check_unchanged(&self) -> Result<()> {
        self.0.check_unchanged()
    }

    fn outside(&self) -> Option<Arc<dyn Data + Send>> {
        Some(Arc::clone(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Weighted;

    /// Rows whose columns depend on each other.
    fn rows() -> SharedRows {
        let value = |(n, d): (usize, usize)| ((n * 7919 + d * 104_729) % 57) as f32 + (n % 5) as f32 * 11.0;
        SharedRows(Arc::new(Array2::from_shape_fn((40, 6), value)))
    }

    fn row(data: &dyn Data, n: usize) -> Vec<f64> {
        let mut y = vec![0.0; data.d()];
        data.read_row(n, &mut y);
        y
    }

    #[test]
    fn rows_are_whitened_one_by_one_inside_and_outside() {
        let plain = rows();
        let whitening = Arc::new(Whitening::fit(&plain, 0.95).unwrap());
        let white = WhitenedRows::new(plain.clone(), Arc::clone(&whitening)).unwrap();
        let outside = white.outside().unwrap();
        let further = outside.outside().unwrap();
        assert_eq!((white.n(), white.d(), outside.n(), further.d()), (40, 6, 40, 6));
        let together = whitening.whitened(&plain).unwrap();
        for n in 0..white.n() {
            let expected = whitening.apply(ArrayView1::from(&row(&plain, n))).to_vec();
            for data in [&white as &dyn Data, &*outside, &*further] {
                assert_eq!(row(data, n), expected);
            }
            let close = |(a, b): (&f64, &f32)| (a - f64::from(*b)).abs() < 1e-5;
            assert!(expected.iter().zip(together.row(n)).all(close));
        }
    }

    #[test]
    fn weights_go_with_the_rows_and_rows_in_memory_stay_there() {
        let array = rows().0.mapv(f64::from);
        let whitening = Whitening::fit(&array, 1.0).unwrap();
        let weights = Array1::from_elem(40, 2.0);
        let weighted = Weighted::new(&array, weights.clone()).unwrap();
        let white = WhitenedRows::new(weighted, whitening.clone()).unwrap();
        assert_eq!(white.weights(), Some(&weights));
        assert!(white.outside().is_none() && white.geometry().is_none());
        assert!(WhitenedRows::new(Array2::<f64>::zeros((3, 5)), whitening).is_err());
    }
}
