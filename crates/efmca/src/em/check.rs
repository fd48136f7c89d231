//! Checks of the settings of a training, alone and with its data.

use super::memory::check_memory;
use super::training::Training;
use super::{Em, Init};
use crate::error::{Error, Result};
use crate::family::FamilySpec;
use crate::model::{Columns, Data, Views};
use crate::posterior::truncated::LARGEST_H;

/// More starts than this take longer than anybody waits, and each is kept until the best of them is known.
const MOST_STARTS: usize = 100_000;

impl Em {
    /// Checks everything that can be wrong with the settings alone.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] for a number that makes no sense, [`Error::UnknownFamily`] or [`Error::FamilyParameter`] for a family
    /// that does not exist.
    pub fn check(&self) -> Result<()> {
        if self.h == 0 {
            return Err(Error::setting("causes", 0, "a model needs one cause at least"));
        }
        if self.h.saturating_add(self.spare) > LARGEST_H {
            return Err(Error::setting(
                "causes",
                self.h.saturating_add(self.spare),
                format!("there can be {LARGEST_H} at most"),
            ));
        }
        let positive = |name, value: usize| match value {
            0 => Err(Error::setting(name, 0, "it must be 1 or more")),
            _ => Ok(()),
        };
        positive("starts", self.starts)?;
        if self.starts > MOST_STARTS {
            return Err(Error::setting("starts", self.starts, format!("it must be {MOST_STARTS} or less")));
        }
        positive("batches", self.batches)?;
        positive("shards", self.shards.unwrap_or(1))?;
        positive("m_step_iterations", self.repeats)?;
        let not_negative = |name, value: f64| match value.is_finite() && value >= 0.0 {
            true => Ok(()),
            false => Err(Error::setting(name, value, "it must be finite and not negative")),
        };
        not_negative("tolerance", self.tolerance)?;
        not_negative("pseudo_count", self.pseudo_count)?;
        self.density_pseudo_count.map_or(Ok(()), |count| not_negative("density_pseudo_count", count))?;
        if !(self.smallest_pi > 0.0 && self.smallest_pi < 0.5) {
            return Err(Error::setting("smallest_pi", self.smallest_pi, "it must lie between 0 and 0.5"));
        }
        if let Some((low, high)) = self.pi_init
            && !(0.0 < low && low <= high && high < 1.0)
        {
            return Err(Error::setting("pi_init", format!("{low}..{high}"), "it must be a range between 0 and 1"));
        }
        self.temperature.check("temperature")?;
        if let Some(rho) = self.rho {
            rho.check("rho")?;
        }
        match self.init {
            Init::MeanNoise { scale } if !(scale > 0.0 && scale.is_finite()) => {
                return Err(Error::setting(
                    "init scale",
                    scale,
                    "without noise all causes stay equal; make it positive",
                ));
            }
            Init::Clusters { spread } if !(spread > 0.0 && spread.is_finite()) => {
                return Err(Error::setting("init spread", spread, "it must be positive; 1 is that of all data"));
            }
            Init::Rows { share } if !(share > 0.0 && share <= 1.0) => {
                return Err(Error::setting("init share", share, "it must be above 0 and at most 1"));
            }
            _ => {}
        }
        if let Some(truncation) = self.posterior_settings() {
            truncation.check()?;
            if self.rho.is_some() || self.superposition.rho().is_some() {
                return Err(Error::setting(
                    "rho",
                    "set",
                    "truncated posteriors know the true maximum only; leave out the smooth one, or use exact posteriors (16 causes at most)",
                ));
            }
        }
        if self.structure.is_some() && (self.spare > 0 || self.warm_start > 0 || self.rho.is_some()) {
            let requirement = "spare causes, warm starts and the smooth maximum do not know which cause is which";
            return Err(Error::setting("structure", "known", requirement));
        }
        self.views.iter().try_for_each(Views::check)?;
        if self.families.is_empty() {
            return Err(Error::setting("family", "none", "say which: .family(\"poisson\")"));
        }
        self.families.iter().try_for_each(|family| family.resolve().map(drop))
    }

    /// Checks the settings against the data and takes its statistics.
    pub(super) fn prepare(&self, y: &dyn Data) -> Result<Training> {
        self.check()?;
        if y.n() == 0 || y.d() == 0 {
            return Err(Error::EmptyData { rows: y.n(), columns: y.d() });
        }
        check_memory(self.memory(y)?)?;
        let columns = self.columns(y.d())?;
        if let Init::Model(model) = &self.init
            && (model.h() != self.first_h() || !model.columns.same_families(&columns))
        {
            return Err(Error::shape(
                "initial model",
                format!("{} causes and the families of the data", self.first_h()),
                format!("{} causes over {} columns", model.h(), model.d()),
            ));
        }
        if let Init::Posteriors(model) = &self.init
            && (model.h() != self.first_h() || model.d() != columns.d())
        {
            return Err(Error::shape(
                "model to take posteriors from",
                format!("{} causes over {} columns", self.first_h(), columns.d()),
                format!("{} causes over {} columns", model.h(), model.d()),
            ));
        }
        if let Some(structure) = &self.structure {
            structure.check(&columns, self.h, self.superposition)?;
        }
        let training = Training::new(self, &columns, y)?;
        training.check_learnable()?;
        Ok(training)
    }

    /// The columns of the model.
    pub(crate) fn columns(&self, d: usize) -> Result<Columns> {
        let columns = match self.families.len() {
            1 => Columns::same(self.families[0].resolve()?, d),
            count if count == d => Columns::new(self.families.iter().map(FamilySpec::resolve).collect::<Result<_>>()?),
            count => Err(Error::shape("families", format!("1 or {d} (one for each column)"), count)),
        };
        columns?.with_resolutions(&self.resolutions)?.with_views(self.views.as_ref())
    }
}
