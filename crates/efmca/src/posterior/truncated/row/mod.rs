//! The E-step of one row that is in no star: its states are scored, others are proposed, the best stay, and $q$ is given to the sums.
//!
//! | file | subject |
//! | --- | --- |
//! | `rows` | one row after the other |
//! | `work` | the present row: its states and their log-joints, $q$, and what it gives to the sums |
//! | `select` | which states stay: a state leaves only for a better one |

pub(crate) mod rows;
pub(crate) mod select;
pub(crate) mod work;
