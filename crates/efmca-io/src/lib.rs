//! Files and drawings for efmca: pictures of learned causes, drawings in a terminal, figures, and
//! writing files so that a reader never sees half of one.

mod error;
mod figure;
mod picture;
mod terminal;
mod write;

pub use error::IoError;
pub use figure::{Annotation, Figure, LegendPlace, Line, Points, Reference, Rgb, panels};
pub use picture::{Colours, Picture, Scale, mosaic};
pub use terminal::fields_as_text;
pub use write::write_atomically;
