//! **efmca** learns what a data set is made of when its noise is not Gaussian.
//!
//! It implements Exponential Family Maximal Causes Analysis (EF-MCA; Mousavi, Drefs, Hirschberger and Lücke, JMLR
//! 2023). A row of data is explained by binary causes. Each cause has a profile over the observables; where causes
//! overlap, the strongest wins (the maximum, not the sum); and the observables may follow any regular exponential
//! family: counts, yes/no answers, fractions, positive amounts, categories, or a family of your own.
//!
//! # A first example
//!
//! Ten bars, horizontal and vertical, on a grid of 5 x 5 pixels, seen through exponential noise as strong as they are:
//!
//! ```
//! use efmca::{Em, bars};
//!
//! let truth = bars::model("exponential", 5, &[0.1], &[1.0], 0.2)?;
//! let pictures = truth.sample(1000, 1).y;
//!
//! let fit = Em::new(10).family("exponential").seed(1).starts(20).short_iterations(10).run(&pictures)?;
//!
//! assert!(bars::recovered(&truth, &fit.model));
//! assert!(fit.bound > truth.log_likelihood(&pictures)?);
//! # Ok::<(), efmca::Error>(())
//! ```
//!
//! Your own data is an `ndarray::Array2<f64>` with a row for each data point and NaN where a value is missing, the
//! [`Patches`] of an image, [`SparseRows`], or anything else that implements [`Data`]; [`Weighted`] gives rows weights.
//!
//! # One call for each problem
//!
//! | problem | call |
//! | --- | --- |
//! | Clean a noisy image, or fill in its missing pixels | [`tasks::denoise::Denoiser`] |
//! | Clean another image with a model that was learned before | [`tasks::denoise::PatchDenoiser::apply`] |
//! | Say whether what was taken away looks like the noise that was assumed | [`tasks::residual::ResidualCheck`] |
//! | Model a table: families of its columns, number of causes, training | [`tasks::table::TableLearner`] |
//! | Name the noise of an image, a spectrogram or a table | [`tasks::noise::NoiseType`] |
//! | Find the noise of an image in a few seconds, to clean it | [`tasks::noise::ImageNoise`] |
//! | Find a family for each column of a table | [`tasks::noise::TableNoise`] |
//! | Choose the number of causes | [`tasks::select::CauseSearch`]; [`Causes::Auto`] in other tasks |
//! | Learn features of images or of other rows | [`tasks::learn::FeatureLearner`], after [`tasks::learn::Preparation`] |
//! | Train with settings of your own | [`Em`] |
//! | Say which causes are behind rows, and how likely the rows are | [`tasks::encode::Encoder`] |
//! | Draw new rows | [`Model::sample`] |
//! | Keep all trainings of a task, and go on with them later | [`em::keeping`] |
//! | Interrupt and resume a long training | [`Em::resume`], [`tasks::learn::FeatureLearner::resume`] |
//! | Find gain, offset and read noise of a camera | [`tasks::camera::Calibration`]; its noise is [`tasks::camera::Camera::family`] |
//! | Make a noisy image to test with, and measure how well it was cleaned | [`tasks::corrupt::Corruption`], [`tasks::quality`] |
//! | Use a distribution that is not here | [`family::custom`] |
//! | Search for states in a way of your own | [`posterior::truncated::Propose`] |
//! | Fill in the missing cells of a table, with their uncertainty and their error | [`tasks::impute::Imputer`] |
//! | Say what a model alone gives for missing values, or what is below the noise | [`tasks::encode::Encoder::filled`], [`tasks::encode::Encoder::means`] |
//! | Look at a table and its causes: effects, what they explain, unlikely rows, groups | [`tasks::overview::Overview`] |
//! | Make groups of columns count alike | [`model::Views`], [`tasks::table::TableLearner::views`] |
//! | Say what is known of causes: signs, zeros, causes of another model | [`em::Structure`], [`tasks::table::TableLearner::structure`] |
//! | End work at once, without its result | [`cancel::Cancel`] |
//!
//! All of them have one grammar. Settings are a value: `Task::new(..).setting(..)`. Families are taken by name
//! (`"poisson"`, `"gamma:k=4"`) or as families ([`FamilySpec`]). `check` finds what is wrong with the settings before any
//! data is touched; `run` does the work; `run_observed` calls an [`Observer`] with its [`Progress`], which can end the work
//! early with the result so far.
//!
//! The folder `examples` of this crate has a page each of `algorithm1`, `bars`, `denoise`, `table`, `own_family`, `resume`
//! and `own_proposal` (`cargo run --release -p efmca --example bars`).
//!
//! # The way through the crate
//!
//! ```text
//! array ──▶ sufficient statistics ──▶ tables ──▶ states ──▶ moments ──▶ parameters ──▶ model ──▶ results
//! model           family              model     posterior  posterior       em          model     tasks
//! ```
//!
//! A module uses those above it in this table and none below, which a test keeps (`tests/layers.rs`):
//!
//! | module | what it knows | paper |
//! | --- | --- | --- |
//! | [`mod@family`] | one distribution: $\vec T$, $h$, $A$, $\vec\Phi$, $F$ | Sec. 2 |
//! | [`model`] | $\Theta = (\vec\pi, W^{(1)}, \ldots, W^{(L)})$, who wins (Eqns. 22, 45, 48), the background, data and weights | Sec. 3 and 6 |
//! | [`posterior`] | which states explain a row: exactly, or by the best of them ([`posterior::truncated`]) | Sec. 5 |
//! | [`em`] | Algorithm 1 and Theorems 1 and 2: initial values, the loop, M-step, schedules, starts, checkpoints | Sec. 5.1 and 6 |
//! | `tasks/held_out` | held-out entries, by which [`tasks::noise`] and [`tasks::select`] choose | - |
//! | [`tasks`] | what people do with data and models | Sec. 7.2 |
//! | [`bars`] | the bars test | Sec. 7.1 |
//! | [`ranks`] | processes of a cluster that share the rows of a training; it is below all others | - |
//!
//! The symbols of the paper keep their names: `pi`, `w`, `eta`, `t`, `log_h`, `a`, `phi`, `f`, `q`. The page [`paper`] leads
//! from every numbered equation, theorem and algorithm to the item that does it, and from the words of the field (ELBO,
//! free energy, dictionary, posterior predictive) to those that are used here. `examples/algorithm1.rs` is the paper's
//! exact EM on one page, and `tests/algorithm1.rs` holds the engine against it.
//!
//! # What to expect
//!
//! - The same seed gives the same model, bit for bit, for any number of threads and ranks on the same kind of processor.
//!   (Processors with and without fused multiply-add differ in the last digits.)
//! - When a model is applied, a row's result does not depend on the other rows.
//! - Missing values are left out of both sums exactly; nothing is imputed.
//! - A row of weight two counts as two equal rows, from the start of the training to its end.
//! - Nothing here prints, reads files or panics on what it is given; errors say what was wrong, where, and what to do.

pub mod bars;
pub mod cancel;
mod dual;
pub mod em;
mod error;
pub mod family;
mod hash;
pub mod model;
#[doc = include_str!("paper.md")]
pub mod paper {}
pub mod posterior;
pub mod ranks;
mod special;
pub mod tasks;

pub use em::{Checkpoint, Em, Fingerprint, Fit, Held, Hold, Init, Observer, Progress, Schedule, StopReason};
pub use error::{Error, Pixel, Result};
pub use family::{FamilySpec, SharedFamily};
pub use model::{Background, Data, Inference, Model, Patches, SparseRows, Superposition, Weighted};
pub use posterior::{Encoding, Truncation};
pub use tasks::Causes;

/// Internals for the tests and benchmarks of this workspace. They are not part of the stable interface.
#[doc(hidden)]
pub mod internals {
    pub use crate::model::{Tables, WinnerOrder};
    pub use crate::posterior::Exact;
    pub use crate::posterior::truncated::Kernel;
    pub mod special {
        //! Special functions.
        pub use crate::special::*;
    }
}

/// The Rust code of the README and the guides is tested with the documentation.
#[cfg(doctest)]
mod guides {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/OWN_FAMILY.md")]
    struct OwnFamily;
}
