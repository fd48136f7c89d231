//! Tables whose columns differ: is the family of each column named correctly, and how long does it take?

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use clap::Args;
use cpu_time::ProcessTime;
use efmca::family::{SharedFamily, family};
use efmca::model::Columns;
use efmca::tasks::noise::TableNoise;
use efmca::{Background, Model};
use ndarray::{Array1, Array2};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::noise_synthetic::{drawn_entry, right};
use crate::output::{Done, say, write};

/// What to run.
#[derive(Args, Clone)]
pub(crate) struct Settings {
    /// Tables, each from a model of its own.
    #[arg(long, default_value_t = 1)]
    tables: u64,
    /// Rows of a table.
    #[arg(long, default_value_t = 10_000)]
    rows: usize,
    /// Columns of a table.
    #[arg(long, default_value_t = 30)]
    columns: usize,
    /// Causes of the models that make the tables.
    #[arg(long, default_value_t = 5)]
    causes: usize,
    /// Causes of the models that are trained; 8 is what `efmca noise-type` and `efmca fit` begin with.
    #[arg(long, default_value_t = 8)]
    components: usize,
    /// The share of the cells that is empty.
    #[arg(long, default_value_t = 0.01)]
    missing: f64,
    /// EM iterations of each training, at the most.
    #[arg(long, default_value_t = 60)]
    iterations: usize,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// What columns are, one after the other and from the beginning again.
    #[arg(
        long,
        value_delimiter = ';',
        default_value = "bernoulli;poisson;beta;gamma;categorical:k=4;log-normal;gaussian;exponential;\
                         negative-binomial:r=2.5;hurdle-gamma;geometric;weibull:k=1.7;hurdle-poisson;binomial:n=12;laplace"
    )]
    families: Vec<String>,
}

/// How near a name is to the truth.
#[derive(Serialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Right,
    /// A family that has the right one as a special case or as a limit.
    Wider,
    /// A special case of the right one, which the values of the column do not contradict.
    Narrower,
    Wrong,
}

#[derive(Serialize)]
struct Column {
    truth: String,
    named: String,
    verdict: Verdict,
    /// Whether the right family was called a tie where it was not named.
    tied: bool,
}

#[derive(Serialize)]
struct Table {
    seed: u64,
    cpu: f64,
    wall: f64,
    /// The longest time between two questions whether to go on, in seconds: what Ctrl-C waits for.
    wait: f64,
    waited_for: String,
    sweeps: usize,
    columns: Vec<Column>,
}

/// Families that contain others, as a special case or as a limit.
const WIDER: [(&str, &[&str]); 8] = [
    ("exponential", &["gamma", "weibull", "gen-gamma"]),
    ("gamma", &["gen-gamma"]),
    ("weibull", &["gen-gamma"]),
    ("log-normal", &["gen-gamma"]),
    ("poisson", &["negative-binomial", "hurdle-poisson", "binomial"]),
    ("geometric", &["negative-binomial"]),
    ("bernoulli", &["binomial", "categorical"]),
    ("binomial", &["categorical"]),
];

fn verdict(named: &str, truth: &str) -> Verdict {
    let name = |spec: &str| spec.split(':').next().unwrap_or_default().to_owned();
    let (short, true_short) = (name(named), name(truth));
    if right(named, truth) {
        return Verdict::Right;
    }
    // the same family with a parameter that is learned for each cause instead of found for all, or the other way round
    if short == true_short {
        return if named.contains(':') { Verdict::Narrower } else { Verdict::Wider };
    }
    let contains =
        |inner: &str, outer: &str| WIDER.iter().any(|(name, wider)| *name == inner && wider.contains(&outer));
    match (contains(&true_short, &short), contains(&short, &true_short)) {
        (true, _) => Verdict::Wider,
        (_, true) => Verdict::Narrower,
        _ => Verdict::Wrong,
    }
}

/// A table from a model whose parameters are drawn, with some empty cells.
fn drawn(settings: &Settings, families: &[SharedFamily], seed: u64) -> Done<Array2<f64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let columns = Columns::new(families.to_vec())?;
    let mut w = Array2::zeros((settings.causes, columns.k()));
    for mut cause in w.outer_iter_mut() {
        let entries: Vec<Vec<f64>> =
            families.iter().map(|family| drawn_entry(family, &mut rng)).collect::<Done<_>>()?;
        cause.assign(&Array1::from(entries.concat()));
    }
    let pi = Array1::from_elem(settings.causes, 0.3);
    let mut y = Model::from_parts(columns, pi, w, Background::Learned)?.sample(settings.rows, seed).y;
    y.mapv_inplace(|value| if rng.random::<f64>() < settings.missing { f64::NAN } else { value });
    Ok(y)
}

fn measure(settings: &Settings, seed: u64) -> Done<Table> {
    let truths: Vec<&String> = settings.families.iter().cycle().take(settings.columns).collect();
    let families: Vec<SharedFamily> = truths.iter().map(|spec| family(spec)).collect::<Result<_, _>>()?;
    let y = drawn(settings, &families, seed)?;
    let (cpu, wall) = (ProcessTime::now(), Instant::now());
    let noise = TableNoise::new().causes(settings.components).iterations(settings.iterations).seed(settings.seed);
    let (mut last, mut wait, mut waited_for) = (Instant::now(), 0.0f64, String::new());
    let found = noise.run_observed(y.view(), &mut |progress| {
        let seconds = last.elapsed().as_secs_f64();
        if seconds > wait {
            (wait, waited_for) = (seconds, progress.stage.to_owned());
        }
        last = Instant::now();
        ControlFlow::Continue(())
    })?;
    let (cpu, wall) = (cpu.elapsed().as_secs_f64(), wall.elapsed().as_secs_f64());
    let columns = found.columns.iter().zip(truths).map(|(column, truth)| {
        let named = column.family.spec();
        let verdict = verdict(&named, truth);
        let ties = column.trials.iter().filter(|one| one.tied && verdict != Verdict::Right);
        let tied = ties.map(|one| one.family.spec()).any(|spec| right(&spec, truth));
        Column { truth: truth.clone(), named, verdict, tied }
    });
    Ok(Table { seed, cpu, wall, wait, waited_for, sweeps: found.sweeps, columns: columns.collect() })
}

pub(crate) fn run(settings: &Settings, out: &Path) -> Done<()> {
    if settings.families.is_empty() {
        return Err("--families: give one at least".into());
    }
    let mut tables = Vec::new();
    for seed in (0..settings.tables).map(|number| settings.seed + number) {
        let table = measure(settings, seed)?;
        let other = table.columns.iter().filter(|column| column.verdict != Verdict::Right);
        let other: Vec<String> = other.map(|column| format!("{} for {}", column.named, column.truth)).collect();
        say(&format!(
            "table {seed}: {} of {} right, {:.1} CPU s, {:.1} s, asked every {:.1} s at the least ({}), {} sweeps; {}",
            table.columns.len() - other.len(),
            table.columns.len(),
            table.cpu,
            table.wall,
            table.wait,
            table.waited_for,
            table.sweeps,
            other.join(", ")
        ));
        tables.push(table);
    }
    write(out, "noise-tables.md", markdown(settings, &tables).as_bytes())?;
    write(out, "noise-tables.json", serde_json::to_string_pretty(&tables)?.as_bytes())
}

fn markdown(settings: &Settings, tables: &[Table]) -> String {
    let mut text = String::from("# Families of the columns of mixed tables\n\n");
    let _ = writeln!(
        text,
        "Made by `cargo run --release -p experiments -- noise-tables --tables {} --rows {} --columns {} --causes {} --components {} \
         --missing {} --iterations {} --seed {} --families '{}'` with {} threads.\n",
        settings.tables,
        settings.rows,
        settings.columns,
        settings.causes,
        settings.components,
        settings.missing,
        settings.iterations,
        settings.seed,
        settings.families.join(";"),
        rayon::current_num_threads()
    );
    text += "Every table is drawn from a model with a family for each column, whose parameters are drawn as in \
             `noise-synthetic`; π = 0.3. `tasks::noise::TableNoise`, which `efmca noise-type` and `efmca fit` call, finds the \
             families and trains the model. Wider: what was named has the right family as a special case or as a limit; \
             narrower: it is one of the right family. Longest wait: \
             the time between two questions to the observer, which is what Ctrl-C waits for.\n\n";
    text += "| table | right | wider | narrower | wrong | sweeps | CPU s | s | longest wait, s |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    for table in tables {
        let count = |verdict| table.columns.iter().filter(|column| column.verdict == verdict).count();
        let [right, wider, narrower, wrong] =
            [Verdict::Right, Verdict::Wider, Verdict::Narrower, Verdict::Wrong].map(count);
        let _ = writeln!(
            text,
            "| {} | {right} | {wider} | {narrower} | {wrong} | {} | {:.1} | {:.1} | {:.1} |",
            table.seed, table.sweeps, table.cpu, table.wall, table.wait
        );
    }
    text += "\n| column | truth |";
    tables.iter().for_each(|table| text += &format!(" table {} |", table.seed));
    text += "\n| ---: | --- |";
    tables.iter().for_each(|_| text += " --- |");
    text += "\n";
    for d in 0..settings.columns {
        let truth = tables.first().map_or("", |table| table.columns[d].truth.as_str());
        let _ = write!(text, "| {} | {truth} |", d + 1);
        for column in tables.iter().map(|table| &table.columns[d]) {
            let remark = match (column.verdict, column.tied) {
                (Verdict::Right, _) => "",
                (Verdict::Wider, true) => " (wider; tie)",
                (Verdict::Wider, false) => " (wider)",
                (Verdict::Narrower, true) => " (narrower; tie)",
                (Verdict::Narrower, false) => " (narrower)",
                (Verdict::Wrong, true) => " (**wrong**; tie)",
                (Verdict::Wrong, false) => " (**wrong**)",
            };
            let _ = write!(text, " {}{remark} |", column.named);
        }
        text += "\n";
    }
    text
}
