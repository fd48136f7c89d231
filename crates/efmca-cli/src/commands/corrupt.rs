//! `efmca corrupt`: a noisy image from a clean one.

use std::path::PathBuf;

use efmca::family::SharedFamily;
use efmca::tasks::corrupt::{Corrupted, Corruption};

use efmca_io::image_file::{
    Format, Metadata, ReadOptions, SampleType, WriteOptions, Written, default_sample, read, rounding_cost, write,
};

use crate::args::common::{ForceArgs, SeedArgs, noise};
use crate::errors::{Origin, refused};
use crate::failure::Failure;
use crate::outputs::{self, Output};
use crate::rescue::Rescue;
use crate::show::Screen;

/// The options of `efmca corrupt`.
#[derive(Debug, clap::Args)]
pub(crate) struct CorruptArgs {
    /// The clean image: PNG, TIFF, NPY, NPZ (file.npz:name) or FITS.
    #[arg(value_name = "CLEAN")]
    clean: PathBuf,
    /// The noisy image; its ending gives the format. All formats but NPY also keep peak, scale and seed.
    #[arg(long, short, value_name = "OUTPUT")]
    output: PathBuf,
    /// The noise, such as `poisson`, `exponential`, `gamma:k=4` or `gaussian:var=25`; `efmca families` lists all.
    #[arg(long, value_name = "FAMILY", value_parser = noise)]
    noise: SharedFamily,
    /// Scales the image so that its largest value becomes this mean; without it the values are the means.
    #[arg(long, value_name = "P")]
    peak: Option<f64>,
    /// Standard deviation of every pixel after scaling, for gaussian, gamma, beta, log-normal and inverse-gaussian.
    #[arg(long, value_name = "S")]
    sd: Option<f64>,
    /// Raises smaller means to this one, for noise that cannot have the mean 0, such as exponential.
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    floor: Option<f64>,
    /// Adds this to every mean after scaling: what a camera reads without light.
    #[arg(long, value_name = "O", allow_negative_numbers = true)]
    offset: Option<f64>,
    #[command(flatten)]
    seed: SeedArgs,
    /// Type of the numbers, such as u8, u16, f32 or f64. Without it f32 (f64 for a clean image of that type), and for
    /// PNG u8 or u16, which hold counts only.
    #[arg(long, value_name = "TYPE")]
    dtype: Option<SampleType>,
    #[command(flatten)]
    force: ForceArgs,
}

/// Reads, draws, writes, and says what was done.
pub(crate) fn run(args: &CorruptArgs) -> Result<(), Failure> {
    let family = &args.noise;
    let mut corruption = Corruption::new(family).seed(args.seed.seed);
    for (option, set) in [
        (args.peak, Corruption::peak as fn(Corruption, f64) -> Corruption),
        (args.sd, Corruption::sd),
        (args.floor, Corruption::floor),
        (args.offset, Corruption::offset),
    ] {
        if let Some(value) = option {
            corruption = set(corruption, value);
        }
    }
    corruption.check().map_err(|error| refused(&error))?;
    outputs::check([Some(Output::Image(&args.output))], &[&args.clean], args.force.force)?;
    let clean = read(&args.clean, &ReadOptions::default()).map_err(Failure::input)?;
    let origin = Origin::Image { path: &args.clean, counts: false };
    let drawn = corruption.run(clean.values.view()).map_err(|error| origin.describe(&error))?;

    let dtype = sample_type(args, &drawn, &clean.metadata)?;
    let options = WriteOptions {
        dtype: Some(dtype),
        like: Some(&clean.metadata),
        notes: notes(args, &drawn),
        scale: None,
        force: args.force.force,
    };
    let mut rescue = Rescue::default();
    let written = rescue.write(&args.output, |path| match write(path, drawn.noisy.view(), &options) {
        Err(error) if !error.is_about_the_place() => Ok(Err(Failure::input(error))),
        Err(error) => Err(error),
        Ok(written) => Ok(Ok(written)),
    });
    rescue.finish()?;
    let Some(written) = written.transpose()? else { return Ok(()) };

    let mut screen = Screen::beside_files();
    screen.say(&line(args, &drawn, &written))?;
    screen.notes(&args.clean, &clean.remarks)?;
    Ok(screen.notes(&written.path, &written.remarks)?)
}

/// The type that was asked for, or one that keeps the noise as it was drawn.
fn sample_type(args: &CorruptArgs, drawn: &Corrupted, clean: &Metadata) -> Result<SampleType, Failure> {
    if let Some(dtype) = args.dtype {
        return Ok(dtype);
    }
    let format = Format::of_output(&args.output).map_err(Failure::input)?;
    let cost = |sample: SampleType| rounding_cost(drawn.noisy.view(), sample, None);
    if format == Format::Png {
        // A type of 1, 2 or 4 bits is one that the clean image just fitted in; its noise would not.
        let sample = match default_sample(format, Some(clean)) {
            SampleType::U16 => SampleType::U16,
            _ if cost(SampleType::U8).out_of_range > 0 => SampleType::U16,
            _ => SampleType::U8,
        };
        if cost(sample).rounded > 0 {
            return Err(Failure::input(format!(
                "PNG holds integers, and `{}` draws fractions; let {} end in .tif, .npz or .fits, or round them \
                 with --dtype u16",
                args.noise.spec(),
                args.output.display()
            )));
        }
        return Ok(sample);
    }
    let sample = default_sample(format, Some(clean));
    // A value that f32 moves out of the family's values (0.99999999 of `beta`) could not be read as such noise again.
    let support = args.noise.support();
    let leaves = |value: &&f64| !value.is_nan() && !support.contains(f64::from(**value as f32));
    let moved = sample == SampleType::F32 && drawn.noisy.iter().any(|value| leaves(&value));
    Ok(if moved { SampleType::F64 } else { sample })
}

/// Notes for readers of the noisy image.
fn notes(args: &CorruptArgs, drawn: &Corrupted) -> Vec<(String, String)> {
    let mut notes = vec![("family".to_owned(), args.noise.spec()), ("seed".to_owned(), args.seed.seed.to_string())];
    let numbers = [("sd", args.sd), ("floor", args.floor), ("peak", args.peak), ("mean-offset", args.offset)];
    notes.extend(numbers.iter().filter_map(|(key, value)| value.map(|value| ((*key).to_owned(), value.to_string()))));
    if args.peak.is_some() {
        notes.push(("peak-scale".to_owned(), drawn.scale.to_string()));
    }
    notes
}

/// The result in one line.
fn line(args: &CorruptArgs, drawn: &Corrupted, written: &Written) -> String {
    let (pages, rows, columns, channels) = drawn.noisy.dim();
    let mut size = format!("{rows} x {columns} pixels");
    for (count, what) in [(pages, "pages"), (channels, "channels")] {
        if count > 1 {
            size += &format!(" x {count} {what}");
        }
    }
    let sd = args.sd.map_or(String::new(), |sd| format!(" with standard deviation {sd}"));
    let mut text = format!(
        "{}: {size} of {} noise{sd} as {}, seed {}",
        written.path.display(),
        args.noise.spec(),
        written.sample,
        args.seed.seed
    );
    text += &match args.peak {
        Some(peak) => {
            let plus = args.offset.map_or(String::new(), |offset| format!(" + {offset}"));
            format!("; means up to {peak}{plus} (clean values divided by {})", short(drawn.scale))
        }
        None => format!("; means up to {}", short(drawn.largest_mean)),
    };
    if let Some(floor) = args.floor {
        text += &format!("; {} means raised to {floor}", drawn.raised);
    }
    if written.rounded > 0 {
        text += &format!("; {} values rounded", written.rounded);
    }
    if let Some(psnr) = drawn.psnr {
        text += &format!("; PSNR {psnr:.2} dB (peak {})", short(drawn.largest_mean));
    }
    text
}

/// A number with six digits at most; the file has all of them.
fn short(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}
