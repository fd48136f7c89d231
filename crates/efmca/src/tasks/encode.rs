//! Applying a model to rows: which causes are active in each, and how likely it is.

use crate::em::{Observer, Progress, unobserved};
use crate::error::Result;
use crate::model::{Data, Inference, Model};
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
        self.check()?;
        let total = y.n();
        self.model.encoding(y, self.inference, &mut |done| observer(&Progress::of_stage("rows", done, total)))
    }
}
