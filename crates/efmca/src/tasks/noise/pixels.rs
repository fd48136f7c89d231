//! Hidden pixels of images, which are in several patches.
//!
//! What a single patch foretells about a pixel depends on where in the patch it is, and is far from what all patches that it
//! is in know together. The nearer the mean is to the truth, the more of the shape of the noise is left: with an error of
//! a third of the noise, Gamma and Beta noise of the same mean and variance look alike.

use ndarray::{Array4, ArrayView1, ArrayView4};
use rayon::prelude::*;

use super::held_out::{Foretold, LEAST, Scores, Split};
use crate::error::Result;
use crate::model::{Data, Model, Patches, Tables};
use crate::posterior::Responsibilities;

/// The hidden pixels of images whose patches overlap.
pub(super) struct HiddenPixels {
    /// For each column of the patches its hidden entries.
    entries: Vec<Vec<Entry>>,
    /// For each pixel its block. Blocks are as large as patches and do not overlap.
    block: Vec<u32>,
    blocks: usize,
}

/// A hidden pixel as one patch has it.
struct Entry {
    /// The number of the patch.
    row: u32,
    /// The number of the pixel.
    pixel: u32,
    y: f64,
}

impl HiddenPixels {
    /// What is there in `pixels` and not in `masked`.
    pub(super) fn new(
        masked: ArrayView4<'_, f64>,
        pixels: ArrayView4<'_, f64>,
        patch: (usize, usize),
        stride: usize,
    ) -> Result<HiddenPixels> {
        let dim = pixels.dim();
        // says what is wrong with a patch that is no patch
        let whole = Patches::of_stack(pixels, patch)?.stride(stride);
        let across = (dim.1.div_ceil(patch.0), dim.2.div_ceil(patch.1));
        let of_block = |((page, y, x, _), _)| ((page * across.0 + y / patch.0) * across.1 + x / patch.1) as u32;
        let block = pixels.indexed_iter().map(of_block).collect();
        // patches of an image that has the numbers of its hidden pixels, and nothing elsewhere
        let number = |(page, y, x, c)| (((page * dim.1 + y) * dim.2 + x) * dim.3 + c) as f64;
        let hidden = |place| masked[place].is_nan() && !pixels[place].is_nan();
        let numbered = Array4::from_shape_fn(dim, |place| if hidden(place) { number(place) } else { f64::NAN });
        let numbered = Patches::of_stack(numbered.view(), patch)?.stride(stride);
        let mut entries: Vec<Vec<Entry>> = (0..whole.d()).map(|_| Vec::new()).collect();
        let (mut numbers, mut values) = (vec![0.0; whole.d()], vec![0.0; whole.d()]);
        for row in 0..whole.n() {
            numbered.read_row(row, &mut numbers);
            whole.read_row(row, &mut values);
            for ((entries, number), y) in
                entries.iter_mut().zip(&numbers).zip(&values).filter(|((_, n), _)| !n.is_nan())
            {
                entries.push(Entry { row: row as u32, pixel: *number as u32, y: *y });
            }
        }
        Ok(HiddenPixels { entries, block, blocks: dim.0 * across.0 * across.1 })
    }
}

impl Split {
    /// The scores of pixels: the logarithm of the average over all patches that a pixel is in of what these foretell.
    pub(super) fn scores_of_pixels(
        &self,
        hidden: &HiddenPixels,
        model: &Model,
        (posteriors, owning): (&Responsibilities, &Tables),
        whole: bool,
    ) -> Scores {
        let tables = Tables::new(model);
        let foretold: Vec<Vec<f64>> = (0..model.d())
            .into_par_iter()
            .map(|d| {
                let entries = &hidden.entries[d];
                let rows: Vec<usize> = entries.iter().map(|entry| entry.row as usize).collect();
                let owners = posteriors.of_rows(owning, d, &rows);
                let mut foretold = Foretold::new(model, &tables, d, whole);
                let score = |(entry, owners): (&Entry, ArrayView1<'_, f64>)| foretold.score(owners, entry.y);
                entries.iter().zip(owners.outer_iter()).map(score).collect()
            })
            .collect();
        // the number of patches and the sum of their densities, as a multiple of the largest
        let mut pixels = vec![(0.0, 0.0, LEAST); hidden.block.len()];
        let found = || hidden.entries.iter().flatten().map(|entry| entry.pixel).zip(foretold.iter().flatten());
        for (pixel, score) in found() {
            let top = &mut pixels[pixel as usize].2;
            *top = score.max(*top);
        }
        for (pixel, score) in found() {
            let (count, sum, top) = &mut pixels[pixel as usize];
            *count += 1.0;
            *sum += (score - *top).exp();
        }
        let mut scores = Scores { rows: vec![0.0; hidden.blocks], entries: 0 };
        for ((count, sum, top), block) in pixels.iter().zip(&hidden.block).filter(|((count, _, _), _)| *count > 0.0) {
            scores.rows[*block as usize] += top + (sum / count).ln();
            scores.entries += 1;
        }
        scores
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::held_out::Source;
    use super::*;
    use crate::family::family;
    use crate::model::Background;
    use ndarray::{Array2, array};

    #[test]
    fn every_hidden_pixel_counts_once_wherever_it_is() -> Result<()> {
        let pixels = Array4::from_shape_fn((2, 21, 17, 1), |(p, y, x, _)| ((7 * p + 3 * y + 5 * x) % 11) as f64);
        for (patch, stride) in [((4, 4), 1), ((5, 3), 2), ((3, 3), 4), ((1, 1), 1)] {
            let split = Source::Images { pixels: pixels.view(), patch, stride }.split(0.3, 5)?;
            let w = vec![Array2::from_elem((1, patch.0 * patch.1), 4.0)];
            let model = Model::new(family("poisson")?, array![0.5], w, Background::fixed(&[4.0]))?;
            let scores = split.scores_of_columns(&model, |_| true)?;
            // who owns a pixel does not matter where all causes are the same
            let poisson = family("poisson")?;
            let hidden = split.hidden_pixels.as_ref().unwrap_or_else(|| unreachable!("these are images"));
            let once: BTreeMap<u32, f64> =
                hidden.entries.iter().flatten().map(|entry| (entry.pixel, entry.y)).collect();
            assert_eq!(once.len(), scores.entries);
            assert!(once.iter().all(|(pixel, y)| pixels.iter().nth(*pixel as usize) == Some(y)));
            let sum: f64 = once.values().map(|y| poisson.log_density(*y, &[4f64.ln()])).sum();
            assert!((scores.rows.iter().sum::<f64>() / sum - 1.0).abs() < 1e-12, "{patch:?}");
            assert!(
                (0.2..0.4).contains(&(scores.entries as f64 / pixels.len() as f64)),
                "{patch:?} {}",
                scores.entries
            );
        }
        Ok(())
    }
}
