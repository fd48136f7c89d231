//! The training itself, with its times.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use efmca::Fit;
use efmca::em::{Progress, keeping};
use efmca::family::{SharedFamily, family};
use efmca::model::Data;
use efmca::tasks::learn::{Drawing, FeatureLearner, Preparation, PreparationError, Transform};
use efmca_io::{KeptFolder, KeptNews};
use ndarray::Array3;

use super::course::Course;
use super::{Settings, Times};
use crate::cleaning::read_grey;
use crate::output::{Done, say};
use crate::speed::peak_memory;

/// The paper's range of first priors.
const PAPER_PRIORS: (f64, f64) = (0.1, 0.5);

/// How often a training is kept: one of the paper's size is a quarter of a gigabyte.
const KEPT_EVERY: Duration = Duration::from_secs(300);

/// A trained model and the patches that it was trained on.
pub(super) struct Learned {
    pub(super) fit: Fit,
    pub(super) rows: Box<dyn Data + Send>,
    pub(super) images: usize,
    pub(super) times: Times,
}

impl Learned {
    /// Active causes in the best state of a patch, on average.
    pub(super) fn active(&self) -> f64 {
        let Some(sets) = &self.fit.sets else { return f64::NAN };
        let active = |n: usize| sets.state(n, 0).count() as u32;
        (0..sets.n()).map(|n| f64::from(active(n))).sum::<f64>() / sets.n().max(1) as f64
    }
}

pub(super) fn learned(settings: &Settings) -> Done<Learned> {
    let size = settings.size();
    let start = ProcessTime::now();
    let family = family("gaussian")?;
    let transform = if settings.linear { Transform::None } else { Transform::Log };
    let preparation = Preparation { transform, normalise: false, whiten: Some(settings.share) };
    preparation.check(&*family)?;
    let images = images(settings, preparation, &family)?;
    let count = images.len();
    let drawing = Drawing { patch: (size.patch, size.patch), count: size.patches, seed: settings.seed };
    let rows = preparation.patches(images, drawing)?.data;
    let patches = start.elapsed().as_secs_f64();
    say(&format!("{} patches of {count} images, whitened in {patches:.1} CPU s", rows.n()));
    let mut learner = FeatureLearner::new(family, size.causes)
        .iterations(size.iterations)
        .states(settings.states)
        .pseudo_rows(settings.pseudo_rows)
        .seed(settings.seed);
    if settings.paper_priors {
        learner = learner.pi_init(PAPER_PRIORS.0, PAPER_PRIORS.1);
    }
    let course = Rc::new(Course::new(settings.keep.as_deref())?);
    let mut last = (ProcessTime::now(), Instant::now());
    let observer = &mut |progress: &Progress<'_>| {
        let now = (last.0.elapsed().as_secs_f64(), last.1.elapsed().as_secs_f64());
        last = (ProcessTime::now(), Instant::now());
        course.note(progress.done, now);
        let bound = progress.training.map_or(f64::NAN, |training| training.bound) / rows.n() as f64;
        say(&format!("{} of {}: bound {bound:.3} a patch, {:.1} CPU s", progress.done, size.iterations, now.0));
        if settings.steps.is_some_and(|steps| progress.done > steps) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let fit = match &settings.keep {
        None => learner.run_observed(&*rows, observer)?,
        Some(folder) => {
            let of_training = course.clone();
            let tell = move |news: KeptNews<'_>| match news {
                KeptNews::Found(iterations) => of_training.goes_on_after(iterations),
                KeptNews::Problem(error) => say(&format!("not kept: {error}")),
                _ => {}
            };
            let place = Rc::new(KeptFolder::new(folder, KEPT_EVERY, tell));
            keeping(place, || learner.run_observed(&*rows, observer))?
        }
    };
    let (first, cpu, wall) = course.times();
    let all = patches + first + cpu.iter().sum::<f64>();
    let middle = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let (step_cpu, step_wall) = (middle(cpu), middle(wall));
    let times = Times { patches, first, step_cpu, step_wall, cpu: all, megabytes: peak_memory() };
    Ok(Learned { fit, rows, images: count, times })
}

/// All images of the folder in the order of their names.
fn images(settings: &Settings, preparation: Preparation, family: &SharedFamily) -> Done<Vec<Array3<f64>>> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&settings.images)
        .map_err(|error| format!("{}: {error}", settings.images.display()))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| {
            path.extension().is_some_and(|ending| ["png", "tif", "tiff"].iter().any(|known| ending == *known))
        })
        .collect();
    paths.sort();
    if paths.is_empty() {
        return Err(format!("{}: there is no PNG or TIFF image", settings.images.display()).into());
    }
    let mut images = Vec::new();
    for (path, number) in paths.iter().zip(1..) {
        let image = read_grey(path)?.index_axis_move(ndarray::Axis(0), 0);
        let prepared = preparation.image(image, number, &**family);
        images.push(prepared.map_err(|error| {
            let hint = if matches!(error, PreparationError::NoLogarithm { .. }) { " (--linear)" } else { "" };
            format!("{}: {error}{hint}", path.display())
        })?);
    }
    Ok(images)
}
