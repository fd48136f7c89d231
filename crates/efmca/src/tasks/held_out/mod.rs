//! Held-out entries: a part of the data that training does not see, and how well a trained model predicts it.
//!
//! Noise types ([`super::noise`]) and the number of causes ([`super::select`]) are chosen by it. Both share one split, one
//! predictor and one rule for ties:
//!
//! ```text
//! Source ── split ──▶ Split ── training ──▶ Fit ── predict, pixels ──▶ Scores ── ties ──▶ an order
//! ```
//!
//! | file | subject |
//! | --- | --- |
//! | `split` | which entries are held out |
//! | `entries` | entries of a column with their responsibilities |
//! | `training` | the settings of all trainings that are compared |
//! | `predict` | $\log\sum_h r_h p(y; \vec\eta_h)$, the score of an entry |
//! | `quantiles` | where held-out entries lie in what is predicted for them |
//! | `pixels` | pixels, which are in several patches |
//! | `scores` | scores of all entries, and by how much one model leads |
//! | `ties` | what data cannot tell apart, and the order of ties |
//! | `without` | entries that were not held out, judged without themselves |

mod entries;
mod pixels;
mod predict;
mod quantiles;
mod scores;
mod split;
pub(crate) mod ties;
mod training;
mod without;

pub(crate) use crate::posterior::Responsibilities;
pub(crate) use entries::Entries;
pub(crate) use predict::{Predictor, needs_integrals, normalised};
pub(crate) use quantiles::quantiles;
pub use scores::Difference;
pub(crate) use scores::Scores;
pub use split::Source;
pub(crate) use split::{Posteriors, Split, rows_of};
pub(crate) use training::{Comparison, PSEUDO_COUNT};
pub(crate) use without::without_itself;
