//! Families compared with the same posteriors, so that nothing but the noise differs between them.
//!
//! Two families that are trained for themselves end with other causes in other places, even from the same start. That changes
//! the scores of single held-out pixels much more than two similar noises do, and hides these. Here all families are
//! given the posteriors of each of them in turn: parameters by one M-step, held-out entries scored with the same $q$ for
//! all. Averaged over whose posteriors they are, no family has an advantage. `docs/NOISE.md` has the results.

use std::ops::ControlFlow;

use super::trials::{Trainer, Trial};
use crate::error::Result;
use crate::model::Tables;
use crate::tasks::held_out::{Posteriors, Scores};

impl Trainer<'_, '_> {
    /// The scores of each of `trials` on the held-out entries, averaged over the posteriors of all of them; nothing if
    /// `observer` asks to stop.
    pub(super) fn matched(
        &self,
        trials: &[&Trial],
        observer: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Option<Vec<Scores>>> {
        let seen = &*self.split.seen;
        let mut found: Vec<Option<Scores>> = vec![None; trials.len()];
        let share = 1.0 / trials.len() as f64;
        for fit in trials.iter().map(|trial| &trial.best.fit) {
            let (responsibilities, tables) = (self.split.responsibilities(fit)?, Tables::new(&fit.model));
            let posteriors = Posteriors { responsibilities: &responsibilities, tables: &tables };
            for (trial, sum) in trials.iter().zip(&mut found) {
                let em = self.comparison.em(self.causes, seen).family(&trial.best.family).iterations(0);
                let em = em.resolutions(&self.learned);
                let em = em.seed(self.comparison.seed).with_posteriors_of(fit);
                let model = em.run(seen)?.model;
                let scores = self.split.scores_given(&model, posteriors, |_| self.resolution).scaled(share);
                *sum = Some(match sum.take() {
                    Some(before) => before.plus(&scores),
                    None => scores,
                });
                if observer().is_break() {
                    return Ok(None);
                }
            }
        }
        Ok(found.into_iter().collect())
    }
}
