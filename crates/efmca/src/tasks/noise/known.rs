//! Known parameters that nobody knows: found by the likelihood, one at a time.

use ndarray::Array2;
use rayon::prelude::*;

use super::candidates::{Candidate, Unknown, rounded};
use super::peak::{Bracket, peak};
use crate::error::Result;
use crate::family::Family;

/// The values of a column, and how likely each cause is to own each of them.
#[derive(Debug, Clone)]
pub(crate) struct Owned {
    /// The values that are there.
    pub(crate) y: Vec<f64>,
    /// For each of them the probability of each cause and, last, of the background.
    pub(crate) owner: Array2<f64>,
}

/// What the M-step for one column needs.
pub(super) struct OwnedSums {
    /// $\sum_n\log h(y^{(n)})$.
    log_h: f64,
    /// For each owner $\sum_n\mathbb E\lbrack\mathcal A_h\rbrack$ and, beside it, the same with $\vec T(y^{(n)})$.
    pub(super) weights: Vec<f64>,
    pub(super) t: Vec<Vec<f64>>,
}

impl Owned {
    /// Values that all have the same owner.
    pub(crate) fn by_one(y: Vec<f64>) -> Owned {
        let owner = Array2::ones((y.len(), 1));
        Owned { y, owner }
    }

    /// The sums of the M-step with the statistics of `family`.
    pub(super) fn sums(&self, family: &dyn Family) -> OwnedSums {
        let (l, owners) = (family.l(), self.owner.ncols());
        let mut sums = OwnedSums { log_h: 0.0, weights: vec![0.0; owners], t: vec![vec![0.0; l]; owners] };
        let mut t = vec![0.0; l];
        for (y, owner) in self.y.iter().zip(self.owner.outer_iter()) {
            sums.log_h += family.log_h(*y);
            family.t(*y, &mut t);
            for ((q, weight), sum) in owner.iter().zip(&mut sums.weights).zip(&mut sums.t) {
                *weight += q;
                sum.iter_mut().zip(&t).for_each(|(sum, t)| *sum += q * t);
            }
        }
        sums
    }

    /// $\sum_n\sum_h \mathbb E\lbrack\mathcal A_h\rbrack\log p(y^{(n)}; \vec\Phi(\vec w_h))$ with the best $\vec w_h$, which is what the M-step finds.
    fn objective(&self, family: &dyn Family) -> f64 {
        let sums = self.sums(family);
        let mut eta = vec![0.0; family.l()];
        let mut objective = sums.log_h;
        for (weight, t) in sums.weights.iter().zip(&sums.t).filter(|(weight, _)| **weight > 1e-6) {
            let average: Vec<f64> = t.iter().map(|sum| sum / weight).collect();
            let mut w = average.clone();
            family.project(&mut w);
            family.phi(&w, &mut eta);
            let inner: f64 = eta.iter().zip(&average).map(|(eta, t)| eta * t).sum();
            objective += weight * (inner - family.a(&eta));
        }
        objective
    }
}

/// Rounds over several parameters, and if there are values that were found before.
const ROUNDS: usize = 4;
const ROUNDS_AGAIN: usize = 2;
/// Several parameters that moved by less than this, relatively, are found.
const STILL: f64 = 2e-3;
/// Whole numbers are followed this far to the next better one.
const MOST_WHOLE_STEPS: usize = 20;

/// The values of the candidate's unknown parameters at which `columns` are most likely, given who owns what; near to values that
/// were found before, if there are any.
pub(crate) fn search(candidate: &Candidate, columns: &[Owned], before: Option<&[f64]>) -> Result<Vec<f64>> {
    let mut known = before.map_or_else(|| candidate.middle(), <[f64]>::to_vec);
    let rounds = match (known.len(), before) {
        (0 | 1, _) => 1,
        (_, None) => ROUNDS,
        (_, Some(_)) => ROUNDS_AGAIN,
    };
    for round in 0..rounds {
        let old = known.clone();
        for index in 0..known.len() {
            let unknown = candidate.unknown[index];
            let objective = |value: f64| -> f64 {
                let mut known = known.clone();
                known[index] = value;
                // what cannot be built or computed is not the best
                candidate.family(&known).map_or(f64::NEG_INFINITY, |family| {
                    let sum: f64 =
                        columns.par_iter().map(|column| column.objective(&*family)).collect::<Vec<f64>>().iter().sum();
                    if sum.is_nan() { f64::NEG_INFINITY } else { sum }
                })
            };
            let near = (round > 0 || before.is_some()).then(|| known[index].ln());
            known[index] = best_value(&unknown, near, objective);
        }
        if known.iter().zip(&old).all(|(new, old)| (new / old - 1.0).abs() < STILL) {
            break;
        }
    }
    Ok(known)
}

/// The value of one parameter at which `objective` is highest. The search is in its logarithm.
fn best_value(unknown: &Unknown, near: Option<f64>, objective: impl Fn(f64) -> f64) -> f64 {
    let range = (unknown.low.ln(), unknown.high.ln());
    let logarithmic = |log: f64| objective(rounded(unknown, log.exp()));
    let bracket = Bracket::find(&logarithmic, range, near);
    let mut best = rounded(unknown, peak(&logarithmic, bracket).exp());
    if unknown.whole {
        let mut highest = objective(best);
        for _ in 0..MOST_WHOLE_STEPS {
            let next = [best - 1.0, best + 1.0].into_iter().filter(|next| (unknown.low..=unknown.high).contains(next));
            let next = next.map(|next| (next, objective(next))).max_by(|a, b| a.1.total_cmp(&b.1));
            let Some((value, height)) = next.filter(|(_, height)| *height > highest) else { break };
            (best, highest) = (value, height);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{family, from_conventional};
    use crate::tasks::noise::candidates::Values;
    use rand::SeedableRng;

    #[test]
    fn the_shape_that_made_the_data_is_found() -> Result<()> {
        for (spec, made, parameters, tolerance) in [
            ("weibull", "weibull:k=1.7", vec![2.0], 0.05),
            ("negative-binomial", "negative-binomial:r=2.5", vec![0.3], 0.1),
            ("gamma:k=?", "gamma:k=4", vec![0.5], 0.05),
            ("nakagami", "nakagami:m=0.8", vec![3.0], 0.05),
        ] {
            let source = family(made)?;
            let eta = from_conventional(&*source, &parameters)?;
            let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(3);
            let y: Vec<f64> = (0..20_000).map(|_| source.sample(&eta, &mut rng)).collect();
            let values = Values::of(y.iter().copied()).unwrap_or_else(|| unreachable!("there are values"));
            let candidate = Candidate::parse(spec, &values)?;
            let found = search(&candidate, &[Owned::by_one(y)], None)?[0];
            let truth: f64 = made.split('=').nth(1).and_then(|text| text.parse().ok()).unwrap_or(f64::NAN);
            assert!((found / truth - 1.0).abs() < tolerance, "{made}: {found}");
        }
        Ok(())
    }
}
