//! efmca
pub mod bars;
pub mod dual;
pub mod em;
mod error;
pub mod family;
pub mod model;
pub mod posterior;
pub mod special;

pub use em::{Em, Fit, Held, Hold, Init, Schedule};
pub use error::{Error, Result};
pub use model::{Background, Model, Superposition};
