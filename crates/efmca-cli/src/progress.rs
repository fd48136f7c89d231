//! Showing how far long work is, and stopping it.

use std::io::{IsTerminal, Write, stderr};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use efmca::em::{Progress, TrainingProgress};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use crate::args::common::LogFormat;
use crate::cluster;
use crate::show::Screen;
use crate::times::RankTimes;

/// Whether somebody asked to stop the command at work.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// Whether the system asked to end the program: with SIGTERM, as workload managers do before the time of a job is over, with SIGHUP
/// where a terminal closes, or with SIGXCPU at the limit on its time (`ulimit -S -t`).
static TERMINATED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
    let asked = Arc::new(AtomicBool::new(false));
    // a second one ends the program at once; where signals cannot be caught, the first does
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGHUP, SIGTERM, SIGXCPU};
        use signal_hook::flag;
        let _ = flag::register_conditional_shutdown(SIGTERM, 143, Arc::clone(&asked));
        let _ = flag::register(SIGTERM, Arc::clone(&asked));
        // sent again every second
        let _ = flag::register(SIGXCPU, Arc::clone(&asked));
        // under `nohup` the work goes on
        if is_deadly(SIGHUP) {
            let _ = flag::register(SIGHUP, Arc::clone(&asked));
        }
    }
    asked
});

/// Whether a signal ends the program, as far as the system says; if not, it was started to live on.
#[cfg(unix)]
fn is_deadly(signal: i32) -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| !is_ignored(&status, signal))
}

/// Whether `/proc/self/status` names a signal among those that are ignored.
#[cfg(unix)]
fn is_ignored(status: &str, signal: i32) -> bool {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_none_or(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Whether somebody asked to stop the command at work, so that its result is none or the one so far.
pub(crate) fn was_stopped() -> bool {
    STOPPED.load(Ordering::SeqCst) || TERMINATED.load(Ordering::SeqCst)
}

/// A bar on a terminal, lines of JSON for programs, and nothing elsewhere.
pub(crate) struct Watch {
    bar: Option<ProgressBar>,
    json: bool,
    started: Instant,
    pace: Pace,
    /// Trainings that were done when one was last told about.
    told: usize,
    stop: Arc<AtomicBool>,
    /// Where the time of ranks goes.
    times: RankTimes,
    /// What stands before every message: the file, if there are several.
    label: String,
}

/// The steps of the work at hand and the time that they take. Work such as comparing families and then training has
/// several parts, which count their steps anew.
struct Pace {
    /// The end of the part before, and the steps that were done then: some, in runs that are resumed.
    since: Instant,
    first: usize,
    /// The last time that the work was heard of, and the steps that were done then.
    last: Instant,
    done: Option<usize>,
}

impl Pace {
    fn new() -> Self {
        let now = Instant::now();
        Self { since: now, first: 0, last: now, done: None }
    }

    /// Whether this is the first step of another part.
    fn see(&mut self, done: usize) -> bool {
        let anew = self.done.is_none_or(|before| done < before);
        if anew {
            (self.since, self.first) = (self.last, done.saturating_sub(1));
        }
        (self.last, self.done) = (Instant::now(), Some(done));
        anew
    }

    fn seconds_left(&self, done: usize, total: usize) -> f64 {
        let each = self.since.elapsed().as_secs_f64() / done.saturating_sub(self.first).max(1) as f64;
        each * total.saturating_sub(done) as f64
    }
}

impl Watch {
    /// For work without steps, which Ctrl-C ends at once.
    pub(crate) fn without_steps(format: LogFormat) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (json, started) = (format == LogFormat::Json && !cluster::follows(), Instant::now());
        let times = RankTimes::new(&cluster::ranks());
        Self { bar: None, json, started, pace: Pace::new(), told: 0, stop, times, label: String::new() }
    }

    /// From now on Ctrl-C ends the work after the step that is running; a second one ends the program.
    pub(crate) fn new(format: LogFormat) -> Self {
        let watch = Self::without_steps(format);
        let asked = Arc::clone(&watch.stop);
        STOPPED.store(false, Ordering::SeqCst);
        LazyLock::force(&TERMINATED);
        // Where signals cannot be caught, Ctrl-C ends the program as it always does.
        let _ = ctrlc::set_handler(move || {
            STOPPED.store(true, Ordering::SeqCst);
            if asked.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
            if !cluster::follows() {
                let _ = writeln!(stderr(), "\nstopping after this step; press Ctrl-C again to stop at once");
            }
        });
        let shown = format == LogFormat::Text && !cluster::follows() && stderr().is_terminal();
        let bar = shown.then(new_bar);
        let watch = Self { bar, ..watch };
        if let Some(processes) = cluster::processes() {
            // a launcher may name a process that was killed, and not its rank
            let words: Vec<String> = processes.iter().map(u64::to_string).collect();
            watch.event("started", &[("processes", processes.into())]);
            watch.tell(&format!("{} ranks, which are processes {}", words.len(), words.join(", ")));
        }
        watch
    }

    /// The same for one of several files: it has a bar of its own, and Ctrl-C ends them all.
    pub(crate) fn for_file(&self, name: &str) -> Self {
        let (bar, stop) = (self.bar.as_ref().map(|_| new_bar()), Arc::clone(&self.stop));
        let label = format!("{name}, ");
        let times = RankTimes::new(&cluster::ranks());
        Self { bar, json: self.json, started: Instant::now(), pace: Pace::new(), told: 0, stop, times, label }
    }

    /// Whether the user asked to stop.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst) || TERMINATED.load(Ordering::SeqCst)
    }

    /// Shows how far the work is, and ends it if the user asked for that.
    pub(crate) fn see(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        let Some(training) = &progress.training else {
            return self.step(progress.stage, progress.done, progress.total);
        };
        self.show(&of_training(progress.stage, training), progress.done, progress.total);
        let fields = [
            ("iteration", training.iteration.into()),
            ("iterations", training.iterations.into()),
            ("bound", training.bound.into()),
            ("active", training.model.pi().sum().into()),
        ];
        self.timed_event("iteration", &fields, progress.done, progress.total);
        match self.times.step(&cluster::ranks()) {
            Ok(Some(times)) => {
                let iteration = [("iteration", training.iteration.into())];
                self.event("ranks", &[&iteration[..], &times].concat());
            }
            Ok(None) => {}
            // the next thing that is asked of the other ranks fails as well, and says so
            Err(_) => return ControlFlow::Break(()),
        }
        self.flow()
    }

    /// Shows how many of all steps are done, and ends the work if the user asked for that.
    pub(crate) fn step(&mut self, stage: &str, done: usize, total: usize) -> ControlFlow<()> {
        self.show(stage, done, total);
        if stage == "rows" {
            self.timed_event("rows", &[("rows", done.into()), ("of", total.into())], done, total);
        } else if done != self.told && stage != "starts" {
            // observers are also called between iterations, which are not worth a line
            self.told = done;
            let fields = [("done", stage.into()), ("trainings", done.into()), ("of", total.into())];
            self.timed_event("training", &fields, done, total);
        }
        self.flow()
    }

    /// One rank that is asked to stop is enough, and all of them must stop at the same step.
    fn flow(&self) -> ControlFlow<()> {
        let stopped = cluster::ranks().any(self.stopped()).unwrap_or(true);
        if stopped {
            STOPPED.store(true, Ordering::SeqCst);
            self.stop.store(true, Ordering::SeqCst);
        }
        if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn show(&mut self, message: &str, done: usize, total: usize) {
        let anew = self.pace.see(done);
        if let Some(bar) = &self.bar {
            bar.set_length(total as u64);
            bar.set_message(format!("{}{message}", self.label));
            bar.set_position(done as u64);
            if anew {
                bar.reset_eta();
            }
        }
    }

    /// Prints a line of the result while the work goes on.
    pub(crate) fn say(&self, line: &str) -> std::io::Result<()> {
        let say = || Screen::beside_files().say(line);
        self.bar.as_ref().map_or_else(say, |bar| bar.suspend(say))
    }

    /// Shows something that went wrong and does not end the work.
    pub(crate) fn warn(&self, message: &str) {
        self.event("warning", &[("message", message.into())]);
        if !self.json && !cluster::follows() {
            let say = || {
                let _ = writeln!(stderr().lock(), "warning: {message}");
            };
            self.bar.as_ref().map_or_else(say, |bar| bar.suspend(say));
        }
    }

    /// Shows people something that is no part of the result.
    pub(crate) fn tell(&self, message: &str) {
        if !self.json && !cluster::follows() {
            let _ = writeln!(stderr().lock(), "{message}");
        }
    }

    /// An event with the time that has passed and the time that is left.
    fn timed_event(&self, name: &str, fields: &[(&str, Value)], done: usize, total: usize) {
        let left = self.pace.seconds_left(done, total);
        let times = [("seconds", self.started.elapsed().as_secs_f64().into()), ("seconds_left", left.into())];
        self.event(name, &[fields, &times].concat());
    }

    /// Writes a line of JSON, if that is wanted.
    pub(crate) fn event(&self, name: &str, fields: &[(&str, Value)]) {
        if self.json {
            let mut object = serde_json::Map::new();
            object.insert("event".into(), name.into());
            object.extend(fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
            let _ = writeln!(stderr().lock(), "{}", Value::Object(object));
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        for line in self.times.summary() {
            self.event("summary", &[("ranks", line.as_str().into())]);
            self.tell(&line);
        }
    }
}

fn new_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}, {eta} left");
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// A training in a few words, with the name of its stage if there are several.
fn of_training(stage: &str, training: &TrainingProgress<'_>) -> String {
    let stage = if stage == "training" { String::new() } else { format!("{stage}: ") };
    format!("{stage}bound {:.6e}, {:.1} causes active", training.bound, training.model.pi().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn signals_that_are_ignored_are_understood() {
        let status = "Name:\tefmca\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000000\n";
        assert!(is_ignored(status, 1) && !is_ignored(status, 2) && is_ignored(status, 13) && !is_ignored(status, 24));
        // where the system does not say, it is left as it is
        assert!(is_ignored("Name:\tefmca\n", 1));
    }

    #[test]
    fn parts_of_the_work_are_timed_by_themselves() {
        let mut pace = Pace::new();
        assert!(pace.see(0) && !pace.see(1) && !pace.see(3));
        assert_eq!((pace.first, pace.seconds_left(3, 3)), (0, 0.0));
        // the next part begins, of a run that is resumed
        assert!(pace.see(2) && pace.first == 1 && !pace.see(4));
    }
}
