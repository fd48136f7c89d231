//! How often each cause is on in groups of rows, with a test.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::special::gamma_upper;

/// Groups of rows with names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grouping {
    names: Vec<String>,
    /// The group of each row, if it has one.
    of_rows: Vec<Option<usize>>,
}

/// A group of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupOverview {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: usize,
    /// How often each cause is on in it: the average of its probabilities.
    pub shares: Vec<f64>,
    /// The standard errors of these averages.
    pub errors: Vec<f64>,
}

/// Whether a cause is as often on in all groups.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupTest {
    /// The differences between groups, squared and weighted, in variances: as many as a sum of $G-1$ squares of standard
    /// normal numbers if there is no difference.
    pub chi_square: f64,
    /// The probability of so large a number without any difference.
    pub p: f64,
    /// The same after Holm's correction for as many tests as there are causes.
    pub corrected: f64,
}

impl Grouping {
    /// The groups `names`, and the place of each row's group among them; none for rows that are in no group.
    #[must_use]
    pub fn new(names: Vec<String>, of_rows: Vec<Option<usize>>) -> Grouping {
        Grouping { names, of_rows }
    }

    pub(super) fn rows(&self) -> usize {
        self.of_rows.len()
    }

    pub(super) fn check(&self) -> Result<()> {
        match self.of_rows.iter().flatten().find(|group| **group >= self.names.len()) {
            Some(group) => {
                let requirement = format!("there are {} groups", self.names.len());
                Err(Error::setting("group of a row", group, requirement))
            }
            None => Ok(()),
        }
    }

    fn places(&self, group: usize) -> Vec<usize> {
        (0..self.of_rows.len()).filter(|n| self.of_rows[*n] == Some(group)).collect()
    }
}

/// Mean and variance of some numbers.
fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count.max(1.0);
    (mean, values.map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0))
}

/// How often each cause is on in each group; groups without rows are left out.
pub(super) fn grouped(groups: &Grouping, active: &Array2<f64>) -> Vec<GroupOverview> {
    let describe = |(group, name): (usize, &String)| {
        let places = groups.places(group);
        let of_cause = |h: usize| moments(places.iter().map(move |n| active[[*n, h]]));
        let found: Vec<(f64, f64)> = (0..active.ncols()).map(of_cause).collect();
        GroupOverview {
            name: name.clone(),
            rows: places.len(),
            shares: found.iter().map(|(mean, _)| *mean).collect(),
            errors: found.iter().map(|(_, variance)| (variance / places.len().max(1) as f64).sqrt()).collect(),
        }
    };
    groups.names.iter().enumerate().map(describe).filter(|group| group.rows > 0).collect()
}

/// For each cause a test of whether it is as often on in all groups.
pub(super) fn tests(groups: &Grouping, active: &Array2<f64>) -> Vec<GroupTest> {
    let places: Vec<Vec<usize>> =
        (0..groups.names.len()).map(|group| groups.places(group)).filter(|places| !places.is_empty()).collect();
    let free = places.len().saturating_sub(1) as f64;
    let test = |h: usize| {
        let all = || places.iter().flatten().map(move |n| active[[*n, h]]);
        let (mean, variance) = moments(all());
        let between: f64 = places
            .iter()
            .map(|places| places.len() as f64 * (moments(places.iter().map(|n| active[[*n, h]])).0 - mean).powi(2))
            .sum();
        let chi_square = if variance > 0.0 { between / variance } else { 0.0 };
        let p = if free > 0.0 { gamma_upper(0.5 * free, 0.5 * chi_square) } else { 1.0 };
        GroupTest { chi_square, p, corrected: p }
    };
    let mut found: Vec<GroupTest> = (0..active.ncols()).map(test).collect();
    // Holm: the smallest of k times k, the next times k - 1, …, never less than the one before
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by(|a, b| found[*a].p.total_cmp(&found[*b].p));
    let mut before: f64 = 0.0;
    for (rank, h) in order.iter().enumerate() {
        before = before.max(((found.len() - rank) as f64 * found[*h].p).min(1.0));
        found[*h].corrected = before;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash;

    fn random(place: usize) -> f64 {
        hash::of_place(11, place as u64) as f64 / u64::MAX as f64
    }

    fn grouping(rows: usize) -> Grouping {
        Grouping::new(
            vec!["a".into(), "b".into(), "c".into()],
            (0..rows).map(|n| (n % 4 < 3).then_some(n % 4)).collect(),
        )
    }

    #[test]
    fn a_difference_is_found_and_none_is_not() {
        let active = Array2::from_shape_fn((400, 2), |(n, h)| {
            let often = if h == 0 && n % 4 == 1 { 0.7 } else { 0.3 };
            f64::from(u8::from(random(n * 2 + h) < often))
        });
        let groups = grouped(&grouping(400), &active);
        assert_eq!((groups.len(), groups[1].rows), (3, 100));
        assert!((groups[1].shares[0] - 0.7).abs() < 4.0 * groups[1].errors[0]);
        let found = tests(&grouping(400), &active);
        assert!(found[0].corrected < 1e-6 && found[1].corrected > 0.01, "{found:?}");
        assert!(found.iter().all(|test| test.corrected >= test.p));
    }

    #[test]
    fn the_test_has_its_level() {
        let false_alarms = (0..400)
            .filter(|run| {
                let active =
                    Array2::from_shape_fn((120, 1), |(n, _)| f64::from(u8::from(random(run * 1000 + n) < 0.4)));
                tests(&grouping(120), &active)[0].p < 0.05
            })
            .count();
        // 20 are expected, with a standard deviation of 4.4
        assert!((6..=34).contains(&false_alarms), "{false_alarms}");
    }
}
