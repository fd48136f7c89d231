//! What people do with data and models: naming noise, choosing the number of causes, cleaning noisy images, making noisy ones to test with, and measuring how near
//! an estimate comes to the truth. Nothing of the model's mathematics is here.

mod blur;
mod combine;
pub mod corrupt;
pub mod denoise;
pub mod encode;
pub mod learn;
mod merge;
pub mod noise;
pub mod quality;
pub mod select;
mod start;
mod suitable;

pub use merge::Estimate;
