//! Known parameters that nobody knows: found by the likelihood, one at a time.

use ndarray::{Array2, s};
use rayon::prelude::*;

use super::candidates::{Candidate, rounded};
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

impl Owned {
    /// Values that all have the same owner.
    pub(crate) fn by_one(y: Vec<f64>) -> Owned {
        let owner = Array2::ones((y.len(), 1));
        Owned { y, owner }
    }

    /// $\sum_n\sum_h \mathbb E\lbrack\mathcal A_h\rbrack\log p(y^{(n)}; \vec\Phi(\vec w_h))$ with the best $\vec w_h$, which is what the M-step finds.
    fn objective(&self, family: &dyn Family) -> f64 {
        let l = family.l();
        let mut t = Array2::zeros((self.y.len(), l));
        let mut sum = 0.0;
        for (y, mut row) in self.y.iter().zip(t.outer_iter_mut()) {
            sum += family.log_h(*y);
            if let Some(row) = row.as_slice_mut() {
                family.t(*y, row);
            }
        }
        let sums = self.owner.t().dot(&t);
        let weights = self.owner.sum_axis(ndarray::Axis(0));
        let mut eta = vec![0.0; l];
        for (h, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 1e-6) {
            let mut w: Vec<f64> = sums.slice(s![h, ..]).iter().map(|sum| sum / weight).collect();
            let average = w.clone();
            family.project(&mut w);
            family.phi(&w, &mut eta);
            let inner: f64 = eta.iter().zip(&average).map(|(eta, t)| eta * t).sum();
            sum += weight * (inner - family.a(&eta));
        }
        sum
    }
}

/// Points of the first look over a range.
const GRID: usize = 9;
/// Steps of the golden section after it.
const STEPS: usize = 14;
/// Rounds over several parameters.
const ROUNDS: usize = 4;

/// The values of the candidate's unknown parameters at which `columns` are most likely, given who owns what.
pub(crate) fn search(candidate: &Candidate, columns: &[Owned]) -> Result<Vec<f64>> {
    let mut known = candidate.middle();
    let rounds = if known.len() > 1 { ROUNDS } else { 1 };
    for _ in 0..rounds {
        for index in 0..known.len() {
            let unknown = candidate.unknown[index];
            let objective = |log: f64| -> f64 {
                let mut known = known.clone();
                known[index] = rounded(&unknown, log.exp());
                // what cannot be built or computed is not the best
                candidate.family(&known).map_or(f64::NEG_INFINITY, |family| {
                    let sum: f64 =
                        columns.par_iter().map(|column| column.objective(&*family)).collect::<Vec<f64>>().iter().sum();
                    if sum.is_nan() { f64::NEG_INFINITY } else { sum }
                })
            };
            known[index] = rounded(&unknown, maximum(objective, unknown.low.ln(), unknown.high.ln()).exp());
        }
    }
    Ok(known)
}

/// The place of the highest value between two ends: a grid, and the golden section around its best point.
fn maximum(objective: impl Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    if high <= low {
        return low;
    }
    let at = |index: usize| low + (high - low) * index as f64 / (GRID - 1) as f64;
    let values: Vec<f64> = (0..GRID).map(|index| objective(at(index))).collect();
    let best = (0..GRID).max_by(|a, b| values[*a].total_cmp(&values[*b])).unwrap_or(0);
    let (mut low, mut high) = (at(best.saturating_sub(1)), at((best + 1).min(GRID - 1)));
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    let (mut left, mut right) = (high - golden * (high - low), low + golden * (high - low));
    let (mut left_value, mut right_value) = (objective(left), objective(right));
    for _ in 0..STEPS {
        if left_value >= right_value {
            (high, right, right_value) = (right, left, left_value);
            left = high - golden * (high - low);
            left_value = objective(left);
        } else {
            (low, left, left_value) = (left, right, right_value);
            right = low + golden * (high - low);
            right_value = objective(right);
        }
    }
    // the ends of the range are places too
    let middle = 0.5 * (low + high);
    [middle, at(best)].into_iter().max_by(|a, b| objective(*a).total_cmp(&objective(*b))).unwrap_or(middle)
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
            let found = search(&candidate, &[Owned::by_one(y)])?[0];
            let truth: f64 = made.split('=').nth(1).and_then(|text| text.parse().ok()).unwrap_or(f64::NAN);
            assert!((found / truth - 1.0).abs() < tolerance, "{made}: {found}");
        }
        Ok(())
    }
}
