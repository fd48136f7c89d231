//! How many causes? As many as foretell hidden entries best, and no more than that.

use super::noise::{NoiseType, Source};
use crate::em::{Observer, Progress, StopReason, unobserved};
use crate::error::{Error, Result};
use crate::family::{Measure, SharedFamily};
use crate::model::Model;

/// Of numbers of causes whose difference is below this many standard errors the smaller one is taken.
const ERRORS: f64 = 1.0;
/// Rows for each cause, at the least, where the numbers to try are not given.
const ROWS: usize = 20;

/// Settings for choosing $H$.
///
/// ```
/// use efmca::{bars, family::family, tasks::{noise::Source, select::Select}};
///
/// let truth = bars::model(family("poisson")?, 3, &[20.0], &[1.0], 0.2)?;
/// let y = truth.sample(500, 1).y;
/// let choice = Select::new(family("poisson")?).causes([2, 6, 10]).run(Source::Table(y.view()))?;
/// assert_eq!(choice.best().h, 6);
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Select {
    families: Vec<SharedFamily>,
    causes: Vec<usize>,
    settings: NoiseType,
}

/// How a number of causes does.
#[derive(Debug, Clone)]
pub struct Tried {
    /// $H$.
    pub h: usize,
    /// The logarithm of the probability or density of a hidden entry, on average.
    pub held_out: f64,
    /// How far it is behind the number that foretells best, and the standard error of that.
    pub behind: (f64, f64),
    /// The bound for a row of the entries that training saw.
    pub bound: f64,
    /// The Bayesian information criterion for a row, as a log-likelihood: larger is better.
    pub bic: f64,
    /// Learned parameters.
    pub parameters: usize,
    /// The model, which has not seen the hidden entries.
    pub model: Model,
}

/// What came out.
#[derive(Debug, Clone)]
pub struct Choice {
    /// All numbers that were tried, in ascending order.
    pub tried: Vec<Tried>,
    /// The place of the chosen one among them.
    pub chosen: usize,
    /// Hidden entries.
    pub entries: usize,
}

impl Choice {
    /// The smallest number of causes that data cannot tell from the one that foretells best.
    pub fn best(&self) -> &Tried {
        &self.tried[self.chosen]
    }

    /// The number of causes with the best Bayesian information criterion.
    pub fn best_by_bic(&self) -> usize {
        let best = self.tried.iter().max_by(|a, b| a.bic.total_cmp(&b.bic));
        best.map_or(0, |tried| tried.h)
    }
}

impl Select {
    /// For data with this family in all columns.
    pub fn new(family: SharedFamily) -> Select {
        Select::with_families(vec![family])
    }

    /// For data with a family for each column.
    pub fn with_families(families: Vec<SharedFamily>) -> Select {
        Select { families, causes: Vec::new(), settings: NoiseType::new(1).restarts(1) }
    }

    /// The numbers to try (default: powers of two that suit the size of the data).
    pub fn causes(mut self, causes: impl IntoIterator<Item = usize>) -> Select {
        self.causes = causes.into_iter().collect();
        self
    }

    /// Trainings of each number, from different starts (default: 1).
    pub fn restarts(mut self, restarts: usize) -> Select {
        self.settings = self.settings.restarts(restarts);
        self
    }

    /// EM iterations of each training, at the most (default: 60).
    pub fn iterations(mut self, iterations: usize) -> Select {
        self.settings = self.settings.iterations(iterations);
        self
    }

    /// The share of the entries that is hidden (default: 0.1).
    pub fn hidden(mut self, share: f64) -> Select {
        self.settings = self.settings.hidden(share);
        self
    }

    /// The same seed gives the same choice (default: 0).
    pub fn seed(mut self, seed: u64) -> Select {
        self.settings = self.settings.seed(seed);
        self
    }

    /// Tries all numbers.
    pub fn run(&self, source: Source<'_>) -> Result<Choice> {
        self.run_observed(source, &mut unobserved)
    }

    /// Tries all numbers and asks `observer` between iterations; if it asks to stop, the best of those that were tried is chosen,
    /// and before there is one it is [`Error::Stopped`].
    pub fn run_observed(&self, source: Source<'_>, observer: &mut Observer<'_>) -> Result<Choice> {
        self.settings.check()?;
        let split = source.split(self.settings.hidden, self.settings.seed)?;
        let mut causes = match self.causes.is_empty() {
            true => usual(split.seen.n(), split.seen.d()),
            false => self.causes.clone(),
        };
        causes.sort_unstable();
        causes.dedup();
        if causes[0] == 0 {
            return Err(Error::setting("causes", 0, "a model needs one cause at least"));
        }
        let whole = self.families.iter().any(|family| family.support().measure == Measure::Lebesgue)
            && source.values().iter().all(|value| value.fract() == 0.0);
        let mut found = Vec::new();
        let mut stopped = false;
        for (done, h) in causes.iter().enumerate() {
            let settings = self.settings.clone().with_causes(*h);
            let mut best: Option<crate::Fit> = None;
            for start in 0..self.settings.restarts as u64 {
                let em = settings.em(&*split.seen).families(self.families.clone());
                let stage = format!("{h} causes");
                let em = em.seed(self.settings.seed.wrapping_add(start << 32));
                let fit =
                    em.run_observed(&*split.seen, &mut |_| observer(&Progress::of_stage(&stage, done, causes.len())))?;
                // a training that was cut short says nothing about its number of causes
                if fit.stop == StopReason::Interrupted {
                    stopped = true;
                    break;
                }
                if best.as_ref().is_none_or(|best| fit.bound > best.bound) {
                    best = Some(fit);
                }
            }
            if stopped {
                break;
            }
            let Some(fit) = best else { continue };
            let scores = split.scores(&fit, whole)?;
            found.push((*h, fit, scores));
            if observer(&Progress::of_stage(&format!("{h} causes"), done + 1, causes.len())).is_break() {
                break;
            }
        }
        if found.is_empty() && stopped {
            return Err(Error::Stopped { what: "a number of causes was tried".into() });
        }
        let first = found.iter().max_by(|a, b| a.2.mean().total_cmp(&b.2.mean())).map(|(_, _, scores)| scores.clone());
        let Some(first) = first else { return Err(Error::setting("causes", "none", "give numbers to try")) };
        let tried: Vec<Tried> = found
            .into_iter()
            .map(|(h, fit, scores)| {
                let (rows, parameters) = (fit.weight / split.overlap, fit.model.parameter_count());
                let bound = fit.bound / fit.weight;
                let bic = bound - 0.5 * parameters as f64 * rows.max(1.0).ln() / rows;
                let behind = first.lead(&scores);
                Tried { h, held_out: scores.mean(), behind, bound, bic, parameters, model: fit.model }
            })
            .collect();
        let chosen = tried.iter().position(|tried| tried.behind.0 <= ERRORS * tried.behind.1).unwrap_or(0);
        Ok(Choice { tried, chosen, entries: first.entries })
    }
}

/// Powers of two from two on, as far as there are rows for them, and no more than twice the columns.
fn usual(rows: usize, columns: usize) -> Vec<usize> {
    let most = (rows / ROWS).min(2 * columns).clamp(1, 256);
    let powers = std::iter::successors(Some(2), |h| Some(h * 2)).take_while(|h| *h <= most);
    std::iter::once(1).filter(|_| most < 4).chain(powers).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_suit_the_data() {
        assert_eq!(usual(1000, 10), [2, 4, 8, 16]);
        assert_eq!(usual(30, 10), [1]);
        assert_eq!(usual(100_000, 400), [2, 4, 8, 16, 32, 64, 128, 256]);
    }
}
