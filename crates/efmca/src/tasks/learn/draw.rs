//! Patches at random places of many images.

use std::sync::Arc;

use ndarray::{Array3, Axis};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::model::Data;

/// Patches of images, which may differ in size: rows of data that are cut out when they are read.
///
/// Column $d$ is the $d$-th pixel of a patch, channel by channel, as in [`crate::Patches`].
#[derive(Debug, Clone)]
pub struct DrawnPatches {
    /// By channel, row and column.
    images: Arc<Vec<Array3<f64>>>,
    patch: (usize, usize),
    channels: usize,
    /// Image, and the row and column of the upper left pixel, of each patch.
    places: Arc<Vec<(u32, u32, u32)>>,
    incomplete: usize,
}

/// How many patches of which size are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drawing {
    /// Rows and columns of a patch.
    pub patch: (usize, usize),
    /// The number of patches; all of them if there are fewer.
    pub count: usize,
    /// The same seed draws the same patches.
    pub seed: u64,
}

impl Drawing {
    /// Checks the settings before any image is read.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] if a patch has no pixels or no patches are drawn.
    pub fn check(&self) -> Result<()> {
        if self.patch.0 == 0 || self.patch.1 == 0 {
            let size = format!("{}x{}", self.patch.0, self.patch.1);
            return Err(Error::setting("patch", size, "it must have 1 row and 1 column or more"));
        }
        if self.count == 0 {
            return Err(Error::setting("patches", 0, "it must be 1 or more"));
        }
        Ok(())
    }
}

impl DrawnPatches {
    /// Patches at different random places, each place as likely as any other. `images` are by row, column and channel,
    /// NaN where a pixel is missing. With `complete`, patches with missing pixels are left out.
    ///
    /// # Errors
    ///
    /// As [`Drawing::check`]; [`Error::Shape`] if an image is smaller than a patch or has another number of channels
    /// than the first; [`Error::EmptyData`] if there is no image or no complete patch.
    pub fn new(images: Vec<Array3<f64>>, drawing: Drawing, complete: bool) -> Result<DrawnPatches> {
        drawing.check()?;
        let Drawing { patch, count, seed } = drawing;
        let Some(channels) = images.first().map(|image| image.dim().2) else {
            return Err(Error::EmptyData { rows: 0, columns: 0 });
        };
        for (at, image) in images.iter().enumerate() {
            let (rows, columns, own) = image.dim();
            if own != channels || own == 0 {
                return Err(Error::shape(format!("channels of image {}", at + 1), channels, own));
            }
            if patch.0 > rows || patch.1 > columns {
                return Err(Error::shape(
                    format!("patch size for image {}", at + 1),
                    format!("1 x 1 to {rows} x {columns} pixels, the size of the image"),
                    format!("{} x {}", patch.0, patch.1),
                ));
            }
        }
        let across = |image: &Array3<f64>| image.dim().1 + 1 - patch.1;
        let ends: Vec<u64> = (images.iter())
            .scan(0, |sum, image| {
                *sum += ((image.dim().0 + 1 - patch.0) * across(image)) as u64;
                Some(*sum)
            })
            .collect();
        let total = ends.last().copied().unwrap_or(0);
        let found_in = |number: u64| {
            let image = ends.partition_point(|end| *end <= number);
            let inside = number - if image == 0 { 0 } else { ends[image - 1] };
            let across = across(&images[image]) as u64;
            (image as u32, (inside / across) as u32, (inside % across) as u32)
        };
        let is_complete = |place: &(u32, u32, u32)| {
            let (y, x) = (place.1 as usize, place.2 as usize);
            let image = &images[place.0 as usize];
            !image.slice(ndarray::s![y..y + patch.0, x..x + patch.1, ..]).iter().any(|value| value.is_nan())
        };
        let mut places = Vec::with_capacity(count.min(total as usize));
        let mut incomplete = 0;
        for number in different(total, ChaCha8Rng::seed_from_u64(seed)) {
            if places.len() == count {
                break;
            }
            let place = found_in(number);
            if !complete || is_complete(&place) {
                places.push(place);
            } else {
                incomplete += 1;
            }
        }
        if places.is_empty() {
            return Err(Error::EmptyData { rows: 0, columns: patch.0 * patch.1 * channels });
        }
        let by_channel = |image: Array3<f64>| image.permuted_axes([2, 0, 1]).as_standard_layout().into_owned();
        let images = Arc::new(images.into_iter().map(by_channel).collect());
        Ok(DrawnPatches { images, patch, channels, places: Arc::new(places), incomplete })
    }

    /// The number of patches that were left out because a pixel is missing.
    #[must_use]
    pub fn incomplete(&self) -> usize {
        self.incomplete
    }

    /// The number of channels.
    #[must_use]
    pub fn channels(&self) -> usize {
        self.channels
    }
}

impl Data for DrawnPatches {
    fn n(&self) -> usize {
        self.places.len()
    }

    fn d(&self) -> usize {
        self.patch.0 * self.patch.1 * self.channels
    }

    fn read_row(&self, n: usize, y: &mut [f64]) {
        let (image, top, left) = self.places[n];
        let (top, left) = (top as usize, left as usize);
        let size = self.patch.0 * self.patch.1;
        for (channel, y) in self.images[image as usize].axis_iter(Axis(0)).zip(y.chunks_exact_mut(size)) {
            let pixels = channel.slice_move(ndarray::s![top..top + self.patch.0, left..left + self.patch.1]);
            y.iter_mut().zip(pixels).for_each(|(y, pixel)| *y = *pixel);
        }
    }

    fn outside(&self) -> Option<Arc<dyn Data + Send>> {
        Some(Arc::new(self.clone()))
    }
}

/// The numbers below `total` in random order, each once: Fisher and Yates on a list that is never written down, only
/// its changes are.
fn different(total: u64, mut rng: ChaCha8Rng) -> impl Iterator<Item = u64> {
    let mut moved = std::collections::HashMap::new();
    (0..total).map(move |at| {
        let chosen = rng.random_range(at..total);
        let value = moved.get(&chosen).copied().unwrap_or(chosen);
        let here = moved.get(&at).copied().unwrap_or(at);
        moved.insert(chosen, here);
        value
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn drawing(rows: usize, columns: usize, count: usize) -> Drawing {
        Drawing { patch: (rows, columns), count, seed: 1 }
    }

    fn images() -> Vec<Array3<f64>> {
        vec![
            Array3::from_shape_fn((4, 6, 2), |(y, x, c)| (100 * c + 10 * y + x) as f64),
            Array3::from_shape_fn((3, 3, 2), |(y, x, c)| (1000 + 100 * c + 10 * y + x) as f64),
        ]
    }

    #[test]
    fn every_place_is_drawn_once() -> Result<()> {
        let all = DrawnPatches::new(images(), drawing(2, 3, 1000), true)?;
        assert_eq!((all.n(), all.d()), (3 * 4 + 2, 12));
        let mut seen = HashSet::new();
        let mut y = vec![0.0; 12];
        for n in 0..all.n() {
            all.read_row(n, &mut y);
            assert!(seen.insert(y[0] as i64));
            assert_eq!([y[1] - y[0], y[3] - y[0], y[5] - y[0], y[6] - y[0]], [1.0, 10.0, 12.0, 100.0]);
        }
        let some = DrawnPatches::new(images(), drawing(2, 3, 5), true)?;
        assert_eq!(some.n(), 5);
        Ok(())
    }

    #[test]
    fn patches_with_holes_are_left_out_or_not() -> Result<()> {
        let mut holes = images();
        holes[1][[1, 1, 0]] = f64::NAN;
        let complete = DrawnPatches::new(holes.clone(), drawing(2, 3, 1000), true)?;
        assert_eq!((complete.n(), complete.incomplete()), (12, 2));
        assert_eq!(DrawnPatches::new(holes.clone(), drawing(2, 3, 1000), false)?.n(), 14);
        holes.truncate(1);
        holes[0].fill(f64::NAN);
        assert!(DrawnPatches::new(holes, drawing(2, 3, 10), true).is_err());
        Ok(())
    }

    #[test]
    fn what_cannot_be_drawn_is_named() {
        let refused = |drawing: Drawing| DrawnPatches::new(images(), drawing, true).unwrap_err().to_string();
        assert!(refused(drawing(2, 3, 0)).contains("patches = 0"));
        assert!(refused(drawing(2, 0, 3)).contains("patch = 2x0"));
        let error = DrawnPatches::new(images(), drawing(4, 4, 10), true).unwrap_err().to_string();
        assert!(error.contains("image 2") && error.contains("3 x 3"), "{error}");
        let mut mixed = images();
        mixed.push(Array3::zeros((5, 5, 1)));
        let error = DrawnPatches::new(mixed, drawing(2, 2, 10), true).unwrap_err().to_string();
        assert!(error.contains("channels of image 3"), "{error}");
    }
}
