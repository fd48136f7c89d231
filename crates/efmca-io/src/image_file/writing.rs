//! Writing images, and finding out beforehand whether that will work.

use std::path::{Path, PathBuf};

use ndarray::{Array4, ArrayView4, Axis, concatenate};

use super::content::Content;
use super::fault::Fault;
use super::format::{Format, Location};
use super::metadata::{Colour, Metadata};
use super::quantize::{Quantized, RoundingCost, ValueScale, quantize};
use super::sample_type::SampleType;
use super::{fits, notes, npy, npz, png_file, tiff};
use crate::{IoError, check_place, write_atomically};

/// How a file is written.
#[derive(Debug, Clone, Default)]
pub struct WriteOptions<'a> {
    /// The type of the numbers; [`default_sample`] if it is not given.
    pub dtype: Option<SampleType>,
    /// A file to look like: its axes, colours, alpha, resolution and header are carried over as far
    /// as they stay true and the format has a place for them.
    pub like: Option<&'a Metadata>,
    /// Keys and values to store beside the numbers. They are marked with `efmca:` in the file and
    /// stand in [`Metadata::notes`] when it is read.
    pub notes: Vec<(String, String)>,
    /// The change of values before they are stored. FITS keeps it as BSCALE and BZERO, so that a
    /// reader undoes it; the other formats as the notes `scale-factor` and `scale-offset`.
    pub scale: Option<ValueScale>,
    /// Whether a file that is there may be replaced.
    pub force: bool,
}

/// A file that was written.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Written {
    /// The file.
    pub path: PathBuf,
    /// Its format.
    pub format: Format,
    /// The type of its numbers.
    pub sample: SampleType,
    /// How many values were beyond the range of the type and became its end; only with a scale.
    pub clipped: usize,
    /// How many values were changed by rounding.
    pub rounded: usize,
    /// The root of the mean square change by rounding, in units of the values.
    pub rounding_rms: f64,
    /// Whether the notes are in the file; NPY has no place for them.
    pub notes_kept: bool,
    /// Notes for the user: parts of the metadata that have no place in the format or are no
    /// longer true.
    pub remarks: Vec<String>,
}

/// The type of number that [`write()`] chooses: for PNG that of the file to look like if PNG has it,
/// else 16 bits; for the other formats f64 if that file has it, else f32.
pub fn default_sample(format: Format, like: Option<&Metadata>) -> SampleType {
    use SampleType::{Bool, F32, F64, U1, U2, U4, U8, U16};
    match (format, like.map(|like| like.sample)) {
        (Format::Png, Some(Bool)) => U1,
        (Format::Png, Some(sample @ (U1 | U2 | U4))) => {
            // PNG has fewer than 8 bits for grey without alpha only.
            let plain = like.is_some_and(|like| like.colour == Colour::Grey && like.alpha.is_none());
            if plain { sample } else { U8 }
        }
        (Format::Png, Some(U8)) => U8,
        (Format::Png, _) => U16,
        (_, Some(F64)) => F64,
        _ => F32,
    }
}

/// Writes values by page, row, column and channel; the name of the file decides on the format.
///
/// The file is made in the same folder under another name and then renamed, so that it is there as
/// a whole or not at all. Fractions are rounded to the nearest whole number (halves to even) where
/// the type has none; nothing is clipped unless there is a scale, and then it is counted.
///
/// # Errors
///
/// As [`check_writable`] and [`check_holds`], [`IoError::Unstorable`] if a value has no place in the
/// type, and [`IoError::ImageSize`] if `like` has alpha of another size.
pub fn write(path: &Path, values: ArrayView4<f64>, options: &WriteOptions<'_>) -> Result<Written, IoError> {
    check_writable(path, options.force)?;
    let (bytes, written) = to_bytes(path, values, options)?;
    write_atomically(&written.path, &bytes)?;
    Ok(written)
}

/// The bytes of the file that [`write()`] would make, for those who keep them elsewhere; the name of `path` decides on the format.
///
/// # Errors
///
/// As [`write()`], but for what concerns the place of the file.
pub fn to_bytes(
    path: &Path,
    values: ArrayView4<f64>,
    options: &WriteOptions<'_>,
) -> Result<(Vec<u8>, Written), IoError> {
    let location = Location::of(path);
    check_holds(path, values.dim(), options)?;
    let format = location.format_to_write()?;
    let sample = options.dtype.unwrap_or_else(|| default_sample(format, options.like));
    let Quantized { stored, cost } = quantize(&location.file, values, sample, options.scale)?;
    let alpha = alpha_for(&location.file, values.dim(), sample, options.like)?;
    let mut notes = notes::checked(&options.notes).map_err(|fault| fault.when_writing(path))?;
    if let Some(scale) = options.scale.filter(|_| format != Format::Fits) {
        notes.retain(|(key, _)| key != "scale-factor" && key != "scale-offset");
        notes.push(("scale-factor".to_owned(), scale.factor.to_string()));
        notes.push(("scale-offset".to_owned(), scale.offset.to_string()));
    }
    let (pages, rows, columns, channels) = values.dim();
    let shape = options.like.map(like_size);
    let content = Content {
        has_alpha: alpha.is_some(),
        stored: match alpha {
            Some(alpha) => concatenate![Axis(3), stored, alpha],
            None => stored,
        },
        sample,
        colour: options
            .like
            .map(|like| like.colour)
            .filter(|colour| fits_colour(*colour, channels))
            .unwrap_or(Colour::of_channels(channels)),
        scale: options.scale,
        notes,
        like: options.like,
        same_size: shape == Some((pages, rows, columns)),
        array: location.array.clone().or_else(|| options.like.and_then(|like| like.array.clone())),
    };
    let mut remarks = Vec::new();
    let bytes = encode(format, &content, &mut remarks).map_err(|fault| fault.when_writing(path))?;
    let RoundingCost { rms, rounded, out_of_range, .. } = cost;
    let notes_kept = content.notes.is_empty() || format != Format::Npy;
    if !notes_kept {
        remarks.push("NPY has no place for notes, and they were left out; NPZ has one".to_owned());
    }
    let path = location.file;
    let (clipped, rounding_rms) = (out_of_range, rms);
    Ok((bytes, Written { path, format, sample, clipped, rounded, rounding_rms, notes_kept, remarks }))
}

fn encode(format: Format, content: &Content<'_>, remarks: &mut Vec<String>) -> Result<Vec<u8>, Fault> {
    if let Some(like) = content.like.filter(|like| like.format != format) {
        if !like.cards.is_empty() {
            remarks.push(format!("{format} has no place for the header of the FITS file, and it was left out"));
        }
        if !like.text.is_empty() && !matches!(format, Format::Png | Format::Tiff) {
            remarks
                .push(format!("{format} has no place for the text in the {} file, and it was left out", like.format));
        }
    }
    match format {
        Format::Png => png_file::write(content),
        Format::Tiff => tiff::write(content, remarks),
        Format::Npy => npy::write(content),
        Format::Npz => npz::write(content),
        Format::Fits => fits::write(content, remarks),
    }
}

/// Finds out whether a file can be written before hours are spent on its content: whether its name
/// says a format, whether it is there already, and whether its folder can be written.
///
/// # Errors
///
/// [`IoError::UnknownExtension`], [`IoError::Exists`] unless `force`, and [`IoError::Write`] or
/// [`IoError::CreateFolder`] if there cannot be such a file.
pub fn check_writable(path: &Path, force: bool) -> Result<(), IoError> {
    let location = Location::of(path);
    location.format_to_write()?;
    check_place(&location.file, force)
}

/// Finds out whether the format of a file has a place for an image of this shape (pages, rows,
/// columns, channels) in the type that was chosen.
///
/// # Errors
///
/// [`IoError::UnknownExtension`] and [`IoError::CannotHold`].
pub fn check_holds(
    path: &Path,
    shape: (usize, usize, usize, usize),
    options: &WriteOptions<'_>,
) -> Result<(), IoError> {
    use SampleType::{Bool, F16, U1, U2, U4, U8, U16};
    let format = Location::of(path).format_to_write()?;
    let refuse = |problem: String, hint: &'static str| Err(Fault::new(problem, hint).when_writing(path));
    let (pages, rows, columns, channels) = shape;
    if pages == 0 || rows == 0 || columns == 0 || channels == 0 {
        return refuse(
            format!("it has {pages} pages of {rows} x {columns} pixels with {channels} channels"),
            "give at least one of each",
        );
    }
    let sample = options.dtype.unwrap_or_else(|| default_sample(format, options.like));
    let small = matches!(sample, U1 | U2 | U4);
    let alpha = options.like.is_some_and(|like| like.alpha.is_some());
    let held = match format {
        Format::Png => small || matches!(sample, U8 | U16),
        Format::Tiff | Format::Fits => !small && !matches!(sample, Bool | F16),
        Format::Npy | Format::Npz => !small && sample != F16,
    };
    if !held {
        let hint = match format {
            Format::Png => "use u8 or u16, or a TIFF file",
            _ => "use u8, u16, f32 or f64",
        };
        return refuse(format!("{format} does not hold numbers of type {sample} here"), hint);
    }
    if format == Format::Png {
        if pages != 1 {
            return refuse(
                format!("PNG holds one page, and there are {pages}"),
                "use TIFF, NPY or FITS, or write a file for each page",
            );
        }
        if channels != 1 && channels != 3 {
            return refuse(
                format!("PNG holds grey or red, green and blue, and there are {channels} channels"),
                "use TIFF, NPY or FITS",
            );
        }
        if small && (channels != 1 || alpha) {
            return refuse(format!("PNG holds {sample} for grey without alpha only"), "use u8");
        }
    }
    if matches!(format, Format::Png | Format::Tiff) && [rows, columns].iter().any(|side| *side > i32::MAX as usize) {
        return refuse(format!("{rows} x {columns} pixels are more than {format} counts"), "use NPY or FITS");
    }
    if format == Format::Tiff && channels >= usize::from(u16::MAX) {
        return refuse(format!("TIFF holds up to 65534 channels, and there are {channels}"), "use NPY or FITS");
    }
    Ok(())
}

/// Pages, rows and columns of the file that these metadata are from.
fn like_size(like: &Metadata) -> (usize, usize, usize) {
    let letters = like.axes.to_string();
    let extent = |wanted: char| {
        letters.chars().zip(&like.shape).filter(|(letter, _)| *letter == wanted).map(|(_, extent)| *extent).product()
    };
    (extent('p'), extent('y'), extent('x'))
}

fn fits_colour(colour: Colour, channels: usize) -> bool {
    match colour {
        Colour::Grey => channels == 1,
        Colour::Rgb => channels == 3,
        Colour::Channels => true,
    }
}

/// Alpha of the file to look like, as numbers of the type that is written.
fn alpha_for(
    path: &Path,
    shape: (usize, usize, usize, usize),
    sample: SampleType,
    like: Option<&Metadata>,
) -> Result<Option<Array4<f64>>, IoError> {
    let Some((like, alpha)) = like.and_then(|like| like.alpha.as_ref().map(|alpha| (like, alpha))) else {
        return Ok(None);
    };
    let needed = (shape.0, shape.1, shape.2);
    if alpha.dim() != needed {
        return Err(IoError::ImageSize { path: path.to_path_buf(), found: needed, needed: alpha.dim() });
    }
    let (low, high) = sample.range();
    // Opaque is the largest whole number, so that another number of bits needs another number;
    // where numbers have fractions, there is no rule, and alpha stays as it is.
    let factor = match (like.sample.is_float(), sample.is_float()) {
        (false, false) => high / like.sample.range().1,
        (true, false) if alpha.iter().all(|value| (0.0..=1.0).contains(value)) => high,
        _ => 1.0,
    };
    let number = |value: &f64| match sample.is_float() {
        true => *value,
        false if value.is_nan() => low,
        false => (value * factor).round_ties_even().clamp(low, high),
    };
    Ok(Some(alpha.map(number).insert_axis(Axis(3))))
}
