//! The E-step behind one seam: posteriors over all states, or truncated ones.
//!
//! $$ q^{(n)}(\vec s) = p(\vec s | \vec y^{(n)}, \Theta) \qquad\text{or}\qquad q^{(n)}(\vec s) \propto p(\vec y^{(n)}, \vec s | \Theta) \text{ on } \mathcal K^{(n)} $$
//! (Algorithm 1 and Eqn. 41). The loop asks for moments and never for the states that they come from.

use super::checkpoint::refused;
use super::training::Training;
use crate::error::Result;
use crate::model::{Columns, Model, Statistics, Tables};
use crate::posterior::truncated::{Batch, Effort};
use crate::posterior::{Exact, Moments, Sets, StateSums, States, Truncated, Truncation};
use crate::ranks::{Ranks, Shards};

/// The posteriors of a run.
pub(super) trait EStep: Posteriors + Send {
    /// The E-step over all rows, with $q \propto p^\beta$; `keep` if [`Posteriors`] will be asked afterwards.
    fn e_step(&mut self, model: &Model, beta: f64, keep: bool) -> Result<(Moments, Effort)>;

    /// The E-step over one of several batches of rows, for incremental EM; `None` if posteriors are always made for all of them.
    fn e_step_of(&mut self, batch: Batch, model: &Model, beta: f64) -> Option<Result<(Moments, Effort)>>;

    /// How well each row was explained in the last E-step, and the first row that is here: all rows, or those of this rank.
    fn row_bounds(&self) -> Result<(usize, Vec<f64>)>;

    /// Frees what only [`Posteriors`] and [`EStep::row_bounds`] look at.
    fn forget(&mut self);

    /// The model without the `count` causes that the bound misses least; `all_at_once` if training is over.
    fn without_least_missed(&mut self, model: &Model, count: usize, all_at_once: bool) -> Result<Model>;

    /// The rows and how they are cut, if posteriors are truncated.
    fn shards(&self) -> Option<Shards>;

    /// The sets $\mathcal K^{(n)}$ of the rows of this rank, if posteriors are truncated.
    fn sets(&self) -> Option<&Sets>;

    /// Continues from the sets of all rows that another run had after this many E-steps.
    fn continue_from(&mut self, sets: Sets, e_steps: u64) -> Result<()>;

    /// E-steps that were done with these sets, which random numbers depend on.
    fn e_steps(&self) -> u64;

    /// The sets when the run is over, and $q$ of their states if the last E-step kept it.
    fn into_sets(self: Box<Self>) -> Option<(Sets, Option<Vec<f64>>)>;
}

/// The posteriors of the last E-step, which stay as they are while the parameters move.
pub(super) trait Posteriors {
    /// The moments with the winners that `model` has.
    fn moments(&mut self, model: &Model, tables: &Tables) -> Result<Moments>;

    /// The part of the bound that belongs to each column, with the parameters that `model` has.
    fn objectives(&mut self, model: &Model, tables: &Tables) -> Result<Vec<f64>>;

    /// The same with the parameters that the posteriors were made with.
    fn first_objectives(&self) -> Vec<f64>;
}

/// The posteriors that `training` is made for, to start from `model` or from the sets of an earlier run.
pub(super) fn posteriors_of<'a>(training: &'a Training, model: &Model, seed: u64) -> Box<dyn EStep + 'a> {
    match training {
        Training::Exact(statistics, ranks) => Box::new(ExactStep::new(statistics, ranks)),
        Training::Truncated { observed, truncation, substitutes, .. } => {
            Box::new(TruncatedStep::new(Truncated::new(observed, truncation, model.h(), seed), substitutes))
        }
    }
}

/// Exact posteriors, and their sums over rows for each state.
pub(super) struct ExactStep<'a> {
    statistics: &'a Statistics,
    /// The statistics that are summed: the same, unless one family's posteriors start another.
    summed: &'a Statistics,
    ranks: &'a Ranks,
    last: Option<(Exact, StateSums)>,
}

impl<'a> ExactStep<'a> {
    fn new(statistics: &'a Statistics, ranks: &'a Ranks) -> ExactStep<'a> {
        ExactStep { statistics, summed: statistics, ranks, last: None }
    }

    /// Posteriors of `scored`, summed with other statistics of the same rows.
    pub(super) fn for_other(scored: &'a Statistics, summed: &'a Statistics, ranks: &'a Ranks) -> ExactStep<'a> {
        ExactStep { statistics: scored, summed, ranks, last: None }
    }

    fn columns(&self) -> &Columns {
        &self.summed.columns
    }
}

impl EStep for ExactStep<'_> {
    fn e_step(&mut self, model: &Model, beta: f64, _keep: bool) -> Result<(Moments, Effort)> {
        let exact = Exact::new(model)?;
        let sums = exact.e_step_over(self.ranks, self.statistics, self.summed, beta)?;
        let moments = exact.states().distribute(self.columns(), &sums);
        self.last = Some((exact, sums));
        Ok((moments, Effort::default()))
    }

    fn e_step_of(&mut self, _: Batch, _: &Model, _: f64) -> Option<Result<(Moments, Effort)>> {
        None
    }

    fn row_bounds(&self) -> Result<(usize, Vec<f64>)> {
        let of = |(exact, _): &(Exact, StateSums)| Ok(exact.log_likelihoods(self.statistics)?.to_vec());
        Ok((0, self.last.as_ref().map_or(Ok(Vec::new()), of)?))
    }

    fn forget(&mut self) {
        self.last = None;
    }

    fn without_least_missed(&mut self, model: &Model, count: usize, _: bool) -> Result<Model> {
        let mut left = model.clone();
        for _ in 0..count {
            let mut best: Option<(f64, Model)> = None;
            for cause in 0..left.h() {
                let without = left.with_causes(&others(left.h(), &[cause]));
                let exact = Exact::new(&without)?;
                let bound = exact.e_step_over(self.ranks, self.statistics, self.statistics, 1.0)?.bound;
                if best.as_ref().is_none_or(|(highest, _)| bound > *highest) {
                    best = Some((bound, without));
                }
            }
            left = best.map_or(left, |(_, without)| without);
        }
        Ok(left)
    }

    fn shards(&self) -> Option<Shards> {
        None
    }

    fn sets(&self) -> Option<&Sets> {
        None
    }

    fn continue_from(&mut self, _: Sets, _: u64) -> Result<()> {
        Ok(())
    }

    fn e_steps(&self) -> u64 {
        0
    }

    fn into_sets(self: Box<Self>) -> Option<(Sets, Option<Vec<f64>>)> {
        None
    }
}

impl Posteriors for ExactStep<'_> {
    fn moments(&mut self, model: &Model, tables: &Tables) -> Result<Moments> {
        Ok(self.last.as_ref().map_or_else(
            || Moments::zeros(model.h(), self.columns()),
            |(_, sums)| States::new(model, tables).distribute(self.columns(), sums),
        ))
    }

    fn objectives(&mut self, model: &Model, tables: &Tables) -> Result<Vec<f64>> {
        let of =
            |(_, sums): &(Exact, StateSums)| States::new(model, tables).column_objectives(tables, self.columns(), sums);
        Ok(self.last.as_ref().map_or_else(Vec::new, of))
    }

    fn first_objectives(&self) -> Vec<f64> {
        let of =
            |(exact, sums): &(Exact, StateSums)| exact.states().column_objectives(exact.tables(), self.columns(), sums);
        self.last.as_ref().map_or_else(Vec::new, of)
    }
}

/// Truncated posteriors, and the moments of the last E-step with the tables it was made with.
pub(super) struct TruncatedStep<'a> {
    pub(super) truncated: Truncated<'a>,
    /// How states without a cause are proposed.
    substitutes: &'a Truncation,
    first: Option<(Tables, Moments)>,
}

impl<'a> TruncatedStep<'a> {
    pub(super) fn new(truncated: Truncated<'a>, substitutes: &'a Truncation) -> TruncatedStep<'a> {
        TruncatedStep { truncated, substitutes, first: None }
    }

    /// Takes `moments` for those of the last E-step, which had `tables`.
    pub(super) fn adopt(&mut self, tables: Tables, moments: Moments) {
        self.first = Some((tables, moments));
    }
}

impl EStep for TruncatedStep<'_> {
    fn e_step(&mut self, model: &Model, beta: f64, keep: bool) -> Result<(Moments, Effort)> {
        let (moments, effort) = self.truncated.e_step(model, beta, keep)?;
        self.first = keep.then(|| (Tables::for_posteriors(model), moments.clone()));
        Ok((moments, effort))
    }

    fn e_step_of(&mut self, batch: Batch, model: &Model, beta: f64) -> Option<Result<(Moments, Effort)>> {
        Some(self.truncated.e_step_of(batch, model, beta))
    }

    fn row_bounds(&self) -> Result<(usize, Vec<f64>)> {
        Ok((self.truncated.share().first(), self.truncated.bounds().to_vec()))
    }

    fn forget(&mut self) {
        self.first = None;
    }

    fn without_least_missed(&mut self, model: &Model, count: usize, all_at_once: bool) -> Result<Model> {
        let mut model = model.clone();
        // half at a time, as in training, where all must go at once
        let mut left = count;
        while left > 0 {
            let now = if all_at_once { left.div_ceil(2) } else { left };
            let spared = self.truncated.least_missed(&model, self.substitutes, now)?;
            let kept = others(model.h(), &spared);
            model = model.with_causes(&kept);
            self.truncated = self.truncated.with_causes(&kept);
            left -= now;
        }
        Ok(model)
    }

    fn shards(&self) -> Option<Shards> {
        Some(self.truncated.share().shards)
    }

    fn sets(&self) -> Option<&Sets> {
        Some(self.truncated.sets())
    }

    fn continue_from(&mut self, sets: Sets, e_steps: u64) -> Result<()> {
        let (own, share) = (self.truncated.sets(), self.truncated.share());
        if (sets.n(), sets.h(), sets.s()) != (share.n(), own.h(), own.s()) {
            return Err(refused("its sets of states have another size than its settings say"));
        }
        let sets = if share.ranks.is_alone() { sets } else { sets.of_rows(share.rows()) };
        self.truncated = self.truncated.clone().with_sets(sets).after(e_steps);
        Ok(())
    }

    fn e_steps(&self) -> u64 {
        self.truncated.e_steps()
    }

    fn into_sets(self: Box<Self>) -> Option<(Sets, Option<Vec<f64>>)> {
        let (sets, q) = self.truncated.into_sets_and_q();
        Some((sets, Some(q).filter(|q| !q.is_empty())))
    }
}

impl Posteriors for TruncatedStep<'_> {
    fn moments(&mut self, model: &Model, tables: &Tables) -> Result<Moments> {
        let again = self.truncated.redistribute(model, tables)?;
        Ok(match &self.first {
            Some((_, first)) => {
                Moments { active: first.active.clone(), weight: first.weight, bound: first.bound, ..again }
            }
            None => again,
        })
    }

    fn objectives(&mut self, model: &Model, tables: &Tables) -> Result<Vec<f64>> {
        Ok(self.truncated.redistribute(model, tables)?.objectives(model.columns(), tables))
    }

    fn first_objectives(&self) -> Vec<f64> {
        self.first.as_ref().map_or_else(Vec::new, |(tables, first)| first.objectives(self.truncated.columns(), tables))
    }
}

/// All causes but these.
fn others(h: usize, without: &[usize]) -> Vec<usize> {
    (0..h).filter(|cause| !without.contains(cause)).collect()
}
