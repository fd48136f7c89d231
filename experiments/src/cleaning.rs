//! Shared by the denoising experiments: their options, reading of images, and the cleaning itself.

use std::path::{Path, PathBuf};

use clap::Args;
use cpu_time::ProcessTime;
use efmca::family::SharedFamily;
use efmca::tasks::denoise::{Denoiser, Quality};
use efmca_io::image_file::{ReadOptions, read};
use ndarray::{Array4, ArrayView4};

use crate::output::Done;

/// A setting of a denoiser.
type Set = fn(Denoiser, usize) -> Denoiser;

/// Settings for cleaning.
#[derive(Args, Clone, Default)]
pub(crate) struct Cleaning {
    /// How much time to take: fast, balanced or best.
    #[arg(long, default_value = "balanced")]
    pub(crate) quality: String,
    /// Rows and columns of a patch.
    #[arg(long)]
    pub(crate) patch: Option<usize>,
    /// Causes.
    #[arg(long)]
    pub(crate) components: Option<usize>,
    /// States of a patch.
    #[arg(long)]
    pub(crate) states: Option<usize>,
    /// Iterations of each model.
    #[arg(long)]
    pub(crate) iterations: Option<usize>,
    /// Updates of the parameters in each iteration.
    #[arg(long)]
    pub(crate) batches: Option<usize>,
    /// Standard deviation of the blur of the start, in pixels.
    #[arg(long)]
    pub(crate) blur: Option<f64>,
    /// Standard deviation of the window for overlapping patches, in patch sizes.
    #[arg(long)]
    pub(crate) window: Option<f64>,
}

/// A cleaned image.
pub(crate) struct Cleaned {
    pub(crate) estimate: Array4<f64>,
    /// The estimate of each model, and their plain average.
    pub(crate) single: Vec<Array4<f64>>,
    pub(crate) average: Array4<f64>,
    /// The numbers of causes of the models.
    pub(crate) components: Vec<usize>,
    /// CPU seconds of all threads.
    pub(crate) cpu: f64,
}

impl Cleaning {
    pub(crate) fn run(&self, family: &SharedFamily, noisy: ArrayView4<'_, f64>, seed: u64) -> Done<Cleaned> {
        let start = ProcessTime::now();
        let denoised = self.denoiser(family)?.seed(seed).member_estimates(true).run(noisy)?;
        let cpu = start.elapsed().as_secs_f64();
        let components = denoised.members.iter().map(|member| member.settings.causes).collect();
        let single: Vec<Array4<f64>> =
            denoised.members.into_iter().filter_map(|member| member.estimate).map(|estimate| estimate.mean).collect();
        let sum = single.iter().fold(Array4::zeros(noisy.dim()), |sum: Array4<f64>, one| sum + one);
        let average = sum / single.len() as f64;
        Ok(Cleaned { estimate: denoised.estimate.mean, average, single, components, cpu })
    }

    /// The denoiser of a quality, with those settings changed that were given.
    fn denoiser(&self, family: &SharedFamily) -> Done<Denoiser> {
        let quality: Quality = self.quality.parse()?;
        let mut denoiser = Denoiser::new(family).quality(quality);
        let given: [(Option<usize>, Set); 5] = [
            (self.patch, |denoiser, patch| denoiser.patch(patch, patch)),
            (self.components, |denoiser, causes| denoiser.causes(causes)),
            (self.states, Denoiser::states),
            (self.iterations, Denoiser::iterations),
            (self.batches, Denoiser::batches),
        ];
        for (value, set) in given {
            if let Some(value) = value {
                denoiser = set(denoiser, value);
            }
        }
        if let Some(blur) = self.blur {
            denoiser = denoiser.blur(blur);
        }
        if let Some(window) = self.window {
            denoiser = denoiser.window(window);
        }
        Ok(denoiser)
    }
}

/// The file of an image, in the first folder that has it.
pub(crate) fn file_of(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    folders.iter().map(|folder| folder.join(format!("{name}.png"))).find(|path| path.is_file())
}

/// An image as it is in the file, which must be grey.
pub(crate) fn read_grey(path: &Path) -> Done<Array4<f64>> {
    let values = read(path, &ReadOptions::default())?.values;
    match values.dim() {
        (1, _, _, 1) => Ok(values),
        (pages, _, _, channels) => {
            Err(format!("{}: one grey image is needed; this has {pages} pages of {channels} channels", path.display())
                .into())
        }
    }
}

/// The largest value.
pub(crate) fn largest(image: &Array4<f64>) -> f64 {
    image.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}
