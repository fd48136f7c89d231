//! Scoring the states of a row, and giving its columns to their causes: the way there and the way back.
//!
//! | file | subject |
//! | --- | --- |
//! | `ways` | which of the two ways a state takes |
//! | `passes`, `chains` | by cause, for states with few active causes: a pass over the columns for each; the order in which states share passes |
//! | `scan` | all flips of the first states of several rows at once |
//! | `walk` | by column, for states with many: from its strongest cause down |
//! | `owners` | who owns each column in such a state, and what changes for states near it |
//! | `centre` | the state that most of a set are flips of |

pub(crate) mod centre;
pub(crate) mod chains;
pub(crate) mod owners;
pub(crate) mod passes;
pub(crate) mod scan;
pub(crate) mod walk;
pub(crate) mod ways;
