//! `efmca demo`: a photon-limited picture, cleaned with nothing but itself.

mod days;

use std::path::{Path, PathBuf};

use efmca_io::image_file::{ReadOptions, read};
use efmca_io::write_atomically;
use efmca_view::{Picture, common_range};
use ndarray::s;

use crate::args::Args;
use crate::args::common::SeedArgs;
use crate::failure::Failure;
use crate::outputs::check_folder;
use crate::show::Screen;

/// The picture that comes with the program.
const CAMERA: &[u8] = include_bytes!("../../../assets/camera.png");

/// The files in the folder.
const NAMES: [&str; 6] = ["camera.png", "noisy.tif", "denoised.tif", "report.html", "before-after.png", "days.csv"];

/// The options of `efmca demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Expected photons of the brightest pixel.
    #[arg(long, default_value_t = 2.0, value_name = "P", allow_negative_numbers = true, value_parser = peak)]
    peak: f64,
    #[command(flatten)]
    seed: SeedArgs,
    /// Folder for the results; it is created if needed, and files of an earlier demo are replaced.
    #[arg(long, short, default_value = "efmca-demo", value_name = "DIR")]
    out: PathBuf,
}

/// The most photons of a pixel: with more there is no noise to be seen.
const MOST_PHOTONS: f64 = 1e6;

fn peak(text: &str) -> Result<f64, String> {
    let peak = text.parse().ok().filter(|peak| *peak > 0.0 && *peak <= MOST_PHOTONS);
    peak.ok_or_else(|| format!("give a positive number of photons, {MOST_PHOTONS} at the most"))
}

/// Makes the picture noisy, cleans it, and leaves pictures and a report.
pub(crate) fn run(args: &DemoArgs) -> Result<(), Failure> {
    let [clean, noisy, result, report, picture, table] = check_folder(&args.out, NAMES, true)?;
    write_atomically(&clean, CAMERA).map_err(Failure::work)?;
    let mut screen = Screen::new();
    screen.say(&format!(
        "A picture with at most {} photons per pixel is cleaned, with nothing to learn from but itself.\n\
         The same by hand:\n",
        args.peak
    ))?;
    let [clean_text, noisy_text, result_text, report_text] =
        [&clean, &noisy, &result, &report].map(|path| path.display().to_string());
    let (peak, seed) = (args.peak.to_string(), args.seed.seed.to_string());
    let corrupt =
        [&["corrupt", &clean_text, "-o", &noisy_text, "--noise", "poisson"][..], &["--peak", &peak, "--seed", &seed]]
            .concat();
    let denoise = [
        &["denoise", &noisy_text, "-o", &result_text, "--noise", "poisson", "--quality", "fast"][..],
        &["--reference", &clean_text, "--report", &report_text, "--seed", &seed],
    ]
    .concat();
    // the lock of standard output is given back, because the commands take it themselves
    screen.say(&format!("  efmca {}\n  efmca {}\n", corrupt.join(" "), denoise.join(" ")))?;
    drop(screen);
    for arguments in [&corrupt[..], &denoise[..]] {
        step(arguments)?;
    }
    beside(&[&noisy, &result], &picture)?;
    days::write(&table, args.seed.seed)?;
    Screen::new().say(&format!(
        "look at {} and {}; {} is a made-up table for `efmca noise-type` and `efmca fit`",
        picture.display(),
        report.display(),
        table.display()
    ))?;
    Ok(())
}

/// Runs a command as it was shown; files of an earlier demo are replaced.
fn step(arguments: &[&str]) -> Result<(), Failure> {
    let args = <Args as clap::Parser>::try_parse_from(["efmca"].iter().chain(arguments).chain(&["--force"]));
    crate::run(&args.map_err(Failure::work)?.command)
}

/// Images side by side, in the range of the last one.
fn beside(images: &[&PathBuf], to: &Path) -> Result<(), Failure> {
    let read = |path: &&PathBuf| read(path, &ReadOptions::default()).map(|file| file.values).map_err(Failure::work);
    let images = images.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let Some(last) = images.last() else { return Ok(()) };
    let (low, high) = common_range(&[last.slice(s![0, .., .., 0])]);
    let pictures = images.iter().map(|image| Picture::grey(image.slice(s![0, .., .., 0]), low, high));
    let pictures = pictures.collect::<Result<Vec<_>, _>>().map_err(Failure::work)?;
    let png = Picture::beside(&pictures, 8).and_then(|picture| picture.to_png()).map_err(Failure::work)?;
    write_atomically(to, &png).map_err(Failure::work)
}
