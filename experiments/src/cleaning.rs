//! What the denoising experiments share: their options, reading of images, and the cleaning itself.

use std::path::Path;

use clap::Args;
use cpu_time::ProcessTime;
use efmca::family::SharedFamily;
use efmca::tasks::Estimate;
use efmca::tasks::denoise::{Denoiser, Quality};
use efmca_io::image_file::{ReadOptions, read};
use ndarray::{Array4, ArrayView4};

use crate::output::Done;

/// A setting of a denoiser.
type Set = fn(Denoiser, usize) -> Denoiser;

/// How to clean.
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
    /// Passes over the patches.
    #[arg(long)]
    pub(crate) iterations: Option<usize>,
    /// Updates of the parameters in each pass.
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
        let quality = match self.quality.as_str() {
            "fast" => Quality::Fast,
            "balanced" => Quality::Balanced,
            "best" => Quality::Best,
            other => return Err(format!("--quality {other}: it is fast, balanced or best").into()),
        };
        let mut denoisers = Denoiser::for_image(family.clone(), quality, self.components, noisy);
        if self.patch.is_some() {
            // the models of a quality differ by their patches
            denoisers.truncate(1);
        }
        let components = denoisers.iter().map(Denoiser::h).collect();
        let mut estimates = Vec::new();
        for denoiser in denoisers {
            estimates.push(self.configure(denoiser).also_seed(seed).run(noisy)?.estimate);
        }
        let estimate = Estimate::combine(noisy, &estimates).ok_or("there is no estimate")?.mean;
        let cpu = start.elapsed().as_secs_f64();
        let single: Vec<Array4<f64>> = estimates.into_iter().map(|estimate| estimate.mean).collect();
        let sum = single.iter().fold(Array4::zeros(noisy.dim()), |sum: Array4<f64>, one| sum + one);
        Ok(Cleaned { estimate, average: sum / single.len() as f64, single, components, cpu })
    }

    /// The settings of a quality with those changed that were given.
    fn configure(&self, mut denoiser: Denoiser) -> Denoiser {
        let given: [(Option<usize>, Set); 4] = [
            (self.patch, |denoiser, patch| denoiser.patch(patch, patch)),
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
        denoiser
    }
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
