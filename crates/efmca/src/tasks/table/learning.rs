//! The steps from a table to a model: families, number of causes, training.

use ndarray::ArrayView2;

use super::large::Part;
use super::starts::best_start;
use super::views::Known;
use super::{CauseOrigin, FamilyOrigin, LearnedTable, TableLearner};
use crate::em::{Em, Fit, Init, Observer, Progress, Structure, TrainingProgress};
use crate::error::{Error, Result};
use crate::family::{FamilySpec, SharedFamily};
use crate::model::{Data, LARGEST_EXACT_H, Model, Resolution, Views, is_sparse};
use crate::posterior::Truncation;
use crate::tasks::causes::{Causes, DENSITY_SHARE, PER_COLUMN};
use crate::tasks::held_out::{Source, rows_of};
use crate::tasks::noise::{
    Candidate, TableFamilies, TableNoise, Values, check_column, check_columns, for_one_value, last,
};
use crate::tasks::select::CauseSearch;
use crate::tasks::watch::Watch;

/// Iterations of the trainings that find families and choose the number of causes, at the most.
const SHORT: usize = 60;
/// Entries times states of one iteration above which states are truncated: a fifth of a second, whatever the number of causes.
const MOST_WORK: usize = 1 << 28;
/// Entries times states above which starts are made on some of the rows, with causes to spare.
const LARGE: usize = 1 << 24;

/// The relative change of the bound below which training with truncated posteriors ends: their sets of states go on changing it
/// by little for as long as one waits.
const TRUNCATED_TOLERANCE: f64 = 1e-6;
/// Values of sparse rows that may be made whole.
const MOST_WHOLE: usize = 1 << 22;

/// Starts of small tables where nothing is said about them.
const STARTS: usize = 10;
/// Iterations that update the parameters several times, and how often they do, before a guarded M-step ends the training.
const INCREMENTAL: usize = 15;
const BATCHES: usize = 8;

/// The families of the columns.
struct Families {
    all: Vec<SharedFamily>,
    origins: Vec<FamilyOrigin>,
    /// How finely the values of each column were written down.
    resolutions: Vec<Resolution>,
    /// Groups of columns that count alike, with their weights.
    views: Option<Views>,
    /// The model that came with them, if they were found.
    fit: Option<Fit>,
}

impl Families {
    /// The same with the weights of the views of `settings`, which `data` tells.
    fn weighed(mut self, settings: &TableLearner, data: &dyn Data) -> Result<Families> {
        let known = Known { families: &self.all, resolutions: &self.resolutions, seed: settings.seed };
        self.views = match (&settings.views, &settings.start) {
            (Some(views), _) => Some(known.weighed(views, data)?),
            // a training that continues has the weights that it had
            (None, Some(model)) => model.columns().views().cloned(),
            (None, None) => None,
        };
        Ok(self)
    }
}

/// The number of causes.
struct CauseNumber {
    h: usize,
    origin: CauseOrigin,
}

/// Learns `table` with settings that were checked; `data` are its rows, perhaps with weights.
pub(super) fn learn(
    settings: &TableLearner,
    table: ArrayView2<'_, f64>,
    data: &dyn Data,
    observer: &mut Observer<'_>,
) -> Result<LearnedTable> {
    let mut watch = Watch::new(observer);
    let families = settings.families(table, &mut watch)?.weighed(settings, &table)?;
    let causes = settings.number_of_causes(table, &families, &mut watch)?;
    settings.learned(data, families, causes, watch)
}

/// The same for rows that are sparse or not in memory, of which a part is made whole for the searches.
pub(super) fn learn_by_part(
    settings: &TableLearner,
    data: &dyn Data,
    observer: &mut Observer<'_>,
) -> Result<LearnedTable> {
    let part = Part::to_search(data);
    let table = rows_of(&part);
    let mut watch = Watch::new(observer);
    let search = |watch: &mut Watch<'_, '_>| {
        let families = settings.families(table.view(), watch)?.weighed(settings, &table)?;
        let causes = settings.number_of_causes(table.view(), &families, watch)?;
        Ok((Families { fit: None, ..families }, causes))
    };
    let (families, causes) = search(&mut watch).map_err(|error: Error| error.of_every_row(part.step))?;
    drop(table);
    settings.learned(data, families, causes, watch)
}

/// The same if all families and the number of causes are given, so that only the last training is left.
pub(super) fn learn_given(
    settings: &TableLearner,
    data: &dyn Data,
    observer: &mut Observer<'_>,
) -> Option<Result<LearnedTable>> {
    let Causes::Given(h) = settings.causes else { return None };
    let h = h.max(settings.known_causes());
    let all = (0..data.d()).map(|d| settings.given(d)?.resolve().ok()).collect::<Option<Vec<SharedFamily>>>()?;
    let known = check_columns(&settings.columns, data.d());
    if let Err(error) = known.and_then(|()| check_columns(&settings.resolutions, data.d())) {
        return Some(Err(error));
    }
    // some rows say how finely values were written down; the others are not looked at
    let resolutions = Resolution::of_columns(rows_of(&Part::to_search(data)).view(), &settings.resolutions);
    let families = Families { all, origins: vec![FamilyOrigin::Given; data.d()], resolutions, views: None, fit: None };
    let causes = CauseNumber { h, origin: CauseOrigin::Given };
    let families = families.weighed(settings, data);
    Some(families.and_then(|families| settings.learned(data, families, causes, Watch::new(observer))))
}

impl TableLearner {
    /// The last step.
    fn learned(
        &self,
        data: &dyn Data,
        mut families: Families,
        causes: CauseNumber,
        mut watch: Watch<'_, '_>,
    ) -> Result<LearnedTable> {
        let part = Part::to_begin_with(data).filter(|_| self.start.is_none());
        let fit = match part {
            Some(part) => {
                // what was found on the whole table is not compared with what comes of a part
                families.fit = None;
                let begun = self.for_a_part(&part, causes.h).train(&part, &families, &causes, &mut watch);
                match begun.map_err(|error| error.of_every_row(part.step)) {
                    // all values of a column may be missing in a part
                    Err(Error::EmptyColumn { .. }) => self.train(data, &families, &causes, &mut watch)?,
                    begun => {
                        let end = self.for_all_rows(data, causes.h).start_from(begun?.model);
                        end.train(data, &families, &causes, &mut watch)?
                    }
                }
            }
            None => self.train(data, &families, &causes, &mut watch)?,
        };
        let Families { all, origins, resolutions, .. } = families;
        Ok(LearnedTable { fit, families: all, origins, resolutions, causes: causes.origin, stopped: watch.stopped() })
    }

    /// The family that was given for column `d`; the last one if there are several.
    fn given(&self, d: usize) -> Option<&FamilySpec> {
        last(&self.columns, d).or(self.family.as_ref())
    }

    /// The family that column `d` has in the model whose causes are held.
    fn of_held(&self, d: usize) -> Option<FamilySpec> {
        let model = self.structure.as_ref()?.held()?;
        (d < model.d()).then(|| model.columns().family(d).clone().into())
    }

    /// The number of causes of which something is known.
    fn known_causes(&self) -> usize {
        self.structure.as_ref().map_or(0, Structure::causes)
    }

    /// Iterations of the trainings before the last one.
    fn short(&self) -> usize {
        self.iterations.min(SHORT)
    }

    /// The number of causes with which families are found: more than twice the columns would be of no use.
    fn first_causes(&self, table: ArrayView2<'_, f64>) -> usize {
        match self.causes {
            Causes::Given(causes) => causes,
            causes => causes.without_search(&Source::Table(table)).min(PER_COLUMN * table.ncols()),
        }
    }

    /// The families of all columns: found, where one at least is not given completely.
    fn families(&self, table: ArrayView2<'_, f64>, watch: &mut Watch<'_, '_>) -> Result<Families> {
        if table.is_empty() {
            return Err(Error::EmptyData { rows: table.nrows(), columns: table.ncols() });
        }
        check_columns(&self.columns, table.ncols())?;
        check_columns(&self.resolutions, table.ncols())?;
        self.views.iter().try_for_each(|views| views.over(table.ncols()).map(drop))?;
        let resolutions = Resolution::of_columns(table, &self.resolutions);
        // what is known of each column before anything is learned
        let specs: Vec<Option<FamilySpec>> = (0..table.ncols())
            .map(|d| self.given(d).cloned().or_else(|| self.of_held(d)).or_else(|| of_one_value(table, d)))
            .collect();
        let complete: Option<Vec<SharedFamily>> = specs.iter().map(|spec| spec.as_ref()?.resolve().ok()).collect();
        let origin = |d: usize| match self.given(d).is_some() || self.of_held(d).is_some() {
            true => FamilyOrigin::Given,
            false => FamilyOrigin::OneValue,
        };
        if let Some(all) = complete {
            for (d, (family, spec)) in all.iter().zip(specs.iter().flatten()).enumerate() {
                check_column(family, spec, table.column(d), d, &resolutions[d])?;
            }
            return Ok(Families {
                all,
                origins: (0..table.ncols()).map(origin).collect(),
                resolutions,
                views: None,
                fit: None,
            });
        }
        let search = TableNoise::new().causes(self.first_causes(table)).iterations(self.short()).seed(self.seed);
        let given = specs.iter().enumerate().filter_map(|(d, spec)| Some((d, spec.clone()?)));
        let search = given.fold(search, |search, (d, spec)| search.fix(d, spec));
        let search = (resolutions.iter().cloned().enumerate())
            .fold(search, |search, (d, resolution)| search.resolution(d, resolution));
        let found = search.run_observed(table, &mut |progress| watch.see(progress))?;
        let all = found.families();
        let TableFamilies { columns, fit, .. } = found;
        let origins = columns
            .into_iter()
            .enumerate()
            .map(|(d, column)| if column.fixed { origin(d) } else { FamilyOrigin::Found(Box::new(column)) });
        Ok(Families { all, origins: origins.collect(), resolutions, views: None, fit: Some(fit) })
    }

    /// The number of causes: given, or the one that predicts held-out entries best with these families.
    fn number_of_causes(
        &self,
        table: ArrayView2<'_, f64>,
        families: &Families,
        watch: &mut Watch<'_, '_>,
    ) -> Result<CauseNumber> {
        // if the work was stopped, the number with which families were found will do
        let before = families.fit.as_ref().map(|fit| fit.model.h());
        let stopped = |h: usize| CauseNumber { h, origin: CauseOrigin::Stopped };
        match (self.causes, before) {
            (Causes::Given(h), _) => return Ok(CauseNumber { h, origin: CauseOrigin::Given }),
            (Causes::Suitable, _) => {
                return Ok(CauseNumber { h: self.first_causes(table), origin: CauseOrigin::Suitable });
            }
            (Causes::Auto, Some(h)) if watch.stopped() => return Ok(stopped(h)),
            (Causes::Auto, _) => {}
        }
        let search = CauseSearch::with_families(&families.all).iterations(self.short()).seed(self.seed);
        let search = search.resolutions(&families.resolutions).views(families.views.clone());
        match (search.run_observed(Source::Table(table), &mut |progress| watch.see(progress)), before) {
            (Err(Error::Stopped { .. }), Some(h)) => Ok(stopped(h)),
            (choice, _) => {
                let choice = choice?;
                Ok(CauseNumber { h: choice.best().h, origin: CauseOrigin::Chosen(choice) })
            }
        }
    }

    /// The last training, which has all entries and all iterations.
    fn train(
        &self,
        data: &dyn Data,
        families: &Families,
        causes: &CauseNumber,
        watch: &mut Watch<'_, '_>,
    ) -> Result<Fit> {
        let h = causes.h.max(self.known_causes());
        let mut em = Em::new(h).families(&families.all).iterations(self.iterations).seed(self.seed);
        em = em.resolutions(&families.resolutions).views(families.views.clone());
        em = em.pseudo_count(self.pseudo_count).density_pseudo_count(self.pseudo_count * DENSITY_SHARE);
        em = em.tolerance(self.tolerance).superposition(self.superposition).shards(self.shards);
        if let Some(structure) = &self.structure {
            em = em.structure(structure.clone());
        }
        let values = data.n().saturating_mul(data.d());
        let above = |work: usize| h > LARGEST_EXACT_H || values > work.checked_shr(h as u32).unwrap_or(0);
        // exact posteriors would need whole rows, all of them
        let too_much = above(MOST_WORK) || (is_sparse(data) && values > MOST_WHOLE);
        let states = self.states.or((too_much && !self.exact).then_some(TableLearner::STATES));
        // rows with weights, models to start from and known causes keep to the ordinary starts, and so do sparse rows, which
        // starts would make whole
        let known = self.start.is_some() || self.structure.is_some();
        let ordinary = known || data.weights().is_some() || is_sparse(data) || watch.stopped();
        let large = above(LARGE) && !ordinary;
        let started = large.then(|| best_start(&em, h, self.starts, self.seed, data, watch));
        if let Some(states) = states {
            em = em.truncated(Truncation::new(states));
        }
        em = em.starts(self.starts.unwrap_or(if states.is_some() { 1 } else { STARTS }));
        match started {
            // a column without a value in these rows, say: what is wrong with all of them will show again
            None | Some(Err(_) | Ok(None)) => {}
            Some(Ok(Some(model))) => {
                em = em.init(Init::Model(Box::new(model))).starts(1);
                if states.is_some() {
                    em = em.tolerance(self.tolerance.max(TRUNCATED_TOLERANCE));
                }
            }
        }
        if let Some(model) = &self.start {
            em = em.init(Init::Model(model.clone())).starts(1);
        }
        let before = families.fit.as_ref().filter(|fit| fit.model.h() == h && self.structure.is_none());
        if watch.stopped() {
            let chosen = match &causes.origin {
                CauseOrigin::Chosen(choice) => Some(&choice.best().model),
                _ => None,
            };
            // nobody waits for starts any more
            let model: Option<&Model> = before.map(|fit| &fit.model).or(chosen).filter(|_| self.structure.is_none());
            if let Some(model) = model {
                em = em.init(Init::Model(Box::new(model.clone()))).starts(1);
            }
        }
        let fit = match states {
            Some(_) => self.in_two_steps(em, data, watch)?,
            None => em.run_observed(data, &mut |progress| watch.see(progress))?,
        };
        // the search for families had starts of its own, in which all rows and columns counted alike
        let alike = data.weights().is_none() && families.views.is_none();
        let before = before.filter(|_| alike && self.start.is_none());
        match before {
            Some(before) if before.bound > fit.bound => Ok(before.clone()),
            _ => Ok(fit),
        }
    }
}

impl TableLearner {
    /// Trains with truncated posteriors: incrementally first, then with a guarded M-step until nothing changes.
    ///
    /// A plain M-step would end in a cycle of two models, because the winners that it was made with are no longer those of
    /// the new parameters: of digits (1,797 x 64, 32 causes) the bound of a row swings between -139 and -157 for as long as
    /// one waits. The guard alone ends at -121. Updates after parts of the rows do not swing and go further, and the guard
    /// then leads to a maximum, at -116.
    fn in_two_steps(&self, em: Em, data: &dyn Data, watch: &mut Watch<'_, '_>) -> Result<Fit> {
        let first = if self.start.is_some() || watch.stopped() { 0 } else { INCREMENTAL.min(self.iterations) };
        let mut em = em;
        let mut history = Vec::new();
        if first > 0 {
            let incremental = em.clone().iterations(first).batches(BATCHES).tolerance(0.0);
            let fit =
                incremental.run_observed(data, &mut |progress| watch.see(&of_all(progress, 0, self.iterations)))?;
            if watch.stopped() || first == self.iterations {
                return Ok(fit);
            }
            history = fit.history;
            em = em.init(Init::Model(Box::new(fit.model))).starts(1);
        }
        let em = em.iterations(self.iterations - first).guard(true);
        let mut fit = em.run_observed(data, &mut |progress| watch.see(&of_all(progress, first, self.iterations)))?;
        history.append(&mut fit.history);
        Ok(Fit { history, ..fit })
    }
}

/// The progress of a part of a training as that of all of it.
fn of_all<'a>(progress: &Progress<'a>, before: usize, iterations: usize) -> Progress<'a> {
    let training = progress.training.map(|training| TrainingProgress {
        iteration: before + training.iteration,
        iterations,
        ..training
    });
    match training {
        Some(_) => Progress { done: before + progress.done, total: iterations, training, ..*progress },
        None => Progress { training, ..*progress },
    }
}

/// The family of a column in which all values are equal.
fn of_one_value(table: ArrayView2<'_, f64>, d: usize) -> Option<FamilySpec> {
    let values = Values::of(table.column(d).iter().copied())?;
    for_one_value(&values).as_ref().map(Candidate::name).map(FamilySpec::from)
}
