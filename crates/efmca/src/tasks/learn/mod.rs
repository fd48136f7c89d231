//! Learning features: dictionaries of image patches, or of any other rows (Sec. 7.2.1 and appendix C.2 of the paper).

mod draw;
mod learner;
mod rows;
mod whiten;

pub use draw::DrawnPatches;
pub use learner::{FeatureLearner, Start};
pub use rows::SharedRows;
pub use whiten::Whitening;
