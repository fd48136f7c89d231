//! Known structure: what causes must and must not do to columns, and causes that stay as they are.

use serde::{Deserialize, Serialize};

use super::init::of_group;
use super::m_step::MStep;
use crate::error::{Error, Result};
use crate::model::{Columns, Model, Statistics, Superposition};
use crate::posterior::Moments;

/// The share of the rows that a cause with anchors starts from, those with the strongest values in them, and how many at the
/// least.
const STRONGEST: usize = 8;
const ROWS: usize = 10;

/// What is known of a cause in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    /// It raises the column: its mean is not below the background's.
    Plus,
    /// It lowers the column below zero. With the maximum nothing lies below the background, so that this needs
    /// [`Superposition::MaxMagnitude`].
    Minus,
    /// It has nothing to do with the column: its profile is the background's.
    Zero,
}

/// What is known of causes before training: signs and zeros of their profiles, and profiles that are held.
///
/// A zero ties the cause to the background in that column: both have the same parameters, learned from the rows of both. A
/// sign does the same as long as the data speak against it. Causes with signs start from the rows that are strongest in these
/// columns, so that they become the causes that were meant.
///
/// ```
/// use efmca::em::{Sign, Structure};
/// use efmca::{Em, bars};
///
/// let truth = bars::model("poisson", 3, &[20.0], &[1.0], 0.2)?;
/// let y = truth.sample(400, 1).y;
/// // the first cause is the top bar, and nothing else
/// let pixel = |d: usize| if d < 3 { Sign::Plus } else { Sign::Zero };
/// let structure = (0..9).fold(Structure::new(), |known, d| known.sign(0, d, pixel(d)));
/// let model = Em::new(6).family("poisson").structure(structure).starts(5).seed(1).run(&y)?.model;
/// assert!((0..3).all(|d| model.means()[[0, d]] > 15.0));
/// assert!((3..9).all(|d| model.means()[[0, d]] == model.background()[d]));
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Structure {
    signs: Vec<(usize, usize, Sign)>,
    held: Option<Box<Model>>,
}

impl Structure {
    /// Nothing is known.
    #[must_use]
    pub fn new() -> Structure {
        Structure::default()
    }

    /// What cause `h` does to column `d`, both counted from zero.
    #[must_use]
    pub fn sign(mut self, h: usize, d: usize, sign: Sign) -> Structure {
        self.signs.push((h, d, sign));
        self
    }

    /// The first causes are those of `model`, and their profiles stay as they are; how often they are on is learned. The
    /// background starts as the model's.
    #[must_use]
    pub fn hold(mut self, model: Model) -> Structure {
        self.held = Some(Box::new(model));
        self
    }

    /// The number of causes of which something is known.
    #[must_use]
    pub fn causes(&self) -> usize {
        let signed = self.signs.iter().map(|(h, ..)| h + 1).max().unwrap_or(0);
        signed.max(self.held_causes())
    }

    /// The model whose causes are held, if there is one.
    #[must_use]
    pub fn held(&self) -> Option<&Model> {
        self.held.as_deref()
    }

    pub(super) fn held_causes(&self) -> usize {
        self.held.as_ref().map_or(0, |model| model.h())
    }

    /// Whether anything is known of cause `h`, so that it is not started again.
    pub(super) fn knows(&self, h: usize) -> bool {
        h < self.held_causes() || self.signs.iter().any(|(cause, ..)| *cause == h)
    }

    /// Checks what is known without any data.
    pub(crate) fn check_signs(&self, rule: Superposition) -> Result<()> {
        let impossible = |sign: &Sign| *sign == Sign::Minus && rule != Superposition::MaxMagnitude;
        match self.signs.iter().find(|(_, _, sign)| impossible(sign)) {
            None => Ok(()),
            Some((_, column, _)) => {
                let problem = "with the maximum no cause can lower a column below the background; turn the column around (its \
                               negative, or one minus it) and give +, or use the maximum magnitude";
                Err(Error::Column { column: *column, problem: problem.into() })
            }
        }
    }

    /// Checks what is known against the columns and causes of a training.
    pub(super) fn check(&self, columns: &Columns, causes: usize, rule: Superposition) -> Result<()> {
        self.check_signs(rule)?;
        if self.causes() > causes {
            let requirement = format!("something is known of {} causes; give as many or more", self.causes());
            return Err(Error::setting("causes", causes, requirement));
        }
        if let Some(model) = self.held() {
            if !model.columns.same_families(columns) {
                let found = format!("{} columns with {}", model.d(), model.columns.specs().join(", "));
                let expected = format!("{} columns with {}", columns.d(), columns.specs().join(", "));
                return Err(Error::shape("model whose causes are held", expected, found));
            }
            if model.superposition != rule {
                return Err(Error::shape(
                    "superposition of the model whose causes are held",
                    rule.name(),
                    model.superposition.name(),
                ));
            }
        }
        for (h, d, sign) in &self.signs {
            let problem = if *d >= columns.d() {
                format!("the data has {} columns only", columns.d())
            } else if *h < self.held_causes() {
                format!("cause {} is held, so that it can have no sign here", h + 1)
            } else if *sign != Sign::Zero && columns.family(*d).spec().starts_with("categorical") {
                "its values are names without an order, so that a cause cannot raise or lower it; give 0 or nothing"
                    .into()
            } else {
                continue;
            };
            return Err(Error::Column { column: *d, problem });
        }
        Ok(())
    }

    /// What is known of cause `h` in column `d`, the last time that it was said.
    fn of(&self, h: usize, d: usize) -> Option<Sign> {
        self.signs.iter().rev().find(|(cause, column, _)| (*cause, *column) == (h, d)).map(|(_, _, sign)| *sign)
    }

    /// The parameters that training starts from, where something is known.
    pub(super) fn start(&self, model: &mut Model, statistics: &Statistics, average: &ndarray::Array1<f64>) {
        if let Some(held) = self.held() {
            for h in 0..held.h() {
                model.w.row_mut(h).assign(&held.w.row(h));
                model.pi[h] = held.pi[h];
            }
            if model.background_learned {
                model.background_w.assign(&held.background_w);
            }
        }
        for h in self.held_causes()..self.causes() {
            if let Some(t_bar) = self.strongest_rows(h, statistics, average) {
                let start = of_group(&statistics.columns, t_bar.view(), average, 1.0);
                model.w.row_mut(h).assign(&start);
            }
        }
        for (h, d, _) in &self.signs {
            if self.violated(model, *h, *d) {
                let w = model.profile(model.h())[model.columns.span(*d)].to_vec();
                model.set_entry(*h, *d, &w);
            }
        }
    }

    /// The mean statistics of the rows that are strongest in the columns for which cause `h` has a sign.
    fn strongest_rows(
        &self,
        h: usize,
        statistics: &Statistics,
        average: &ndarray::Array1<f64>,
    ) -> Option<ndarray::Array1<f64>> {
        let columns = &statistics.columns;
        let signed: Vec<(usize, f64)> = (0..columns.d())
            .filter_map(|d| match self.of(h, d)? {
                Sign::Plus => Some((d, 1.0)),
                Sign::Minus => Some((d, -1.0)),
                Sign::Zero => None,
            })
            .collect();
        if signed.is_empty() {
            return None;
        }
        let rows: Vec<(Vec<f64>, Vec<bool>)> = (0..statistics.n()).map(|n| statistics.row(n)).collect();
        let spread = |d: usize| {
            let k = columns.span(d).start;
            let sum: f64 =
                rows.iter().filter(|(_, present)| present[d]).map(|(t, _)| (t[k] - average[k]).powi(2)).sum();
            (sum / rows.len().max(1) as f64).sqrt().max(f64::MIN_POSITIVE)
        };
        let spreads: Vec<f64> = signed.iter().map(|(d, _)| spread(*d)).collect();
        let strength = |(t, present): &(Vec<f64>, Vec<bool>)| -> f64 {
            let of = |((d, sign), spread): (&(usize, f64), &f64)| {
                let k = columns.span(*d).start;
                if present[*d] { sign * (t[k] - average[k]) / spread } else { 0.0 }
            };
            signed.iter().zip(&spreads).map(of).sum()
        };
        let mut order: Vec<(usize, f64)> = rows.iter().map(strength).enumerate().collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        order.truncate((rows.len() / STRONGEST).max(ROWS));
        let mut t_bar = average.clone();
        for (_, _, span) in columns.iter().filter(|(d, ..)| order.iter().any(|(n, _)| rows[*n].1[*d])) {
            let d = (0..columns.d()).find(|d| columns.span(*d) == span).unwrap_or(0);
            let present: Vec<usize> = order.iter().map(|(n, _)| *n).filter(|n| rows[*n].1[d]).collect();
            for k in span {
                t_bar[k] = present.iter().map(|n| rows[*n].0[k]).sum::<f64>() / present.len() as f64;
            }
        }
        Some(t_bar)
    }

    /// Whether cause `h` must be tied to the background in column `d` as the parameters are now.
    fn violated(&self, model: &Model, h: usize, d: usize) -> bool {
        let (family, span) = (model.columns.family(d), model.columns.span(d));
        let dominance = |cause: usize| family.dominance(&model.profile(cause)[span.clone()]);
        let (own, background) = (dominance(h), dominance(model.h()));
        let rule = model.superposition;
        let weaker = rule.strength(own) < rule.strength(background);
        match self.of(h, d) {
            None => false,
            Some(Sign::Zero) => true,
            Some(Sign::Plus) if rule == Superposition::MaxMagnitude => weaker || own < 0.0,
            Some(Sign::Plus) => weaker,
            Some(Sign::Minus) => weaker || own > 0.0,
        }
    }

    /// Ties causes to the background where that is known, or where a sign would be violated. What is tied shares its moments.
    pub(super) fn impose(&self, model: &mut Model, moments: &Moments, m_step: &MStep<'_>) {
        let mut columns: Vec<usize> = self.signs.iter().map(|(_, d, _)| *d).collect();
        columns.sort_unstable();
        columns.dedup();
        for d in columns {
            let mut tied: Vec<usize> = Vec::new();
            // a tie moves the background, which can violate further signs
            loop {
                let more: Vec<usize> =
                    (0..model.h()).filter(|h| !tied.contains(h) && self.violated(model, *h, d)).collect();
                if more.is_empty() {
                    break;
                }
                tied.extend(more);
                let mut w = model.profile(model.h())[model.columns.span(d)].to_vec();
                if model.background_learned && !m_step.hold_background {
                    m_step.update_entry(&model.columns, moments, &[&tied[..], &[model.h()]].concat(), d, &mut w);
                    model.set_entry(model.h(), d, &w);
                }
                for h in &tied {
                    model.set_entry(*h, d, &w);
                }
            }
        }
    }
}
