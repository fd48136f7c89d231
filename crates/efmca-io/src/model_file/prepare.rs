//! Rows as a model saw them, and back.

use ndarray::Array2;

use super::ModelFile;

impl ModelFile {
    /// The change of rows, in a few words.
    pub fn changes(&self) -> Option<&'static str> {
        match (self.logarithms, self.whitening.is_some()) {
            (false, false) => None,
            (true, false) => Some("logarithms"),
            (false, true) => Some("whitened"),
            (true, true) => Some("logarithms, whitened"),
        }
    }

    /// Rows as the model saw those that it was learned from: logarithms, whitened, or as they are.
    ///
    /// # Errors
    ///
    /// The row and column, counted from 1, of a value that has no logarithm, or that is missing where rows are whitened, with
    /// what to do about it.
    pub fn prepared(&self, mut rows: Array2<f64>) -> Result<Array2<f64>, String> {
        if self.logarithms {
            if let Some(((n, d), value)) = rows.indexed_iter().find(|(_, value)| **value <= 0.0) {
                return Err(format!(
                    "row {}, column {}: the model is one of logarithms, and {value} has none; leave such rows out",
                    n + 1,
                    d + 1
                ));
            }
            rows.mapv_inplace(f64::ln);
        }
        if let Some(whitening) = &self.whitening {
            if let Some(((n, d), _)) = rows.indexed_iter().find(|(_, value)| value.is_nan()) {
                return Err(format!(
                    "row {}, column {}: a value is missing, and the model is one of whitened rows, which must be complete; \
                     leave such rows out",
                    n + 1,
                    d + 1
                ));
            }
            for mut row in rows.rows_mut() {
                let white = whitening.apply(row.view());
                row.assign(&white);
            }
        }
        Ok(rows)
    }

    /// Rows of the model in the units of the data: [`ModelFile::prepared`] undone.
    pub fn restored(&self, mut rows: Array2<f64>) -> Array2<f64> {
        if let Some(whitening) = &self.whitening {
            for mut row in rows.rows_mut() {
                let before = whitening.undo(row.view());
                row.assign(&before);
            }
        }
        if self.logarithms {
            rows.mapv_inplace(f64::exp);
        }
        rows
    }
}
