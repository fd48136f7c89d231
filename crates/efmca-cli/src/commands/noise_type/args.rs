//! The options of `efmca noise-type`, and those that it shares with `efmca select`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use efmca::Causes;
use efmca::model::Resolution;
use efmca::tasks::noise::{NoiseType, TableNoise};
use serde_json::Value;

use crate::args::checkpoint::CheckpointArgs;
use crate::args::common::{OutputArgs, SeedArgs, WorkArgs, causes};
use crate::columns::ColumnFamilies;
use crate::failure::Failure;
use crate::input::{Input, InputArgs};
use crate::outputs::{self, Output};
use crate::rescue::Rescue;
use crate::show::Screen;

/// The options of `efmca noise-type`.
#[derive(Debug, clap::Args)]
pub(crate) struct NoiseTypeArgs {
    #[command(flatten)]
    pub(super) input: InputArgs,
    /// Ranks these families only, such as poisson,gamma,weibull; gamma:k=? has its shape found in the data.
    #[arg(long, value_name = "FAMILIES", value_delimiter = ',')]
    pub(super) families: Vec<String>,
    /// Gives the family of a column of a table, such as age=poisson; columns have names, or numbers counted from 1.
    #[arg(long, value_name = "COLUMN=FAMILY")]
    pub(super) family: Vec<String>,
    /// How finely the values of a column of a table were written down, such as age=1, price=0.01, or weight=continuous.
    /// Without it the step is found. Can be given several times.
    #[arg(long, value_name = "COLUMN=STEP")]
    pub(super) step: Vec<String>,
    /// A family for each column (usual for CSV files), or one for all of them (usual for arrays).
    #[arg(long, value_enum, value_name = "HOW")]
    pub(super) columns: Option<ColumnsArg>,
    /// Number of causes, or `auto` for the number that predicts held-out values best; without it 32 for images and
    /// sounds, and up to 8 for tables.
    #[arg(long, visible_alias = "components", value_name = "H", value_parser = causes)]
    causes: Option<Causes>,
    /// Number of trainings of each family that is not far behind.
    #[arg(long, default_value_t = 3, value_name = "N")]
    restarts: usize,
    #[command(flatten)]
    pub(super) comparison: ComparisonArgs,
    /// Writes the trained model of the best family, or of the table.
    #[arg(long, value_name = "FILE")]
    pub(super) save_model: Option<PathBuf>,
}

impl NoiseTypeArgs {
    /// The settings for one family of all values.
    pub(super) fn ranking(&self) -> NoiseType {
        let ComparisonArgs { iterations, held_out, seed, .. } = &self.comparison;
        let noise = NoiseType::new().causes(self.causes.unwrap_or_default()).restarts(self.restarts);
        let noise = noise.iterations(*iterations).held_out(*held_out).seed(seed.seed);
        if self.families.is_empty() { noise } else { noise.families(&self.families) }
    }

    /// The settings for a family of each column.
    pub(super) fn table_noise(&self, given: &ColumnFamilies<'_>, steps: Vec<(usize, Resolution)>) -> TableNoise {
        let ComparisonArgs { iterations, held_out, seed, .. } = &self.comparison;
        let noise = TableNoise::new().causes(self.causes.unwrap_or_default());
        let noise = noise.iterations(*iterations).held_out(*held_out).seed(seed.seed);
        let noise = steps.into_iter().fold(noise, |noise, (d, resolution)| noise.resolution(d, resolution));
        let noise = given.of_labels().fold(noise, |noise, (d, count)| noise.labels(d, count));
        given.of_columns().fold(noise, |noise, (d, spec)| noise.fix(d, spec))
    }
}

/// How families or numbers of causes are compared.
#[derive(Debug, clap::Args)]
pub(crate) struct ComparisonArgs {
    /// Number of EM iterations of each training, at the most.
    #[arg(long, default_value_t = 60, value_name = "N")]
    pub(crate) iterations: usize,
    /// Share of the values that is held out of training and then predicted.
    #[arg(long, visible_alias = "hidden", default_value_t = 0.1, value_name = "SHARE")]
    pub(crate) held_out: f64,
    #[command(flatten)]
    pub(crate) seed: SeedArgs,
    /// Prints the result as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) outputs: OutputArgs,
    #[command(flatten)]
    pub(crate) checkpoint: CheckpointArgs,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

impl ComparisonArgs {
    /// Prepares the work, and finds out whether the report and another result can be written.
    pub(crate) fn prepare(&self, other: Option<&Path>, input: &Path) -> Result<(), Failure> {
        self.work.set_threads()?;
        let results = [self.outputs.report.as_deref(), other];
        outputs::check(results.map(|path| path.map(Output::File)), &[input], self.outputs.force.force)
    }

    /// Shows a result as text or as JSON, and the files that were written. What was found is shown in any case, also where a file
    /// is not where it should be.
    pub(crate) fn show(
        &self,
        input: &Input<'_>,
        text: &str,
        json: &Value,
        stopped: bool,
        rescue: Rescue,
    ) -> Result<(), Failure> {
        let mut screen = Screen::beside_files();
        if self.json {
            screen.say(&json.to_string())?;
            return rescue.finish();
        }
        screen.notes(input.path(), &input.remarks)?;
        screen.say(text)?;
        if stopped {
            screen.say("stopped early: this is the result so far")?;
        }
        rescue.placed().iter().try_for_each(|path| screen.say(&format!("wrote {}", path.display())))?;
        rescue.finish()
    }
}

/// Whether columns may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColumnsArg {
    /// A family for each.
    Each,
    /// One family for all.
    Same,
}
