//! The options of `efmca impute`.

use std::path::PathBuf;

use efmca::Causes;
use efmca::tasks::impute::{Fill, Imputer};
use efmca::tasks::table::TableLearner;

use crate::args::checkpoint::CheckpointArgs;
use crate::args::common::{OutputArgs, SeedArgs, TableArgs, WorkArgs, causes, one_of};
use crate::errors::refused;
use crate::failure::Failure;

/// The most tables that are drawn: their names are all checked before the work.
const MOST_DRAWS: usize = 10_000;

/// What missing numbers become.
const VALUES: &[(&str, &str, Fill)] = &[
    ("mean", "the mean given the other cells of the row", Fill::Mean),
    ("median", "the median", Fill::Median),
    ("mode", "the most probable value", Fill::Mode),
];

/// The options of `efmca impute`.
#[derive(Debug, clap::Args)]
pub(crate) struct ImputeArgs {
    /// The table with missing cells: CSV (also packed with gzip), NPY or NPZ (file.npz:name).
    #[arg(value_name = "INPUT")]
    pub(super) input: PathBuf,
    /// The table without missing cells: .csv, .tsv, .npy or .npz. With --draws 5 these are FILLED-1.csv to FILLED-5.csv.
    #[arg(long, short, value_name = "FILLED")]
    pub(super) output: PathBuf,
    /// Learns from the rows of this table instead, which has the columns of INPUT.
    #[arg(long, value_name = "TABLE", conflicts_with = "model")]
    pub(super) learn_from: Option<PathBuf>,
    /// Fills in what this model of `efmca fit` says, and learns nothing.
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["family", "causes"])]
    pub(super) model: Option<PathBuf>,
    /// What missing numbers become. Missing codes and words become the most probable one.
    #[arg(long, default_value = "mean", value_name = "VALUE", value_parser = one_of(VALUES))]
    value: Fill,
    /// Draws all missing cells so many times, for multiple imputation.
    #[arg(long, value_name = "N", conflicts_with_all = ["value", "as_written"])]
    pub(super) draws: Option<usize>,
    /// Gives numbers as many decimals as their column has: whole numbers for counts.
    #[arg(long)]
    as_written: bool,
    /// Writes a line for each cell that was filled in, with its uncertainty: row, column, value, standard deviation,
    /// interval, probability (.csv).
    #[arg(long, value_name = "CELLS.csv")]
    pub(super) cells: Option<PathBuf>,
    /// The probability of these intervals.
    #[arg(long, default_value_t = 0.9, value_name = "P")]
    interval: f64,
    /// A column of codes, of which one is right (by its name, or by its number counted from 1). Can be given several
    /// times. Without it columns of words, and those of up to ten different values, are codes.
    #[arg(long, value_name = "COLUMN")]
    pub(super) codes: Vec<String>,
    /// A column of numbers, which can be nearly right. Can be given several times.
    #[arg(long, value_name = "COLUMN")]
    pub(super) numbers: Vec<String>,
    /// The family of all columns, or of one, as in `efmca fit`.
    #[arg(long, value_name = "[COLUMN=]FAMILY")]
    pub(super) family: Vec<String>,
    /// Number of causes, or `auto` for the number that predicts held-out values best.
    #[arg(long, visible_alias = "components", default_value = "auto", value_name = "H", value_parser = causes)]
    causes: Causes,
    /// Fills in what the causes say, without a regression of what they leave.
    #[arg(long)]
    causes_only: bool,
    /// Parts of the rows; each is predicted by a model of the others, which says how good the values are.
    #[arg(long, default_value_t = 5, value_name = "N")]
    folds: usize,
    #[command(flatten)]
    pub(super) seed: SeedArgs,
    #[command(flatten)]
    pub(super) table: TableArgs,
    #[command(flatten)]
    pub(super) outputs: OutputArgs,
    /// Writes the errors of all columns, as docs/TABLES.md describes (.json).
    #[arg(long, value_name = "FILE.json")]
    pub(super) json: Option<PathBuf>,
    #[command(flatten)]
    pub(super) checkpoint: CheckpointArgs,
    #[command(flatten)]
    pub(super) work: WorkArgs,
}

impl ImputeArgs {
    /// The learner of the table, without the families of columns.
    pub(super) fn learner(&self) -> TableLearner {
        TableLearner::new().causes(self.causes).seed(self.seed.seed)
    }

    /// The settings of the library, checked.
    pub(super) fn imputer(&self, learner: TableLearner) -> Result<Imputer, Failure> {
        let imputer = Imputer::new()
            .learner(learner)
            .fill(self.value)
            .draws(self.draws.unwrap_or(0))
            .level(self.interval)
            .folds(self.folds)
            .regression(!self.causes_only)
            .as_written(self.as_written)
            .seed(self.seed.seed);
        imputer.check().map_err(|error| refused(&error))?;
        match self.draws {
            Some(0) => Err(Failure::input("--draws 0: give 1 or more")),
            Some(draws) if draws > MOST_DRAWS => Err(Failure::input(format!(
                "--draws {draws}: each is a table of its own; give {MOST_DRAWS} at the most"
            ))),
            _ => Ok(imputer),
        }
    }

    /// The files of filled tables.
    pub(super) fn filled(&self) -> Vec<PathBuf> {
        let Some(draws) = self.draws else { return vec![self.output.clone()] };
        let numbered = |number: usize| {
            let mut name = self.output.file_stem().unwrap_or_default().to_os_string();
            name.push(format!("-{number}"));
            if let Some(ending) = self.output.extension() {
                name.push(".");
                name.push(ending);
            }
            self.output.with_file_name(name)
        };
        (1..=draws).map(numbered).collect()
    }
}
