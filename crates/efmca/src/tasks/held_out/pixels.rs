//! Held-out pixels of images, which are in several patches.
//!
//! The prediction of a pixel by a single patch depends on where in the patch it is, and is far from that of all patches that
//! it is in together. The nearer the mean is to the truth, the more of the shape of the noise is left: with an error of
//! a third of the noise, Gamma and Beta noise of the same mean and variance look alike.

use ndarray::{Array4, ArrayView1, ArrayView4};
use rayon::prelude::*;

use super::predict::LOWEST;
use super::{Posteriors, Predictor, Scores};
use crate::error::Result;
use crate::model::{Data, Model, Patches, Resolution, Tables};

/// The held-out pixels of images whose patches overlap.
pub(super) struct HeldOutPixels {
    /// For each column of the patches its held-out entries.
    entries: Vec<Vec<Entry>>,
    /// For each pixel its block. Blocks are as large as patches and do not overlap.
    block: Vec<u32>,
    blocks: usize,
}

/// A held-out pixel in one of its patches.
struct Entry {
    /// The number of the patch.
    row: u32,
    /// The number of the pixel.
    pixel: u32,
    y: f64,
}

impl HeldOutPixels {
    /// The pixels that are present in `pixels` and missing in `masked`.
    pub(super) fn new(
        masked: ArrayView4<'_, f64>,
        pixels: ArrayView4<'_, f64>,
        (patch, depth): ((usize, usize), usize),
        stride: usize,
    ) -> Result<HeldOutPixels> {
        let dim = pixels.dim();
        let full = Patches::of_volume(pixels, patch, depth)?.stride(stride);
        let across = (dim.1.div_ceil(patch.0), dim.2.div_ceil(patch.1));
        let of_block = |((page, y, x, _), _)| ((page / depth * across.0 + y / patch.0) * across.1 + x / patch.1) as u32;
        let block = pixels.indexed_iter().map(of_block).collect();
        // patches of an image that has the numbers of its held-out pixels, and nothing elsewhere
        let number = |(page, y, x, c)| (((page * dim.1 + y) * dim.2 + x) * dim.3 + c) as f64;
        let held_out = |place| masked[place].is_nan() && !pixels[place].is_nan();
        let numbered = Array4::from_shape_fn(dim, |place| if held_out(place) { number(place) } else { f64::NAN });
        let numbered = Patches::of_volume(numbered.view(), patch, depth)?.stride(stride);
        let mut entries: Vec<Vec<Entry>> = (0..full.d()).map(|_| Vec::new()).collect();
        let (mut numbers, mut values) = (vec![0.0; full.d()], vec![0.0; full.d()]);
        for row in 0..full.n() {
            numbered.read_row(row, &mut numbers);
            full.read_row(row, &mut values);
            for ((entries, number), y) in
                entries.iter_mut().zip(&numbers).zip(&values).filter(|((_, n), _)| !n.is_nan())
            {
                entries.push(Entry { row: row as u32, pixel: *number as u32, y: *y });
            }
        }
        Ok(HeldOutPixels { entries, block, blocks: dim.0.div_ceil(depth) * across.0 * across.1 })
    }

    /// The scores of pixels: the logarithm of the average of what all patches that a pixel is in predict, with
    /// values of a resolution.
    pub(super) fn scores(&self, model: &Model, posteriors: Posteriors<'_>, resolution: &Resolution) -> Scores {
        let tables = Tables::new(model);
        let predictions: Vec<Vec<f64>> = (0..model.d())
            .into_par_iter()
            .map(|d| {
                let entries = &self.entries[d];
                let rows: Vec<usize> = entries.iter().map(|entry| entry.row as usize).collect();
                let responsibilities = posteriors.responsibilities.of_rows(posteriors.tables, d, &rows);
                let mut predictor = Predictor::of_model(model, &tables, d, resolution);
                let score = |(entry, r): (&Entry, ArrayView1<'_, f64>)| predictor.score(r, entry.y);
                entries.iter().zip(responsibilities.outer_iter()).map(score).collect()
            })
            .collect();
        let mut averages = vec![LogAverage { count: 0.0, sum: 0.0, top: LOWEST }; self.block.len()];
        let of_pixels = || self.entries.iter().flatten().map(|entry| entry.pixel).zip(predictions.iter().flatten());
        for (pixel, score) in of_pixels() {
            let average = &mut averages[pixel as usize];
            average.top = score.max(average.top);
        }
        for (pixel, score) in of_pixels() {
            let average = &mut averages[pixel as usize];
            average.count += 1.0;
            average.sum += (score - average.top).exp();
        }
        let mut scores = Scores { rows: vec![0.0; self.blocks], entries: 0 };
        for (average, block) in averages.iter().zip(&self.block).filter(|(average, _)| average.count > 0.0) {
            scores.rows[*block as usize] += average.top + (average.sum / average.count).ln();
            scores.entries += 1;
        }
        scores
    }
}

/// The logarithm of an average whose terms come one after the other.
#[derive(Clone)]
struct LogAverage {
    count: f64,
    /// The sum of the terms, as a multiple of the largest.
    sum: f64,
    /// The logarithm of the largest.
    top: f64,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::Source;
    use super::super::split::HeldOut;
    use super::*;
    use crate::family::family;
    use crate::model::Background;
    use ndarray::{Array2, array};

    #[test]
    fn every_held_out_pixel_counts_once_wherever_it_is() -> Result<()> {
        let pixels = Array4::from_shape_fn((3, 21, 17, 1), |(p, y, x, _)| ((7 * p + 3 * y + 5 * x) % 11) as f64);
        for (patch, depth, stride) in
            [((4, 4), 1, 1), ((5, 3), 1, 2), ((3, 3), 1, 4), ((1, 1), 1, 1), ((3, 4), 2, 2), ((5, 5), 3, 3)]
        {
            let split = Source::Images { pixels: pixels.view(), patch, depth, stride }.split(0.3, 5)?;
            let w = vec![Array2::from_elem((1, patch.0 * patch.1 * depth), 4.0)];
            let model = Model::new(family("poisson")?, array![0.5], w, Background::fixed(&[4.0]))?;
            let scores = split.scores_of_columns(&model, |_| &Resolution::WHOLE)?;
            // which cause wins a pixel does not matter where all causes are the same
            let poisson = family("poisson")?;
            let HeldOut::Pixels(held_out) = &split.held_out else { unreachable!("these are images") };
            let once: BTreeMap<u32, f64> =
                held_out.entries.iter().flatten().map(|entry| (entry.pixel, entry.y)).collect();
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
