//! Noise types: families ranked by how well they predict entries that training did not see (paper, Sec. 7.2.2).
//!
//! The paper compares the bounds of models with the same number of parameters. That is not enough for all families: here a
//! part of the entries is held out, and families are compared by the probability that the trained model gives to each
//! held-out entry, $\log\sum_{\vec s}q(\vec s)p(y_d | \vec s)$, where $q$ is the posterior of the entries of the same row that
//! training sees (for pixels the average over the patches that they are in). It needs no count of parameters, is the same for
//! exact and for truncated posteriors, and for rounded values a density can be integrated over the interval that a value stands
//! for, which makes it a probability too. Families that it cannot tell apart are ordered by
//! the Bayesian information criterion.
//!
//! | file | subject |
//! | --- | --- |
//! | `settings`, `ranking` | [`NoiseType`], its loop, and the [`Ranking`] |
//! | `values`, `candidates` | what the values are, and families that can have produced them |
//! | `trials` | a tournament of trainings, shared until the better family wins and not the luckier one |
//! | `trainer`, `attempts`, `tuning` | one training, several that need nothing of each other, and the numbers of the tournament |
//! | `matched` | ties compared with the same posteriors |
//! | `table`, `slot`, `column`, `rounded` | [`TableNoise`]: a family for each column, and EM with rounded values |
//! | `verdict` | whether the best family fits |
//! | `fixed_search`, `peak` | fixed parameters that are not given |
//! | `image` | [`ImageNoise`]: the noise of an image in a few seconds, to clean it |
//! | `with_causes` | the search for families with as many causes as the data say |

mod attempts;
mod candidates;
mod column;
mod fixed_search;
mod image;
mod matched;
mod peak;
mod ranking;
mod rounded;
mod settings;
mod slot;
mod table;
mod trainer;
mod trials;
mod tuning;
mod values;
mod verdict;
mod with_causes;

pub use super::held_out::{Difference, Source};
pub(crate) use candidates::for_one_value;
pub use candidates::{Candidate, Refusal, candidates};
pub use image::{Basis, CameraNoise, FoundNoise, ImageNoise};
pub use ranking::{Ranked, Ranking};
pub use settings::NoiseType;
pub(crate) use settings::check_family;
pub(crate) use slot::check_column;
pub use table::{ColumnFamily, ColumnTrial, TableFamilies, TableNoise};
pub(crate) use table::{check_columns, for_labels, last};
pub use values::{Kind, Values};
pub use verdict::{Shape, TableVerdict, Verdict};
