//! The options of `efmca learn`.

use std::path::PathBuf;

use clap::ArgAction;
use efmca::Superposition;
use efmca::family::SharedFamily;
use efmca::tasks::learn::{FeatureLearner, Start, Transform};

use crate::args::common::{ImageArgs, SeedArgs, WorkArgs, noise, one_of, patch_size};
use crate::errors::refused;
use crate::failure::Failure;

/// The options of `efmca learn`.
#[derive(Debug, clap::Args)]
// without it a number such as -1 is taken for an unknown option
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct LearnArgs {
    /// Images (PNG, TIFF, NPY, NPZ or FITS; sizes may differ), or with --rows one NPY file.
    #[arg(value_name = "IMAGES", required = true)]
    pub(super) inputs: Vec<PathBuf>,
    /// Folder for the model, the pictures, the report and the checkpoint; it is created if needed.
    #[arg(long, short, value_name = "DIR")]
    pub(super) out_dir: PathBuf,

    #[command(flatten)]
    pub(super) data: DataArgs,
    #[command(flatten)]
    pub(super) learning: LearningArgs,

    /// Writes a checkpoint after every so many iterations and after the last one; 0 writes none.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(super) checkpoint_every: usize,
    /// Resumes the run from the checkpoint in DIR, with the same data and settings; starts a new run if there is none yet,
    /// and no file of another run. A larger number of --iterations prolongs it.
    #[arg(long)]
    pub(super) resume: bool,
    /// Replaces an earlier run in DIR, and other files with the names of its results.
    #[arg(long)]
    pub(super) force: bool,
    #[command(flatten)]
    pub(super) work: WorkArgs,
}

const EXAMPLES: &str = "Examples:
  efmca learn photos/*.png --transform log --patch 12 --causes 200 --out-dir fields
                                 means and standard deviations of patches of photographs
  efmca learn photos/*.png --transform log --patch 20 --causes 1000 --iterations 500 --out-dir large --resume
                                 the same call starts the run and resumes it after an interruption
  efmca learn counts.tif --family poisson --patch 8 --causes 50 --out-dir cells
                                 features of an image of counts
  efmca learn rows.npy --rows --family bernoulli --causes 100 --out-dir codes
                                 rows that stay on the disk";

/// Where rows come from.
#[derive(Debug, clap::Args)]
pub(crate) struct DataArgs {
    /// IMAGES is one NPY file whose rows are the data points; it is read from the disk as needed.
    #[arg(long, conflicts_with_all = ["patches", "axes"])]
    pub(super) rows: bool,
    /// Rows and columns of a patch, such as 20 or 16x24; with --rows, the patch whose pixels the columns are (default:
    /// 12, and no patch with --rows).
    #[arg(long, value_name = "SIZE", value_parser = patch_size)]
    pub(super) patch: Option<(usize, usize)>,
    /// Number of patches to draw at random places; all of them if there are fewer.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(super) patches: usize,
    /// Function of each value: `log` for light intensities, whose contrasts are ratios.
    #[arg(long, default_value = "none", value_name = "TRANSFORM", value_parser = one_of(&TRANSFORMS))]
    pub(super) transform: Transform,
    /// Makes all directions of patches equally strong (ZCA) that together have this share of the variance, such as
    /// 0.95, or none. Without it 0.95 for families of all real numbers, and none for others.
    #[arg(long, value_name = "SHARE", value_parser = whitened_share)]
    pub(super) whiten: Option<Whiten>,
    /// Divides each image by the mean of its values first, where exposures or bit depths differ.
    #[arg(long)]
    pub(super) normalise: bool,
    #[command(flatten)]
    pub(super) image: ImageArgs,
}

/// How to learn.
#[derive(Debug, clap::Args)]
pub(crate) struct LearningArgs {
    /// Number of causes.
    #[arg(long, visible_alias = "components", value_name = "H", default_value_t = 100)]
    pub(super) causes: usize,
    /// The noise, such as gaussian, poisson or gamma:k=4; `efmca families` lists all.
    #[arg(long, value_name = "FAMILY", default_value = "gaussian", value_parser = noise)]
    pub(super) family: SharedFamily,
    /// Which of the active causes sets a value; without it max-magnitude where values have both signs.
    #[arg(long, value_name = "RULE", value_parser = one_of(&RULES))]
    pub(super) superposition: Option<Superposition>,
    /// Number of EM iterations, each over all data.
    #[arg(long, value_name = "N", default_value_t = FeatureLearner::ITERATIONS)]
    pub(super) iterations: usize,
    /// Number of states that are kept for each data point.
    #[arg(long, value_name = "S", default_value_t = FeatureLearner::STATES)]
    pub(super) states: usize,
    /// For the Gaussian: means and priors in the first half of the iterations and standard deviations in the second
    /// (two), or all at once (one).
    #[arg(long = "phases", default_value = "two", value_name = "PHASES")]
    #[arg(value_parser = one_of(&TWO_PHASES), action = ArgAction::Set)]
    pub(super) two_phases: bool,
    /// Where means start: clusters of similar data points, or single ones mixed with the average.
    #[arg(long, default_value = "clusters", value_name = "START", value_parser = one_of(&STARTS))]
    pub(super) start: Start,
    /// First standard deviations of causes, as a multiple of those of the data.
    #[arg(long, value_name = "FACTOR", default_value_t = FeatureLearner::SPREAD)]
    pub(super) spread: f64,
    /// Draws the first priors from this range, such as 0.1,0.5 (the paper's); without it they are equal and small.
    #[arg(long, value_name = "LOW,HIGH", value_parser = range)]
    pub(super) pi_start: Option<(f64, f64)>,
    /// Rows of average data that are added to every cause, as a share of all rows.
    #[arg(long, value_name = "SHARE", default_value_t = FeatureLearner::PSEUDO_ROWS)]
    pub(super) pseudo_rows: f64,
    /// Number of updates of the parameters in each iteration.
    #[arg(long, value_name = "N", default_value_t = FeatureLearner::BATCHES)]
    pub(super) batches: usize,
    /// Number of shards into which data points are cut, which so many ranks can share; without it one for every 8192 data points of
    /// a batch, 16 at the most. The result depends on it, and never on the number of ranks or threads.
    #[arg(long, value_name = "N")]
    pub(super) shards: Option<usize>,
    #[command(flatten)]
    pub(super) seed: SeedArgs,
}

impl LearningArgs {
    /// The settings of the library, checked: nothing else is known about the data before images are read, which can
    /// take long.
    pub(super) fn learner(&self) -> Result<FeatureLearner, Failure> {
        let mut learner = FeatureLearner::new(&self.family, self.causes)
            .iterations(self.iterations)
            .two_phases(self.two_phases)
            .states(self.states)
            .pseudo_rows(self.pseudo_rows)
            .batches(self.batches)
            .shards(self.shards)
            .start(self.start)
            .spread(self.spread)
            .seed(self.seed.seed);
        if let Some(rule) = self.superposition {
            learner = learner.superposition(rule);
        }
        if let Some((low, high)) = self.pi_start {
            learner = learner.pi_init(low, high);
        }
        learner.check().map_err(|error| refused(&error))?;
        Ok(learner)
    }
}

/// The share of the variance that is whitened, or none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Whiten(pub(super) Option<f64>);

fn whitened_share(text: &str) -> Result<Whiten, String> {
    if text == "none" {
        return Ok(Whiten(None));
    }
    let share = text.parse().map_err(|_| "give a share of the variance, such as 0.95, or none".to_owned())?;
    Ok(Whiten(Some(share)))
}

const TRANSFORMS: [(&str, &str, Transform); 2] = [
    ("none", "Values as they are", Transform::None),
    ("log", "The natural logarithm, for positive values", Transform::Log),
];
const RULES: [(&str, &str, Superposition); 2] = [
    ("max", "The largest mean wins", Superposition::Max),
    ("max-magnitude", "The mean with the largest magnitude wins", Superposition::MaxMagnitude),
];
const TWO_PHASES: [(&str, &str, bool); 2] =
    [("one", "All parameters together", false), ("two", "Means first, then standard deviations", true)];
const STARTS: [(&str, &str, Start); 2] = [
    ("clusters", "Clusters of similar data points", Start::Clusters),
    ("rows", "Single data points, mixed with the average", Start::Rows),
];

fn range(text: &str) -> Result<(f64, f64), String> {
    let parts: Vec<Option<f64>> = text.split(',').map(|part| part.trim().parse().ok()).collect();
    match parts[..] {
        [Some(low), Some(high)] => Ok((low, high)),
        _ => Err(format!("`{text}` is not a range of probabilities; write it as 0.1,0.5")),
    }
}
