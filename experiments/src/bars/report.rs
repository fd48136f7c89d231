//! The table of the bars test, for people.

use std::fmt::Write;

use super::{Line, Results};

/// One line, in words.
pub(super) fn sentence(line: &Line) -> String {
    let what = line.recipe.name;
    format!(
        "{} (pi {}, noise {}), settings: {what}: {} of {} reach the ground truth, {} find every bar; {:.1} CPU seconds",
        line.case.name,
        line.case.pi,
        line.recipe.noise,
        line.count(|outcome| outcome.reached()),
        line.outcomes.len(),
        line.count(|outcome| outcome.recovered),
        line.cpu_seconds
    )
}

pub(super) fn markdown(results: &Results) -> String {
    let mut text = String::from("# The bars test\n\n");
    let settings = &results.settings;
    let _ = writeln!(
        text,
        "Made by `cargo run --release -p experiments -- bars --runs {} --reliability-runs {} --seed {}{}`.\n",
        settings.runs,
        settings.reliability_runs,
        settings.seed,
        if settings.sweep { " --sweep" } else { "" }
    );
    text += INTRODUCTION;
    text += "\n| model | D | H | settings | paper | reach the ground truth | find every bar | runs with a dip | largest dip | CPU s |\n";
    text += "|---|---|---|---|---|---|---|---|---|---|\n";
    for line in &results.table {
        let settings = line.recipe.name;
        let paper = line.paper.map_or("-".into(), |rate| format!("{rate} of 100"));
        let (runs, dip) = (line.outcomes.len(), largest_dip(line));
        let share = |count: usize| format!("{count} of {runs} ({:.1} %)", 100.0 * count as f64 / runs as f64);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {settings} | {paper} | {} | {} | {} | {dip:.1e} | {:.1} |",
            line.case.name,
            line.case.b * line.case.b,
            2 * line.case.b,
            share(line.count(|outcome| outcome.reached())),
            share(line.count(|outcome| outcome.recovered)),
            line.count(|outcome| outcome.dips > 0),
            line.cpu_seconds
        );
    }
    text += "\nA dip is a fall of the log-likelihood from one iteration to the next, here relative to its size. The\n\
             guard of the recommended settings leaves none.\n";
    text += "\n![Log-likelihoods](bars-log-likelihoods.svg)\n\n\
             Data (first row), the fields of one E-MCA run after 1, 5, 10, 15, 20, 30 and 50 iterations, and the\n\
             generating ones (last row):\n\n![Learned fields](bars-fields.png)\n";
    if !results.sweep.is_empty() {
        text += "\n## How much the initial noise matters\n\nSettings: paper, maximum; runs that reach the ground truth.\n\n";
        text += "| noise (standard deviations) | E-MCA | B-MCA | P-MCA |\n|---|---|---|---|\n";
        for group in results.sweep.chunks(3) {
            let share =
                |line: &Line| 100.0 * line.count(|outcome| outcome.reached()) as f64 / line.outcomes.len() as f64;
            let cells: Vec<String> = group.iter().map(|line| format!("{:.0} %", share(line))).collect();
            let _ = writeln!(text, "| {} | {} |", group[0].recipe.noise, cells.join(" | "));
        }
    }
    if !results.reliability.is_empty() {
        text += "\n## Reliability of B-MCA over π\n\nSettings: paper, maximum.\n\n";
        text += "| π | bars on average | reach the ground truth |\n|---|---|---|\n";
        for line in &results.reliability {
            let share = 100.0 * line.count(|outcome| outcome.reached()) as f64 / line.outcomes.len() as f64;
            let _ = writeln!(text, "| {} | {} | {share:.1} % |", line.case.pi, line.case.pi * 10.0);
        }
        text += "\n![Reliability](bars-reliability.svg)\n";
    }
    text
}

fn largest_dip(line: &Line) -> f64 {
    line.outcomes.iter().map(|outcome| outcome.largest_dip).fold(0.0, f64::max)
}

const INTRODUCTION: &str = "\
Bars on a grid, superimposed by the maximum and seen through noise (paper, Sec. 7.1 and appendix C.1): N = 1000,
π = 0.2. A run reaches the ground truth if its log-likelihood is at least that of the generating parameters.

Every run has a data set of its own. The settings:

- *paper, maximum*: W at the mean of the data plus a little noise (0.05 standard deviations; the paper does not print how
  much), π at 0.3, 50 iterations with one M-step each; no guard, no annealing. A picture without any bar has mean zero,
  as the paper's max over nothing says; 10⁻⁶ keeps it inside the domain.
- *paper, smooth maximum*: the same with the smooth maximum of the paper's appendix at the exponent it names, ρ = 21, in
  all iterations, and noise of 0.1 (of the 0.02, 0.05 and 0.1 tried, the one at which all three models reach the
  paper's rates; B-MCA likes more noise here, E-MCA less); judged by the log-likelihood of the true maximum, which is not followed during
  training, so that its dips are not counted. A picture without bars is dark like the space between bars.
- *recommended*: 20 starts of 10 iterations, the best goes on to at most 100; guarded steps; a learned background.

A rate of p % over 100 runs has a standard error of √(p(100-p)/100): about 4.5 for E-MCA and B-MCA and 3.8 for P-MCA, in
the paper's numbers as in these. P-MCA is small, so it is run five times as often.
";
