//! What people do with images: making noisy ones to test with, and measuring how near an estimate comes to the truth.

pub mod corrupt;
pub mod quality;
