//! Images as scientists have them: PNG, TIFF, NPY, NPZ and FITS.
//!
//! [`read`] gives the numbers of a file as they are in it, without scaling, clipping or gamma, and
//! what else the file says; [`write()`] makes a file that looks like it.
//!
//! ```
//! use efmca_io::image_file::{ReadOptions, WriteOptions, read, write};
//! use ndarray::Array4;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("picture.tif");
//! let values = Array4::from_elem((1, 4, 5, 1), 2.5);
//! write(&path, values.view(), &WriteOptions { notes: vec![("peak".into(), "2".into())], ..Default::default() })?;
//! let back = read(&path, &ReadOptions::default())?;
//! assert_eq!(back.values, values);
//! assert_eq!(back.metadata.note("peak"), Some("2"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod axes;
mod content;
pub(crate) mod fault;
mod fits;
pub(crate) mod format;
mod metadata;
mod notes;
pub(crate) mod npy;
pub(crate) mod npz;
mod png_file;
mod quantize;
mod reading;
pub(crate) mod sample_type;
mod tiff;
mod writing;

pub use axes::Axes;
pub use format::{Format, file_of};
pub use metadata::{Colour, Metadata, Resolution, ResolutionUnit};
pub use quantize::{RoundingCost, ValueScale, rounding_cost};
pub(crate) use reading::array_shape_of;
pub use reading::{ImageFile, ReadOptions, array_shape, mask_of, read, read_bytes, read_mask};
pub use sample_type::SampleType;
pub use writing::{WriteOptions, Written, check_holds, check_writable, default_sample, to_bytes, write};

#[cfg(test)]
mod damage_tests;
