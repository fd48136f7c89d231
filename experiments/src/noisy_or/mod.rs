//! Binary data with known causes: how many of them are found?

mod network;
mod proto;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use cpu_time::ProcessTime;
use efmca::Model;
use efmca::tasks::table::TableLearner;
use ndarray::Array2;
use serde::Serialize;

use self::network::{Network, drawn, read};
use crate::output::{Done, say, write};

/// What to run.
#[derive(Args, Clone)]
pub(crate) struct Settings {
    /// A folder of NPZ files with `x` (rows of zeros and ones) and `p` (causes by columns: how likely an active cause switches a
    /// column on).
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Networks of each kind that are drawn besides.
    #[arg(long, default_value_t = 1)]
    drawn: u64,
    /// Causes of the models.
    #[arg(long, value_delimiter = ',', default_values_t = [8, 12, 16])]
    causes: Vec<usize>,
    /// Seeds of each number of causes; drawn networks have as many as are drawn.
    #[arg(long, default_value_t = 20)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The runs with one set of data and one number of causes.
#[derive(Serialize)]
struct Line {
    data: String,
    rows: usize,
    columns: usize,
    truth: usize,
    causes: usize,
    /// True causes that were found, in each run.
    found: Vec<usize>,
    /// CPU seconds of each run.
    cpu: Vec<f64>,
    /// The bound of a row, in each run.
    bounds: Vec<f64>,
    /// Causes of the models that are not behind the data.
    others: Vec<usize>,
}

impl Line {
    fn new(network: &Network, causes: usize) -> Line {
        Line {
            data: network.name.clone(),
            rows: network.x.nrows(),
            columns: network.x.ncols(),
            truth: network.p.nrows(),
            causes,
            found: Vec::new(),
            cpu: Vec::new(),
            bounds: Vec::new(),
            others: Vec::new(),
        }
    }

    /// One more run, by the defaults of `efmca fit --family bernoulli --causes H`.
    fn run(&mut self, network: &Network, seed: u64) -> Done<()> {
        let cpu = ProcessTime::now();
        let learner = TableLearner::new().family("bernoulli").causes(self.causes).seed(seed);
        let fit = if std::env::var("TRUTH").is_ok() { proto::from_truth(&network.x, &network.p)? } else if std::env::var("PROTO").is_ok() { proto::train(&network.x, self.causes, seed)? } else { learner.run(network.x.view())?.fit };
        self.cpu.push(cpu.elapsed().as_secs_f64());
        let found = found(&network.p, &fit.model);
        self.found.push(found);
        self.others.push(fit.model.h() - found);
        if std::env::var("DEBUG").is_ok() { say(&format!("bound {:.4} after {}", fit.bound / network.x.nrows() as f64, fit.history.len())); }
        self.bounds.push(fit.bound / network.x.nrows() as f64);
        Ok(())
    }

    fn markdown(&self) -> String {
        let runs = self.found.len() as f64;
        let complete = self.found.iter().filter(|found| **found == self.truth).count();
        format!(
            "| {} | {} x {} | {} | {} | {complete} of {} | {:.2} | {:.2} | {:.1} | {:.1} |",
            self.data,
            self.rows,
            self.columns,
            self.truth,
            self.causes,
            self.found.len(),
            self.found.iter().sum::<usize>() as f64 / runs,
            self.others.iter().sum::<usize>() as f64 / runs,
            self.cpu.iter().sum::<f64>() / runs,
            self.cpu.iter().copied().fold(0.0, f64::max),
        )
    }
}

/// The true causes that have a cause of the model to themselves with the same columns above one half.
fn found(p: &Array2<f64>, model: &Model) -> usize {
    let columns = |row: &dyn Fn(usize) -> f64| -> Vec<bool> { (0..p.ncols()).map(|d| row(d) > 0.5).collect() };
    let means = model.means();
    if std::env::var("DEBUG").is_ok() {
        for c in 0..p.nrows() {
            let dist = |h: usize| (0..p.ncols()).filter(|d| (means[[h, *d]] > 0.5) != (p[[c, *d]] > 0.5)).count();
            let best = (0..model.h()).min_by_key(|h| dist(*h)).unwrap_or(0);
            let diff: Vec<String> = (0..p.ncols())
                .filter(|d| (means[[best, *d]] > 0.5) != (p[[c, *d]] > 0.5))
                .map(|d| format!("{d}: p {:.3} w {:.3} bg {:.3}", p[[c, d]], means[[best, d]], model.background()[d]))
                .collect();
            say(&format!("cause {c} learned {best} pi {:.3} differs {}: {}", model.pi()[best], diff.len(), diff.join("; ")));
        }
    }
    let mut learned: Vec<Vec<bool>> = (0..model.h()).map(|h| columns(&|d| means[[h, d]])).collect();
    let truth = (0..p.nrows()).map(|h| columns(&|d| p[[h, d]]));
    // equal sets of columns can be exchanged, so that taking the first is a best matching
    truth.filter(|one| learned.iter().position(|other| other == one).map(|at| learned.swap_remove(at)).is_some()).count()
}

pub(crate) fn run(settings: &Settings, out: &Path) -> Done<()> {
    let mut lines = Vec::new();
    for network in files(settings)? {
        for causes in &settings.causes {
            let mut line = Line::new(&network, *causes);
            for seed in (0..settings.seeds).map(|number| settings.seed + number) {
                line.run(&network, seed)?;
            }
            say(&line.markdown());
            lines.push(line);
        }
    }
    for number in 0..settings.drawn {
        for (at, network) in drawn(settings.seed + number).into_iter().enumerate() {
            let name = lines.iter().position(|line: &Line| line.data == network.name);
            let at = name.unwrap_or_else(|| {
                lines.push(Line::new(&network, network.p.nrows()));
                let _ = at;
                lines.len() - 1
            });
            lines[at].run(&network, settings.seed + number)?;
        }
    }
    let _ = write!(String::new(), "");
    for line in &lines {
        say(&line.markdown());
    }
    write(out, "noisy-or.json", serde_json::to_string_pretty(&lines)?.as_bytes())
}

/// The networks of the folder, in the order of their names.
fn files(settings: &Settings) -> Done<Vec<Network>> {
    let Some(folder) = &settings.data else { return Ok(Vec::new()) };
    let wrong = |error| format!("{}: {error}", folder.display());
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).map_err(wrong)?.map(|entry| Ok(entry?.path())).collect::<Done<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "npz"));
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}
