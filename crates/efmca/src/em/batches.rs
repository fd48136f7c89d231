//! Updating the parameters after each part of the rows.

use super::e_step::EStep;
use super::m_step::MStep;
use crate::error::Result;
use crate::model::Model;
use crate::posterior::Moments;
use crate::posterior::truncated::Effort;
use crate::ranks::Shards;

/// Rows of a part, at the least.
const SMALLEST: usize = 256;

/// The moments of each part, from its last E-step.
#[derive(Debug, Default)]
pub(super) struct Parts(Vec<Moments>);

impl From<Vec<Moments>> for Parts {
    fn from(moments: Vec<Moments>) -> Parts {
        Parts(moments)
    }
}

impl Parts {
    pub(super) fn moments(&self) -> &[Moments] {
        &self.0
    }

    /// One pass over all rows in `count` parts, with an M-step after each; only the first pass goes over all rows before
    /// its M-step. Returns the model, all moments, and what it took.
    pub(super) fn step(
        &mut self,
        count: usize,
        posteriors: &mut (impl EStep + ?Sized),
        model: &Model,
        m_step: &MStep<'_>,
        beta: f64,
    ) -> Result<(Model, Moments, Effort)> {
        let n = posteriors.shards().map_or(0, |shards: Shards| shards.n());
        let count = count.min(n / SMALLEST).max(1);
        // spare causes that were taken away leave moments of another size
        let fits = |part: &Moments| part.active.len() == model.h();
        let first = self.0.len() != count || !self.0.iter().all(fits);
        let mut model = model.clone();
        let mut effort = Effort::default();
        if first {
            self.0.clear();
        }
        for part in 0..count {
            let Some(step) = posteriors.e_step_of((part, count), &model, beta) else { break };
            let (moments, work) = step?;
            effort.evaluations += work.evaluations;
            effort.replaced += work.replaced;
            if first {
                self.0.push(moments);
            } else {
                self.0[part] = moments;
                let all = self.sum(&model);
                m_step.apply(&mut model, &all);
            }
        }
        let all = self.sum(&model);
        if first {
            m_step.apply(&mut model, &all);
        }
        Ok((model, all, effort))
    }

    fn sum(&self, model: &Model) -> Moments {
        let mut sum = Moments::zeros(model.h(), model.columns());
        self.0.iter().for_each(|part| sum.add(part));
        sum
    }
}
