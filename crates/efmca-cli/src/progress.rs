//! What is seen while learning goes on, and how it is stopped.

use std::io::{IsTerminal, Write, stderr};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use efmca::em::{Progress, TrainingProgress};
use indicatif::{ProgressBar, ProgressStyle};

use crate::clean_args::LogFormat;

/// A bar on a terminal, lines of JSON for machines, and nothing elsewhere.
pub(crate) struct Watch {
    bar: Option<ProgressBar>,
    json: bool,
    started: Instant,
    /// Iterations that were done before, in runs that are gone on with.
    before: Option<usize>,
    /// Trainings that were done when one was last told about.
    told: usize,
    stop: Arc<AtomicBool>,
}

impl Watch {
    /// For work without steps, which Ctrl-C ends at once.
    pub(crate) fn without_steps(format: LogFormat) -> Self {
        let json = format == LogFormat::Json;
        Self { bar: None, json, started: Instant::now(), before: None, told: 0, stop: Arc::new(AtomicBool::new(false)) }
    }

    /// From now on Ctrl-C ends the learning after the step that is running; a second one ends the program.
    pub(crate) fn new(format: LogFormat) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        // Where signals cannot be caught, Ctrl-C ends the program as it always does.
        let _ = ctrlc::set_handler(move || {
            if asked.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
            let _ = writeln!(stderr(), "\nstopping after this step; press Ctrl-C again to stop at once");
        });
        let bar = (format == LogFormat::Text && stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}, {eta} left");
            ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Self { bar, json: format == LogFormat::Json, started: Instant::now(), before: None, told: 0, stop }
    }

    /// Whether the user asked to stop.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Shows how far the work is, and ends it if the user asked for that.
    pub(crate) fn see(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        match &progress.training {
            Some(training) => self.iteration(training),
            None => self.stage(progress),
        }
        if self.stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// One iteration is done.
    fn iteration(&mut self, training: &TrainingProgress<'_>) {
        let active = training.model.pi().sum();
        let before = *self.before.get_or_insert(training.iteration - 1);
        if let Some(bar) = &self.bar {
            bar.set_length(training.iterations as u64);
            bar.set_message(format!("bound {:.6e}, {active:.1} causes active", training.bound));
            bar.set_position(training.iteration as u64);
            if training.iteration == before + 1 {
                bar.reset_eta();
            }
        }
        let seconds = self.started.elapsed().as_secs_f64();
        // several trainings start from one again
        let done = training.iteration.saturating_sub(before).max(1);
        let left = seconds / done as f64 * (training.iterations - training.iteration) as f64;
        self.event(
            "iteration",
            &[
                ("iteration", training.iteration.into()),
                ("iterations", training.iterations.into()),
                ("bound", training.bound.into()),
                ("active", active.into()),
                ("seconds", seconds.into()),
                ("seconds_left", left.into()),
            ],
        );
    }

    /// One of several trainings is done, or proceeds.
    fn stage(&mut self, progress: &Progress<'_>) {
        let (done, all) = (progress.done, progress.total);
        if let Some(bar) = &self.bar {
            bar.set_length(all as u64);
            bar.set_message(progress.stage.to_owned());
            bar.set_position(done as u64);
        }
        // the observer is also called between iterations, which are not worth a line
        if done != self.told && progress.stage != "starts" {
            self.told = done;
            let seconds = self.started.elapsed().as_secs_f64();
            let left = seconds / done.max(1) as f64 * all.saturating_sub(done) as f64;
            self.event(
                "training",
                &[
                    ("done", progress.stage.into()),
                    ("trainings", done.into()),
                    ("of", all.into()),
                    ("seconds", seconds.into()),
                    ("seconds_left", left.into()),
                ],
            );
        }
    }

    /// Something that went wrong and does not end the work.
    pub(crate) fn warn(&self, message: &str) {
        self.event("warning", &[("message", message.into())]);
        if !self.json {
            let say = || {
                let _ = writeln!(stderr().lock(), "warning: {message}");
            };
            self.bar.as_ref().map_or_else(say, |bar| bar.suspend(say));
        }
    }

    /// A line of JSON, if that is wanted.
    pub(crate) fn event(&self, name: &str, fields: &[(&str, serde_json::Value)]) {
        if self.json {
            let mut object = serde_json::Map::new();
            object.insert("event".into(), name.into());
            object.extend(fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
            let _ = writeln!(stderr().lock(), "{}", serde_json::Value::Object(object));
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
