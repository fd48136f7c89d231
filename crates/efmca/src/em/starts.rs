//! Several starts, the paper's warm start, and what comes out.

use ndarray::Array1;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::clusters::Clusters;
use super::e_step::{EStep, ExactStep, TruncatedStep};
use super::fit::{Fit, StopReason};
use super::init::{dictionaries, of_group, weak_rows};
use super::keep::Keeper;
use super::m_step::MStep;
use super::progress::{Observer, Progress, unobserved};
use super::run::Run;
use super::training::Training;
use super::{Em, Held, Init};
use crate::error::{Error, Result};
use crate::family::Gaussian;
use crate::model::{Background, Columns, Data, Model, Tables};
use crate::posterior::{Moments, Sets, Truncated};
use crate::ranks;

/// E-steps that fill sets of states for a model that comes without.
const FIRST_STEPS: usize = 5;
/// Rows of average data in a Gaussian model that others are started from, at the least.
const LEAST_PSEUDO_COUNT: f64 = 1e-3;

/// The short run of a start.
struct Short<'a> {
    start: usize,
    run: Option<Run<'a>>,
    /// The last bound that is known.
    bound: f64,
    converged: bool,
}

impl<'a> Short<'a> {
    fn new(start: usize, run: Run<'a>) -> Short<'a> {
        Short { start, run: Some(run), bound: f64::NEG_INFINITY, converged: false }
    }
}

/// Runs until `iterations` are done.
fn advance(short: &mut Result<Short<'_>>, iterations: usize) {
    if let Ok(Short { run: Some(run), bound, converged: converged @ false, .. }) = short {
        match run.advance(iterations, &mut unobserved) {
            Ok(stop) => {
                *converged = stop == StopReason::Converged;
                *bound = run.history.last().map_or(f64::NEG_INFINITY, |step| step.bound);
            }
            Err(error) => *short = Err(error),
        }
    }
}

/// The log-likelihood of the model as it is.
fn measure(short: &mut Result<Short<'_>>) {
    if let Ok(Short { run: Some(run), bound, .. }) = short {
        match run.bound(false) {
            Ok(value) => *bound = value,
            Err(error) => *short = Err(error),
        }
    }
}

impl Em {
    /// Trains on `y`, $N \times D$ with NaN where a value is missing: an array, the [`crate::Patches`] of an image, or either of
    /// them with [`Weighted`](crate::model::Weighted) rows.
    ///
    /// # Errors
    ///
    /// What [`Em::check`] finds, and what is wrong with the data: its size, values that a family cannot have, columns without
    /// any value.
    pub fn run(&self, y: &dyn Data) -> Result<Fit> {
        self.run_observed(y, &mut unobserved)
    }

    /// Trains and calls `observer` after each iteration, which can end the training. Where there are several starts, it is also
    /// called during their short runs (stage `starts`, without a training to look at). Within [`keeping`](super::keeping) a training
    /// that was left is resumed.
    ///
    /// # Errors
    ///
    /// As [`Em::run`].
    pub fn run_observed(&self, y: &dyn Data, observer: &mut Observer<'_>) -> Result<Fit> {
        let Some(keeper) = Keeper::of(self, y)? else { return self.run_from_start(y, None, observer) };
        if let Some(left) = keeper.left()? {
            match self.resume_kept(y, left, Some(&keeper), observer) {
                // its name is a hash, which two trainings can share
                Err(Error::Resume { .. }) => {}
                resumed => return resumed,
            }
        }
        self.run_from_start(y, Some(&keeper), observer)
    }

    fn run_from_start(&self, y: &dyn Data, keeper: Option<&Keeper>, observer: &mut Observer<'_>) -> Result<Fit> {
        let training = self.prepare(y)?;
        let average = training.column_means();
        // the data as the model sees it whose posteriors make the first parameters
        let other = match (&self.init, self.warm_start) {
            (Init::Posteriors(model), _) => Some(Training::new(self, model.columns(), y)?),
            (Init::Model(_), _) | (_, 0) => None,
            _ => Some(self.gaussian_training(y)?),
        };
        let begin = |start: usize| -> Result<Run<'_>> {
            let model = self.initial_model(y, &training, &average, other.as_ref(), start)?;
            let mut run = Run::new(self, &training, &average, model);
            self.hand_sets(&mut run, &training)?;
            Ok(run)
        };
        // The best start is run again from its beginning, so that the observer sees all of it.
        let one = self.starts == 1 || matches!(self.init, Init::Model(_) | Init::Posteriors(_));
        let (run, asked) = if one { (begin(0)?, false) } else { self.best_start(begin, observer)? };
        let iterations = if asked { 0 } else { self.all_iterations() };
        let keeper = keeper.filter(|_| !asked);
        let mut fit = self.finished(run, &training, iterations, keeper, observer)?;
        if asked {
            fit.stop = StopReason::Interrupted;
        }
        Ok(fit)
    }

    /// Gives the sets that came with [`Init::Posteriors`], if they are such as `training` has, to a run that has none yet.
    fn hand_sets(&self, run: &mut Run<'_>, training: &Training) -> Result<()> {
        let Some(sets) = self.given_sets.as_deref() else { return Ok(()) };
        match run.posteriors.sets() {
            Some(own) if training.has_rows_of(sets) && (own.h(), own.s()) == (sets.h(), sets.s()) => {
                run.posteriors.continue_from(sets.clone(), 1)
            }
            _ => Ok(()),
        }
    }

    /// Takes a run to its end, after this many iterations at the latest.
    pub(super) fn finished(
        &self,
        mut run: Run<'_>,
        training: &Training,
        iterations: usize,
        keeper: Option<&Keeper>,
        observer: &mut Observer<'_>,
    ) -> Result<Fit> {
        let stop = match keeper {
            None => run.advance(iterations, observer)?,
            Some(keeper) => {
                let mut kept = Ok(());
                let stop = run.advance(iterations, &mut |progress| keeper.see(progress, &mut kept, observer))?;
                kept?;
                // before what is done at the end: a run that is resumed from here does that as well
                keeper.keep(run.snapshot(), true)?;
                stop
            }
        };
        run.remove(run.spare())?;
        let bound = run.bound(self.keep_posteriors)?;
        let Run { mut model, history, posteriors, .. } = run;
        let (mut sets, mut q) = posteriors.into_sets().unzip();
        let ranks = training.ranks();
        if let Some(own) = sets.as_mut().filter(|_| !ranks.is_alone()) {
            *own = own.of_all(ranks)?;
        }
        if let Some(Some(own)) = q.as_mut().filter(|_| !ranks.is_alone()) {
            *own = ranks.broadcast(0, ranks.gather(std::mem::take(own))?.map(|all| all.concat()))?;
        }
        model.states = sets.as_ref().map(Sets::s);
        Ok(Fit { model, bound, history, stop, weight: training.total_weight(), sets, q: q.flatten() })
    }

    /// Gives each start a short run, and begins the best again; the first of equals. Where the observer ends that, the best run as far
    /// as it came, and true.
    fn best_start<'a>(
        &'a self,
        begin: impl Fn(usize) -> Result<Run<'a>> + Sync,
        observer: &mut Observer<'_>,
    ) -> Result<(Run<'a>, bool)> {
        let short = self.short_iterations.min(self.iterations);
        let steps = self.starts.saturating_mul(short);
        let ranks = ranks::current();
        let mut interrupted = |done: usize| ranks.any(observer(&Progress::of_stage("starts", done, steps)).is_break());
        let mut asked = false;
        let mut runs: Vec<Result<Short<'a>>> = Vec::new();
        if self.posterior_settings().is_none() && ranks::current().is_alone() {
            runs = (0..self.starts).into_par_iter().map(|start| Ok(Short::new(start, begin(start)?))).collect();
            for iterations in 1..=short {
                runs.par_iter_mut().for_each(|run| advance(run, iterations));
                asked = interrupted(iterations * self.starts)?;
                if asked {
                    break;
                }
            }
            if !asked {
                runs.par_iter_mut().for_each(measure);
            }
        } else {
            // truncated posteriors keep sets for all rows: then one start at a time, with all threads; ranks must all work on
            // the same
            for start in 0..self.starts {
                let mut run = begin(start).map(|run| Short::new(start, run));
                for iterations in 1..=short {
                    advance(&mut run, iterations);
                    asked = interrupted(start * short + iterations)?;
                    if asked {
                        break;
                    }
                }
                if !asked {
                    measure(&mut run);
                    // what is not needed any more would take the room of the next one
                    run = run.map(|run| Short { run: None, ..run });
                }
                runs.push(run);
                if asked {
                    break;
                }
            }
        }
        // a start that fails loses to those that do not
        let mut best: Option<Short<'a>> = None;
        let mut failure = None;
        for run in runs {
            match run {
                Ok(run) if best.as_ref().is_none_or(|best| run.bound > best.bound) => best = Some(run),
                Ok(_) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        match (best, failure) {
            (Some(Short { run: Some(run), .. }), _) if asked => Ok((run, true)),
            (Some(Short { start, .. }), _) => Ok((begin(start)?, asked)),
            (None, Some(error)) => Err(error),
            (None, None) => Ok((begin(0)?, asked)),
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
            return Ok(Model { columns: training.columns().clone(), ..(**model).clone() });
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
                let row = |n: usize| training.row(n, Some(y));
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
        if let Some(structure) = &self.structure {
            structure.start(&mut model, statistics, average);
        }
        match (&self.init, other) {
            (Init::Posteriors(reference), Some(other)) => {
                let mut run = Run::new(self, other, average, (**reference).clone());
                self.hand_sets(&mut run, other)?;
                self.adopt(model, training, average, other, run)
            }
            (_, Some(gaussian)) => self.warm(y, model, training, average, (gaussian, start)),
            (_, None) => Ok(model),
        }
    }

    /// The data as the warm start sees it: numbers with Gaussian noise.
    fn gaussian_training(&self, y: &dyn Data) -> Result<Training> {
        let columns = Columns::same(std::sync::Arc::new(Gaussian), y.d())?.with_views(self.views.as_ref())?;
        Training::new(self, &columns, y)
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
            families: vec![std::sync::Arc::new(Gaussian).into()],
            background: Background::Learned,
            iterations: self.warm_start,
            further: 0,
            warm_start: 0,
            // all causes go on to the target family
            h: self.first_h(),
            spare: 0,
            // a column of equal values has no variance of its own
            pseudo_count: self.pseudo_count.max(LEAST_PSEUDO_COUNT),
            density_pseudo_count: self.density_pseudo_count.map(|count| count.max(LEAST_PSEUDO_COUNT)),
            // what is held belongs to the target family
            holds: Vec::new(),
            ..self.clone()
        };
        let gaussian_average = gaussian.column_means();
        let first = em.initial_model(y, gaussian, &gaussian_average, None, start)?;
        let mut run = Run::new(&em, gaussian, &gaussian_average, first);
        run.advance(em.iterations, &mut unobserved)?;
        self.adopt(model, training, average, gaussian, run)
    }

    /// Gives the posteriors that `run` has on its own view of the data, `other`, to the M-step of the target family.
    fn adopt(
        &self,
        model: Model,
        training: &Training,
        average: &Array1<f64>,
        other: &Training,
        run: Run<'_>,
    ) -> Result<Model> {
        let Run { model: trained, posteriors, .. } = run;
        let (columns, owning) = (training.columns(), Tables::new(&trained));
        let m_step = MStep {
            pseudo_counts: self.pseudo_counts().at_least(LEAST_PSEUDO_COUNT),
            average,
            smallest_pi: self.smallest_pi,
            hold_pi: self.holds.iter().any(|hold| hold.applies(Held::Pi, 0)),
            hold_w: vec![false; columns.l_max()],
            hold_background: false,
            mean_weight: training.mean_weight(),
            structure: None,
        };
        let e_steps = posteriors.e_steps();
        let (mut posteriors, moments): (Box<dyn EStep + '_>, Moments) = match (other, training) {
            (
                Training::Truncated { observed: other, truncation, .. },
                Training::Truncated { observed, substitutes, .. },
            ) => {
                let mut truncated = Truncated::new(other, truncation, trained.h(), self.seed);
                let trained_sets = posteriors.into_sets().map(|(sets, _)| sets).filter(|_| e_steps > 0);
                // sets that were not trained need a few steps to be good
                let steps = if trained_sets.is_some() { 1 } else { FIRST_STEPS };
                if let Some(sets) = trained_sets {
                    truncated = truncated.with_sets(sets).after(e_steps);
                }
                for _ in 0..steps {
                    truncated.e_step(&trained, 1.0, true)?;
                }
                let tables = Tables {
                    strength: owning.strength.clone(),
                    winners: owning.winners.clone(),
                    ..Tables::for_posteriors(&model)
                };
                let mut truncated = truncated.with_data(observed);
                let moments = truncated.redistribute(&model, &tables)?;
                let mut step = TruncatedStep::new(truncated, substitutes);
                step.adopt(tables, moments.clone());
                (Box::new(step), moments)
            }
            _ => {
                let mut step = ExactStep::for_other(other.sample(), training.sample(), training.ranks());
                let (moments, _) = step.e_step(&trained, 1.0, true)?;
                (Box::new(step), moments)
            }
        };
        m_step.adopt(model, &moments, &mut *posteriors, &owning)
    }
}
