//! House with exponential noise (Sec. 7.2.3): the right noise model against two others, and the tool's own settings.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use efmca::family::family;
use efmca::tasks::corrupt::Corruption;
use efmca::tasks::quality::{psnr, ssim};
use efmca_io::write_atomically;
use efmca_view::Picture;
use ndarray::{Array4, s};
use serde::Serialize;

use crate::cleaning::{Cleaning, largest, read_grey};
use crate::output::{Done, say, write};

/// The smallest mean: exponential noise has none of zero.
const FLOOR: f64 = 0.01;

/// Settings of the experiment.
#[derive(Args, Clone)]
pub(crate) struct Settings {
    /// A folder with house.png.
    #[arg(long)]
    images: PathBuf,
    /// Noise realisations.
    #[arg(long, default_value_t = 5)]
    runs: u64,
    /// The seed of the first noise realisation.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Rows and columns of a patch, for the three noise models side by side.
    #[arg(long, default_value_t = 12)]
    patch: usize,
    /// Their causes.
    #[arg(long, default_value_t = 512)]
    components: usize,
    /// Their iterations, with four updates of the parameters in each: 25 make the paper's 100 updates.
    #[arg(long, default_value_t = 25)]
    iterations: usize,
    /// Qualities of `efmca denoise --noise exponential` beside them.
    #[arg(long, value_delimiter = ',', default_values_t = ["fast".to_owned(), "balanced".to_owned()])]
    qualities: Vec<String>,
    /// Writes clean, noisy and all cleaned images of the first realisation side by side to this PNG file.
    #[arg(long)]
    picture: Option<PathBuf>,
}

/// The quality of one cleaned image.
#[derive(Debug, Clone, Serialize)]
struct Row {
    /// How it was cleaned.
    name: String,
    seed: u64,
    /// PSNR with 255, as the paper has it, and with the largest value of the image, which is stricter.
    psnr_255: f64,
    psnr: f64,
    ssim: f64,
    cpu: f64,
}

pub(crate) fn run(settings: &Settings, out: &Path) -> Done<()> {
    let clean = read_grey(&settings.images.join("house.png"))?;
    let mut rows = Vec::new();
    for seed in settings.seed..settings.seed + settings.runs {
        let corrupted = Corruption::new("exponential").floor(FLOOR).seed(seed).run(clean.view())?;
        let noisy = corrupted.noisy;
        let mut images = vec![clean.clone(), noisy.clone()];
        let mut see = |name: String, estimate: &Array4<f64>, cpu: f64| -> Done<()> {
            let row = Row {
                name,
                seed,
                psnr_255: psnr(estimate.view(), clean.view(), 255.0)?,
                psnr: psnr(estimate.view(), clean.view(), largest(&clean))?,
                ssim: ssim(estimate.slice(s![0, .., .., 0]), clean.slice(s![0, .., .., 0]), 255.0)?,
                cpu,
            };
            say(&format!("{} seed {seed}: {:.2} dB with 255, {:.0} CPU s", row.name, row.psnr_255, row.cpu));
            rows.push(row);
            Ok(())
        };
        see("noisy".into(), &noisy, 0.0)?;
        for (name, cleaning, spec) in models(settings) {
            let family = family(spec)?;
            // counts are integers
            let values = if spec == "poisson" { noisy.mapv(f64::round) } else { noisy.clone() };
            let cleaned = cleaning.run(&family, values.view(), seed)?;
            see(name, &cleaned.estimate, cleaned.cpu)?;
            images.push(cleaned.estimate);
        }
        if let (Some(path), true) = (&settings.picture, seed == settings.seed) {
            let grey = |image: &Array4<f64>| Picture::grey(image.slice(s![0, .., .., 0]), 0.0, 255.0);
            let pictures = images.iter().map(grey).collect::<Result<Vec<_>, _>>()?;
            write_atomically(path, &Picture::beside(&pictures, 4)?.to_png()?)?;
        }
    }
    write(out, "exponential.md", markdown(&rows).as_bytes())?;
    write(out, "exponential.json", &serde_json::to_vec_pretty(&rows)?)
}

/// Names, settings and noise models.
fn models(settings: &Settings) -> Vec<(String, Cleaning, &'static str)> {
    let paper = Cleaning {
        quality: "fast".into(),
        patch: Some(settings.patch),
        components: Some(settings.components),
        iterations: Some(settings.iterations),
        ..Cleaning::default()
    };
    let same = [("E-MCA", "exponential"), ("G-MCA", "gaussian"), ("P-MCA", "poisson")];
    let same = same.into_iter().map(|(name, spec)| {
        let name = format!(
            "{name}, H = {}, D = {2} x {2}, {1} iterations",
            settings.components, settings.iterations, settings.patch
        );
        (name, paper.clone(), spec)
    });
    let own = settings.qualities.iter().map(|quality| {
        let cleaning = Cleaning { quality: quality.clone(), ..Cleaning::default() };
        (format!("`efmca denoise --noise exponential --quality {quality}`"), cleaning, "exponential")
    });
    same.chain(own).collect()
}

fn markdown(rows: &[Row]) -> String {
    let command: Vec<String> = std::env::args().skip(1).collect();
    let mut page = format!(
        "# House with exponential noise\n\nMade by `cargo run --release -p experiments -- {}`. Means over noise realisations, \
         with their standard deviation. The image is not scaled; 255 is the convention of the paper, 239 the largest value of \
         the image. The paper prints its numbers in a figure only: there, E-MCA is above G-MCA and P-MCA.\n\n\
         | | PSNR with 255 | PSNR with 239 | SSIM | CPU seconds |\n| --- | ---: | ---: | ---: | ---: |\n",
        command.join(" ")
    );
    let mut names: Vec<&str> = Vec::new();
    rows.iter().for_each(|row| {
        if !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    });
    for name in names {
        let of: Vec<&Row> = rows.iter().filter(|row| row.name == name).collect();
        let mean = |read: &dyn Fn(&Row) -> f64| of.iter().map(|row| read(row)).sum::<f64>() / of.len() as f64;
        let psnr = mean(&|row| row.psnr_255);
        let spread = of.iter().map(|row| (row.psnr_255 - psnr).powi(2)).sum::<f64>() / (of.len().max(2) - 1) as f64;
        let _ = writeln!(
            page,
            "| {name} | {psnr:.2} ± {:.2} | {:.2} | {:.3} | {:.0} |",
            spread.sqrt(),
            mean(&|row| row.psnr),
            mean(&|row| row.ssim),
            mean(&|row| row.cpu)
        );
    }
    page
}
