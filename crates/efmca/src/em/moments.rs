//! Sums over rows: the one place where work done apart comes together.

use ndarray::{Array1, Array2};

use crate::model::Columns;

/// Everything the M-step needs of the data. Moments add: over threads, over machines, over files.
///
/// The rows are the $H$ causes and, last, the background.
#[derive(Debug, Clone, PartialEq)]
pub struct Moments {
    /// $(H+1) \times D$: $\sum_n \mathbb E_{q^{(n)}}\lbrack \mathcal A_{dh}(\vec s, \Theta)\rbrack $ over the values that are there.
    pub assigned: Array2<f64>,
    /// $(H+1) \times K$: $\sum_n \mathbb E_{q^{(n)}}\lbrack \mathcal A_{dh}(\vec s, \Theta)\rbrack  T_l(y_d^{(n)})$.
    pub sums: Array2<f64>,
    /// $\sum_n \mathbb E_{q^{(n)}}\lbrack s_h\rbrack $.
    pub active: Array1<f64>,
    /// $\sum_n 1$, or the sum of the row weights.
    pub weight: f64,
    /// $\mathcal F(q, \Theta)$, of the parameters that the posteriors were made with.
    pub bound: f64,
}

impl Moments {
    /// The moments of no data.
    pub fn zeros(h: usize, columns: &Columns) -> Moments {
        Moments {
            assigned: Array2::zeros((h + 1, columns.d())),
            sums: Array2::zeros((h + 1, columns.k())),
            active: Array1::zeros(h),
            weight: 0.0,
            bound: 0.0,
        }
    }

    /// Adds the moments of other rows.
    pub fn add(&mut self, other: &Moments) {
        self.assigned += &other.assigned;
        self.sums += &other.sums;
        self.active += &other.active;
        self.weight += other.weight;
        self.bound += other.bound;
    }
}
