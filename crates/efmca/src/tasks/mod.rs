//! What people do with data and models: fitting tables, naming noise, choosing the number of causes, cleaning noisy images, making
//! noisy ones to test with, measuring how near an estimate comes to the truth, and judging residuals. Nothing of the model's mathematics is here.

mod apart;
pub mod camera;
mod causes;
pub mod corrupt;
pub mod denoise;
pub mod encode;
mod held_out;
pub mod impute;
pub mod learn;
pub mod noise;
pub mod overview;
pub mod quality;
pub mod residual;
pub mod select;
pub mod table;
mod uniformity;
mod watch;

pub use causes::Causes;
pub use denoise::Estimate;
pub use held_out::{Difference, Source};
