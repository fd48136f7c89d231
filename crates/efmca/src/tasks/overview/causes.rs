//! Each cause: how often it is on, in which rows, and the columns in which it shows.

use ndarray::Array2;

use super::ColumnOverview;
use crate::family::Measure;
use crate::model::Model;

/// Values of a family up to which the one that gains most is named.
const MOST_CODES: f64 = 64.0;

/// A cause of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct CauseOverview {
    /// $\pi_h$, how often the model says that it is on.
    pub pi: f64,
    /// How often it is on in the table: the average of its probabilities.
    pub share: f64,
    /// The rows in which it is most likely on, counted from zero, with that probability.
    pub rows: Vec<(usize, f64)>,
    /// The columns in which it shows, the strongest first.
    pub effects: Vec<Effect>,
}

/// What a cause does to a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The column.
    pub column: usize,
    /// For columns of names the one that becomes more likely, as a code.
    pub code: Option<usize>,
    /// The mean with the cause, or the probability of that name.
    pub with: f64,
    /// The same with the background alone.
    pub without: f64,
    /// The difference in standard deviations of the column; without a sign for names.
    pub far: f64,
}

/// All causes, and how far each is from the background in each column.
pub(super) fn causes(
    model: &Model,
    columns: &[ColumnOverview],
    active: &Array2<f64>,
    rows: usize,
) -> (Vec<CauseOverview>, Array2<f64>) {
    let mut far = Array2::zeros((model.h(), model.d()));
    let mut found = Vec::with_capacity(model.h());
    for h in 0..model.h() {
        let owners = model.combined(&[h]).owners;
        let mut effects: Vec<Effect> =
            (0..model.d()).filter(|d| owners[*d] == h).filter_map(|d| effect(model, &columns[d], h, d)).collect();
        effects.sort_by(|a, b| b.far.abs().total_cmp(&a.far.abs()).then(a.column.cmp(&b.column)));
        for effect in &effects {
            far[[h, effect.column]] = effect.far;
        }
        let mut order: Vec<usize> = (0..active.nrows()).collect();
        order.sort_by(|a, b| active[[*b, h]].total_cmp(&active[[*a, h]]).then(a.cmp(b)));
        found.push(CauseOverview {
            pi: model.pi()[h],
            share: active.column(h).sum() / active.nrows().max(1) as f64,
            rows: order.into_iter().take(rows).map(|n| (n, active[[n, h]])).filter(|(_, on)| *on >= 0.5).collect(),
            effects,
        });
    }
    (found, far)
}

/// What cause `h` does to column `d`, which it sets where it is on alone.
fn effect(model: &Model, column: &ColumnOverview, h: usize, d: usize) -> Option<Effect> {
    let (family, span) = (model.columns().family(d), model.columns().span(d));
    let (with, without) = (&model.profile(h)[span.clone()], &model.profile(model.h())[span]);
    let support = family.support();
    let nominal = family.spec().starts_with("categorical");
    if nominal && support.measure == Measure::Counting && support.high < MOST_CODES {
        let shares = |w: &[f64]| -> Vec<f64> {
            let mut eta = vec![0.0; family.l()];
            family.phi(w, &mut eta);
            (0..=support.high as usize).map(|code| family.log_density(code as f64, &eta).exp()).collect()
        };
        let (with, without) = (shares(with), shares(without));
        let code = (0..with.len()).max_by(|a, b| (with[*a] - without[*a]).total_cmp(&(with[*b] - without[*b])))?;
        // half is the largest standard deviation of a yes or no
        let far = (with[code] - without[code]) / 0.5;
        return Some(Effect { column: d, code: Some(code), with: with[code], without: without[code], far });
    }
    let (with, without) = (family.f(with), family.f(without));
    let far = (with - without) / if column.sd > 0.0 { column.sd } else { 1.0 };
    (far.is_finite() && far != 0.0).then_some(Effect { column: d, code: None, with, without, far })
}
