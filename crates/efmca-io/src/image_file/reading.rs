//! Reading images and masks.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use ndarray::{Array3, Array4, Axis};

use super::axes::Axes;
use super::content::Decoded;
use super::fault::{Fault, TOO_LARGE};
use super::format::{Format, Location};
use super::metadata::{Colour, Metadata};
use super::{fits, npy, npz, png_file, tiff};
use crate::IoError;
use crate::error::hint_for_reading;
use crate::whole::unchanged;

/// More bytes than the header of an array may have.
const LONGEST_HEADER: u64 = 65 << 10;

/// How a file is read.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// The axes of the array. By default those that the format names; where it does not (NPY and
    /// NPZ), two axes are rows and columns, a last axis of 3 is colour, one of 4 is colour with
    /// alpha, and other axes before rows and columns are pages. In FITS all axes before rows and
    /// columns are pages.
    pub axes: Option<Axes>,
    /// The largest number of bytes for a file, and for its values as doubles; 4 GiB by default. A
    /// header that promises more is an error and takes no memory. On the way the file, its unpacked
    /// bytes and a second copy of the values may be in memory, too.
    pub memory_limit: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { axes: None, memory_limit: 4 << 30 }
    }
}

/// An image that was read.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ImageFile {
    /// The numbers of the file by page, row, column and channel, as they are in it; alpha is left
    /// out and stands in the metadata. Undefined pixels (BLANK in FITS) are NaN.
    pub values: Array4<f64>,
    /// The metadata of the file.
    pub metadata: Metadata,
    /// Notes for the user: parts of the file that were left out, digits that were lost.
    pub remarks: Vec<String>,
}

/// Reads an image; the content of the file decides on its format, not its name.
///
/// `file.npz:name` is the array `name` of an NPZ file. Files packed with gzip are unpacked.
///
/// # Errors
///
/// [`IoError::Read`] if the file cannot be read, [`IoError::NotAnImage`] if it is damaged, cut short,
/// of a kind that is not known, or needs too much memory.
pub fn read(path: &Path, options: &ReadOptions) -> Result<ImageFile, IoError> {
    let location = Location::of(path);
    let bytes = bytes_of(&location.file, options.memory_limit)?;
    decode(&bytes, location.array.as_deref(), options).map_err(|fault| fault.when_reading(path))
}

/// The same for a file that is in memory already. `path` is what messages call it, and may name an array as `file.npz:name`.
///
/// # Errors
///
/// [`IoError::NotAnImage`] as [`read`].
pub fn read_bytes(bytes: &[u8], path: &Path, options: &ReadOptions) -> Result<ImageFile, IoError> {
    decode(bytes, Location::of(path).array.as_deref(), options).map_err(|fault| fault.when_reading(path))
}

/// The shape of the array in an NPY or NPZ file, if it can be an image whose axes need not be named. Only the header is
/// read; what is wrong with a file is said by [`read`].
pub fn array_shape(path: &Path) -> Option<Vec<usize>> {
    array_shape_of(File::open(Location::of(path).file).ok()?, path)
}

/// The same for a file that is open; `path` may name one of its arrays.
pub(crate) fn array_shape_of(mut file: impl Read + Seek, path: &Path) -> Option<Vec<usize>> {
    let mut head = Vec::new();
    file.by_ref().take(LONGEST_HEADER).read_to_end(&mut head).ok()?;
    if Format::of_bytes(&head)? == Format::Npz {
        head = npz::head(file, Location::of(path).array.as_deref(), LONGEST_HEADER)?;
    }
    let header = npy::Header::of(&head).ok()?;
    (header.sample().is_ok() && Axes::guess(&header.shape).is_ok()).then_some(header.shape)
}

/// Reads a mask from an image of any format: pixels that are not 0 are missing (`true`).
///
/// `shape` is (pages, rows, columns) of the image that the mask belongs to. A mask of one page is
/// for all pages. With several channels a pixel is missing if one of them is not 0; alpha is left
/// out.
///
/// # Errors
///
/// As [`read`], and [`IoError::ImageSize`] if the sizes differ.
pub fn read_mask(path: &Path, shape: (usize, usize, usize), options: &ReadOptions) -> Result<Array3<bool>, IoError> {
    mask_of(&read(path, options)?, path, shape)
}

/// The mask in an image that was read from `path`, for an image of `shape`; see [`read_mask`].
///
/// # Errors
///
/// [`IoError::ImageSize`] if the sizes differ.
pub fn mask_of(image: &ImageFile, path: &Path, shape: (usize, usize, usize)) -> Result<Array3<bool>, IoError> {
    let values = &image.values;
    let (pages, rows, columns, _) = values.dim();
    let (needed_pages, needed_rows, needed_columns) = shape;
    if (rows, columns) != (needed_rows, needed_columns) || (pages != 1 && pages != needed_pages) {
        let found = (pages, rows, columns);
        return Err(IoError::ImageSize { path: path.to_path_buf(), found, needed: shape });
    }
    let missing = values.map_axis(Axis(3), |pixel| pixel.iter().any(|value| *value != 0.0));
    Ok(Array3::from_shape_fn(shape, |(page, row, column)| missing[[page.min(pages - 1), row, column]]))
}

/// The bytes of a file, unless there are more than `limit`.
fn bytes_of(path: &Path, limit: u64) -> Result<Vec<u8>, IoError> {
    let failed =
        |source: std::io::Error| IoError::Read { path: path.to_path_buf(), hint: hint_for_reading(&source), source };
    let file = File::open(path).map_err(failed)?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(failed(ErrorKind::IsADirectory.into()));
    }
    let bytes = unchanged(&file, path, || all_of(&file, limit).map_err(failed))?;
    bytes.ok_or_else(|| too_large(limit).when_reading(path))
}

fn too_large(limit: u64) -> Fault {
    Fault::new(format!("it has more than the {limit} bytes allowed"), TOO_LARGE)
}

/// All bytes, or nothing if there are more than `limit`.
fn all_of(source: impl Read, limit: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    source.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// The image in the bytes of a file.
pub(crate) fn decode(bytes: &[u8], array: Option<&str>, options: &ReadOptions) -> Result<ImageFile, Fault> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let unpacked = all_of(MultiGzDecoder::new(bytes), options.memory_limit)
            .map_err(|error| Fault::damaged(format!("it is packed with gzip and cannot be unpacked ({error})")))?;
        let unpacked =
            unpacked.ok_or_else(|| too_large(options.memory_limit).at("it is packed with gzip, and unpacked"))?;
        // A gzip file inside a gzip file is not unpacked further: it would be no image anyone has.
        return arrange(decode_plain(&unpacked, array, options)?, options);
    }
    arrange(decode_plain(bytes, array, options)?, options)
}

fn decode_plain(bytes: &[u8], array: Option<&str>, options: &ReadOptions) -> Result<Decoded, Fault> {
    let limit = options.memory_limit;
    let format = Format::of_bytes(bytes).ok_or_else(|| unknown(bytes))?;
    match format {
        Format::Png => png_file::read(bytes, limit),
        Format::Tiff => tiff::read(bytes, limit),
        Format::Npy => npy::read(bytes, limit),
        Format::Npz => npz::read(bytes, array, limit),
        Format::Fits => fits::read(bytes, limit),
    }
}

/// The message about a file of none of our formats.
fn unknown(bytes: &[u8]) -> Fault {
    const KINDS: [(&[u8], &str); 6] = [
        (b"\xff\xd8\xff", "it is a JPEG file, whose compression has changed the noise"),
        (b"GIF8", "it is a GIF file"),
        (b"BM", "it seems to be a BMP file"),
        (b"\x89HDF\r\n", "it is an HDF5 file"),
        (b"P5", "it seems to be a PGM file"),
        (b"P6", "it seems to be a PPM file"),
    ];
    if bytes.is_empty() {
        return Fault::damaged("it is empty");
    }
    let kind = KINDS.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, kind)| *kind);
    Fault::new(
        kind.unwrap_or("its first bytes are those of no format that is known"),
        "give a PNG, TIFF, NPY, NPZ or FITS file",
    )
}

/// Puts the axes of a file in our order.
fn arrange(decoded: Decoded, options: &ReadOptions) -> Result<ImageFile, Fault> {
    let Decoded { array, axes, colour, mut metadata, mut remarks } = decoded;
    let shape = array.shape().to_vec();
    let said = options.axes.is_none() && axes.is_some();
    let axes = match options.axes.clone().or(axes) {
        Some(axes) => axes,
        None => {
            let guess = Axes::guess(&shape)?;
            if guess.has_alpha() {
                remarks.push(format!(
                    "its shape is {shape:?}, and the last axis is taken for red, green, blue and alpha; give the axes \
                     with c if these are four channels"
                ));
            }
            guess
        }
    };
    let (values, alpha) = axes.arrange(array)?;
    let channels = values.dim().3;
    metadata.colour = colour.filter(|_| said).unwrap_or(Colour::of_channels(channels));
    metadata.alpha = alpha;
    metadata.axes = axes;
    metadata.shape = shape;
    Ok(ImageFile { values, metadata, remarks })
}
