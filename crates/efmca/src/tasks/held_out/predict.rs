//! The probability that a model gives to an entry that it has not seen.

use std::collections::HashMap;

use ndarray::ArrayView1;

use crate::family::cell::log_probability;
use crate::family::{Measure, SharedFamily};
use crate::model::{Model, Resolution, Tables};
use crate::special::log_sum_exp;

/// The lowest score of an entry. A value that no cause can have would end all comparisons; it counts as very unlikely instead.
pub(super) const LOWEST: f64 = -1e4;
/// Responsibilities up to this are skipped in complete models, where most of hundreds of causes have none.
const NEGLIGIBLE: f64 = 1e-12;
/// Responsibilities are at least this where none is skipped, so that they have a logarithm.
const SMALLEST: f64 = 1e-300;

/// $\log\sum_h r_h p(y; \vec\eta_h)$ for entries of one column, where $r_h = \mathbb E\lbrack\mathcal A_{dh}\rbrack$ is the
/// responsibility of cause $h$, or of the background, for the entry.
///
/// Where values were rounded, the density of a continuous family is integrated over the interval that a value stands for, so that
/// it is a probability, too. Such values repeat, so integrals are kept.
pub(crate) struct Predictor<'a> {
    family: &'a SharedFamily,
    /// $\vec\eta_h$ of each cause and, last, of the background.
    etas: Vec<Vec<f64>>,
    density: Density,
    /// Responsibilities up to this are skipped.
    negligible: f64,
    /// Room for $\vec T(y)$ and for the terms of the sum.
    t: Vec<f64>,
    terms: Vec<f64>,
}

/// How $\log p(y; \vec\eta_h)$ is computed.
enum Density {
    /// By the family, as exactly as it can. Counts and the values of images repeat, so densities of whole numbers are kept.
    Exact { kept: HashMap<(usize, u64), f64> },
    /// With tabulated $A(\vec\eta_h)$, and the statistics of a value taken once for all causes. It is many times faster, and
    /// differs from the exact one in the last digits.
    Tabulated(Vec<f64>),
    /// Integrated over intervals.
    Integrated {
        resolution: Resolution,
        /// Where the mass of each cause is.
        centres: Vec<f64>,
        kept: HashMap<(usize, u64), f64>,
    },
}

/// Whether probabilities of values of this resolution need integrals of families with this measure.
pub(crate) fn needs_integrals(measure: Measure, resolution: &Resolution) -> bool {
    measure != Measure::Counting && !resolution.is_continuous()
}

impl<'a> Predictor<'a> {
    /// Column `d` of a complete model, with values of a resolution.
    pub(crate) fn of_model(model: &'a Model, tables: &Tables, d: usize, resolution: &Resolution) -> Predictor<'a> {
        let (family, span) = (model.columns().family(d), model.columns().span(d));
        let causes = 0..tables.eta.nrows();
        let etas = causes.clone().map(|h| span.clone().map(|k| tables.eta[[h, k]]).collect()).collect();
        let density = if needs_integrals(family.support().measure, resolution) {
            let centres = causes.map(|h| family.f(&model.profile(h)[span.clone()])).collect();
            Density::Integrated { resolution: resolution.clone(), centres, kept: HashMap::new() }
        } else {
            Density::Exact { kept: HashMap::new() }
        };
        Predictor { family, etas, density, negligible: NEGLIGIBLE, t: vec![0.0; family.l()], terms: Vec::new() }
    }

    /// A column by itself whose causes have the natural parameters `etas`, with values of a resolution.
    pub(crate) fn of_column(family: &'a SharedFamily, etas: Vec<Vec<f64>>, resolution: &Resolution) -> Predictor<'a> {
        let mean = |eta: &Vec<f64>| {
            let mut w = vec![0.0; eta.len()];
            family.grad_a(eta, &mut w);
            family.f(&w)
        };
        let density = if needs_integrals(family.support().measure, resolution) {
            Density::Integrated {
                resolution: resolution.clone(),
                centres: etas.iter().map(mean).collect(),
                kept: HashMap::new(),
            }
        } else {
            Density::Tabulated(etas.iter().map(|eta| family.a(eta)).collect())
        };
        let negligible = f64::NEG_INFINITY;
        Predictor { family, etas, density, negligible, t: vec![0.0; family.l()], terms: Vec::new() }
    }

    /// The score of an entry, given the responsibility of each cause for it.
    pub(crate) fn score(&mut self, responsibilities: ArrayView1<'_, f64>, y: f64) -> f64 {
        let terms = self.terms(responsibilities, y);
        let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if top < LOWEST { LOWEST } else { log_sum_exp(terms) }
    }

    /// $\log r_h + \log p(y; \vec\eta_h)$ for each cause that is not negligible.
    pub(crate) fn terms(&mut self, responsibilities: ArrayView1<'_, f64>, y: f64) -> &[f64] {
        let Predictor { family, etas, density, negligible, t, terms } = self;
        let mut log_h = 0.0;
        if let Density::Tabulated(_) = density {
            family.t(y, t);
            log_h = family.log_h(y);
        }
        terms.clear();
        for ((h, eta), r) in etas.iter().enumerate().zip(responsibilities).filter(|(_, r)| **r > *negligible) {
            let log = match density {
                Density::Exact { kept } if y.fract() == 0.0 => {
                    *kept.entry((h, y.to_bits())).or_insert_with(|| family.log_density(y, eta))
                }
                Density::Exact { .. } => family.log_density(y, eta),
                Density::Tabulated(a) => {
                    let inner: f64 = eta.iter().zip(&*t).map(|(eta, t)| eta * t).sum();
                    log_h + (inner - a[h])
                }
                Density::Integrated { resolution, centres, kept } => {
                    let probability = || match resolution.cell(y) {
                        Some(cell) => log_probability(&***family, eta, centres[h], cell),
                        None => family.log_density(y, eta),
                    };
                    *kept.entry((h, y.to_bits())).or_insert_with(probability)
                }
            };
            terms.push(log + r.max(SMALLEST).ln());
        }
        terms
    }
}

/// Writes $e^{x_i} / \sum_j e^{x_j}$ to `out` and returns $\log\sum_j e^{x_j}$.
pub(crate) fn normalised<'a>(logs: &[f64], out: impl IntoIterator<Item = &'a mut f64>) -> f64 {
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logs.iter().map(|log| (log - top).exp()).sum();
    out.into_iter().zip(logs).for_each(|(out, log)| *out = (log - top).exp() / sum);
    top + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::family::family;
    use crate::model::Background;
    use ndarray::{Array2, array};

    /// A model of one column with two causes and the background.
    fn model(spec: &str) -> Result<Model> {
        let w = vec![array![[2.0], [7.0]]];
        Model::new(family(spec)?, array![0.3, 0.3], w, Background::fixed(&[1.0]))
    }

    #[test]
    fn a_column_is_predicted_alike_in_a_model_and_by_itself() -> Result<()> {
        let (whole, continuous) = (Resolution::WHOLE, Resolution::Continuous);
        for (spec, resolution) in [("poisson", &whole), ("exponential", &continuous), ("exponential", &whole)] {
            let model = model(spec)?;
            let tables = Tables::new(&model);
            let etas: Vec<Vec<f64>> = tables.eta.outer_iter().map(|eta| eta.to_vec()).collect();
            let mut of_model = Predictor::of_model(&model, &tables, 0, resolution);
            let mut of_column = Predictor::of_column(model.columns().family(0), etas, resolution);
            let r = array![0.5, 0.2, 0.3];
            for y in [1.0, 2.0, 9.0, 1.0] {
                let (one, other) = (of_model.score(r.view(), y), of_column.score(r.view(), y));
                assert!((one - other).abs() < 1e-9 * one.abs(), "{spec} {resolution} {y}: {one} {other}");
            }
        }
        Ok(())
    }

    #[test]
    fn a_value_that_no_cause_can_have_is_very_unlikely() -> Result<()> {
        let model = model("poisson")?;
        let tables = Tables::new(&model);
        let mut predictor = Predictor::of_model(&model, &tables, 0, &Resolution::WHOLE);
        assert_eq!(predictor.score(array![1.0, 0.0, 0.0].view(), -1.0), LOWEST);
        assert_eq!(predictor.score(array![0.0, 0.0, 0.0].view(), 1.0), LOWEST);
        Ok(())
    }

    #[test]
    fn normalised_numbers_sum_to_one() {
        let logs = [-1000.0, -1001.0, -2000.0];
        let mut out = Array2::zeros((1, 3));
        let sum = normalised(&logs, out.row_mut(0));
        assert!((out.sum() - 1.0).abs() < 1e-15);
        assert_eq!(sum.to_bits(), log_sum_exp(&logs).to_bits());
    }
}
