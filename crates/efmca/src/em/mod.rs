//! Expectation maximisation: initialisation, moments, M-step, schedules, and the loop.

mod batches;
mod checkpoint;
mod clusters;
mod distinct;
mod init;
mod m_step;
mod ordered;
mod progress;
mod run;
mod schedule;
mod settings;
mod spare;
mod starts;
mod training;

pub use checkpoint::{Checkpoint, Fingerprint, Snapshot};
pub use init::Init;
pub(crate) use progress::unobserved;
pub use progress::{Observer, Progress, TrainingProgress};
pub use run::{Fit, Iteration, StopReason};
pub use schedule::{Held, Hold, Schedule};
pub use settings::Em;
