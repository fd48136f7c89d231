//! Zero-shot denoising of photon-limited images (Sec. 7.2.3): eight images, six peaks, several noise realisations.

mod figure;
mod printed;
mod report;

use std::path::{Path, PathBuf};

use clap::Args;
use efmca::family::family;
use efmca::tasks::corrupt::Corruption;
use efmca::tasks::quality::psnr;
use ndarray::Array4;
use serde::{Deserialize, Serialize};

use crate::cleaning::{Cleaning, file_of, largest, read_grey};
use crate::output::{Done, say, write};
use crate::peers::Peer;

/// The images, as their files are called: six of 256 x 256 pixels, two of 512 x 512.
pub(crate) const IMAGES: [&str; 8] = ["house", "camera", "peppers", "saturn", "bridge", "flag", "man", "boat"];
/// The first of them are those of the paper.
pub(crate) const OF_THE_PAPER: usize = 6;

/// Settings of the experiment.
#[derive(Args, Clone)]
pub(crate) struct Settings {
    /// Folders with house.png, camera.png, peppers.png, saturn.png, bridge.png and flag.png, and if they are there man.png and
    /// boat.png.
    #[arg(long, value_delimiter = ',')]
    images: Vec<PathBuf>,
    /// Only these images.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Expected photons in the brightest pixel.
    #[arg(long, value_delimiter = ',', default_values_t = [0.1, 0.2, 0.5, 1.0, 2.0, 4.0])]
    peaks: Vec<f64>,
    /// Noise realisations of each image and peak.
    #[arg(long, default_value_t = 5)]
    runs: u64,
    /// The seed of the first noise realisation.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A folder with counts NAME_pPEAK_sSEED.npy that were drawn elsewhere, so that other programs can see the same.
    #[arg(long)]
    noisy: Option<PathBuf>,
    /// What other programs gave: lines of image, peak, seed, method, PSNR, wall and CPU seconds, with tabs between them.
    #[arg(long)]
    peers: Option<PathBuf>,
    /// Keeps what an earlier run with the same quality has written, and does the rest.
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    cleaning: Cleaning,
}

/// The quality of one cleaned image.
#[derive(Debug, Clone, Serialize, Deserialize)]
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
    let file = file_name(settings);
    let peers = settings.peers.as_deref().map(Peer::read).transpose()?.unwrap_or_default();
    let results = out.join(format!("{file}.json"));
    let mut found: Vec<Cleaned> = if settings.resume && results.is_file() {
        serde_json::from_slice(&std::fs::read(&results)?)?
    } else {
        Vec::new()
    };
    for (number, name) in IMAGES.iter().enumerate() {
        if !settings.only.is_empty() && !settings.only.iter().any(|only| only == name) {
            continue;
        }
        let Some(path) = file_of(&settings.images, name) else {
            if number < OF_THE_PAPER || settings.only.iter().any(|only| only == name) {
                return Err(format!("{name}.png is in none of the folders of --images").into());
            }
            continue;
        };
        let clean = read_grey(&path)?;
        for peak in &settings.peaks {
            for seed in settings.seed..settings.seed + settings.runs {
                if found.iter().any(|one| one.image == *name && one.peak == *peak && one.seed == seed) {
                    continue;
                }
                let cleaned = clean_one(settings, name, &clean, *peak, seed)?;
                say(&format!(
                    "{name} peak {peak} seed {seed}: {:.2} -> {:.2} dB ({:.2} with 255), {:.1} CPU s; models by themselves {:.2?}, \
                     averaged {:.2}",
                    cleaned.noisy, cleaned.psnr, cleaned.psnr_255, cleaned.cpu, cleaned.single, cleaned.average
                ));
                found.push(cleaned);
            }
        }
        // after each image, so that a long run can be resumed
        write(out, &format!("{file}.json"), &serde_json::to_vec_pretty(&found)?)?;
    }
    write(out, &format!("{file}.md"), report::markdown(&found, &peers).as_bytes())?;
    figure::write_curves(out, &peers)
}

/// The name of the files of a quality.
fn file_name(settings: &Settings) -> String {
    match settings.cleaning.quality.as_str() {
        "balanced" => "poisson".to_owned(),
        quality => format!("poisson-{quality}"),
    }
}

impl Settings {
    /// Counts that were drawn elsewhere.
    fn drawn_elsewhere(&self, name: &str, peak: f64, seed: u64) -> Done<Option<Array4<f64>>> {
        let Some(folder) = &self.noisy else { return Ok(None) };
        Ok(Some(read_grey(&folder.join(format!("{name}_p{peak}_s{seed}.npy")))?))
    }
}

fn clean_one(settings: &Settings, name: &str, clean: &Array4<f64>, peak: f64, seed: u64) -> Done<Cleaned> {
    let poisson = family("poisson")?;
    let corrupted = Corruption::new(&poisson).peak(peak).seed(seed).run(clean.view())?;
    let elsewhere = settings.drawn_elsewhere(name, peak, seed)?;
    let (noisy, means) = (elsewhere.as_ref().unwrap_or(&corrupted.noisy).view(), corrupted.means.view());
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
