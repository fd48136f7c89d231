//! Applying a model to rows: which causes are active in each, and how likely it is.

use std::ops::ControlFlow;

use ndarray::Array2;

use crate::em::{Observer, Progress, check_memory, unobserved};
use crate::error::{Error, Result};
use crate::model::{Data, Inference, Model, Tables};
use crate::posterior::Encoding;

/// Explains rows by a model.
///
/// ```
/// use efmca::model::Inference;
/// use efmca::{bars, tasks::encode::Encoder};
///
/// let model = bars::model("poisson", 3, &[20.0], &[1.0], 0.2)?;
/// let drawn = model.sample(50, 1);
/// let encoding = Encoder::new(&model).run(&drawn.y)?;
/// assert!(encoding.is_exact && encoding.active.dim() == (50, 6));
/// // bars of twenty photons are found in nearly every picture
/// let wrong = (&encoding.active - &drawn.s).iter().filter(|difference| difference.abs() > 0.5).count();
/// assert!(wrong < 5, "{wrong}");
/// // the same with a few states for each row: a lower bound
/// let some = Encoder::new(&model).inference(Inference::truncated(8)).run(&drawn.y)?;
/// assert!(some.log_likelihoods.sum() <= encoding.log_likelihoods.sum() && !some.is_exact);
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Encoder<'a> {
    model: &'a Model,
    inference: Inference,
}

impl<'a> Encoder<'a> {
    /// Explains rows by `model`, in its own way of inference ([`Model::inference`]).
    #[must_use]
    pub fn new(model: &'a Model) -> Encoder<'a> {
        Encoder { model, inference: model.inference() }
    }

    /// Another way of inference than the model's own.
    #[must_use]
    pub fn inference(mut self, inference: Inference) -> Encoder<'a> {
        self.inference = inference;
        self
    }

    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// [`TooManyCauses`](crate::Error::TooManyCauses) if exact inference was asked for and there are too many causes for it, [`Setting`](crate::Error::Setting) if
    /// there are no states or no E-steps.
    pub fn check(&self) -> Result<()> {
        self.inference.check(self.model.h())
    }

    /// Explains the rows of `y`.
    ///
    /// # Errors
    ///
    /// What [`Encoder::check`] finds; values that the families cannot have, and rows that the model cannot have produced.
    pub fn run(&self, y: &dyn Data) -> Result<Encoding> {
        self.run_observed(y, &mut unobserved)
    }

    /// Explains the rows of `y` and asks `observer` after every few of them.
    ///
    /// # Errors
    ///
    /// As [`Encoder::run`], and [`Stopped`](crate::Error::Stopped) if the observer ended the work.
    pub fn run_observed(&self, y: &dyn Data, observer: &mut Observer<'_>) -> Result<Encoding> {
        self.check_with(y)?;
        let total = y.n();
        self.model.encoding(y, self.inference, &mut |done| observer(&Progress::of_stage("rows", done, total)))
    }

    /// The best state of each row, $N \times H$: one where a cause is active. With exact inference it is the most probable
    /// one of all, otherwise the best that was found.
    ///
    /// # Errors
    ///
    /// As [`Encoder::run_observed`].
    pub fn states(&self, y: &dyn Data, observer: &mut Observer<'_>) -> Result<Array2<f64>> {
        self.check_with(y)?;
        self.model.best_states(y, self.inference, &mut rows_of(y, observer))
    }

    /// The mean of each entry given its row, $N \times D$: $\mathbb E_{q^{(n)}}\lbrack M_{d,h(d,\vec s)}\rbrack$, what the
    /// causes that are behind the row say about it, without the noise. Missing entries have one as well.
    ///
    /// # Errors
    ///
    /// As [`Encoder::run_observed`], and [`Error::Setting`] for models with a smooth maximum.
    pub fn means(&self, y: &dyn Data, observer: &mut Observer<'_>) -> Result<Array2<f64>> {
        self.check_with(y)?;
        let (model, means) = (self.model, self.model.means_with_background());
        let rows = model.each_row(y, self.inference, &mut rows_of(y, observer), |_, owned| {
            (0..model.d()).map(|d| Model::mean_of(&means, owned, d)).collect::<Vec<f64>>()
        })?;
        together(rows, model.d())
    }

    /// The rows with their missing entries filled in: with the mean of the entry given its row, and in columns whose values
    /// are names with the most probable one. These are columns of the family `categorical`, and those in `labels`.
    ///
    /// # Errors
    ///
    /// As [`Encoder::means`], and [`Error::Column`] for a column of `labels` that does not exist or has infinitely many
    /// values.
    pub fn filled(&self, y: &dyn Data, labels: &[usize], observer: &mut Observer<'_>) -> Result<Array2<f64>> {
        self.check_with(y)?;
        let (model, means, tables) = (self.model, self.model.means_with_background(), Tables::new(self.model));
        for d in labels {
            let problem = match model.columns().specs().get(*d) {
                None => format!("the model has {} columns only", model.d()),
                Some(_) if model.columns().family(*d).support().high.is_finite() => continue,
                Some(spec) => format!("`{spec}` has infinitely many values, so that they are no labels"),
            };
            return Err(Error::Column { column: *d, problem });
        }
        let is_name = |d: usize| labels.contains(&d) || model.columns().family(d).spec().starts_with("categorical");
        let names: Vec<bool> = (0..model.d()).map(is_name).collect();
        let rows = model.each_row(y, self.inference, &mut rows_of(y, observer), |n, owned| {
            let mut row = vec![0.0; model.d()];
            y.read_row(n, &mut row);
            for (d, value) in row.iter_mut().enumerate().filter(|(_, value)| value.is_nan()) {
                let name = names[d].then(|| model.likeliest(&tables, owned, d)).flatten();
                *value = name.unwrap_or_else(|| Model::mean_of(&means, owned, d));
            }
            row
        })?;
        together(rows, model.d())
    }

    /// Checks the settings, and whether there is memory for what is asked.
    fn check_with(&self, y: &dyn Data) -> Result<()> {
        self.check()?;
        check_memory(self.model.memory(y, self.inference))
    }
}

/// Tells `observer` about rows.
fn rows_of<'a, 'b>(y: &dyn Data, observer: &'a mut Observer<'b>) -> impl FnMut(usize) -> ControlFlow<()> + use<'a, 'b> {
    let total = y.n();
    move |done| observer(&Progress::of_stage("rows", done, total))
}

/// Rows one below the other.
fn together(rows: Vec<Vec<f64>>, d: usize) -> Result<Array2<f64>> {
    let shape = (rows.len(), d);
    Array2::from_shape_vec(shape, rows.concat()).map_err(|error| Error::shape("entries of the rows", d, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Background, Columns};
    use ndarray::array;

    /// Two causes over counts, an answer and one of three names.
    fn model() -> Result<Model> {
        let families = ["poisson", "poisson", "bernoulli", "categorical:k=3,order=nominal"];
        let columns = Columns::new(families.iter().map(|spec| crate::family::family(spec)).collect::<Result<_>>()?)?;
        let w = array![[20.0, 9.0, 0.9, 0.1, 0.1], [2.0, 30.0, 0.2, 0.8, 0.1]];
        Model::from_parts(columns, array![0.4, 0.3], w, Background::fixed(&[1.0, 1.0, 0.1, 0.1, 0.8]))
    }

    #[test]
    fn both_ways_of_inference_fill_in_the_same() -> Result<()> {
        let model = model()?;
        let nan = f64::NAN;
        let y = array![[21.0, nan, nan, nan], [nan, 33.0, 0.0, nan], [1.0, 0.0, nan, nan], [nan, nan, 1.0, 2.0]];
        let exact = Encoder::new(&model).inference(Inference::Exact);
        let all_states = Encoder::new(&model).inference(Inference::truncated(4));
        let filled = exact.filled(&y, &[2], &mut unobserved)?;
        let also = all_states.filled(&y, &[2], &mut unobserved)?;
        assert!((&filled - &also).iter().all(|difference| difference.abs() < 1e-9), "{filled}\n{also}");
        // what is there stays, and names are names
        assert_eq!((filled[[0, 0]], filled[[1, 1]], filled[[1, 2]]), (21.0, 33.0, 0.0));
        assert_eq!((filled[[0, 2]], filled[[0, 3]], filled[[2, 3]]), (1.0, 2.0, 1.0));
        assert!((filled[[1, 0]] - 2.0).abs() < 8.0 && filled[[0, 1]] >= 9.0);
        let means = exact.means(&y, &mut unobserved)?;
        assert!((means[[0, 1]] - filled[[0, 1]]).abs() < 1e-12 && (means[[0, 0]] - 20.0).abs() < 0.1, "{means}");
        let states = exact.states(&y, &mut unobserved)?;
        assert_eq!(states.row(2).to_vec(), [0.0, 0.0]);
        assert_eq!((states[[0, 0]], states[[1, 1]]), (1.0, 1.0));
        assert_eq!(all_states.states(&y, &mut unobserved)?, states);
        for wrong in [4, 0] {
            assert!(
                matches!(exact.filled(&y, &[wrong], &mut unobserved), Err(Error::Column { column, .. }) if column == wrong)
            );
        }
        Ok(())
    }

    #[test]
    fn means_of_certain_states_are_those_of_the_posterior() -> Result<()> {
        let model = model()?;
        let drawn = model.sample(40, 1);
        let encoder = Encoder::new(&model);
        // counts this far apart leave no doubt, up to some 1e-4
        let encoding = encoder.run(&drawn.y)?.active;
        let (by_states, by_rows) = (model.means_of(encoding.view())?, encoder.means(&drawn.y, &mut unobserved)?);
        assert!((&by_states - &by_rows).iter().all(|difference| difference.abs() < 0.5), "{by_states}\n{by_rows}");
        assert!(model.means_of(array![[0.5]].view()).is_err());
        assert!(matches!(
            model.means_of(array![[0.5, 0.5], [0.1, 1.5]].view()),
            Err(Error::OutsideSupport { row: 1, column: 1, .. })
        ));
        Ok(())
    }

    #[test]
    fn an_observer_ends_all_of_it() -> Result<()> {
        let (model, y) = (model()?, model()?.sample(10, 1).y);
        let encoder = Encoder::new(&model);
        let mut stop = |_: &Progress<'_>| ControlFlow::Break(());
        assert!(matches!(encoder.states(&y, &mut stop), Err(Error::Stopped { .. })));
        assert!(matches!(encoder.means(&y, &mut stop), Err(Error::Stopped { .. })));
        assert!(matches!(encoder.filled(&y, &[], &mut stop), Err(Error::Stopped { .. })));
        Ok(())
    }
}
