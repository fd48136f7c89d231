//! What there is to say about a table and its causes: the numbers of the report page, of its JSON and of its CSV files.
//!
//! | file | subject |
//! | --- | --- |
//! | `settings` | [`Overview`] |
//! | `columns` | what the cells of each column are |
//! | `causes` | each cause: how often it is on, in which rows, and the columns in which it shows |
//! | `order` | columns that behave alike, side by side |
//! | `explained` | how much each cause explains of each column, by entries that are held out |
//! | `surprise` | rows that fit least, and which column is to blame |
//! | `groups` | how often each cause is on in groups of rows, with a test |

mod causes;
mod columns;
mod explained;
mod groups;
mod order;
mod settings;
mod surprise;

pub use causes::{CauseOverview, Effect};
pub use columns::ColumnOverview;
pub use explained::Explained;
pub use groups::{GroupOverview, GroupTest, Grouping};
pub use settings::{Overview, TableOverview};
pub use surprise::{Surprise, UnlikelyRow};
