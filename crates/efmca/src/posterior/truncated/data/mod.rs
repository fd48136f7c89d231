//! The data and the tables of a model as the kernel reads them.
//!
//! | file | subject |
//! | --- | --- |
//! | `observations` | rows of statistics; patches are cut out of their image when they are needed |
//! | `frame`, `scatter` | coordinates in which single precision is enough, and the means and covariances that they come from |
//! | `layout` | ranks and parameters of all causes, side by side |
//! | `constants` | what zeros add to the log-joint of a state, where they are not part of rows |

pub(crate) mod constants;
pub(crate) mod frame;
pub(crate) mod layout;
pub(crate) mod observations;
pub(crate) mod scatter;
