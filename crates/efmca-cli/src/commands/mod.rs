//! The commands, a file or a folder each.

pub(crate) mod bars;
pub(crate) mod calibrate;
pub(crate) mod corrupt;
pub(crate) mod demo;
pub(crate) mod denoise;
pub(crate) mod families;
pub(crate) mod fit;
pub(crate) mod impute;
pub(crate) mod info;
pub(crate) mod learn;
pub(crate) mod noise_type;
pub(crate) mod report;
pub(crate) mod rows;
pub(crate) mod sample;
pub(crate) mod select;
pub(crate) mod views;
