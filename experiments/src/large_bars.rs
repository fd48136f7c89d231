//! Bars by variational EM: beside exact EM where that is possible, and where it is not.

use std::fmt::Write as _;
use std::path::Path;

use clap::Args;
use cpu_time::ProcessTime;
use efmca::family::family;
use efmca::posterior::truncated::OneFlips;
use efmca::{Em, Truncation, bars};
use serde::Serialize;

use crate::output::{Done, say, write};

/// What to run.
#[derive(Args, Clone)]
pub(crate) struct Settings {
    /// Runs of each line of the comparison with exact EM.
    #[arg(long, default_value_t = 10)]
    runs: usize,
    /// Runs of each size of the larger bars.
    #[arg(long, default_value_t = 5)]
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
    states: Option<usize>,
    runs: usize,
    recovered: usize,
    /// CPU seconds of a run.
    cpu: f64,
}

/// Families with the conventional parameters of bar and dark, as in the paper's bars test.
const CASES: [(&str, &str, f64, f64); 3] =
    [("E-MCA", "exponential", 0.1, 1.0), ("B-MCA", "bernoulli", 0.99, 0.01), ("P-MCA", "poisson", 10.0, 1.0)];

pub(crate) fn run(settings: &Settings, out: &Path) -> Done<()> {
    let mut lines = Vec::new();
    for (name, family_name, bar, dark) in CASES {
        for states in [None, Some(100)] {
            let what = format!("{name}, {}", states.map_or("exact".into(), |states| format!("S = {states}")));
            let truth = bars::model(family(family_name)?, 5, &[bar], &[dark], 0.2)?;
            let em =
                Em::new(10).family(family(family_name)?).starts(20).short_iterations(10).iterations(50).guard(true);
            let em = match states {
                None => em,
                Some(states) => {
                    em.truncated(Truncation::new(states).proposals(vec![std::sync::Arc::new(OneFlips { parents: 3 })]))
                }
            };
            let train = |y: &ndarray::Array2<f64>, seed: u64| Ok(em.clone().seed(seed).fit(y)?.model);
            lines.push(repeat(what, family_name, &truth, 1000, &train, states, settings.runs, settings.seed)?);
        }
    }
    for (name, family_name, bar, dark) in CASES {
        for b in [10, 15, 20, 30].into_iter().filter(|b| *b <= settings.largest) {
            let h = 2 * b;
            let truth = bars::model(family(family_name)?, b, &[bar], &[dark], 2.0 / h as f64)?;
            let what = format!("{name}, {b} x {b} pixels");
            let train = |y: &ndarray::Array2<f64>, seed: u64| spare_causes(h, family_name, y, seed);
            lines.push(repeat(
                what,
                family_name,
                &truth,
                50 * h,
                &train,
                Some(60),
                settings.large_runs,
                settings.seed,
            )?);
        }
    }
    write(out, "large-bars.json", serde_json::to_string_pretty(&lines)?.as_bytes())?;
    write(out, "large-bars.md", page(&lines).as_bytes())
}

/// Many bars: twice as many causes as bars, so that none is missed because two causes share one.
fn spare_causes(h: usize, family_name: &str, y: &ndarray::Array2<f64>, seed: u64) -> Done<efmca::Model> {
    let em = Em::new(2 * h).family(family(family_name)?).truncated(Truncation::new(60));
    Ok(em.seed(seed).iterations(60).fit(y)?.model)
}

#[allow(clippy::too_many_arguments)] // a line of the table has as many columns
fn repeat(
    what: String,
    family: &'static str,
    truth: &efmca::Model,
    n: usize,
    train: &dyn Fn(&ndarray::Array2<f64>, u64) -> Done<efmca::Model>,
    states: Option<usize>,
    runs: usize,
    seed: u64,
) -> Done<Line> {
    let (mut recovered, start) = (0, ProcessTime::now());
    for run in 0..runs as u64 {
        let y = truth.sample(n, seed + run).y;
        recovered += usize::from(bars::recovered(truth, &train(&y, seed + run)?));
    }
    let cpu = start.elapsed().as_secs_f64() / runs as f64;
    say(&format!("{what}: {recovered} of {runs}, {cpu:.1} CPU s a run"));
    Ok(Line { what, family, h: truth.h(), d: truth.d(), n, states, runs, recovered, cpu })
}

fn page(lines: &[Line]) -> String {
    let mut page = String::from(
        "# Bars by variational EM\n\nMade by `cargo run --release -p experiments -- large-bars`. A run has recovered the bars if each of them is the nearest \
         to some cause. Ten bars: 20 starts of 10 iterations, guarded, with exact posteriors and with truncated ones (all flips of three states). More bars: one start of 60 iterations with twice as many causes as bars; H counts the bars.\n\n| | H | D | N | recovered | CPU s a run |\n| --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for line in lines {
        // writing to a string does not fail
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} of {} | {:.1} |",
            line.what, line.h, line.d, line.n, line.recovered, line.runs, line.cpu
        );
    }
    page
}
