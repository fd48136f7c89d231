//! Cameras: gain, offset and read noise found in one image of a scene, and what the errors of these numbers cost in denoising.
//!
//! The noise is that of a camera (counts times gain, plus offset and Gaussian noise), not that of the family that cleans it.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use efmca::Error;
use efmca::family::SharedFamily;
use efmca::tasks::camera::{Calibration, Camera, Shots, StandardErrors};
use efmca::tasks::denoise::Denoiser;
use efmca::tasks::quality::psnr;
use ndarray::{Array4, ArrayView4};
use serde::Serialize;

use crate::cleaning::{largest, read_grey};
use crate::output::{Done, say, write};

/// Settings of the experiment.
#[derive(Args, Clone)]
pub(crate) struct Settings {
    /// A folder with grey images.
    #[arg(long)]
    images: PathBuf,
    /// Their names; all PNG files of the folder without it.
    #[arg(long, value_delimiter = ',')]
    scenes: Vec<String>,
    /// Photons in the brightest pixel.
    #[arg(long, value_delimiter = ',', default_values_t = [20.0, 50.0, 200.0])]
    photons: Vec<f64>,
    /// Camera units per photon.
    #[arg(long, default_value_t = 2.1)]
    gain: f64,
    /// Value without photons.
    #[arg(long, default_value_t = 100.0)]
    offset: f64,
    /// Standard deviation of the read noise.
    #[arg(long, default_value_t = 1.6)]
    read_noise: f64,
    /// Noise realisations for the calibration.
    #[arg(long, default_value_t = 3)]
    runs: u64,
    /// The seed of the first one.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The quality of `efmca denoise`, for the first noise realisation; `none` for calibration only.
    #[arg(long, default_value = "fast")]
    quality: String,
}

/// One image.
#[derive(Debug, Clone, Serialize)]
struct Row {
    scene: String,
    photons: f64,
    seed: u64,
    camera: Camera,
    errors: StandardErrors,
    /// PSNR with the true numbers and with those that were found.
    psnr: Option<[f64; 2]>,
}

pub(crate) fn run(settings: &Settings, out: &Path) -> Done<()> {
    let truth = Camera { gain: settings.gain, offset: settings.offset, read_noise: settings.read_noise };
    let (mut rows, mut refused) = (Vec::new(), Vec::new());
    for scene in scenes(settings)? {
        let image = read_grey(&settings.images.join(format!("{scene}.png")))?;
        for &photons in &settings.photons {
            let expected = &image * (photons / largest(&image));
            for seed in settings.seed..settings.seed + settings.runs {
                let noisy = truth.expose(expected.view(), seed)?;
                let shots = Shots { scenes: vec![noisy.view()], ..Shots::default() };
                let found = match Calibration::new().run(&shots) {
                    Ok(found) => found,
                    Err(error @ Error::Calibration { .. }) => {
                        refused.push(format!("{scene} with {photons} photons, seed {seed}: {error}"));
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                };
                let psnr = if seed == settings.seed && settings.quality != "none" {
                    let clean = expected.mapv(|photons| truth.gain * photons + truth.offset);
                    let quality = |camera: &Camera| -> Done<f64> {
                        let estimate = cleaned(settings, camera, noisy.view())?;
                        // the offset is no signal: the peak is that of the light
                        Ok(psnr(estimate.view(), clean.view(), truth.gain * photons)?)
                    };
                    Some([quality(&truth)?, quality(&found.camera)?])
                } else {
                    None
                };
                let row = Row { scene: scene.clone(), photons, seed, camera: found.camera, errors: found.errors, psnr };
                say(&line(&row));
                rows.push(row);
            }
        }
    }
    write(out, "camera.md", markdown(settings, &truth, &rows, &refused).as_bytes())?;
    write(out, "camera.json", &serde_json::to_vec_pretty(&rows)?)
}

/// The names of the images, without their ending.
fn scenes(settings: &Settings) -> Done<Vec<String>> {
    if !settings.scenes.is_empty() {
        return Ok(settings.scenes.clone());
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&settings.images)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "png") {
            names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

fn cleaned(settings: &Settings, camera: &Camera, noisy: ArrayView4<'_, f64>) -> Done<Array4<f64>> {
    let family: SharedFamily = Arc::new(camera.family()?);
    Ok(Denoiser::new(&family).quality(settings.quality.parse()?).run(noisy)?.estimate.mean)
}

/// A row of the table.
fn line(row: &Row) -> String {
    let with = |value: f64, error: Option<f64>| match error {
        Some(error) => format!("{value:.3} ± {error:.3}"),
        None => format!("{value:.3}"),
    };
    let Camera { gain, offset, read_noise } = row.camera;
    let [given, found, difference] = match row.psnr {
        Some([given, found]) => [format!("{given:.2}"), format!("{found:.2}"), format!("{:+.2}", found - given)],
        None => [String::new(), String::new(), String::new()],
    };
    format!(
        "| {} | {} | {} | {} | {} | {} | {given} | {found} | {difference} |",
        row.scene,
        row.photons,
        row.seed,
        with(gain, row.errors.gain),
        with(offset, row.errors.offset),
        with(read_noise, row.errors.read_noise)
    )
}

fn markdown(settings: &Settings, truth: &Camera, rows: &[Row], refused: &[String]) -> String {
    let command: Vec<String> = std::env::args().skip(1).collect();
    let Camera { gain, offset, read_noise } = truth;
    let mut page = format!(
        "# Cameras\n\nMade by `cargo run --release -p experiments -- {}`. Gain {gain}, offset {offset} and read noise \
         {read_noise} are to be found in one image of a scene, whose noise is `gain * Poisson(photons) + offset + Normal(0, \
         read noise²)`. Errors are the standard errors that the calibration states. The last columns are the PSNR of the \
         cleaned image (`--quality {}`, peak: the brightest pixel less the offset) with the true numbers, with those that were \
         found, and the difference.\n\n| scene | photons | seed | gain | offset | read noise | dB, true numbers | dB, found | \
         difference |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        command.join(" "),
        settings.quality
    );
    for row in rows {
        let _ = writeln!(page, "{}", line(row));
    }
    let within = |read: fn(&Camera) -> f64, photons: f64| {
        let of: Vec<&Row> = rows.iter().filter(|row| row.photons == photons).collect();
        let near = of.iter().filter(|row| (read(&row.camera) / read(truth) - 1.0).abs() <= 0.03).count();
        format!("{near} of {}", of.len())
    };
    page += "\nWithin 3 % of the truth:\n\n| photons | gain | offset | read noise |\n| ---: | ---: | ---: | ---: |\n";
    for &photons in &settings.photons {
        let _ = writeln!(
            page,
            "| {photons} | {} | {} | {} |",
            within(|camera| camera.gain, photons),
            within(|camera| camera.offset, photons),
            within(|camera| camera.read_noise, photons)
        );
    }
    if !refused.is_empty() {
        let _ = writeln!(page, "\nRefused:\n");
        refused.iter().for_each(|line| {
            let _ = writeln!(page, "- {line}");
        });
    }
    page
}
