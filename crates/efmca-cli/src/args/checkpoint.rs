//! Long work that can be left: where its trainings are kept.

use std::cell::Cell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use efmca::em::keeping;
use efmca_io::{KeptFolder, KeptNews, check_place};

use super::common::LogFormat;
use crate::cluster;
use crate::failure::Failure;
use crate::outputs;
use crate::progress::{Watch, was_stopped};

/// Where trainings are kept.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct CheckpointArgs {
    /// Keeps all trainings in this folder, so that the same command goes on from there if it was stopped or killed, and gives the
    /// same result. What is in the folder goes when the result is written.
    #[arg(long, value_name = "DIR")]
    checkpoint: Option<PathBuf>,
    /// A training that takes longer is kept after each so many seconds; 0 is after each iteration.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, requires = "checkpoint")]
    checkpoint_seconds: u64,
}

impl CheckpointArgs {
    /// Does the work of a command, and keeps its trainings until the work has succeeded.
    pub(crate) fn around(&self, format: LogFormat, work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        let Some(folder) = &self.checkpoint else { return work() };
        outputs::take_folder(folder)?;
        if !cluster::follows() {
            check_place(&folder.join("checkpoint.safetensors"), true).map_err(Failure::input)?;
        }
        let (watch, told, shown) = (Watch::without_steps(format), Cell::new(false), folder.display().to_string());
        let tell = move |news: KeptNews<'_>| match news {
            KeptNews::Found(iterations) => {
                watch.event("kept", &[("iterations", iterations.into())]);
                if !told.replace(true) {
                    watch.tell(&format!("going on with the trainings that are in {shown}"));
                }
            }
            KeptNews::Problem(error) => watch.warn(&format!("the work goes on without this training: {error}")),
            _ => {}
        };
        let kept = Rc::new(KeptFolder::new(folder, Duration::from_secs(self.checkpoint_seconds), tell));
        keeping(kept.clone(), work)?;
        if cluster::follows() {
            return Ok(());
        }
        if was_stopped() {
            Watch::without_steps(format).tell(&format!(
                "its trainings are in {}: the same command with --force goes on from there",
                folder.display()
            ));
        } else {
            kept.clear();
            // its lock is still in it
            outputs::leave_no_empty(folder);
        }
        Ok(())
    }
}
