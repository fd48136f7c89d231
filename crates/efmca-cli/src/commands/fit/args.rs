//! The options of `efmca fit`.

use std::path::PathBuf;

use efmca::tasks::table::TableLearner;
use efmca::{Causes, Superposition};

use crate::args::checkpoint::CheckpointArgs;
use crate::args::common::{OutputArgs, SeedArgs, TableArgs, WorkArgs, causes, one_of};
use crate::commands::report::ReportOptions;
use crate::errors::refused;
use crate::failure::Failure;

/// How causes combine.
const RULES: &[(&str, &str, Superposition)] = &[
    ("max", "the active cause with the largest mean", Superposition::Max),
    ("max-magnitude", "the one with the largest magnitude, for signed data", Superposition::MaxMagnitude),
];

/// The options of `efmca fit`.
#[derive(Debug, clap::Args)]
pub(crate) struct FitArgs {
    /// The table: CSV (also packed with gzip), Parquet, NPY, NPZ (file.npz:name) or a sparse matrix of SciPy (save_npz), with a
    /// row for each data point.
    #[arg(value_name = "INPUT")]
    pub(super) input: PathBuf,
    /// File for the model, such as model.safetensors.
    #[arg(long, short, value_name = "MODEL")]
    pub(super) output: PathBuf,
    /// The family of all columns, such as poisson or gamma:k=4, or of one, such as age=gamma (by its name, or by its
    /// number counted from 1). Can be given several times; columns without one get the family that suits them best.
    /// `efmca families` lists all.
    #[arg(long, value_name = "[COLUMN=]FAMILY")]
    pub(super) family: Vec<String>,
    /// How finely the values of a column were written down, such as age=1, price=0.01, or weight=continuous. Without it
    /// the step is found. Can be given several times.
    #[arg(long, value_name = "COLUMN=STEP")]
    pub(super) step: Vec<String>,
    /// Number of causes, or `auto` for the number that predicts held-out values best.
    #[arg(long, visible_alias = "components", default_value = "auto", value_name = "H", value_parser = causes)]
    causes: Causes,
    /// Number of EM iterations, at the most; training ends earlier when nothing changes any more.
    #[arg(long, default_value_t = 100, value_name = "N")]
    iterations: usize,
    /// Number of starts that are given a short run; the best of them is trained further. Without it 10, or up to 4 on some
    /// of the rows where the table is large.
    #[arg(long, value_name = "N")]
    starts: Option<usize>,
    /// Number of states that are kept for each row. Without it all, or 60 where there are too many causes or rows for
    /// that.
    #[arg(long, value_name = "S")]
    states: Option<usize>,
    /// Number of shards into which rows are cut where posteriors are truncated, which so many ranks can share; without it one for
    /// every 8192 rows of a batch, 16 at the most. The result depends on it, and never on the number of ranks or threads.
    #[arg(long, value_name = "N")]
    shards: Option<usize>,
    /// What is known of the causes: a CSV file with a line for each cause (its name first) and a column for each column of
    /// the table, with + where the cause raises it, 0 where it has nothing to do with it, and nothing where that is not
    /// known. `-` is for --superposition max-magnitude.
    #[arg(long, value_name = "SIGNS.csv", conflicts_with = "hold")]
    pub(super) signs: Option<PathBuf>,
    /// Keeps the causes of this model as they are, with their families, and learns further ones beside them.
    #[arg(long, value_name = "MODEL", conflicts_with = "family")]
    pub(super) hold: Option<PathBuf>,
    /// Groups of columns (views) that count alike, so that one of 300 columns does not drown one of 10: a CSV file with the
    /// line `column,view`, then a line for each column with its name and that of its view. Columns that it does not name are
    /// one view.
    #[arg(long, value_name = "VIEWS.csv")]
    pub(super) views: Option<PathBuf>,
    /// How causes combine: the one with the largest mean sets a value, or the one with the largest magnitude, for signed
    /// data.
    #[arg(long, default_value = "max", value_name = "RULE", value_parser = one_of(RULES))]
    superposition: Superposition,
    #[command(flatten)]
    pub(super) seed: SeedArgs,
    #[command(flatten)]
    pub(super) table: TableArgs,
    #[command(flatten)]
    pub(super) outputs: OutputArgs,
    #[command(flatten)]
    pub(super) numbers: ReportOptions,
    #[command(flatten)]
    pub(super) checkpoint: CheckpointArgs,
    #[command(flatten)]
    pub(super) work: WorkArgs,
}

impl FitArgs {
    /// The settings of the library, checked.
    pub(super) fn learner(&self) -> Result<TableLearner, Failure> {
        let learner = TableLearner::new().causes(self.causes).iterations(self.iterations);
        let learner = learner.starts(self.starts).states(self.states).shards(self.shards).seed(self.seed.seed);
        let learner = learner.superposition(self.superposition);
        learner.check().map_err(|error| refused(&error))?;
        Ok(learner)
    }
}
