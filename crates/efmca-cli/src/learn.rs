//! `efmca learn`: dictionaries of image patches or other rows, in runs that survive.

use std::ops::ControlFlow;
use std::path::Path;

use efmca::em::{Progress, StopReason};
use efmca::tasks::learn::FeatureLearner;
use efmca::{Checkpoint, Em, Error, Fingerprint, Fit};
use efmca_io::{ModelFile, read_checkpoint, write_checkpoint, write_model_file};
use efmca_view::{Gallery, Report};
use serde_json::Value;

use crate::clean::set_threads;
use crate::failure::Failure;
use crate::learn_args::FeatureArgs;
use crate::learn_data::Points;
use crate::learn_files::Files;
use crate::progress::Watch;
use crate::show::Screen;

pub(crate) fn learn(args: &FeatureArgs) -> Result<(), Failure> {
    set_threads(args.threads)?;
    let learner = args.learning.learner()?;
    let family = learner.family().map_err(Failure::input)?;
    let files = Files::new(&args.out_dir);
    files.check(args)?;
    let watch = Watch::new(args.log_format);
    let points = Points::read(args, &family)?;
    let mut screen = Screen::new();
    for remark in &points.remarks {
        screen.say(&format!("note: {remark}"))?;
    }
    let em = learner.em(points.data.n()).map_err(Failure::work)?;
    let left = if args.resume { left_run(&files.checkpoint, &points)? } else { None };
    files.clear(args)?;
    screen.say(&match &left {
        Some(left) if left.history.len() == args.learning.iterations => {
            format!(
                "{}: all {} iterations are done, and pictures are made again",
                points.words, args.learning.iterations
            )
        }
        Some(left) => format!("{}: going on after iteration {}", points.words, left.history.len()),
        None if args.resume => format!("{}: there is no checkpoint yet, so this is a new run", points.words),
        None => points.words.clone(),
    })?;
    let mut keeper = Keeper {
        path: &files.checkpoint,
        every: args.checkpoint_every,
        settings: em.described(),
        data: Fingerprint::of(&*points.data),
        note: &points.settings,
        watch,
    };
    let fit = trained(&em, &points, left, &mut keeper).map_err(|error| located(&error, args, points.patch))?;
    let watch = keeper.watch;
    watch.finish();
    let file = ModelFile {
        patch: points.patch,
        logarithms: points.settings["transform"] == "log",
        whitening: points.whitening.clone(),
        ..ModelFile::from(fit.model.clone())
    };
    write_model_file(&files.model, &file).map_err(Failure::work)?;
    let gallery = Gallery::new(&fit, &*points.data, points.patch);
    let pictures = gallery.write(&args.out_dir, &mut |problem| watch.warn(problem)).map_err(Failure::work)?;
    let report = Report {
        title: "Learned causes".into(),
        summary: settings(args, &learner, &points, &fit),
        sections: gallery.sections().map_err(Failure::work)?,
        curve: gallery.curve(),
        ..Report::default()
    };
    report.write(&files.report, true).map_err(Failure::work)?;
    if fit.stop == StopReason::Interrupted {
        screen.say(&format!("stopped after iteration {}: --resume goes on from there", fit.history.len()))?;
    }
    screen.say(&format!(
        "log-likelihood bound {:.4} a data point, {:.1} of {} causes active in one on average",
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

/// The run that was left in the folder, if there is one and it is of the same data.
fn left_run(path: &Path, points: &Points) -> Result<Option<Checkpoint>, Failure> {
    if !path.exists() {
        return Ok(None);
    }
    let (left, note) = read_checkpoint(path).map_err(|error| {
        Failure::input(format!("{error}; --force instead of --resume replaces it, another --out-dir keeps it"))
    })?;
    // whether they are rows comes first, since the other settings depend on it
    let names = points.settings.as_object().into_iter().flat_map(|settings| settings.keys()).map(String::as_str);
    for name in std::iter::once("rows").chain(names) {
        let (then, now) = (&note[name], &points.settings[name]);
        if then != now {
            return Err(Failure::input(format!(
                "{}: the run was started with --{name} {}, and now it is {}; give the same as then, or start a new run \
                 with another --out-dir",
                path.display(),
                in_words(then),
                in_words(now)
            )));
        }
    }
    Ok(Some(left))
}

/// A setting of the data as it is given.
fn in_words(setting: &Value) -> String {
    match setting {
        Value::Null => "none".to_owned(),
        Value::Bool(given) => if *given { "given" } else { "not given" }.to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(sides) => sides.iter().map(Value::to_string).collect::<Vec<_>>().join("x"),
        other => other.to_string(),
    }
}

fn trained(em: &Em, points: &Points, left: Option<Checkpoint>, keeper: &mut Keeper<'_>) -> Result<Fit, Error> {
    let mut see = |progress: &Progress<'_>| keeper.see(progress);
    match left {
        Some(left) => em.resume(&*points.data, left, &mut see),
        None => em.run_observed(&*points.data, &mut see),
    }
}

/// Shows how training goes, and writes checkpoints.
struct Keeper<'a> {
    path: &'a Path,
    every: usize,
    settings: Vec<(String, String)>,
    data: Fingerprint,
    note: &'a Value,
    watch: Watch,
}

impl Keeper<'_> {
    fn see(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        let flow = self.watch.see(progress);
        let Some(training) = progress.training else { return flow };
        let last = flow.is_break() || training.iteration == training.iterations;
        if self.every > 0 && (last || training.iteration.is_multiple_of(self.every)) {
            // a full disk must not cost the work that was done
            match write_checkpoint(self.path, &training.state, &self.settings, self.data, self.note) {
                Ok(()) => self.watch.event("checkpoint", &[("iteration", training.iteration.into())]),
                Err(error) => self.watch.warn(&format!("training goes on without this checkpoint: {error}")),
            }
        }
        flow
    }
}

/// What is wrong with the data, in words about images.
fn located(error: &Error, args: &FeatureArgs, patch: Option<[usize; 3]>) -> Failure {
    let pixel = |column: usize| {
        let [rows, columns, _] = patch.filter(|_| !args.data.rows)?;
        Some(format!("the pixel in row {}, column {} of patches", column / columns % rows + 1, column % columns + 1))
    };
    let message = match error {
        Error::TooFarFromZero { column, mean, family } => pixel(*column).map(|pixel| {
            format!(
                "{pixel} is always {mean} or very near to it, so that `{family}` cannot tell how it scatters; give other \
                 images, or more of them"
            )
        }),
        Error::EmptyColumn { column } => {
            pixel(*column).map(|pixel| format!("{pixel} is always missing; give other images, or a smaller --patch"))
        }
        Error::Resume { .. } => Some(format!("{error}; another --out-dir keeps both runs")),
        _ => None,
    };
    match (message, args.inputs.first().filter(|_| args.data.rows)) {
        (Some(message), _) => Failure::input(message),
        (None, Some(path)) => Failure::input(format!("{}: {error}", path.display())),
        (None, None) => Failure::input(error),
    }
}

/// What the report says about the run.
fn settings(args: &FeatureArgs, learner: &FeatureLearner, points: &Points, fit: &Fit) -> Vec<(String, String)> {
    let inputs: Vec<String> = args
        .inputs
        .iter()
        .filter_map(|path| path.file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    let phases = learner.second_phase().ok().flatten().map_or("all parameters together".to_owned(), |second| {
        format!("means and priors for {second} iterations, then standard deviations")
    });
    let mut settings = vec![
        ("data".to_owned(), points.words.clone()),
        ("files".to_owned(), inputs.join(", ")),
        ("schedule".to_owned(), phases),
    ];
    if let Some(share) = points.settings["whiten"].as_f64() {
        settings.push(("whitening".to_owned(), format!("ZCA, {} % of the variance", share * 100.0)));
    }
    if points.settings["transform"] == "log" {
        settings.push(("values".to_owned(), "logarithms".to_owned()));
    }
    let shown = ["causes", "family", "superposition", "iterations", "seed", "start", "pseudo-count", "batches"];
    let described = learner.em(points.data.n()).map(|em| em.described()).unwrap_or_default();
    settings.extend(described.into_iter().filter(|(name, _)| shown.contains(&name.as_str())));
    settings.push(("states of a data point".to_owned(), args.learning.states.to_string()));
    settings.push(("iterations done".to_owned(), fit.history.len().to_string()));
    settings.push(("bound".to_owned(), format!("{:.4} a data point", fit.bound / fit.weight)));
    settings.push(("active".to_owned(), format!("{:.2} causes in a data point", fit.model.pi().sum())));
    settings
}
