//! `efmca sample`: new rows from a model.

use std::num::IntErrorKind;
use std::path::PathBuf;

use efmca::Model;
use efmca::model::Sample;
use efmca_io::read_model_file;
use efmca_io::table_file::{csv_text_of, write_labelled_table, write_table};
use ndarray::{Array2, s};

use super::rows::cause_names;
use crate::args::common::{ForceArgs, LogFormat, SeedArgs};
use crate::failure::Failure;
use crate::memory;
use crate::outputs::{self, Output};
use crate::progress::Watch;
use crate::rescue::Rescue;
use crate::show::Screen;

/// Bytes of the rows that are drawn, at the most.
const MOST_BYTES: usize = 4 << 30;
/// Values that are drawn before the user is asked whether to go on.
const AT_ONCE: usize = 1 << 20;

/// The options of `efmca sample`.
#[derive(Debug, clap::Args)]
pub(crate) struct SampleArgs {
    /// A model written by efmca.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Number of rows.
    #[arg(long, short = 'n', value_name = "N", value_parser = row_count)]
    rows: usize,
    /// The rows: .csv, .tsv, .npy or .npz; CSV on standard output without it.
    #[arg(long, short, value_name = "ROWS")]
    output: Option<PathBuf>,
    #[command(flatten)]
    seed: SeedArgs,
    /// Writes which causes were active in each row (1) and which were not (0): .csv, .tsv, .npy or .npz.
    #[arg(long, value_name = "FILE")]
    causes: Option<PathBuf>,
    /// Leaves values as they are drawn. Without it they are rounded to the steps of the table that the model was learned
    /// from, which `efmca info` shows.
    #[arg(long)]
    unrounded: bool,
    #[command(flatten)]
    force: ForceArgs,
}

/// Draws rows, and writes them.
pub(crate) fn run(args: &SampleArgs) -> Result<(), Failure> {
    let force = args.force.force;
    let results = [args.output.as_deref(), args.causes.as_deref()];
    outputs::check(results.map(|path| path.map(Output::Table)), &[&args.model], force)?;
    let file = read_model_file(&args.model).map_err(Failure::input)?;
    let most = MOST_BYTES / ((file.model.d() + file.model.h()) * size_of::<f64>());
    if args.rows > most {
        return Err(Failure::input(format!(
            "-n {}: that needs too much memory; draw at most {most} rows at once, and more with another --seed",
            args.rows
        )));
    }
    // the rows, and once more while they are written
    let bytes = 2 * args.rows as u64 * ((file.model.d() + file.model.h()) * size_of::<f64>()) as u64;
    memory::check(bytes, &format!("-n {}", args.rows), "draw fewer rows at once, and more with another --seed")?;
    let Sample { y, s } = drawn(&file.model, args.rows, args.seed.seed)?;
    let y = if args.unrounded { y } else { file.model.rounded(y) };
    let (y, names) = (file.restored(y), file.column_names());
    let mut rescue = Rescue::default();
    if let Some(path) = &args.causes {
        rescue.write(path, |path| write_table(path, &cause_names(&file.model), s.view(), force));
    }
    let mut screen = Screen::beside_files();
    let Some(output) = &args.output else {
        rescue.finish()?;
        let text = csv_text_of(&names, &file.labels, y.view())?;
        return Ok(screen.say(text.trim_end_matches('\n'))?);
    };
    rescue.write(output, |path| write_labelled_table(path, &names, &file.labels, y.view(), force));
    rescue.finish()?;
    let text_file = output
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("csv") || extension.eq_ignore_ascii_case("tsv"));
    if !text_file && file.labels.iter().any(Option::is_some) {
        screen.notes(output, ["labels are written as their numbers, counted from 0"])?;
    }
    let causes = args.causes.as_ref().map_or(String::new(), |path| format!(", {}", path.display()));
    Ok(screen.say(&format!("wrote {} ({} rows, {} columns){causes}", output.display(), args.rows, names.len()))?)
}

/// The rows that the seed gives, drawn piece by piece so that the user can stop.
fn drawn(model: &Model, rows: usize, seed: u64) -> Result<Sample, Failure> {
    let mut watch = Watch::new(LogFormat::Text);
    let mut all = Sample { y: Array2::zeros((rows, model.d())), s: Array2::zeros((rows, model.h())) };
    let at_once = (AT_ONCE / (model.d() + model.h())).max(1);
    for start in (0..rows).step_by(at_once) {
        let part = start..(start + at_once).min(rows);
        let Sample { y, s } = model.sample_rows(part.clone(), seed);
        all.y.slice_mut(s![part.clone(), ..]).assign(&y);
        all.s.slice_mut(s![part.clone(), ..]).assign(&s);
        if watch.step("rows", part.end, rows).is_break() && part.end < rows {
            return Err(Failure::work("stopped before all rows were drawn, so there is no result"));
        }
    }
    watch.finish();
    Ok(all)
}

fn row_count(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(0) => Err("give 1 row or more".to_owned()),
        Ok(rows) => Ok(rows),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => {
            Err("these are too many rows to draw at once; draw fewer, and more with another --seed".to_owned())
        }
        Err(_) => Err("give a whole number of rows, 1 or more".to_owned()),
    }
}
