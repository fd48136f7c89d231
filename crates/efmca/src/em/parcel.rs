//! A training that one rank does by itself: what it takes, and how it travels to the others.

use ndarray::{Array1, Array2};

use super::Em;
use super::fit::{Fit, Iteration, StopReason};
use super::progress::{Observer, Progress};
use crate::error::{Error, Result};
use crate::model::{Columns, Data, Model, Superposition};
use crate::posterior::{Exact, Sets};
use crate::ranks::{self, Decoder, Encode, Job};

/// So many states evaluated exactly take as long as an iteration with truncated posteriors...
const LIKE_STATES: f64 = 400.0;
/// ...with few causes, and so many more for each cause. `efmca select` of 4,000 rows told these numbers.
const LIKE_STATES_OF_CAUSE: f64 = 2.0;
/// Entries above which no rank should hold a data set that it could share: 256 MB.
const LARGE: usize = 1 << 25;

impl Em {
    /// What this training takes.
    pub(crate) fn job(&self, y: &dyn Data) -> Job {
        let (n, entries) = (y.n(), y.n().saturating_mul(y.d()));
        let (states, parts) = match self.posterior_settings() {
            Some(_) => (LIKE_STATES + LIKE_STATES_OF_CAUSE * self.h as f64, self.shards_of(n).count()),
            None => ((self.h as f64).exp2(), Exact::parts(n)),
        };
        let short = if self.starts > 1 { self.starts as f64 * self.short_iterations as f64 } else { 0.0 };
        let steps = short + self.iterations as f64 + 1.0;
        Job { steps, work: entries as f64 * states, parts, large: entries > LARGE }
    }

    /// Trains as [`Em::run_observed`] does. If several ranks would be slower at it than one, one does it and gives all others what came
    /// out.
    ///
    /// # Errors
    ///
    /// As [`Em::run_observed`].
    pub(crate) fn run_by_one_or_all(&self, y: &dyn Data, observer: &mut Observer<'_>) -> Result<Fit> {
        let ranks = ranks::current();
        let owners = ranks.plan(&[self.job(y)]);
        if owners == [None] {
            return self.run_observed(y, observer);
        }
        let found = ranks.apart(&owners, |_| Ok(Some(self.run_observed(y, observer)?.parcel())))?;
        // if the one was asked to stop, all find that out here
        let _ = observer(&Progress::of_stage("training", 0, 0));
        let parcel = found.into_iter().flatten().next();
        let parcel = parcel.ok_or_else(|| Error::Stopped { what: "the model was trained".into() })?;
        parcel.open(self.columns(y.d())?)
    }
}

/// A training that has ended, without the families of its columns: all ranks know these.
#[derive(Debug)]
pub(crate) struct Parcel {
    pi: Vec<f64>,
    w: Vec<f64>,
    background: Vec<f64>,
    background_learned: bool,
    superposition: String,
    states: Option<usize>,
    bound: f64,
    weight: f64,
    stop: StopReason,
    history: Vec<Iteration>,
    /// $H$, $S$ and the states.
    sets: Option<(usize, usize, Vec<u64>)>,
}

impl Fit {
    /// The training on its way to other ranks.
    pub(crate) fn parcel(&self) -> Parcel {
        let model = &self.model;
        Parcel {
            pi: model.pi.to_vec(),
            w: model.w.iter().copied().collect(),
            background: model.background_w.to_vec(),
            background_learned: model.background_learned,
            superposition: model.superposition.name(),
            states: model.states,
            bound: self.bound,
            weight: self.weight,
            stop: self.stop,
            history: self.history.clone(),
            sets: self.sets.as_ref().map(|sets| (sets.h(), sets.s(), sets.bits().to_vec())),
        }
    }
}

impl Parcel {
    /// The same without sets of states, where only the model is of interest.
    pub(crate) fn without_sets(self) -> Parcel {
        Parcel { sets: None, ..self }
    }

    /// The training, with the columns that its settings have.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] if it is a training with other columns.
    pub(crate) fn open(self, columns: Columns) -> Result<Fit> {
        let (h, k) = (self.pi.len(), columns.k());
        let numbers = self.w.len();
        let other = || Error::shape("numbers of another rank's model", h * k, numbers);
        if self.background.len() != k {
            return Err(other());
        }
        let model = Model {
            columns,
            pi: Array1::from(self.pi),
            w: Array2::from_shape_vec((h, k), self.w).map_err(|_| other())?,
            background_w: Array1::from(self.background),
            background_learned: self.background_learned,
            superposition: Superposition::from_name(&self.superposition).ok_or_else(other)?,
            states: self.states,
        };
        let sets = self.sets.map(|(h, s, bits)| Sets::from_bits(h, s, bits)).transpose()?;
        Ok(Fit { model, bound: self.bound, history: self.history, stop: self.stop, weight: self.weight, sets, q: None })
    }
}

impl Encode for Parcel {
    fn encode(&self, out: &mut Vec<u8>) {
        self.pi.encode(out);
        self.w.encode(out);
        self.background.encode(out);
        self.background_learned.encode(out);
        self.superposition.encode(out);
        self.states.encode(out);
        (self.bound, self.weight, self.stop).encode(out);
        self.history.encode(out);
        self.sets.encode(out);
    }

    fn decode(from: &mut Decoder<'_>) -> Option<Parcel> {
        let (pi, w, background) = (Encode::decode(from)?, Encode::decode(from)?, Encode::decode(from)?);
        let (background_learned, superposition, states) =
            (Encode::decode(from)?, Encode::decode(from)?, Encode::decode(from)?);
        let (bound, weight, stop) = Encode::decode(from)?;
        let (history, sets) = (Encode::decode(from)?, Encode::decode(from)?);
        Some(Parcel {
            pi,
            w,
            background,
            background_learned,
            superposition,
            states,
            bound,
            weight,
            stop,
            history,
            sets,
        })
    }
}

impl Encode for StopReason {
    fn encode(&self, out: &mut Vec<u8>) {
        (*self as u64).encode(out);
    }

    fn decode(from: &mut Decoder<'_>) -> Option<StopReason> {
        let number = u64::decode(from)?;
        let all = [StopReason::Iterations, StopReason::Converged, StopReason::Interrupted];
        all.into_iter().find(|stop| *stop as u64 == number)
    }
}

impl Encode for Iteration {
    fn encode(&self, out: &mut Vec<u8>) {
        (self.bound, self.temperature, self.rho).encode(out);
        (self.revived, self.removed, self.effort).encode(out);
    }

    fn decode(from: &mut Decoder<'_>) -> Option<Iteration> {
        let (bound, temperature, rho) = Encode::decode(from)?;
        let (revived, removed, effort) = Encode::decode(from)?;
        Some(Iteration { bound, temperature, rho, revived, removed, effort })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::posterior::{Precision, Truncation};
    use crate::ranks::encoded;

    #[test]
    fn a_training_arrives_as_it_was_sent() -> Result<()> {
        let y = crate::bars::model("gaussian", 3, &[4.0, 17.0], &[0.0, 1.0], 0.2)?.sample(90, 1).y;
        let exact = Em::new(4).family("gaussian").iterations(4);
        let truncated = exact.clone().truncated(Truncation::new(6).precision(Precision::Single));
        for em in [exact, truncated] {
            let fit = em.run(&y)?;
            let bytes = encoded(&fit.parcel());
            let arrived = Parcel::decode(&mut Decoder(&bytes)).map(|parcel| parcel.open(em.columns(y.ncols())?));
            let arrived = arrived.unwrap_or_else(|| unreachable!("it was encoded"))?;
            assert_eq!(arrived.model.to_tensors(), fit.model.to_tensors());
            assert_eq!(arrived.model.to_metadata(), fit.model.to_metadata());
            assert_eq!(
                (arrived.history, arrived.stop, arrived.sets),
                (fit.history.clone(), fit.stop, fit.sets.clone())
            );
            assert_eq!((arrived.bound.to_bits(), arrived.weight), (fit.bound.to_bits(), fit.weight));
            assert!(fit.parcel().open(em.columns(4)?).is_err());
        }
        Ok(())
    }
}
