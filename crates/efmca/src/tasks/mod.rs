//! What people do with data and models: naming noise, choosing the number of causes, cleaning noisy images, making noisy ones to test with, and measuring how near
//! an estimate comes to the truth. Nothing of the model's mathematics is here.

pub mod corrupt;
pub mod denoise;
pub mod learn;
pub mod noise;
pub mod quality;
pub mod select;

pub use denoise::Estimate;
