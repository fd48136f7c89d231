//! Ties: differences that held-out entries cannot tell from none, and the order of candidates that tie.
//!
//! Two rules share this file. Families tie unless the difference is sure and is evidence; of numbers of causes within one
//! standard error the smallest is taken, which is the usual rule for a size that is chosen by cross-validation.

use super::Difference;

/// When a difference is none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TieRule {
    /// Differences below this many standard errors are ties.
    errors: f64,
    /// Differences below this many nats over all held-out entries are ties, too: they are no evidence, however sure they are.
    evidence: f64,
}

/// The rule for families.
pub(crate) const FAMILIES: TieRule = TieRule { errors: 2.0, evidence: 3.0 };
/// The rule for numbers of causes.
pub(crate) const CAUSES: TieRule = TieRule { errors: 1.0, evidence: 0.0 };
/// Differences of the Bayesian information criterion below this many nats over all rows do not justify another parameter: it
/// takes that much to be sure, and trainings end as far apart.
const SLACK: f64 = 6.0;

impl TieRule {
    /// Whether something that is worse by `behind` ties with the best of `entries` held-out entries; `luck` is the difference that
    /// the choice of starts makes, for each entry.
    pub(crate) fn ties(self, behind: Difference, entries: usize, luck: f64) -> bool {
        let evidence = self.evidence / entries.max(1) as f64;
        behind.mean <= (self.errors * behind.error).max(evidence).max(luck)
    }
}

/// A candidate as the order of ties sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing {
    /// Whether it ties with the one that predicts best.
    pub(crate) tied: bool,
    /// The score of a held-out entry.
    pub(crate) held_out: f64,
    /// The Bayesian information criterion over all rows as a log-likelihood: larger is better. `None` if it has none.
    pub(crate) bic: Option<f64>,
    /// Learned parameters, and those that were read off the data.
    pub(crate) parameters: usize,
    /// How far trainings with different starts end apart, in nats over all rows.
    pub(crate) luck: f64,
}

/// The order of candidates, as places in `standings`: ties first, by the criterion and the simplest of those that it hardly tells
/// apart in front; then all others, by held-out entries.
pub(crate) fn order_by_bic(standings: &[Standing]) -> Vec<usize> {
    let criterion = |one: &Standing| one.bic.unwrap_or(f64::NEG_INFINITY);
    let mut order = sorted(standings, |one| if one.tied { -criterion(one) } else { -one.held_out });
    simplest_first(standings, &mut order);
    order
}

/// The order of candidates, as places in `standings`: ties first, and all of them by held-out entries, but the simplest of the ties
/// in front. Where the criterion cannot be asked (the patches of images share pixels), a tie is all that is known.
pub(crate) fn order_by_held_out(standings: &[Standing]) -> Vec<usize> {
    let mut order = sorted(standings, |one| -one.held_out);
    let ties = order.iter().take_while(|place| standings[**place].tied).count();
    if let Some(simplest) = (0..ties).min_by_key(|place| standings[order[*place]].parameters) {
        order[..=simplest].rotate_right(1);
    }
    order
}

/// Ties before others, each by `key`; equals stay as they are.
fn sorted(standings: &[Standing], key: impl Fn(&Standing) -> f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..standings.len()).collect();
    order.sort_by(|a, b| {
        let (a, b) = (&standings[*a], &standings[*b]);
        (!a.tied).cmp(&!b.tied).then(key(a).total_cmp(&key(b)))
    });
    order
}

/// Of ties that the criterion hardly tells apart, the one with the fewest parameters comes first: a family with one more that
/// contains it cannot be worse by much, whatever made the data.
fn simplest_first(standings: &[Standing], order: &mut [usize]) {
    let Some(first) = order.first().map(|first| standings[*first]) else { return };
    let Some(highest) = first.bic else { return };
    let near =
        |one: &Standing| one.tied && one.bic.is_some_and(|bic| highest - bic <= SLACK.max(first.luck).max(one.luck));
    let simplest = (0..order.len())
        .filter(|place| near(&standings[order[*place]]))
        .min_by_key(|place| standings[order[*place]].parameters);
    if let Some(simplest) = simplest {
        order[..=simplest].rotate_right(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(held_out: f64, bic: f64, parameters: usize) -> Standing {
        Standing { tied: held_out > -1.5, held_out, bic: Some(bic), parameters, luck: 0.0 }
    }

    #[test]
    fn a_tie_is_uncertain_or_no_evidence_or_luck() {
        let behind = |mean, error| Difference { mean, error };
        assert!(FAMILIES.ties(behind(0.019, 0.01), 1000, 0.0));
        assert!(!FAMILIES.ties(behind(0.021, 0.01), 1000, 0.0));
        // sure, but 2.9 nats in all
        assert!(FAMILIES.ties(behind(0.0029, 1e-9), 1000, 0.0));
        assert!(!FAMILIES.ties(behind(0.0031, 1e-9), 1000, 0.0));
        assert!(FAMILIES.ties(behind(0.0031, 1e-9), 1000, 0.01));
        // numbers of causes: one standard error, and nothing else
        assert!(CAUSES.ties(behind(0.01, 0.011), 1000, 0.0) && !CAUSES.ties(behind(0.01, 0.009), 1000, 0.0));
        assert!(CAUSES.ties(behind(0.0, 0.0), 0, 0.0) && !CAUSES.ties(behind(1e-9, 0.0), 1000, 0.0));
    }

    #[test]
    fn ties_are_ordered_by_the_criterion_and_the_simplest_comes_first() {
        let standings =
            [standing(-2.0, 0.0, 1), standing(-1.0, -110.0, 9), standing(-1.2, -100.0, 8), standing(-1.1, -105.9, 5)];
        assert_eq!(order_by_bic(&standings), [3, 2, 1, 0]);
        // without it the simplest comes first, and all others by what they predict; what does not tie is no matter how simple
        assert_eq!(order_by_held_out(&standings), [3, 1, 2, 0]);
        // of equally simple ones the one that predicts best
        let equals = [standing(-1.2, 0.0, 4), standing(-1.0, 0.0, 4), standing(-1.1, 0.0, 5)];
        assert_eq!(order_by_held_out(&equals), [1, 2, 0]);
        // six nats over all rows are not enough for a parameter, and a little more are
        let apart = |bic: f64| order_by_bic(&[standing(-1.0, -100.0, 2), standing(-1.0, bic, 1)])[0];
        assert_eq!((apart(-106.0), apart(-106.1)), (1, 0));
        // trainings that end further apart than that say nothing either
        let lucky = Standing { luck: 8.0, ..standing(-1.0, -107.0, 1) };
        assert_eq!(order_by_bic(&[standing(-1.0, -100.0, 2), lucky])[0], 1);
    }

    #[test]
    fn candidates_without_the_criterion_come_last_of_the_ties() {
        let none = Standing { bic: None, ..standing(-1.0, 0.0, 1) };
        assert_eq!(order_by_bic(&[none, standing(-1.0, -100.0, 2)]), [1, 0]);
        assert_eq!(order_by_bic(&[none, none]), [0, 1]);
        assert!(order_by_bic(&[]).is_empty() && order_by_held_out(&[]).is_empty());
    }
}
