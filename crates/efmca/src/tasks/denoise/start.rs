//! Where learning from the patches of a noisy image starts.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use ndarray::{Array1, Array2};

use super::blur::Blur;
use crate::error::Result;
use crate::family::{SharedFamily, natural_with_mean};
use crate::model::{Background, Columns, Data, Geometry, Model, Patches};

/// A model whose causes are patches of the blurred image at random places.
///
/// The statistics $\vec T(y)$ are blurred: their local means are mean value parameters of any family.
pub(super) fn from_blurred(
    family: &SharedFamily,
    patches: &Patches,
    causes: usize,
    background: &Background,
    blur: f64,
    seed: u64,
) -> Result<Model> {
    let Some(geometry) = patches.geometry() else {
        return Err(crate::Error::setting("data", "rows", "patches of an image are needed"));
    };
    let (d, l) = (geometry.d(), family.l());
    let planes = blurred_statistics(family, patches, &geometry, blur);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let profile = |n: usize| {
        let mut w = vec![0.0; d * l];
        for (column, w) in w.chunks_exact_mut(l).enumerate() {
            let pixel = geometry.pixel(n, column);
            w.iter_mut().zip(&planes).for_each(|(w, plane)| *w = plane[pixel]);
            family.project(w);
        }
        w
    };
    let mut w = Array2::zeros((causes, d * l));
    for mut row in w.outer_iter_mut() {
        row.assign(&Array1::from(profile(rng.random_range(0..geometry.n()))));
    }
    let pi = Array1::from_elem(causes, (2.0 / causes as f64).min(0.3));
    Model::from_parts(Columns::same(family.clone(), d)?, pi, w, background.clone())
}

/// The share of the average that the dark keeps, where values have a lower end.
const DARK: f64 = 0.005;

/// A background that loses to every cause: darker than all of the image, so that also its darkest parts have causes. A
/// learned one would set a floor under all of them. `None` for families that are not ordered by their mean.
pub(super) fn dark(family: &SharedFamily, patches: &Patches, blur: f64) -> Option<Background> {
    let geometry = patches.geometry()?;
    let present: Vec<f64> = patches.pixels().iter().copied().filter(|value| !value.is_nan()).collect();
    let mean = present.iter().sum::<f64>() / present.len() as f64;
    let sd = (present.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / present.len() as f64).sqrt();
    let low = family.support().low;
    let dark = if low.is_finite() {
        low + DARK * (mean - low)
    } else {
        let planes = blurred_statistics(family, patches, &geometry, blur.max(1.0));
        let local = |pixel: usize| {
            let mut w: Vec<f64> = planes.iter().map(|plane| plane[pixel]).collect();
            family.project(&mut w);
            family.f(&w)
        };
        (0..geometry.pixels()).map(local).fold(mean, f64::min) - sd
    };
    let eta = natural_with_mean(&**family, dark, sd)?;
    let mut w = vec![0.0; family.l()];
    family.grad_a(&eta, &mut w);
    family.project(&mut w);
    let inside = w.iter().all(|w| w.is_finite()) && family.inside(&w);
    inside.then(|| Background::Fixed(w.repeat(geometry.d())))
}

/// The blur along the pages, in depths of a patch, at the most: what moves from frame to frame must not become one.
const MOST_PAGE_BLUR: f64 = 0.25;

/// One plane for each $l$: the local means of $T_l$ over the pixels that are present, in a Gaussian window. It goes over the pages,
/// too, if patches do.
fn blurred_statistics(family: &SharedFamily, patches: &Patches, geometry: &Geometry, blur: f64) -> Vec<Vec<f64>> {
    let (rows, columns) = geometry.image();
    let l = family.l();
    let mut planes = vec![vec![0.0; patches.pixels().len()]; l + 1];
    let mut t = vec![0.0; l];
    for (pixel, y) in patches.pixels().iter().enumerate().filter(|(_, y)| !y.is_nan()) {
        family.t(*y, &mut t);
        planes.iter_mut().zip(t.iter().chain(&[1.0])).for_each(|(plane, t)| plane[pixel] = *t);
    }
    let along = (geometry.depth() > 1).then(|| Blur::new(blur.min(MOST_PAGE_BLUR * geometry.depth() as f64)));
    let blur = Blur::new(blur);
    for plane in &mut planes {
        if let Some(along) = &along {
            along.along_pages(plane, geometry.pages_and_channels().1 * rows * columns);
        }
        for page in plane.chunks_exact_mut(rows * columns) {
            blur.page(page, columns);
        }
    }
    // where nothing is near, the mean of all
    let present = planes.pop().unwrap_or_default();
    let total: f64 = present.iter().sum();
    for plane in &mut planes {
        let mean = plane.iter().sum::<f64>() / total;
        for (value, present) in plane.iter_mut().zip(&present) {
            *value = if *present > 1e-6 { *value / present } else { mean };
        }
    }
    planes
}
