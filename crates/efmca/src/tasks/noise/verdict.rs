//! Does the best family fit? The randomised quantile residuals of held-out entries are uniform if it does.

use serde::Serialize;

use super::candidates::Candidate;
use super::column::ColumnMixture;
use crate::error::Result;
use crate::family::SharedFamily;
use crate::model::{Model, Resolution};
use crate::tasks::held_out::{Split, quantiles};
use crate::tasks::uniformity::{Uniformity, chi_squared_4, smooth_components};

/// Held-out entries without which there is no verdict.
const FEWEST: usize = 30;
/// The level at which a family is called ill-fitting.
const LEVEL: f64 = 0.05;
/// The outer share of the distribution that is its tail, and standard errors that make a tail heavy or a middle empty.
const TAIL: f64 = 0.01;
const CLEAR: f64 = 3.0;
/// The middle of the distribution, in which values between two humps are missing.
const MIDDLE: (f64, f64) = (0.4, 0.6);

/// How values differ from what was predicted for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// There are fewer values in the middle than at both sides of it.
    TwoHumps,
    /// More values are far above than the family has.
    HeavyUpperTail,
    /// More values are far below than the family has.
    HeavyLowerTail,
    /// More values are far to both sides.
    HeavyTails,
    /// Values scatter more.
    Wider,
    /// Values scatter less.
    Narrower,
    /// Values lean to one side.
    Skewed,
    /// Values are larger or smaller.
    Shifted,
    /// Values are more in the middle and at the ends, or between them.
    Peaked,
}

impl Shape {
    /// What it is in words, after which the name of the family can stand.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Shape::TwoHumps => "two humps, unlike",
            Shape::HeavyUpperTail => "a heavier upper tail than",
            Shape::HeavyLowerTail => "a heavier lower tail than",
            Shape::HeavyTails => "heavier tails than",
            Shape::Wider => "more scatter than",
            Shape::Narrower => "less scatter than",
            Shape::Skewed => "another skew than",
            Shape::Shifted => "another mean than",
            Shape::Peaked => "another peak than",
        }
    }
}

/// Whether a family fits a column: a test of held-out entries.
///
/// The test is Neyman's smooth one with four components, over the randomised quantile residuals of entries that training did not see.
/// The parameters were learned from other entries, and are uncertain by what these are: the statistic is divided by
/// $1 + n/N$ with $n$ held-out and $N$ seen entries, which is the most that efficient estimates can add to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// The family.
    pub family: String,
    /// Held-out entries.
    pub entries: usize,
    /// The probability of residuals that are less uniform, if the family fits.
    pub p_value: f64,
    /// The share of the residuals in each twentieth of $\lbrack 0, 1\rbrack$, from low to high values; 0.05 each if the family fits.
    pub histogram: Vec<f64>,
    /// The largest difference between their distribution function and that of the uniform one (Kolmogorov and Smirnov).
    pub distance: f64,
    /// How values differ, if the family does not fit.
    pub shape: Option<Shape>,
}

impl Verdict {
    /// The verdict over places between 0 and 1; `ratio` is the number of seen entries for each held-out one. `None` if there are
    /// too few.
    pub(super) fn of(family: &SharedFamily, places: &[f64], ratio: f64) -> Option<Verdict> {
        if places.len() < FEWEST || places.iter().any(|place| place.is_nan()) {
            return None;
        }
        let components = smooth_components(places).map(|z| z / (1.0 + 1.0 / ratio.max(1e-9)).sqrt());
        let p_value = chi_squared_4(components.iter().map(|z| z * z).sum());
        let Uniformity { histogram, distance } = Uniformity::of(places)?;
        let shape = (p_value < LEVEL).then(|| shape(places, components));
        Some(Verdict { family: family.spec(), entries: places.len(), p_value, histogram, distance, shape })
    }

    /// Whether the family fits, at a level of 5 %.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.p_value >= LEVEL
    }

    /// The verdict in a few words.
    #[must_use]
    pub fn sentence(&self) -> String {
        let p = if self.p_value < 0.001 { "p < 0.001".to_owned() } else { format!("p = {:.3}", self.p_value) };
        match self.shape {
            None => format!("fits ({p})"),
            Some(shape) => format!("none fits: {} {} ({p})", shape.words(), self.family),
        }
    }

    /// The share of a bar of the histogram that is in the band of 95 % for the family, lower and upper end.
    #[must_use]
    pub fn band(&self) -> (f64, f64) {
        let share = 1.0 / self.histogram.len().max(1) as f64;
        let reach = 1.96 * (share * (1.0 - share) / self.entries.max(1) as f64).sqrt();
        ((share - reach).max(0.0), share + reach)
    }
}

/// What is most clearly wrong.
fn shape(places: &[f64], components: [f64; 4]) -> Shape {
    let count = places.len() as f64;
    // by how many standard errors more places are in a range than there should be
    let excess = |low: f64, high: f64| {
        let found = places.iter().filter(|place| (low..=high).contains(*place)).count() as f64;
        let share = high - low;
        (found - share * count) / (share * (1.0 - share) * count).sqrt()
    };
    let (lower, upper, middle) = (excess(0.0, TAIL), excess(1.0 - TAIL, 1.0), excess(MIDDLE.0, MIDDLE.1));
    let largest = (0..4).max_by(|a, b| components[*a].abs().total_cmp(&components[*b].abs())).unwrap_or(0);
    match (lower > CLEAR, upper > CLEAR) {
        _ if middle < -CLEAR && components[3] < -CLEAR => Shape::TwoHumps,
        (true, true) => Shape::HeavyTails,
        (false, true) => Shape::HeavyUpperTail,
        (true, false) => Shape::HeavyLowerTail,
        (false, false) => match (largest, components[largest] > 0.0) {
            (0, _) => Shape::Shifted,
            (1, true) => Shape::Wider,
            (1, false) => Shape::Narrower,
            (2, _) => Shape::Skewed,
            _ => Shape::Peaked,
        },
    }
}

/// Whether a model fits a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TableVerdict {
    /// Columns with a verdict.
    pub columns: usize,
    /// Those whose family does not fit, if 5 % is the probability of a single error in the table (Holm's rule).
    pub ill_fitting: Vec<usize>,
    /// The smallest probability of a column, times the number of columns (Bonferroni).
    pub p_value: f64,
}

impl TableVerdict {
    /// The verdict over those of all columns; `None` if none has one.
    pub(super) fn of(verdicts: &[Option<Verdict>]) -> Option<TableVerdict> {
        let mut known: Vec<(usize, f64)> =
            verdicts.iter().enumerate().filter_map(|(d, verdict)| Some((d, verdict.as_ref()?.p_value))).collect();
        known.sort_by(|a, b| a.1.total_cmp(&b.1));
        let columns = known.len();
        let p_value = (known.first()?.1 * columns as f64).min(1.0);
        let rejected = known.iter().enumerate().take_while(|(rank, (_, p))| p * ((columns - rank) as f64) < LEVEL);
        let mut ill_fitting: Vec<usize> = rejected.map(|(_, (d, _))| *d).collect();
        ill_fitting.sort_unstable();
        Some(TableVerdict { columns, ill_fitting, p_value })
    }

    /// Whether every column fits.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.ill_fitting.is_empty()
    }
}

/// The verdict on each column of `model`, which has not seen the held-out entries.
pub(super) fn verdicts<'r>(
    split: &Split<'_>,
    model: &Model,
    resolution: impl Fn(usize) -> &'r Resolution + Sync,
    seed: u64,
) -> Result<Vec<Option<Verdict>>> {
    let places = split.quantiles(model, resolution, seed)?;
    let verdict = |(d, places): (usize, &Vec<f64>)| {
        Verdict::of(model.columns().family(d), places, split.seen_for_each_held_out(d))
    };
    Ok(places.iter().enumerate().map(verdict).collect())
}

impl ColumnMixture {
    /// Whether `family` fits the column as this mixture.
    pub(super) fn verdict(&self, family: &SharedFamily, seed: u64) -> Option<Verdict> {
        let learned = self.try_family(&Candidate::given(family))?;
        let (seen, held_out) = self.entries();
        let weights = held_out.responsibilities.view();
        let places = quantiles(&**family, &learned.etas, &held_out.resolution, &held_out.y, weights, seed);
        Verdict::of(family, &places, seen.y.len() as f64 / held_out.y.len().max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::family;

    fn even(count: usize) -> Vec<f64> {
        (0..count).map(|index| (index as f64 + 0.5) / count as f64).collect()
    }

    #[test]
    fn verdicts_name_what_is_wrong() -> Result<()> {
        let gaussian = family("gaussian")?;
        let verdict = |places: Vec<f64>| Verdict::of(&gaussian, &places, 9.0);
        let fits = verdict(even(300)).unwrap();
        assert!(fits.fits() && fits.sentence() == "fits (p = 1.000)", "{}", fits.sentence());
        let humps = even(300).iter().map(|u| if *u < 0.5 { 0.1 + 0.2 * u } else { 0.7 + 0.2 * u }).collect();
        assert_eq!(verdict(humps).unwrap().shape, Some(Shape::TwoHumps));
        let tail = even(300).iter().map(|u| if *u > 0.9 { 0.999 } else { *u / 0.91 }).collect();
        let tail = verdict(tail).unwrap();
        assert!(
            tail.sentence().starts_with("none fits: a heavier upper tail than gaussian (p < 0.001"),
            "{}",
            tail.sentence()
        );
        let narrow = even(300).iter().map(|u| 0.25 + 0.5 * u).collect();
        assert_eq!(verdict(narrow).unwrap().shape, Some(Shape::Narrower));
        assert!(verdict(even(29)).is_none());
        Ok(())
    }

    #[test]
    fn a_table_is_judged_by_all_its_columns() -> Result<()> {
        let gaussian = family("gaussian")?;
        let of = |p_value: f64| {
            Some(Verdict { p_value, ..Verdict::of(&gaussian, &even(100), 9.0).unwrap_or_else(|| unreachable!()) })
        };
        let verdict = TableVerdict::of(&[of(0.02), None, of(0.5), of(0.004)]).unwrap();
        assert_eq!((verdict.columns, verdict.ill_fitting), (3, vec![0, 3]));
        assert!(TableVerdict::of(&[of(0.02), of(0.5), of(0.5)]).unwrap().fits());
        assert!(TableVerdict::of(&[None]).is_none());
        Ok(())
    }
}
