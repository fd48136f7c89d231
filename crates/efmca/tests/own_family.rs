//! A family of the user's own against the built-in one.

mod common;

use std::sync::Arc;

use common::*;
use efmca::family::custom::{Custom, Definition};
use efmca::family::custom::{Real, ln_gamma};
use efmca::family::{SharedFamily, Support, family};
use efmca::{Em, Model};

#[derive(Debug)]
struct OwnPoisson;

impl Definition<1> for OwnPoisson {
    fn name(&self) -> String {
        "own-poisson".into()
    }
    fn support(&self) -> Support {
        Support::integers(0.0, f64::INFINITY)
    }
    fn t(&self, y: f64) -> [f64; 1] {
        [y]
    }
    fn log_h(&self, y: f64) -> f64 {
        -ln_gamma(y + 1.0)
    }
    fn a<R: Real>(&self, [eta]: [R; 1]) -> R {
        eta.exp()
    }
    fn some_eta(&self) -> [f64; 1] {
        [0.0]
    }
}

/// The Beta family without its closed forms: two parameters, no statistic that is y, so F is an integral.
#[derive(Debug)]
struct OwnBeta;

impl Definition<2> for OwnBeta {
    fn name(&self) -> String {
        "own-beta".into()
    }
    fn support(&self) -> Support {
        Support::open(0.0, 1.0)
    }
    fn t(&self, y: f64) -> [f64; 2] {
        [y.ln(), (-y).ln_1p()]
    }
    fn a<R: Real>(&self, [a, b]: [R; 2]) -> R {
        (a + 1.0).ln_gamma() + (b + 1.0).ln_gamma() - (a + b + 2.0).ln_gamma()
    }
    fn some_eta(&self) -> [f64; 2] {
        [0.0, 0.0]
    }
}

#[test]
fn a_family_of_ones_own_gives_the_same_model_as_the_built_in_one() {
    let pairs: [(SharedFamily, SharedFamily, f64); 2] = [
        (family("poisson").unwrap(), Arc::new(Custom::new(OwnPoisson)), 1e-9),
        (family("beta").unwrap(), Arc::new(Custom::new(OwnBeta)), 1e-7),
    ];
    for (built_in, own, tolerance) in pairs {
        let truth = random_model(vec![built_in.clone(); 4], 2, 5);
        let y = truth.sample(200, 1).y;
        let fit = |family: SharedFamily| Em::new(2).family(family).seed(3).iterations(15).run(&y).unwrap();
        let (a, b) = (fit(built_in), fit(own.clone()));
        assert!(close(b.bound, a.bound, 1e-10), "{}", own.spec());
        for (a, b) in a.model.w_flat().iter().zip(b.model.w_flat()) {
            assert!(close(*b, *a, tolerance), "{}: {a} {b}", own.spec());
        }
        // it can also be sampled, saved and put together again
        let drawn = b.model.sample(300, 2).y;
        assert!(drawn.iter().all(|y| own.support().contains(*y)));
        let again =
            Model::from_tensors_with(&b.model.to_tensors(), &b.model.to_metadata(), |_| Ok(own.clone())).unwrap();
        assert_eq!(again.w_flat(), b.model.w_flat());
    }
}
