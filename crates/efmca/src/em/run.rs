//! The loop: Algorithm 1 of the paper, with what makes it robust around it.
//!
//! `examples/algorithm1.rs` is the same loop with nothing around it.

use ndarray::Array1;

use super::batches::Parts;
use super::checkpoint::{Checkpoint, Snapshot, refused};
use super::e_step::{EStep, posteriors_of};
use super::fit::{Iteration, StopReason};
use super::m_step::MStep;
use super::progress::{Observer, Progress, TrainingProgress};
use super::training::Training;
use super::{Em, Held, Schedule};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::posterior::Moments;
use crate::posterior::truncated::Effort;

/// A run in progress: the settings, the data, and what has been found so far.
pub(super) struct Run<'a> {
    pub(super) em: &'a Em,
    pub(super) training: &'a Training,
    pub(super) average: &'a Array1<f64>,
    pub(super) model: Model,
    pub(super) history: Vec<Iteration>,
    pub(super) posteriors: Box<dyn EStep + 'a>,
    /// The moments of parts of the rows, where the parameters are updated after each part.
    parts: Parts,
}

/// The annealing of one iteration.
struct Annealing {
    /// Posteriors are tempered: $q \propto p^{1/T}$.
    temperature: f64,
    /// The exponent of the smooth maximum, if it is still used.
    rho: Option<f64>,
}

impl<'a> Run<'a> {
    /// A run that starts from `model`.
    pub(super) fn new(em: &'a Em, training: &'a Training, average: &'a Array1<f64>, model: Model) -> Run<'a> {
        let posteriors = posteriors_of(training, &model, em.seed);
        Run { em, training, average, model, history: Vec::new(), posteriors, parts: Parts::default() }
    }

    /// A run that continues from a checkpoint.
    pub(super) fn resumed(
        em: &'a Em,
        training: &'a Training,
        average: &'a Array1<f64>,
        checkpoint: Checkpoint,
    ) -> Result<Run<'a>> {
        let Checkpoint { model, history, sets, parts, e_steps, .. } = checkpoint;
        let mut run = Run::new(em, training, average, model);
        if run.posteriors.sets().is_some() != sets.is_some() {
            return Err(refused("it has sets of states where none are used, or none where they are"));
        }
        if let Some(sets) = sets {
            run.posteriors.continue_from(sets, e_steps)?;
        }
        run.history = history;
        run.parts = Parts::from(parts);
        Ok(run)
    }

    /// All that the run needs to be resumed.
    pub(super) fn snapshot(&self) -> Snapshot<'_> {
        Snapshot {
            model: &self.model,
            history: &self.history,
            sets: self.posteriors.sets(),
            parts: self.parts.moments(),
            e_steps: self.posteriors.e_steps(),
        }
    }

    /// Whether a parameter is held in an iteration.
    pub(super) fn holds(&self, what: Held, iteration: usize) -> bool {
        self.em.holds.iter().any(|hold| hold.applies(what, iteration))
    }

    fn m_step(&self, iteration: usize) -> MStep<'a> {
        let held = |what: Held| self.holds(what, iteration);
        MStep {
            pseudo_counts: self.em.pseudo_counts(),
            average: self.average,
            smallest_pi: self.em.smallest_pi,
            hold_pi: held(Held::Pi),
            hold_w: (0..self.training.columns().l_max()).map(|l| held(Held::W(l))).collect(),
            hold_background: held(Held::Background),
            mean_weight: self.training.mean_weight(),
            structure: self.em.structure.as_ref(),
        }
    }

    /// The temperature and the exponent of the smooth maximum in `iteration`.
    fn annealing(&self, iteration: usize) -> Annealing {
        let still = |schedule: &Schedule| iteration < schedule.settles() || matches!(schedule, Schedule::Constant(_));
        let rho = self.em.rho.filter(still).map(|schedule| schedule.at(iteration));
        Annealing { temperature: self.em.temperature.at(iteration), rho }
    }

    /// One iteration of Algorithm 1: annealing, E-step, M-step with its guard, revival, removal.
    fn step(&mut self) -> Result<()> {
        let iteration = self.history.len();
        let Annealing { temperature, rho } = self.annealing(iteration);
        let rule = self.em.superposition;
        self.model.superposition = rho.map_or(rule, |rho| rule.smooth(rho));
        let m_step = self.m_step(iteration);

        let stepped = self.em_step(&m_step, 1.0 / temperature);
        // rows that could not be read have done harm already, of which an error may speak
        self.training.check_unchanged()?;
        let (model, moments, effort) = stepped?;
        check_bound(moments.bound)?;
        self.model = model;
        self.model.superposition = rule;

        let revived = self.revive(iteration, &moments, &m_step)?;
        self.posteriors.forget();
        self.history.push(Iteration { bound: moments.bound, temperature, rho, revived, removed: 0, effort });
        let removed = self.remove_spare()?;
        if let Some(step) = self.history.last_mut() {
            step.removed = removed;
        }
        Ok(())
    }

    /// The E-step (Eqn. 41 if posteriors are truncated) and the M-step (Eqns. 38-40 and 47), over all rows or part by part.
    fn em_step(&mut self, m_step: &MStep<'_>, beta: f64) -> Result<(Model, Moments, Effort)> {
        let (guard, repeats) = (self.em.guarded(), self.em.repeats);
        if self.em.batches > 1 && self.posteriors.sets().is_some() {
            return self.parts.step(self.em.batches, &mut *self.posteriors, &self.model, m_step, beta);
        }
        let (moments, effort) = self.posteriors.e_step(&self.model, beta, guard || repeats > 1)?;
        let mut model = m_step.update(&self.model, &moments, &mut *self.posteriors, repeats)?;
        if guard {
            m_step.guard(&self.model, &mut model, &mut *self.posteriors)?;
        }
        Ok((model, moments, effort))
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
            let (iteration, iterations) = (self.history.len(), self.em.all_iterations());
            let training = TrainingProgress {
                iteration,
                iterations,
                bound: self.history[iteration - 1].bound,
                model: &self.model,
                state: self.snapshot(),
            };
            let progress = Progress { stage: "training", done: iteration, total: iterations, training: Some(training) };
            // one rank that was asked to stop is enough
            if self.training.ranks().any(observer(&progress).is_break())? {
                return Ok(StopReason::Interrupted);
            }
        }
    }

    /// The bound of the model as it is (Eqn. 26), and its posteriors, if `keep` and they are truncated.
    pub(super) fn bound(&mut self, keep: bool) -> Result<f64> {
        let stepped = self.posteriors.e_step(&self.model, 1.0, keep);
        self.training.check_unchanged()?;
        let bound = stepped?.0.bound;
        check_bound(bound)?;
        self.posteriors.forget();
        Ok(bound)
    }
}

/// An error if the bound left the range of numbers: all that would follow from it is nothing.
fn check_bound(bound: f64) -> Result<()> {
    if bound.is_finite() { Ok(()) } else { Err(Error::OutOfRange { bound }) }
}
