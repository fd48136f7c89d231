//! The data of `efmca noise-type` and `efmca select`: images, sounds and tables.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use efmca::tasks::noise::Source;
use efmca::tasks::table::{every_row, search_step};
use efmca_io::image_file::{Axes, ImageFile, ReadOptions, read, read_bytes};
use efmca_io::sound::{read_wav, read_wav_bytes};
use efmca_io::table_file::{Table, TableOptions, read_table, read_table_bytes};
use efmca_io::{FileKind, streamed};
use ndarray::{Array4, Axis, s};

use crate::args::common::{TableArgs, mark_missing, patch_size};
use crate::errors::{Origin, TableOrigin};
use crate::failure::Failure;

/// The data.
#[derive(Debug, clap::Args)]
pub(crate) struct InputArgs {
    /// An image (PNG, TIFF, FITS, NPY, NPZ), a sound (WAV), or a table (CSV, Parquet, NPY, NPZ with file.npz:name).
    #[arg(value_name = "INPUT")]
    pub(crate) input: PathBuf,
    /// Kind of INPUT; for arrays it is guessed from the shape otherwise.
    #[arg(long = "as", value_enum, value_name = "KIND")]
    kind: Option<KindArg>,
    /// Axes of an array that is an image, slowest first: p pages, y rows, x columns, c channels.
    #[arg(long, value_name = "LETTERS")]
    axes: Option<Axes>,
    #[command(flatten)]
    table: TableArgs,
    /// Rows and columns of a patch of images and spectrograms, such as 8 or 12x12.
    #[arg(long, value_name = "SIZE", value_parser = patch_size, default_value = "8")]
    patch: (usize, usize),
    /// Number of patches or rows to learn from, at the most; they are evenly spread.
    #[arg(long, value_name = "N")]
    most: Option<usize>,
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindArg {
    /// Pixels that belong together by where they are.
    Image,
    /// A row for each data point.
    Table,
    /// A sound, whose amplitude spectrogram is looked at.
    Sound,
}

/// Data that were read.
pub(crate) struct Input<'a> {
    args: &'a InputArgs,
    pub(crate) content: Content,
    /// Decisions that the user should know about.
    pub(crate) remarks: Vec<String>,
}

/// The content of a file.
pub(crate) enum Content {
    /// Pages, rows, columns and channels.
    Images(Array4<f64>),
    /// The spectrogram as one page.
    Sound(Array4<f64>),
    /// A table.
    Table(TableContent),
}

/// A table, of which every `step`-th row was kept.
pub(crate) struct TableContent {
    pub(crate) table: Table,
    labels: Vec<Option<Vec<String>>>,
    step: usize,
    /// Whether it was a text file, whose columns differ in kind more often than those of arrays.
    pub(crate) is_text: bool,
}

impl<'a> Input<'a> {
    /// Reads the file.
    pub(crate) fn read(args: &'a InputArgs) -> Result<Self, Failure> {
        // a pipe can be read once
        let streamed = streamed(&args.input).map_err(Failure::input)?;
        let bytes = streamed.as_deref();
        let found = bytes.map_or_else(|| FileKind::of(&args.input), |bytes| FileKind::of_bytes(bytes, &args.input));
        let is_text = found.0 == FileKind::Text;
        let (kind, remark) = args.kind.map_or_else(|| guess(args, found), |kind| (kind, None));
        let (content, mut remarks) = match kind {
            KindArg::Image => images(args, bytes)?,
            KindArg::Sound => sound(args, bytes)?,
            KindArg::Table => table(args, bytes, is_text)?,
        };
        remarks.extend(remark);
        let input = Self { args, content, remarks };
        input.check_patch()?;
        Ok(input)
    }

    pub(crate) fn path(&self) -> &'a Path {
        &self.args.input
    }

    /// The data as the library takes it.
    pub(crate) fn source(&self) -> Source<'_> {
        match &self.content {
            Content::Images(pixels) | Content::Sound(pixels) => {
                Source::images(pixels.view(), self.args.patch, self.args.most.unwrap_or(Source::MOST_PATCHES))
            }
            Content::Table(content) => Source::Table(content.table.values.view()),
        }
    }

    /// The data, for errors about its values.
    pub(crate) fn origin(&self) -> Origin<'_> {
        let path = self.path();
        match &self.content {
            Content::Images(_) | Content::Sound(_) => Origin::Patches { path: Some(path), size: self.args.patch },
            Content::Table(TableContent { table, labels, step, .. }) => {
                Origin::Table(TableOrigin { path, names: &table.names, labels, step: *step, learning: true })
            }
        }
    }

    /// The data in a few words.
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
            Content::Table(TableContent { table, .. }) => {
                format!("table of {} rows x {} columns", table.values.nrows(), table.values.ncols())
            }
        }
    }

    /// Finds out whether an image is as large as a patch.
    fn check_patch(&self) -> Result<(), Failure> {
        let (Content::Images(pixels) | Content::Sound(pixels)) = &self.content else { return Ok(()) };
        let ((_, rows, columns, _), patch) = (pixels.dim(), self.args.patch);
        if patch.0 <= rows && patch.1 <= columns {
            return Ok(());
        }
        Err(Failure::input(format!(
            "{}: it has {rows} x {columns} pixels, which is less than a patch of {} x {}; choose --patch {}",
            self.args.input.display(),
            patch.0,
            patch.1,
            rows.min(columns).div_ceil(2)
        )))
    }
}

/// The kind that a file seems to be, and a remark where that is not certain.
fn guess(args: &InputArgs, (kind, shape): (FileKind, Option<Vec<usize>>)) -> (KindArg, Option<String>) {
    let guess = match kind {
        FileKind::Sound => KindArg::Sound,
        FileKind::Image => KindArg::Image,
        FileKind::Array if args.axes.is_some() => return (KindArg::Image, None),
        FileKind::Array | FileKind::Text => KindArg::Table,
    };
    let (what, other) = if guess == KindArg::Image { ("an image", "table") } else { ("a table", "image") };
    let remark = |shape| format!("an array of shape {shape:?} is taken for {what}; --as {other} reads it as the other");
    (guess, shape.filter(|_| args.axes.is_none()).map(remark))
}

fn images(args: &InputArgs, bytes: Option<&[u8]>) -> Result<(Content, Vec<String>), Failure> {
    let number = |text: &String| {
        text.parse::<f64>()
            .map_err(|_| Failure::input(format!("--missing {text}: for an image give the value of missing pixels")))
    };
    let missing = args.table.missing.iter().map(number).collect::<Result<Vec<f64>, Failure>>()?;
    let options = ReadOptions { axes: args.axes.clone(), ..ReadOptions::default() };
    let path = &args.input;
    let image = bytes.map_or_else(|| read(path, &options), |bytes| read_bytes(bytes, path, &options));
    let ImageFile { mut values, remarks, .. } = image.map_err(Failure::input)?;
    mark_missing(&mut values, missing);
    Ok((Content::Images(values), remarks))
}

fn sound(args: &InputArgs, bytes: Option<&[u8]>) -> Result<(Content, Vec<String>), Failure> {
    let path = &args.input;
    let sound = bytes.map_or_else(|| read_wav(path), |bytes| read_wav_bytes(bytes, path)).map_err(Failure::input)?;
    let (amplitudes, remarks) = sound.recorded_amplitudes().map_err(Failure::input)?;
    Ok((Content::Sound(amplitudes.insert_axis(Axis(0)).insert_axis(Axis(3))), remarks))
}

fn table(args: &InputArgs, bytes: Option<&[u8]>, is_text: bool) -> Result<(Content, Vec<String>), Failure> {
    let options = TableOptions { keep_rows: true, ..args.table.options() };
    let path = &args.input;
    let table = bytes.map_or_else(|| read_table(path, &options), |bytes| read_table_bytes(bytes, path, &options));
    let mut table = table.map_err(Failure::input)?;
    let mut remarks: Vec<String> = table.remarks.iter().map(ToString::to_string).collect();
    let rows = table.data().n();
    let mut step = Source::row_step(rows, args.most.unwrap_or(Source::MOST_ROWS));
    match table.rows.take() {
        // sparse rows, and those of files larger than memory: only the ones that are looked at are made whole
        Some(kept) => {
            if args.most.is_none() {
                step = step.max(search_step(kept.data()));
            }
            table.values = every_row(kept.data(), step);
        }
        None if step > 1 => table.values = table.values.slice(s![..;step, ..]).to_owned(),
        None => {}
    }
    if step > 1 {
        remarks.push(format!("every {step}th of its {rows} rows is looked at; --most N takes more of them"));
    }
    let labels = table.labels();
    Ok((Content::Table(TableContent { table, labels, step, is_text }), remarks))
}
