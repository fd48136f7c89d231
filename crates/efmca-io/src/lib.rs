//! Files and drawings for efmca: images as scientists have them ([`image_file`]), tables ([`table_file`]), sounds and
//! their spectrograms ([`sound`]), pictures of learned causes ([`mosaic`], [`Dictionary`]) and of how they
//! encode data ([`encodings`]), drawings in a terminal, figures, reports, model files, and
//! writing files so that a reader never sees half of one.

mod checkpoint_file;
mod dictionary;
mod drawing;
mod encoding;
mod error;
mod field;
mod figure;
mod gallery;
pub mod image_file;
mod mapped_rows;
mod markup;
mod model_file;
mod picture;
mod report;
pub mod sound;
pub mod table_file;
mod terminal;
mod write;

pub use checkpoint_file::{read_checkpoint, write_checkpoint};
pub use dictionary::Dictionary;
pub use drawing::Drawing;
pub use encoding::{ActiveCause, Encoding, encodings};
pub use error::IoError;
pub use field::Field;
pub use figure::{Annotation, Figure, LegendPlace, Line, Points, Reference, Rgb, draw_panels, panels};
pub use gallery::Gallery;
pub use mapped_rows::MappedRows;
pub use model_file::{ModelFile, read_model, read_model_file, write_model, write_model_file};
pub use picture::{Colours, Picture, Scale, common_range, mosaic};
pub use report::{CaptionedPicture, Report, ReportSection, ReportTable, causes_mosaic};
pub use terminal::fields_as_text;
pub use write::write_atomically;
