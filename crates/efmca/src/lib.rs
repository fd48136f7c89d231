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
//! use efmca::{Em, bars, family::family};
//!
//! let truth = bars::model(family("exponential")?, 5, &[0.1], &[1.0], 0.2)?;
//! let pictures = truth.sample(1000, 1).y;
//!
//! let fit = Em::new(10).family(family("exponential")?).seed(1).starts(20).short_iterations(10).run(&pictures)?;
//!
//! assert!(bars::recovered(&truth, &fit.model));
//! assert!(fit.bound > truth.log_likelihood(&pictures)?);
//! # Ok::<(), efmca::Error>(())
//! ```
//!
//! Your own data is an `ndarray::Array2<f64>` with a row for each data point and NaN where a value is missing.
//! [`Em::families`] takes a family for each column of a table.
//!
//! # The way through the crate
//!
//! ```text
//! array ──▶ sufficient statistics ──▶ tables ──▶ states ──▶ moments ──▶ parameters ──▶ model
//! data            family              model     posterior     em           em          model
//! ```
//!
//! | module | what it knows | paper |
//! | --- | --- | --- |
//! | [`mod@family`] | one distribution: $\vec T$, $h$, $A$, $\vec\Phi$, $F$ | Sec. 2 |
//! | [`model`] | $\Theta = (\vec\pi, W^{(1)}, \ldots, W^{(L)})$, the maximum, the background | Sec. 3 and 6 |
//! | [`posterior`] | which states explain a row | Sec. 5 |
//! | [`em`] | Theorems 1 and 2: moments, M-step, schedules, starts | Sec. 5.1 and 6 |
//! | [`tasks`] | what a model is used for: clean images, noise types, the number of causes | Sec. 7.2 |
//! | [`bars`] | the bars test | Sec. 7.1 |
//!
//! The symbols of the paper keep their names: `pi`, `w`, `eta`, `t`, `log_h`, `a`, `phi`, `f`, `q`. Equation numbers are
//! those of the paper.
//!
//! # What to expect
//!
//! - The same seed gives the same model, bit for bit, for any number of threads on the same kind of processor. (One
//!   that has fused multiply-add rounds differently in the last digits from one that has not.)
//! - When a model is applied, a row's result does not depend on the other rows.
//! - Missing values are left out of both sums exactly; nothing is imputed.
//! - Nothing here prints, reads files or panics on what it is given; errors say what was wrong, where, and what to do.

pub mod bars;
mod dual;
pub mod em;
mod error;
pub mod family;
mod hash;
pub mod model;
#[doc = include_str!("paper.md")]
pub mod paper {}
pub mod posterior;
mod special;
pub mod tasks;

pub use em::{Checkpoint, Em, Fingerprint, Fit, Held, Hold, Init, Observer, Progress, Schedule, StopReason};
pub use error::{Error, Pixel, Result};
pub use family::{FamilySpec, SharedFamily};
pub use model::{Background, Data, Inference, Model, Patches, Superposition, Weighted};
pub use posterior::{Encoding, Truncation};
pub use tasks::Causes;

/// For the tests and benchmarks of this workspace. No promise is made about it.
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
