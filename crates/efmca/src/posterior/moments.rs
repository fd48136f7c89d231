//! Sums over rows: the one place where work done apart comes together.

use ndarray::{Array1, Array2};

use crate::model::{Columns, Tables};
use crate::ranks::{Decoder, Encode};

/// Everything the M-step needs of the data. Moments add: over threads, over machines, over files.
///
/// The rows are the $H$ causes and, last, the background.
#[derive(Debug, Clone, PartialEq)]
pub struct Moments {
    /// $(H+1) \times D$: $\sum_n \mathbb E_{q^{(n)}}\lbrack \mathcal A_{dh}(\vec s, \Theta)\rbrack $ over the values that are present.
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

    /// $Q_d = \sum_h \big(\vec\eta_{dh}^T\sum_n\mathbb E\lbrack \mathcal A_{dh}\rbrack \vec T(y_d^{(n)}) - A(\vec\eta_{dh})\sum_n\mathbb E\lbrack \mathcal A_{dh}\rbrack \big)$:
    /// the part of the bound that belongs to each column, where the owners are those of `tables`.
    pub fn objectives(&self, columns: &Columns, tables: &Tables) -> Vec<f64> {
        let of_cause = |h: usize, d: usize| {
            let inner: f64 = columns.span(d).map(|k| tables.eta[[h, k]] * self.sums[[h, k]]).sum();
            inner - tables.a[[h, d]] * self.assigned[[h, d]]
        };
        (0..columns.d()).map(|d| (0..self.assigned.nrows()).map(|h| of_cause(h, d)).sum()).collect()
    }
}

impl Encode for Moments {
    fn encode(&self, out: &mut Vec<u8>) {
        for matrix in [&self.assigned, &self.sums] {
            matrix.dim().encode(out);
            matrix.iter().for_each(|value| value.encode(out));
        }
        self.active.to_vec().encode(out);
        (self.weight, self.bound).encode(out);
    }

    fn decode(from: &mut Decoder<'_>) -> Option<Moments> {
        let mut matrix = || {
            let (rows, columns) = <(usize, usize)>::decode(from)?;
            let count = rows.checked_mul(columns).filter(|count| *count <= from.0.len())?;
            let values = (0..count).map(|_| f64::decode(from)).collect::<Option<Vec<f64>>>()?;
            Array2::from_shape_vec((rows, columns), values).ok()
        };
        let (assigned, sums) = (matrix()?, matrix()?);
        let active = Array1::from(Vec::decode(from)?);
        let (weight, bound) = Encode::decode(from)?;
        Some(Moments { assigned, sums, active, weight, bound })
    }
}
