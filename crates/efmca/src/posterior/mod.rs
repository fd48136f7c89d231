//! Distributions over the states $\vec s \in \lbrace 0,1\rbrace ^H$ of the causes, given a row of data.

mod differences;
mod exact;
mod exp;
mod infer;
mod moments;
mod predict;
mod product;
mod responsibilities;
mod states;
pub mod truncated;

pub use crate::model::LARGEST_EXACT_H;
#[doc(hidden)]
pub use exact::Exact;
pub(crate) use exact::StateSums;
pub use infer::{Encoding, TruncatedPosterior};
pub use moments::Moments;
pub(crate) use responsibilities::Responsibilities;
pub(crate) use states::States;
pub(crate) use truncated::{Observed, Truncated};
pub use truncated::{Precision, Sets, Truncation};

/// Rows that are scored together, one in each lane; their log-joints for $2^{10}$ states fill 256 KiB.
const LANES: usize = 32;
