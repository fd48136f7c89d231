//! `efmca encode` and `efmca score`: a model on the rows of a table.

use std::path::{Path, PathBuf};

use efmca::model::Inference;
use efmca::tasks::encode::Encoder;
use efmca::{Data, Encoding, Model};
use efmca_io::table_file::{KeptRows, Remark, Table, TableOptions, read_table, write_table};
use efmca_io::{ModelFile, ModelRows, read_model_file};
use ndarray::{Array1, Axis};

use crate::args::common::{ForceArgs, TableArgs, WorkArgs};
use crate::errors::{Origin, TableOrigin, refused};
use crate::failure::Failure;
use crate::outputs::{self, Output};
use crate::progress::Watch;
use crate::rescue::Rescue;
use crate::show::{Screen, largest_first};

/// Rows that are shown.
const SHOWN: usize = 5;

/// A model and a table that it is used on.
#[derive(Debug, clap::Args)]
pub(crate) struct UseArgs {
    /// A model written by `efmca fit`.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// The table: CSV, Parquet, NPY or NPZ (file.npz:name), with the columns that the model was learned from, in any order.
    #[arg(value_name = "INPUT")]
    input: PathBuf,
    /// Sums over all states, which is possible for up to 16 causes; without it rows are treated as in the training of
    /// the model.
    #[arg(long, conflicts_with = "states")]
    exact: bool,
    /// Number of states that are kept for each row: more take longer and are nearer to the exact result.
    #[arg(long, value_name = "S")]
    states: Option<usize>,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    work: WorkArgs,
    #[command(flatten)]
    force: ForceArgs,
}

/// The options of `efmca encode`.
#[derive(Debug, clap::Args)]
pub(crate) struct EncodeArgs {
    /// The probabilities, a row for each row of INPUT and a column for each cause: .csv, .tsv, .npy or .npz.
    #[arg(long, short, value_name = "CODES")]
    output: PathBuf,
    #[command(flatten)]
    with: UseArgs,
}

/// The options of `efmca score`.
#[derive(Debug, clap::Args)]
pub(crate) struct ScoreArgs {
    /// The log-likelihoods, one for each row of INPUT: .csv, .tsv, .npy or .npz.
    #[arg(long, short, value_name = "SCORES")]
    output: Option<PathBuf>,
    #[command(flatten)]
    with: UseArgs,
}

/// Writes how likely each cause is to be active in each row.
pub(crate) fn encode(args: &EncodeArgs) -> Result<(), Failure> {
    let rows = Explained::new(&args.with, Some(&args.output))?;
    let mut codes = rows.encoding.active;
    // sums of probabilities can round to a little more than 1
    codes.mapv_inplace(|probability| probability.clamp(0.0, 1.0));
    let mut rescue = Rescue::default();
    let names = cause_names(&rows.file.model);
    rescue.write(&args.output, |path| write_table(path, &names, codes.view(), args.with.force.force));
    rescue.finish()?;
    let mut screen = Screen::beside_files();
    screen.notes(&args.with.input, &rows.remarks)?;
    let active = codes.sum() / codes.nrows().max(1) as f64;
    let (n, h) = codes.dim();
    screen.say(&format!("{n} rows, {active:.2} of {h} causes active in a row on average"))?;
    if let Some(states) = rows.states {
        screen.say(&format!("the probabilities are approximate: {states} states were kept for each row"))?;
    }
    Ok(screen.say(&format!("wrote {}", args.output.display()))?)
}

/// Shows how likely rows are.
pub(crate) fn score(args: &ScoreArgs) -> Result<(), Failure> {
    let rows = Explained::new(&args.with, args.output.as_deref())?;
    let scores = &rows.encoding.log_likelihoods;
    if let Some(output) = &args.output {
        let column = scores.view().insert_axis(Axis(1));
        let mut rescue = Rescue::default();
        rescue.write(output, |path| {
            write_table(path, &["log-likelihood".to_owned()], column.view(), args.with.force.force)
        });
        rescue.finish()?;
    }
    let mut screen = Screen::beside_files();
    screen.notes(&args.with.input, &rows.remarks)?;
    let mut how = match rows.states {
        None => "exact".to_owned(),
        Some(states) => format!("lower bounds with {states} states for each row"),
    };
    if let Some(changes) = rows.file.changes() {
        how += &format!("; of rows as the model sees them: {changes}");
    }
    screen.say(&format!("log-likelihood of {} rows ({how})", scores.len()))?;
    screen.say(&format!("  mean   {:.4}", scores.sum() / scores.len().max(1) as f64))?;
    screen.say(&format!("  total  {:.4}", scores.sum()))?;
    screen.say("least likely rows (look there for errors in the data)")?;
    let unlikely: Array1<f64> = -scores;
    for row in largest_first(&unlikely).into_iter().take(SHOWN) {
        screen.say(&format!("  row {}  {:.4}", row + 1, scores[row]))?;
    }
    if let Some(output) = &args.output {
        screen.say(&format!("wrote {}", output.display()))?;
    }
    Ok(())
}

/// The names of columns for the causes of a model.
pub(crate) fn cause_names(model: &Model) -> Vec<String> {
    (1..=model.h()).map(|cause| format!("cause {cause}")).collect()
}

/// The rows of a table, explained by a model.
struct Explained {
    file: ModelFile,
    encoding: Encoding,
    /// States of each row, where these are not all.
    states: Option<usize>,
    remarks: Vec<String>,
}

impl Explained {
    /// Checks all that can be checked before, reads both files, and explains the rows.
    fn new(args: &UseArgs, output: Option<&Path>) -> Result<Self, Failure> {
        args.work.set_threads()?;
        outputs::check([output.map(Output::Table)], &[&args.model, &args.input], args.force.force)?;
        let file = read_model_file(&args.model).map_err(Failure::input)?;
        let inference = match args.states {
            _ if args.exact => Inference::Exact,
            Some(states) => Inference::truncated(states),
            None => file.model.inference(),
        };
        let encoder = Encoder::new(&file.model).inference(inference);
        encoder.check().map_err(|error| refused(&error))?;
        let plain = file.labels.is_empty() && file.changes().is_none();
        let options = TableOptions { keep_rows: plain, ..args.table.options() };
        let table = read_table(&args.input, &options).map_err(Failure::input)?;
        let wrong = |problem| Failure::input(format!("{}: {problem}", args.input.display()));
        let kept = table.rows.as_ref().map(KeptRows::data).filter(|rows| rows.d() == file.model.d());
        let ModelRows { values, changes, .. } = file.rows_of(&table).map_err(wrong)?;
        let values = file.prepared(values).map_err(wrong)?;
        let data: &dyn Data = kept.unwrap_or(&values);
        let mut remarks: Vec<String> = remarks_of(&table).chain(changes.iter().map(ToString::to_string)).collect();
        if let Some(changes) = file.changes() {
            remarks.push(format!("its rows are changed like those that the model was learned from: {changes}"));
        }
        let mut watch = Watch::new(args.work.log_format);
        let encoding = encoder.run_observed(data, &mut |progress| watch.see(progress));
        watch.finish();
        let encoding = encoding.map_err(|error| {
            let (names, labels) = (&file.column_names(), &file.labels);
            let origin = TableOrigin { path: &args.input, names, labels, step: 1, learning: false };
            Origin::Table(origin).describe(&error)
        })?;
        let states = match inference {
            Inference::Truncated { states, .. } if !encoding.is_exact => Some(states),
            _ => None,
        };
        Ok(Self { file, encoding, states, remarks })
    }
}

/// The remarks of the reader. Labels have the codes of the model, not those that the reader gave them.
fn remarks_of(table: &Table) -> impl Iterator<Item = String> {
    table.remarks.iter().filter(|remark| !matches!(remark, Remark::Labels { .. })).map(ToString::to_string)
}
