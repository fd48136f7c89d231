//! Models of tables: the families of the columns, the number of causes, and the training, in one call.
//!
//! | file | subject |
//! | --- | --- |
//! | `settings` | [`TableLearner`] |
//! | `learned` | [`LearnedTable`]: the model, and how families and causes were decided |
//! | `learning` | the steps: families, number of causes, training |
//! | `large` | large tables: most of the training on a part of the rows |
//! | `starts` | starts of large tables |
//! | `views` | how much the columns of a view count |

mod large;
mod learned;
mod learning;
mod settings;
mod starts;
mod views;

pub use large::{every_row, search_step};
pub use learned::{CauseOrigin, FamilyOrigin, LearnedTable};
pub use settings::TableLearner;
