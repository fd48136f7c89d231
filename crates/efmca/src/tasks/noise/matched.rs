//! Families compared with the same posteriors, so that nothing but the noise differs between them.
//!
//! Two families that are trained for themselves end with other causes in other places, even from the same start. That changes
//! the scores of single held-out pixels much more than two similar noises do, and hides these. Here all families are
//! given the posteriors of each of them in turn: parameters by one M-step, held-out entries scored with the same $q$ for
//! all. Averaged over whose posteriors they are, no family has an advantage. `docs/NOISE.md` has the results.

use super::trainer::Trainer;
use super::trials::Trial;
use crate::em::{Fit, Observer, Progress};
use crate::error::Result;
use crate::model::Tables;
use crate::tasks::held_out::{Posteriors, Scores};

impl Trainer<'_, '_> {
    /// The scores of each of `trials` on the held-out entries with the posteriors of one of them, whose training is `fit`, as a part of
    /// their average over all; nothing if `observer` asks to stop.
    pub(super) fn matched(
        &self,
        trials: &[&Trial],
        fit: &Fit,
        observer: &mut Observer<'_>,
    ) -> Result<Option<Vec<Scores>>> {
        let (seen, share) = (&*self.split.seen, 1.0 / trials.len() as f64);
        let (responsibilities, tables) = (self.split.responsibilities(fit)?, Tables::new(&fit.model));
        let posteriors = Posteriors { responsibilities: &responsibilities, tables: &tables };
        let mut found = Vec::with_capacity(trials.len());
        for trial in trials {
            let em = self.em(&trial.best.family).iterations(0).seed(self.comparison.seed).with_posteriors_of(fit);
            let model = em.run(seen)?.model;
            found.push(self.split.scores_given(&model, posteriors, |_| self.resolution).scaled(share));
            if observer(&Progress::of_stage("", found.len(), trials.len())).is_break() {
                return Ok(None);
            }
        }
        Ok(Some(found))
    }
}
