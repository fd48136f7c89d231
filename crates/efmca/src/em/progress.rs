//! Watching long work, and ending it.

use std::ops::ControlFlow;

use super::Snapshot;
use crate::model::Model;

/// How far long work is. Training, denoising, naming noise, choosing the number of causes and learning features all report it in
/// this form.
#[derive(Debug)]
#[non_exhaustive]
pub struct Progress<'a> {
    /// The part of the work that this is about, for people: `training`, `poisson`, `8 causes`, `model 2 of 3`.
    pub stage: &'a str,
    /// Steps that are done: iterations where one model is trained, trainings where many are.
    pub done: usize,
    /// Steps in all, as far as is known yet.
    pub total: usize,
    /// The iteration that was just done, where it is worth telling about.
    pub training: Option<TrainingProgress<'a>>,
}

/// A training after one of its iterations.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct TrainingProgress<'a> {
    /// The iteration, counted from one.
    pub iteration: usize,
    /// How many there are at the most.
    pub iterations: usize,
    /// $\mathcal F$ before the M-step of this iteration.
    pub bound: f64,
    /// The model after it.
    pub model: &'a Model,
    /// All that the run needs to be resumed from here.
    pub state: Snapshot<'a>,
}

/// Sees how work proceeds; [`ControlFlow::Break`] ends it, with the result so far where there is one.
///
/// It is called between iterations and may be called more often than there is news.
pub type Observer<'a> = dyn FnMut(&Progress<'_>) -> ControlFlow<()> + 'a;

impl<'a> Progress<'a> {
    /// A step of work that is not a single training.
    pub(crate) fn of_stage(stage: &'a str, done: usize, total: usize) -> Progress<'a> {
        Progress { stage, done, total, training: None }
    }
}

/// An observer that lets the work go on to its end.
pub(crate) fn unobserved(_: &Progress<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
