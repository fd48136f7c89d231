//! What `efmca denoise`, `efmca inpaint` and `efmca apply` can be told.

use std::path::PathBuf;

use clap::ValueEnum;
use efmca::tasks::denoise::Quality;
use efmca_io::image_file::{Axes, SampleType};

/// What `efmca denoise` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct DenoiseArgs {
    #[command(flatten)]
    pub(crate) files: FileArgs,
    #[command(flatten)]
    pub(crate) learning: LearnArgs,
}

/// What `efmca inpaint` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct InpaintArgs {
    #[command(flatten)]
    pub(crate) files: FileArgs,
    #[command(flatten)]
    pub(crate) learning: LearnArgs,
    /// An image of the same size in which pixels that are not 0 are missing. NaN in INPUT is missing, too.
    #[arg(long, value_name = "MASK")]
    pub(crate) mask: Option<PathBuf>,
}

/// What `efmca apply` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct ApplyArgs {
    /// A model that `--save-model` wrote.
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// Rows and columns of a patch, if it is not square.
    #[arg(long, value_name = "ROWSxCOLUMNS", value_parser = patch_size)]
    pub(crate) patch: Option<(usize, usize)>,
    /// Threads; all processors without it. The result is the same for any number.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

/// Files and units.
#[derive(Debug, clap::Args)]
pub(crate) struct FileArgs {
    /// The noisy image: PNG, TIFF, NPY, NPZ (file.npz:name) or FITS; grey, colour, or a stack of pages.
    #[arg(value_name = "INPUT")]
    pub(crate) input: PathBuf,
    /// The clean image; its ending says the format.
    #[arg(long, short, value_name = "OUTPUT")]
    pub(crate) output: PathBuf,
    /// Camera units of one count: counts are (value - OFFSET) / GAIN. The result is in camera units again.
    #[arg(long, value_name = "GAIN")]
    pub(crate) gain: Option<f64>,
    /// The value of a pixel without any count, in camera units.
    #[arg(long, value_name = "OFFSET", allow_negative_numbers = true)]
    pub(crate) offset: Option<f64>,
    /// Pixels with this value are missing.
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    pub(crate) missing: Option<f64>,
    /// The axes of an array, slowest first: p pages, y rows, x columns, c channels; as yxc or pyx.
    #[arg(long, value_name = "LETTERS")]
    pub(crate) axes: Option<Axes>,
    /// Writes the posterior standard deviation of each pixel.
    #[arg(long, value_name = "FILE")]
    pub(crate) uncertainty: Option<PathBuf>,
    /// A clean image to compare with: prints PSNR and SSIM before and after.
    #[arg(long, value_name = "CLEAN")]
    pub(crate) reference: Option<PathBuf>,
    /// Writes a page with pictures before and after, the learned causes, and the settings.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// The type of the numbers of OUTPUT, as u8, u16, f32 or f64.
    #[arg(long, value_name = "TYPE")]
    pub(crate) dtype: Option<SampleType>,
    /// Replaces files that are there.
    #[arg(long)]
    pub(crate) force: bool,
    /// What is said on the way: text for people, or one JSON object a line on standard error for machines.
    #[arg(long, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    pub(crate) log_format: LogFormat,
}

/// How to learn.
#[derive(Debug, clap::Args)]
pub(crate) struct LearnArgs {
    /// The noise, as poisson, exponential, gaussian, gamma:k=4 (four looks) or binomial:n=10; `efmca families` lists all.
    #[arg(long, value_name = "FAMILY")]
    pub(crate) noise: String,
    /// How much time to take; the options below change single settings.
    #[arg(long, value_enum, default_value_t = QualityArg::Balanced, value_name = "QUALITY")]
    pub(crate) quality: QualityArg,
    /// Rows and columns of a patch, as 20 or 16x24.
    #[arg(long, value_name = "SIZE", value_parser = patch_size)]
    pub(crate) patch: Option<(usize, usize)>,
    /// The number of causes, or `auto` to choose it by hidden pixels as `efmca select` does; without it one that suits the
    /// size and brightness of the image.
    #[arg(long, value_name = "H")]
    pub(crate) components: Option<String>,
    /// States that are kept for each patch.
    #[arg(long, value_name = "S")]
    pub(crate) states: Option<usize>,
    /// Passes over the patches.
    #[arg(long, value_name = "N")]
    pub(crate) iterations: Option<usize>,
    /// Learns from these pages of a stack only, counted from 1, as 1,5,9; all pages are cleaned.
    #[arg(long, value_name = "PAGES", value_delimiter = ',')]
    pub(crate) learn_pages: Vec<usize>,
    /// The same number gives the same result, bit for bit.
    #[arg(long, short, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
    /// Threads; all processors without it. The result is the same for any number.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Keeps the learned model, for `efmca apply`.
    #[arg(long, value_name = "FILE")]
    pub(crate) save_model: Option<PathBuf>,
}

/// How messages look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One object a line.
    Json,
}

/// How much time is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum QualityArg {
    /// One model: ten seconds for 256 x 256 pixels.
    Fast,
    /// Three models with patches of different sizes: a minute.
    Balanced,
    /// Seven models and more passes: several minutes.
    Best,
}

impl From<QualityArg> for Quality {
    fn from(quality: QualityArg) -> Self {
        match quality {
            QualityArg::Fast => Self::Fast,
            QualityArg::Balanced => Self::Balanced,
            QualityArg::Best => Self::Best,
        }
    }
}

pub(crate) fn patch_size(text: &str) -> Result<(usize, usize), String> {
    let number = |text: &str| match text.trim().parse::<usize>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("`{text}` is no number of pixels; write 20 or 16x24")),
    };
    match text.split_once(['x', 'X']) {
        Some((rows, columns)) => Ok((number(rows)?, number(columns)?)),
        None => number(text).map(|size| (size, size)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_are_squares_or_not() {
        assert_eq!(patch_size("20"), Ok((20, 20)));
        assert_eq!(patch_size("16x24"), Ok((16, 24)));
        assert!(patch_size("0").is_err() && patch_size("8x").is_err() && patch_size("-3").is_err());
    }
}
