//! Revival: causes that own nothing are started again.

use super::Held;
use super::init::mixed_row;
use super::m_step::MStep;
use super::run::Run;
use super::training::Training;
use crate::error::Result;
use crate::posterior::Moments;

/// Iterations that a cause needs after it was started again.
const TO_SETTLE: usize = 8;

impl Run<'_> {
    /// Whether causes may be started again in `iteration`: not where they are held or soon will be, since a cause needs time to
    /// settle (a spread may be held), and not in the last third of the training.
    fn may_revive(&self, iteration: usize) -> bool {
        let soon = |what: Held| !self.holds(what, iteration) && self.holds(what, iteration + TO_SETTLE);
        let settled = self.holds(Held::W(0), iteration) || soon(Held::W(0)) || soon(Held::Pi);
        self.em.revive && !settled && iteration + 1 < self.em.iterations / 3 * 2
    }

    /// Starts causes that own less than half a row anew, from the rows that are explained worst. Returns how many.
    pub(super) fn revive(&mut self, iteration: usize, moments: &Moments, m_step: &MStep<'_>) -> Result<usize> {
        let mut dead = dead(moments, self.training);
        if let Some(structure) = &self.em.structure {
            dead.retain(|h| !structure.knows(*h));
        }
        if dead.is_empty() || !self.may_revive(iteration) {
            return Ok(0);
        }
        let starts = self.worst_rows(dead.len())?;
        let revived = starts.len();
        for (h, (t, present)) in dead.into_iter().zip(starts) {
            let start = mixed_row(self.training.columns(), self.average, &t, &present, 0.5);
            for (d, family, span) in self.training.columns().iter() {
                let mut w = self.model.profile(h)[span.clone()].to_vec();
                let start: Vec<f64> = span.clone().map(|k| start[k]).collect();
                family.update(&start, &m_step.hold_w[..span.len()], &mut w);
                family.project(&mut w);
                self.model.set_entry(h, d, &w);
            }
            if !m_step.hold_pi {
                self.model.pi[h] = self.em.default_pi();
            }
        }
        Ok(revived)
    }

    /// The statistics of the `count` rows that are explained worst, without rows that are equal to one of them.
    fn worst_rows(&self, count: usize) -> Result<Vec<(Vec<f64>, Vec<bool>)>> {
        let ranks = self.training.ranks();
        let (first, fits) = ranks.agree(self.posteriors.row_bounds(), count as u64)?;
        let rows = self.training.own_rows().into_iter();
        let mut order: Vec<(f64, usize)> = rows.map(|n| (fits[n - first], n)).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        let own = different(order.into_iter().map(|(fit, n)| (fit, self.training.row(n, None))), count);
        // exact posteriors are of all rows on all ranks
        if ranks.is_alone() || self.posteriors.shards().is_none() {
            return Ok(own.into_iter().map(|(_, row)| row).collect());
        }
        // what is among the worst of all rows is among the worst of its rank, and ranks have their rows in order
        let mut all = ranks.gather_all(own)?.concat();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(different(all.into_iter(), count).into_iter().map(|(_, row)| row).collect())
    }
}

/// The first `count` rows that differ from those before them.
fn different(rows: impl Iterator<Item = (f64, StatisticsOfRow)>, count: usize) -> Vec<(f64, StatisticsOfRow)> {
    let mut found: Vec<(f64, StatisticsOfRow)> = Vec::new();
    for (fit, row) in rows {
        if found.len() == count {
            break;
        }
        if !found.iter().any(|(_, other)| *other == row) {
            found.push((fit, row));
        }
    }
    found
}

/// The statistics of a row, and which columns are present.
type StatisticsOfRow = (Vec<f64>, Vec<bool>);

/// Causes that own less than half a row. A row of weight two is two rows, and where rows weigh less than one on average their
/// weights have some other unit, so that half of an average row counts.
fn dead(moments: &Moments, training: &Training) -> Vec<usize> {
    let owned = |h: &usize| moments.assigned.row(*h).iter().copied().fold(0.0, f64::max);
    (0..moments.active.len()).filter(|h| owned(h) < 0.5 * training.mean_weight().min(1.0)).collect()
}
