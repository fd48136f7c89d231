//! Speckle: the images of the Poisson table with Gamma noise of one, two and four looks.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use efmca::family::family;
use efmca::tasks::corrupt::Corruption;
use efmca::tasks::quality::psnr;
use efmca_io::image_file::{WriteOptions, write as write_image};
use ndarray::Array4;
use serde::{Deserialize, Serialize};

use crate::cleaning::{Cleaning, file_of, read_grey};
use crate::output::{Done, say, write};
use crate::peers::{Peer, cell, mean_and_spread, methods, psnr_of};
use crate::poisson::{IMAGES, OF_THE_PAPER};

/// Speckle has no mean of zero: the darkest pixels have this grey level.
const DARKEST: f64 = 1.0;
/// PSNR is with this, the brightest grey level.
const BRIGHTEST: f64 = 255.0;

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
    /// Numbers of looks.
    #[arg(long, value_delimiter = ',', default_values_t = [1.0, 2.0, 4.0])]
    looks: Vec<f64>,
    /// Noise realisations of each image and number of looks.
    #[arg(long, default_value_t = 5)]
    runs: u64,
    /// The seed of the first noise realisation.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Writes the noisy images to this folder as NAME_kLOOKS_sSEED.npy, for other programs.
    #[arg(long)]
    save_noisy: Option<PathBuf>,
    /// What other programs gave: lines of image, looks, seed, method, PSNR, wall and CPU seconds, with tabs between them, as
    /// experiments/peers/speckle.py writes them.
    #[arg(long)]
    peers: Option<PathBuf>,
    #[command(flatten)]
    cleaning: Cleaning,
}

/// The quality of one cleaned image.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Cleaned {
    image: String,
    looks: f64,
    seed: u64,
    noisy: f64,
    psnr: f64,
    /// CPU seconds of all threads.
    cpu: f64,
}

pub(crate) fn run(settings: &Settings, out: &Path) -> Done<()> {
    let peers = settings.peers.as_deref().map(Peer::read).transpose()?.unwrap_or_default();
    if let Some(folder) = &settings.save_noisy {
        std::fs::create_dir_all(folder)?;
    }
    let mut found: Vec<Cleaned> = Vec::new();
    for (number, name) in IMAGES.iter().enumerate() {
        let asked = settings.only.iter().any(|only| only == name);
        if !settings.only.is_empty() && !asked {
            continue;
        }
        let Some(path) = file_of(&settings.images, name) else {
            if number < OF_THE_PAPER || asked {
                return Err(format!("{name}.png is in none of the folders of --images").into());
            }
            continue;
        };
        let clean = read_grey(&path)?;
        for looks in &settings.looks {
            for seed in settings.seed..settings.seed + settings.runs {
                let cleaned = clean_one(settings, name, &clean, *looks, seed)?;
                say(&format!(
                    "{name}, {looks} looks, seed {seed}: {:.2} -> {:.2} dB, {:.1} CPU s",
                    cleaned.noisy, cleaned.psnr, cleaned.cpu
                ));
                found.push(cleaned);
            }
        }
    }
    let file = match settings.cleaning.quality.as_str() {
        "balanced" => "speckle".to_owned(),
        quality => format!("speckle-{quality}"),
    };
    write(out, &format!("{file}.json"), &serde_json::to_vec_pretty(&found)?)?;
    write(out, &format!("{file}.md"), markdown(&found, &peers).as_bytes())
}

fn clean_one(settings: &Settings, name: &str, clean: &Array4<f64>, looks: f64, seed: u64) -> Done<Cleaned> {
    let speckle = family(&format!("gamma:k={looks}"))?;
    let corrupted = Corruption::new(&speckle).floor(DARKEST).seed(seed).run(clean.view())?;
    let (noisy, means) = (corrupted.noisy.view(), corrupted.means.view());
    if let Some(folder) = &settings.save_noisy {
        write_image(&folder.join(format!("{name}_k{looks}_s{seed}.npy")), noisy, &WriteOptions::default())?;
    }
    let cleaned = settings.cleaning.run(&speckle, noisy, seed)?;
    Ok(Cleaned {
        image: name.into(),
        looks,
        seed,
        noisy: psnr(noisy, means, BRIGHTEST)?,
        psnr: psnr(cleaned.estimate.view(), means, BRIGHTEST)?,
        cpu: cleaned.cpu,
    })
}

fn markdown(found: &[Cleaned], peers: &[Peer]) -> String {
    let mut page = String::from("# Speckle\n\n");
    let command: Vec<String> = std::env::args().skip(1).collect();
    let _ = writeln!(
        page,
        "Made by `cargo run --release -p experiments -- {}`. Grey levels from {DARKEST} on are the means of Gamma noise with as many \
         looks; PSNR in dB with {BRIGHTEST}, the mean over noise realisations. Other rows are programs \
         on the same noisy files (`experiments/peers/speckle.py`).\n",
        command.join(" ")
    );
    let images: Vec<&str> =
        IMAGES.into_iter().filter(|image| found.iter().any(|cleaned| cleaned.image == *image)).collect();
    let mut looks: Vec<f64> = found.iter().map(|cleaned| cleaned.looks).collect();
    looks.sort_by(f64::total_cmp);
    looks.dedup();
    for looks in looks {
        let _ = writeln!(page, "## {looks} {}\n", if looks == 1.0 { "look" } else { "looks" });
        let _ = writeln!(page, "| | {} | average | CPU s |", images.join(" | "));
        let _ = writeln!(page, "| --- |{} ---: | ---: |", " ---: |".repeat(images.len()));
        let mut row = |name: &str, means: &[f64], cpu: f64| {
            let average = means.iter().sum::<f64>() / means.len() as f64;
            let cells: Vec<String> = means.iter().map(|mean| cell(*mean)).collect();
            let _ = writeln!(page, "| {name} | {} | {} | {cpu:.1} |", cells.join(" | "), cell(average));
        };
        let here: Vec<&Cleaned> = found.iter().filter(|cleaned| cleaned.looks == looks).collect();
        let of = |image: &str, value: &dyn Fn(&Cleaned) -> f64| {
            let values: Vec<f64> = here.iter().filter(|one| one.image == image).map(|one| value(one)).collect();
            mean_and_spread(&values).0
        };
        let all = |value: &dyn Fn(&Cleaned) -> f64| images.iter().map(|image| of(image, value)).collect::<Vec<f64>>();
        row("the noisy image", &all(&|one| one.noisy), 0.0);
        for method in methods(peers) {
            let means: Vec<f64> = images.iter().map(|image| psnr_of(peers, method, image, looks)).collect();
            let cpu: Vec<f64> = (peers.iter())
                .filter(|peer| peer.method == method && peer.strength == looks && images.contains(&&*peer.image))
                .map(|peer| peer.cpu)
                .collect();
            row(method, &means, mean_and_spread(&cpu).0);
        }
        let cpu: Vec<f64> = here.iter().map(|one| one.cpu).collect();
        row("**efmca**", &all(&|one| one.psnr), mean_and_spread(&cpu).0);
        let _ = writeln!(page);
    }
    page
}
