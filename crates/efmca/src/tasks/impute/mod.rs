//! Missing cells of tables, filled in by what the other cells of their row say.
//!
//! ```text
//! table ── families, causes ──▶ models, one for each fold of the rows ──▶ beliefs about every cell
//!               table              training                                  beliefs
//!       ──▶ regression of what the beliefs leave ──▶ values, uncertainties, draws, and their error
//!               regression                              filling, draws           scores
//! ```
//!
//! | file | subject |
//! | --- | --- |
//! | `settings` | [`Imputer`] |
//! | `column` | numbers or codes: what the cells of a column are |
//! | `training` | models that have not seen the rows whose cells they predict |
//! | `beliefs` | what a model says about each cell given the others of its row |
//! | `features` | the cells of a row as numbers for a regression |
//! | `regression` | ridge regression, with its penalty chosen by rows that it has not seen |
//! | `correction` | the regression of what the beliefs leave |
//! | `trained` | [`TrainedImputer`]: filling |
//! | `draws` | draws of the missing cells, for multiple imputation |
//! | `scores` | the error on cells that were not seen, next to column means |

mod beliefs;
mod column;
mod correction;
mod draws;
mod features;
mod regression;
mod scores;
mod settings;
mod trained;
mod training;

pub use column::CellKind;
pub use scores::{CellScores, ColumnScore};
pub use settings::{Fill, Imputer};
pub use trained::{FilledCell, FilledTable, TrainedImputer};
