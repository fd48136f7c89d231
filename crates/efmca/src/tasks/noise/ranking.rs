//! What came out of comparing families.

use super::{Kind, Refusal, Scores, Split, Trial};
use crate::family::SharedFamily;
use crate::model::Model;

/// Differences below this many standard errors are ties.
pub(super) const ERRORS: f64 = 2.0;
/// Differences below this many nats over all hidden entries are ties, too: they are no evidence, however sure they are.
pub(super) const EVIDENCE: f64 = 3.0;
/// Trainings that end further apart than this, in nats a row, ended in different optima, which says nothing about families.
const MOST_LUCK: f64 = 0.01;
/// Differences of the criterion below this many nats in all do not justify another parameter: it takes that much to be
/// sure, and trainings end as far apart.
pub(super) const SLACK: f64 = 6.0;

/// One family in a ranking.
#[derive(Debug, Clone)]
pub struct Ranked {
    /// The family, with known parameters as they were found.
    pub family: SharedFamily,
    /// The logarithm of the probability or density that it gives to a hidden entry, on average.
    pub held_out: f64,
    /// How far it is behind the first one, for each hidden entry.
    pub behind: f64,
    /// The standard error of that.
    pub error: f64,
    /// Difference between the best and the worst of its trainings, for each hidden entry.
    pub spread: f64,
    /// The number of its trainings.
    pub trainings: usize,
    /// Whether data cannot tell it from the first one.
    pub tied: bool,
    /// How far it is behind the first one for each hidden entry if both are given the same posteriors (negative if it is before
    /// it), and the standard error of that. `None` for families that do not tie, and where it was not asked for
    /// ([`super::NoiseType::same_posteriors`]).
    pub matched: Option<(f64, f64)>,
    /// The bound for a row of the entries that training saw.
    pub bound: f64,
    /// The Bayesian information criterion for a row, as a log-likelihood: larger is better. `None` if its density was
    /// integrated around whole numbers, because the bound is then no probability.
    pub bic: Option<f64>,
    /// Learned parameters, and those that were found.
    pub parameters: usize,
    /// The trained model.
    pub model: Model,
    /// Rows that the criterion counts.
    rows: f64,
    /// How far the bounds of its two best trainings are apart, for a row.
    bound_luck: f64,
}

/// Families in the order in which they explain the data.
#[derive(Debug, Clone)]
pub struct Ranking {
    /// The best first; ties in the order of the Bayesian information criterion.
    pub ranked: Vec<Ranked>,
    /// Families that were left out.
    pub refused: Vec<Refusal>,
    /// What kind of values these are.
    pub kind: Kind,
    /// Hidden entries.
    pub entries: usize,
    /// The number of causes.
    pub h: usize,
    /// Whether ties are ordered by the Bayesian information criterion, or by hidden entries as all others are.
    pub by_bic: bool,
}

impl Ranking {
    pub(super) fn new(trials: &[Trial], refused: Vec<Refusal>, kind: Kind, split: &Split, h: usize) -> Ranking {
        let best = super::first(trials).unwrap_or(0);
        let entries = trials[best].best.scores.entries;
        let first = (trials[best].best.scores.clone(), luck(&trials[best]));
        let mut ranked: Vec<Ranked> =
            trials.iter().map(|trial| describe(trial, kind, split, (&first.0, first.1))).collect();
        // Patches are many beside the pixels of an image, so that causes explain noise, too, and the bound is highest for families
        // that suit what is left. Hidden pixels are not explained by anyone.
        let by_bic = split.overlap <= 1.0;
        // those that tie with the one that foretells best come first, ordered by what training saw
        ranked.sort_by(|a, b| {
            let order = |one: &Ranked| match one.tied && by_bic {
                true => (0, -one.bic.unwrap_or(f64::NEG_INFINITY)),
                false => (usize::from(!one.tied), -one.held_out),
            };
            order(a).0.cmp(&order(b).0).then(order(a).1.total_cmp(&order(b).1))
        });
        if by_bic {
            let rows = ranked[0].rows;
            simplest_first(&mut ranked, SLACK / rows.max(1.0));
        }
        Ranking { ranked, refused, kind, entries, h, by_bic }
    }

    /// The trials that tie with the first one, in the order of the ranking.
    pub(super) fn ties<'a>(&self, trials: &'a [Trial]) -> Vec<&'a Trial> {
        let named = |one: &Ranked| trials.iter().find(|trial| trial.best.family.spec() == one.family.spec());
        self.ranked.iter().filter(|one| one.tied).filter_map(named).collect()
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

    /// The first of the ranking.
    pub fn best(&self) -> &Ranked {
        &self.ranked[0]
    }

    /// What the ranking means, in a sentence or two.
    pub fn sentence(&self) -> String {
        let best = self.best();
        let name = best.family.spec();
        let ties: Vec<String> = self.ranked[1..].iter().filter(|one| one.tied).map(|one| one.family.spec()).collect();
        let next = self.ranked[1..].iter().find(|one| !one.tied);
        let lead = next.map(|next| {
            let (behind, error) = (next.behind - best.behind, next.error);
            format!(
                "the next, {}, gives a hidden value {:.3} times less probability on average ({:.1} standard errors)",
                next.family.spec(),
                behind.exp(),
                behind / error.max(1e-12)
            )
        });
        let mut text = format!("The noise looks like {name}");
        match (ties.is_empty(), &lead) {
            (true, Some(lead)) => text += &format!("; {lead}."),
            (true, None) => text += ", the only family that these values allow.",
            (false, _) => {
                let why = match self.by_bic {
                    true => "has the best Bayesian information criterion, or needs fewer parameters for the same",
                    false => "foretells hidden pixels best",
                };
                text += &format!(
                    ". The data cannot tell it from {}: the difference is within what chance and the starts make, and {name} {why}.",
                    ties.join(", ")
                );
                if let Some(lead) = lead {
                    let lead = lead.replacen("the next", "Of the others", 1);
                    text += &format!(" {lead}.");
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

fn describe(trial: &Trial, kind: Kind, split: &Split, (first, first_luck): (&Scores, f64)) -> Ranked {
    let (behind, error) = first.lead(&trial.best.scores);
    let spread = spread(&trial.held_out);
    let evidence = EVIDENCE / first.entries.max(1) as f64;
    let tied = behind <= (ERRORS * error).max(evidence).max(luck(trial)).max(first_luck);
    let fit = &trial.best.fit;
    let parameters = fit.model.parameter_count() + trial.candidate.taken_from_data();
    // patches overlap: each pixel is there several times, and must count once
    let rows = fit.weight / split.overlap;
    let bound = fit.bound / fit.weight;
    let bic = (!trial.integrated(kind)).then(|| bound - 0.5 * parameters as f64 * rows.max(1.0).ln() / rows);
    Ranked {
        held_out: trial.best.scores.mean(),
        behind,
        error,
        spread,
        trainings: trial.held_out.len(),
        tied,
        matched: None,
        bound,
        bic,
        parameters,
        rows,
        bound_luck: luck_of(&trial.bounds, &trial.bounds),
        family: trial.best.family.clone(),
        model: fit.model.clone(),
    }
}

/// Of ties that the criterion hardly tells apart, the one with the fewest parameters comes first: a family with one more that
/// contains it cannot be worse by much, whatever made the data.
fn simplest_first(ranked: &mut [Ranked], slack: f64) {
    let Some(bic) = ranked[0].bic else { return };
    let luck = ranked[0].bound_luck.min(MOST_LUCK);
    let near = |one: &Ranked| {
        one.tied && one.bic.is_some_and(|other| bic - other <= slack.max(luck).max(one.bound_luck.min(MOST_LUCK)))
    };
    let simplest =
        (0..ranked.len()).filter(|index| near(&ranked[*index])).min_by_key(|index| ranked[*index].parameters);
    if let Some(simplest) = simplest {
        ranked[..=simplest].rotate_right(1);
    }
}

/// What the choice of starts makes: the difference between the scores of the two trainings with the highest bounds.
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
