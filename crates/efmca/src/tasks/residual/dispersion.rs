//! How much the residual varies, against the variance that the family has.

use ndarray::{Array4, Zip};
use serde::{Deserialize, Serialize};

/// A number with its standard error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The number.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
}

/// The variance of the residual over that of the family,
/// $$ \sum_i \frac{(y_i - m_i)^2}{u_i} \Big/ \sum_i \frac{V(m_i)}{u_i}, \quad u_i = \max(V(m_i), v_0), $$
/// with the variance $V$ of the family at a mean, and $v_0$ a tenth of its median, in which pixels count by their
/// standard deviations: a mean near zero that is slightly wrong must not outweigh all others. It is 1 for noise of the family. Where the family has a spread of its own, $V$ is
/// measured where the scene is flat, so that `flat` is 1 whatever the noise is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Dispersion {
    /// Over all pixels.
    pub all: Share,
    /// Over the quarter of the pixels around which the estimate changes least: the estimate is best there. Pixels with less
    /// variance than $v_0$ do not belong to it, nor to the next.
    pub flat: Option<Share>,
    /// Over the quarter around which it changes most; none for an image that is flat.
    pub busy: Option<Share>,
}

/// The share of the typical variance that variances are raised to.
const FLOOR: f64 = 0.1;

/// The variances, raised to the floor.
pub(super) fn raised(variance: &Array4<f64>, residual: &Array4<f64>) -> Array4<f64> {
    let mut present: Vec<f64> =
        variance.iter().zip(residual).filter(|(v, r)| !r.is_nan() && v.is_finite()).map(|(v, _)| *v).collect();
    present.sort_by(f64::total_cmp);
    // neither a dark sky without any noise nor a few bright stars are typical, however many or bright they are
    let half = 0.5 * present.iter().map(|v| v.sqrt()).sum::<f64>();
    let mut sum = 0.0;
    let typical = present.iter().find(|v| {
        sum += v.sqrt();
        sum >= half
    });
    let floor = FLOOR * typical.copied().unwrap_or(f64::NAN);
    let positive = if floor > 0.0 { floor } else { f64::MIN_POSITIVE };
    variance.mapv(|v| v.max(positive))
}

/// The dispersion over the pixels of a mask, from squared residuals and variances over the raised variance.
pub(super) fn dispersion(squares: &Array4<f64>, expected: &Array4<f64>, mask: Option<&Array4<f64>>) -> Option<Share> {
    let (mut count, mut sum, mut of) = (0.0, 0.0, 0.0);
    let each = |visit: &mut dyn FnMut(f64, f64)| {
        let mut see = |s: f64, e: f64, inside: f64| {
            if inside > 0.0 && s.is_finite() && e.is_finite() {
                visit(s, e);
            }
        };
        match mask {
            Some(mask) => Zip::from(squares).and(expected).and(mask).for_each(|s, e, m| see(*s, *e, *m)),
            None => Zip::from(squares).and(expected).for_each(|s, e| see(*s, *e, 1.0)),
        }
    };
    each(&mut |s, e| {
        count += 1.0;
        sum += s;
        of += e;
    });
    let value = sum / of;
    if !(value.is_finite() && count > 1.0) {
        return None;
    }
    let mut scatter = 0.0;
    each(&mut |s, e| scatter += (s - value * e).powi(2));
    Some(Share { value, error: scatter.sqrt() / of })
}
