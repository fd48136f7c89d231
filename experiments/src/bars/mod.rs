//! The bars test (paper, Sec. 7.1 and appendix C.1).

mod pictures;
mod report;
mod runs;

use std::path::Path;

use clap::Args;
use serde::Serialize;

use crate::output::{Done, say, write};
use runs::{Case, Outcome, Recipe};

/// How much is run.
#[derive(Args, Debug, Clone, Serialize)]
pub(crate) struct Settings {
    /// Runs of each model.
    #[arg(long, default_value_t = 100)]
    runs: usize,
    /// Data sets for each point of the reliability curve; 0 leaves it out.
    #[arg(long, default_value_t = 200)]
    reliability_runs: usize,
    /// The seed that everything starts from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Also show how the rates depend on the initial noise, which the paper does not print.
    #[arg(long)]
    sweep: bool,
}

/// One line of the table: many runs of one model.
#[derive(Debug, Clone, Serialize)]
struct Line {
    case: Case,
    recipe: Recipe,
    /// The rate printed in the paper, of 100.
    paper: Option<usize>,
    outcomes: Vec<Outcome>,
    cpu_seconds: f64,
}

impl Line {
    fn count(&self, which: impl Fn(&Outcome) -> bool) -> usize {
        self.outcomes.iter().filter(|outcome| which(outcome)).count()
    }
}

/// Everything that was found.
#[derive(Debug, Serialize)]
struct Results {
    settings: Settings,
    table: Vec<Line>,
    sweep: Vec<Line>,
    reliability: Vec<Line>,
}

/// The pi of the paper's reliability figure.
const RELIABILITY: [f64; 7] = [0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5];

pub(crate) fn run(settings: &Settings, out: &Path) -> Done<()> {
    // before anything is computed: a folder that cannot be written to
    std::fs::create_dir_all(out).map_err(|error| format!("the folder {} cannot be made: {error}", out.display()))?;
    let cases = [Case::exponential(0.2), Case::bernoulli(0.2), Case::poisson(0.2)];
    let mut table = Vec::new();
    for recipe in [Recipe::paper(), Recipe::paper_smooth(), Recipe::recommended()] {
        for case in &cases {
            let paper = if recipe.is_paper { case.paper_rate() } else { None };
            let line = runs::line(case, &recipe, settings.runs, settings.seed, paper)?;
            say(&report::sentence(&line));
            table.push(line);
        }
    }
    let mut sweep = Vec::new();
    if settings.sweep {
        for noise in [0.01, 0.02, 0.05, 0.1, 0.2] {
            for case in &cases {
                let recipe = Recipe { noise, ..Recipe::paper() };
                let line = runs::line(case, &recipe, settings.runs, settings.seed, case.paper_rate())?;
                say(&report::sentence(&line));
                sweep.push(line);
            }
        }
    }
    let mut reliability = Vec::new();
    if settings.reliability_runs > 0 {
        for pi in RELIABILITY {
            let line =
                runs::line(&Case::bernoulli(pi), &Recipe::paper(), settings.reliability_runs, settings.seed, None)?;
            say(&report::sentence(&line));
            reliability.push(line);
        }
    }
    let results = Results { settings: settings.clone(), table, sweep, reliability };
    write(out, "bars-log-likelihoods.svg", pictures::curves(&results.table)?.as_bytes())?;
    write(out, "bars-fields.png", &pictures::fields(&cases[0], settings.seed)?)?;
    if !results.reliability.is_empty() {
        write(out, "bars-reliability.svg", pictures::reliability(&results.reliability)?.as_bytes())?;
    }
    write(out, "bars.json", &serde_json::to_vec_pretty(&results)?)?;
    write(out, "bars.md", report::markdown(&results).as_bytes())
}
