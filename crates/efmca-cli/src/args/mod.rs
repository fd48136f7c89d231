//! The commands and their options. Options that several commands share are in [`common`]; the others stand with their
//! command.

pub(crate) mod checkpoint;
pub(crate) mod common;

use clap::{Parser, Subcommand};

use crate::commands::bars::BarsArgs;
use crate::commands::calibrate::CalibrateArgs;
use crate::commands::corrupt::CorruptArgs;
use crate::commands::demo::DemoArgs;
use crate::commands::denoise::{ApplyArgs, DenoiseArgs, InpaintArgs};
use crate::commands::families::FamiliesArgs;
use crate::commands::fit::FitArgs;
use crate::commands::impute::ImputeArgs;
use crate::commands::info::InfoArgs;
use crate::commands::learn::LearnArgs;
use crate::commands::noise_type::NoiseTypeArgs;
use crate::commands::report::ReportArgs;
use crate::commands::rows::{EncodeArgs, ScoreArgs};
use crate::commands::sample::SampleArgs;
use crate::commands::select::SelectArgs;

/// Maximal causes analysis with noise from any exponential family: finds the hidden causes behind data where the
/// strongest of the active causes sets each value.
#[derive(Debug, Parser)]
#[command(name = "efmca", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "Examples:
  efmca demo                     clean a picture with about one photon per pixel
  efmca bars                     learn bars from noisy pictures, live
  efmca families                 list all kinds of noise
  efmca families gamma           show one of them in detail
  efmca corrupt clean.tif -o noisy.tif --noise poisson --peak 2
                                 make a noisy image to test with: 2 photons where it is brightest
  efmca denoise noisy.tif -o clean.tif --noise poisson --report clean.html
                                 clean an image, learning from the noisy image alone
  efmca denoise photos --out-dir clean --noise poisson
                                 clean all images of a folder
  efmca calibrate scene.tif -o camera.json
                                 find the gain, offset and read noise of the camera, for denoise --camera
  efmca inpaint holes.tif -o full.tif --noise poisson --mask holes.png
                                 fill in missing pixels
  efmca learn photos/*.png --transform log --out-dir fields
                                 learn a dictionary of image patches, with pictures
  efmca noise-type counts.npy    find the noise of an image, a sound or a table
  efmca noise-type patients.csv  find a family for each column of a table
  efmca select counts.npy --family poisson --causes 5,10,20,40
                                 find the number of causes
  efmca fit table.csv -o model.safetensors
                                 learn the causes behind the rows of a table, whatever its columns hold
  efmca score model.safetensors table.csv
                                 find the least likely rows
  efmca impute table.csv -o filled.csv
                                 fill in the missing cells of a table";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Cleans a picture with about one photon per pixel, which comes with the program.
    Demo(DemoArgs),
    /// Learns the bars test live: ten bars from a thousand noisy pictures.
    Bars(BarsArgs),
    /// Lists the families of noise, or shows one of them in detail.
    Families(FamiliesArgs),
    /// Makes a noisy image from a clean one, to test with.
    Corrupt(CorruptArgs),
    /// Finds gain, offset and read noise of a camera in its images.
    Calibrate(CalibrateArgs),
    /// Cleans a noisy image, with nothing to learn from but the image itself.
    Denoise(DenoiseArgs),
    /// Fills in the missing pixels of a noisy image and cleans the others.
    Inpaint(InpaintArgs),
    /// Cleans an image with a model that was learned from another one.
    Apply(ApplyArgs),
    /// Learns features of images or of rows of numbers: dictionaries with pictures, in runs that can be resumed.
    Learn(LearnArgs),
    /// Finds the noise of an image, a sound or a table.
    NoiseType(NoiseTypeArgs),
    /// Finds the number of causes behind data.
    Select(SelectArgs),
    /// Learns a model of a table: the families of its columns and the causes behind its rows.
    Fit(FitArgs),
    /// Computes how likely each cause is to be active in each row of a table.
    Encode(EncodeArgs),
    /// Computes how likely each row of a table is, and shows the least likely ones.
    Score(ScoreArgs),
    /// Writes a page about a table and the causes of a model: what they do, what they explain, and which rows fit least.
    Report(ReportArgs),
    /// Fills in the missing cells of a table, and says how good that is.
    Impute(ImputeArgs),
    /// Draws new rows from a model.
    Sample(SampleArgs),
    /// Shows the contents of a model file.
    Info(InfoArgs),
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
