//! What a model says about the entries of rows: who owns them, their means, and values for those that are missing.
//!
//! Every row is treated by itself, as in `infer.rs`.

use ndarray::{Array1, Array2, ArrayView2};
use rayon::prelude::*;

use super::Exact;
use super::infer::RowObserver;
use crate::cancel;
use crate::error::{Error, Result};
use crate::family::{Family, Measure};
use crate::model::{Data, Inference, Model, Tables};

/// How far a probability may be outside of its range.
const ROUNDING: f64 = 1e-9;

impl Model {
    /// The best state of each row that inference finds, $N \times H$: one where a cause is active. With exact inference
    /// it is the most probable of all.
    pub(crate) fn best_states(
        &self,
        y: &dyn Data,
        inference: Inference,
        observer: &mut RowObserver<'_>,
    ) -> Result<Array2<f64>> {
        let h = self.h();
        let mut found = Vec::with_capacity(y.n() * h);
        match inference {
            Inference::Exact => {
                let exact = Exact::new(self)?;
                let rows = exact.rows();
                let blocks = self.exact_blocks(y, observer, |_, statistics| {
                    let posteriors = rows.posteriors(statistics)?;
                    let best =
                        |q: &[f64]| (1..q.len()).fold(0, |best, state| if q[state] > q[best] { state } else { best });
                    Ok(posteriors.outer_iter().map(|q| best(q.as_slice().unwrap_or(&[0.0]))).collect::<Vec<usize>>())
                })?;
                let active = |state: usize| (0..h).map(move |cause| (state >> cause & 1) as f64);
                found.extend(blocks.into_iter().flatten().flat_map(active));
            }
            Inference::Truncated { states, e_steps } => {
                let blocks = self.truncated_blocks(y, states, e_steps, observer, |_, posterior| posterior.sets)?;
                for sets in blocks {
                    for n in 0..sets.n() {
                        let best = sets.state(n, 0);
                        found.extend((0..h).map(|cause| f64::from(u8::from(best.is_active(cause)))));
                    }
                }
            }
        }
        Array2::from_shape_vec((y.n(), h), found).map_err(|error| Error::shape("best states", h, error))
    }

    /// Calls `see` with the number and the responsibilities of each row, $(H+1) \times D$: how likely each cause, and last
    /// the background, is to own each column. The results come in the order of the rows.
    pub(crate) fn each_row<T: Send>(
        &self,
        y: &dyn Data,
        inference: Inference,
        observer: &mut RowObserver<'_>,
        see: impl Fn(usize, ArrayView2<'_, f64>) -> T + Sync,
    ) -> Result<Vec<T>> {
        if self.superposition().rho().is_some() {
            let requirement = "who owns a column is known with the true maximum only";
            return Err(Error::setting("superposition", self.superposition().name(), requirement));
        }
        let shape = (self.h() + 1, self.d());
        let blocks = match inference {
            Inference::Exact => {
                let exact = Exact::new(self)?;
                let rows = exact.rows();
                self.exact_blocks(y, observer, |first, statistics| {
                    let posteriors = rows.posteriors(statistics)?;
                    let mut owned = Array2::zeros(shape);
                    let one = |(row, q): (usize, ndarray::ArrayView1<'_, f64>)| {
                        cancel::check();
                        if let (Some(q), Some(owned)) = (q.as_slice(), owned.as_slice_mut()) {
                            exact.states().responsibilities(q, shape.1, owned);
                        }
                        see(first + row, owned.view())
                    };
                    Ok(posteriors.outer_iter().enumerate().map(one).collect::<Vec<T>>())
                })?
            }
            Inference::Truncated { states, e_steps } => {
                let tables = Tables::new(self);
                self.truncated_blocks(y, states, e_steps, observer, |first, posterior| {
                    let one = |row: usize| {
                        cancel::check();
                        let mut owned = Array2::zeros(shape);
                        for (state, q) in posterior.sets.states(row).zip(posterior.q.row(row)) {
                            let active: Vec<usize> = state.active().collect();
                            for d in 0..shape.1 {
                                owned[[tables.winners.winner(active.iter().copied(), d), d]] += *q;
                            }
                        }
                        see(first + row, owned.view())
                    };
                    (0..posterior.sets.n()).into_par_iter().map(one).collect::<Vec<T>>()
                })?
            }
        };
        Ok(blocks.into_iter().flatten().collect())
    }

    /// $F(\vec W_{dh})$ for the causes and, last, the background.
    pub(crate) fn means_with_background(&self) -> Array2<f64> {
        Array2::from_shape_fn((self.h() + 1, self.d()), |(h, d)| {
            self.columns.family(d).f(&self.profile(h)[self.columns.span(d)])
        })
    }

    /// $\sum_h r_h M_{dh}$; causes that own nothing have no part in it, whatever their mean is.
    pub(crate) fn mean_of(means: &Array2<f64>, owned: ArrayView2<'_, f64>, d: usize) -> f64 {
        let owners = owned.column(d).into_iter().zip(means.column(d)).filter(|(r, _)| **r > 0.0);
        owners.map(|(r, mean)| r * mean).sum()
    }

    /// How likely each cause, and last the background, is to set column `d` where cause $h$ is active with probability
    /// `active[h]`, independently of the others: $\pi_h$ where nothing is known of a row.
    pub(crate) fn owners_of(&self, tables: &Tables, d: usize, active: &[f64]) -> Array1<f64> {
        let background = tables.winners.background();
        let mut owners = Array1::zeros(self.h() + 1);
        // the probability that no stronger cause is active
        let mut left = 1.0;
        for h in tables.winners.down_to_background(d).iter().map(|h| usize::from(*h)) {
            owners[h] = if h == background { left } else { left * active[h] };
            left -= owners[h];
        }
        owners
    }

    /// The value of column `d` that is most probable given who owns it, for families of finitely many values; the first
    /// of equals.
    pub(crate) fn likeliest(&self, tables: &Tables, owned: ArrayView2<'_, f64>, d: usize) -> Option<f64> {
        let (family, span) = (self.columns.family(d), self.columns.span(d));
        let probability = |y: f64| -> f64 {
            let owners = owned.column(d).into_iter().enumerate().filter(|(_, r)| **r > 0.0);
            let eta = |h: usize| span.clone().map(|k| tables.eta[[h, k]]).collect::<Vec<f64>>();
            owners.map(|(h, r)| r * family.log_density(y, &eta(h)).exp()).sum()
        };
        let mut best: Option<(f64, f64)> = None;
        for y in values(&**family)? {
            let found = probability(y);
            if best.is_none_or(|(_, most)| found > most) {
                best = Some((y, found));
            }
        }
        best.map(|(y, _)| y)
    }

    /// The means of all columns where cause $h$ is active with probability `active[[n, h]]`, independently of the others:
    /// the strongest active cause of a column gives its mean, and the background where none is active that is stronger.
    /// For states of zeros and ones these are the means that the causes set.
    ///
    /// ```
    /// use efmca::{Background, Model};
    /// use ndarray::array;
    ///
    /// let w = vec![array![[9.0, 9.0, 1.0], [1.0, 6.0, 6.0]]];
    /// let model = Model::new("poisson", array![0.3, 0.3], w, Background::fixed(&[0.5]))?;
    /// let means = model.means_of(array![[1.0, 1.0], [0.0, 0.0], [0.5, 0.0]].view())?;
    /// assert_eq!(means, array![[9.0, 9.0, 6.0], [0.5, 0.5, 0.5], [4.75, 4.75, 0.75]]);
    /// # Ok::<(), efmca::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] if there is not a column for each cause, [`Error::OutsideSupport`] for the first number that is no
    /// probability.
    pub fn means_of(&self, active: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        if active.ncols() != self.h() {
            return Err(Error::shape("columns of the probabilities, one for each cause", self.h(), active.ncols()));
        }
        // sums of probabilities can exceed one by their rounding
        let range = -ROUNDING..=1.0 + ROUNDING;
        if let Some(((row, column), value)) = active.indexed_iter().find(|(_, value)| !range.contains(*value)) {
            let (family, support) = ("probabilities of causes".to_owned(), "numbers from 0 to 1".to_owned());
            return Err(Error::OutsideSupport { row, column, value: *value, family, support });
        }
        let (tables, means) = (Tables::new(self), self.means_with_background());
        let mut found = Array2::zeros((active.nrows(), self.d()));
        for (active, mut found) in active.outer_iter().zip(found.outer_iter_mut()) {
            cancel::check();
            let active: Vec<f64> = active.iter().map(|active| active.clamp(0.0, 1.0)).collect();
            for (d, found) in found.iter_mut().enumerate() {
                let owners = self.owners_of(&tables, d, &active);
                // the strongest first
                for h in tables.winners.down_to_background(d).iter().map(|h| usize::from(*h)) {
                    if owners[h] > 0.0 {
                        *found += owners[h] * means[[h, d]];
                    }
                }
            }
        }
        Ok(found)
    }
}

/// All values of a family that has finitely many.
fn values(family: &dyn Family) -> Option<impl Iterator<Item = f64>> {
    let support = family.support();
    let finite = support.measure == Measure::Counting && support.low.is_finite() && support.high.is_finite();
    finite.then(|| (support.low as i64..=support.high as i64).map(|y| y as f64))
}
