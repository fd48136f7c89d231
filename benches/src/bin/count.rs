//! A fixed amount of kernel work, for counting instructions, which do not move with the load of the machine:
//!
//! `valgrind --tool=callgrind target/release/count 100`
//!
//! The difference between two counts of repeats is the kernel's. One repeat is all 100 flips of a state with two active
//! causes over 400 columns.

use std::process::ExitCode;

use efmca::internals::Kernel;
use efmca_benches::{model, states};

fn main() -> ExitCode {
    let repeats = std::env::args().nth(1).and_then(|number| number.parse::<usize>().ok()).unwrap_or(100);
    let Ok(model) = model(100, 400, 2.0) else { return ExitCode::FAILURE };
    let Ok(mut kernel) = Kernel::new(&model, &model.sample(1, 1).y, false) else { return ExitCode::FAILURE };
    let state = states(100, 1, 2);
    let total: f64 = (0..repeats).map(|_| std::hint::black_box(kernel.flips(&state))).sum();
    if total.is_finite() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
