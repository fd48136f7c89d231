//! A family that efmca does not have: ratings from 0 to 10, with p(y) proportional to exp(eta y).
//!
//! It shows `Definition`: T(y), log h(y) and A(eta) are enough for densities, samples, training and all tasks. Run it
//! with `cargo run --release -p efmca --example own_family`; `docs/OWN_FAMILY.md` says more.

#![allow(clippy::print_stdout)]

use std::sync::Arc;

use efmca::family::Support;
use efmca::family::custom::{Custom, Definition, Real};
use efmca::{Background, Em, Model, Result};
use ndarray::{Array2, array};

/// A rating on a scale from 0 to 10.
#[derive(Debug)]
struct Rating;

impl Definition<1> for Rating {
    fn name(&self) -> String {
        "rating".into()
    }

    fn support(&self) -> Support {
        Support::integers(0.0, 10.0)
    }

    fn t(&self, y: f64) -> [f64; 1] {
        [y]
    }

    // log h(y) is zero, which is the default

    /// A(eta) = log sum_y exp(eta y), with the largest term taken out.
    fn a<R: Real>(&self, [eta]: [R; 1]) -> R {
        let shift = if eta.value() > 0.0 { 10.0 } else { 0.0 };
        let terms = (0..=10).map(|y| (eta * (f64::from(y) - shift)).exp());
        terms.fold(R::constant(0.0), |sum, term| sum + term).ln() + eta * shift
    }

    /// Any value inside the domain; Newton's method starts there.
    fn some_eta(&self) -> [f64; 1] {
        [0.0]
    }
}

/// Learns two tastes from ratings of six films, and returns the mean rating of each film by taste.
pub fn learn() -> Result<Array2<f64>> {
    let rating = Arc::new(Custom::new(Rating));
    let tastes = array![[9.0, 9.0, 8.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 8.0, 9.0, 9.0]];
    let nobody = Background::fixed(&[1.0]); // people without either taste
    let truth = Model::new(rating.clone(), array![0.5, 0.4], vec![tastes], nobody.clone())?;
    let ratings = truth.sample(1000, 1).y;

    let fit = Em::new(2).family(rating).background(nobody).starts(4).seed(1).run(&ratings)?;
    println!("log-likelihood {:.1}, of the true model {:.1}", fit.bound, truth.log_likelihood(&ratings)?);
    println!("mean rating of each film by taste:\n{:.1}", fit.model.means());
    Ok(fit.model.means())
}

fn main() -> Result<()> {
    learn().map(drop)
}
