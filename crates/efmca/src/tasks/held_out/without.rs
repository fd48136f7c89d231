//! A cell judged without itself.
//!
//! Dividing by its own density takes a cell out of the posterior of its row exactly:
//! $$ r^{-d}_h \propto \frac{r_{dh}}{p(y_d;\vec\eta_{dh})}, \qquad p(y_d | \vec y_{-d}) = \Big(\sum_h \frac{r_{dh}}{p(y_d;\vec\eta_{dh})}\Big)^{-1} $$
//! where $r_{dh} = \mathbb E_q\lbrack\mathcal A_{dh}\rbrack$ is how likely cause $h$ is to have set the cell. The density of a column
//! that counts $\omega_d$ times ([`Views`](crate::model::Views)) is in the posterior to that power, and is divided out to it.

use ndarray::ArrayViewMut1;

use crate::model::{Model, Tables};

/// Takes a cell out of the responsibilities for itself; they stay as they are where that leaves nothing.
pub(crate) fn without_itself(model: &Model, tables: &Tables, d: usize, y: f64, mut owned: ArrayViewMut1<'_, f64>) {
    let (family, span) = (model.columns().family(d), model.columns().span(d));
    let logs: Vec<f64> = owned
        .iter()
        .enumerate()
        .map(|(h, r)| {
            if *r <= 0.0 {
                return f64::NEG_INFINITY;
            }
            let eta: Vec<f64> = span.clone().map(|k| tables.eta[[h, k]]).collect();
            // it is in the posterior as often as its column counts
            r.ln() - model.columns().weight(d) * family.log_density(y, &eta)
        })
        .collect();
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logs.iter().map(|log| (log - top).exp()).sum();
    if top.is_finite() && sum.is_finite() && sum > 0.0 {
        owned.iter_mut().zip(logs).for_each(|(r, log)| *r = (log - top).exp() / sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::model::{Background, Inference, View, Views};
    use ndarray::array;
    use std::ops::ControlFlow;

    #[test]
    fn a_cell_without_itself_is_a_cell_that_is_missing() -> Result<()> {
        let w = vec![array![[9.0, 8.0, 1.0], [1.0, 6.0, 7.0]]];
        let once = Model::new("poisson", array![0.3, 0.4], w, Background::fixed(&[0.5]))?;
        let view = View { name: "first".into(), columns: vec![0, 1], weight: 0.4 };
        let columns = once.columns().clone().with_views(Some(&Views::of(vec![view])?))?;
        for model in [Model { columns, ..once.clone() }, once] {
            of_model(&model)?;
        }
        Ok(())
    }

    fn of_model(model: &Model) -> Result<()> {
        let tables = Tables::new(model);
        let complete = array![[8.0, 5.0, 1.0], [0.0, 7.0, 9.0], [1.0, 0.0, 0.0]];
        let owners = |rows: &ndarray::Array2<f64>| {
            model.each_row(rows, Inference::Exact, &mut |_| ControlFlow::Continue(()), |_, owned| owned.to_owned())
        };
        for d in 0..3 {
            let mut missing = complete.clone();
            missing.column_mut(d).fill(f64::NAN);
            for (n, (mut with, without)) in owners(&complete)?.into_iter().zip(owners(&missing)?).enumerate() {
                without_itself(model, &tables, d, complete[[n, d]], with.column_mut(d));
                for (one, other) in with.column(d).iter().zip(without.column(d)) {
                    assert!((one - other).abs() < 1e-12, "{n} {d}: {one} {other}");
                }
            }
        }
        Ok(())
    }
}
