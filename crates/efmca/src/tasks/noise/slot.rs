//! The candidates of one column of a table, and sweeps over all columns.

use std::ops::ControlFlow;

use ndarray::ArrayView1;
use rayon::prelude::*;

use super::candidates::{Candidate, Refusal, candidates, for_one_value};
use super::column::{ColumnMixture, ColumnScore, Rows, SentScore};
use super::table::{ColumnFamily, ColumnTrial};
use super::values::{Kind, Values};
use crate::error::{Error, Result};
use crate::family::cell::reaches;
use crate::family::{FamilySpec, Measure, SharedFamily, check};
use crate::model::Resolution;
use crate::ranks;
use crate::tasks::held_out::ties;

/// Threads for each of the columns that are worked on at a time; the candidates of a column are spread over them.
const THREADS: usize = 4;
/// Columns that each of several ranks works on before they tell each other.
const COLUMNS_OF_RANK: usize = 4;
/// Nats by which families that are not meant first are held back in ties.
const PREFERENCE: f64 = 3.0;
/// Candidates of a column that later sweeps look at again.
const KEPT: usize = 5;

/// A column and the families that it can have.
pub(super) struct Slot {
    fixed: bool,
    kind: Kind,
    pub(super) resolution: Resolution,
    /// The number of codes, if they are few.
    few_codes: Option<usize>,
    /// Whether there are zeros.
    zeros: bool,
    candidates: Vec<Candidate>,
    refused: Vec<Refusal>,
    trials: Vec<ColumnTrial>,
    /// The best family of the column by itself.
    alone: Option<ColumnScore>,
    /// The best family so far.
    pub(super) family: SharedFamily,
}

impl Slot {
    /// Column `d`, with the family and the resolution that were given for it.
    pub(super) fn new(
        rows: Rows<'_>,
        d: usize,
        fixed: Option<&FamilySpec>,
        resolution: Option<&Resolution>,
    ) -> Result<Slot> {
        let column = rows.full.column(d);
        let values = Values::of(column.iter().copied()).ok_or(Error::EmptyColumn { column: d })?;
        let values = match resolution {
            Some(resolution) => values.with_resolution(resolution.clone()),
            None => values,
        };
        if rows.seen.column(d).iter().all(|value| value.is_nan()) {
            return Err(Error::EmptyColumn { column: d });
        }
        let (found, refused) = match (fixed, for_one_value(&values)) {
            (Some(spec), _) => {
                let candidate = Candidate::of(spec, &values)?;
                check_column(&candidate.family(&candidate.middle())?, spec, column, d, &values.resolution)?;
                (vec![candidate], Vec::new())
            }
            (None, Some(candidate)) => (vec![candidate], candidates(&values).1),
            (None, None) => candidates(&values),
        };
        let first = found.first().ok_or_else(|| Error::Column {
            column: d,
            problem: format!("no family has values like its {}", values.words()),
        })?;
        let family = first.family(&first.middle())?;
        let (fixed, kind, few_codes) = (fixed.is_some(), values.kind, values.few_codes());
        let (zeros, resolution) = (column.iter().any(|value| *value == 0.0), values.resolution);
        Ok(Slot {
            fixed,
            kind,
            resolution,
            few_codes,
            zeros,
            candidates: found,
            refused,
            trials: Vec::new(),
            alone: None,
            family,
        })
    }

    /// The column as a result, still without verdicts.
    pub(super) fn finish(self) -> ColumnFamily {
        let trials = if self.fixed { Vec::new() } else { self.trials };
        ColumnFamily {
            family: self.family,
            fixed: self.fixed,
            kind: self.kind,
            resolution: self.resolution,
            few_codes: self.few_codes,
            trials,
            refused: self.refused,
            verdict: None,
            alone: None,
        }
    }

    /// Nats that a family is ahead before anything is measured. A rounded measurement and a count, or ordered codes, can have nearly
    /// the same probabilities; then the rounded measurement is meant, unless there are zeros, which counts have.
    fn preference(&self, family: &SharedFamily) -> f64 {
        let (counting, whole) = (family.support().measure == Measure::Counting, self.kind == Kind::Integer);
        let held_back = if counting { same_name(family, "ordinal") || !self.zeros } else { self.zeros };
        if held_back && (whole || counting) { -PREFERENCE } else { 0.0 }
    }

    /// Tries all candidates; nothing for those that cannot be computed with these values.
    fn try_all(&self, column: &ColumnMixture) -> Tried<ColumnScore> {
        let scores = self.candidates.par_iter().map(|candidate| column.try_family(candidate)).collect();
        Tried { by_itself: column.is_by_itself(), scores }
    }

    /// What another rank tried.
    fn received(&self, Tried { by_itself, scores }: Tried<SentScore>) -> Result<Tried<ColumnScore>> {
        let open = |(candidate, sent): (&Candidate, Option<SentScore>)| {
            sent.map(|sent| ColumnScore::received(candidate, sent)).transpose()
        };
        let scores = self.candidates.iter().zip(scores).map(open).collect::<Result<_>>()?;
        Ok(Tried { by_itself, scores })
    }

    /// Takes the best candidate by the rule for ties.
    fn choose(&mut self, Tried { by_itself, scores }: Tried<ColumnScore>) {
        let scored = self.candidates.iter().zip(scores);
        let mut scored: Vec<(&Candidate, ColumnScore)> =
            scored.filter_map(|(candidate, score)| Some((candidate, score?))).collect();
        scored.sort_by(|(_, a), (_, b)| b.scores.mean().total_cmp(&a.scores.mean()));
        let Some(first) = scored.first().map(|(_, first)| first.scores.clone()) else { return };
        let trial = |one: &ColumnScore| {
            let behind = first.lead(&one.scores);
            let tied = ties::FAMILIES.ties(behind, first.entries, 0.0);
            ColumnTrial { family: one.family.clone(), held_out: one.scores.mean(), behind, tied }
        };
        let trials: Vec<ColumnTrial> = scored.iter().map(|(_, one)| trial(one)).collect();
        let standing = |(trial, (_, one)): (&ColumnTrial, &(&Candidate, ColumnScore))| ties::Standing {
            tied: trial.tied,
            held_out: trial.held_out,
            bic: Some(one.bic + self.preference(&one.family)),
            parameters: one.parameters,
            luck: 0.0,
        };
        let standings: Vec<ties::Standing> = trials.iter().zip(&scored).map(standing).collect();
        let order = ties::order_by_bic(&standings);
        // by itself a column looks wider than it is, so that nothing is left out before the others were looked at
        // and nothing that ties is left out while the families of the others change
        let tied = trials.iter().filter(|trial| trial.tied).count();
        let kept = if by_itself { order.len() } else { KEPT.max(tied) };
        let candidates = order.iter().take(kept).map(|place| scored[*place].0.clone()).collect();
        let again: Vec<ColumnTrial> = order.iter().map(|place| trials[*place].clone()).collect();
        // causes that say nothing about a column are a detour to its family
        let (best, predicts_best) = (&scored[order[0]].1, &scored[0].1);
        let alone = self.alone.as_ref().filter(|alone| {
            let behind = predicts_best.scores.lead(&alone.scores);
            !by_itself && alone.bic >= best.bic && ties::FAMILIES.ties(behind, alone.scores.entries, 0.0)
        });
        if let Some(alone) = alone {
            self.family = alone.family.clone();
            self.candidates = candidates;
            return;
        }
        if by_itself {
            self.alone = Some(best.clone());
        }
        self.family = again[0].family.clone();
        self.candidates = candidates;
        // families that only the first sweep looked at stay in the list
        let is_new = |old: &ColumnTrial| !again.iter().any(|new| same_name(&new.family, &old.family.spec()));
        let rest: Vec<ColumnTrial> = self.trials.drain(..).filter(is_new).collect();
        self.trials = again.into_iter().chain(rest).collect();
    }
}

/// The candidates of a column as they were tried: whether nothing is known of the other columns, and a score for each that has one.
struct Tried<T> {
    by_itself: bool,
    scores: Vec<Option<T>>,
}

/// Tries the candidates of all columns until `tell` asks to stop, each in the mixture that `column` makes of it. A few columns are
/// worked on at a time, so that it is asked often; the result does not depend on how many, nor on which rank tried which of them.
/// Returns how many are done.
pub(super) fn sweep(
    slots: &mut [Slot],
    tell: &mut dyn FnMut(&str, usize) -> ControlFlow<()>,
    column: impl Fn(usize, &Slot) -> ColumnMixture + Sync,
) -> Result<usize> {
    let (ranks, columns, mut done) = (ranks::current(), slots.len(), 0);
    // ranks can have different numbers of threads, and are all asked at the same columns
    let most = match ranks.is_alone() {
        true => rayon::current_num_threads().div_ceil(THREADS),
        false => ranks.count() * COLUMNS_OF_RANK,
    };
    while done < columns {
        let several = most.min(columns - done);
        let own = ranks.own(several);
        let tried: Vec<(usize, Tried<ColumnScore>)> = (done + own.start..done + own.end)
            .into_par_iter()
            .map(|d| (d, slots[d].try_all(&column(d, &slots[d]))))
            .collect();
        if ranks.is_alone() {
            tried.into_iter().for_each(|(d, tried)| slots[d].choose(tried));
        } else {
            let sent = |(d, tried): (usize, Tried<ColumnScore>)| {
                let scores = tried.scores.into_iter().map(|score| score.map(ColumnScore::sent)).collect::<Vec<_>>();
                (d, tried.by_itself, scores)
            };
            let all = ranks.gather_all(tried.into_iter().map(sent).collect::<Vec<_>>())?;
            for (d, by_itself, scores) in all.into_iter().flatten() {
                if let Some(slot) = slots.get_mut(d) {
                    let tried = slot.received(Tried { by_itself, scores })?;
                    slot.choose(tried);
                }
            }
        }
        done += several;
        if tell(&format!("families of {done} of {columns} columns"), several).is_break() {
            break;
        }
    }
    Ok(done)
}

/// Whether a family has this name, whatever its fixed parameters are.
pub(super) fn same_name(family: &SharedFamily, spec: &str) -> bool {
    family.spec().split(':').next() == spec.split(':').next()
}

/// Whether a family can have all values of column `d`. The error names it as it was given, since its fixed parameters may still be
/// searched.
pub(crate) fn check_column(
    family: &SharedFamily,
    given: &FamilySpec,
    column: ArrayView1<'_, f64>,
    d: usize,
    resolution: &Resolution,
) -> Result<()> {
    let support = family.support();
    let wrong = |value: &f64| !value.is_nan() && !reaches(&support, *value, resolution.cell(*value));
    for (row, value) in column.iter().enumerate().filter(|(_, value)| wrong(value)) {
        check(&**family, *value, row, d).map_err(|error| match error {
            Error::OutsideSupport { row, column, value, support, .. } => {
                Error::OutsideSupport { row, column, value, family: given.spec(), support }
            }
            other => other,
        })?;
    }
    Ok(())
}
