//! `efmca learn`: dictionaries of image patches or other rows, in runs that survive interruptions.

mod args;
mod data;
mod files;
mod settings;

use std::ops::ControlFlow;
use std::path::Path;

use efmca::em::{Progress, Snapshot, StopReason};
use efmca::tasks::learn::{FeatureLearner, Start};
use efmca::{Checkpoint, Em, Error, Fingerprint, Fit};
use efmca_io::{ModelFile, read_checkpoint, write_checkpoint, write_model_file};
use efmca_view::{Gallery, Report};
use serde_json::Value;

use crate::cluster;
use crate::failure::Failure;
use crate::memory;
use crate::progress::Watch;
use crate::rescue::Rescue;
use crate::show::Screen;
pub(crate) use args::LearnArgs;
use data::{Input, Points};
use files::Files;
use settings::DataSettings;

/// Learns features, and writes the model, pictures and a report.
pub(crate) fn run(args: &LearnArgs) -> Result<(), Failure> {
    let learner = args.learning.learner()?;
    let input = Input::new(args)?;
    args.work.set_threads()?;
    let files = Files::new(&args.out_dir, &*args.learning.family);
    files.check(args)?;
    let watch = Watch::new(args.work.log_format);
    let points = input.read()?;
    let mut screen = Screen::beside_files();
    for remark in &points.remarks {
        screen.say(&format!("note: {remark}"))?;
    }
    let left = if args.resume { left_run(&files.checkpoint, &points.settings)? } else { None };
    cluster::same(left.as_ref().map_or(-1.0, |left| left.history.len() as f64), "checkpoint")?;
    let started_with = left.as_ref().map_or(args.learning.iterations, |left| first_iterations(args, left));
    let learner = learner.iterations(started_with);
    let em = learner.em(points.data.n()).map_err(Failure::input)?.further(args.learning.iterations - started_with);
    memory::check(
        em.memory(&*points.data).map_err(Failure::input)?,
        "the training",
        "take fewer --patches, --causes or --states",
    )?;
    files.clear(args)?;
    screen.say(&introduction(args, &points, left.as_ref()))?;
    if started_with < args.learning.iterations {
        let more = args.learning.iterations - started_with;
        screen.say(&format!(
            "the run was started with {started_with} iterations and keeps to the schedule of these; {more} more follow"
        ))?;
    }
    let mut keeper = Keeper {
        path: &files.checkpoint,
        every: args.checkpoint_every,
        settings: em.settings(),
        data: Fingerprint::over_ranks(&*points.data).map_err(Failure::input)?,
        note: serde_json::to_value(&points.settings).map_err(Failure::work)?,
        watch,
        failed: None,
    };
    let fit = trained(&em, &points, left, &mut keeper).map_err(|error| input.origin().describe(&error))?;
    if let Some(error) = keeper.failed {
        return Err(Failure::work(error));
    }
    keeper.watch.finish();
    if cluster::follows() {
        return Ok(());
    }
    finish(args, &learner, &files, &points, &fit, &keeper.watch, &mut screen)
}

/// The data, and how the run begins.
fn introduction(args: &LearnArgs, points: &Points, left: Option<&Checkpoint>) -> String {
    let (words, iterations) = (&points.words, args.learning.iterations);
    match left {
        Some(left) if left.history.len() == iterations => {
            format!("{words}: all {iterations} iterations are done; pictures and report are written again")
        }
        Some(left) => format!("{words}: resuming after iteration {}", left.history.len()),
        None if args.resume => format!("{words}: there is no checkpoint yet, so this is a new run"),
        None => words.clone(),
    }
}

/// The iterations that a run was started with, which its schedule depends on: fewer than those that are asked for now, if it is
/// prolonged.
fn first_iterations(args: &LearnArgs, left: &Checkpoint) -> usize {
    let then = left.settings.get("iterations").and_then(Value::as_u64).and_then(|then| usize::try_from(then).ok());
    then.filter(|then| *then <= args.learning.iterations).unwrap_or(args.learning.iterations)
}

/// The run that was left in the folder, if there is one and it is of the same data.
fn left_run(path: &Path, settings: &DataSettings) -> Result<Option<Checkpoint>, Failure> {
    if !path.exists() {
        return Ok(None);
    }
    let (left, note) = read_checkpoint(path).map_err(|error| {
        Failure::input(format!("{error}; --force instead of --resume replaces it, another --out-dir keeps it"))
    })?;
    let then: DataSettings = serde_json::from_value(note).map_err(|error| {
        Failure::input(format!(
            "{}: its data settings cannot be read ({error}), so it was written by another program; start a new run \
             with another --out-dir",
            path.display()
        ))
    })?;
    if let Some(difference) = settings.difference(&then) {
        return Err(Failure::input(format!(
            "{}: the run was {difference}; give the same as then, or start a new run with another --out-dir",
            path.display()
        )));
    }
    Ok(Some(left))
}

fn trained(em: &Em, points: &Points, left: Option<Checkpoint>, keeper: &mut Keeper<'_>) -> Result<Fit, Error> {
    let mut see = |progress: &Progress<'_>| keeper.see(progress);
    match left {
        Some(left) => em.resume(&*points.data, left, &mut see),
        None => em.run_observed(&*points.data, &mut see),
    }
}

/// Shows how training proceeds, and writes checkpoints.
struct Keeper<'a> {
    path: &'a Path,
    every: usize,
    settings: efmca::em::Settings,
    data: Fingerprint,
    note: Value,
    watch: Watch,
    /// An error of the way to other ranks.
    failed: Option<Error>,
}

impl Keeper<'_> {
    fn see(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        let flow = self.watch.see(progress);
        let Some(training) = progress.training else { return flow };
        let last = flow.is_break() || training.iteration == training.iterations;
        if self.every > 0 && (last || training.iteration.is_multiple_of(self.every)) {
            let write =
                |state: &Snapshot<'_>| write_checkpoint(self.path, state, &self.settings, self.data, &self.note);
            // a full disk must not cost the work that was done
            match training.state.gathered(write) {
                Ok(Some(Ok(()))) => self.watch.event("checkpoint", &[("iteration", training.iteration.into())]),
                Ok(Some(Err(error))) => {
                    self.watch.warn(&format!("training continues without this checkpoint: {error}"));
                }
                Ok(None) => {}
                Err(error) => {
                    self.failed = Some(error);
                    return ControlFlow::Break(());
                }
            }
        }
        flow
    }
}

/// Writes the model, pictures and a report, and says so.
fn finish(
    args: &LearnArgs,
    learner: &FeatureLearner,
    files: &Files,
    points: &Points,
    fit: &Fit,
    watch: &Watch,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let file = ModelFile {
        patch: points.patch,
        logarithms: points.settings.has_logarithms(),
        whitening: points.whitening.clone(),
        ..ModelFile::from(fit.model.clone())
    };
    // pictures and report can be made again from the checkpoint; the model is what the hours were for
    let mut rescue = Rescue::default();
    rescue.write(&files.model, |path| write_model_file(path, &file));
    rescue.finish()?;
    let gallery = Gallery::new(fit, &*points.data, points.patch);
    let pictures = gallery.write(&args.out_dir, &mut |problem| watch.warn(problem)).map_err(Failure::work)?;
    let report = Report {
        title: "Learned causes".into(),
        summary: summary(args, learner, points, fit).map_err(Failure::work)?,
        sections: gallery.sections().map_err(Failure::work)?,
        curve: gallery.curve(),
        ..Report::default()
    };
    report.write(&files.report, true).map_err(Failure::work)?;
    if fit.stop == StopReason::Interrupted {
        screen.say(&format!("stopped after iteration {}: --resume continues from there", fit.history.len()))?;
    }
    screen.say(&format!(
        "log-likelihood bound {:.4} per data point, {:.1} of {} causes active in one on average",
        fit.bound / fit.weight,
        fit.model.pi().sum(),
        fit.model.h()
    ))?;
    let mut line = format!("wrote {}, {}", files.report.display(), files.model.display());
    for path in &pictures {
        line += &format!(", {}", path.display());
    }
    watch.event("written", &[("path", files.model.display().to_string().into())]);
    Ok(screen.say(&line)?)
}

/// The settings and results of the run, for the report.
fn summary(
    args: &LearnArgs,
    learner: &FeatureLearner,
    points: &Points,
    fit: &Fit,
) -> Result<Vec<(String, String)>, Error> {
    let names = args.inputs.iter().filter_map(|path| path.file_name());
    let inputs: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    let phases = learner.second_phase()?.map_or("all parameters together".to_owned(), |second| {
        format!("means and priors for {second} iterations, then standard deviations")
    });
    let mut lines = vec![("data", points.words.clone()), ("files", inputs.join(", ")), ("schedule", phases)];
    if let Some(share) = points.settings.whiten {
        lines.push(("whitening", format!("ZCA, {} % of the variance", share * 100.0)));
    }
    if points.settings.has_logarithms() {
        lines.push(("values", "logarithms".to_owned()));
    }
    let learning = &args.learning;
    let start = match learning.start {
        Start::Clusters => format!("clusters, {} times the standard deviations of the data", learning.spread),
        Start::Rows => "single data points".to_owned(),
    };
    lines.extend([
        ("causes", learning.causes.to_string()),
        ("family", learning.family.spec()),
        ("superposition", String::from(learner.rule()?)),
        ("iterations", learning.iterations.to_string()),
        ("seed", learning.seed.seed.to_string()),
        ("start", start),
        ("pseudo-count", (learning.pseudo_rows * points.data.n() as f64).to_string()),
        ("batches", learning.batches.to_string()),
        ("states of a data point", learning.states.to_string()),
        ("iterations done", fit.history.len().to_string()),
        ("bound", format!("{:.4} per data point", fit.bound / fit.weight)),
        ("active", format!("{:.2} causes in a data point", fit.model.pi().sum())),
    ]);
    Ok(lines.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}
