//! Learning features: dictionaries of image patches, or of any other rows (Sec. 7.2.1 and appendix C.2 of the paper).
//!
//! [`Preparation`] makes rows of images: it takes logarithms, draws patches and whitens them. [`FeatureLearner`] learns
//! from these rows, or from any other data.

mod draw;
mod learner;
mod preparation;
mod preparation_error;
mod rows;
mod whiten;

pub use draw::{Drawing, DrawnPatches};
pub use learner::{FeatureLearner, Start};
pub use preparation::{Preparation, PreparedRows, Transform};
pub use preparation_error::{ImagePixel, PreparationError};
pub use rows::{SharedRows, WhitenedRows};
pub use whiten::Whitening;
