//! The options of `efmca learn`.

use std::path::PathBuf;

use clap::ValueEnum;
use efmca::tasks::learn::FeatureLearner;
use efmca::{Error, Superposition, tasks};
use efmca_io::image_file::Axes;

use crate::clean_args::{LogFormat, patch_size};
use crate::failure::Failure;

/// The options of `efmca learn`.
#[derive(Debug, clap::Args)]
// without it a number such as -1 is taken for an unknown option
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct FeatureArgs {
    /// Images (PNG, TIFF, NPY, NPZ or FITS; sizes may differ), or with --rows one NPY file.
    #[arg(value_name = "IMAGES", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// The folder for the model, the pictures, the report and the checkpoint; it is created if needed.
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out_dir: PathBuf,

    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) learning: LearningArgs,

    /// Writes a checkpoint after every so many iterations and after the last one; 0 writes none.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) checkpoint_every: usize,
    /// Resumes the run from the checkpoint in DIR, with the same data and settings (including the number of
    /// iterations); starts a new run if there is none yet.
    #[arg(long)]
    pub(crate) resume: bool,
    /// The number of threads; all processors without it. The result is the same for any number.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Replaces an earlier run in DIR.
    #[arg(long)]
    pub(crate) force: bool,
    /// The messages along the way: text for people, or one JSON object a line on standard error for machines.
    #[arg(long, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    pub(crate) log_format: LogFormat,
}

const EXAMPLES: &str = "Examples:
  efmca learn photos/*.png --transform log --patch 12 --components 200 --out-dir fields
                                 means and standard deviations of patches of photographs
  efmca learn photos/*.png --transform log --patch 20 --components 1000 --iterations 500 --out-dir large --resume
                                 the same call starts the run and resumes it after an interruption
  efmca learn counts.tif --family poisson --patch 8 --components 50 --out-dir cells
                                 features of an image of counts
  efmca learn rows.npy --rows --family bernoulli --components 100 --out-dir codes
                                 rows that stay on the disk";

/// Where rows come from.
#[derive(Debug, clap::Args)]
pub(crate) struct DataArgs {
    /// IMAGES is one NPY file whose rows are the data points; it is read from the disk as needed.
    #[arg(long, conflicts_with_all = ["patches", "axes"])]
    pub(crate) rows: bool,
    /// Rows and columns of a patch, such as 20 or 16x24; with --rows, the patch whose pixels the columns are (default:
    /// 12, and no patch with --rows).
    #[arg(long, value_name = "SIZE", value_parser = patch_size)]
    pub(crate) patch: Option<(usize, usize)>,
    /// The number of patches to draw at random places; all of them if there are fewer.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(crate) patches: usize,
    /// The function of each value: `log` for light intensities, whose contrasts are ratios.
    #[arg(long, value_enum, default_value_t = Transform::None, value_name = "TRANSFORM")]
    pub(crate) transform: Transform,
    /// Makes all directions of patches equally strong (ZCA) that together have this share of the variance, such as
    /// 0.95, or none. Without it 0.95 for families of all real numbers, and none for others.
    #[arg(long, value_name = "SHARE", value_parser = whitened_share)]
    pub(crate) whiten: Option<Whiten>,
    /// Divides each image by the mean of its values first, where exposures or bit depths differ.
    #[arg(long)]
    pub(crate) normalise: bool,
    /// Pixels with this value are missing.
    #[arg(long, value_name = "VALUE")]
    pub(crate) missing: Option<f64>,
    /// The axes of arrays, slowest first: p pages, y rows, x columns, c channels; such as yxc or pyx.
    #[arg(long, value_name = "LETTERS")]
    pub(crate) axes: Option<Axes>,
}

/// How to learn.
#[derive(Debug, clap::Args)]
pub(crate) struct LearningArgs {
    /// The number of causes.
    #[arg(long, value_name = "H", default_value_t = 100)]
    pub(crate) components: usize,
    /// The noise, such as gaussian, poisson or gamma:k=4; `efmca families` lists all.
    #[arg(long, value_name = "FAMILY", default_value = "gaussian")]
    pub(crate) family: String,
    /// Which of the active causes sets a value; without it max-magnitude where values have both signs.
    #[arg(long, value_enum, value_name = "RULE")]
    pub(crate) superposition: Option<Rule>,
    /// The number of EM iterations, each over all data.
    #[arg(long, value_name = "N", default_value_t = FeatureLearner::ITERATIONS)]
    pub(crate) iterations: usize,
    /// The number of states that are kept for each data point.
    #[arg(long, value_name = "S", default_value_t = FeatureLearner::STATES)]
    pub(crate) states: usize,
    /// For the Gaussian: means and priors in the first half of the iterations and standard deviations in the second
    /// (two), or all at once (one).
    #[arg(long, value_enum, default_value_t = Phases::Two, value_name = "PHASES")]
    pub(crate) phases: Phases,
    /// Where means start: clusters of similar data points, or single ones mixed with the average.
    #[arg(long, value_enum, default_value_t = Start::Clusters, value_name = "START")]
    pub(crate) start: Start,
    /// The first standard deviations of causes, as a multiple of those of the data.
    #[arg(long, value_name = "FACTOR", default_value_t = FeatureLearner::SPREAD)]
    pub(crate) spread: f64,
    /// Draws the first priors from this range, such as 0.1,0.5 (the paper's); without it they are equal and small.
    #[arg(long, value_name = "LOW,HIGH", value_parser = range)]
    pub(crate) pi_start: Option<(f64, f64)>,
    /// Rows of average data that are added to every cause, as a share of all rows.
    #[arg(long, value_name = "SHARE", default_value_t = FeatureLearner::PSEUDO_ROWS)]
    pub(crate) pseudo_rows: f64,
    /// Updates of the parameters in each iteration.
    #[arg(long, value_name = "N", default_value_t = FeatureLearner::BATCHES)]
    pub(crate) batches: usize,
    /// The same number gives the same patches and the same model, bit for bit.
    #[arg(long, short, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
}

impl LearningArgs {
    /// The settings of the library, checked: nothing else is known about the data before images are read, which can
    /// take long.
    pub(crate) fn learner(&self) -> Result<FeatureLearner, Failure> {
        let mut learner = FeatureLearner::new(&self.family, self.components)
            .iterations(self.iterations)
            .two_phases(self.phases == Phases::Two)
            .states(self.states)
            .pseudo_rows(self.pseudo_rows)
            .batches(self.batches)
            .start(self.start.into())
            .spread(self.spread)
            .seed(self.seed);
        if let Some(rule) = self.superposition {
            learner = learner.superposition(rule.into());
        }
        if let Some((low, high)) = self.pi_start {
            learner = learner.pi_init(low, high);
        }
        learner.check().map_err(|error| match &error {
            Error::UnknownFamily { .. } | Error::FamilyParameter { .. } => {
                Failure::input(format!("--family {}: {error}", self.family))
            }
            _ => refused(&error),
        })?;
        Ok(learner)
    }
}

/// An error about a setting of the library in terms of the option that it was typed as.
pub(crate) fn refused(error: &Error) -> Failure {
    let Error::Setting { name, value, requirement } = error else { return Failure::input(error) };
    let option = match *name {
        "causes" => "components".to_owned(),
        "pi_init" => "pi-start".to_owned(),
        other => other.replace('_', "-"),
    };
    Failure::input(format!("--{option} {value}: {requirement}"))
}

/// The share of the variance that is whitened, or none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Whiten(pub(crate) Option<f64>);

fn whitened_share(text: &str) -> Result<Whiten, String> {
    if text == "none" {
        return Ok(Whiten(None));
    }
    let share = text.parse().map_err(|_| "give a share of the variance, such as 0.95, or none".to_owned())?;
    Ok(Whiten(Some(share)))
}

/// The function of each value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transform {
    /// Nothing.
    None,
    /// The natural logarithm, for positive values.
    Log,
}

impl From<Transform> for tasks::learn::Transform {
    fn from(transform: Transform) -> Self {
        match transform {
            Transform::None => Self::None,
            Transform::Log => Self::Log,
        }
    }
}

/// How active causes combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Rule {
    /// The largest mean wins.
    Max,
    /// The mean with the largest magnitude wins.
    MaxMagnitude,
}

impl From<Rule> for Superposition {
    fn from(rule: Rule) -> Self {
        match rule {
            Rule::Max => Self::Max,
            Rule::MaxMagnitude => Self::MaxMagnitude,
        }
    }
}

/// The phases of learning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Phases {
    /// All parameters together.
    One,
    /// Means first, then standard deviations.
    Two,
}

/// The rows from which means start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Start {
    /// From clusters.
    Clusters,
    /// From single data points.
    Rows,
}

impl From<Start> for tasks::learn::Start {
    fn from(start: Start) -> Self {
        match start {
            Start::Clusters => Self::Clusters,
            Start::Rows => Self::Rows,
        }
    }
}

fn range(text: &str) -> Result<(f64, f64), String> {
    let parts: Vec<Option<f64>> = text.split(',').map(|part| part.trim().parse().ok()).collect();
    match parts[..] {
        [Some(low), Some(high)] => Ok((low, high)),
        _ => Err(format!("`{text}` is not a range of probabilities; write it as 0.1,0.5")),
    }
}
