//! The probability that a model gives to rows and to single cells, where every value stands for an interval.

use efmca::family::{Measure, SharedFamily};
use efmca::{Model, Truncation};
use ndarray::{Array2, ArrayView2};

use crate::output::Done;

/// All states are summed up to this many causes, and a set of them for each row above.
const LARGEST: usize = 11;
const STATES: usize = 100;
const E_STEPS: usize = 6;
/// Points of an interval.
const POINTS: usize = 32;
/// Members of an average.
const LEAST_PICKS: usize = 4;
const MOST_PICKS: usize = 24;
/// The lowest logarithm of a probability.
const LOWEST: f64 = -1e4;

/// The step of a column: the largest of 1, 0.5, 0.1, 0.05, … of which 95 % of the values are multiples. The peers' script has the
/// same rule.
pub(super) fn step_of(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.filter(|value| !value.is_nan()).collect();
    let multiple = |step: f64| move |value: &&f64| (**value / step - (**value / step).round()).abs() < 1e-4;
    let steps = [1.0, 0.5, 0.1, 0.05, 0.01, 0.005, 0.001, 0.0005, 0.0001, 0.00005];
    let fits = |step: &f64| values.iter().filter(multiple(*step)).count() as f64 >= 0.95 * values.len() as f64;
    steps.into_iter().find(fits).unwrap_or(0.00001)
}

/// Whether a cell is masked: the same cells as in the peers' script.
pub(super) fn masked(n: usize, d: usize, columns: usize, share: f64) -> bool {
    let z = ((n * columns + d) as u64).wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 / ((1u64 << 53) as f64) < share
}

/// A model, and the steps of its columns.
pub(super) struct Scorer<'a> {
    model: &'a Model,
    steps: &'a [f64],
    /// The natural parameters of each cause and of the background, by column.
    etas: Vec<Vec<Vec<f64>>>,
    /// Who wins, by column: causes from the strongest on, as far as the background.
    order: Vec<Vec<usize>>,
}

impl<'a> Scorer<'a> {
    pub(super) fn new(model: &'a Model, steps: &'a [f64]) -> Scorer<'a> {
        let (mut etas, mut order) = (Vec::new(), Vec::new());
        for (d, family, span) in model.columns().iter() {
            let profile = |h: usize| -> Vec<f64> {
                let of = |k: usize| if h < model.h() { model.w_flat()[[h, k]] } else { model.background()[k] };
                span.clone().map(of).collect()
            };
            let eta = |h: usize| {
                let mut eta = vec![0.0; family.l()];
                family.phi(&profile(h), &mut eta);
                eta
            };
            etas.push((0..=model.h()).map(eta).collect());
            let strength: Vec<f64> = (0..=model.h()).map(|h| family.dominance(&profile(h))).collect();
            let mut causes: Vec<usize> = (0..model.h()).filter(|h| model.combined(&[*h]).owners[d] == *h).collect();
            causes.sort_by(|a, b| strength[*b].total_cmp(&strength[*a]));
            order.push(causes);
        }
        Scorer { model, steps, etas, order }
    }

    /// The logarithms of the probability of each row, or of what is seen of it and of that with each of its masked cells.
    pub(super) fn rows(&self, rows: ArrayView2<'_, f64>, share: Option<f64>) -> Done<Vec<RowScore>> {
        let mut seen: Array2<f64> = rows.to_owned();
        if let Some(share) = share {
            seen.indexed_iter_mut()
                .filter(|((n, d), _)| masked(*n, *d, rows.ncols(), share))
                .for_each(|(_, cell)| *cell = f64::NAN);
        }
        let h = self.model.h();
        let all: Vec<Vec<usize>> = match h <= LARGEST {
            true => (0..1usize << h).map(|state| (0..h).filter(|cause| state >> cause & 1 == 1).collect()).collect(),
            false => Vec::new(),
        };
        let posterior = match all.is_empty() {
            true => Some(self.model.infer(&seen, &Truncation::new(STATES), E_STEPS, 1)?),
            false => None,
        };
        let all_owners: Vec<Vec<usize>> = all.iter().map(|state| self.owners(state)).collect();
        let mut scores = Vec::new();
        for (n, row) in rows.rows().into_iter().enumerate() {
            if share.is_none() && row.iter().any(|cell| cell.is_nan()) {
                continue;
            }
            // the probability of each value with each cause
            let logs: Vec<Vec<f64>> = row.iter().enumerate().map(|(d, cell)| self.logs(d, *cell)).collect();
            let own: Vec<Vec<usize>> = match &posterior {
                Some(posterior) => posterior.sets.states(n).map(|state| state.active().collect()).collect(),
                None => Vec::new(),
            };
            let own_owners: Vec<Vec<usize>> = own.iter().map(|state| self.owners(state)).collect();
            let (states, owners) = if posterior.is_some() { (&own, &own_owners) } else { (&all, &all_owners) };
            let visible: Vec<usize> = (0..row.len()).filter(|d| !seen[[n, *d]].is_nan()).collect();
            let joint: Vec<f64> = states
                .iter()
                .zip(owners)
                .map(|(state, owners)| self.prior(state) + visible.iter().map(|d| logs[*d][owners[*d]]).sum::<f64>())
                .collect();
            let hidden = (0..row.len()).filter(|d| seen[[n, *d]].is_nan() && !row[*d].is_nan());
            let with = |d: usize| log_sum(joint.iter().zip(owners).map(|(joint, owners)| joint + logs[d][owners[d]]));
            scores.push(RowScore { seen: log_sum(joint.iter().copied()), with: hidden.map(with).collect() });
        }
        Ok(scores)
    }

    fn prior(&self, state: &[usize]) -> f64 {
        let pi = self.model.pi();
        (0..pi.len()).map(|h| if state.contains(&h) { pi[h].ln() } else { (1.0 - pi[h]).ln() }).sum()
    }

    /// The mean of [`rows`](Scorer::rows) of this model alone.
    pub(super) fn mean(&self, rows: ArrayView2<'_, f64>, share: Option<f64>) -> Done<f64> {
        Ok(mean(&[&self.rows(rows, share)?], share))
    }

    /// Who sets each column in a state.
    fn owners(&self, state: &[usize]) -> Vec<usize> {
        let winner = |order: &Vec<usize>| order.iter().copied().find(|h| state.contains(h)).unwrap_or(self.model.h());
        self.order.iter().map(winner).collect()
    }

    /// The logarithm of the probability of a value of column `d` with each cause and the background.
    fn logs(&self, d: usize, value: f64) -> Vec<f64> {
        if value.is_nan() {
            return vec![0.0; self.model.h() + 1];
        }
        let family = self.model.columns().family(d);
        self.etas[d].iter().map(|eta| log_probability(family, eta, value, self.steps[d]).max(LOWEST)).collect()
    }
}

/// The logarithm of the probability of the interval of one step around `value`.
fn log_probability(family: &SharedFamily, eta: &[f64], value: f64, step: f64) -> f64 {
    let support = family.support();
    let atom = support.measure == Measure::AtomAtZero && value.abs() < 0.5 * step;
    if support.measure == Measure::Counting {
        return family.log_density(value, eta);
    }
    if atom {
        return family.log_density(0.0, eta);
    }
    let at = |point: usize| value + step * ((point as f64 + 0.5) / POINTS as f64 - 0.5);
    let inside = (0..POINTS).map(at).filter(|y| *y > support.low && *y < support.high);
    let log = log_sum(inside.map(|y| family.log_density(y, eta))) + (step / POINTS as f64).ln();
    log.min(0.0)
}

/// The logarithms of the probability of what is seen of a row, and of that together with each of its masked cells.
pub(super) struct RowScore {
    seen: f64,
    with: Vec<f64>,
}

/// The mean over rows, or over masked cells, of the logarithm of the probability that the average of several models gives.
pub(super) fn mean(models: &[&Vec<RowScore>], share: Option<f64>) -> f64 {
    let rows = models.first().map_or(0, |rows| rows.len());
    let (mut sum, mut count) = (0.0, 0usize);
    for n in 0..rows {
        let seen = log_sum(models.iter().map(|model| model[n].seen));
        if share.is_none() {
            (sum, count) = (sum + seen - (models.len() as f64).ln(), count + 1);
            continue;
        }
        for cell in 0..models[0][n].with.len() {
            let with = log_sum(models.iter().map(|model| model[n].with[cell]));
            (sum, count) = (sum + (with - seen).max(LOWEST), count + 1);
        }
    }
    sum / count.max(1) as f64
}

/// The models, some of them several times, whose average gives the rows the highest probability: one after the other the one that
/// helps most, as often as it helps.
pub(super) fn chosen(models: &[&Vec<RowScore>]) -> Vec<usize> {
    let mut picked: Vec<usize> = Vec::new();
    let mut reached = f64::NEG_INFINITY;
    while picked.len() < MOST_PICKS {
        let with = |place: usize| {
            let members: Vec<&Vec<RowScore>> = picked.iter().chain([&place]).map(|place| models[*place]).collect();
            mean(&members, None)
        };
        let best = (0..models.len()).map(|place| (place, with(place))).max_by(|a, b| a.1.total_cmp(&b.1));
        match best {
            Some((place, score)) if score > reached || picked.len() < LEAST_PICKS.min(models.len()) => {
                reached = score;
                picked.push(place);
            }
            _ => break,
        }
    }
    picked
}

fn log_sum(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let top = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY { top } else { top + logs.map(|log| (log - top).exp()).sum::<f64>().ln() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_those_of_the_values() {
        for (values, step) in [(vec![1.0, 4.0, 2.0], 1.0), (vec![1.5, 4.0, 2.0], 0.5), (vec![0.11, 0.25, 3.0], 0.01)] {
            assert_eq!(step_of(values.into_iter()), step);
        }
    }

    #[test]
    fn as_many_cells_are_masked_as_asked_for() {
        for share in [0.1, 0.5] {
            let count =
                (0..1000).flat_map(|n| (0..10).map(move |d| (n, d))).filter(|(n, d)| masked(*n, *d, 10, share)).count();
            assert!((count as f64 / 1e4 - share).abs() < 0.02, "{count}");
        }
    }
}
