//! Long work that can be left: where its trainings are kept.

use std::cell::Cell;
use std::fs::File;
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

/// An empty file in a folder that was made for trainings, by this run or by one before it that was killed.
const MARK: &str = ".efmca-made";

/// Where trainings are kept.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct CheckpointArgs {
    /// Keeps all trainings in this folder, so that the same command goes on from there if it was stopped or killed, and gives the
    /// same result. The trainings in the folder go when the result is written, and the folder with them if it was made for them.
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
        let (is_new, mark) = (!folder.exists(), folder.join(MARK));
        outputs::take_folder(folder)?;
        if !cluster::follows() {
            check_place(&folder.join("checkpoint.safetensors"), true).map_err(Failure::input)?;
            if is_new {
                // where it cannot be made, an empty folder stays after a kill
                let _ = File::create_new(&mark);
            }
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
        let done = keeping(kept.clone(), work);
        if cluster::follows() {
            return done;
        }
        if done.is_ok() && was_stopped() {
            Watch::without_steps(format).tell(&format!(
                "its trainings are in {}: the same command with --force goes on from there",
                folder.display()
            ));
        } else if done.is_ok() {
            kept.clear();
        }
        // a folder of the user stays, with or without something in it
        if kept.files().is_empty() && std::fs::remove_file(&mark).is_ok() {
            // its lock is still in it
            outputs::leave_no_empty(folder);
        }
        done
    }
}
