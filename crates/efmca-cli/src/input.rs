//! Images, sounds and tables, read in the form in which their noise can be looked at.

use std::path::Path;

use efmca::tasks::noise::Source;
use efmca_io::image_file::{Format, ImageFile, ReadOptions, read};
use efmca_io::sound::{PAPER_SPECTROGRAM, amplitude_spectrogram, read_wav};
use efmca_io::table_file::{TableOptions, read_table};
use ndarray::{Array2, Array4, Axis};

use crate::failure::Failure;
use crate::noise_args::{InputArgs, KindArg};

/// Rows of a table that are looked at where nothing is said.
const MOST_ROWS: usize = 20_000;
/// Arrays with both sides of this size at least are images, if they are not much longer than wide.
const IMAGE_SIDE: usize = 128;
/// Pages with both sides up to this are small pictures: each is a row of a table.
const SMALL_PAGE: usize = 32;

/// Data that were read.
pub(crate) struct Input {
    pub(crate) content: Content,
    /// What the user should know.
    pub(crate) remarks: Vec<String>,
    patch: (usize, usize),
    most: usize,
}

/// What was in the file.
pub(crate) enum Content {
    /// Pages, rows, columns and channels.
    Images(Array4<f64>),
    /// The spectrogram as one page.
    Sound(Array4<f64>),
    /// Rows, the names of the columns, and whether it was text.
    Table { values: Array2<f64>, names: Vec<String>, text: bool },
}

impl Input {
    /// Reads what there is.
    pub(crate) fn read(args: &InputArgs) -> Result<Input, Failure> {
        let (kind, remark) = match args.kind {
            Some(kind) => (kind, None),
            None => guess(args)?,
        };
        let mut input = match kind {
            KindArg::Image => images(args)?,
            KindArg::Sound => sound(args)?,
            KindArg::Table => table(args)?,
        };
        input.remarks.extend(remark);
        Ok(input)
    }

    /// The data as the library takes it.
    pub(crate) fn source(&self) -> Source<'_> {
        match &self.content {
            Content::Images(pixels) | Content::Sound(pixels) => Source::images(pixels.view(), self.patch, self.most),
            Content::Table { values, .. } => Source::Table(values.view()),
        }
    }

    /// What was read, in a few words.
    pub(crate) fn words(&self) -> String {
        match &self.content {
            Content::Images(pixels) => {
                let (pages, rows, columns, channels) = pixels.dim();
                let more =
                    |count: usize, what: &str| if count > 1 { format!(", {count} {what}") } else { String::new() };
                format!("image of {rows} x {columns} pixels{}{}", more(pages, "pages"), more(channels, "channels"))
            }
            Content::Sound(pixels) => {
                format!("amplitude spectrogram of {} frequencies x {} frames", pixels.dim().1, pixels.dim().2)
            }
            Content::Table { values, .. } => format!("table of {} rows x {} columns", values.nrows(), values.ncols()),
        }
    }
}

/// The first bytes of a file, which say what it is.
fn first_bytes(path: &Path) -> Vec<u8> {
    use std::io::Read;
    let mut bytes = Vec::new();
    // what cannot be read is told by the reader that it is given to
    if let Ok(file) = std::fs::File::open(path) {
        let _ = file.take(16).read_to_end(&mut bytes);
    }
    bytes
}

/// What a file seems to be, and a remark where that is not certain.
fn guess(args: &InputArgs) -> Result<(KindArg, Option<String>), Failure> {
    let text = args.input.to_string_lossy();
    let file = match text.rsplit_once(".npz:") {
        Some((stem, _)) if !args.input.exists() => format!("{stem}.npz"),
        _ => text.to_string(),
    };
    let bytes = first_bytes(Path::new(&file));
    if bytes.starts_with(b"RIFF") || bytes.starts_with(b"RIFX") || bytes.starts_with(b"RF64") {
        return Ok((KindArg::Sound, None));
    }
    match Format::of_bytes(&bytes) {
        Some(Format::Npy | Format::Npz) => {}
        Some(_) => return Ok((KindArg::Image, None)),
        // packed FITS images have two endings
        None if file.ends_with(".gz") && !file.contains(".csv") && !file.contains(".tsv") => {
            return Ok((KindArg::Image, None));
        }
        None => return Ok((KindArg::Table, None)),
    }
    if args.axes.is_some() {
        return Ok((KindArg::Image, None));
    }
    let shape = read(&args.input, &ReadOptions::default()).map(|file| file.metadata.shape).map_err(Failure::input);
    let shape = match shape {
        Ok(shape) => shape,
        // arrays with more axes than an image are tables, and other faults are told by the reader of tables
        Err(_) => return Ok((KindArg::Table, None)),
    };
    let kind = kind_of(&shape);
    let (what, other) = if kind == KindArg::Image { ("an image", "table") } else { ("a table", "image") };
    Ok((kind, Some(format!("an array of shape {shape:?} is taken for {what}; --as {other} reads it as the other"))))
}

/// What an array of this shape is most likely.
fn kind_of(shape: &[usize]) -> KindArg {
    let large =
        |rows: usize, columns: usize| rows.min(columns) >= IMAGE_SIDE && rows.max(columns) <= 2 * rows.min(columns);
    match shape {
        [rows, columns] if large(*rows, *columns) => KindArg::Image,
        [rows, columns, 3 | 4] if rows.min(columns) >= &SMALL_PAGE => KindArg::Image,
        [_, rows, columns] if rows.max(columns) > &SMALL_PAGE => KindArg::Image,
        [_, _, _, ..] if shape.len() == 4 => KindArg::Image,
        _ => KindArg::Table,
    }
}

fn images(args: &InputArgs) -> Result<Input, Failure> {
    let options = ReadOptions { axes: args.axes.clone(), ..ReadOptions::default() };
    let ImageFile { mut values, remarks, .. } = read(&args.input, &options).map_err(Failure::input)?;
    for text in &args.missing {
        let missing: f64 = text
            .parse()
            .map_err(|_| Failure::input(format!("--missing {text}: for an image give the value of missing pixels")))?;
        values.mapv_inplace(|value| if value == missing { f64::NAN } else { value });
    }
    patched(args, Content::Images(values), remarks)
}

fn sound(args: &InputArgs) -> Result<Input, Failure> {
    let sound = read_wav(&args.input).map_err(Failure::input)?;
    let mut remarks = sound.remarks.clone();
    let (rate, fft, hop) = PAPER_SPECTROGRAM;
    let resampled = sound.resampled(rate).map_err(Failure::input)?;
    if sound.rate < rate {
        remarks.push(format!(
            "it has {} samples a second, so that frequencies above {} Hz are empty and are left out",
            sound.rate,
            sound.rate / 2
        ));
    }
    let mut amplitudes = amplitude_spectrogram(&resampled.samples, fft, hop).map_err(Failure::input)?;
    // above what was recorded there is only what the resampling left
    let top = fft as u64 / 2 * u64::from(sound.rate.min(rate)) * 9 / 10 / u64::from(rate);
    if sound.rate < rate {
        amplitudes = amplitudes.slice(ndarray::s![..=top as usize, ..]).to_owned();
    }
    let zeros = amplitudes.iter().filter(|value| **value == 0.0).count();
    if zeros > 0 {
        remarks.push(format!("{zeros} amplitudes are exactly zero (digital silence) and are left out"));
        amplitudes.mapv_inplace(|value| if value == 0.0 { f64::NAN } else { value });
    }
    patched(args, Content::Sound(amplitudes.insert_axis(Axis(0)).insert_axis(Axis(3))), remarks)
}

/// Cuts into patches, as many as are asked for.
fn patched(args: &InputArgs, content: Content, remarks: Vec<String>) -> Result<Input, Failure> {
    let (Content::Images(pixels) | Content::Sound(pixels)) = &content else {
        return Err(Failure::work("a table has no patches"));
    };
    let (_, rows, columns, _) = pixels.dim();
    let patch = args.patch;
    if patch.0 > rows || patch.1 > columns {
        return Err(Failure::input(format!(
            "{}: it has {rows} x {columns} pixels, which is less than a patch of {} x {}; say --patch {}",
            args.input.display(),
            patch.0,
            patch.1,
            rows.min(columns).div_ceil(2)
        )));
    }
    Ok(Input { content, remarks, patch, most: args.most.unwrap_or(Source::MOST_PATCHES) })
}

fn table(args: &InputArgs) -> Result<Input, Failure> {
    let mut options = TableOptions { header: args.header, ..TableOptions::default() };
    if let Some(delimiter) = args.delimiter {
        let byte = u8::try_from(delimiter)
            .map_err(|_| Failure::input(format!("--delimiter {delimiter}: it must be a character of ASCII")))?;
        options.delimiter = Some(byte);
    }
    options.missing.extend(args.missing.iter().cloned());
    let table = read_table(&args.input, &options).map_err(Failure::input)?;
    let (mut values, mut remarks) = (table.values, table.remarks);
    for missing in args.missing.iter().filter_map(|text| text.parse::<f64>().ok()) {
        values.mapv_inplace(|value| if value == missing { f64::NAN } else { value });
    }
    let most = args.most.unwrap_or(MOST_ROWS).max(1);
    if values.nrows() > most {
        let step = values.nrows().div_ceil(most);
        remarks
            .push(format!("every {step}th of its {} rows is looked at; --most N takes more of them", values.nrows()));
        values = values.slice(ndarray::s![..;step, ..]).to_owned();
    }
    let text = !matches!(Format::of_bytes(&first_bytes(&args.input)), Some(Format::Npy | Format::Npz))
        && !args.input.to_string_lossy().contains(".npz:");
    Ok(Input { content: Content::Table { values, names: table.names, text }, remarks, patch: (1, 1), most: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_say_what_arrays_are() {
        assert_eq!(kind_of(&[256, 256]), KindArg::Image);
        assert_eq!(kind_of(&[217, 100]), KindArg::Table);
        assert_eq!(kind_of(&[2000, 16]), KindArg::Table);
        assert_eq!(kind_of(&[63, 247, 3]), KindArg::Image);
        assert_eq!(kind_of(&[1404, 20, 16]), KindArg::Table);
        assert_eq!(kind_of(&[40, 256, 256]), KindArg::Image);
        assert_eq!(kind_of(&[500]), KindArg::Table);
    }
}
