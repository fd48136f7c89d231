//! A proposal of one's own for truncated posteriors: one active cause is swapped for another one.
//!
//! The default tries all states that differ from the best one by a single cause. Where two causes look alike, the way
//! from one to the other leads through worse states, and a swap takes it in one step. Proposals only name states; the
//! engine scores them and keeps the best, so that a proposal can never lower the bound. Run it with
//! `cargo run --release -p efmca --example own_proposal`.

#![allow(clippy::print_stdout)]

use std::sync::Arc;

use efmca::posterior::truncated::{OneFlips, Propose, Proposed, Random, RowContext};
use efmca::{Model, Result, Truncation, bars};
use ndarray::Array2;
use rand::RngExt;

/// Swaps an active cause of the best state for a random one, this many times for each row and E-step.
#[derive(Debug)]
struct Swaps {
    each: usize,
}

impl Propose for Swaps {
    fn propose(&self, row: &RowContext<'_>, random: &mut Random, proposed: &mut Proposed) {
        let best = row.best();
        let active: Vec<usize> = best.active().collect();
        if active.is_empty() {
            return;
        }
        for _ in 0..self.each {
            let out = active[random.random_range(0..active.len())];
            let other = random.random_range(0..row.h());
            if !best.is_active(other) {
                proposed.state_with_flips(best, [out, other]);
            }
        }
    }

    // written into checkpoints: a run is resumed with the same proposals only
    fn spec(&self) -> String {
        format!("swaps:each={}", self.each)
    }
}

/// The bound of all rows with three states for each, after a few E-steps with these proposals.
fn bound(model: &Model, y: &Array2<f64>, proposals: Vec<Arc<dyn Propose>>) -> Result<f64> {
    let truncation = Truncation::new(3).proposals(proposals);
    Ok(model.infer(y, &truncation, 6, 1)?.bounds.sum())
}

/// The bounds without and with swaps.
pub fn compare() -> Result<(f64, f64)> {
    let model = bars::model("poisson", 8, &[6.0], &[2.0], 0.25)?;
    let pictures = model.sample(300, 1).y;
    let flips = || Arc::new(OneFlips { parents: 1 });
    let without = bound(&model, &pictures, vec![flips()])?;
    let with = bound(&model, &pictures, vec![flips(), Arc::new(Swaps { each: 20 })])?;
    println!("bound with flips {without:.2}, with flips and swaps {with:.2}");
    Ok((without, with))
}

fn main() -> Result<()> {
    compare().map(drop)
}
