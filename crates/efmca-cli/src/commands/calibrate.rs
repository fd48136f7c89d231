//! `efmca calibrate`: gain, offset and read noise of a camera from its images.

use std::path::{Path, PathBuf};

use efmca::tasks::camera::{Calibrated, Calibration, Camera, Shots};
use efmca_io::image_file::{ImageFile, read};
use efmca_io::{write_atomically, write_camera};
use efmca_view::{Figure, Line, Points, Report, ReportTable, ViewError};
use ndarray::ArrayView4;

use crate::args::common::{ImageArgs, OutputArgs, mark_missing};
use crate::errors::refused;
use crate::failure::Failure;
use crate::outputs::{self, Output};
use crate::rescue::Rescue;
use crate::show::{Screen, TextTable, file_name};

/// The options of `efmca calibrate`.
#[derive(Debug, clap::Args)]
pub(crate) struct CalibrateArgs {
    /// Images of scenes as the camera recorded them: PNG, TIFF, NPY, NPZ (file.npz:name) or FITS.
    #[arg(value_name = "IMAGE", required_unless_present = "flat")]
    images: Vec<PathBuf>,
    /// The camera, for `efmca denoise --camera`.
    #[arg(long, short, value_name = "CAMERA.json")]
    output: PathBuf,
    /// Images without light: they tell offset and read noise. Can be given several times.
    #[arg(long, value_name = "FILE")]
    dark: Vec<PathBuf>,
    /// Images of an even surface; the pages of each have the same exposure. Can be given several times.
    #[arg(long, value_name = "FILE")]
    flat: Vec<PathBuf>,
    /// All images, and all their pages, show one scene that does not move.
    #[arg(long, requires = "images")]
    frames_are_one_scene: bool,
    /// Value of a pixel without photons, if it is known, in camera units.
    #[arg(long, value_name = "O", allow_negative_numbers = true)]
    offset: Option<f64>,
    /// Standard deviation of the read noise, if it is known, in camera units.
    #[arg(long, value_name = "R")]
    read_noise: Option<f64>,
    #[command(flatten)]
    image: ImageArgs,
    /// Writes a picture of the photon-transfer line.
    #[arg(long, value_name = "FILE.svg")]
    figure: Option<PathBuf>,
    #[command(flatten)]
    outputs: OutputArgs,
}

/// Reads, calibrates, writes, and says what was found.
pub(crate) fn run(args: &CalibrateArgs) -> Result<(), Failure> {
    let mut calibration = Calibration::new();
    if let Some(offset) = args.offset {
        calibration = calibration.offset(offset);
    }
    if let Some(read_noise) = args.read_noise {
        calibration = calibration.read_noise(read_noise);
    }
    calibration.check().map_err(|error| refused(&error))?;
    let inputs: Vec<&Path> = args.images.iter().chain(&args.flat).chain(&args.dark).map(PathBuf::as_path).collect();
    let results = [
        Some(Output::File(&args.output)),
        args.figure.as_deref().map(Output::File),
        args.outputs.report.as_deref().map(Output::File),
    ];
    outputs::check(results, &inputs, args.outputs.force.force)?;

    let (scenes, flats, darks) = (files(args, &args.images)?, files(args, &args.flat)?, files(args, &args.dark)?);
    let shots = Shots {
        scenes: views(&scenes),
        one_scene: args.frames_are_one_scene,
        flats: views(&flats),
        darks: views(&darks),
    };
    let found = calibration.run(&shots).map_err(|error| {
        let names: Vec<String> = inputs.iter().map(|path| path.display().to_string()).collect();
        Failure::input(format!("{}: {error}", names.join(", ")))
    })?;

    let names: Vec<String> = inputs.iter().map(|path| file_name(path)).collect();
    let svg = line(&found).map_err(Failure::work)?;
    let mut rescue = Rescue::default();
    rescue.write(&args.output, |path| write_camera(path, &found, &names));
    if let Some(path) = &args.figure {
        rescue.write(path, |path| write_atomically(path, svg.as_bytes()));
    }
    let table = table(args, &found);
    if let Some(path) = &args.outputs.report {
        let page = page(&names, &found, &table, svg);
        rescue.write(path, |path| page.write(path, args.outputs.force.force));
    }
    rescue.finish()?;
    let mut screen = Screen::beside_files();
    for (path, file) in args.images.iter().zip(&scenes) {
        screen.notes(path, &file.remarks)?;
    }
    screen.say(&table.aligned(&[0, 3]))?;
    for remark in &found.remarks {
        screen.say(&format!("note: {remark}"))?;
    }
    let output = args.output.display();
    Ok(screen.say(&format!("{output}: {} pixels in {} groups", found.pixels, found.points.len()))?)
}

fn files(args: &CalibrateArgs, paths: &[PathBuf]) -> Result<Vec<ImageFile>, Failure> {
    let read = |path: &PathBuf| {
        let mut file = read(path, &args.image.options()).map_err(Failure::input)?;
        mark_missing(&mut file.values, args.image.missing);
        Ok(file)
    };
    paths.iter().map(read).collect()
}

fn views(files: &[ImageFile]) -> Vec<ArrayView4<'_, f64>> {
    files.iter().map(|file| file.values.view()).collect()
}

/// The numbers with their errors.
fn table(args: &CalibrateArgs, found: &Calibrated) -> TextTable {
    let Camera { gain, offset, read_noise } = found.camera;
    let from_dark = !args.dark.is_empty();
    let row = |name: &str, value: f64, error: Option<f64>, source: &str| {
        let digits = |error: f64| (1.0 - error.max(1e-9).log10().floor()).clamp(0.0, 9.0) as usize;
        let (value, error) = match error {
            Some(error) => (format!("{value:.*}", digits(error)), format!("± {error:.*}", digits(error))),
            None => (value.to_string(), "given".to_owned()),
        };
        vec![name.to_owned(), value, error, source.to_owned()]
    };
    let dark = |given: Option<f64>| match given {
        Some(_) => "camera units",
        None if from_dark => "camera units, from dark frames",
        None => "camera units",
    };
    let rows = vec![
        row("gain", gain, found.errors.gain, "camera units per photon"),
        row("offset", offset, found.errors.offset, dark(args.offset)),
        row("read noise", read_noise, found.errors.read_noise, dark(args.read_noise)),
    ];
    TextTable { head: ["", "value", "error", ""].map(str::to_owned).to_vec(), rows }
}

/// The photon-transfer line with its points.
fn line(found: &Calibrated) -> Result<String, ViewError> {
    let Camera { offset, .. } = found.camera;
    let most = found.points.iter().map(|point| point.mean).fold(offset, f64::max);
    let ends = [offset, most].map(|mean| (mean, found.camera.variance(mean)));
    // a point counts fully if its weight is what its pixels give; those in textured parts are shown apart
    let heaviest = found.points.iter().map(|point| point.weight * point.variance.powi(2)).fold(0.0, f64::max);
    let (strong, weak): (Vec<_>, Vec<_>) =
        found.points.iter().partition(|point| point.weight * point.variance.powi(2) > 0.1 * heaviest);
    let points = |points: Vec<&efmca::tasks::camera::LinePoint>| -> Vec<(f64, f64)> {
        points.into_iter().map(|point| (point.mean, point.variance)).collect()
    };
    Figure::new("")
        .x_label("mean (camera units)")
        .y_label("variance of the noise")
        .line(Line::new(ends).label("gain · (mean - offset) + read noise²"))
        .points(Points::new(points(strong)).label("equally bright pixels"))
        .points(Points::new(points(weak)).radius(2.0).opacity(0.4).label("few of them, or not flat"))
        .to_svg(720, 420)
}

/// The page.
fn page(names: &[String], found: &Calibrated, table: &TextTable, svg: String) -> Report {
    let mut summary = vec![("images".to_owned(), names.join(", "))];
    summary.push(("pixels".to_owned(), format!("{} in {} groups", found.pixels, found.points.len())));
    summary.extend(found.remarks.iter().map(|remark| ("note".to_owned(), remark.clone())));
    let TextTable { head, rows } = table.clone();
    Report {
        title: "Camera".to_owned(),
        summary,
        tables: vec![ReportTable { title: "Numbers of the camera".into(), head, rows }],
        figures: vec![("Photon-transfer line".into(), svg)],
        ..Report::default()
    }
}
