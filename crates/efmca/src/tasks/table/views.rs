//! How much the columns of a view count, so that all views say alike much about a row.
//!
//! What a view says is measured by the best single cause in it: by how many nats that cause makes the view's part of a row more
//! likely, in rows that it was not learned from, than independent columns do. If the columns count with $\omega$, the worth is
//! $$ g_v(\omega) = \frac1N\sum_n\log\sum_{s\in\lbrace 0,1\rbrace} p(s) \prod_{d\in v} \Big(\frac{p(y_d^{(n)}|s)}{p_0(y_d^{(n)})}\Big)^\omega, $$
//! and the weight of a view is the $\omega_v \le 1$ at which its best cause is worth as much as that of the view where it is worth
//! least: $g_v(\omega_v) = \min_u g_u(1)$. Multiple factor analysis (Escofier and Pagès) divides each group of columns by its first
//! singular value for the same reason: no view has the strongest cause by its number of columns alone, and one with many causes
//! still has many. The number of columns itself would be the wrong measure: 200 columns that count as 8 would say too little for
//! weak causes, which are all over such views, to be seen at all, whereas here the best cause of each view is worth having.
//!
//! Weights are never above one, since a column that counted several times would turn its noise into causes. Views without any
//! cause have a weight of one and do not decide about others.

use ndarray::{Array1, ArrayView2, Axis};

use super::large::every_row;
use crate::em::Em;
use crate::error::Result;
use crate::family::SharedFamily;
use crate::model::{Background, Columns, Data, Model, Resolution, Statistics, View, Views};
use crate::posterior::Exact;

/// Rows that are looked at, at the least and at the most, and values of all of them; one of so many rows judges what was learned
/// from the others.
const ROWS: (usize, usize) = (500, 5000);
const VALUES: usize = 1 << 22;
const JUDGES: usize = 5;
/// Trainings of the single cause.
const STARTS: usize = 4;
const ITERATIONS: usize = 40;
/// Nats that the best cause of a view keeps: where there is less, causes are hardly told from noise.
const LEAST: f64 = 0.5;
/// Nats below which a view has no cause.
const NOTHING: f64 = 0.02;
/// Halvings of the interval that a weight is in.
const HALVINGS: usize = 20;

/// What is known of the columns.
pub(super) struct Known<'a> {
    pub(super) families: &'a [SharedFamily],
    pub(super) resolutions: &'a [Resolution],
    pub(super) seed: u64,
}

/// The best single cause of a view, and rows to judge it by.
struct BestCause {
    model: Model,
    rows: Statistics,
    /// The log-likelihood of independent columns.
    apart: f64,
}

impl Known<'_> {
    /// The views of all columns of `data`, with weights.
    pub(super) fn weighed(&self, views: &Views, data: &dyn Data) -> Result<Views> {
        let views = views.over(data.d())?;
        let most = (VALUES / data.d().max(1)).clamp(ROWS.0, ROWS.1);
        let rows = every_row(data, data.n().div_ceil(most));
        // columns without values in some of the rows, or too few rows: the training of all of them will tell
        let causes: Vec<Option<BestCause>> = views.iter().map(|view| self.best_cause(view, rows.view()).ok()).collect();
        let worth = |cause: &Option<BestCause>| cause.as_ref().and_then(|cause| cause.worth(1.0).ok()).unwrap_or(0.0);
        let worths: Vec<f64> = causes.iter().map(worth).collect();
        let least = worths.iter().copied().filter(|worth| *worth > NOTHING).fold(f64::INFINITY, f64::min).max(LEAST);
        let weighed = views.iter().zip(&causes).zip(&worths).map(|((view, cause), worth)| {
            let weight = match cause {
                Some(cause) if *worth > least => weight_of(|weight| cause.worth(weight), least)?,
                _ => 1.0,
            };
            Ok(View { weight, ..view.clone() })
        });
        Views::of(weighed.collect::<Result<_>>()?)
    }

    fn best_cause(&self, view: &View, rows: ArrayView2<'_, f64>) -> Result<BestCause> {
        let table = rows.select(Axis(1), &view.columns);
        let (judges, others): (Vec<usize>, Vec<usize>) = (0..table.nrows()).partition(|n| n % JUDGES == 1);
        let (learned, judged) = (table.select(Axis(0), &others), table.select(Axis(0), &judges));
        let resolutions: Vec<Resolution> =
            view.columns.iter().filter_map(|d| self.resolutions.get(*d)).cloned().collect();
        let families: Vec<SharedFamily> = view.columns.iter().map(|d| self.families[*d].clone()).collect();
        let em = Em::new(1).families(&families).resolutions(&resolutions).pseudo_count(1.0).seed(self.seed);
        let model = em.starts(STARTS).iterations(ITERATIONS).tolerance(1e-6).run(&learned)?.model;
        let columns = Columns::new(families)?.with_resolutions(&resolutions)?;
        let means = Statistics::new(&columns, &learned)?.column_means();
        let rows = Statistics::new(&columns, &judged)?;
        // a cause that is as the background
        let one = means.clone().insert_axis(Axis(0));
        let apart = Model::from_parts(columns, Array1::from_elem(1, 0.5), one, Background::Fixed(means.to_vec()))?;
        let apart = Exact::new(&apart)?.e_step(&rows, &rows, 1.0)?.bound;
        Ok(BestCause { model, rows, apart })
    }
}

impl BestCause {
    /// $g_v(\omega)$.
    fn worth(&self, weight: f64) -> Result<f64> {
        let (d, n) = (self.model.d(), self.rows.n() as f64);
        let view = View { name: String::new(), columns: (0..d).collect(), weight };
        let columns = self.model.columns.clone().with_views(Some(&Views::of(vec![view])?))?;
        let model = Model { columns, ..self.model.clone() };
        // the statistics of the rows know nothing of weights
        let log_h = self.rows.log_h.sum();
        let bound = Exact::new(&model)?.e_step(&self.rows, &self.rows, 1.0)?.bound - log_h;
        Ok((bound + weight * (log_h - self.apart)) / n)
    }
}

/// The weight at which a cause is worth `least`, which is less than it is worth without a weight. The worth is zero without any
/// weight and convex, so that there is one.
fn weight_of(worth: impl Fn(f64) -> Result<f64>, least: f64) -> Result<f64> {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if worth(middle)? < least { low = middle } else { high = middle }
    }
    Ok(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::family;
    use ndarray::Array2;

    /// A view of so many columns with a cause in `with` of them.
    fn views(sizes: &[(usize, usize)]) -> Result<Vec<f64>> {
        let d: usize = sizes.iter().map(|(columns, _)| columns).sum();
        let (mut first, mut of, mut causes) = (0, Vec::new(), Vec::new());
        for (place, (columns, with)) in sizes.iter().enumerate() {
            of.push((place.to_string(), (first..first + columns).collect::<Vec<usize>>()));
            causes.push(first..first + with);
            first += columns;
        }
        let w = Array2::from_shape_fn((sizes.len(), d), |(h, d)| if causes[h].contains(&d) { 6.0 } else { 2.0 });
        let columns = Columns::same(family("poisson")?, d)?;
        let truth = Model::from_parts(columns, Array1::from_elem(sizes.len(), 0.3), w, Background::fixed(&[2.0]))?;
        let families = vec![family("poisson")?; d];
        let known = Known { families: &families, resolutions: &[], seed: 1 };
        let weighed = known.weighed(&Views::new(of)?, &truth.sample(800, 3).y)?;
        Ok(weighed.iter().map(|view| view.weight).collect())
    }

    #[test]
    fn the_view_that_says_least_counts_most_and_noise_does_not_decide() -> Result<()> {
        let weights = views(&[(30, 30), (5, 5), (6, 0)])?;
        assert!(weights[1] == 1.0 && weights[2] == 1.0, "{weights:?}");
        // six times the columns; the entropy of the cause is not weighted
        assert!((0.17..0.3).contains(&weights[0]), "{weights:?}");
        Ok(())
    }

    #[test]
    fn columns_without_causes_make_no_view_weaker() -> Result<()> {
        let weights = views(&[(60, 5), (5, 5)])?;
        assert!(weights.iter().all(|weight| *weight > 0.8), "{weights:?}");
        Ok(())
    }

    #[test]
    fn a_weight_is_where_the_worth_is_that_of_the_least() -> Result<()> {
        let found = weight_of(|weight| Ok(8.0 * weight * weight), 2.0)?;
        assert!((found - 0.5).abs() < 1e-5, "{found}");
        Ok(())
    }
}
