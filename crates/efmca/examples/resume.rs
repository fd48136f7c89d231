//! A training is interrupted, and resumed later as if nothing had happened.
//!
//! It shows observers, checkpoints and `Em::resume`. Here the checkpoint stays in memory; the crate `efmca-io` writes
//! it to a file and reads it (`write_checkpoint`, `read_checkpoint`), and `efmca learn --resume` does both. Run it with
//! `cargo run --release -p efmca --example resume`.

#![allow(clippy::print_stdout)]

use std::ops::ControlFlow;

use efmca::{Checkpoint, Em, Error, Fingerprint, Fit, Result, Truncation, bars};

/// One training at once, interrupted, and resumed.
#[derive(Debug)]
pub struct Runs {
    /// The complete training.
    pub uninterrupted: Fit,
    /// The same one, ended after four iterations.
    pub interrupted: Fit,
    /// The interrupted one, resumed.
    pub resumed: Fit,
}

/// Trains twice, the second time with an interruption after four iterations.
pub fn train() -> Result<Runs> {
    let pictures = bars::model("poisson", 4, &[20.0], &[1.0], 0.2)?.sample(500, 1).y;
    let em = Em::new(8).family("poisson").truncated(Truncation::new(20)).iterations(12).tolerance(0.0).seed(1);
    let uninterrupted = em.run(&pictures)?;

    // all that a run depends on: its settings and its data
    let (settings, data) = (em.settings(), Fingerprint::of(&pictures));
    let mut kept: Option<Checkpoint> = None;
    let interrupted = em.run_observed(&pictures, &mut |progress| {
        let Some(training) = progress.training else { return ControlFlow::Continue(()) };
        kept = Some(training.state.to_checkpoint(settings.clone(), data));
        if training.iteration == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    println!("interrupted after {} iterations with the bound {:.3}", interrupted.history.len(), interrupted.bound);

    let Some(checkpoint) = kept else { return Err(Error::Stopped { what: "the first iteration".into() }) };
    // other settings or other data are refused, with the difference
    if let Err(refusal) = em.clone().seed(2).resume(&pictures, checkpoint.clone(), &mut |_| ControlFlow::Continue(())) {
        println!("with another seed: {refusal}");
    }
    let resumed = em.resume(&pictures, checkpoint, &mut |_| ControlFlow::Continue(()))?;
    println!("resumed {:.9}, uninterrupted {:.9}", resumed.bound, uninterrupted.bound);
    Ok(Runs { uninterrupted, interrupted, resumed })
}

fn main() -> Result<()> {
    train().map(drop)
}
