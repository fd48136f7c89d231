//! What `efmca noise-type` and `efmca select` can be told.

use std::path::PathBuf;

use clap::ValueEnum;
use efmca_io::image_file::Axes;

use crate::clean_args::{LogFormat, patch_size};

/// What `efmca noise-type` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct NoiseTypeArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Ranks these families only, as poisson,gamma,weibull; gamma:k=? has its shape found in the data.
    #[arg(long, value_name = "FAMILIES", value_delimiter = ',')]
    pub(crate) families: Vec<String>,
    /// Fixes the family of a column of a table, as age=poisson; columns have names or numbers from 1 on.
    #[arg(long, value_name = "COLUMN=FAMILY")]
    pub(crate) family: Vec<String>,
    /// A family for each column (usual for CSV files), or one for all of them (usual for arrays).
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) columns: Option<ColumnsArg>,
    /// The number of causes, or `auto` to choose it by hidden values; 32 for images and sound, 8 for tables without it.
    #[arg(long, value_name = "H")]
    pub(crate) components: Option<String>,
    /// Trainings of each family that is not far behind.
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub(crate) restarts: usize,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    /// Writes the trained model of the best family, or of the table.
    #[arg(long, value_name = "FILE")]
    pub(crate) save_model: Option<PathBuf>,
}

/// What `efmca select` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct SelectArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Numbers of causes to try, as 10,20,40,80; powers of two without it.
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    pub(crate) components: Vec<usize>,
    /// The family of all values, as poisson, or of one column of a table, as age=poisson; what is not given is found.
    #[arg(long, value_name = "FAMILY")]
    pub(crate) family: Vec<String>,
    /// Trainings of each number.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) restarts: usize,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    /// Writes the curve of the hidden values as a picture.
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) curve: Option<PathBuf>,
}

/// The data.
#[derive(Debug, clap::Args)]
pub(crate) struct InputArgs {
    /// An image (PNG, TIFF, FITS, NPY, NPZ), a sound (WAV), or a table (CSV, NPY, NPZ with file.npz:name).
    #[arg(value_name = "INPUT")]
    pub(crate) input: PathBuf,
    /// What INPUT is; for arrays it is guessed from the shape otherwise.
    #[arg(long = "as", value_enum, value_name = "KIND")]
    pub(crate) kind: Option<KindArg>,
    /// Values that are missing; for tables also words, as NA.
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) missing: Vec<String>,
    /// The axes of an array that is an image, slowest first: p pages, y rows, x columns, c channels.
    #[arg(long, value_name = "LETTERS")]
    pub(crate) axes: Option<Axes>,
    /// What stands between the fields of a CSV file; it is guessed otherwise.
    #[arg(long, value_name = "CHARACTER")]
    pub(crate) delimiter: Option<char>,
    /// Whether the first line of a CSV file has names; it is guessed otherwise.
    #[arg(long, value_name = "YES|NO", value_parser = yes_no)]
    pub(crate) header: Option<bool>,
    /// Rows and columns of a patch of images and spectrograms, as 8 or 12x12.
    #[arg(long, value_name = "SIZE", value_parser = patch_size, default_value = "8")]
    pub(crate) patch: (usize, usize),
    /// Patches or rows to learn from, at the most; they are evenly spread.
    #[arg(long, value_name = "N")]
    pub(crate) most: Option<usize>,
}

/// How to work.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkArgs {
    /// EM iterations of each training, at the most.
    #[arg(long, default_value_t = 60, value_name = "N")]
    pub(crate) iterations: usize,
    /// The share of the values that is hidden from training and then foretold.
    #[arg(long, default_value_t = 0.1, value_name = "SHARE")]
    pub(crate) hidden: f64,
    /// The same number gives the same result, bit for bit.
    #[arg(long, short, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
    /// Threads; all processors without it. The result is the same for any number.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Prints the result as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// Writes a page with the tables and pictures.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Replaces files that are there.
    #[arg(long)]
    pub(crate) force: bool,
    /// What is said on the way: text for people, or one JSON object a line on standard error for machines.
    #[arg(long, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    pub(crate) log_format: LogFormat,
}

/// What a file can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindArg {
    /// Pixels that belong together by where they are.
    Image,
    /// A row for each data point.
    Table,
    /// A sound, whose amplitude spectrogram is looked at.
    Sound,
}

/// Whether columns may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColumnsArg {
    /// A family for each.
    Each,
    /// One family for all.
    Same,
}

fn yes_no(text: &str) -> Result<bool, String> {
    match text.to_lowercase().as_str() {
        "yes" | "true" => Ok(true),
        "no" | "false" => Ok(false),
        _ => Err("write yes or no".into()),
    }
}
