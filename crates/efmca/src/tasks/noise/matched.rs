//! Families compared with the same posteriors, so that nothing but the noise differs between them.
//!
//! Two families that are trained for themselves end with other causes in other places, even from the same start. What that
//! does to single hidden pixels is much more than what two similar noises do, and hides it. Here all families are
//! given the posteriors of each of them in turn: parameters by one M-step, hidden entries scored with the same $q$ for
//! all. Averaged over whose posteriors they are, no family has an advantage. `docs/NOISE.md` has what came out.

use ndarray::Array1;

use super::{NoiseType, Scores, Split, Trial};
use crate::em::Init;
use crate::error::Result;
use crate::model::Tables;

impl NoiseType {
    /// The scores of each of `trials` on the hidden entries, averaged over the posteriors of all of them; nothing if
    /// `go_on` says no.
    pub(super) fn matched(
        &self,
        trials: &[&Trial],
        split: &Split,
        whole: bool,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<Scores>>> {
        let mut found: Vec<Option<Scores>> = vec![None; trials.len()];
        let share = 1.0 / trials.len() as f64;
        for fit in trials.iter().map(|trial| &trial.best.fit) {
            let (posteriors, given) = (split.posteriors(fit)?, &fit.model);
            let tables = Tables::new(given);
            for (trial, sum) in trials.iter().zip(&mut found) {
                let em = self.em(&*split.seen).family(trial.best.family.clone()).seed(self.seed).iterations(0);
                let model = em.init(Init::Posteriors(Box::new(given.clone()))).run(&*split.seen)?.model;
                let scores = split.scores_given(&model, &posteriors, &tables, |_| whole).scaled(share);
                *sum = Some(match sum.take() {
                    Some(before) => before.plus(&scores),
                    None => scores,
                });
                if !go_on() {
                    return Ok(None);
                }
            }
        }
        Ok(found.into_iter().collect())
    }
}

impl Scores {
    fn scaled(mut self, factor: f64) -> Scores {
        self.rows.iter_mut().for_each(|row| *row *= factor);
        self
    }

    /// The sum of two scores of the same entries.
    fn plus(mut self, other: &Scores) -> Scores {
        self.rows = (Array1::from(self.rows) + Array1::from(other.rows.clone())).to_vec();
        self
    }
}
