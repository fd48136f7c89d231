//! The bars test: ten bars are learned from a thousand noisy pictures and shown beside the true ones.
//!
//! It shows training with `Em`: a family by name, several starts, the bound. Run it with
//! `cargo run --release -p efmca --example bars`.

#![allow(clippy::print_stdout)]

use efmca::{Em, Fit, Model, Result, bars};

/// Rows and columns of a picture.
const SIZE: usize = 5;

/// Learns the bars, and returns the true model beside the learned one.
pub fn learn() -> Result<(Model, Fit)> {
    // pixels have the mean 10 where a bar is and 1 elsewhere; exponential noise is as strong as its mean
    let truth = bars::model("exponential", SIZE, &[0.1], &[1.0], 0.2)?;
    let pictures = truth.sample(1000, 1).y;

    // twenty starts of ten iterations; the best of them continues until nothing changes any more
    let em = Em::new(10).family("exponential").starts(20).short_iterations(10).seed(1);
    let fit = em.run(&pictures)?;

    // posteriors are exact with ten causes, so that the bound is the log-likelihood
    println!("log-likelihood {:.1}, of the true model {:.1}", fit.bound, truth.log_likelihood(&pictures)?);
    println!("{} of {} bars found in {} iterations", bars::found(&truth, &fit.model), truth.h(), fit.history.len());
    Ok((truth, fit))
}

/// The means of all causes beside each other; a dark pixel is a dot.
fn show(model: &Model) {
    let means = model.means();
    for row in 0..SIZE {
        let line = means.outer_iter().map(|cause| {
            (0..SIZE).map(|column| if cause[row * SIZE + column] > 5.0 { '#' } else { '.' }).collect::<String>()
        });
        println!("  {}", line.collect::<Vec<_>>().join("  "));
    }
}

fn main() -> Result<()> {
    let (truth, fit) = learn()?;
    println!("true bars:");
    show(&truth);
    println!("learned causes, in the order in which they were found:");
    show(&fit.model);
    Ok(())
}
