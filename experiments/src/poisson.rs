//! Zero-shot denoising of photon-limited images (Sec. 7.2.3): six images, four peaks, several noise realisations.

mod printed;
mod report;

use std::path::{Path, PathBuf};

use clap::Args;
use cpu_time::ProcessTime;
use efmca::family::family;
use efmca::tasks::Estimate;
use efmca::tasks::denoise::{Denoiser, Quality};
use efmca::tasks::quality::psnr;
use ndarray::{Array2, Array4};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::output::{Done, say, write};

/// The images, as their files are called.
const IMAGES: [&str; 6] = ["house", "camera", "peppers", "saturn", "bridge", "flag"];

/// A setting of a denoiser.
type Set = fn(Denoiser, usize) -> Denoiser;

/// What to clean, and how.
#[derive(Args, Clone)]
pub(crate) struct Settings {
    /// A folder with house.png, camera.png, peppers.png, saturn.png, bridge.png and flag.png.
    #[arg(long)]
    images: PathBuf,
    /// Only these images.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Expected photons in the brightest pixel.
    #[arg(long, value_delimiter = ',', default_values_t = [0.2, 0.5, 1.0, 2.0])]
    peaks: Vec<f64>,
    /// Noise realisations of each image and peak.
    #[arg(long, default_value_t = 5)]
    runs: u64,
    /// The seed of the first noise realisation.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How much time to take: fast, balanced or best.
    #[arg(long, default_value = "balanced")]
    quality: String,
    /// Rows and columns of a patch.
    #[arg(long)]
    patch: Option<usize>,
    /// Causes.
    #[arg(long)]
    components: Option<usize>,
    /// States of a patch.
    #[arg(long)]
    states: Option<usize>,
    /// Passes over the patches.
    #[arg(long)]
    iterations: Option<usize>,
    /// Updates of the parameters in each pass.
    #[arg(long)]
    batches: Option<usize>,
    /// Standard deviation of the blur of the start, in pixels.
    #[arg(long)]
    blur: Option<f64>,
    /// Standard deviation of the window for overlapping patches, in patch sizes.
    #[arg(long)]
    window: Option<f64>,
}

impl Settings {
    fn quality(&self) -> Done<Quality> {
        match self.quality.as_str() {
            "fast" => Ok(Quality::Fast),
            "balanced" => Ok(Quality::Balanced),
            "best" => Ok(Quality::Best),
            other => Err(format!("--quality {other}: it is fast, balanced or best").into()),
        }
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

/// What one cleaned image is like.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Cleaned {
    image: String,
    peak: f64,
    seed: u64,
    /// PSNR with the peak, of the noisy and of the cleaned image.
    noisy: f64,
    psnr: f64,
    /// PSNR of the cleaned image with 255 on the scale of the file.
    psnr_255: f64,
    /// CPU seconds of all threads.
    cpu: f64,
    components: usize,
}

pub(crate) fn run(settings: &Settings, out: &Path) -> Done<()> {
    let mut found = Vec::new();
    for name in IMAGES.iter().filter(|name| settings.only.is_empty() || settings.only.iter().any(|only| only == *name))
    {
        let clean = read(&settings.images.join(format!("{name}.png")))?;
        for peak in &settings.peaks {
            for seed in settings.seed..settings.seed + settings.runs {
                let cleaned = clean_one(settings, name, &clean, *peak, seed)?;
                say(&format!(
                    "{name} peak {peak} seed {seed}: {:.2} -> {:.2} dB ({:.2} with 255), {:.0} CPU s",
                    cleaned.noisy, cleaned.psnr, cleaned.psnr_255, cleaned.cpu
                ));
                found.push(cleaned);
            }
        }
    }
    write(out, "poisson.md", report::markdown(&found).as_bytes())?;
    write(out, "poisson.json", &serde_json::to_vec_pretty(&found)?)
}

/// A grey image, as it is in the file.
fn read(path: &Path) -> Done<Array2<f64>> {
    let picture = image::open(path).map_err(|error| format!("{}: {error}", path.display()))?.to_luma8();
    let (width, height) = picture.dimensions();
    Ok(Array2::from_shape_fn((height as usize, width as usize), |(y, x)| {
        f64::from(picture.get_pixel(x as u32, y as u32).0[0])
    }))
}

fn clean_one(settings: &Settings, name: &str, clean: &Array2<f64>, peak: f64, seed: u64) -> Done<Cleaned> {
    let brightest = clean.iter().copied().fold(0.0, f64::max);
    let mean = clean.mapv(|value| value / brightest * peak);
    let poisson = family("poisson")?;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let noisy = mean.mapv(|mean| if mean > 0.0 { poisson.sample(&[mean.ln()], &mut random) } else { 0.0 });
    let (rows, columns) = noisy.dim();
    let stack = Array4::from_shape_fn((1, rows, columns, 1), |(_, row, column, _)| noisy[[row, column]]);
    let start = ProcessTime::now();
    let denoisers = Denoiser::for_image(poisson, settings.quality()?, settings.components, stack.view());
    let components = denoisers.first().map_or(0, Denoiser::h);
    let mut estimates = Vec::new();
    for denoiser in denoisers {
        estimates.push(settings.configure(denoiser).also_seed(seed).run(stack.view())?.estimate);
    }
    let cpu = start.elapsed().as_secs_f64();
    let average = Estimate::combine(stack.view(), &estimates).ok_or("there is no estimate")?;
    let estimate = average.mean.slice(ndarray::s![0, .., .., 0]).to_owned();
    Ok(Cleaned {
        image: name.into(),
        peak,
        seed,
        noisy: psnr(noisy.view(), mean.view(), peak)?,
        psnr: psnr(estimate.view(), mean.view(), peak)?,
        psnr_255: psnr(estimate.view(), mean.view(), 255.0 / brightest * peak)?,
        cpu,
        components,
    })
}
