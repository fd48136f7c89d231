//! A family for each column of a table.
//!
//! With the other columns given, a column is a mixture whose weights differ from row to row: row $n$ belongs to cause $h$ with
//! the probability $c_{nh}$ that all other columns give to $h$ owning this one. So a family can be tried in a column without
//! training the whole model again: a few EM steps on that mixture, scored on the entries that were hidden. Columns are
//! gone through until no family changes, and the whole model is trained between the sweeps.

use std::ops::ControlFlow;

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use super::NoiseType;
use super::candidates::{Candidate, Kind, Refusal, Values, candidates};
use super::column::Given;
use super::held_out::{Source, rows_of};
use super::ranking::{ERRORS, EVIDENCE, SLACK};
use crate::em::{Fit, Init, Observer, Progress, unobserved};
use crate::error::{Error, Result};
use crate::family::SharedFamily;
use crate::model::{Data, Model, Tables};
use crate::posterior::Responsibilities;

/// Sweeps over all columns, at the most.
const SWEEPS: usize = 3;
/// Families of columns whose values are all equal: the first that has the value.
const CONSTANT: [&str; 4] = ["bernoulli", "poisson", "exponential", "gaussian:var=1"];
/// Threads for each of the columns that are worked on at a time; the candidates of a column are spread over them.
const THREADS: usize = 4;
/// Candidates of a column that later sweeps look at again.
const KEPT: usize = 5;

/// Settings for finding the families of a table.
#[derive(Debug, Clone)]
pub struct Mixed {
    noise: NoiseType,
    fixed: Vec<(usize, String)>,
}

/// How a family does in a column.
#[derive(Debug, Clone)]
pub struct Tried {
    /// The family, with known parameters as they were found.
    pub family: SharedFamily,
    /// The logarithm of the probability or density that it gives to a hidden entry of the column, on average.
    pub held_out: f64,
    /// How far it is behind the one that foretells best, and the standard error of that.
    pub behind: (f64, f64),
    /// Whether the data cannot tell it from that one.
    pub tied: bool,
}

/// What was found for a column.
#[derive(Debug, Clone)]
pub struct ColumnFamily {
    /// The family.
    pub family: SharedFamily,
    /// Whether it was given.
    pub fixed: bool,
    /// The kind of its values.
    pub kind: Kind,
    /// All families that were tried, the best first; empty if it was given.
    pub tried: Vec<Tried>,
    /// Families that were left out.
    pub refused: Vec<Refusal>,
}

/// The families of a table and the model with them.
#[derive(Debug, Clone)]
pub struct ColumnTypes {
    /// One for each column.
    pub columns: Vec<ColumnFamily>,
    /// The model, trained on all entries.
    pub fit: Fit,
    /// The logarithm of the probability or density of a hidden entry, on average over all columns.
    pub held_out: f64,
    /// Sweeps that were needed.
    pub sweeps: usize,
}

/// A column with what can stand in it.
struct Slot {
    fixed: bool,
    kind: Kind,
    candidates: Vec<Candidate>,
    refused: Vec<Refusal>,
    tried: Vec<Tried>,
    family: SharedFamily,
}

impl Mixed {
    /// Settings as for [`NoiseType`], which also say the number of causes.
    pub fn new(noise: NoiseType) -> Mixed {
        Mixed { noise, fixed: Vec::new() }
    }

    /// The family of column `d`; a known parameter that is missing, or given as `?`, is found.
    pub fn fix(mut self, d: usize, spec: impl Into<String>) -> Mixed {
        self.fixed.push((d, spec.into()));
        self
    }

    /// Finds the families of `table`, and trains the model with them.
    pub fn run(&self, table: ArrayView2<'_, f64>) -> Result<ColumnTypes> {
        self.run_observed(table, &mut unobserved)
    }

    /// Finds the families of `table`, and trains the model with them. If `observer` asks to stop, columns keep the families that
    /// they have then, and the model is trained no further; before every column has one it is [`Error::Stopped`].
    pub fn run_observed(&self, table: ArrayView2<'_, f64>, observer: &mut Observer<'_>) -> Result<ColumnTypes> {
        self.noise.check()?;
        if table.is_empty() {
            return Err(Error::EmptyData { rows: table.nrows(), columns: table.ncols() });
        }
        if let Some((d, _)) = self.fixed.iter().find(|(d, _)| *d >= table.ncols()) {
            return Err(Error::setting(
                "column",
                d,
                format!("the table has {} columns, counted from 0", table.ncols()),
            ));
        }
        let split = Source::Table(table).split(self.noise.hidden, self.noise.seed)?;
        let (shown, all) = (rows_of(&*split.shown), rows_of(&*split.whole));
        let mut slots = self.slots(&shown, &all)?;
        let mut watch = Watch { observer, at: 0, all: (SWEEPS + 1) * (slots.len() + 1) + 1, stopped: false };
        // by itself, before there is a model
        let done = sweep(&mut slots, &mut watch, |d, slot| Given::by_itself(&shown, &all, d, slot.kind));
        if done < slots.len() {
            return Err(Error::Stopped { what: "every column had a family".into() });
        }
        let mut model = self.train(&slots, &*split.seen, None, &mut watch)?.model;
        watch.tell_of_training("families of single columns".into());
        let mut sweeps = 0;
        while sweeps < SWEEPS && !watch.stopped {
            sweeps += 1;
            let posteriors = Responsibilities::new(&model, &*split.shown)?;
            let tables = Tables::new(&model);
            let before: Vec<String> = slots.iter().map(|slot| slot.family.spec()).collect();
            sweep(&mut slots, &mut watch, |d, slot| {
                let owners = posteriors.of_column(&tables, d);
                Given::others(&shown, &all, d, slot.kind, owners, &model, &tables)
            });
            // the last training has the families that were found until then
            if watch.stopped {
                break;
            }
            let changed = slots.iter().zip(&before).filter(|(slot, before)| !same_name(&slot.family, before)).count();
            model = self.train(&slots, &*split.seen, Some(&model), &mut watch)?.model;
            watch.tell_of_training(format!("sweep {sweeps}: {changed} columns changed"));
            if changed == 0 {
                break;
            }
        }
        // a column of whole numbers has probabilities, one of numbers with fractions densities
        let held_out = split.scores_of_columns(&model, |d| slots[d].kind == Kind::Whole)?.mean();
        let fit = self.train(&slots, &table, Some(&model), &mut watch)?;
        let columns = slots.into_iter().map(Slot::finish).collect();
        Ok(ColumnTypes { columns, fit, held_out, sweeps })
    }

    fn slots(&self, shown: &Array2<f64>, all: &Array2<f64>) -> Result<Vec<Slot>> {
        (0..all.ncols())
            .map(|d| {
                let values = Values::of(all.column(d).iter().copied()).ok_or(Error::EmptyColumn { column: d })?;
                if shown.column(d).iter().all(|value| value.is_nan()) {
                    return Err(Error::EmptyColumn { column: d });
                }
                let fixed = self.fixed.iter().rev().find(|(column, _)| *column == d);
                let (mut found, refused) = match fixed {
                    Some((_, spec)) => {
                        let candidate = Candidate::parse(spec, &values)?;
                        let family = candidate.family(&candidate.middle())?;
                        for (row, value) in all.column(d).iter().enumerate().filter(|(_, value)| !value.is_nan()) {
                            crate::family::check(&*family, *value, row, d)?;
                        }
                        (vec![candidate], Vec::new())
                    }
                    None => candidates(&values),
                };
                // of a column with one value only nothing can be told, and a family without a width of its own will do
                if values.constant() && fixed.is_none() {
                    found = CONSTANT.iter().filter_map(|spec| Candidate::parse(spec, &values).ok()).collect();
                    found.retain(|candidate| candidate.possible(&values).is_ok());
                    found.truncate(1);
                }
                let first = found.first().ok_or_else(|| {
                    Error::setting("column", d, format!("no family has values like its {}", values.kind.words()))
                })?;
                let family = first.family(&first.middle())?;
                Ok(Slot {
                    fixed: fixed.is_some(),
                    kind: values.kind,
                    candidates: found,
                    refused,
                    tried: Vec::new(),
                    family,
                })
            })
            .collect()
    }

    /// Trains with the families of `slots`, from the posteriors of a model if there is one; an iteration and no more where
    /// nobody wants to wait.
    fn train(&self, slots: &[Slot], data: &dyn Data, from: Option<&Model>, watch: &mut Watch<'_, '_>) -> Result<Fit> {
        let families = slots.iter().map(|slot| &slot.family);
        let em = self.noise.em(data).families(families).seed(self.noise.seed);
        let em = match from {
            Some(model) => em.init(Init::Posteriors(Box::new(model.clone()))),
            None => em,
        };
        em.run_observed(data, &mut |progress| {
            let stage = progress.training.map_or("training: starts".into(), |training| {
                format!("training: iteration {} of {}", training.iteration, training.iterations)
            });
            watch.tell(stage, 0)
        })
    }
}

/// Tells an observer how far the work is, and remembers whether it asked to stop.
struct Watch<'a, 'b> {
    observer: &'a mut Observer<'b>,
    at: usize,
    all: usize,
    stopped: bool,
}

impl Watch<'_, '_> {
    /// `steps` more are done.
    fn tell(&mut self, stage: String, steps: usize) -> ControlFlow<()> {
        self.at += steps;
        // who asked once is not asked again
        self.stopped = self.stopped || (self.observer)(&Progress::of_stage(&stage, self.at, self.all)).is_break();
        if self.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// A training is done; whether to go on is in `stopped`.
    fn tell_of_training(&mut self, done: String) {
        let _ = self.tell(done, 1);
    }
}

/// Whether a family has this name, whatever its known parameters are.
fn same_name(family: &SharedFamily, spec: &str) -> bool {
    family.spec().split(':').next() == spec.split(':').next()
}

/// Tries the candidates of all columns, each with what is given about the column, until `watch` asks to stop. A few columns
/// are worked on at a time, so that it is asked often; what is found does not depend on how many. Returns how many are done.
fn sweep(slots: &mut [Slot], watch: &mut Watch<'_, '_>, given: impl Fn(usize, &Slot) -> Given + Sync) -> usize {
    let (columns, mut done) = (slots.len(), 0);
    for slots in slots.chunks_mut(rayon::current_num_threads().div_ceil(THREADS)) {
        slots.par_iter_mut().enumerate().for_each(|(index, slot)| {
            let given = given(done + index, slot);
            slot.choose(&given);
        });
        done += slots.len();
        if watch.tell(format!("families of {done} of {columns} columns"), slots.len()).is_break() {
            break;
        }
    }
    done
}

impl Slot {
    fn finish(self) -> ColumnFamily {
        let tried = if self.fixed { Vec::new() } else { self.tried };
        ColumnFamily { family: self.family, fixed: self.fixed, kind: self.kind, tried, refused: self.refused }
    }

    /// Tries all candidates and takes the best: the one that foretells best, or that of its ties with the best Bayesian
    /// information criterion.
    fn choose(&mut self, given: &Given) {
        struct Found {
            candidate: Candidate,
            family: SharedFamily,
            scores: Vec<f64>,
            bic: f64,
            parameters: usize,
        }
        let tried = self.candidates.par_iter().map(|candidate| {
            let (family, scores, bic) = given.try_family(candidate)?;
            let parameters = given.seen.owner.ncols() * family.l() + candidate.taken_from_data();
            Some(Found { candidate: candidate.clone(), family, scores, bic, parameters })
        });
        let mut found: Vec<Found> = tried.collect::<Vec<_>>().into_iter().flatten().collect();
        let mean = |scores: &[f64]| scores.iter().sum::<f64>() / scores.len().max(1) as f64;
        found.sort_by(|a, b| mean(&b.scores).total_cmp(&mean(&a.scores)));
        let Some(first) = found.first() else { return };
        let first = first.scores.clone();
        let behind = |scores: &[f64]| {
            let differences: Vec<f64> = first.iter().zip(scores).map(|(first, other)| first - other).collect();
            let (count, mean) = (differences.len().max(1) as f64, mean(&differences));
            let variance = differences.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
            (mean, (variance / count).sqrt())
        };
        let tried = |found: &Found| {
            let behind = behind(&found.scores);
            let tied = behind.0 <= (ERRORS * behind.1).max(EVIDENCE / found.scores.len().max(1) as f64);
            Tried { family: found.family.clone(), held_out: mean(&found.scores), behind, tied }
        };
        let mut order: Vec<(Tried, &Found)> = found.iter().map(|found| (tried(found), found)).collect();
        order.sort_by(|(a, a_found), (b, b_found)| {
            let key = |tried: &Tried, found: &Found| if tried.tied { (0, -found.bic) } else { (1, tried.behind.0) };
            let (a, b) = (key(a, a_found), key(b, b_found));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        // of ties that the criterion hardly tells apart the simplest comes first, as in a ranking
        let highest = order[0].1.bic;
        let near = |(tried, found): &(Tried, &Found)| tried.tied && highest - found.bic <= SLACK;
        let simplest = (0..order.len()).filter(|at| near(&order[*at])).min_by_key(|at| order[*at].1.parameters);
        order[..=simplest.unwrap_or(0)].rotate_right(1);
        self.family = order[0].0.family.clone();
        // by itself a column looks wider than it is, so that nothing is left out before the others were looked at
        let kept = if given.by_itself { order.len() } else { KEPT };
        self.candidates = order.iter().take(kept).map(|(_, found)| found.candidate.clone()).collect();
        // what only the first sweep looked at stays in the list
        let again: Vec<Tried> = order.into_iter().map(|(tried, _)| tried).collect();
        let rest =
            self.tried.drain(..).filter(|old| !again.iter().any(|new| same_name(&new.family, &old.family.spec())));
        let rest: Vec<Tried> = rest.collect();
        self.tried = again.into_iter().chain(rest).collect();
    }
}
