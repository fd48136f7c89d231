//! Expectation maximisation: initialisation, moments, M-step, schedules, and the loop.

mod batches;
mod check;
mod checkpoint;
mod clusters;
mod distinct;
mod e_step;
mod fit;
mod init;
mod keep;
mod m_step;
mod memory;
mod ordered;
mod parcel;
mod progress;
mod revival;
mod run;
mod schedule;
mod settings;
mod spare;
mod starts;
mod structure;
mod training;

pub use checkpoint::{Checkpoint, Fingerprint, Settings, Snapshot};
pub use fit::{Fit, Iteration, StopReason};
pub use init::Init;
pub use keep::{Keep, KeptTraining, keeping};
pub(crate) use memory::check_memory;
pub use memory::within_memory;
pub(crate) use parcel::Parcel;
pub(crate) use progress::unobserved;
pub use progress::{Observer, Progress, TrainingProgress};

pub use schedule::{Held, Hold, Schedule};
pub use settings::Em;
pub use structure::{Sign, Structure};
