//! A cube of counts whose neighbouring pages help each other: patches over pages beside patches of single pages.
//!
//! Some voxels are hidden. Each model cleans the cube without them, and the Poisson log-likelihood of the hidden counts with its
//! means says how good it is; no clean cube is needed.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use cpu_time::ProcessTime;
use efmca::family::family;
use efmca::tasks::denoise::PatchDenoiser;
use efmca_io::image_file::{Axes, ReadOptions, read};
use ndarray::{Array4, Axis, Zip, s};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::output::{Done, say, write};
use crate::speed::peak_memory;

/// Voxels on a side of the blocks whose sums are compared: hidden voxels of one block share their estimate.
const BLOCK: usize = 16;
/// The smallest mean that a hidden count is compared with.
const SMALLEST: f64 = 1e-9;

/// Settings of the experiment.
#[derive(Args, Clone)]
pub(crate) struct Settings {
    /// The counts: an NPY, NPZ (file.npz:name), TIFF or FITS file.
    #[arg(long)]
    cube: PathBuf,
    /// The order of its axes, such as yxp if pages are last.
    #[arg(long)]
    axes: Option<String>,
    /// Only so many rows, columns and pages around the middle, to try things.
    #[arg(long)]
    middle: Option<usize>,
    /// The share of voxels that is hidden.
    #[arg(long, default_value_t = 0.05)]
    hide: f64,
    /// The seed of the voxels that are hidden.
    #[arg(long, default_value_t = 2)]
    mask: u64,
    /// Models to compare: rows, columns, pages and causes. The first one is what the others are compared with.
    #[arg(long, value_delimiter = ',', default_values_t = DEFAULTS.map(str::to_owned))]
    models: Vec<String>,
    /// Iterations.
    #[arg(long, default_value_t = 8)]
    iterations: usize,
    /// Standard deviation of the blur of the start, in voxels.
    #[arg(long, default_value_t = 4.0)]
    blur: f64,
    /// The number of patches to learn from, at the most.
    #[arg(long, default_value_t = 70_000)]
    patches: usize,
    /// The distance of the patches of single pages that are cleaned; patches over pages have that of the library.
    #[arg(long, default_value_t = 4)]
    stride: usize,
    /// The seed of the models.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

const DEFAULTS: [&str; 2] = ["32x32x1:30", "16x16x8:30"];

/// A model to compare.
#[derive(Debug, Clone, Copy)]
struct Size {
    patch: (usize, usize),
    pages: usize,
    causes: usize,
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        let numbers: Option<Vec<usize>> = text.split(['x', ':']).map(|number| number.parse().ok()).collect();
        match numbers.as_deref() {
            Some(&[rows, columns, pages, causes]) => Ok(Size { patch: (rows, columns), pages, causes }),
            _ => Err(format!("`{text}`: write rows, columns, pages and causes, such as 16x16x8:30")),
        }
    }
}

/// How well hidden voxels are predicted.
#[derive(Debug, Clone, Serialize)]
struct Row {
    name: String,
    /// Nats of a hidden voxel.
    mean: f64,
    /// Nats of a voxel, and of all of them, above the first model, with the standard error.
    gain: f64,
    total: f64,
    error: f64,
    /// CPU seconds of all threads.
    cpu: f64,
    /// Peak memory in megabytes.
    megabytes: f64,
}

pub(crate) fn run(settings: &Settings, out: &Path) -> Done<()> {
    let sizes = settings.models.iter().map(|text| text.parse()).collect::<Result<Vec<Size>, _>>()?;
    let axes = settings.axes.as_deref().map(str::parse::<Axes>).transpose()?;
    let mut cube = read(&settings.cube, &ReadOptions { axes, ..ReadOptions::default() })?.values;
    if let Some(side) = settings.middle {
        cube = middle(&cube, side);
    }
    let mut random = ChaCha8Rng::seed_from_u64(settings.mask);
    let seen = cube.mapv(|value| if random.random::<f64>() < settings.hide { f64::NAN } else { value });
    let hidden = Zip::from(&cube).and(&seen).fold(0, |sum, y, seen| sum + usize::from(seen.is_nan() && !y.is_nan()));
    say(&format!("{:?} (pages, rows, columns, channels), {hidden} voxels hidden", cube.dim()));

    let mut scores: Vec<(String, Vec<f64>, f64, f64)> = Vec::new();
    for size in sizes {
        let ((rows, columns), pages) = (size.patch, size.pages);
        let mut denoiser = PatchDenoiser::new("poisson").patch(rows, columns).depth(pages).causes(size.causes);
        denoiser = denoiser.iterations(settings.iterations).blur(settings.blur).most_patches(settings.patches);
        denoiser = denoiser.seed(settings.seed);
        if pages == 1 {
            denoiser = denoiser.stride(settings.stride);
        }
        // the peak of this model alone, where the system can do that
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        let start = ProcessTime::now();
        let estimate = denoiser.run(seen.view())?.estimate;
        let (cpu, megabytes) = (start.elapsed().as_secs_f64(), peak_memory());
        let name = format!("{} causes of {rows} x {columns} x {pages}", size.causes);
        let blocks = log_likelihoods(&cube, &seen, &estimate.mean)?;
        let mean = blocks.iter().sum::<f64>() / hidden as f64;
        say(&format!("{name}: {mean:.6} nats a voxel, {cpu:.0} CPU s, {megabytes:.0} MB"));
        scores.push((name, blocks, cpu, megabytes));
    }
    let flat = page_means(&seen);
    scores.push(("the mean of each page".to_owned(), log_likelihoods(&cube, &seen, &flat)?, 0.0, 0.0));
    let first = scores.first().map(|score| score.1.clone()).unwrap_or_default();
    let row = |(name, blocks, cpu, megabytes): (String, Vec<f64>, f64, f64)| {
        let differences: Vec<f64> = blocks.iter().zip(&first).map(|(own, first)| own - first).collect();
        let total: f64 = differences.iter().sum();
        let centre = total / differences.len() as f64;
        let error = differences.iter().map(|difference| (difference - centre).powi(2)).sum::<f64>().sqrt();
        let mean = blocks.iter().sum::<f64>() / hidden as f64;
        Row { name, mean, gain: total / hidden as f64, total, error, cpu, megabytes }
    };
    let rows: Vec<Row> = scores.into_iter().map(row).collect();
    write(out, "volume.md", markdown(settings, &cube, hidden, &rows).as_bytes())?;
    write(out, "volume.json", &serde_json::to_vec_pretty(&rows)?)
}

/// The middle of a cube.
fn middle(cube: &Array4<f64>, side: usize) -> Array4<f64> {
    let part = |axis: usize| {
        let (size, side) = (cube.len_of(Axis(axis)), side.min(cube.len_of(Axis(axis))));
        (size - side) / 2..(size - side) / 2 + side
    };
    cube.slice(s![part(0), part(1), part(2), ..]).to_owned()
}

/// The sum over the hidden voxels of each block.
fn log_likelihoods(cube: &Array4<f64>, seen: &Array4<f64>, means: &Array4<f64>) -> Done<Vec<f64>> {
    let poisson = family("poisson")?;
    let (pages, rows, columns, _) = cube.dim();
    let (down, across) = (rows.div_ceil(BLOCK), columns.div_ceil(BLOCK));
    let mut blocks = vec![0.0; pages.div_ceil(BLOCK) * down * across];
    for (place, y) in cube.indexed_iter().filter(|(place, y)| seen[*place].is_nan() && !y.is_nan()) {
        let (page, row, column, _) = place;
        let eta = [means[place].max(SMALLEST).ln()];
        blocks[(page / BLOCK * down + row / BLOCK) * across + column / BLOCK] += poisson.log_density(*y, &eta);
    }
    Ok(blocks)
}

/// Every page as flat as it can be.
fn page_means(seen: &Array4<f64>) -> Array4<f64> {
    let mut flat = seen.clone();
    for mut page in flat.outer_iter_mut() {
        let present: Vec<f64> = page.iter().copied().filter(|value| !value.is_nan()).collect();
        page.fill(present.iter().sum::<f64>() / present.len().max(1) as f64);
    }
    flat
}

fn markdown(settings: &Settings, cube: &Array4<f64>, hidden: usize, rows: &[Row]) -> String {
    let command: Vec<String> = std::env::args().skip(1).collect();
    let (pages, height, width, _) = cube.dim();
    let mut page = format!(
        "# Patches over pages\n\nMade by `cargo run --release -p experiments -- {}`.\n\nA cube of {pages} pages of {height} x \
         {width} counts, {:.4} a voxel. {hidden} voxels ({} %, chosen by seed {}) are hidden; each model learns from the rest, \
         cleans it, and predicts the hidden counts: the mean Poisson log-likelihood with its means. Differences are to the first \
         line; their standard errors are over blocks of {BLOCK} x {BLOCK} x {BLOCK} voxels. Sizes are rows x columns x pages.\n\n\
         | | nats a voxel | above the first, a voxel | in all | CPU seconds | peak MB |\n| --- | ---: | ---: | ---: | ---: | ---: |\n",
        command.join(" "),
        cube.mean().unwrap_or(f64::NAN),
        100.0 * settings.hide,
        settings.mask
    );
    for row in rows {
        let error = row.error / hidden as f64;
        let _ = writeln!(
            page,
            "| {} | {:.6} | {:.6} ± {error:.6} | {:.0} ± {:.0} | {:.0} | {:.0} |",
            row.name, row.mean, row.gain, row.total, row.error, row.cpu, row.megabytes
        );
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_read_as_they_are_written() {
        let size: Size = "16x12x8:30".parse().unwrap();
        assert_eq!((size.patch, size.pages, size.causes), ((16, 12), 8, 30));
        for wrong in ["16x12x8", "16x12", "16x12x8:", "16x12xa:30", "1x2x3x4:5"] {
            assert!(wrong.parse::<Size>().unwrap_err().contains("16x16x8:30"), "{wrong}");
        }
    }

    #[test]
    fn hidden_counts_are_scored_in_their_blocks() {
        let cube = Array4::from_shape_fn((2, 17, 3, 1), |(page, y, _, _)| (page + y) as f64);
        let mut seen = cube.clone();
        seen[[0, 0, 1, 0]] = f64::NAN;
        seen[[1, 16, 2, 0]] = f64::NAN;
        let blocks = log_likelihoods(&cube, &seen, &Array4::from_elem(cube.dim(), 2.0)).unwrap();
        assert_eq!(blocks.len(), 2);
        // log p(0) and log p(17) at mean 2
        assert!((blocks[0] + 2.0).abs() < 1e-12);
        let factorial: f64 = (1..=17).map(|k| f64::from(k).ln()).sum();
        assert!((blocks[1] - (17.0 * 2f64.ln() - 2.0 - factorial)).abs() < 1e-9);
        let flat = page_means(&seen);
        assert!(flat.iter().all(|value| value.is_finite()) && flat[[1, 0, 0, 0]] > flat[[0, 0, 0, 0]]);
        assert_eq!(middle(&cube, 3).dim(), (2, 3, 3, 1));
    }
}
