//! What a model is used for: they hold none of its mathematics.

pub mod denoise;
mod merge;
mod start;

pub use merge::Estimate;
