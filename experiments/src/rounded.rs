//! Columns of rounded draws: are they named as their unrounded versions are?

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use clap::Args;
use cpu_time::ProcessTime;
use efmca::family::{family, from_conventional};
use efmca::tasks::noise::TableNoise;
use ndarray::Array2;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::output::{Done, say, write};

/// What to run.
#[derive(Args, Clone)]
pub(crate) struct Settings {
    /// Columns of each family.
    #[arg(long, default_value_t = 20)]
    draws: usize,
    /// Rows.
    #[arg(long, default_value_t = 2000)]
    rows: usize,
    /// Causes of the models that are trained.
    #[arg(long, default_value_t = 1)]
    components: usize,
    /// Steps to which values are rounded.
    #[arg(long, value_delimiter = ',', default_value = "1,0.5,0.1,0.01")]
    steps: Vec<f64>,
    /// All values are multiplied by this before they are rounded.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Families with their parameters, as `efmca families NAME` names them.
    #[arg(
        long,
        value_delimiter = ';',
        default_value = "gaussian 50 64;gamma 4 0.2;log-normal 2.5 0.2;exponential 0.1;laplace:mu=0 5;weibull:k=1.7 20;\
                         inverse-gaussian 20 60"
    )]
    families: Vec<String>,
}

#[derive(Serialize)]
struct Line {
    family: String,
    step: f64,
    /// Columns that are named as their unrounded version is.
    same: usize,
    draws: usize,
    /// Names of rounded columns that differ, and how often.
    others: BTreeMap<String, usize>,
    /// The largest distance in nats a value between the best family and one that was named for the unrounded version.
    farthest: f64,
}

/// Columns of a family, drawn.
fn drawn(text: &str, settings: &Settings, seed: u64) -> Done<Array2<f64>> {
    let mut words = text.split_whitespace();
    let family = family(words.next().unwrap_or_default())?;
    let parameters: Vec<f64> = words.map(str::parse).collect::<Result<_, _>>()?;
    let eta = from_conventional(&*family, &parameters)?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Ok(Array2::from_shape_fn((settings.rows, settings.draws), |_| settings.scale * family.sample(&eta, &mut rng)))
}

/// The name of a family without its parameters.
fn short(spec: &str) -> String {
    spec.split(':').next().unwrap_or_default().to_owned()
}

pub(crate) fn run(settings: &Settings, out: &Path) -> Done<()> {
    let cpu = ProcessTime::now();
    let mut lines = Vec::new();
    for (number, text) in settings.families.iter().enumerate() {
        let y = drawn(text, settings, settings.seed + number as u64)?;
        let noise = TableNoise::new().causes(settings.components).seed(settings.seed);
        let names = |y: &Array2<f64>| noise.run(y.view()).map(|found| found.columns);
        let unrounded = names(&y)?;
        for step in &settings.steps {
            let rounded = names(&y.mapv(|y| (y / step).round() * step))?;
            let mut line = Line {
                family: text.clone(),
                step: *step,
                same: 0,
                draws: settings.draws,
                others: BTreeMap::new(),
                farthest: 0.0,
            };
            for (one, other) in unrounded.iter().zip(&rounded) {
                let (expected, found) = (short(&one.family.spec()), short(&other.family.spec()));
                line.same += usize::from(expected == found);
                if expected != found {
                    *line.others.entry(format!("{found} for {expected}")).or_default() += 1;
                }
                let behind = other.trials.iter().filter(|one| short(&one.family.spec()) == expected);
                line.farthest = behind.map(|one| one.behind.mean).fold(line.farthest, f64::max);
            }
            say(&format!("{text}, step {step}: {} of {}; {:?}", line.same, line.draws, line.others));
            lines.push(line);
        }
    }
    let cpu = cpu.elapsed().as_secs_f64();
    write(out, "rounded.md", markdown(settings, &lines, cpu).as_bytes())?;
    write(out, "rounded.json", serde_json::to_string_pretty(&lines)?.as_bytes())
}

fn markdown(settings: &Settings, lines: &[Line], cpu: f64) -> String {
    let mut text = String::from("# Columns of rounded draws\n\n");
    let steps: Vec<String> = settings.steps.iter().map(f64::to_string).collect();
    let _ = writeln!(
        text,
        "Made by `cargo run --release -p experiments -- rounded --draws {} --rows {} --components {} --steps {} --scale {} \
         --seed {} --families '{}'` in {cpu:.0} CPU s.\n",
        settings.draws,
        settings.rows,
        settings.components,
        steps.join(","),
        settings.scale,
        settings.seed,
        settings.families.join(";")
    );
    text += "Columns are drawn from a family with the parameters beside its name and rounded to a step. Same: how many are named as \
             the column was before it was rounded, which need not be the family that made it. Farthest: the largest lead over that \
             family, in nats a value.\n\n| family | step | same | farthest | named otherwise |\n| --- | ---: | ---: | ---: | --- |\n";
    for line in lines {
        let others: Vec<String> = line.others.iter().map(|(names, count)| format!("{count} x {names}")).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} of {} | {:.4} | {} |",
            line.family,
            line.step,
            line.same,
            line.draws,
            line.farthest,
            others.join(", ")
        );
    }
    text += "\n| step | same |\n| ---: | ---: |\n";
    for step in &settings.steps {
        let of_step = || lines.iter().filter(|line| line.step == *step);
        let (same, draws): (usize, usize) =
            (of_step().map(|line| line.same).sum(), of_step().map(|line| line.draws).sum());
        let _ = writeln!(text, "| {step} | {same} of {draws} ({:.1} %) |", 100.0 * same as f64 / draws.max(1) as f64);
    }
    text
}
