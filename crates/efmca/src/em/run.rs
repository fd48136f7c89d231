//! The loop.

use ndarray::Array1;

use super::batches::Parts;
use super::checkpoint::{Checkpoint, Snapshot, refused};
use super::init::mixed_row;
use super::m_step::{ExactPosteriors, MStep, TruncatedPosteriors};
use super::progress::{Observer, Progress, TrainingProgress};
use super::training::Training;
use super::{Em, Held, Schedule};
use crate::error::Result;
use crate::model::{Model, Statistics, Tables};
use crate::posterior::truncated::Effort;
use crate::posterior::{Exact, Moments, Sets, Truncated};

/// What one iteration found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Iteration {
    /// $\mathcal F(q, \Theta)$ before the M-step; the log-likelihood where the temperature is one.
    pub bound: f64,
    /// The temperature of the posteriors.
    pub temperature: f64,
    /// The exponent of the smooth maximum, if it was used.
    pub rho: Option<f64>,
    /// Causes that were started again after the M-step.
    pub revived: usize,
    /// Spare causes that were taken away after the M-step.
    pub removed: usize,
    /// What the E-step of truncated posteriors did.
    pub effort: Effort,
}

impl Iteration {
    /// Whether the causes after it are those before it.
    fn kept_causes(&self) -> bool {
        self.revived == 0 && self.removed == 0
    }
}

/// Why training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// All iterations were done.
    Iterations,
    /// The log-likelihood no longer changed.
    Converged,
    /// The observer ended it.
    Interrupted,
}

/// A trained model and how it came about.
#[derive(Debug, Clone)]
pub struct Fit {
    /// The model.
    pub model: Model,
    /// $\mathcal F(q, \Theta)$ of the model on the training data, the ELBO or free energy (Eqn. 26). With exact posteriors it is the
    /// log-likelihood $\mathcal L(\Theta)$; see [`Fit::is_exact`].
    pub bound: f64,
    /// One entry for each iteration.
    pub history: Vec<Iteration>,
    /// Why training ended.
    pub stop: StopReason,
    /// Rows of the data, or the sum of their weights.
    pub weight: f64,
    /// The sets $\mathcal K^{(n)}$ of the training data, if posteriors were truncated.
    pub sets: Option<Sets>,
}

impl Fit {
    /// Whether posteriors were exact, so that [`Fit::bound`] is the log-likelihood itself.
    pub fn is_exact(&self) -> bool {
        self.sets.is_none()
    }

    /// How often the log-likelihood fell from one iteration to the next, and the largest fall relative to its size.
    /// Annealed iterations, and those after which a cause was revived, do not count: there it may fall.
    pub fn dips(&self) -> (usize, f64) {
        let last = Iteration {
            bound: self.bound,
            temperature: 1.0,
            rho: None,
            revived: 0,
            removed: 0,
            effort: Effort::default(),
        };
        let steps: Vec<Iteration> = self.history.iter().copied().chain(std::iter::once(last)).collect();
        let plain = |step: &Iteration| step.temperature == 1.0 && step.rho.is_none();
        let falls = steps.windows(2).filter(|pair| plain(&pair[0]) && plain(&pair[1]) && pair[0].kept_causes());
        let sizes = falls.map(|pair| (pair[0].bound - pair[1].bound) / pair[0].bound.abs());
        // below this a fall is rounding
        let dips: Vec<f64> = sizes.filter(|size| *size > 1e-13).collect();
        (dips.len(), dips.iter().copied().fold(0.0, f64::max))
    }

    /// The Bayesian information criterion, $-2\mathcal L + \text{parameters}\cdot\log N$; smaller is better.
    pub fn bic(&self) -> f64 {
        -2.0 * self.bound + self.model.parameter_count() as f64 * self.weight.ln()
    }
}

/// A run in progress: the settings, the data, and what has been found so far.
pub(super) struct Run<'a> {
    pub(super) em: &'a Em,
    pub(super) training: &'a Training,
    pub(super) average: &'a Array1<f64>,
    pub(super) model: Model,
    pub(super) history: Vec<Iteration>,
    pub(super) engine: Engine<'a>,
    /// The moments of parts of the rows, where the parameters are updated after each part.
    pub(super) parts: Parts,
}

/// What makes the posteriors of a run.
pub(super) enum Engine<'a> {
    Exact(&'a Statistics),
    Truncated(Truncated<'a>),
}

/// Iterations that a cause needs after it was started again.
const TO_SETTLE: usize = 8;

/// What an E-step gave, and an M-step made of it.
struct Step {
    model: Model,
    moments: Moments,
    effort: Effort,
    /// How well each row is explained; empty if no cause needs it.
    fits: Vec<f64>,
}

impl<'a> Run<'a> {
    /// A run that starts from `model`.
    pub(super) fn new(em: &'a Em, training: &'a Training, average: &'a Array1<f64>, model: Model) -> Run<'a> {
        let engine = match training {
            Training::Exact(statistics) => Engine::Exact(statistics),
            Training::Truncated { observed, truncation, .. } => {
                Engine::Truncated(Truncated::new(observed, truncation, model.h(), em.seed))
            }
        };
        Run { em, training, average, model, history: Vec::new(), engine, parts: Parts::default() }
    }

    /// A run that goes on where another was left.
    pub(super) fn left(
        em: &'a Em,
        training: &'a Training,
        average: &'a Array1<f64>,
        checkpoint: Checkpoint,
    ) -> Result<Run<'a>> {
        let Checkpoint { model, history, sets, parts, e_steps, .. } = checkpoint;
        let mut run = Run::new(em, training, average, model);
        run.engine = match (run.engine, sets) {
            (Engine::Truncated(truncated), Some(sets)) => {
                let s = truncated.sets().s();
                if (sets.n(), sets.h(), sets.s()) != (truncated.sets().n(), run.model.h(), s) {
                    return Err(refused("its sets of states have another size than its settings say"));
                }
                Engine::Truncated(truncated.with_sets(sets).after(e_steps))
            }
            (Engine::Exact(statistics), None) => Engine::Exact(statistics),
            _ => return Err(refused("it has sets of states where none are used, or none where they are")),
        };
        run.history = history;
        run.parts = Parts::from(parts);
        Ok(run)
    }

    /// All that the run needs to go on.
    fn state(&self) -> Snapshot<'_> {
        let (sets, e_steps) = match &self.engine {
            Engine::Exact(_) => (None, 0),
            Engine::Truncated(truncated) => (Some(truncated.sets()), truncated.e_steps()),
        };
        Snapshot { model: &self.model, history: &self.history, sets, parts: self.parts.moments(), e_steps }
    }

    /// Whether a parameter is held in an iteration.
    fn holds(&self, what: Held, iteration: usize) -> bool {
        self.em.holds.iter().any(|hold| hold.applies(what, iteration))
    }

    fn m_step(&self, iteration: usize) -> MStep<'a> {
        let held = |what: Held| self.holds(what, iteration);
        MStep {
            pseudo_count: self.em.pseudo_count,
            average: self.average,
            smallest_pi: self.em.smallest_pi,
            hold_pi: held(Held::Pi),
            hold_w: (0..self.training.columns().l_max()).map(|l| held(Held::W(l))).collect(),
            hold_background: held(Held::Background),
            mean_weight: self.training.mean_weight(),
        }
    }

    /// The exponent of the smooth maximum in `iteration`, if it is still used.
    fn rho(&self, iteration: usize) -> Option<f64> {
        let still = |schedule: &Schedule| iteration < schedule.settles() || matches!(schedule, Schedule::Constant(_));
        self.em.rho.filter(still).map(|schedule| schedule.at(iteration))
    }

    /// One E-step and one M-step.
    fn step(&mut self) -> Result<()> {
        let iteration = self.history.len();
        let temperature = self.em.temperature.at(iteration);
        let rho = self.rho(iteration);
        let rule = self.em.superposition;
        self.model.superposition = rho.map_or(rule, |rho| rule.smooth(rho));
        let m_step = self.m_step(iteration);
        // A spread may be held, but a cause that stays where it is cannot be started again, and one that soon will needs time.
        let soon = |what: Held| !self.holds(what, iteration) && self.holds(what, iteration + TO_SETTLE);
        let settled = m_step.hold_w[0] || soon(Held::W(0)) || soon(Held::Pi);
        let may_revive = self.em.revive && !settled && iteration + 1 < self.em.iterations / 3 * 2;
        let (guard, repeats) = (self.em.guarded(), self.em.repeats);
        let Run { model, engine, .. } = self;
        let columns = model.columns();
        let step = match engine {
            Engine::Exact(statistics) => {
                let exact = Exact::new(model)?;
                let sums = exact.e_step(statistics, statistics, 1.0 / temperature)?;
                let moments = exact.states().distribute(columns, &sums);
                let mut posteriors = ExactPosteriors { exact: &exact, sums: &sums, columns };
                let model = m_step.run(model, &moments, &mut posteriors, repeats, guard)?;
                let fits = match may_revive && !dead(&moments, self.training).is_empty() {
                    true => exact.log_likelihoods(statistics)?.to_vec(),
                    false => Vec::new(),
                };
                Step { model, moments, effort: Effort::default(), fits }
            }
            Engine::Truncated(truncated) if self.em.batches > 1 => {
                let (model, moments, effort) =
                    self.parts.step(self.em.batches, truncated, model, &m_step, 1.0 / temperature)?;
                Step { model, moments, effort, fits: truncated.bounds().to_vec() }
            }
            Engine::Truncated(truncated) => {
                let (moments, effort) = truncated.e_step(model, 1.0 / temperature, guard || repeats > 1)?;
                let tables = Tables::new(model);
                let mut posteriors = TruncatedPosteriors { truncated, tables: &tables, first: &moments, columns };
                let model = m_step.run(model, &moments, &mut posteriors, repeats, guard)?;
                Step { model, moments, effort, fits: truncated.bounds().to_vec() }
            }
        };
        let Step { mut model, moments, effort, fits } = step;
        model.superposition = self.em.superposition;
        let revived = if may_revive { self.revive(&mut model, &fits, &moments, &m_step) } else { 0 };
        self.model = model;
        self.history.push(Iteration { bound: moments.bound, temperature, rho, revived, removed: 0, effort });
        let removed = self.due();
        self.remove(removed)?;
        if let Some(step) = self.history.last_mut() {
            step.removed = removed;
        }
        Ok(())
    }

    /// Starts causes that own less than half a row anew, from the rows that are explained worst.
    fn revive(&self, model: &mut Model, fits: &[f64], moments: &Moments, m_step: &MStep<'_>) -> usize {
        let dead = dead(moments, self.training);
        if dead.is_empty() {
            return 0;
        }
        let starts = self.worst_rows(fits, dead.len());
        let revived = starts.len();
        for (h, (t, present)) in dead.into_iter().zip(starts) {
            let start = mixed_row(self.training.columns(), self.average, &t, &present, 0.5);
            for (d, family, span) in self.training.columns().iter() {
                let mut w = model.profile(h)[span.clone()].to_vec();
                let start: Vec<f64> = span.clone().map(|k| start[k]).collect();
                family.update(&start, &m_step.hold_w[..span.len()], &mut w);
                family.project(&mut w);
                model.set_entry(h, d, &w);
            }
            if !m_step.hold_pi {
                model.pi[h] = self.em.default_pi();
            }
        }
        revived
    }

    /// The statistics of the `count` rows that are explained worst, without rows that are equal to one of them.
    fn worst_rows(&self, fits: &[f64], count: usize) -> Vec<(Vec<f64>, Vec<bool>)> {
        let mut rows = self.training.weighty_rows();
        rows.sort_by(|a, b| fits[*a].total_cmp(&fits[*b]));
        let mut worst: Vec<(Vec<f64>, Vec<bool>)> = Vec::new();
        for row in rows {
            if worst.len() == count {
                break;
            }
            let row = self.training.row(row);
            if !worst.contains(&row) {
                worst.push(row);
            }
        }
        worst
    }

    /// Whether the last three iterations changed nothing.
    fn converged(&self) -> bool {
        let count = self.history.len();
        if self.em.tolerance == 0.0 || count < 4 {
            return false;
        }
        let settled = self.em.temperature.settles().max(self.em.rho.map_or(0, |schedule| schedule.settles()));
        let held_until = self.em.holds.iter().map(|hold| hold.until).filter(|until| *until < usize::MAX).max();
        let last = &self.history[count - 4..];
        count > settled.saturating_add(3)
            && count > held_until.unwrap_or(0).saturating_add(3)
            && self.spare() == 0
            && last.iter().all(|step| step.kept_causes())
            && last
                .windows(2)
                .all(|pair| (pair[1].bound - pair[0].bound).abs() <= self.em.tolerance * pair[0].bound.abs())
    }

    /// Iterates until `iterations` are done or there is a reason to stop.
    pub(super) fn advance(&mut self, iterations: usize, observer: &mut Observer<'_>) -> Result<StopReason> {
        loop {
            // before the step, so that a run that ended here ends here again when it is resumed
            if self.converged() {
                return Ok(StopReason::Converged);
            }
            if self.history.len() >= iterations {
                return Ok(StopReason::Iterations);
            }
            self.step()?;
            let (iteration, iterations) = (self.history.len(), self.em.iterations);
            let training = TrainingProgress {
                iteration,
                iterations,
                bound: self.history[iteration - 1].bound,
                model: &self.model,
                state: self.state(),
            };
            let progress = Progress { stage: "training", done: iteration, total: iterations, training: Some(training) };
            if observer(&progress).is_break() {
                return Ok(StopReason::Interrupted);
            }
        }
    }

    /// The bound of the model as it is.
    pub(super) fn bound(&mut self) -> Result<f64> {
        match &mut self.engine {
            Engine::Exact(statistics) => Ok(Exact::new(&self.model)?.e_step(statistics, statistics, 1.0)?.bound),
            Engine::Truncated(truncated) => Ok(truncated.e_step(&self.model, 1.0, false)?.0.bound),
        }
    }
}

/// Causes that own less than half a row. A row of weight two is two rows, and where rows weigh less than one on average their
/// weights have some other unit, so that half of an average row counts.
fn dead(moments: &Moments, training: &Training) -> Vec<usize> {
    let owned = |h: &usize| moments.assigned.row(*h).iter().copied().fold(0.0, f64::max);
    (0..moments.active.len()).filter(|h| owned(h) < 0.5 * training.mean_weight().min(1.0)).collect()
}
