//! Distributions over the states $\vec s \in \lbrace 0,1\rbrace ^H$ of the causes, given a row of data.

mod combine;
mod differences;
mod exact;
mod exp;
mod product;
mod states;
pub mod truncated;

pub(crate) use combine::{combine, order_of_owners};
pub use exact::{Exact, LARGEST_EXACT_H, StateSums};
pub use states::States;
pub(crate) use truncated::{Observed, Truncated};
pub use truncated::{Precision, Sets, Truncation};

/// Rows that are scored together, one in each lane; their log-joints for $2^{10}$ states fill 256 KiB.
const LANES: usize = 32;
