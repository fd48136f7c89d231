//! Several starts, the paper's warm start, and what comes out.

use std::ops::ControlFlow;

use ndarray::Array1;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::clusters::Clusters;
use super::init::{dictionaries, of_group, weak_rows};
use super::m_step::MStep;
use super::run::{Engine, Fit, Progress, Run};
use super::training::Training;
use super::{Em, Held, Init};
use crate::error::Result;
use crate::family::Gaussian;
use crate::model::{Background, Columns, Data, Model, Tables};
use crate::posterior::Exact;

/// E-steps that fill sets of states for a model that comes without.
const FIRST_STEPS: usize = 5;

impl Em {
    /// Trains on `y`, $N \times D$ with NaN where a value is missing: an array, or the [`crate::Patches`] of an image.
    pub fn fit(&self, y: &dyn Data) -> Result<Fit> {
        self.fit_observed(y, None, &mut |_| ControlFlow::Continue(()))
    }

    /// Trains with a weight for each row: a row of weight 2 counts as two equal rows.
    pub fn fit_weighted(&self, y: &dyn Data, weights: &Array1<f64>) -> Result<Fit> {
        self.fit_observed(y, Some(weights), &mut |_| ControlFlow::Continue(()))
    }

    /// Trains and calls `observer` after each iteration (of the best start, where there are several); it can end the
    /// training.
    pub fn fit_observed(
        &self,
        y: &dyn Data,
        weights: Option<&Array1<f64>>,
        observer: &mut dyn FnMut(&Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Fit> {
        let training = self.check(y, weights)?;
        let average = training.column_means();
        // the data as the model sees it whose posteriors make the first parameters
        let other = match (&self.init, self.warm_start) {
            (Init::Posteriors(model), _) => Some(Training::new(self, model.columns(), y, weights)?),
            (Init::Model(_), _) | (_, 0) => None,
            _ => Some(self.gaussian_training(y, weights)?),
        };
        let begin = |start: usize| -> Result<Run<'_>> {
            let model = self.initial_model(y, &training, &average, other.as_ref(), start)?;
            Ok(Run::new(self, &training, &average, model))
        };
        // The best start is run again from its beginning, so that the observer sees all of it.
        let one = self.starts == 1 || matches!(self.init, Init::Model(_) | Init::Posteriors(_));
        let run = begin(if one { 0 } else { self.best_start(begin)? })?;
        self.finished(run, &training, observer)
    }

    /// Takes a run to its end.
    pub(super) fn finished(
        &self,
        mut run: Run<'_>,
        training: &Training,
        observer: &mut dyn FnMut(&Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Fit> {
        let stop = run.advance(self.iterations, observer)?;
        run.remove(run.spare())?;
        let log_likelihood = run.log_likelihood()?;
        let Run { model, history, engine, .. } = run;
        let sets = match engine {
            Engine::Exact(_) => None,
            Engine::Truncated(truncated) => Some(truncated.into_sets()),
        };
        Ok(Fit { model, log_likelihood, history, stop, weight: training.total_weight(), sets })
    }

    /// Gives each start a short run and keeps the best; the first of equals.
    fn best_start<'a>(&'a self, begin: impl Fn(usize) -> Result<Run<'a>> + Sync) -> Result<usize> {
        let short = self.short_iterations.min(self.iterations);
        let short_run = |start: usize| {
            let mut run = begin(start)?;
            run.advance(short, &mut |_| ControlFlow::Continue(()))?;
            run.log_likelihood()
        };
        // truncated posteriors keep sets for all rows: then one start at a time, with all threads
        let bounds: Vec<Result<f64>> = match self.posterior_settings() {
            None => (0..self.starts).into_par_iter().map(short_run).collect(),
            Some(_) => (0..self.starts).map(short_run).collect(),
        };
        // a start that fails loses to those that do not
        let mut best = None;
        let mut failure = None;
        for (start, bound) in bounds.into_iter().enumerate() {
            match bound {
                Ok(bound) if best.is_none_or(|(highest, _)| bound > highest) => best = Some((bound, start)),
                Ok(_) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        match (best, failure) {
            (Some((_, start)), _) => Ok(start),
            (None, Some(error)) => Err(error),
            (None, None) => Ok(0),
        }
    }

    fn initial_model(
        &self,
        y: &dyn Data,
        training: &Training,
        average: &Array1<f64>,
        other: Option<&Training>,
        start: usize,
    ) -> Result<Model> {
        if let Init::Model(model) = &self.init {
            return Ok((**model).clone());
        }
        let statistics = training.sample();
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(start as u64);
        let pi = match self.pi_init {
            Some((low, high)) => Array1::from_shape_fn(self.first_h(), |_| low + (high - low) * rng.random::<f64>()),
            None => Array1::from_elem(self.first_h(), self.default_pi()),
        };
        let w = match &self.init {
            Init::Clusters { spread } => {
                let clusters = Clusters::new(y, &training.weighty_rows(), self.first_h(), &mut rng);
                let row = |n: usize| training.row(n);
                let mut w = clusters.statistics(self.first_h(), &statistics.columns, average, row);
                for mut w in w.outer_iter_mut() {
                    let start = of_group(&statistics.columns, w.view(), average, *spread);
                    w.assign(&start);
                }
                w
            }
            other => dictionaries(other, self.first_h(), statistics, average, &mut rng),
        };
        let background = match &self.background {
            Background::Learned => {
                let weak = weak_rows(statistics, average, self.superposition);
                Background::Fixed(match &self.init {
                    Init::Clusters { spread } => of_group(&statistics.columns, weak.view(), average, *spread).to_vec(),
                    _ => weak.to_vec(),
                })
            }
            fixed => fixed.clone(),
        };
        let mut model = Model::from_parts(statistics.columns.clone(), pi, w, background)?;
        model.background_learned = self.background == Background::Learned;
        model = model.with_superposition(self.superposition)?;
        match (&self.init, other) {
            (Init::Posteriors(reference), Some(other)) => {
                let run = Run::new(self, other, average, (**reference).clone());
                self.adopt(model, training, average, other, run)
            }
            (_, Some(gaussian)) => self.warm(y, model, training, average, (gaussian, start)),
            (_, None) => Ok(model),
        }
    }

    /// The data as the warm start sees it: numbers with Gaussian noise.
    fn gaussian_training(&self, y: &dyn Data, weights: Option<&Array1<f64>>) -> Result<Training> {
        let columns = Columns::same(std::sync::Arc::new(Gaussian), y.d())?;
        Training::new(self, &columns, y, weights)
    }

    /// Trains a Gaussian model, and gives its posteriors to the M-step of the target family.
    fn warm(
        &self,
        y: &dyn Data,
        model: Model,
        training: &Training,
        average: &Array1<f64>,
        (gaussian, start): (&Training, usize),
    ) -> Result<Model> {
        let em = Em {
            families: vec![std::sync::Arc::new(Gaussian)],
            background: Background::Learned,
            iterations: self.warm_start,
            warm_start: 0,
            // all causes go on to the target family
            h: self.first_h(),
            spare: 0,
            // a column of equal values has no variance of its own
            pseudo_count: self.pseudo_count.max(1e-3),
            // what is held belongs to the target family
            holds: Vec::new(),
            ..self.clone()
        };
        let gaussian_average = gaussian.column_means();
        let first = em.initial_model(y, gaussian, &gaussian_average, None, start)?;
        let mut run = Run::new(&em, gaussian, &gaussian_average, first);
        run.advance(em.iterations, &mut |_| ControlFlow::Continue(()))?;
        self.adopt(model, training, average, gaussian, run)
    }

    /// Gives the posteriors that `run` has on its own view of the data, `other`, to the M-step of the target family.
    fn adopt(
        &self,
        mut model: Model,
        training: &Training,
        average: &Array1<f64>,
        other: &Training,
        run: Run<'_>,
    ) -> Result<Model> {
        let Run { model: trained, engine, .. } = run;
        let moments = match (engine, training) {
            (Engine::Truncated(mut truncated), Training::Truncated { observed, .. }) => {
                // sets that were not trained need a few steps to be good
                for _ in 0..if truncated.is_filled() { 1 } else { FIRST_STEPS } {
                    truncated.e_step(&trained, 1.0, true)?;
                }
                // the owners are those of the other model
                let tables = Tables { strength: Tables::new(&trained).strength, ..Tables::new(&model) };
                truncated.with_data(observed).redistribute(&model, &tables)?
            }
            _ => {
                let posterior = Exact::new(&trained)?;
                let sums = posterior.e_step(other.sample(), training.sample(), 1.0)?;
                posterior.states().distribute(training.columns(), &sums)
            }
        };
        let m_step = MStep {
            pseudo_count: self.pseudo_count.max(1e-3),
            average,
            smallest_pi: self.smallest_pi,
            hold_pi: self.holds.iter().any(|hold| hold.applies(Held::Pi, 0)),
            hold_w: vec![false; training.columns().l_max()],
            hold_background: false,
            mean_weight: training.mean_weight(),
        };
        m_step.apply(&mut model, &moments);
        Ok(model)
    }
}
