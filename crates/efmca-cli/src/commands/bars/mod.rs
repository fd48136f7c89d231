//! `efmca bars`: the bars test, learned while you watch.

mod files;

use std::ops::ControlFlow;
use std::path::PathBuf;

use efmca::em::{Fit, Progress, StopReason};
use efmca::family::{SharedFamily, family};
use efmca::{Em, Model, bars};
use ndarray::Array2;

use crate::args::common::{ForceArgs, LogFormat, SeedArgs};
use crate::failure::Failure;
use crate::outputs::check_folder;
use crate::progress::Watch;
use crate::show::{Screen, largest_first, square};

/// The options of `efmca bars`.
#[derive(Debug, clap::Args)]
pub(crate) struct BarsArgs {
    /// The noise: exponential, poisson, bernoulli, gaussian or gamma.
    #[arg(long, short, default_value = "exponential", value_name = "FAMILY", value_parser = noise_for)]
    family: &'static Noise,
    #[command(flatten)]
    seed: SeedArgs,
    /// Folder for the picture, the figure and the model; it is created if needed.
    #[arg(long, short, default_value = "efmca-bars", value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    force: ForceArgs,
}

/// Pixels on each side of a picture; there are twice as many bars.
const SIDE: usize = 5;
const PICTURES: usize = 1000;
const PI: f64 = 0.2;
const STARTS: usize = 20;
const EXAMPLES: usize = 10;
/// Without a terminal, a line after so many iterations is enough.
const PLAIN_EVERY: usize = 10;

/// The noise of the demo: a family, and its usual parameters on a bar and off it.
#[derive(Debug)]
struct Noise {
    family: &'static str,
    bar: &'static [f64],
    dark: &'static [f64],
    words: &'static str,
}

const NOISES: [Noise; 5] = [
    Noise { family: "exponential", bar: &[0.1], dark: &[1.0], words: "mean 10 on a bar, 1 off it" },
    Noise { family: "poisson", bar: &[10.0], dark: &[1.0], words: "counts of mean 10 on a bar, 1 off it" },
    Noise {
        family: "bernoulli",
        bar: &[0.99],
        dark: &[0.01],
        words: "pixels set with probability 0.99 on a bar, 0.01 off it",
    },
    Noise { family: "gaussian", bar: &[10.0, 1.0], dark: &[1.0, 1.0], words: "mean 10 on a bar, 1 off it, variance 1" },
    Noise { family: "gamma", bar: &[2.0, 0.2], dark: &[2.0, 2.0], words: "mean 10 on a bar, 1 off it, shape 2" },
];

/// The pictures, and the model that they were drawn from.
struct Task {
    /// The model the pictures are drawn from.
    truth: Model,
    /// A picture in each row.
    data: Array2<f64>,
    /// The log-likelihood of the model that made them.
    log_likelihood: f64,
}

/// Draws pictures, learns from them, and shows the causes.
pub(crate) fn run(args: &BarsArgs) -> Result<(), Failure> {
    let noise = args.family;
    let family = family(noise.family).map_err(Failure::work)?;
    // before the places are taken, so that a signal gives them free
    let stop = Watch::new(LogFormat::Text);
    let paths = check_folder(&args.out, files::NAMES, args.force.force)?;
    let mut screen = Screen::new();

    let truth = bars::model(family.clone(), SIDE, noise.bar, noise.dark, PI).map_err(Failure::work)?;
    let data = truth.sample(PICTURES, args.seed.seed).y;
    let log_likelihood = truth.log_likelihood(&data).map_err(Failure::work)?;
    let task = Task { truth, data, log_likelihood };
    introduce(&mut screen, noise, &task, args.seed.seed)?;

    let fit = learn(&mut screen, &stop, family, &task, args.seed.seed)?;
    report(&mut screen, &task, &fit)?;

    files::write(&paths, &task, &fit)?;
    screen.say("\nWritten:")?;
    let paths = paths.map(|path| path.display().to_string());
    let width = paths.iter().map(|path| path.chars().count()).max().unwrap_or(0);
    for (path, what) in paths.iter().zip(files::CONTENTS) {
        screen.say(&format!("  {path:width$}  {what}"))?;
    }
    Ok(())
}

/// The noise that was asked for, under any of its names.
fn noise_for(spec: &str) -> Result<&'static Noise, String> {
    let family = family(spec).map_err(|error| error.to_string())?;
    NOISES.iter().find(|noise| noise.family == family.spec()).ok_or_else(|| {
        let names: Vec<&str> = NOISES.iter().map(|noise| noise.family).collect();
        format!("there is no demo for this family; choose {}", names.join(", ").replace(", gamma", " or gamma"))
    })
}

/// Introduces the task.
fn introduce(screen: &mut Screen, noise: &Noise, task: &Task, seed: u64) -> Result<(), Failure> {
    let (bars, pictures) = (task.truth.h(), task.data.nrows());
    let examples = screen.pictures(&examples(task));
    screen.say(&format!(
        "The bars test: {bars} bars on {SIDE} x {SIDE} pixels, each in a picture with probability {PI}.\n\
         Noise: {} ({}).\n\n\
         {EXAMPLES} of the {pictures} pictures (seed {seed}), which are all there is to learn from:\n\n{examples}",
        noise.family, noise.words
    ))?;
    Ok(screen.say(&format!("Learning {bars} causes: {STARTS} starts, of which the best goes on."))?)
}

/// Trains and shows every iteration.
fn learn(screen: &mut Screen, stop: &Watch, family: SharedFamily, task: &Task, seed: u64) -> Result<Fit, Failure> {
    let em = Em::new(task.truth.h()).family(family).iterations(100).seed(seed).starts(STARTS).short_iterations(10);
    let mut first = true;
    let mut trouble = None;
    let mut watch = |progress: &Progress<'_>| {
        if stop.stopped() {
            return ControlFlow::Break(());
        }
        // short runs of starts are not shown
        let Some(progress) = progress.training else { return ControlFlow::Continue(()) };
        let line = format!(
            "iteration {:>3} of {}   log-likelihood {:.1}",
            progress.iteration, progress.iterations, progress.bound
        );
        let shown = if screen.is_live() {
            let causes = screen.pictures(&causes(progress.model, 0..progress.model.h()));
            screen.frame(&format!("{line}\n\n{causes}"))
        } else if first || progress.iteration.is_multiple_of(PLAIN_EVERY) {
            screen.say(&line)
        } else {
            Ok(())
        };
        first = false;
        match shown {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                trouble = Some(error);
                ControlFlow::Break(())
            }
        }
    };
    let fit = em.run_observed(&task.data, &mut watch).map_err(Failure::work)?;
    match trouble {
        Some(error) => Err(error.into()),
        None => Ok(fit),
    }
}

/// Shows the learned causes, and how good they are.
fn report(screen: &mut Screen, task: &Task, fit: &Fit) -> Result<(), Failure> {
    let why = match fit.stop {
        StopReason::Converged => "the log-likelihood no longer changes",
        StopReason::Interrupted => "it was stopped",
        _ => "that was the last one",
    };
    screen.clear_frame()?;
    screen.say(&format!("Done after {} iterations: {why}.\n", fit.history.len()))?;
    let learned = screen.pictures(&causes_by_activation(&fit.model));
    screen.say(&format!("The causes that were learned, the most active first:\n\n{learned}"))?;
    let (bars, found) = (task.truth.h(), bars::found(&task.truth, &fit.model));
    screen.say(&if found == bars {
        format!("all {bars} bars were found")
    } else {
        format!("{found} of {bars} bars were found; another --seed can find more")
    })?;
    screen.say(&format!(
        "log-likelihood  {:.1} learned, {:.1} with the model that made the pictures",
        fit.bound, task.log_likelihood
    ))?;
    let pi = fit.model.pi().iter();
    let (low, high) = pi.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), pi| (low.min(*pi), high.max(*pi)));
    Ok(screen
        .say(&format!("activation      {low:.3} to {high:.3} learned, {PI:.3} in the model that made the pictures"))?)
}

/// Some of the pictures. A single very bright pixel, which exponential noise can have, would leave all others black;
/// pixels brighter than twice a bar are therefore drawn as bright as that.
fn examples(task: &Task) -> Vec<Array2<f64>> {
    let brightest = 2.0 * task.truth.means().iter().copied().fold(0.0, f64::max);
    let rows = task.data.outer_iter().take(EXAMPLES);
    rows.map(|row| square(row, SIDE).mapv_into(|value| value.min(brightest))).collect()
}

/// The means of some causes as pictures.
fn causes(model: &Model, which: impl IntoIterator<Item = usize>) -> Vec<Array2<f64>> {
    let means = model.means();
    which.into_iter().map(|h| square(means.row(h), SIDE)).collect()
}

/// The means of all causes as pictures, the most active cause first.
fn causes_by_activation(model: &Model) -> Vec<Array2<f64>> {
    causes(model, largest_first(model.pi()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_noise_makes_a_model() {
        for noise in &NOISES {
            let found = noise_for(noise.family).unwrap();
            let model = bars::model(family(found.family).unwrap(), SIDE, found.bar, found.dark, PI).unwrap();
            assert_eq!((model.h(), model.d()), (2 * SIDE, SIDE * SIDE));
        }
        assert_eq!(noise_for("Normal").unwrap().family, "gaussian");
    }

    #[test]
    fn other_families_are_refused_with_a_choice() {
        let message = noise_for("weibull:k=2").unwrap_err();
        assert!(message.contains("exponential, poisson, bernoulli, gaussian or gamma"), "{message}");
    }
}
