//! How often causes are on: the learned priors, the most active cause first, as in the paper's figure of all dictionaries.

use efmca_view::{Drawing, Figure, Line};

use crate::output::Done;

const SIZE: (u32, u32) = (720, 420);

/// The curve of log10 of the priors.
pub(super) fn drawing(pi: &[f64]) -> Done<Drawing> {
    let mut sorted: Vec<f64> = pi.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let lowest = sorted.iter().copied().filter(|pi| *pi > 0.0).fold(1.0, f64::min);
    let points = sorted.iter().enumerate().map(|(rank, pi)| ((rank + 1) as f64, pi.max(lowest).log10()));
    let figure =
        Figure::new("Priors of all causes, the most active first").x_label("cause").y_label("log10 of the prior");
    Ok(figure.line(Line::new(points)).draw(SIZE.0, SIZE.1)?)
}
