//! The examples run, and do what they say. `algorithm1` has a test of its own.

/// An example as a module; its `main` calls the public function that is tested here and prints.
macro_rules! example {
    ($name:ident, $path:literal) => {
        #[path = $path]
        #[allow(dead_code, unreachable_pub)]
        mod $name;
    };
}

example!(bars_example, "../examples/bars.rs");
example!(denoise, "../examples/denoise.rs");
example!(own_family, "../examples/own_family.rs");
example!(own_proposal, "../examples/own_proposal.rs");
example!(resume, "../examples/resume.rs");
example!(table, "../examples/table.rs");

use efmca::{StopReason, bars};

#[test]
fn bars_are_found() {
    let (truth, fit) = bars_example::learn().unwrap();
    assert!(bars::recovered(&truth, &fit.model));
    assert!(fit.is_exact());
}

#[test]
fn a_picture_is_cleaned() {
    let quality = denoise::clean().unwrap();
    assert!(quality.after > quality.before + 10.0, "{quality:?}");
}

#[test]
fn the_families_of_a_table_are_found() {
    let learned = table::learn().unwrap();
    let specs: Vec<String> = learned.families.iter().map(|family| family.spec()).collect();
    assert_eq!(specs, ["poisson", "poisson", "bernoulli", "exponential"]);
    assert_eq!(learned.fit.model.h(), 2);
}

#[test]
fn tastes_are_learned_with_an_own_family() {
    let means = own_family::learn().unwrap();
    let truth = [[9.0, 9.0, 8.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 8.0, 9.0, 9.0]];
    let near = |cause: usize, taste: &[f64; 6]| means.row(cause).iter().zip(taste).all(|(a, b)| (a - b).abs() < 0.6);
    let in_order = near(0, &truth[0]) && near(1, &truth[1]);
    assert!(in_order || (near(0, &truth[1]) && near(1, &truth[0])), "{means:.2}");
}

#[test]
fn a_resumed_training_ends_with_the_same_bits() {
    let runs = resume::train().unwrap();
    assert_eq!((runs.interrupted.stop, runs.interrupted.history.len()), (StopReason::Interrupted, 4));
    assert_ne!(runs.interrupted.bound, runs.uninterrupted.bound);
    assert_eq!(runs.resumed.model.w_flat(), runs.uninterrupted.model.w_flat());
    assert_eq!(runs.resumed.bound.to_bits(), runs.uninterrupted.bound.to_bits());
    assert_eq!(runs.resumed.history.len(), 12);
}

#[test]
fn an_own_proposal_finds_better_states() {
    let (without, with) = own_proposal::compare().unwrap();
    assert!(with > without + 1.0, "{without} {with}");
}
