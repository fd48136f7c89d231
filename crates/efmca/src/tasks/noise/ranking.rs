//! The result of comparing families.

use super::candidates::Refusal;
use super::trials::{Trial, leading};
use super::values::{Kind, Values, described};
use super::verdict::Verdict;
use crate::family::SharedFamily;
use crate::model::{Model, Resolution};
use crate::tasks::held_out::{Difference, Scores, Split, ties};
use crate::tasks::select::CauseChoice;

/// Trainings that end further apart than this, in nats a row, ended in different optima, which says nothing about families.
const MOST_LUCK: f64 = 0.01;

/// One family in a ranking.
#[derive(Debug, Clone)]
pub struct Ranked {
    /// The family, with fixed parameters as they were found.
    pub family: SharedFamily,
    /// The logarithm of the probability or density that it gives to a held-out entry, on average.
    pub held_out: f64,
    /// How far it is behind the family that predicts best.
    pub behind: Difference,
    /// Difference between the best and the worst of its trainings, for each held-out entry.
    pub spread: f64,
    /// The number of its trainings.
    pub trainings: usize,
    /// Whether the data cannot tell it from the family that predicts best.
    pub tied: bool,
    /// How far it is behind the first of the ranking if both are given the same posteriors (negative if it is ahead). `None` for
    /// families that do not tie, and without [`super::NoiseType::same_posteriors`].
    pub matched: Option<Difference>,
    /// The bound for a row of the entries that training saw.
    pub bound: f64,
    /// The Bayesian information criterion for a row, as a log-likelihood: larger is better. `None` if its density was
    /// integrated in scores only, as for images, because the bound is then no probability.
    pub bic: Option<f64>,
    /// Learned parameters, and fixed ones that come from the data.
    pub parameters: usize,
    /// The trained model.
    pub model: Model,
}

/// Families in the order in which they explain the data.
#[derive(Debug, Clone)]
pub struct Ranking {
    /// The best first. Ties are in the order of the Bayesian information criterion, or of held-out entries for images, with the
    /// simplest in front.
    pub ranked: Vec<Ranked>,
    /// Families that were left out.
    pub refused: Vec<Refusal>,
    /// The kind of the values.
    pub kind: Kind,
    /// How finely they were written down.
    pub resolution: Resolution,
    /// Held-out entries.
    pub entries: usize,
    /// The number of causes.
    pub causes: usize,
    /// How the number of causes was chosen, if it was ([`Causes::Auto`](crate::Causes::Auto)).
    pub choice: Option<CauseChoice>,
    /// Whether ties are ordered by the Bayesian information criterion, or by held-out entries as all others are.
    pub by_bic: bool,
    /// Whether the first of the ranking fits all values of a table together; `None` for images, and if there are too few values.
    pub verdict: Option<Verdict>,
}

impl Ranking {
    pub(super) fn new(
        trials: &[Trial],
        refused: Vec<Refusal>,
        values: &Values,
        split: &Split<'_>,
        causes: usize,
    ) -> Ranking {
        let kind = values.kind;
        let best = &trials[leading(trials).unwrap_or(0)];
        // Patches are many beside the pixels of an image, so that causes explain noise, too, and the bound is highest for families
        // that suit what is left. No cause explains held-out pixels.
        let by_bic = split.overlap <= 1.0;
        // of an image the leading family alone has several starts, and it may not be the first in the end
        let shared = trials.iter().filter(|trial| !by_bic && trial.full).map(luck).fold(luck(best), f64::max);
        let described: Vec<Ranked> = trials.iter().map(|trial| describe(trial, kind, split, (best, shared))).collect();
        let standings: Vec<ties::Standing> =
            described.iter().zip(trials).map(|(one, trial)| standing(one, trial, split)).collect();
        let order = if by_bic { ties::order_by_bic(&standings) } else { ties::order_by_held_out(&standings) };
        let mut described: Vec<Option<Ranked>> = described.into_iter().map(Some).collect();
        let ranked = order.iter().filter_map(|place| described[*place].take()).collect();
        Ranking {
            ranked,
            refused,
            kind,
            resolution: values.resolution.clone(),
            entries: best.best.scores.entries,
            causes,
            choice: None,
            by_bic,
            verdict: None,
        }
    }

    /// The families that tie with the one that predicts best, in the order of the ranking.
    pub(super) fn ties(&self) -> impl Iterator<Item = &SharedFamily> {
        self.ranked.iter().filter(|one| one.tied).map(|one| &one.family)
    }

    /// Notes how far the ties `families` are behind the first of the ranking by `scores`, with the same posteriors for all.
    pub(super) fn match_ties(&mut self, families: &[SharedFamily], scores: &[Scores]) {
        let of = |one: &Ranked| {
            let index = families.iter().position(|family| family.spec() == one.family.spec());
            index.and_then(|index| scores.get(index))
        };
        let Some(first) = self.ranked.first().and_then(of) else { return };
        self.ranked.iter_mut().for_each(|one| one.matched = of(one).map(|scores| first.lead(scores)));
    }

    /// The values in words: their kind and their resolution.
    #[must_use]
    pub fn values(&self) -> String {
        described(self.kind, &self.resolution)
    }

    /// The first of the ranking.
    #[must_use]
    pub fn best(&self) -> &Ranked {
        &self.ranked[0]
    }

    /// The meaning of the ranking, in a sentence or two.
    #[must_use]
    pub fn sentence(&self) -> String {
        let best = self.best();
        let name = best.family.spec();
        let ties: Vec<String> = self.ranked[1..].iter().filter(|one| one.tied).map(|one| one.family.spec()).collect();
        let next = self.ranked[1..].iter().find(|one| !one.tied);
        let lead = next.map(|next| {
            let (behind, error) = (next.behind.mean - best.behind.mean, next.behind.error);
            let less = format!(
                "a held-out value {:.3} times less probability on average ({:.1} standard errors)",
                behind.exp(),
                behind / error.max(1e-12)
            );
            (next.family.spec(), less)
        });
        let mut text = format!("The noise looks like {name}");
        match (ties.is_empty(), &lead) {
            (true, Some((next, less))) => text += &format!("; the next, {next}, gives {less}."),
            (true, None) => text += ", the only family that these values allow.",
            (false, _) => {
                let why = if self.by_bic {
                    "has the best Bayesian information criterion, or needs fewer parameters for the same"
                } else if self.ranked.iter().any(|one| one.tied && one.parameters > best.parameters) {
                    "has the fewest parameters"
                } else {
                    "predicts held-out pixels best"
                };
                text += &format!(
                    ". The data cannot tell it from {}: the difference is within what chance and the starts make, and {name} {why}.",
                    ties.join(", ")
                );
                if let Some((next, less)) = lead {
                    text += &format!(" The best of the others is {next}, which gives {less}.");
                }
            }
        }
        let plain = self.ranked.iter().any(|one| one.family.spec() == "poisson");
        if name.starts_with("negative-binomial") && plain {
            text += " Counts scatter more about the causes that were learned than Poisson counts do; what more causes would \
                     explain looks like that, too, so that photon counts of a scene with many shades can be named so: then r \
                     grows with the number of causes, and the noise itself is Poisson.";
        }
        text
    }
}

/// Rows that the criterion counts. Patches overlap: each pixel is in several, and must count once.
fn rows(trial: &Trial, split: &Split<'_>) -> f64 {
    trial.best.fit.weight / split.overlap
}

/// A trial beside the best one; `shared` is the luck of the best, or of all.
fn describe(trial: &Trial, kind: Kind, split: &Split<'_>, (best, shared): (&Trial, f64)) -> Ranked {
    let behind = best.best.scores.lead(&trial.best.scores);
    let tied = ties::FAMILIES.ties(behind, best.best.scores.entries, luck(trial).max(shared));
    let fit = &trial.best.fit;
    let parameters = fit.model.parameter_count() + trial.candidate.taken_from_data();
    let (rows, bound) = (rows(trial, split), fit.bound / fit.weight);
    let bic = (!trial.integrated(kind)).then(|| bound - 0.5 * parameters as f64 * rows.max(1.0).ln() / rows);
    Ranked {
        held_out: trial.best.scores.mean(),
        behind,
        spread: spread(&trial.held_out),
        trainings: trial.held_out.len(),
        tied,
        matched: None,
        bound,
        bic,
        parameters,
        family: trial.best.family.clone(),
        model: fit.model.clone(),
    }
}

/// A family as the order of ties sees it, in nats over all rows.
fn standing(one: &Ranked, trial: &Trial, split: &Split<'_>) -> ties::Standing {
    let rows = rows(trial, split).max(1.0);
    ties::Standing {
        tied: one.tied,
        held_out: one.held_out,
        bic: one.bic.map(|bic| bic * rows),
        parameters: one.parameters,
        luck: luck_of(&trial.bounds, &trial.bounds).min(MOST_LUCK) * rows,
    }
}

/// The effect of the choice of starts: the difference between the scores of the two trainings with the highest bounds.
fn luck(trial: &Trial) -> f64 {
    luck_of(&trial.bounds, &trial.held_out)
}

/// The difference between the values of the two trainings with the highest bounds.
fn luck_of(bounds: &[f64], values: &[f64]) -> f64 {
    let mut order: Vec<usize> = (0..bounds.len()).collect();
    order.sort_by(|a, b| bounds[*b].total_cmp(&bounds[*a]));
    match order[..] {
        [first, second, ..] => (values[first] - values[second]).abs(),
        _ => 0.0,
    }
}

fn spread(values: &[f64]) -> f64 {
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    high - values.iter().copied().fold(f64::INFINITY, f64::min)
}
