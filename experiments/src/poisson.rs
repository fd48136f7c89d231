//! Zero-shot denoising of photon-limited images (Sec. 7.2.3): six images, four peaks, several noise realisations.

mod printed;
mod report;

use std::path::{Path, PathBuf};

use clap::Args;
use efmca::family::family;
use efmca::tasks::corrupt::Corruption;
use efmca::tasks::quality::psnr;
use ndarray::Array4;
use serde::Serialize;

use crate::cleaning::{Cleaning, largest, read_grey};
use crate::output::{Done, say, write};

/// The images, as their files are called.
const IMAGES: [&str; 6] = ["house", "camera", "peppers", "saturn", "bridge", "flag"];

/// Settings of the experiment.
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
    #[command(flatten)]
    cleaning: Cleaning,
}

/// The quality of one cleaned image.
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
    /// PSNR with the peak of each model by itself, and of their plain average.
    single: Vec<f64>,
    average: f64,
    /// CPU seconds of all threads.
    cpu: f64,
    /// The numbers of causes of the models.
    components: Vec<usize>,
}

pub(crate) fn run(settings: &Settings, out: &Path) -> Done<()> {
    let mut found = Vec::new();
    for name in IMAGES.iter().filter(|name| settings.only.is_empty() || settings.only.iter().any(|only| only == *name))
    {
        let clean = read_grey(&settings.images.join(format!("{name}.png")))?;
        for peak in &settings.peaks {
            for seed in settings.seed..settings.seed + settings.runs {
                let cleaned = clean_one(settings, name, &clean, *peak, seed)?;
                say(&format!(
                    "{name} peak {peak} seed {seed}: {:.2} -> {:.2} dB ({:.2} with 255), {:.0} CPU s; models by themselves {:.2?}, \
                     averaged {:.2}",
                    cleaned.noisy, cleaned.psnr, cleaned.psnr_255, cleaned.cpu, cleaned.single, cleaned.average
                ));
                found.push(cleaned);
            }
        }
    }
    let name = match settings.cleaning.quality.as_str() {
        "balanced" => "poisson".to_owned(),
        quality => format!("poisson-{quality}"),
    };
    write(out, &format!("{name}.md"), report::markdown(&found).as_bytes())?;
    write(out, &format!("{name}.json"), &serde_json::to_vec_pretty(&found)?)
}

fn clean_one(settings: &Settings, name: &str, clean: &Array4<f64>, peak: f64, seed: u64) -> Done<Cleaned> {
    let poisson = family("poisson")?;
    let corrupted = Corruption::new(&poisson).peak(peak).seed(seed).run(clean.view())?;
    let (noisy, means) = (corrupted.noisy.view(), corrupted.means.view());
    let cleaned = settings.cleaning.run(&poisson, noisy, seed)?;
    let estimate = cleaned.estimate.view();
    Ok(Cleaned {
        image: name.into(),
        peak,
        seed,
        noisy: psnr(noisy, means, peak)?,
        psnr: psnr(estimate, means, peak)?,
        psnr_255: psnr(estimate, means, 255.0 / largest(clean) * peak)?,
        single: cleaned.single.iter().map(|one| psnr(one.view(), means, peak)).collect::<Result<_, _>>()?,
        average: psnr(cleaned.average.view(), means, peak)?,
        cpu: cleaned.cpu,
        components: cleaned.components,
    })
}
