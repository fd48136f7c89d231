//! Binary data with known causes: how many of them are found?

mod network;

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
    /// Kinds of networks that are drawn (default: all).
    #[arg(long, value_delimiter = ',')]
    kinds: Vec<String>,
    /// Causes of the models; 0 for as many as are behind the data.
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
    /// The same where columns with a true probability near one half do not count.
    clear: Vec<usize>,
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
            clear: Vec::new(),
            cpu: Vec::new(),
            bounds: Vec::new(),
            others: Vec::new(),
        }
    }

    /// One more run, by the defaults of `efmca fit --family bernoulli --causes H`.
    fn run(&mut self, network: &Network, seed: u64) -> Done<()> {
        let cpu = ProcessTime::now();
        let learner = TableLearner::new().family("bernoulli").causes(self.causes).seed(seed);
        let fit = learner.run(network.x.view())?.fit;
        self.cpu.push(cpu.elapsed().as_secs_f64());
        let found = found(&network.p, &fit.model, 0.0);
        self.clear.push(self::found(&network.p, &fit.model, UNCLEAR));
        self.found.push(found);
        self.others.push(fit.model.h() - found);
        self.bounds.push(fit.bound / network.x.nrows() as f64);
        Ok(())
    }

    fn markdown(&self) -> String {
        let runs = self.found.len() as f64;
        let complete = self.found.iter().filter(|found| **found == self.truth).count();
        format!(
            "| {} | {} x {} | {} | {} | {complete} of {} | {:.2} | {:.2} | {:.2} | {:.1} | {:.1} |",
            self.data,
            self.rows,
            self.columns,
            self.truth,
            self.causes,
            self.found.len(),
            self.found.iter().sum::<usize>() as f64 / runs,
            self.clear.iter().sum::<usize>() as f64 / runs,
            self.others.iter().sum::<usize>() as f64 / runs,
            self.cpu.iter().sum::<f64>() / runs,
            self.cpu.iter().copied().fold(0.0, f64::max),
        )
    }
}

/// How near one half a true probability must be to not count.
const UNCLEAR: f64 = 0.1;

/// The true causes that have a cause of the model to themselves with the same columns above one half, without columns whose true
/// probability is within `unclear` of that.
fn found(p: &Array2<f64>, model: &Model, unclear: f64) -> usize {
    let means = model.means();
    let mut left: Vec<usize> = (0..model.h()).collect();
    let same = |cause: usize, h: usize| {
        let counts = |d: &usize| unclear == 0.0 || (p[[cause, *d]] - 0.5).abs() > unclear;
        (0..p.ncols()).filter(counts).all(|d| (means[[h, d]] > 0.5) == (p[[cause, d]] > 0.5))
    };
    // sets of columns that are equal can be exchanged, so that taking the first is a best matching
    let taken = |cause: &usize| left.iter().position(|h| same(*cause, *h)).map(|at| left.swap_remove(at)).is_some();
    (0..p.nrows()).filter(taken).count()
}

pub(crate) fn run(settings: &Settings, out: &Path) -> Done<()> {
    let mut lines = Vec::new();
    for network in files(settings)? {
        for causes in &settings.causes {
            let mut line = Line::new(&network, if *causes == 0 { network.p.nrows() } else { *causes });
            for seed in (0..settings.seeds).map(|number| settings.seed + number) {
                line.run(&network, seed)?;
            }
            say(&line.markdown());
            lines.push(line);
        }
    }
    let mut of_shapes: Vec<Line> = Vec::new();
    for seed in (0..settings.drawn).map(|number| settings.seed + number) {
        for network in drawn(seed, &settings.kinds)? {
            let known = of_shapes.iter().position(|line| line.data == network.name);
            let at = known.unwrap_or_else(|| {
                of_shapes.push(Line::new(&network, network.p.nrows()));
                of_shapes.len() - 1
            });
            of_shapes[at].run(&network, seed)?;
            let found = of_shapes[at].found.last().unwrap_or(&0);
            say(&format!("{seed}: {}: {found} of {}", network.name, network.p.nrows()));
        }
    }
    lines.extend(of_shapes);
    write(out, "noisy-or.md", markdown(settings, &lines).as_bytes())?;
    write(out, "noisy-or.json", serde_json::to_string_pretty(&lines)?.as_bytes())
}

fn markdown(settings: &Settings, lines: &[Line]) -> String {
    let mut text = String::from("# Binary data with known causes\n\n");
    let causes: Vec<String> = settings.causes.iter().map(ToString::to_string).collect();
    let data = if settings.data.is_some() { "--data DIR " } else { "" };
    let kinds = match &settings.kinds[..] {
        [] => String::new(),
        kinds => format!("--kinds '{}' ", kinds.join(",")),
    };
    let _ = writeln!(
        text,
        "Made by `cargo run --release -p experiments -- noisy-or {data}{kinds}--drawn {} --causes {} --seeds {} --seed {}`.\n",
        settings.drawn,
        causes.join(","),
        settings.seeds,
        settings.seed
    );
    text += "Trainings are those of `efmca fit --family bernoulli --causes H`. A true cause is found if a cause of the model has the \
             same columns above one half, each matched once. Clear columns: the same, where columns whose true probability is \
             within 0.1 of one half do not count, since some hundred rows cannot tell on which side they are. Others: causes of the \
             model that are not behind the data. Drawn networks have another network for each seed.\n\n";
    text += "| data | size | causes | of the model | all found | found | found, clear columns | others | CPU s | slowest |\n\
             | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    for line in lines {
        text += &line.markdown();
        text += "\n";
    }
    text
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
