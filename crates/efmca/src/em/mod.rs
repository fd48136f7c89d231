//! Expectation maximisation: initialisation, moments, M-step, schedules, and the loop.

mod apply;
mod batches;
mod checkpoint;
mod clusters;
mod init;
mod m_step;
mod moments;
mod ordered;
mod run;
mod schedule;
mod settings;
mod spare;
mod starts;
mod training;

pub use apply::Inferred;
pub(crate) use apply::Owners;
pub use checkpoint::{Checkpoint, Fingerprint, Snapshot};
pub use init::Init;
pub use moments::Moments;
pub use run::{Fit, Iteration, Progress, StopReason};
pub use schedule::{Held, Hold, Schedule};
pub use settings::Em;
