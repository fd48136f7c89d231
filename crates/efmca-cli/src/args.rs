//! What can be typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use efmca_io::image_file::SampleType;

use crate::clean_args::{ApplyArgs, DenoiseArgs, InpaintArgs};
use crate::learn_args::FeatureArgs;
use crate::model_args::{EncodeArgs, FitArgs, InfoArgs, SampleArgs, ScoreArgs};
use crate::noise_args::{NoiseTypeArgs, SelectArgs};

/// Maximal causes analysis with noise from any exponential family: finds the hidden causes of data,
/// where of the active causes the strongest one decides each value.
#[derive(Debug, Parser)]
#[command(name = "efmca", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "Examples:
  efmca demo                     clean a picture with about one photon a pixel
  efmca bars                     learn bars from noisy pictures, live
  efmca families                 all kinds of noise there are
  efmca families gamma           one of them in detail
  efmca corrupt clean.tif -o noisy.tif --noise poisson --peak 2
                                 a noisy image to test with: 2 photons where it is brightest
  efmca denoise noisy.tif -o clean.tif --noise poisson --report clean.html
                                 a clean image, learned from the noisy one alone
  efmca inpaint holes.tif -o whole.tif --noise poisson --mask holes.png
                                 missing pixels filled in
  efmca learn photos/*.png --transform log --out-dir fields
                                 dictionaries of image patches, with pictures
  efmca noise-type counts.npy    what noise an image, a sound or a table has
  efmca noise-type patients.csv  a family for each column of a table
  efmca select counts.npy --family poisson --components 5,10,20,40
                                 how many causes there are
  efmca fit table.csv -o model.safetensors
                                 the causes behind the rows of a table, whatever its columns hold
  efmca score model.safetensors table.csv
                                 the rows that fit in least";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Cleans a picture with about one photon a pixel, which comes with the program.
    Demo(DemoArgs),
    /// Learns the bars test live: ten bars from a thousand noisy pictures.
    Bars(BarsArgs),
    /// Lists the families of noise, or shows one of them.
    Families(FamiliesArgs),
    /// Makes a noisy image from a clean one, to test with.
    Corrupt(CorruptArgs),
    /// Cleans a noisy image, with nothing to learn from but itself.
    Denoise(DenoiseArgs),
    /// Fills in the missing pixels of a noisy image, and cleans the others.
    Inpaint(InpaintArgs),
    /// Cleans an image with a model that was learned from another one.
    Apply(ApplyArgs),
    /// Learns features of images or other rows: dictionaries with pictures, in runs that can be gone on with.
    Learn(FeatureArgs),
    /// Says what noise an image, a sound or a table has.
    NoiseType(NoiseTypeArgs),
    /// Says how many causes data have.
    Select(SelectArgs),
    /// Learns a model of a table: the families of its columns, and the causes behind its rows.
    Fit(FitArgs),
    /// Tells which causes are behind each row of a table.
    Encode(EncodeArgs),
    /// Tells how likely each row of a table is, and which rows are least likely.
    Score(ScoreArgs),
    /// Draws new rows from a model.
    Sample(SampleArgs),
    /// Shows what is in a model file.
    Info(InfoArgs),
}

/// What `efmca demo` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// The expected photons of the brightest pixel.
    #[arg(long, default_value_t = 2.0, value_name = "P")]
    pub(crate) peak: f64,

    /// The same number gives the same noise and the same result, bit for bit.
    #[arg(long, short, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,

    /// The folder for the results; it is made if it is not there, and files of an earlier demo are replaced.
    #[arg(long, short, default_value = "efmca-demo", value_name = "DIR")]
    pub(crate) out: PathBuf,
}

/// What `efmca bars` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct BarsArgs {
    /// The noise: exponential, poisson, bernoulli, gaussian or gamma.
    #[arg(long, short, default_value = "exponential", value_name = "FAMILY")]
    pub(crate) family: String,

    /// The same number gives the same pictures and the same model, bit for bit.
    #[arg(long, short, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,

    /// The folder for the picture, the figure and the model; it is made if it is not there.
    #[arg(long, short, default_value = "efmca-bars", value_name = "DIR")]
    pub(crate) out: PathBuf,
}

/// What `efmca families` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct FamiliesArgs {
    /// A family to show in detail, as `gamma` or `gamma:k=4`; all are listed without it.
    #[arg(value_name = "FAMILY")]
    pub(crate) family: Option<String>,
}

/// What `efmca corrupt` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct CorruptArgs {
    /// The clean image: PNG, TIFF, NPY, NPZ (file.npz:name) or FITS.
    #[arg(value_name = "CLEAN")]
    pub(crate) clean: PathBuf,

    /// The noisy image; its ending says the format. NPY has no place for peak, scale and seed, all others have.
    #[arg(long, short, value_name = "OUTPUT")]
    pub(crate) output: PathBuf,

    /// The noise, as `poisson`, `exponential`, `gamma:k=4` or `gaussian:var=25`; `efmca families` lists all.
    #[arg(long, value_name = "FAMILY")]
    pub(crate) noise: String,

    /// Scales the image so that its largest value becomes this mean; without it the values are the means.
    #[arg(long, value_name = "P")]
    pub(crate) peak: Option<f64>,

    /// The standard deviation of every pixel after scaling, for gaussian, gamma, beta, log-normal and inverse-gaussian.
    #[arg(long, value_name = "S")]
    pub(crate) sd: Option<f64>,

    /// Raises means below this one to it, for noise that has no mean of 0, as exponential.
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub(crate) floor: Option<f64>,

    /// The same number gives the same image, bit for bit.
    #[arg(long, short, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,

    /// The type of the numbers, as u8, u16, f32 or f64. Without it f32 (f64 for a clean image of that type), and for
    /// PNG u8 or u16, which hold counts only.
    #[arg(long, value_name = "TYPE")]
    pub(crate) dtype: Option<SampleType>,

    /// Replaces OUTPUT if it is there.
    #[arg(long)]
    pub(crate) force: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_commands_are_consistent() {
        Args::command().debug_assert();
    }
}
