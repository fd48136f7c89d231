//! The paper's Algorithm 1, as it stands in the examples, against the engine.

mod common;
#[path = "../examples/algorithm1.rs"]
#[allow(dead_code, unreachable_pub)]
mod example;

use common::*;
use efmca::{Background, Em, Init};

#[test]
fn the_engine_does_what_algorithm_1_says() {
    for family in all_families() {
        let truth = random_model(vec![family.clone(); 4], 3, 5);
        let y = truth.sample(40, 2).y;
        let start = random_model(vec![family.clone(); 4], 3, 6);
        let background = Background::Fixed(start.background().to_vec());
        let em = Em::new(3).family(family.clone()).background(background).guard(false).revive(false).tolerance(0.0);
        let fit = em.init(Init::Model(Box::new(start.clone()))).iterations(4).run(&y).unwrap();
        let mut model = start;
        for step in &fit.history {
            let (next, bound) = example::em_step(&model, &y).unwrap();
            assert!(close(step.bound, bound, 1e-10), "{}: {} {bound}", family.spec(), step.bound);
            model = next;
        }
        for (a, b) in fit.model.pi().iter().zip(model.pi()) {
            assert!(close(*a, *b, 1e-9), "{}: {a} {b}", family.spec());
        }
        for (a, b) in fit.model.w_flat().iter().zip(model.w_flat()) {
            assert!(close(*a, *b, 1e-9), "{}: {a} {b}", family.spec());
        }
    }
}
