//! What efmca does with arbitrary bytes: everything that reads from outside, as functions that must end for any input.
//!
//! A body returns if the bytes gave a result or an error that says something, and panics if a promise is broken: a panic of the
//! library, an error without words, numbers that change when they are written and read again, a parameter that is NaN. The
//! programs in `fuzz/` give bodies to libFuzzer, and `tests/replay.rs` gives them all files that are kept, so that both do the
//! same.

mod choices;
mod images;
mod models;
mod numbers;
mod sounds;
mod tables;
mod texts;
mod training;

pub use choices::Choices;
pub use models::{join_safetensors, split_safetensors};
pub use tables::join_arrays;

/// One thing that is tried with arbitrary bytes.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, which is that of its folders and of its program in `fuzz/`.
    pub name: &'static str,
    /// Tries it.
    pub run: fn(&[u8]),
    /// The longest input that is worth its time.
    pub longest: usize,
    /// What it is, for people.
    pub about: &'static str,
}

/// Each target by itself: a program that names one of them has the code of that one only, and a fuzzer that looks at a tenth of the
/// edges after each execution does several times as many.
pub mod one {
    use super::{Target, images, models, numbers, sounds, tables, texts, training};

    /// PNG images: read, written and read again.
    pub const PNG: Target =
        Target { name: "png", run: images::png, longest: 2048, about: "PNG images: read, written and read again" };
    /// TIFF images: read, written and read again.
    pub const TIFF: Target =
        Target { name: "tiff", run: images::tiff, longest: 4096, about: "TIFF images: read, written and read again" };
    /// FITS images: read, written and read again.
    pub const FITS: Target =
        Target { name: "fits", run: images::fits, longest: 8640, about: "FITS images: read, written and read again" };
    /// NPY arrays as images, tables and mapped rows.
    pub const NPY: Target =
        Target { name: "npy", run: images::npy, longest: 1024, about: "NPY arrays as images, tables and mapped rows" };
    /// NPZ archives as images and tables.
    pub const NPZ: Target =
        Target { name: "npz", run: images::npz, longest: 2048, about: "NPZ archives as images and tables" };
    /// Files packed with gzip, as images and tables.
    pub const GZIP: Target = Target {
        name: "gzip",
        run: images::gzip,
        longest: 2048,
        about: "files packed with gzip, as images and tables",
    };
    /// The options for axes and masks, with an array.
    pub const AXES: Target = Target {
        name: "axes",
        run: images::axes,
        longest: 128,
        about: "the options for axes and masks, with an array",
    };
    /// WAV sounds: read, cut, resampled, transformed.
    pub const WAV: Target =
        Target { name: "wav", run: sounds::wav, longest: 2048, about: "WAV sounds: read, cut, resampled, transformed" };
    /// CSV tables with all options: read, written, read again.
    pub const CSV: Target = Target {
        name: "csv",
        run: tables::csv,
        longest: 1024,
        about: "CSV tables with all options: read, written, read again",
    };
    /// Parquet tables.
    pub const PARQUET: Target =
        Target { name: "parquet", run: tables::parquet, longest: 4096, about: "Parquet tables" };
    /// Sparse matrices of SciPy, from arrays that fit less and less.
    pub const CSR: Target = Target {
        name: "csr",
        run: tables::csr,
        longest: 1024,
        about: "sparse matrices of SciPy, from arrays that fit less and less",
    };
    /// Files of signs (constraints).
    pub const SIGNS: Target =
        Target { name: "signs", run: texts::signs, longest: 512, about: "files of signs (constraints)" };
    /// Files of views.
    pub const VIEWS: Target = Target { name: "views", run: texts::views, longest: 512, about: "files of views" };
    /// Camera files, and the family of the camera.
    pub const CAMERA: Target = Target {
        name: "camera",
        run: texts::camera,
        longest: 512,
        about: "camera files, and the family of the camera",
    };
    /// Specifications of families, causes and rounding.
    pub const FAMILY: Target = Target {
        name: "family",
        run: texts::family,
        longest: 128,
        about: "specifications of families, causes and rounding",
    };
    /// What can be typed after `efmca`.
    pub const ARGUMENTS: Target =
        Target { name: "arguments", run: texts::arguments, longest: 256, about: "what can be typed after `efmca`" };
    /// Model files: read, applied, written, read again.
    pub const MODEL: Target = Target {
        name: "model",
        run: models::model,
        longest: 4096,
        about: "model files: read, applied, written, read again",
    };
    /// Checkpoints: read, and the run resumed.
    pub const CHECKPOINT: Target = Target {
        name: "checkpoint",
        run: models::checkpoint,
        longest: 4096,
        about: "checkpoints: read, and the run resumed",
    };
    /// The functions of every family with any bits.
    pub const PARAMETERS: Target = Target {
        name: "parameters",
        run: numbers::parameters,
        longest: 128,
        about: "the functions of every family with any bits",
    };
    /// A whole tiny training, exact and truncated.
    pub const TRAINING: Target = Target {
        name: "training",
        run: training::training,
        longest: 512,
        about: "a whole tiny training, exact and truncated",
    };
}

/// All targets.
pub const TARGETS: &[Target] = &[
    one::PNG,
    one::TIFF,
    one::FITS,
    one::NPY,
    one::NPZ,
    one::GZIP,
    one::AXES,
    one::WAV,
    one::CSV,
    one::PARQUET,
    one::CSR,
    one::SIGNS,
    one::VIEWS,
    one::CAMERA,
    one::FAMILY,
    one::ARGUMENTS,
    one::MODEL,
    one::CHECKPOINT,
    one::PARAMETERS,
    one::TRAINING,
];

/// The target of that name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// A result, or an error that says something.
fn said<T>(result: Result<T, impl std::fmt::Display>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            let message = error.to_string();
            assert!(message.trim().len() > 3, "an error that says nothing: {message:?}");
            None
        }
    }
}

/// Whether two numbers are the same, bit for bit, or both missing.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}
