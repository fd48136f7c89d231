//! Files for efmca: reading and writing of data and models, and nothing about how they look (that is `efmca-view`).
//!
//! | module or function | files |
//! | --- | --- |
//! | [`image_file`] | images as scientists have them: PNG, TIFF, NPY, NPZ and FITS |
//! | [`table_file`] | tables: CSV, Parquet, NPY, NPZ and sparse matrices |
//! | [`sound`] | WAV files, resampling and spectrograms |
//! | [`FileKind`] | what a file most likely holds |
//! | [`FileRows`] | rows of an NPY file that stay on the disk |
//! | [`read_model`], [`write_model`], [`ModelFile`] | trained models |
//! | [`read_checkpoint`], [`write_checkpoint`] | runs that can be resumed |
//! | [`read_camera`], [`write_camera`] | gain, offset and read noise of a camera |
//! | [`read_signs`] | what is known of causes: a CSV file of signs and zeros |
//! | [`read_views`] | groups of columns: a CSV file of columns and their views |
//! | [`KeptFolder`] | all trainings of a task, so that it can be left and resumed |
//! | [`PlaceLock`] | places that one program at a time writes to |
//! | [`available_memory`] | no file: how much memory the system still has |
//! | [`streamed`] | what comes through a pipe, and can be read only once |
//! | [`write_atomically`], [`check_place`] | a file of any kind: written completely or not at all |
//!
//! All of them fail with [`IoError`], which says what is wrong, where, and what to do about it.

mod camera_file;
mod checkpoint_file;
mod error;
mod file_kind;
mod file_rows;
pub mod image_file;
mod kept;
mod lock;
mod memory;
mod model_file;
mod signs_file;
pub mod sound;
pub mod table_file;
mod temporary;
mod views_file;
mod whole;
mod write;

pub use camera_file::{decode_camera, read_camera, write_camera};
pub use checkpoint_file::{checksum, decode_checkpoint, read_checkpoint, write_checkpoint};
pub use error::IoError;
pub use file_kind::FileKind;
pub use file_rows::FileRows;
pub use kept::{KeptFolder, KeptNews};
pub use lock::PlaceLock;
pub use memory::available_memory;
pub use model_file::{
    ColumnChange, ModelFile, ModelRows, decode_model, encode_model, read_model, read_model_file, read_model_file_with,
    write_model, write_model_file,
};
pub use signs_file::{Signs, decode_signs, read_signs};
pub use views_file::{decode_views, read_views};
pub use whole::streamed;
pub use write::{check_place, write_atomically};
