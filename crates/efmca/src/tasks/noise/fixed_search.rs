//! The search for fixed parameters that are not given: by the likelihood, one at a time.

use std::borrow::Cow;

use ndarray::ArrayView1;
use rayon::prelude::*;

use super::candidates::{Candidate, SearchRange, rounded};
use super::peak::{Bracket, peak};
use crate::cancel;
use crate::family::Family;
use crate::family::cell::mean_statistics;
use crate::tasks::held_out::{Entries, needs_integrals};

/// Counts below this have $\log h$ computed once in a sum.
const KNOWN: usize = 256;

/// The sums that the M-step of one column needs.
pub(super) struct EntrySums {
    /// $\sum_n\log h(y^{(n)})$.
    log_h: f64,
    /// For each cause $\sum_n\mathbb E\lbrack\mathcal A_h\rbrack$ and, beside it, the same with $\vec T(y^{(n)})$.
    pub(super) weights: Vec<f64>,
    pub(super) t: Vec<Vec<f64>>,
}

impl EntrySums {
    /// No values yet.
    pub(super) fn empty(causes: usize, l: usize) -> EntrySums {
        EntrySums { log_h: 0.0, weights: vec![0.0; causes], t: vec![vec![0.0; l]; causes] }
    }

    /// Adds statistics to one cause.
    pub(super) fn add_to(&mut self, h: usize, r: f64, t: &[f64]) {
        self.weights[h] += r;
        self.t[h].iter_mut().zip(t).for_each(|(sum, t)| *sum += r * t);
    }

    /// Adds a value with its statistics to the causes that own it.
    fn add(&mut self, responsibilities: ArrayView1<'_, f64>, t: &[f64]) {
        // a value belongs to few of many causes
        responsibilities.iter().enumerate().filter(|(_, r)| **r > 0.0).for_each(|(h, r)| self.add_to(h, *r, t));
    }
}

impl Entries {
    /// The sums of the M-step with the statistics of `family`.
    pub(super) fn sums(&self, family: &dyn Family) -> EntrySums {
        let (l, causes) = (family.l(), self.responsibilities.ncols());
        let mut sums = EntrySums::empty(causes, l);
        let mut t = vec![0.0; l];
        // counts repeat, and the logarithm of a factorial takes longer than all the rest
        let mut known: Vec<Option<f64>> = vec![None; KNOWN];
        let rounded = needs_integrals(family.support().measure, &self.resolution);
        for (index, (y, responsibilities)) in self.y.iter().zip(self.responsibilities.outer_iter()).enumerate() {
            let count = self.counts.get(index).copied().unwrap_or(1.0);
            if let Some(cell) = self.resolution.cell(*y).filter(|_| rounded) {
                sums.log_h += count * mean_statistics(family, *y, cell, &mut t);
                sums.add(responsibilities, &t);
                continue;
            }
            let place = (y.fract() == 0.0).then_some(*y as usize).filter(|place| *y >= 0.0 && *place < KNOWN);
            sums.log_h += count
                * match place {
                    Some(place) => *known[place].get_or_insert_with(|| family.log_h(*y)),
                    None => family.log_h(*y),
                };
            family.t(*y, &mut t);
            sums.add(responsibilities, &t);
        }
        sums
    }

    /// $\sum_n\sum_h \mathbb E\lbrack\mathcal A_h\rbrack\log p(y^{(n)}; \vec\Phi(\vec w_h))$ with the best $\vec w_h$, which the M-step finds.
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

/// Rounds over several parameters, in a first search and near values that were found before.
const ROUNDS: usize = 4;
const ROUNDS_AGAIN: usize = 2;
/// Several parameters that moved by less than this, relatively, are found.
const STILL: f64 = 2e-3;
/// Steps from an integer to the next better one, at the most.
const MOST_INTEGER_STEPS: usize = 20;

/// The values of the candidate's searched parameters at which `columns` are most likely, given the responsibilities; near values
/// that were found before, if there are any.
pub(super) fn search(candidate: &Candidate, columns: &[Entries], before: Option<&[f64]>) -> Vec<f64> {
    let columns: Vec<Cow<'_, Entries>> = columns.iter().map(Entries::grouped).collect();
    let mut found = before.map_or_else(|| candidate.middle(), <[f64]>::to_vec);
    let rounds = match (found.len(), before) {
        (0 | 1, _) => 1,
        (_, None) => ROUNDS,
        (_, Some(_)) => ROUNDS_AGAIN,
    };
    for round in 0..rounds {
        let old = found.clone();
        for index in 0..found.len() {
            let range = candidate.ranges[index];
            let objective = |value: f64| -> f64 {
                cancel::check();
                let mut found = found.clone();
                found[index] = value;
                // what cannot be built or computed is not the best
                candidate.family(&found).map_or(f64::NEG_INFINITY, |family| {
                    let sum: f64 =
                        columns.par_iter().map(|column| column.objective(&*family)).collect::<Vec<f64>>().iter().sum();
                    if sum.is_nan() { f64::NEG_INFINITY } else { sum }
                })
            };
            let near = (round > 0 || before.is_some()).then(|| found[index].ln());
            found[index] = best_value(&range, near, objective);
        }
        if found.iter().zip(&old).all(|(new, old)| (new / old - 1.0).abs() < STILL) {
            break;
        }
    }
    found
}

/// The value of one parameter at which `objective` is highest. The search is in its logarithm.
fn best_value(range: &SearchRange, near: Option<f64>, objective: impl Fn(f64) -> f64) -> f64 {
    let logarithms = (range.low.ln(), range.high.ln());
    let logarithmic = |log: f64| objective(rounded(range, log.exp()));
    let bracket = Bracket::find(&logarithmic, logarithms, near);
    let mut best = rounded(range, peak(&logarithmic, bracket).exp());
    if range.integer {
        let mut highest = objective(best);
        for _ in 0..MOST_INTEGER_STEPS {
            let next = [best - 1.0, best + 1.0].into_iter().filter(|next| (range.low..=range.high).contains(next));
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
    use crate::error::Result;
    use crate::family::{family, from_conventional};
    use crate::model::Resolution;
    use crate::tasks::noise::Values;
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
            let found = search(&candidate, &[Entries::of_one(y, &Resolution::Continuous)], None)[0];
            let truth: f64 = made.split('=').nth(1).and_then(|text| text.parse().ok()).unwrap_or(f64::NAN);
            assert!((found / truth - 1.0).abs() < tolerance, "{made}: {found}");
        }
        Ok(())
    }
}
