//! Tables of a model for the E-step, with the families taken out.

use ndarray::{Array1, Array2};

use super::{Model, Superposition, WinnerOrder};
use crate::special::{log1p_exp, logit};

/// $\vec\eta$, $A$ and $M$ for every cause and column, made once for each set of parameters.
///
/// The rows are the $H$ causes and, last, the background. Nothing here depends on which family a column has.
#[derive(Debug, Clone)]
pub struct Tables {
    /// $(H+1) \times K$: natural parameters $\vec\Phi(\vec W_{dh})$.
    pub eta: Array2<f64>,
    /// $(H+1) \times D$: log-partition function $A(\vec\eta_{dh})$.
    pub a: Array2<f64>,
    /// $(H+1) \times D$: what decides the winner: $M_{dh}$, or its magnitude.
    pub strength: Array2<f64>,
    /// Who wins each column by that.
    pub winners: WinnerOrder,
    /// $\log\frac{\pi_h}{1-\pi_h}$, what switching cause $h$ on adds to the log-prior.
    pub log_odds: Array1<f64>,
    /// $\sum_h\log(1-\pi_h)$, the log-prior of the empty state.
    pub log_prior_empty: f64,
}

impl Tables {
    /// The tables of `model` by which posteriors are made: $\omega_d\vec\eta$ and $\omega_d A$ where columns count less than once
    /// ([`Views`](super::Views)), and otherwise those of [`Tables::new`].
    pub fn for_posteriors(model: &Model) -> Tables {
        let mut tables = Tables::new(model);
        let columns = model.columns();
        if !columns.count_once() {
            for (d, _, span) in columns.iter() {
                let weight = columns.weight(d);
                tables.a.column_mut(d).mapv_inplace(|a| weight * a);
                span.for_each(|k| tables.eta.column_mut(k).mapv_inplace(|eta| weight * eta));
            }
        }
        tables
    }

    /// The tables of `model`, by which values are predicted.
    pub fn new(model: &Model) -> Tables {
        let rows = model.h() + 1;
        let columns = model.columns();
        let (mut eta_of, mut a_of) = (Array2::zeros((rows, columns.k())), Array2::zeros((rows, columns.d())));
        let mut strength = Array2::zeros((rows, columns.d()));
        let superposition: Superposition = model.superposition;
        let mut eta = vec![0.0; columns.l_max()];
        for h in 0..rows {
            let profile = model.profile(h);
            for (d, family, span) in columns.iter() {
                let w = &profile[span.clone()];
                let eta = &mut eta[..span.len()];
                family.phi(w, eta);
                a_of[[h, d]] = family.a(eta);
                strength[[h, d]] = superposition.strength(family.dominance(w));
                for (k, value) in span.zip(eta.iter()) {
                    eta_of[[h, k]] = *value;
                }
            }
        }
        Tables {
            eta: eta_of,
            a: a_of,
            winners: WinnerOrder::new(&strength),
            strength,
            log_odds: model.pi.mapv(logit),
            log_prior_empty: model.pi.iter().map(|pi| -log1p_exp(logit(*pi))).sum(),
        }
    }
}
