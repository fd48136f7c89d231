//! Leaving a run and resuming it later, as if nothing had happened.

use rayon::prelude::*;
use serde_json::{Map, Value};

use super::Em;
use super::fit::{Fit, Iteration};
use super::keep::Keeper;
use super::progress::Observer;
use super::run::Run;
use crate::error::{Error, Result};
use crate::hash;
use crate::model::{Data, Model};
use crate::posterior::{Moments, Sets};
use crate::ranks::{self, Ranks, Shards};

/// All that a run needs to be resumed, as it is after an iteration; a [`Checkpoint`] is a copy of it.
///
/// Random numbers are drawn for each row from the seed and the number of E-steps, so that number is all the state they
/// have.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot<'a> {
    /// The model.
    pub model: &'a Model,
    /// One entry for each iteration.
    pub history: &'a [Iteration],
    /// The sets $\mathcal K^{(n)}$, if posteriors are truncated; those of this rank where several share the rows.
    pub sets: Option<&'a Sets>,
    /// The moments of parts of the rows, where the parameters are updated after each part ([`Em::batches`]).
    pub parts: &'a [Moments],
    /// E-steps that were done with the sets.
    pub e_steps: u64,
}

/// A run that was left and can be resumed; see [`Em::resume`].
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// The model.
    pub model: Model,
    /// One entry for each iteration.
    pub history: Vec<Iteration>,
    /// The sets $\mathcal K^{(n)}$, if posteriors are truncated.
    pub sets: Option<Sets>,
    /// The moments of parts of the rows ([`Em::batches`]).
    pub parts: Vec<Moments>,
    /// E-steps that were done with the sets.
    pub e_steps: u64,
    /// The settings of the run, as [`Em::settings`] gave them.
    pub settings: Settings,
    /// The data of the run.
    pub data: Fingerprint,
}

impl Snapshot<'_> {
    /// Calls `see` with the run of all ranks: a checkpoint of it can be resumed by any number of them. Only rank 0 has all sets, and
    /// calls it; all ranks must be here at a time.
    ///
    /// # Errors
    ///
    /// [`Error::Rank`] if another rank cannot be heard.
    pub fn gathered<T>(&self, see: impl FnOnce(&Snapshot<'_>) -> T) -> Result<Option<T>> {
        let ranks = ranks::current();
        if ranks.is_alone() {
            return Ok(Some(see(self)));
        }
        let sets = self.sets.map(|sets| sets.gathered(&ranks)).transpose()?.flatten();
        let whole = Snapshot { sets: sets.as_ref(), ..*self };
        Ok((ranks.rank() == 0).then(|| see(&whole)))
    }

    /// A copy that stays.
    #[must_use]
    pub fn to_checkpoint(&self, settings: Settings, data: Fingerprint) -> Checkpoint {
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

/// A fingerprint tells one data set from another: its size, and a hash of all its values and weights.
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
        Fingerprint::of_hashes(data, hashes(data, 0..data.n()))
    }

    /// The same on all ranks ([`ranks::over`]), which find out whether their data are the same. Of large data each rank reads its own
    /// rows and those of the next rank. All ranks must be here at a time.
    ///
    /// # Errors
    ///
    /// [`Error::Rank`] with a rank that has other data.
    pub fn over_ranks(data: &dyn Data) -> Result<Fingerprint> {
        let ranks = ranks::current();
        if ranks.is_alone() {
            return Ok(Fingerprint::of(data));
        }
        ranks.agree(Ok(()), hash::of_words(data.n() as u64, [data.d() as u64]))?;
        if data.n().saturating_mul(data.d()) > READ_BY_ALL {
            return Fingerprint::in_a_ring(data, &ranks);
        }
        let found = Fingerprint::of(data);
        let all = ranks.gather_all(found.hash)?;
        match all.iter().position(|hash| *hash != all[0]) {
            Some(rank) => Err(other_data(rank, 0)),
            None => Ok(found),
        }
    }

    /// The fingerprint of rows of which each rank reads its own and those of the next.
    fn in_a_ring(data: &dyn Data, ranks: &Ranks) -> Result<Fingerprint> {
        let (shards, count) = (Shards::new(data.n(), ranks.count()), ranks.count());
        let rows = |rank: usize| shards.rows_of(&(rank.min(shards.count())..(rank + 1).min(shards.count())));
        let own = hashes(data, rows(ranks.rank()));
        let next = hashes(data, rows((ranks.rank() + 1) % count));
        let marks = ranks.gather_all((hash::of_words(0, own.iter().copied()), hash::of_words(0, next)))?;
        if let Some(rank) = (0..count).find(|rank| marks[*rank].1 != marks[(rank + 1) % count].0) {
            return Err(other_data(rank, (rank + 1) % count));
        }
        Ok(Fingerprint::of_hashes(data, ranks.gather_all(own)?.concat()))
    }

    fn of_hashes(data: &dyn Data, rows: Vec<u64>) -> Fingerprint {
        let values = hash::of_words(0, rows);
        let hash = data.weights().map_or(values, |weights| hash::of_values(!values, &weights.to_vec()));
        Fingerprint { n: data.n(), d: data.d(), hash }
    }
}

/// Values that every rank reads to compare them; of more each reads a part.
const READ_BY_ALL: usize = 1 << 24;

fn other_data(rank: usize, other: usize) -> Error {
    let problem = format!("its data are not those of rank {other}; all ranks need the same files");
    Error::Rank { rank, problem }
}

/// A hash of each of some rows.
fn hashes(data: &dyn Data, rows: std::ops::Range<usize>) -> Vec<u64> {
    let row = |n: usize| {
        let mut y = vec![0.0; data.d()];
        data.read_row(n, &mut y);
        hash::of_values(n as u64, &y)
    };
    rows.into_par_iter().map(row).collect()
}

/// The settings of a run, by the names that they have in checkpoints.
pub type Settings = Map<String, Value>;

impl Em {
    /// All settings that the result depends on, by name. Where nothing was set, the value that is used.
    pub fn settings(&self) -> Settings {
        let resolved = Em { guard: Some(self.guarded()), truncation: self.posterior_settings(), ..self.clone() };
        match serde_json::to_value(&resolved) {
            Ok(Value::Object(settings)) => settings,
            // every setting can be written
            _ => Settings::new(),
        }
    }

    /// The same for people: names and values as text.
    pub fn described(&self) -> Vec<(String, String)> {
        self.settings().into_iter().map(|(name, value)| (name, in_words(&value))).collect()
    }

    /// Resumes a run that was left: the result is the one that the run would have had, bit for bit.
    ///
    /// The data and the settings must be those of the run; an error says which is not. Only [`Em::further`] may be another: a
    /// run that has ended can be prolonged.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use efmca::{Em, Fingerprint, bars};
    ///
    /// let y = bars::model("poisson", 3, &[20.0], &[1.0], 0.2)?.sample(100, 1).y;
    /// let em = Em::new(6).family("poisson").iterations(8).tolerance(0.0);
    /// let whole = em.run(&y)?;
    ///
    /// let mut left = None;
    /// em.run_observed(&y, &mut |progress| {
    ///     let training = progress.training.expect("there is one start only");
    ///     left = Some(training.state.to_checkpoint(em.settings(), Fingerprint::of(&y)));
    ///     if training.iteration == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    /// })?;
    /// let resumed = em.resume(&y, left.expect("one for each iteration"), &mut |_| ControlFlow::Continue(()))?;
    /// assert_eq!(resumed.model.w(0), whole.model.w(0));
    /// # Ok::<(), efmca::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Resume`] that says which of the data or the settings is not that of the checkpoint, and what [`Em::run`] finds.
    pub fn resume(&self, y: &dyn Data, checkpoint: Checkpoint, observer: &mut Observer<'_>) -> Result<Fit> {
        self.resume_kept(y, checkpoint, None, observer)
    }

    pub(super) fn resume_kept(
        &self,
        y: &dyn Data,
        checkpoint: Checkpoint,
        keeper: Option<&Keeper>,
        observer: &mut Observer<'_>,
    ) -> Result<Fit> {
        self.check_resumable(&checkpoint, Fingerprint::over_ranks(y)?)?;
        let training = self.prepare(y)?;
        let average = training.column_means();
        if !checkpoint.model.columns().same_families(training.columns()) {
            return Err(refused("its model has other families or another number of columns"));
        }
        let run = Run::resumed(self, &training, &average, checkpoint)?;
        self.finished(run, &training, self.all_iterations(), keeper, observer)
    }

    /// Whether the run of a checkpoint can be resumed.
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
        // a setting that did not exist when the checkpoint was written had its default
        let (settings, defaults) = (self.clone().further(0).settings(), Em::new(self.h).settings());
        // numbers come first: lists such as `holds` can follow from them, and say less to people
        let (lists, numbers): (Vec<_>, Vec<_>) =
            settings.iter().partition(|(_, value)| value.is_array() || value.is_object());
        for (name, value) in numbers.into_iter().chain(lists) {
            let then = checkpoint.settings.get(name).or(defaults.get(name)).unwrap_or(&Value::Null);
            if then != value {
                return Err(refused(format!("its `{name}` is {}, and now it is {}", in_words(then), in_words(value))));
            }
        }
        if checkpoint.history.len() > self.all_iterations() {
            return Err(refused(format!("it has {} iterations already", checkpoint.history.len())));
        }
        Ok(())
    }
}

/// A setting as people write it.
fn in_words(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(values) if values.len() > MOST_SHOWN => {
            format!("{} values beginning with {}", values.len(), in_words(&values[0]))
        }
        Value::Array(values) => values.iter().map(in_words).collect::<Vec<_>>().join(" "),
        Value::Object(fields) => {
            let of = |(name, value): (&String, &Value)| format!("{name} {}", in_words(value));
            fields.iter().map(of).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// Values of a list that a message has room for.
const MOST_SHOWN: usize = 8;

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

    #[test]
    fn ranks_in_a_ring_find_other_data() {
        let good = ndarray::Array2::from_shape_fn((10, 2), |(n, d)| (3 * n + d) as f64);
        let mut other = good.clone();
        other[[5, 1]] += 1.0;
        let on_ranks = |other_rank: usize| -> Vec<Result<Fingerprint>> {
            std::thread::scope(|scope| {
                let start = |rank: ranks::InProcess| {
                    let (good, other) = (&good, &other);
                    scope.spawn(move || {
                        ranks::over(std::sync::Arc::new(rank), || {
                            let ranks = ranks::current();
                            Fingerprint::in_a_ring(if ranks.rank() == other_rank { other } else { good }, &ranks)
                        })
                    })
                };
                let all: Vec<_> = ranks::InProcess::crew(3).into_iter().map(start).collect();
                all.into_iter().map(|rank| rank.join().unwrap()).collect()
            })
        };
        assert!(on_ranks(9).into_iter().all(|found| found == Ok(Fingerprint::of(&good))));
        // row 5 belongs to rank 1, and rank 0 looks at it as well
        for rank in [0, 1] {
            assert!(on_ranks(rank).into_iter().all(|found| found == Err(other_data(0, 1))), "{rank}");
        }
    }
}
