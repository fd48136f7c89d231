//! Stopping a run and going on with it later, as if nothing had happened.

use rayon::prelude::*;

use super::progress::Observer;
use super::run::{Fit, Iteration, Run};
use super::{Em, Init};
use crate::error::{Error, Result};
use crate::hash;
use crate::model::{Background, Data, Model};
use crate::posterior::{Moments, Sets};

/// All that a run needs to go on, as it is after an iteration: what [`Checkpoint`] is a copy of.
///
/// Random numbers are drawn for each row from the seed and the number of E-steps, so that number is all the state they
/// have.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot<'a> {
    /// The model.
    pub model: &'a Model,
    /// What each iteration found.
    pub history: &'a [Iteration],
    /// The sets $\mathcal K^{(n)}$, if posteriors are truncated.
    pub sets: Option<&'a Sets>,
    /// The moments of parts of the rows, where the parameters are updated after each part ([`Em::batches`]).
    pub parts: &'a [Moments],
    /// E-steps that were done with the sets.
    pub e_steps: u64,
}

/// A run that was left and can be gone on with; see [`Em::resume`].
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// The model.
    pub model: Model,
    /// What each iteration found.
    pub history: Vec<Iteration>,
    /// The sets $\mathcal K^{(n)}$, if posteriors are truncated.
    pub sets: Option<Sets>,
    /// The moments of parts of the rows ([`Em::batches`]).
    pub parts: Vec<Moments>,
    /// E-steps that were done with the sets.
    pub e_steps: u64,
    /// The settings of the run, as [`Em::described`] gave them.
    pub settings: Vec<(String, String)>,
    /// The data of the run.
    pub data: Fingerprint,
}

impl Snapshot<'_> {
    /// A copy that stays.
    pub fn to_checkpoint(&self, settings: Vec<(String, String)>, data: Fingerprint) -> Checkpoint {
        Checkpoint {
            model: self.model.clone(),
            history: self.history.to_vec(),
            sets: self.sets.cloned(),
            parts: self.parts.to_vec(),
            e_steps: self.e_steps,
            settings,
            data,
        }
    }
}

/// What tells one data set from another: its size, and a hash of all its values and weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    /// $N$.
    pub n: usize,
    /// $D$.
    pub d: usize,
    /// A hash of all values. It tells data apart that differ by mistake, not on purpose.
    pub hash: u64,
}

impl Fingerprint {
    /// The fingerprint of `data`. Any two values that are missing are the same.
    pub fn of(data: &dyn Data) -> Fingerprint {
        let row = |n: usize| {
            let mut y = vec![0.0; data.d()];
            data.read_row(n, &mut y);
            hash::of_values(n as u64, &y)
        };
        let rows: Vec<u64> = (0..data.n()).into_par_iter().map(row).collect();
        let values = hash::of_words(0, rows);
        let hash = data.weights().map_or(values, |weights| hash::of_values(!values, &weights.to_vec()));
        Fingerprint { n: data.n(), d: data.d(), hash }
    }
}

impl Em {
    /// All settings that what comes out depends on, by name.
    pub fn described(&self) -> Vec<(String, String)> {
        let families: Vec<String> = self.families.iter().map(|family| family.spec()).collect();
        let init = match &self.init {
            Init::Model(_) => "a model".to_owned(),
            Init::Posteriors(_) => "the posteriors of a model".to_owned(),
            other => format!("{other:?}"),
        };
        let background = match &self.background {
            Background::Fixed(profile) if profile.len() > 4 => format!("{:016x}", hash::of_values(0, profile)),
            other => format!("{other:?}"),
        };
        let truncation = self.posterior_settings();
        let posterior = truncation.as_ref().map_or("exact".to_owned(), |truncation| {
            format!(
                "{} states, {} generations of {:?}, {:?} precision",
                truncation.states, truncation.generations, truncation.proposals, truncation.precision
            )
        });
        let settings = [
            ("causes", self.h.to_string()),
            ("spare causes", self.spare.to_string()),
            ("family", families.join(" ")),
            ("background", background),
            ("superposition", self.superposition.name()),
            ("iterations", self.iterations.to_string()),
            ("tolerance", format!("{:e}", self.tolerance)),
            ("seed", self.seed.to_string()),
            ("start", init),
            ("first pi", format!("{:?}", self.pi_init)),
            ("starts", format!("{} of {} iterations", self.starts, self.short_iterations)),
            ("warm start", self.warm_start.to_string()),
            ("temperature", format!("{:?}", self.temperature)),
            ("rho", format!("{:?}", self.rho)),
            ("M-step iterations", self.repeats.to_string()),
            ("guard", self.guarded().to_string()),
            ("pseudo-count", self.pseudo_count.to_string()),
            ("smallest pi", format!("{:e}", self.smallest_pi)),
            ("revive", self.revive.to_string()),
            ("holds", format!("{:?}", self.holds)),
            ("posterior", posterior),
            ("batches", self.batches.to_string()),
        ];
        settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Goes on with a run that was left: the result is the one that the run would have had, bit for bit.
    ///
    /// The data and the settings must be those of the run; an error says which is not.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use efmca::{Em, Fingerprint, bars, family::family};
    ///
    /// let y = bars::model(family("poisson")?, 3, &[20.0], &[1.0], 0.2)?.sample(100, 1).y;
    /// let em = Em::new(6).family("poisson").iterations(8).tolerance(0.0);
    /// let whole = em.run(&y)?;
    ///
    /// let mut left = None;
    /// em.run_observed(&y, &mut |progress| {
    ///     let training = progress.training.expect("there is one start only");
    ///     left = Some(training.state.to_checkpoint(em.described(), Fingerprint::of(&y)));
    ///     if training.iteration == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    /// })?;
    /// let resumed = em.resume(&y, left.expect("one for each iteration"), &mut |_| ControlFlow::Continue(()))?;
    /// assert_eq!(resumed.model.w(0), whole.model.w(0));
    /// # Ok::<(), efmca::Error>(())
    /// ```
    pub fn resume(&self, y: &dyn Data, checkpoint: Checkpoint, observer: &mut Observer<'_>) -> Result<Fit> {
        self.check_resumable(&checkpoint, Fingerprint::of(y))?;
        let training = self.prepare(y)?;
        let average = training.column_means();
        let fits = checkpoint.model.columns().iter().map(|(_, family, _)| family.spec());
        if !fits.eq(training.columns().iter().map(|(_, family, _)| family.spec())) {
            return Err(refused("its model has other families or another number of columns"));
        }
        let run = Run::left(self, &training, &average, checkpoint)?;
        self.finished(run, &training, self.iterations, observer)
    }

    /// Whether a run can be gone on with.
    fn check_resumable(&self, checkpoint: &Checkpoint, data: Fingerprint) -> Result<()> {
        let before = checkpoint.data;
        if (before.n, before.d) != (data.n, data.d) {
            return Err(refused(format!(
                "its data has {} rows of {} values, and this one {} of {}",
                before.n, before.d, data.n, data.d
            )));
        }
        if before.hash != data.hash {
            return Err(refused("its data has other values than this one"));
        }
        let now = self.described();
        for (name, value) in &now {
            let then = checkpoint.settings.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
            if then != Some(value) {
                return Err(refused(format!("its `{name}` is {}, and now it is {value}", then.unwrap_or("not known"))));
            }
        }
        if checkpoint.history.len() > self.iterations {
            return Err(refused(format!("it has {} iterations already", checkpoint.history.len())));
        }
        Ok(())
    }
}

pub(super) fn refused(reason: impl Into<String>) -> Error {
    Error::Resume { reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Weighted;
    use ndarray::array;

    #[test]
    fn every_value_and_its_place_count() {
        let y = array![[1.0, 2.0], [3.0, f64::NAN]];
        let print = Fingerprint::of(&y);
        assert_eq!(print, Fingerprint::of(&y.clone()));
        let others = [
            array![[2.0, 1.0], [3.0, f64::NAN]],
            array![[3.0, f64::NAN], [1.0, 2.0]],
            array![[1.0, 2.0], [3.0, 0.0]],
            array![[1.0, 2.0 + 1e-15], [3.0, f64::NAN]],
        ];
        for other in &others {
            assert_ne!(print.hash, Fingerprint::of(other).hash, "{other}");
        }
        assert_ne!(print.hash, Fingerprint::of(&Weighted::new(&y, array![1.0, 2.0]).unwrap()).hash);
    }
}
