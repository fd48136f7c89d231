//! Rows that are not copied into memory a second time.

use std::sync::Arc;

use ndarray::Array2;

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
