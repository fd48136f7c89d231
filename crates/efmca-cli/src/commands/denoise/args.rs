//! The options of `efmca denoise`, `efmca inpaint` and `efmca apply`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use efmca::Causes;
use efmca::family::SharedFamily;
use efmca::tasks::denoise::{Denoiser, Quality};
use efmca_io::image_file::SampleType;
use efmca_io::read_camera;

use super::noise::{NoiseArg, noise_or_auto};
use super::places::PlaceArgs;
use crate::args::checkpoint::CheckpointArgs;
use crate::args::common::{ImageArgs, OutputArgs, PatchSize, SeedArgs, WorkArgs, causes, one_of, patch_over_pages};
use crate::errors::refused;
use crate::failure::Failure;
use crate::outputs::{self, Output};

/// The options of `efmca denoise`.
#[derive(Debug, clap::Args)]
pub(crate) struct DenoiseArgs {
    #[command(flatten)]
    pub(super) places: PlaceArgs,
    #[command(flatten)]
    pub(super) files: FileArgs,
    #[command(flatten)]
    pub(super) learning: LearningArgs,
}

impl DenoiseArgs {
    /// Whether there is one image, whose work ranks can share.
    pub(crate) fn is_one(&self) -> bool {
        self.places.is_one()
    }
}

/// The options of `efmca inpaint`.
#[derive(Debug, clap::Args)]
pub(crate) struct InpaintArgs {
    #[command(flatten)]
    pub(super) places: PlaceArgs,
    #[command(flatten)]
    pub(super) files: FileArgs,
    #[command(flatten)]
    pub(super) learning: LearningArgs,
    /// An image of the same size in which pixels that are not 0 are missing. NaN in INPUT is missing, too.
    #[arg(long, value_name = "MASK")]
    pub(super) mask: Option<PathBuf>,
}

/// The options of `efmca apply`.
#[derive(Debug, clap::Args)]
pub(crate) struct ApplyArgs {
    /// A model written by `--save-model`.
    #[arg(value_name = "MODEL")]
    pub(super) model: PathBuf,
    /// The noisy image: PNG, TIFF, NPY, NPZ (file.npz:name) or FITS; grey, colour, or a stack of pages.
    #[arg(value_name = "INPUT")]
    pub(super) input: PathBuf,
    /// The clean image; its ending gives the format.
    #[arg(long, short, value_name = "OUTPUT")]
    pub(super) output: PathBuf,
    #[command(flatten)]
    pub(super) files: FileArgs,
    /// Rows and columns of a patch, and its pages if it has several, if the model does not say them and they are not square.
    #[arg(long, value_name = "SIZE", value_parser = patch_over_pages)]
    pub(super) patch: Option<PatchSize>,
}

/// Files and units.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct FileArgs {
    /// The noisy image. Commands take one or several, so that they say which: [`FileArgs::of`].
    #[arg(skip)]
    pub(super) input: PathBuf,
    /// The clean image.
    #[arg(skip)]
    pub(super) output: PathBuf,
    /// Camera units per count: counts are (value - OFFSET) / GAIN. The result is in camera units again.
    #[arg(long, value_name = "GAIN", value_parser = gain)]
    pub(super) gain: Option<f64>,
    /// Value of a pixel without any count, in camera units.
    #[arg(long, value_name = "OFFSET", allow_negative_numbers = true, value_parser = offset)]
    pub(super) offset: Option<f64>,
    #[command(flatten)]
    pub(super) image: ImageArgs,
    /// Writes the posterior standard deviation of each pixel.
    #[arg(long, value_name = "FILE")]
    pub(super) uncertainty: Option<PathBuf>,
    /// A clean image to compare with: prints PSNR and SSIM before and after.
    #[arg(long, value_name = "CLEAN")]
    pub(super) reference: Option<PathBuf>,
    /// Type of the numbers in OUTPUT, such as u8, u16, f32 or f64.
    #[arg(long, value_name = "TYPE")]
    pub(super) dtype: Option<SampleType>,
    #[command(flatten)]
    pub(super) outputs: OutputArgs,
    #[command(flatten)]
    pub(super) work: WorkArgs,
}

impl FileArgs {
    /// The same for this image and this result.
    pub(super) fn of(&self, input: &Path, output: &Path) -> FileArgs {
        FileArgs { input: input.to_path_buf(), output: output.to_path_buf(), ..self.clone() }
    }

    /// Finds out before the work whether its results can be written.
    pub(super) fn check_outputs(&self, model: Option<&Path>, inputs: &[Option<&Path>]) -> Result<(), Failure> {
        let results = [
            Some(Output::Image(&self.output)),
            self.uncertainty.as_deref().map(Output::Image),
            self.outputs.report.as_deref().map(Output::File),
            model.map(Output::File),
        ];
        let inputs: Vec<&Path> =
            [Some(self.input.as_path()), self.reference.as_deref()].iter().chain(inputs).flatten().copied().collect();
        outputs::check(results, &inputs, self.outputs.force.force)
    }
}

/// How to learn.
#[derive(Debug, clap::Args)]
pub(crate) struct LearningArgs {
    /// The noise, such as poisson, exponential, gaussian, gamma:k=4 (four looks) or binomial:n=10; `efmca families`
    /// lists all. With auto a few families are compared on held-out pixels of a small part of the image.
    #[arg(long, value_name = "FAMILY", value_parser = noise_or_auto, default_value = "auto")]
    noise: NoiseArg,
    /// The noise is that of a camera, in a file that `efmca calibrate` wrote; values are in camera units.
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["noise", "gain", "offset"])]
    pub(super) camera: Option<PathBuf>,
    /// How much time to take; the options below change single settings.
    #[arg(long, default_value = "balanced", value_name = "QUALITY", value_parser = one_of(&QUALITIES))]
    pub(super) quality: Quality,
    /// Rows and columns of a patch, such as 20 or 16x24; with pages, such as 8x8x5, neighbouring slices of a volume or
    /// frames of a movie help each other.
    #[arg(long, value_name = "SIZE", value_parser = patch_over_pages)]
    patch: Option<PatchSize>,
    /// Number of causes, or `auto` for the number that predicts held-out pixels best (see `efmca select`); without it a
    /// number that suits the size and brightness of the image.
    #[arg(long, visible_alias = "components", value_name = "H", value_parser = causes)]
    pub(super) causes: Option<Causes>,
    /// Explains the image by causes alone, as in the paper, without groups of similar patches.
    #[arg(long)]
    causes_only: bool,
    /// Number of states that are kept for each patch.
    #[arg(long, value_name = "S")]
    states: Option<usize>,
    /// Number of EM iterations, each over all patches.
    #[arg(long, value_name = "N")]
    iterations: Option<usize>,
    /// Learns from these pages of a stack only, counted from 1, such as 1,5,9; all pages are cleaned.
    #[arg(long, value_name = "PAGES", value_delimiter = ',', value_parser = page)]
    learn_pages: Vec<usize>,
    #[command(flatten)]
    pub(super) seed: SeedArgs,
    #[command(flatten)]
    pub(super) checkpoint: CheckpointArgs,
    /// Writes the learned model, for `efmca apply`; of several models the first one of single pixels.
    #[arg(long, value_name = "FILE")]
    pub(super) save_model: Option<PathBuf>,
}

impl LearningArgs {
    /// The noise: that of the camera, the family that was given, or the one that will be found.
    pub(super) fn noise(&self) -> Result<NoiseArg, Failure> {
        let Some(path) = &self.camera else { return Ok(self.noise.clone()) };
        let family = read_camera(path).map_err(Failure::input)?.family();
        let family = family.map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
        Ok(NoiseArg::Given(Arc::new(family)))
    }

    /// The settings of the library for noise of a family, checked.
    pub(super) fn denoiser(&self, noise: &SharedFamily) -> Result<Denoiser, Failure> {
        let causes = self.causes.unwrap_or_default();
        let mut denoiser = Denoiser::new(noise).quality(self.quality).causes(causes).seed(self.seed.seed);
        denoiser = denoiser.similar_patches(!self.causes_only);
        if let Some(PatchSize { rows, columns, pages }) = self.patch {
            denoiser = denoiser.patch(rows, columns).depth(pages);
        }
        if let Some(states) = self.states {
            denoiser = denoiser.states(states);
        }
        if let Some(iterations) = self.iterations {
            denoiser = denoiser.iterations(iterations);
        }
        if !self.learn_pages.is_empty() {
            denoiser = denoiser.learn_from(self.learn_pages.iter().copied());
        }
        denoiser.check().map_err(|error| refused(&error))?;
        Ok(denoiser)
    }
}

const QUALITIES: [(&str, &str, Quality); 3] = [
    ("fast", "One model: a second or two for 256 x 256 pixels", Quality::Fast),
    (
        "balanced",
        "Three models, of pixels and of blocks, and a second pass over a part of the data: ten to fifteen seconds",
        Quality::Balanced,
    ),
    ("best", "Seven models, more iterations and a second pass: two minutes", Quality::Best),
];

/// Reads a page, which users count from 1 and the library from 0.
fn page(text: &str) -> Result<usize, String> {
    let number = text.parse::<usize>().ok().and_then(|page| page.checked_sub(1));
    number.ok_or_else(|| "give numbers of pages, counted from 1, such as 1,5,9".to_owned())
}

/// The smallest gain, and the largest gain and offset.
const LEAST_GAIN: f64 = 1e-30;
const MOST_UNITS: f64 = 1e30;

fn offset(text: &str) -> Result<f64, String> {
    let near = finite(text)?;
    if near.abs() <= MOST_UNITS {
        Ok(near)
    } else {
        Err(format!("give a number from -{MOST_UNITS:e} to {MOST_UNITS:e}"))
    }
}

fn gain(text: &str) -> Result<f64, String> {
    let gain = finite(text).ok().filter(|gain| *gain > 0.0).ok_or_else(|| "give a positive number".to_owned())?;
    // the result, which is in camera units again, would have no place in a file
    if (LEAST_GAIN..=MOST_UNITS).contains(&gain) {
        Ok(gain)
    } else {
        Err(format!("give a number from {LEAST_GAIN:e} to {MOST_UNITS:e}"))
    }
}

fn finite(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(|| "give a number".to_owned())
}
