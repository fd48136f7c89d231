//! Parameters from the posteriors of another model, whose owners stay the owners.
//!
//! The M-step takes the owners of the model that the posteriors come from. Its own parameters may put causes that are close
//! to each other in another order, and then others own what the posteriors are about: a model that was found with
//! much effort is lost at once, even if the new family is nearly the old one. With the order given, the likelihood is highest at the
//! isotonic regression of the averaged statistics (for families with one statistic, exactly): neighbours that changed
//! places are pooled until none is left, and causes with equal parameters may own in any order.

use super::e_step::Posteriors;
use super::m_step::MStep;
use crate::error::Result;
use crate::model::{Model, Tables};
use crate::posterior::Moments;

/// Causes that share their parameters in a column.
struct Pool {
    causes: Vec<usize>,
    count: f64,
    sums: Vec<f64>,
    w: Vec<f64>,
    strength: f64,
}

impl MStep<'_> {
    /// The parameters for `posteriors` whose owners were those of `tables`, in each column with the order of these owners or
    /// without it, whichever has the higher bound.
    pub(super) fn adopt(
        &self,
        mut model: Model,
        moments: &Moments,
        posteriors: &mut (impl Posteriors + ?Sized),
        tables: &Tables,
    ) -> Result<Model> {
        self.apply(&mut model, moments);
        let mut ordered = model.clone();
        let columns = model.columns().clone();
        for d in 0..columns.d() {
            for pool in self.pools(&model, moments, &owners_in_order(tables, d), d) {
                pool.causes.iter().for_each(|h| ordered.set_entry(*h, d, &pool.w));
            }
        }
        let mut reached = |model: &Model| -> Result<Vec<f64>> {
            let tables = Tables::for_posteriors(model);
            let mut objectives = posteriors.objectives(model, &tables)?;
            self.add_pseudo_counts(model, &tables, &mut objectives);
            Ok(objectives)
        };
        let (free, kept) = (reached(&model)?, reached(&ordered)?);
        for (d, _, span) in columns.iter().filter(|(d, _, _)| kept[*d] > free[*d] || free[*d].is_nan()) {
            for h in 0..=model.h() {
                let w = ordered.profile(h)[span.clone()].to_vec();
                model.set_entry(h, d, &w);
            }
        }
        Ok(model)
    }

    /// Pool adjacent violators: `order` from the strongest to the weakest, entries of column `d` of `model`.
    fn pools(&self, model: &Model, moments: &Moments, order: &[usize], d: usize) -> Vec<Pool> {
        let (family, span) = (model.columns().family(d).clone(), model.columns().span(d));
        let kappa = self.pseudo_counts.of(&*family);
        let strength = |w: &[f64]| model.superposition.strength(family.dominance(w));
        let mut pools: Vec<Pool> = Vec::with_capacity(order.len());
        for &h in order {
            if h == model.h() && !model.background_learned {
                // what is given is no part of any pool: a cause that would fall below it stays beside it, and the rest own nothing
                let given = &model.profile(h)[span.clone()];
                let below = |pool: &&mut Pool| pool.strength < strength(given);
                pools.iter_mut().filter(below).for_each(|pool| pool.w = given.to_vec());
                break;
            }
            let sums = span.clone().map(|k| moments.sums[[h, k]] + kappa * self.average[k]).collect::<Vec<f64>>();
            let w = model.profile(h)[span.clone()].to_vec();
            let count = moments.assigned[[h, d]] + kappa;
            let mut pool = Pool { causes: vec![h], count, sums, strength: strength(&w), w };
            while let Some(above) = pools.pop_if(|above| above.strength < pool.strength) {
                pool.causes.extend(above.causes);
                pool.count += above.count;
                pool.sums.iter_mut().zip(&above.sums).for_each(|(sum, more)| *sum += more);
                pool.w = pool.sums.iter().map(|sum| sum / pool.count).collect();
                family.project(&mut pool.w);
                pool.strength = strength(&pool.w);
            }
            pools.push(pool);
        }
        pools
    }
}

/// All causes and the background, from the strongest in column `d` to the weakest.
fn owners_in_order(tables: &Tables, d: usize) -> Vec<usize> {
    let mut order: Vec<usize> = tables.winners.down_to_background(d).iter().map(|h| usize::from(*h)).collect();
    let never = (0..=tables.winners.background()).filter(|h| !order.contains(h)).collect::<Vec<usize>>();
    order.extend(never);
    order
}
