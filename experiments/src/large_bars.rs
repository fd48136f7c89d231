//! Bars by variational EM: beside exact EM where that is possible, and where it is not.

use std::fmt::Write as _;
use std::path::Path;

use clap::Args;
use cpu_time::ProcessTime;
use efmca::family::family;
use efmca::{Em, Model, Truncation, bars};
use serde::Serialize;

use crate::output::{Done, say, write};

/// What to run.
#[derive(Args, Clone)]
pub(crate) struct Settings {
    /// Runs of each line of the comparison with exact EM.
    #[arg(long, default_value_t = 10)]
    runs: usize,
    /// Runs of each size of the larger bars.
    #[arg(long, default_value_t = 3)]
    large_runs: usize,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The largest grid of the larger bars.
    #[arg(long, default_value_t = 30)]
    largest: usize,
}

#[derive(Serialize)]
struct Line {
    what: String,
    family: &'static str,
    h: usize,
    d: usize,
    n: usize,
    /// States of a row, where posteriors are truncated.
    states: Option<usize>,
    runs: usize,
    /// Runs in which every bar was found by a cause of its own.
    recovered: usize,
    /// Runs whose log-likelihood is at least that of the generating model, where it can be computed.
    reached: Option<usize>,
    /// The log-likelihood of each run, where it can be computed.
    log_likelihoods: Vec<f64>,
    /// CPU seconds of a run: of all, and of the slowest.
    cpu: f64,
    slowest: f64,
}

/// Families with the conventional parameters of bar and dark, as in the paper's bars test.
const CASES: [(&str, &str, f64, f64); 3] =
    [("E-MCA", "exponential", 0.1, 1.0), ("B-MCA", "bernoulli", 0.99, 0.01), ("P-MCA", "poisson", 10.0, 1.0)];

/// Bars in each direction, and rows for each bar: more bars in a picture's row of pixels need fewer pictures.
const SIZES: [(usize, usize); 4] = [(10, 50), (15, 40), (20, 40), (30, 30)];

pub(crate) fn run(settings: &Settings, out: &Path) -> Done<()> {
    let mut lines = Vec::new();
    for (name, family_name, bar, dark) in CASES {
        let truth = bars::model(family(family_name)?, 5, &[bar], &[dark], 0.2)?;
        let em = Em::new(10).family(family(family_name)?);
        let exact = em.clone().starts(20).short_iterations(10).iterations(50);
        let truncated = em.spare_causes(5).iterations(60).truncated(Truncation::new(60));
        for (how, em, states) in [("exact", exact, None), ("S = 60", truncated, Some(60))] {
            let runs = settings.seed..settings.seed + settings.runs as u64;
            lines.push(repeat(format!("{name}, {how}"), family_name, &truth, 1000, &em, states, runs)?);
        }
    }
    for (name, family_name, bar, dark) in CASES {
        for (b, rows) in SIZES.into_iter().filter(|(b, _)| *b <= settings.largest) {
            let h = 2 * b;
            let truth = bars::model(family(family_name)?, b, &[bar], &[dark], 2.0 / h as f64)?;
            let em = Em::new(h).family(family(family_name)?).spare_causes(h).iterations(40);
            let em = em.truncated(Truncation::new(30));
            let runs = settings.seed..settings.seed + settings.large_runs as u64;
            let what = format!("{name}, {b} x {b} pixels");
            lines.push(repeat(what, family_name, &truth, rows * h, &em, Some(30), runs)?);
        }
    }
    write(out, "large-bars.json", serde_json::to_string_pretty(&lines)?.as_bytes())?;
    write(out, "large-bars.md", page(settings, &lines).as_bytes())
}

/// One line: the same data and seeds for every way to train.
fn repeat(
    what: String,
    family: &'static str,
    truth: &Model,
    n: usize,
    em: &Em,
    states: Option<usize>,
    seeds: std::ops::Range<u64>,
) -> Done<Line> {
    let runs = seeds.clone().count();
    let mut line = Line {
        what,
        family,
        h: truth.h(),
        d: truth.d(),
        n,
        states,
        runs,
        recovered: 0,
        reached: None,
        log_likelihoods: Vec::new(),
        cpu: 0.0,
        slowest: 0.0,
    };
    for seed in seeds {
        let y = truth.sample(n, seed).y;
        let start = ProcessTime::now();
        let model = em.clone().seed(seed).run(&y)?.model;
        let cpu = start.elapsed().as_secs_f64();
        line.cpu += cpu / runs as f64;
        line.slowest = line.slowest.max(cpu);
        line.recovered += usize::from(model.h() == truth.h() && bars::recovered(truth, &model));
        if truth.h() <= efmca::posterior::LARGEST_EXACT_H {
            let found = model.log_likelihood(&y)?;
            line.log_likelihoods.push(found);
            let reached = usize::from(found >= truth.log_likelihood(&y)?);
            line.reached = Some(line.reached.unwrap_or(0) + reached);
        }
    }
    say(&format!(
        "{}: {} of {runs}, {:.1} CPU s a run, {:.1} at the most",
        line.what, line.recovered, line.cpu, line.slowest
    ));
    Ok(line)
}

fn page(settings: &Settings, lines: &[Line]) -> String {
    let mut page = format!(
        "# Bars by variational EM\n\nMade by `cargo run --release -p experiments -- large-bars --runs {} --large-runs {} --seed {} --largest {}`. \
         A run has recovered the bars if each of them is found by a cause of its own; the trained model has as many \
         causes as there are bars.\n\n\
         ## Ten bars: truncated posteriors beside exact ones\n\nThe same data and seeds. Exact EM: 20 starts of 10 \
         iterations, the best goes on to 50. Truncated posteriors: S = 60, one start with 5 spare causes, 60 iterations, \
         no guard. Reached: the exact log-likelihood is at least that of the generating model (the paper's criterion). \
         Difference: the mean exact log-likelihood minus that of exact EM.\n\n\
         | | H | D | N | recovered | reached | difference | CPU s a run | slowest |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        settings.runs, settings.large_runs, settings.seed, settings.largest
    );
    let mean = |line: &Line| line.log_likelihoods.iter().sum::<f64>() / line.runs.max(1) as f64;
    let (few, many): (Vec<&Line>, Vec<&Line>) = lines.iter().partition(|line| line.reached.is_some());
    let mut exact = 0.0;
    // writing to a string does not fail
    for line in few {
        if line.states.is_none() {
            exact = mean(line);
        }
        let Line { what, h, d, n, runs, recovered, cpu, slowest, .. } = line;
        let (reached, difference) = (line.reached.unwrap_or(0), mean(line) - exact);
        let _ = writeln!(
            page,
            "| {what} | {h} | {d} | {n} | {recovered} of {runs} | {reached} of {runs} | {difference:+.2} | {cpu:.1} | {slowest:.1} |"
        );
    }
    page.push_str(
        "\n## More bars than exact EM can have\n\nOne start with as many spare causes as bars, 40 iterations, S = 30.\n\n\
         | | H | D | N | recovered | CPU s a run | slowest |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for Line { what, h, d, n, runs, recovered, cpu, slowest, .. } in many {
        let _ = writeln!(page, "| {what} | {h} | {d} | {n} | {recovered} of {runs} | {cpu:.1} | {slowest:.1} |");
    }
    page
}
