//! Pictures of data and models for efmca: figures, dictionaries of learned causes, encodings, galleries and reports.
//! Files of data and models are in `efmca-io`.
//!
//! From the bottom to the top:
//!
//! | item | what it is |
//! | --- | --- |
//! | [`Colours`], [`Scale`] | how values become colours |
//! | [`Field`] | the values of a cause or a patch, in one or three channels |
//! | [`Picture`] | red, green and blue bytes, and PNG |
//! | [`Drawing`] | shapes, texts and pictures on a page, as SVG and PNG |
//! | [`Figure`] | curves and points over a pair of axes |
//! | [`Matrix`] | a table of numbers as colours, with names |
//! | [`Dictionary`] | all causes of a model as tiles, with or without labels |
//! | [`encodings`] | data points, their active causes, and the two combined |
//! | [`Report`] | a page of HTML in a single file |
//! | [`Gallery`] | all pictures of a training run |
//! | [`fields_as_text`] | fields in a terminal |
//!
//! All of them fail with [`ViewError`]; where a file could not be written, it holds the error of `efmca-io`.

mod colours;
mod dictionary;
mod drawing;
mod encoding;
mod error;
mod field;
mod figure;
mod gallery;
mod markup;
mod matrix;
mod picture;
mod report;
mod terminal;

pub use colours::{Colours, Scale};
pub use dictionary::Dictionary;
pub use drawing::{Drawing, Rgb};
pub use encoding::{ActiveCause, Encoding, encodings};
pub use error::ViewError;
pub use field::Field;
pub use figure::{Annotation, Disc, Figure, LegendPlace, Line, Marks, Points, Reference, Stroke, draw_panels, panels};
pub use gallery::Gallery;
pub use matrix::Matrix;
pub use picture::{Picture, common_range, most_changed};
pub use report::{CaptionedPicture, Report, ReportSection, ReportTable};
pub use terminal::fields_as_text;
