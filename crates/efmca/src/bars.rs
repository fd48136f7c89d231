//! The bars test: the standard artificial data of the field (Földiák, 1990; the paper's Sec. 7.1).

use ndarray::Array2;

use crate::error::{Error, Result};
use crate::family::{FamilySpec, from_conventional};
use crate::model::{Background, Model};

/// A model of $2b$ bars, $b$ horizontal and $b$ vertical ones, on a grid of $b \times b$ pixels.
///
/// A pixel has the conventional parameters `bar` where a bar is and `dark` elsewhere; every bar is there with
/// probability `pi`. The background is `dark` everywhere, which is what a picture without bars shows.
///
/// ```
/// use efmca::bars;
///
/// // Five by five pixels with exponential noise of mean 10 on the bars and 1 elsewhere: the paper's E-MCA.
/// let model = bars::model("exponential", 5, &[0.1], &[1.0], 0.2)?;
/// assert_eq!((model.h(), model.d()), (10, 25));
/// assert!((model.means().row(0).sum() - (5.0 * 10.0 + 20.0)).abs() < 1e-9);
/// # Ok::<(), efmca::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Setting`] for a grid without pixels, and conventional parameters that the family does not have.
pub fn model(family: impl Into<FamilySpec>, b: usize, bar: &[f64], dark: &[f64], pi: f64) -> Result<Model> {
    let family = family.into().resolve()?;
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

/// How many bars of `truth` are found by a cause of `learned`.
///
/// A cause is compared by its means; it has found the bar that is nearest to it if it is nearer to that bar than
/// halfway to the dark.
pub fn found(truth: &Model, learned: &Model) -> usize {
    let background = truth.background().to_vec();
    let dark: Vec<f64> = truth.columns().iter().map(|(_, family, span)| family.f(&background[span])).collect();
    let rows = |model: &Model| model.means().outer_iter().map(|row| row.to_vec()).collect::<Vec<_>>();
    let (bars, causes) = (rows(truth), rows(learned));
    let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let nearest = |cause: &Vec<f64>| {
        let distances = bars.iter().map(|bar| distance(cause, bar));
        distances.enumerate().min_by(|a, b| a.1.total_cmp(&b.1))
    };
    let mut found: Vec<usize> = causes
        .iter()
        .filter_map(nearest)
        .filter(|(h, near)| *near < distance(&bars[*h], &dark) / 4.0)
        .map(|(h, _)| h)
        .collect();
    found.sort_unstable();
    found.dedup();
    found.len()
}

/// Whether every bar of `truth` is found by a cause of its own in `learned`.
pub fn recovered(truth: &Model, learned: &Model) -> bool {
    found(truth, learned) == truth.h()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::family;

    #[test]
    fn a_bar_that_is_learned_twice_counts_once() {
        let truth = model(family("poisson").unwrap(), 3, &[10.0], &[1.0], 0.2).unwrap();
        assert!(recovered(&truth, &truth));
        let twice = truth.w_flat().select(ndarray::Axis(0), &[0, 0, 1, 2, 3, 4]);
        let background = Background::fixed(&[1.0]);
        let learned = Model::from_parts(truth.columns().clone(), truth.pi().clone(), twice, background).unwrap();
        assert_eq!(found(&truth, &learned), 5);
    }

    #[test]
    fn a_grid_without_pixels_is_refused() {
        assert!(model(family("poisson").unwrap(), 0, &[10.0], &[1.0], 0.2).is_err());
    }
}
