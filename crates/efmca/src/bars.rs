//! The bars test: the standard artificial data of the field (Földiák, 1990; the paper's Sec. 7.1).

use ndarray::Array2;

use crate::error::{Error, Result};
use crate::family::{SharedFamily, from_conventional};
use crate::model::{Background, Model};

/// A model of $2b$ bars, $b$ horizontal and $b$ vertical ones, on a grid of $b \times b$ pixels.
///
/// A pixel has the conventional parameters `bar` where a bar is and `dark` elsewhere; every bar is there with
/// probability `pi`. The background is `dark` everywhere, which is what a picture without bars shows.
///
/// ```
/// use efmca::{bars, family::family};
///
/// // Five by five pixels with exponential noise of mean 10 on the bars and 1 elsewhere: the paper's E-MCA.
/// let model = bars::model(family("exponential")?, 5, &[0.1], &[1.0], 0.2)?;
/// assert_eq!((model.h(), model.d()), (10, 25));
/// assert!((model.means().row(0).sum() - (5.0 * 10.0 + 20.0)).abs() < 1e-9);
/// # Ok::<(), efmca::Error>(())
/// ```
pub fn model(family: SharedFamily, b: usize, bar: &[f64], dark: &[f64], pi: f64) -> Result<Model> {
    if b == 0 {
        return Err(Error::setting("size", b, "the grid needs one pixel at least"));
    }
    let mean_parameters = |conventional: &[f64]| -> Result<Vec<f64>> {
        let eta = from_conventional(&*family, conventional)?;
        let mut w = vec![0.0; family.l()];
        family.grad_a(&eta, &mut w);
        Ok(w)
    };
    let (bar, dark) = (mean_parameters(bar)?, mean_parameters(dark)?);
    let on = |h: usize, d: usize| if h < b { d / b == h } else { d % b == h - b };
    let w = (0..family.l())
        .map(|l| Array2::from_shape_fn((2 * b, b * b), |(h, d)| if on(h, d) { bar[l] } else { dark[l] }))
        .collect();
    Model::new(family, ndarray::Array1::from_elem(2 * b, pi), w, Background::fixed(&dark))
}

/// Whether every bar of `truth` is found by a cause of its own in `learned`.
///
/// A cause is compared by its means; it has found the bar that is nearest to it if it is nearer to that bar than
/// halfway to the dark.
pub fn recovered(truth: &Model, learned: &Model) -> bool {
    let (bars, causes) = (truth.means(), learned.means());
    let background = truth.background().to_vec();
    let dark: Vec<f64> = truth.columns().iter().map(|(_, family, span)| family.f(&background[span])).collect();
    let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let mut found = vec![false; truth.h()];
    for cause in causes.outer_iter() {
        let cause = cause.to_vec();
        let near =
            (0..truth.h()).map(|h| (distance(&cause, &bars.row(h).to_vec()), h)).min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((near, h)) = near {
            let reach = distance(&bars.row(h).to_vec(), &dark) / 4.0;
            found[h] |= near < reach;
        }
    }
    found.iter().all(|found| *found)
}
