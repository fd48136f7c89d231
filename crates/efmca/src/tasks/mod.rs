//! What people do with data and models: fitting tables, naming noise, choosing the number of causes, cleaning noisy images, making
//! noisy ones to test with, and measuring how near an estimate comes to the truth. Nothing of the model's mathematics is here.

mod blur;
mod causes;
mod combine;
pub mod corrupt;
pub mod denoise;
pub mod encode;
mod held_out;
pub mod learn;
mod merge;
pub mod noise;
pub mod quality;
pub mod select;
mod start;
mod suitable;
pub mod table;
mod watch;

pub use causes::Causes;
pub use held_out::{Difference, Source};
pub use merge::Estimate;
