//! Rows of which only the values other than zero are kept.

use ndarray::Array2;

use super::Data;
use crate::error::{Error, Result};

/// The rows of a table that is mostly zeros, in the form that is called CSR: for each row the columns whose value is not
/// zero, and these values. All other values *are* zeros; a missing value is a NaN among those that are kept.
///
/// The posteriors of such rows are as those of the whole table. A zero has constant statistics $\vec T(0)$, so that what
/// the zeros of a row add to the log-likelihood of a state is the same in all rows: truncated posteriors work on what is
/// kept alone. Exact ones, and the searches for families and the number of causes, look at whole rows.
///
/// ```
/// use efmca::{Em, SparseRows};
/// use efmca::posterior::Truncation;
/// use ndarray::array;
///
/// let counts = array![[0.0, 7.0, 0.0], [5.0, 0.0, 0.0], [0.0, 9.0, 0.0], [8.0, 0.0, 1.0]];
/// let sparse = SparseRows::new(3, vec![0, 1, 2, 3, 5], vec![1, 0, 1, 0, 2], vec![7.0, 5.0, 9.0, 8.0, 1.0])?;
/// assert_eq!(sparse.to_array(), counts);
/// let em = Em::new(2).family("poisson").truncated(Truncation::new(4)).iterations(5);
/// assert!((em.run(&sparse)?.bound - em.run(&counts)?.bound).abs() < 1e-9);
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SparseRows {
    d: usize,
    /// Where the values of each row begin, and where the last ones end.
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    merged: usize,
}

impl SparseRows {
    /// The values of row $n$ are `values[starts[n]..starts[n + 1]]`, in the columns of the same places of `columns`: `indptr`,
    /// `indices` and `data` of SciPy. Columns may be in any order. A column that comes several times in a row has the sum of
    /// its values there, as in SciPy; [`SparseRows::merged`] says how often that was.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] if the three do not belong together, or if there are fewer columns than they say.
    pub fn new(d: usize, starts: Vec<usize>, columns: Vec<u32>, values: Vec<f64>) -> Result<SparseRows> {
        if columns.len() != values.len() {
            return Err(Error::shape("values of the sparse rows", columns.len(), values.len()));
        }
        if starts.first() != Some(&0) || starts.last() != Some(&values.len()) {
            let found = format!("{:?} to {:?}", starts.first(), starts.last());
            return Err(Error::shape("places where sparse rows begin", format!("0 to {}", values.len()), found));
        }
        if let Some(row) = starts.windows(2).position(|pair| pair[0] > pair[1]) {
            let found = format!("row {} ends before it begins", row + 1);
            return Err(Error::shape("places where sparse rows begin", "numbers that do not fall", found));
        }
        if let Some(at) = columns.iter().position(|column| *column as usize >= d) {
            let row = starts.partition_point(|start| *start <= at);
            let found = format!("column {} in row {row}", columns[at] as usize + 1);
            return Err(Error::shape("columns of the sparse rows", format!("{d} at the most"), found));
        }
        let mut rows = SparseRows { d, starts, columns, values, merged: 0 };
        rows.put_in_order();
        Ok(rows)
    }

    /// Columns ascend in each row, each comes once, and zeros are left out.
    fn put_in_order(&mut self) {
        let (mut to, mut from) = (0, 0);
        let mut row: Vec<(u32, f64)> = Vec::new();
        for n in 1..self.starts.len() {
            let range = from..self.starts[n];
            from = range.end;
            row.clear();
            row.extend(self.columns[range.clone()].iter().copied().zip(self.values[range].iter().copied()));
            if !row.is_sorted_by_key(|(column, _)| *column) {
                row.sort_by_key(|(column, _)| *column);
            }
            let first = to;
            for (column, value) in &row {
                if to > first && self.columns[to - 1] == *column {
                    self.values[to - 1] += value;
                    self.merged += 1;
                } else {
                    (self.columns[to], self.values[to]) = (*column, *value);
                    to += 1;
                }
            }
            let mut kept = first;
            for at in first..to {
                if self.values[at] != 0.0 {
                    (self.columns[kept], self.values[kept]) = (self.columns[at], self.values[at]);
                    kept += 1;
                }
            }
            to = kept;
            self.starts[n] = to;
        }
        self.columns.truncate(to);
        self.values.truncate(to);
    }

    /// How many values were added to another one of the same place.
    pub fn merged(&self) -> usize {
        self.merged
    }

    /// The number of values that are kept.
    pub fn kept(&self) -> usize {
        self.values.len()
    }

    /// The values that are kept, in the order of rows and columns.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The number of values that are missing.
    pub fn missing(&self) -> usize {
        self.values.iter().filter(|value| value.is_nan()).count()
    }

    /// Every `step`-th row.
    #[must_use]
    pub fn every(&self, step: usize) -> SparseRows {
        let mut some =
            SparseRows { d: self.d, starts: vec![0], columns: Vec::new(), values: Vec::new(), merged: self.merged };
        for n in (0..self.n()).step_by(step.max(1)) {
            let (columns, values) = self.row(n);
            some.columns.extend_from_slice(columns);
            some.values.extend_from_slice(values);
            some.starts.push(some.values.len());
        }
        some
    }

    /// The whole table.
    pub fn to_array(&self) -> Array2<f64> {
        let mut table = Array2::zeros((self.n(), self.d));
        for (n, mut to) in table.outer_iter_mut().enumerate() {
            let (columns, values) = self.row(n);
            columns.iter().zip(values).for_each(|(column, value)| to[*column as usize] = *value);
        }
        table
    }

    /// The columns of a row that are not zero, and their values.
    fn row(&self, n: usize) -> (&[u32], &[f64]) {
        let range = self.starts[n]..self.starts[n + 1];
        (&self.columns[range.clone()], &self.values[range])
    }
}

impl Data for SparseRows {
    fn n(&self) -> usize {
        self.starts.len() - 1
    }

    fn d(&self) -> usize {
        self.d
    }

    fn read_row(&self, n: usize, y: &mut [f64]) {
        y.fill(0.0);
        let (columns, values) = self.row(n);
        columns.iter().zip(values).for_each(|(column, value)| y[*column as usize] = *value);
    }

    fn non_zeros(&self, n: usize) -> Option<(&[u32], &[f64])> {
        Some(self.row(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn any_order_and_repetition_is_the_same_table() -> Result<()> {
        let rows =
            SparseRows::new(3, vec![0, 3, 3, 6], vec![2, 0, 2, 1, 1, 0], vec![1.0, 4.0, 2.0, 5.0, -5.0, f64::NAN])?;
        let table = rows.to_array();
        assert_eq!(table.row(0), array![4.0, 0.0, 3.0]);
        assert_eq!(table.row(1), array![0.0, 0.0, 0.0]);
        assert!(table[[2, 0]].is_nan() && table[[2, 1]] == 0.0);
        assert_eq!((rows.merged(), rows.kept(), rows.missing()), (2, 3, 1));
        let mut third = [9.0; 3];
        rows.read_row(1, &mut third);
        assert_eq!(third, [0.0; 3]);
        assert_eq!(rows.every(2).row(1).0, [0]);
        Ok(())
    }

    #[test]
    fn what_does_not_belong_together_is_refused() {
        let message = |d, starts: &[usize], columns: &[u32], values: &[f64]| {
            SparseRows::new(d, starts.to_vec(), columns.to_vec(), values.to_vec()).unwrap_err().to_string()
        };
        assert!(message(2, &[0, 1, 2], &[0, 5], &[1.0, 2.0]).contains("column 6 in row 2"));
        assert!(message(2, &[0, 2, 1, 2], &[0, 1], &[1.0, 2.0]).contains("row 2 ends before"));
        assert!(message(2, &[0, 1], &[0, 1], &[1.0, 2.0]).contains("0 to 2"));
        assert!(message(2, &[], &[], &[]).contains("None"));
        assert!(message(2, &[0, 1], &[0], &[]).contains("values of the sparse rows"));
    }
}
