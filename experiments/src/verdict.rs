//! Does the verdict on a family have the right level, and does it see a mixture that is none?

use std::fmt::Write as _;
use std::path::Path;

use clap::Args;
use cpu_time::ProcessTime;
use efmca::family::{family, from_conventional};
use efmca::tasks::noise::{ColumnFamily, TableNoise, Verdict};
use ndarray::{Array2, Axis};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::output::{Done, say, write};

/// What to run.
#[derive(Args, Clone)]
pub(crate) struct Settings {
    /// Columns of each family.
    #[arg(long, default_value_t = 400)]
    draws: usize,
    /// Columns of a table: all of the same family, and independent.
    #[arg(long, default_value_t = 5)]
    columns: usize,
    /// Rows.
    #[arg(long, default_value_t = 2000)]
    rows: usize,
    /// Causes of the models that are trained.
    #[arg(long, default_value_t = 1)]
    components: usize,
    /// Distance of the two Gaussians of the mixture, in their standard deviations.
    #[arg(long, default_value_t = 6.0)]
    distance: f64,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Families with their parameters, as `efmca families NAME` names them, and after an `@` the step to which values are rounded.
    #[arg(
        long,
        value_delimiter = ';',
        default_value = "gaussian 50 64;gaussian 50 64 @1;gaussian 0 1 @1;gamma 4 0.2;gamma 4 0.2 @0.5;log-normal 2.5 0.2;\
                         exponential 0.1 @1;laplace:mu=0 5;poisson 6;negative-binomial:r=3 0.3;ordinal:k=6 0.5 -1;beta 2 5"
    )]
    families: Vec<String>,
}

#[derive(Serialize)]
struct Line {
    what: String,
    columns: usize,
    /// Columns that are called ill-fitting, given the others and alone.
    model: usize,
    alone: usize,
}

/// Columns of a family, drawn and rounded.
fn drawn(text: &str, size: (usize, usize), seed: u64) -> Done<(String, Array2<f64>)> {
    let mut words = text.split_whitespace();
    let found = family(words.next().unwrap_or_default())?;
    let (mut parameters, mut step) = (Vec::new(), None);
    for word in words {
        match word.strip_prefix('@') {
            Some(text) => step = Some(text.parse::<f64>()?),
            None => parameters.push(word.parse::<f64>()?),
        }
    }
    let eta = from_conventional(&*found, &parameters)?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let y = Array2::from_shape_fn(size, |_| found.sample(&eta, &mut rng));
    Ok((found.spec(), step.map_or(y.clone(), |step| y.mapv(|y| (y / step).round() * step))))
}

/// Columns of a mixture of two Gaussians with the same weights.
fn mixture(distance: f64, size: (usize, usize), seed: u64) -> Done<Array2<f64>> {
    let gaussian = family("gaussian")?;
    let eta = from_conventional(&*gaussian, &[0.0, 1.0])?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Ok(Array2::from_shape_fn(size, |_| {
        let shift = if rng.random::<bool>() { distance } else { 0.0 };
        shift + gaussian.sample(&eta, &mut rng)
    }))
}

/// The verdicts on all columns, table by table.
fn judged(settings: &Settings, y: &Array2<f64>, spec: &str, what: &str) -> Done<Line> {
    let mut columns: Vec<ColumnFamily> = Vec::new();
    for table in y.axis_chunks_iter(Axis(1), settings.columns.max(1)) {
        let noise = TableNoise::new().causes(settings.components).seed(settings.seed);
        let noise = (0..table.ncols()).fold(noise, |noise, d| noise.fix(d, spec));
        columns.extend(noise.run(table)?.columns);
    }
    let ill = |verdict: &Option<Verdict>| verdict.as_ref().is_some_and(|verdict| !verdict.fits());
    let line = Line {
        what: what.to_owned(),
        columns: columns.len(),
        model: columns.iter().filter(|column| ill(&column.verdict)).count(),
        alone: columns.iter().filter(|column| ill(&column.alone)).count(),
    };
    say(&format!("{what}: of {} columns {} by the model, {} alone", line.columns, line.model, line.alone));
    Ok(line)
}

pub(crate) fn run(settings: &Settings, out: &Path) -> Done<()> {
    let cpu = ProcessTime::now();
    let size = (settings.rows, settings.draws);
    let mut lines = Vec::new();
    for (number, text) in settings.families.iter().enumerate() {
        let (spec, y) = drawn(text, size, settings.seed + number as u64)?;
        lines.push(judged(settings, &y, &spec, text)?);
    }
    let far = mixture(settings.distance, (settings.rows, settings.draws.min(100)), settings.seed)?;
    let what = format!("two Gaussians, {} standard deviations apart", settings.distance);
    let ill = judged(settings, &far, "gaussian", &what)?;
    let cpu = cpu.elapsed().as_secs_f64();
    write(out, "verdict.md", markdown(settings, &lines, &ill, cpu).as_bytes())?;
    lines.push(ill);
    write(out, "verdict.json", serde_json::to_string_pretty(&lines)?.as_bytes())
}

fn markdown(settings: &Settings, lines: &[Line], ill: &Line, cpu: f64) -> String {
    let mut text = String::from("# Does the verdict have the right level?\n\n");
    let _ = writeln!(
        text,
        "Made by `cargo run --release -p experiments -- verdict --draws {} --columns {} --rows {} --components {} --distance {} \
         --seed {} --families '{}'` in {cpu:.0} CPU s.\n",
        settings.draws,
        settings.columns,
        settings.rows,
        settings.components,
        settings.distance,
        settings.seed,
        settings.families.join(";")
    );
    text += "Columns are drawn from a family (and rounded to the step after the @), which is given to `tasks::noise::TableNoise`. \
             Called ill-fitting at 5 %: by the model with its causes and the background, and alone, by one member of the \
             family.\n\n| columns drawn from | by the model | alone |\n| --- | ---: | ---: |\n";
    let share = |count: usize, line: &Line| {
        format!("{count} of {} ({:.1} %)", line.columns, 100.0 * count as f64 / line.columns.max(1) as f64)
    };
    let mut all = Line { what: "all of these".into(), columns: 0, model: 0, alone: 0 };
    for line in lines {
        let _ = writeln!(text, "| {} | {} | {} |", line.what, share(line.model, line), share(line.alone, line));
        all = Line {
            columns: all.columns + line.columns,
            model: all.model + line.model,
            alone: all.alone + line.alone,
            ..all
        };
    }
    let _ = writeln!(text, "| **{}** | {} | {} |", all.what, share(all.model, &all), share(all.alone, &all));
    let _ = writeln!(
        text,
        "\nA mixture that is none of the family, given as gaussian:\n\n| columns drawn from | by the model | alone |\n\
         | --- | ---: | ---: |\n| {} | {} | {} |",
        ill.what,
        share(ill.model, ill),
        share(ill.alone, ill)
    );
    text
}
