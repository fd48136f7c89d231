//! The M-step: parameters are moments divided by counts.

use ndarray::Array1;

use super::e_step::Posteriors;
use super::settings::Em;
use super::structure::Structure;
use crate::error::Result;
use crate::family::{Family, Measure};
use crate::model::{Columns, Model, Tables};
use crate::posterior::Moments;

/// The M-step of one iteration.
#[derive(Debug, Clone)]
pub(super) struct MStep<'a> {
    /// How many rows of average data are added to every entry.
    pub(super) pseudo_counts: PseudoCounts,
    /// The column means of $T$ that the pseudo-counts pull towards.
    pub(super) average: &'a Array1<f64>,
    /// How close to 0 and 1 the priors may come.
    pub(super) smallest_pi: f64,
    pub(super) hold_pi: bool,
    /// For each $l$, whether $W^{(l)}$ is held.
    pub(super) hold_w: Vec<bool>,
    pub(super) hold_background: bool,
    /// The weight of an average row.
    pub(super) mean_weight: f64,
    /// What is known of the causes.
    pub(super) structure: Option<&'a Structure>,
}

/// $\kappa$, the number of rows of average data in each entry of a column.
#[derive(Debug, Clone, Copy)]
pub(super) struct PseudoCounts {
    /// Where values are counts or codes.
    pub(super) counting: f64,
    /// Where the family has a density.
    pub(super) density: f64,
}

impl PseudoCounts {
    pub(super) fn at_least(self, least: f64) -> PseudoCounts {
        PseudoCounts { counting: self.counting.max(least), density: self.density.max(least) }
    }

    /// $\kappa$ of a column with this family.
    pub(super) fn of(self, family: &dyn Family) -> f64 {
        if family.support().measure == Measure::Counting { self.counting } else { self.density }
    }
}

impl Em {
    pub(super) fn pseudo_counts(&self) -> PseudoCounts {
        let density = self.density_pseudo_count.unwrap_or(self.pseudo_count);
        PseudoCounts { counting: self.pseudo_count, density }
    }
}

/// An entry that owns less than this many average rows keeps its parameters.
const NOTHING: f64 = 1e-12;

impl MStep<'_> {
    /// Eqns. 38-40 and 47, whose fixed points are those of Theorems 1 and 2 (Eqns. 30-31 and 46): $\pi_h = \frac1N\sum_n\mathbb E\lbrack s_h\rbrack $ and
    /// $W^{(l)}_{dh} = \frac{\sum_n\mathbb E\lbrack \mathcal A_{dh}\rbrack  T_l(y_d^{(n)})}{\sum_n\mathbb E\lbrack \mathcal A_{dh}\rbrack }$.
    pub(super) fn apply(&self, model: &mut Model, moments: &Moments) {
        if !self.hold_pi {
            for (pi, active) in model.pi.iter_mut().zip(&moments.active) {
                *pi = (active / moments.weight).clamp(self.smallest_pi, 1.0 - self.smallest_pi);
            }
        }
        let columns = model.columns.clone();
        for h in self.structure.map_or(0, Structure::held_causes)..model.h() {
            if let Some(row) = model.w.row_mut(h).as_slice_mut() {
                self.update_profile(&columns, moments, h, row);
            }
        }
        if model.background_learned
            && !self.hold_background
            && let Some(row) = model.background_w.as_slice_mut()
        {
            self.update_profile(&columns, moments, moments.active.len(), row);
        }
        if let Some(structure) = self.structure {
            structure.impose(model, moments, self);
        }
    }

    fn update_profile(&self, columns: &Columns, moments: &Moments, h: usize, profile: &mut [f64]) {
        for (d, _, span) in columns.iter() {
            self.update_entry(columns, moments, &[h], d, &mut profile[span]);
        }
    }

    /// The parameters of column `d` that causes `tied`, mostly one, have in common.
    pub(super) fn update_entry(&self, columns: &Columns, moments: &Moments, tied: &[usize], d: usize, w: &mut [f64]) {
        let (family, span) = (columns.family(d), columns.span(d));
        let kappa = self.pseudo_counts.of(&**family);
        let count = tied.iter().map(|h| moments.assigned[[*h, d]]).sum::<f64>() + kappa;
        if count < NOTHING * self.mean_weight {
            return;
        }
        let sum = |k: usize| tied.iter().map(|h| moments.sums[[*h, k]]).sum::<f64>();
        let t_bar: Vec<f64> = span.map(|k| (sum(k) + kappa * self.average[k]) / count).collect();
        family.update(&t_bar, &self.hold_w[..t_bar.len()], w);
        family.project(w);
    }

    /// The parameters from the moments of the posteriors: the fixed-point equation iterated `repeats` times with the same
    /// posteriors (the winners follow the new parameters).
    pub(super) fn update(
        &self,
        model: &Model,
        moments: &Moments,
        posteriors: &mut (impl Posteriors + ?Sized),
        repeats: usize,
    ) -> Result<Model> {
        let mut new = model.clone();
        self.apply(&mut new, moments);
        for _ in 1..repeats {
            let again = posteriors.moments(&new, &Tables::for_posteriors(&new))?;
            self.apply(&mut new, &again);
        }
        Ok(new)
    }
}

/// Halvings of a column's step before its old parameters are kept.
const HALVINGS: i32 = 6;

impl MStep<'_> {
    /// The pseudo-counts are data too: $\kappa$ rows with average statistics for every cause.
    pub(super) fn add_pseudo_counts(&self, model: &Model, tables: &Tables, objectives: &mut [f64]) {
        let causes = model.h() + usize::from(model.background_learned);
        for (d, family, span) in model.columns().iter() {
            let kappa = self.pseudo_counts.of(&**family);
            for h in 0..causes {
                let inner: f64 = span.clone().map(|k| tables.eta[[h, k]] * self.average[k]).sum();
                objectives[d] += kappa * (inner - tables.a[[h, d]]);
            }
        }
    }

    /// Makes the step non-decreasing.
    ///
    /// The update uses the old winners, so the new winners can make the bound dip (the paper's Eqns. 30-31 hold at the
    /// fixed point only). The expected log-joint separates over columns: a column whose part of it fell is moved back
    /// towards its old parameters, half way, a quarter, … and all the way in the end. The mean domain is convex, so
    /// every point on the way is a legal one; what is held stays held.
    pub(super) fn guard(
        &self,
        old: &Model,
        new: &mut Model,
        posteriors: &mut (impl Posteriors + ?Sized),
    ) -> Result<()> {
        let columns = old.columns();
        let mut floor = posteriors.first_objectives();
        self.add_pseudo_counts(old, &Tables::for_posteriors(old), &mut floor);
        let target = new.clone();
        for halving in 1..=HALVINGS + 1 {
            let tables = Tables::for_posteriors(new);
            let mut reached = posteriors.objectives(new, &tables)?;
            self.add_pseudo_counts(new, &tables, &mut reached);
            let share = if halving > HALVINGS { 0.0 } else { 0.5f64.powi(halving) };
            let mut fallen = false;
            for (d, family, span) in columns.iter().filter(|(d, _, _)| reached[*d] < floor[*d] || reached[*d].is_nan())
            {
                fallen = true;
                for h in 0..=old.h() {
                    let (old, target) = (&old.profile(h)[span.clone()], &target.profile(h)[span.clone()]);
                    let mut w = old.to_vec();
                    if share > 0.0 {
                        let between: Vec<f64> = old.iter().zip(target).map(|(o, t)| o + share * (t - o)).collect();
                        family.update(&between, &self.hold_w[..span.len()], &mut w);
                        family.project(&mut w);
                    }
                    new.set_entry(h, d, &w);
                }
            }
            if !fallen {
                break;
            }
        }
        Ok(())
    }
}
